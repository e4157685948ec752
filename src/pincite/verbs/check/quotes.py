"""Quotes of a passage: which sentences state something of a reading, and who says them."""

import re
from dataclasses import replace
from itertools import pairwise

from pincite.judgement import attribution
from pincite.judgement.confirmation import SAME_TOPIC
from pincite.judgement.force import find_weakening
from pincite.judgement.provenance import named_speaker
from pincite.text import antonyms, names, patterns, syntax, words, words_of
from pincite.text.changes import agreeing
from pincite.text.context import NAME
from pincite.text.finite import finite_verb
from pincite.text.languages import common
from pincite.text.sentences import is_question, n_words, source_sentences
from pincite.types import Claim, Evidence, Passage, Span
from pincite.verbs.check.kinds import LONGEST, SAYS, ascription

# Sentences of a passage to judge alone: those that share most with the reading. On half of
# SciFact dev, six confirm all 36 true claims that judging every sentence confirms; four, 33.
SENTENCES, SENTENCES_ACROSS = 6, 12  # in another language than the reading's: words rank none
NEAR = 0.5  # share of a reading's words that sentences read alone may lack, the title included
SHORTEST_QUOTE = 4  # words; fewer state nothing ("High Court"), unless one is a figure
UNNAMED = "an unnamed speaker"

_SHORTEST_QUOTATION = 3  # words in quotation marks; fewer are a term or a title
_BEFORE, _SENTENCES_BEFORE = 2_000, 8  # characters before a quote, and sentences, with a name
_BEHIND = 600  # characters behind it with its speaker
# "The results suggest that" and "we found that" are the document's own words.
_OWN_WORDS, _PRONOUNS = words_of("readings", "own_words"), words_of("spoken", "pronouns")
_P = patterns(
    __file__,
    "quotes",
    name=NAME,
    speaker=attribution.SPEAKER,
    adverbs=attribution.ADVERBS,
    verbs=attribution.SPEECH_VERBS,
    says=SAYS,
    no_verb="|".join([*syntax.PREPOSITIONS, *syntax.BE, "and", "or", "but", "who", "which", "as"]),
)
QUOTATION = _P["quotation"]
_CLOSED = (".", "!", "?", "”", '"', ":", "|")


def candidate_sentences(reading: str, passage: Passage) -> list[Span]:
    """Return the sentences of a passage that may confirm a reading, best overlap first.

    Headings, questions, and sentences with another force than the reading are left out.
    """
    text, sentences = passage.text, words.sentences_of(passage.text)
    most = SENTENCES if common(reading, text) else SENTENCES_ACROSS
    spans = [span for span, _ in words.quotable(reading, text)][:most]
    if not spans:  # a title may be the only text
        spans = [span for span in sentences if not is_question(span.of(text))][:SENTENCES]
    for _, worked_out in agreeing(reading, text):
        shown = [span for span in sentences if span.overlaps(worked_out.span)]
        spans.append(Span(shown[0].start, shown[-1].end))
    return [span for span in dict.fromkeys(spans) if may_confirm(reading, passage, span)]


def neighbours(reading: str, passage: Passage) -> list[Span]:
    """Return two sentences that follow each other, of which one may confirm a reading."""
    best = [span for span, _ in words.quotable(reading, passage.text)][:SENTENCES]
    return [
        both
        for both in _with_next(passage.text)
        if any(map(both.overlaps, best)) and may_confirm(reading, passage, both)
    ]


def near_spans(reading: str, passage: Passage) -> list[Span]:
    """Return sentences, alone and with the next, that have most of a reading's words.

    The title counts. Headings and questions are left out.
    """
    text, about = passage.text, passage.about
    if not common(reading, text):
        return []
    spans = [*_statements(text), *_with_next(text)]
    return [s for s in spans if words.missing_words(reading, f"{about}\n{s.of(text)}") <= NEAR]


def with_sentence_quoted(reading: str, evidence: Evidence) -> Evidence:
    """Replace a quote that states nothing, as a bare name or heading, by the next best sentence."""
    text, quote = evidence.passage.text, evidence.quote
    if quote is None:
        return evidence
    heading, gap, _ = quote.of(text).rpartition("\n\n")
    if gap and not heading.rstrip().endswith(_CLOSED):
        quote = Span(quote.start + len(heading) + len(gap), quote.end)
    if quote.of(text) == evidence.passage.title or _states_nothing(text, quote):
        sharing = (span for span, share in words.quotable(reading, text) if share > 0)
        quote = next((span for span in sharing if not _states_nothing(text, span)), None)
    return replace(evidence, quote=quote)


def may_confirm(reading: str, passage: Passage, span: Span) -> bool:
    """Whether sentences are of the same place, force and polarity as a reading."""
    text, sentence = passage.text, span.of(passage.text)
    later = (s.of(text) for s in words.sentences_of(text) if s.start >= span.end)
    following = next(later, "")
    if _is_of_another_place(reading, passage.about, sentence.rpartition("\n")[2]):
        return False
    if _differs_in_negation(reading, sentence) or lacks_a_finding(reading, sentence):
        return False
    read_alone = map(Passage.alone, (sentence, f"{sentence} {following}"))
    if any(find_weakening(Claim.alone(reading), alone) for alone in read_alone):
        return False
    if common(reading, text) == "en" and attribution.find_swap(reading, sentence, text):
        return False
    is_same_topic = words.missing_words(reading, sentence) <= SAME_TOPIC
    return not (is_same_topic and antonyms.contrasts(reading, sentence))


def lacks_a_finding(reading: str, text: str) -> bool:
    """Whether a text has a sentence that states no finding, unlike the reading."""
    spans = words.sentences_of(text)
    return not _P["no_finding"].match(reading) and any(
        _P["no_finding"].match(s.of(text)) for s in spans
    )


def _is_of_another_place(reading: str, about: str, sentence: str) -> bool:
    """Whether the page's head names the reading's place, and the sentence names another."""
    placed = (match["name"] for match in _P["placed"].finditer(reading))
    own = {name for name in (*placed, *_P["owned"].findall(reading)) if name in about}
    if all(words.is_named(name, sentence) for name in own):
        return False
    for match in _P["placed"].finditer(sentence):
        if names.missing(f"In {match['name']}", f"{about}\n{reading}"):
            return True
    return not words_of("spoken", "elsewhere").isdisjoint(re.findall(r"\w+", sentence.lower()))


def _differs_in_negation(reading: str, sentence: str) -> bool:
    """Whether only one is negated: of a sentence, the clause that shares most with the reading."""
    is_negated = words.is_negated(reading)
    clauses = [
        (words.overlap(reading, clause), words.is_negated(clause) != is_negated)
        for clause in _P["clauses"].split(sentence)
    ]
    _, differs = max(clauses)
    return differs


def _statements(text: str) -> list[Span]:
    """Return the sentences of a text without headings, bylines and questions."""
    spans = words.sentences_of(text)
    return [s for s in spans if not words.is_heading(text, s) and not _states_nothing(text, s)]


def _with_next(text: str) -> list[Span]:
    """Return the statements of a text, each with the next of its paragraph."""
    following = pairwise(_statements(text))
    return [Span(a.start, b.end) for a, b in following if "\n\n" not in text[a.end : b.start]]


def _states_nothing(text: str, span: Span) -> bool:
    """Whether a line is a question, a name, a byline or a heading."""
    line = span.of(text)
    undated = _P["byline_date"].sub("", line)
    if line.rstrip().endswith("?"):
        return True
    if "|" in line or any(map(str.isdigit, undated)):
        return False
    if n_words(line) < SHORTEST_QUOTE:
        return True
    is_name = all(word[:1].isupper() for word in line.split() if len(word) > 3)
    is_bare = is_name or undated != line or words.is_heading(text, span)
    return is_bare and not finite_verb(line)


# ── Who says it ──────────────────────────────────────────────────────────────────────────────────


def speaker_in(reading: str, text: str, quote: Span, language: str = "en") -> str:
    """Return to whom `text` ascribes the words of a quote that state a reading; "" if to none.

    Words that a document ascribes to a speaker are not its own. One who is not named counts as
    unnamed: a wrong name would be worse.

    >>> text = "Ada Holm left. “The debt has doubled,” he told a crowd."
    >>> speaker_in("The debt has doubled.", text, Span(15, len(text)))
    'Ada Holm'
    """
    weights = dict[str, float]()  # of the words that each speaker shares with the reading
    for sentence in source_sentences(quote.of(text), language):
        span = sentence.moved(quote.start)
        speaker = _speaker_of(reading, text, span, language)
        weights[speaker] = max(words.overlap(reading, span.of(text)), weights.get(speaker, 0.0))
    own = weights.pop("", -1.0)
    # What a reading says of the speaker is not only according to them.
    about = attribution.subject_name(reading) if attribution.ascribes(reading) else ""
    others = {name: weight for name, weight in weights.items() if not about or about not in name}
    return "; ".join(others) if others and own <= max(others.values()) else ""


def _speaker_of(reading: str, text: str, span: Span, language: str) -> str:
    """Return who says a sentence of a text; "" for the text itself."""
    sentence = span.of(text)
    if before := [turn for turn in attribution.turns(text) if turn.start < span.end]:
        return before[-1].speaker
    if len(sentence) > LONGEST:
        return ""
    said = ascription(sentence, language)
    name = named_speaker(said.speaker) if said else ""
    if name and _OWN_WORDS.isdisjoint(name.lower().split()):
        return _full_name(text, span, name)
    start = max(0, text.rfind("\n", 0, span.start) + 1, span.start - _BEFORE)
    near = text[start : span.end + _BEHIND]
    quotations = [Span(*match.span()).moved(start) for match in QUOTATION.finditer(near)]
    inside = [quotation for quotation in quotations if quotation.overlaps(span)]
    quoted = " ".join(text[max(a, span.start) : min(b, span.end)] for a, b in inside)
    rest = QUOTATION.sub(" ", sentence) if quoted != sentence else ""
    if n_words(quoted) < _SHORTEST_QUOTATION or words.overlap(reading, quoted) <= words.overlap(
        reading, rest
    ):
        return ""
    whole = Span(inside[0].start, inside[-1].end)
    if tag := _P["tag"].match(text, whole.end):
        return _full_name(text, whole, next(filter(None, tag.groups())))
    named_before = attribution.sayers(QUOTATION.sub("\n", text[start : whole.start]))
    return _full_name(text, whole, next(reversed(named_before), ""))


def _full_name(text: str, span: Span, name: str) -> str:
    """Return a speaker's name; for a pronoun or none, the one who spoke before."""
    name = named_speaker(name)
    if name and not _is_pronoun(name):
        return name
    before = text[max(0, span.start - _BEFORE) : span.start]
    earlier = source_sentences(before, "en")[-_SENTENCES_BEFORE:]
    for sentence_span in reversed(earlier):
        sentence = QUOTATION.sub(" ", sentence_span.of(before)).strip()
        speaker = next(iter(attribution.sayers(sentence)), "")
        if speaker and not _is_pronoun(speaker):
            return named_speaker(speaker)
        subject = attribution.subject_name(sentence) if sentence_span == earlier[-1] else ""
        # "Applause followed": one word with a capital because it opens the sentence.
        is_only_first = " " not in subject and sentence.startswith(subject)
        if subject and (not is_only_first or subject in words.names(before)):
            return subject
    return UNNAMED


def _is_pronoun(name: str) -> bool:
    return name.partition(" ")[0].lower() in _PRONOUNS
