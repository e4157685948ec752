"""The words that a claim and a source share, and the sentence of the source that shares most.

Two words are the same if they share their first six letters: truncation replaces a stemmer (McNamee
& Mayfield 2004 find it as good for most European languages). Names and figures weigh more.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from pincite.text import LEXICON, words_of
from pincite.text.figures import MONTHS, figures, in_english, missing, reads_numbers, rivals
from pincite.text.languages import FUNCTION_WORDS, NEGATIONS, common, identify, is_english, terms
from pincite.text.sentences import SPACELESS, is_question, n_words, source_sentences
from pincite.types import Span

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
STEM = 6  # letters compared
Term: TypeAlias = str | tuple[str, float]  # a word's stem, or a figure's key
_FUNCTION_WORDS, _NEGATIONS = (words_of("words", name) for name in ("function", "negations"))
# All forms of an irregular verb, the infinitive first, by each of them.
IRREGULAR = {
    form: forms.split()
    for forms in LEXICON["verbs"]["irregular"].split(",")
    for form in forms.split()
}
_ENDING = re.compile(r"(?<=...)(?:ing|ed|es|s|e|ly|(?<=e)d)\Z")
_FINAL_Y = re.compile(r"(?<=.[^aeiou])y\Z")
_KANA = re.compile("[\u3040-\u309f]+")  # hiragana alone are endings and particles
_SHORTEST_STEM, _LONGEST_ENDING = 3, 2  # of names in other languages: Warszawa, Warszawie
# Weights for choosing a quote: figures and names make a sentence checkable.
_FIGURE_WEIGHT, _NAME_WEIGHT, _WORD_WEIGHT = 2.0, 1.5, 1.0
_WORTH_MORE = 1.5  # what a second sentence must add to the quote
_TELLING = 100  # from which a number is informative without a word of the claim beside it
_DATE_WEIGHT = 1.0  # bonus for a quote with the claim's year or share, or with another in its place
_LONGEST_HEADING = 15  # words; newspaper headlines have up to a dozen
_CLOSED = tuple(".!?…:;,\"'”’»)]。！？")  # a line ending in these is running text
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_DATELINE = {word[:n].lower() for word in (*MONTHS, *DAYS) for n in (3, STEM)}
_DATELINE |= words_of("words", "datelines")
_PRINTED = re.compile(r"[^.;:]*\b(?:1[5-9]|20)\d\d, (?:page|pp?\.) ?\d+\.?", re.IGNORECASE)
_HOURS = re.compile(r"\d[:.]\d\d\s?(?:[ap]m)?\s?(?:[-–—]|to)\s?\d", re.IGNORECASE)  # "9:30 – 17"
_MARGIN = 80  # characters beside a line that are searched for a blank line
_LONGEST_QUOTE = 500  # maximum characters of a two-sentence quote


def content_words(text: str, *, whole: bool = False) -> list[str]:
    """Content words in order, without function words, truncated unless `whole`.

    >>> content_words("The bridges were opening again.")
    ['bridge', 'openin']
    """
    n_letters = None if whole else STEM
    if not is_english(text):
        return [term[:n_letters] for term in content_terms(text)]
    return [
        word.removesuffix("'s")[:n_letters]
        for word in _lower_words(text)
        if word not in _FUNCTION_WORDS and len(word) > 1
    ]


def _lower_words(text: str) -> Iterator[str]:
    return (match[0].lower().replace("’", "'") for match in WORD.finditer(text))


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return a word without its ending, an irregular verb as its infinitive.

    >>> stem("opened"), stem("bridges"), stem("written"), stem("planned")
    ('open', 'bridg', 'writ', 'plan')
    """
    word = word.lower().replace("’", "'").removesuffix("'s")
    word = IRREGULAR[word][0] if word in IRREGULAR else word
    plain = _FINAL_Y.sub("i", _ENDING.sub("", word))  # "ferry", "ferries"
    doubled = plain != word and len(plain) > 3 and plain[-1] == plain[-2]
    return plain[: min(STEM, len(plain) - doubled)]


@lru_cache(maxsize=16384)
def roots(text: str) -> tuple[str, ...]:
    """Return the stems of the content words, so that "opened" matches "open"."""
    return tuple(map(stem, content_words(text, whole=True)))


def content_terms(text: str, language: str | None = None) -> list[str]:
    """Content words of a language other than English; n-grams of scripts without spaces.

    >>> content_terms("東京にある塔は高い。"), content_terms("塔在东京的北边")
    (['東京', '京に', 'る塔', '塔は', 'は高', '高い'], ['东京', '北边'])
    """
    language = language or identify(text)
    skipped = FUNCTION_WORDS.get(language or "", frozenset())
    signs = skipped if language == "zh" else frozenset()
    return [
        term
        for term in terms(text.lower())
        if len(term) > 1 and not term[0].isdigit() and term not in skipped
        if not _KANA.fullmatch(term) and signs.isdisjoint(term)
    ]


@lru_cache(maxsize=4096)
def names(text: str) -> tuple[str, ...]:
    """Capitalised words that do not start a sentence, as written, in order, without duplicates.

    None in German, which capitalises every noun.

    >>> names("Later the engineer Ingrid Holm left Varde.")
    ('Ingrid', 'Holm', 'Varde')
    """
    language = identify(text) or "en"
    if language == "de":
        return ()
    openers = {span.start for span in sentences_of(text)}
    capitalised = (
        match[0].removesuffix("'s").removesuffix("’s")
        for match in WORD.finditer(text)
        if match[0][0].isupper() and match.start() not in openers and len(match[0]) > 1
    )
    no_names = _FUNCTION_WORDS.union(map(str.lower, MONTHS), FUNCTION_WORDS.get(language, ()))
    is_heading_in_capitals = text.isupper()  # it does not show which words are names
    return tuple(
        name
        for name in dict.fromkeys(capitalised)
        if name.lower() not in no_names
        or (name.isupper() and len(name) > 2 and not is_heading_in_capitals)
    )


def is_named(name: str, source: str) -> bool:
    """Whether a word of `source` begins like `name`; outside English, whatever its ending."""
    start = name.lower()[:STEM]
    if start in stems(source):
        return True
    if is_english(source):
        return False
    start = start[: max(_SHORTEST_STEM, len(name) - _LONGEST_ENDING)]
    return any(word.startswith(start) for word in stems(source))


def missing_words(claim: str, source: str) -> float:
    """The share of the claim's content words that `source` lacks: 0 none, 1 all."""
    wanted = stems(claim)
    return len(wanted - stems(source)) / len(wanted) if wanted else 0.0


def unsaid(claim: str, source: str) -> tuple[str, ...]:
    """Return the claim's content words that `source` lacks, as written, in order."""
    stated = stems(source)
    return tuple(dict.fromkeys(m[0] for m in WORD.finditer(claim) if not stems(m[0]) <= stated))


def is_negated(text: str) -> bool:
    """Whether `text` has an odd number of negations; outside English, whether it has any.

    >>> is_negated("It was never rebuilt."), is_negated("It didn't fail: not one stone moved.")
    (True, False)
    """
    if not is_english(text):
        return denies(text, identify(text) or "")
    n_negations = sum(word in _NEGATIONS or word.endswith("n't") for word in _lower_words(text))
    return n_negations % 2 == 1


def denies(text: str, language: str) -> bool:
    """Whether a text in one of the languages of NEGATIONS has a negation."""
    denials = NEGATIONS.get(language, frozenset())
    if language in ("ja", "zh"):
        return any(denial in text for denial in denials)
    return not denials.isdisjoint(terms(text.lower()))


@lru_cache(maxsize=4096)  # used as a feature, as a quote and as a reason
def best_sentence(claim: str, passage: str) -> Span | None:
    """The sentence of `passage` that shares most with `claim`; None if none shares a word.

    Scores what is shared, so long sentences have no advantage; the first wins ties.
    """
    spans = sentences_of(passage)
    best = max(spans, key=lambda span: overlap(claim, span.of(passage)), default=None)
    return best if best and overlap(claim, best.of(passage)) > 0 else None


def best_quote(claim: str, passage: str, best: Span | None = None) -> Span | None:
    """Extend `best` by a neighbour that adds a name, a figure or two words.

    The default for `best` is the sentence most worth quoting; None if none shares a word.

    >>> text = "Ingrid Holm drew it. It opened in 1911. Rain fell."
    >>> best_quote("The bridge by Ingrid Holm opened in 1911.", text).of(text)
    'Ingrid Holm drew it. It opened in 1911.'
    """
    best, spans = best or quoted_sentence(claim, passage), sentences_of(passage)
    if best is None:
        return None
    at = spans.index(best)
    pairs = [
        Span(spans[i].start, spans[i + 1].end)
        for i in (at - 1, at)
        if i >= 0 and i + 1 < len(spans) and spans[i + 1].end - spans[i].start <= _LONGEST_QUOTE
        if not is_heading(passage, spans[i]) and not is_heading(passage, spans[i + 1])
    ]
    alone = overlap(claim, best.of(passage))
    widest = max(pairs, key=lambda span: overlap(claim, span.of(passage)), default=best)
    more = _WORTH_MORE * (2 if SPACELESS.search(claim) else 1)  # a word is cut into several pieces
    return widest if overlap(claim, widest.of(passage)) >= alone + more else best


def quoted_sentence(claim: str, passage: str) -> Span | None:
    r"""Like `best_sentence`, but avoids headings and questions if another sentence matches.

    >>> text = "Varde Bridge\n\nVarde Bridge is long. The bridge opened in 1911."
    >>> quoted_sentence("Varde Bridge opened in 1913.", text).of(text)
    'The bridge opened in 1911.'
    """
    sentences = quotable(claim, passage)
    if sentences and sentences[0].score > 0:
        return sentences[0].span
    best = best_sentence(claim, passage)
    return None if best is None or _is_dateline(best.of(passage)) else best


class ScoredSentence(NamedTuple):
    """A sentence of a passage, and what it shares with a claim."""

    span: Span
    score: float


@lru_cache(maxsize=4096)  # used by the rules, and by the network that chooses a sentence
def quotable(claim: str, passage: str) -> tuple[ScoredSentence, ...]:
    """Quotable sentences, the one that shares most with the claim first.

    A year or share of the claim counts one word more than in `overlap`. If the passage lacks it,
    another year or share counts instead: that sentence may contain the correct value.
    """
    # Any two years are comparable; numbers count many different things.
    claimed = _in_english(claim)
    dates = [figure for figure in figures(claimed) if figure.kind != "number"]
    absent = {figure.key for figure in missing(claimed, _in_english(passage))}
    # In two languages no word shows what a year dates.
    in_one_language = bool(dates and common(claim, passage))

    def score(sentence: str) -> float:
        numbers = _in_english(sentence) if dates else ""
        stated = {figure.key for figure in figures(numbers)}
        n_dates = 0
        for date in dates:
            if date.key in absent:
                n_dates += bool(in_one_language and rivals(date, claimed, numbers))
            else:
                n_dates += date.key in stated
        return overlap(claim, sentence) + _DATE_WEIGHT * n_dates

    sentences = [
        ScoredSentence(span, score(span.of(passage)))
        for span in sentences_of(passage)
        if not is_heading(passage, span)
        and (is_question(claim) or not is_question(span.of(passage)))
        and not span.of(passage).endswith(":")  # introduces other people's statements
        and not _is_dateline(span.of(passage))
    ]
    # Of equals, a headline comes after running text.
    sentences.sort(key=lambda sentence: not sentence.span.of(passage).endswith(_CLOSED))
    return tuple(sorted(sentences, key=lambda sentence: -sentence.score))


_BYLINE = re.compile(r"\A(?:[Bb]y|BY) (?:[A-ZÀ-Þ][\w.’'-]*(?:,? and|,)? ?){1,10}(?=\d|\Z)")


def _is_dateline(line: str) -> bool:
    """Whether a line only dates its page: "Posted Friday, 3 May 2014", "Post, 3 May 1911, p. 4"."""
    if _PRINTED.fullmatch(line) and n_words(line) < _LONGEST_HEADING:
        return True
    words = stems(_BYLINE.sub("", line)) - _DATELINE
    is_short = all(len(stem) <= 2 for stem in words) and is_english(line)
    return is_short and not _HOURS.search(line)


def is_heading(passage: str, span: Span) -> bool:
    """Whether a sentence is a heading: a short line without a full stop, with blank lines around.

    Table rows and list items have adjacent lines.
    """
    line = span.of(passage)
    if line.endswith(_CLOSED) or n_words(line) > _LONGEST_HEADING:
        return line.startswith("# ")
    before = passage[max(0, span.start - _MARGIN) : span.start].replace(" ", "").replace("\t", "")
    after = passage[span.end : span.end + _MARGIN].replace(" ", "").replace("\t", "")
    # After the last line of a passage it is unknown whether the text continues.
    return (not before or before.endswith("\n\n")) and after.startswith("\n\n")


@lru_cache(maxsize=4096)  # used by both functions that choose a sentence
def overlap(claim: str, sentence: str) -> float:
    """The weight of `claim`'s words, names and figures that `sentence` shares.

    A small number alone does not count: 34 children are not a crew of 34.

    >>> overlap("It opened in 1911.", "Opened 1911."), overlap("Of 21 crew", "There are 21 chairs.")
    (3.0, 0.0)
    """
    in_sentence, keys = stems(sentence), {figure.key for figure in figures(_in_english(sentence))}
    n_words = len(stems(claim) & in_sentence)
    stated = {
        figure.key: figure.value for figure in figures(_in_english(claim)) if figure.key in keys
    }
    if not n_words and max(stated.values(), default=0) < _TELLING:
        return 0.0
    return (
        _WORD_WEIGHT * n_words
        + (_NAME_WEIGHT - _WORD_WEIGHT) * len(_name_stems(claim) & in_sentence)
        + _FIGURE_WEIGHT * len(stated)
    )


def _name_stems(text: str) -> set[str]:
    return {name.lower()[:STEM] for name in names(text)}


@lru_cache(maxsize=64)
def weighted_terms(claim: str) -> Mapping[Term, float]:
    """Return the stems and figures of a claim with what they weigh in `overlap`."""
    of_names = _name_stems(claim)
    weights: dict[Term, float] = {
        word: _NAME_WEIGHT if word in of_names else _WORD_WEIGHT for word in content_words(claim)
    }
    return weights | {figure.key: _FIGURE_WEIGHT for figure in figures(_in_english(claim))}


def stated_terms(terms: Iterable[Term], sentence: str) -> set[Term]:
    """Return those of a claim's terms that a sentence has."""
    known: set[Term] = {*stems(sentence), *(f.key for f in figures(_in_english(sentence)))}
    return known.intersection(terms)


def _in_english(text: str) -> str:
    """Return a text whose numbers and dates `figures` can read."""
    language = identify(text)
    is_other = language and language != "en" and reads_numbers(language)
    return in_english(text, language).text if language and is_other else text


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """Return the first six letters of the content words."""
    return frozenset(content_words(text))


@lru_cache(maxsize=4096)
def sentences_of(text: str) -> tuple[Span, ...]:
    return tuple(source_sentences(text))
