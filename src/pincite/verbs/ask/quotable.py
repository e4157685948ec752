"""The sentences of a source that may be quoted, each with how well it answers a question."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from pincite.documents.papers import in_own_words
from pincite.text import patterns, word_lists, words_of
from pincite.text.finite import NOT, finite_verb
from pincite.text.sentences import merge_spans, source_sentences
from pincite.text.syntax import AUXILIARIES, PREPOSITIONS
from pincite.types import Span
from pincite.verbs.ask import abstracts
from pincite.verbs.ask.abstracts import WHOLE, Part
from pincite.verbs.ask.report import Reference

# Log-odds that a sentence answers its question, from a logistic regression on 30 of PubMedQA's dev
# questions: sentences of the right paper's conclusion against those of its background and methods
# and of other papers. `relevance` weighs more than fitted (0.57): of the open questions in
# tests/cases/ask, 47 of 56 parts have the right sentence first instead of 39. `depth` weighs less
# than fitted (4.1); `is_open` and `goes_on` were set by reading answers; `lacks` and the bias were
# chosen on 70 other questions (research/check-and-ask.md).
BIAS = -7.8
WEIGHTS = {
    "relevance": 1.0,
    "likeness": 3.0,
    "of_document": 0.94,
    "depth": 3.0,
    "concludes": 1.5,
    "is_method": -1.8,
    "is_open": -1.5,
    "goes_on": -0.75,
    "lacks": -5.0,
    "other_ages": -2.0,  # set by reading answers, as `is_open`
}
MIDDLE = 0.5
LATE = 0.75  # conclusions begin about here, usually with the results
FEWEST_WORDS, MOST_WORDS = 6, 70  # in a sentence that can stand alone and is readable
FEWEST_OF_FINDING = 3  # "Adherence was 71%."
OWN_WITHIN = 6  # words in which "this … study" must name the paper
_WORDS, _P = word_lists(__file__, "words"), patterns(__file__, "parts", re.IGNORECASE)
_THIS = frozenset({"this", "these", "those"})
_POINT_BACK_TOGETHER = frozenset({("the", "latter"), ("the", "former"), ("the", "same")})
_NO_NOUN = AUXILIARIES | PREPOSITIONS | words_of("verbs", "modals")  # ends "this large database"
_CASED = patterns(__file__, "extract")
_SHORT = frozenset("al. vs. cf. e.g. i.e. Fig. approx. resp.".split())  # end no sentence
GOES_ON = _P["goes_on"]


@dataclass(frozen=True, slots=True)
class Quotable:
    """A sentence of a source that may be quoted."""

    text: str
    source: int  # index of its document in order of relevance
    span: Span  # in its document, without the section label
    relevance: float = 0.0  # log-odds, by the network, that it bears on the question
    likeness: float = 0.0  # cosine similarity to the question
    of_document: float = 0.0  # log-odds that the best passage of its document bears on the question
    depth: float = 0.0  # relative position in its document: 0 first, 1 last
    part: Part = Part.OTHER
    lacks: float = 0.0  # share of the question's subject that its document does not mention
    fits: bool | None = None  # whether its study has the ages asked for; None: one names none
    is_nearest: bool = False  # quoted though nothing confirms that it answers
    agrees: bool | None = None  # whether it finds what is asked; None: unclear

    def overlaps(self, other: "Quotable") -> bool:
        """Whether both are, or contain, the same sentence."""
        return self.source == other.source and self.span.overlaps(other.span)

    @property
    def answers(self) -> float:
        """Log-odds that it answers the question, by `WEIGHTS`."""
        values = {
            "relevance": self.relevance,
            "likeness": self.likeness,
            "of_document": self.of_document,
            "depth": self.depth,
            "concludes": float(self.part is Part.CONCLUSION),
            "is_method": float(self.part in (Part.BACKGROUND, Part.AIM, Part.METHOD)),
            "is_open": float(bool(abstracts.OPEN.search(self.text))),
            "goes_on": float(bool(GOES_ON.match(self.text))),
            "lacks": self.lacks,
            "other_ages": float(self.fits is False),
        }
        return BIAS + sum(WEIGHTS[name] * value for name, value in values.items())


def can_stand_alone(text: str, *, is_last: bool = False) -> bool:
    """Whether a sentence can be read without its context, by rules.

    `is_last`: it ends its document, where the full stop may be missing.
    """
    if not (_has_readable_length(text) and _has_an_end(text, is_last=is_last)):
        return False
    if _CASED["fragment"].match(text) or abstracts.TO_DO.match(text) or abstracts.AIM.match(text):
        return False
    return not _points_back(text)


def _has_readable_length(text: str) -> bool:
    words = text.split()
    if FEWEST_WORDS <= len(words) <= MOST_WORDS:
        return True
    if len(words) < FEWEST_OF_FINDING or not finite_verb(text):
        return False
    return words[-1].strip(".").casefold() not in AUXILIARIES | NOT  # as in "Falls did not."


def _has_an_end(text: str, *, is_last: bool) -> bool:
    end = text.rstrip()[-1:]
    return end in '.!)”"' or (is_last and end.isalnum())


def _points_back(text: str) -> bool:
    """Whether a sentence opens by naming something of the one before it: "This effect …".

    "Those who …" names its own; so does "This large database analysis …", which is the paper.
    """
    words = [word.strip("(,").casefold() for word in text.split()[:OWN_WITHIN]]
    first, second = words[:2]
    if (first, second) in _POINT_BACK_TOGETHER or (first == "of" and second in _THIS):
        return True
    if _P["those_who"].match(text):
        return False
    if first not in _THIS:
        return first in _WORDS["point_back"]
    noun = takewhile(lambda word: word not in _NO_NOUN, words[1:])
    return not any(word in _WORDS["own_paper"] for word in noun)


def is_cut(before: str, after: str) -> bool:
    """Whether two consecutive pieces on a line are one sentence.

    >>> is_cut("As shown by Holm et al.", "[3] for tea."), is_cut("It was equal.", "It rose.")
    (True, False)
    """
    is_fragment = _CASED["fragment"].match(after) and not after.startswith("[")
    return bool(is_fragment) or not _SHORT.isdisjoint(before.split()[-1:])


def depth(place: int, n_sentences: int) -> float:
    """Return a sentence's position in an abstract, 0 to 1; `MIDDLE` in longer texts."""
    if not 1 < n_sentences <= abstracts.MOST_OF_AN_ABSTRACT:
        return MIDDLE
    return min(LATE, place / (n_sentences - 1))


def sentences_of(source: int, reference: Reference, n_passages: int) -> list[Quotable]:
    """Return sentences that can stand alone, except those in other languages.

    Those of a long document are taken from its best `n_passages` passages.
    """
    text = in_own_words(reference.document.text)
    candidates = list(_candidates(source, text, reference, n_passages))
    quotes, end = list[Quotable](), len(text.rstrip())
    for n, candidate in enumerate(candidates):
        if can_stand_alone(candidate.text, is_last=candidate.span.end == end):
            quotes.append(candidate)
        elif n and quotes[-1:] == [candidates[n - 1]]:
            quotes += _with_subject(candidates[n - 1], candidate, text)
    return quotes


def _candidates(
    source: int, text: str, reference: Reference, n_passages: int
) -> Iterator[Quotable]:
    """Yield the sentences of a document, or of the best passages of a long one."""
    document = reference.document
    is_whole = len(document.text) <= WHOLE or not reference.passages
    best = sorted(passage.span for passage in reference.passages[: max(1, n_passages)])
    pieces = [Span(0, len(text))] if is_whole else best
    for piece in pieces:
        spans = source_sentences(piece.of(text), document.language)
        spans = merge_spans([span.moved(piece.start) for span in spans], partial(_is_cut_in, text))
        parts = abstracts.parts([span.of(text) for span in spans], whole=is_whole)
        for n, (span, part) in enumerate(zip(spans, parts, strict=True)):
            stated = Span(span.start + len(abstracts.label_of(span.of(text))), span.end)
            words = " ".join(stated.of(text).split())
            place = depth(n, len(spans)) if is_whole else MIDDLE
            yield Quotable(words, source, stated, depth=place, part=part)


def _is_cut_in(text: str, left: Span, right: Span) -> bool:
    is_one_line = "\n" not in text[left.end : right.start]
    return is_one_line and is_cut(left.of(text), right.of(text))


def _with_subject(before: Quotable, sentence: Quotable, text: str) -> Iterator[Quotable]:
    """Yield a sentence that opens with a pronoun, with the one before it, which names what for."""
    span, words = Span(before.span.start, sentence.span.end), sentence.text.split()
    is_one = "\n" not in text[before.span.end : sentence.span.start] and finite_verb(before.text)
    is_short = len(words) >= FEWEST_OF_FINDING and len(span.of(text).split()) <= MOST_WORDS
    if is_one and is_short and _CASED["pronoun"].match(sentence.text):
        yield replace(sentence, text=span.of(text), span=span)
