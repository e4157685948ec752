"""How the abstract of a study is read: the part that each sentence is of, and the ages studied."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from pincite.documents.papers import in_own_words
from pincite.text import patterns, word_lists
from pincite.text.sentences import source_sentences
from pincite.types import Document

# Characters of a text that is read as a whole; for a longer one, passages are chosen. The longest
# abstracts in PubMed, in two languages, have about this many.
WHOLE = 6_000

MOST_OF_AN_ABSTRACT = 30  # sentences; in a longer text, their position means nothing
_LABELS = word_lists(__file__, "words")["labels"]
# Before a colon, or a dash and a capital; or a line or sentence of its own.
_LABELLED = re.compile(r"(?P<label>.+?)(?P<mark>:\s+| ?[—–] ?(?=[A-Z])|[.:]?\Z)")
_CAPITALS = re.compile(rf"(?:(?:{'|'.join(map(str.upper, sorted(_LABELS)))})(?:\s+|\Z))+")
_P = patterns(__file__, "parts", re.IGNORECASE)
OPEN, AIM, TO_DO = _P["open"], _P["aim"], _P["to_do"]
FEWEST_PLACED = 5  # sentences of an abstract in which place says what a sentence is
MOST_CONCLUSIONS = 3  # sentences at the end of an abstract without labels


class Part(StrEnum):
    """The part of its paper that a sentence belongs to, by labels, wording and place."""

    BACKGROUND = "background"
    AIM = "aim"
    METHOD = "method"
    RESULT = "result"  # with its figures
    CONCLUSION = "conclusion"
    OTHER = "other"


_PART_OF = {word: Part(p) for p, words in word_lists(__file__, "labels").items() for word in words}


def parts(sentences: Sequence[str], *, whole: bool = True) -> list[Part]:
    """Return the part that each sentence belongs to, by section labels, else by wording.

    In a `whole` abstract of a study without labels, place decides too: background stands before the
    first aim or method, and conclusions after the last method or figure.
    """
    section: Part | None = None  # the current one, once one is labelled
    kinds = list[Part]()
    for sentence in (" ".join(written.split()) for written in sentences):
        if label := label_of(sentence):
            section = _part_of_label(label)
        is_known = section not in (None, Part.OTHER)
        rest = sentence.removeprefix(label)
        kinds.append(section if section and is_known else _part_by_wording(rest))
    of_study = Part.AIM in kinds or Part.METHOD in kinds
    if section or not (whole and of_study):
        return kinds
    is_abstract = FEWEST_PLACED <= len(kinds) <= MOST_OF_AN_ABSTRACT
    return _with_places(sentences, kinds) if is_abstract else kinds


def _part_of_label(label: str) -> Part:
    known = [_PART_OF[word] for word in re.findall(r"\w+", label.lower()) if word in _PART_OF]
    mixed = {Part.METHOD, Part.RESULT}.issubset(known)
    return known[0] if known and not mixed else Part.OTHER


def _part_by_wording(sentence: str) -> Part:
    if AIM.match(sentence) or TO_DO.match(sentence):
        return Part.AIM
    if _P["done"].search(sentence) and not _P["found"].search(sentence):
        return Part.METHOD
    if _P["figures"].search(sentence):
        return Part.RESULT
    return Part.CONCLUSION if _P["concludes"].search(sentence) else Part.OTHER


def _with_places(sentences: Sequence[str], by_wording: Sequence[Part]) -> list[Part]:
    """Make what stands before the study background, and its end conclusions or results."""
    n_all, study, figures = len(by_wording), (Part.AIM, Part.METHOD), (Part.METHOD, Part.RESULT)
    begins = next((n for n, part in enumerate(by_wording) if part in study), 0)
    last = max((n for n, part in enumerate(by_wording) if part in figures), default=begins)
    ends = max(last + 1, begins + 1, n_all - MOST_CONCLUSIONS)
    past = [bool(_P["past"].search(s) and not _P["present"].search(s)) for s in sentences]
    # "Pain fell. Tea is effective.": results are in the past, conclusions need not be, unless all
    # that follows is in the past or open.
    closing = [past[n] or bool(OPEN.search(sentence)) for n, sentence in enumerate(sentences)]
    end = [
        Part.RESULT if past[n] and not all(closing[n:]) else Part.CONCLUSION
        for n in range(ends, n_all)
    ]
    return [*[Part.BACKGROUND] * begins, *by_wording[begins:ends], *end]


def label_of(sentence: str) -> str:
    """Return the section label that opens a sentence of an abstract, with its mark; else "".

    >>> [label_of(text) for text in ("MAIN RESULTS It fell.", "Results: It fell.", "Results.")]
    ['MAIN RESULTS ', 'Results: ', 'Results.']
    """
    if match := _LABELLED.match(sentence):
        words = re.findall(r"\w+", match["label"].lower())
        is_known = bool(words) and _LABELS.issuperset(words)
        if is_known or (match["mark"].startswith(":") and match["label"].isupper()):
            return match[0]
    capitals = _CAPITALS.match(sentence)
    return capitals[0] if capitals else ""


# ── Ages of those studied ────────────────────────────────────────────────────────────────────────

FULL_YEARS = 120.0  # upper end of an age range without one
OLDEST = 90.0  # few people studied are older
MOST_OF_THEM = 0.5
_AROUND_MEAN = 15.0  # years; about two standard deviations in most samples of adults
_NOT_TOLD = frozenset({Part.BACKGROUND, Part.AIM, Part.CONCLUSION})
_AGE = patterns(__file__, "populations", re.IGNORECASE)
_AGES = [
    (words, (float(span.split()[0]), float(span.split()[1])))
    for span, words in patterns(__file__, "ages", re.IGNORECASE).items()
]


def ages(text: str) -> tuple[float, float] | None:
    """Return the range of ages that a text names; None if it names none.

    >>> ages("adults aged 50 to 84 years"), ages("over 65 years of age"), ages("older people")
    ((50.0, 84.0), (65.0, 120.0), (60.0, 120.0))
    """
    for match in _AGE["age"].finditer(text):
        years = {name: float(value) for name, value in match.groupdict().items() if value}
        if "low" in years and years["low"] < years["high"]:
            return years["low"], years["high"]
        if least := years.get("over") or years.get("above") or years.get("from"):
            return least, FULL_YEARS
        if "under" in years:
            return 0.0, years["under"]
        if "mean" in years:
            return max(0.0, years["mean"] - _AROUND_MEAN), years["mean"] + _AROUND_MEAN
    return next((span for words, span in _AGES if words.search(text)), None)


def without_ages(question: str) -> str:
    """Remove the words for an age from a question: a study may state its ages in figures."""
    for words, _ in _AGES:
        question = words.sub(" ", question)
    return _AGE["age"].sub(" ", question)


def fits(question: str, document: Document) -> bool | None:
    """Whether most of a study's ages are those asked for.

    None if question or study names none, or if the study includes all of them among others.
    """
    asked = ages(question)
    studied = asked and (ages(document.title) or _ages_in(document.text[:WHOLE], document.language))
    if not asked or not studied:
        return None
    (low, high), (least, most) = asked, (min(age, OLDEST) for age in studied)
    if (min(high, most) - max(low, least)) >= MOST_OF_THEM * (most - least):
        return True
    return None if least <= low and min(high, OLDEST) <= most else False


@lru_cache(maxsize=1024)  # asked for each sentence of an abstract
def _ages_in(text: str, language: str | None) -> tuple[float, float] | None:
    """Return the ages that the sentences on the study's own people name."""
    own = in_own_words(text)
    told = [span.of(own) for span in source_sentences(own, language)]
    of_study = (s for s, part in zip(told, parts(told), strict=True) if part not in _NOT_TOLD)
    ranges = (ages(sentence) for sentence in of_study if _AGE["recruits"].search(sentence))
    return next(filter(None, ranges), None)
