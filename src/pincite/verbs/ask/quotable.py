"""The sentences of a source that may be quoted, each with how well it answers a question."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
# than fitted (4.1); `is_open` and `goes_on` were set by
# reading answers; `lacks` and the bias were chosen on 70 other questions
# (research/check-and-ask.md).
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
_SHORT = [[each] for each in "al. vs. cf. e.g. i.e. Fig. approx. resp.".split()]  # no sentence end
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
    words, end = text.split(), text.rstrip()[-1:]
    is_elliptic = words and words[-1].strip(".").casefold() in AUXILIARIES | NOT  # "Falls did not."
    is_finding = len(words) >= FEWEST_OF_FINDING and finite_verb(text) and not is_elliptic
    if not (FEWEST_WORDS <= len(words) <= MOST_WORDS or is_finding):
        return False
    if end not in '.!)”"' and not (is_last and end.isalnum()):
        return False
    if _CASED["fragment"].match(text):
        return False
    first, second = (word.strip("(,").casefold() for word in words[:2])
    is_aim = abstracts.TO_DO.match(text) or abstracts.AIM.match(text)
    points_back = (first, second) in _POINT_BACK_TOGETHER or (first == "of" and second in _THIS)
    if is_aim or points_back:
        return False
    if _P["those_who"].match(text):
        return True
    if first not in _THIS:
        return first not in _WORDS["point_back"]
    # "This large database analysis suggests …"
    names = (word.strip("(,").casefold() for word in words[1:OWN_WITHIN])
    named = takewhile(lambda word: word not in _NO_NOUN, names)
    return any(word in _WORDS["own_paper"] for word in named)


def is_cut(before: str, after: str) -> bool:
    """Whether two consecutive pieces on a line are one sentence.

    >>> is_cut("As shown by Holm et al.", "[3] for tea."), is_cut("It was equal.", "It rose.")
    (True, False)
    """
    is_fragment = _CASED["fragment"].match(after) and not after.startswith("[")
    return bool(is_fragment) or before.split()[-1:] in _SHORT


def depth(place: int, n_sentences: int) -> float:
    """Return a sentence's position in an abstract, 0 to 1; `MIDDLE` in longer texts."""
    if not 1 < n_sentences <= abstracts.MOST_OF_AN_ABSTRACT:
        return MIDDLE
    return min(LATE, place / (n_sentences - 1))


def sentences_of(source: int, reference: Reference, n_passages: int) -> list[Quotable]:
    """Return sentences that can stand alone, except those in other languages.

    Those of a long document are taken from its best `n_passages` passages.
    """
    document = reference.document
    text, within = in_own_words(document.text), list[Span]()
    if len(document.text) > WHOLE:
        within = sorted(passage.span for passage in reference.passages[: max(1, n_passages)])

    def cut(left: Span, right: Span) -> bool:
        on_one_line = "\n" not in text[left.end : right.start]
        return on_one_line and is_cut(left.of(text), right.of(text))

    candidates = []
    for piece in within or [Span(0, len(text))]:
        spans = source_sentences(piece.of(text), document.language)
        spans = merge_spans([span.moved(piece.start) for span in spans], cut)
        kinds = abstracts.parts([span.of(text) for span in spans], whole=not within)
        for n, (span, part) in enumerate(zip(spans, kinds, strict=True)):
            own = Span(span.start + len(abstracts.label_of(span.of(text))), span.end)
            far = MIDDLE if within else depth(n, len(spans))
            words = " ".join(own.of(text).split())
            candidates.append(Quotable(words, source, own, depth=far, part=part))
    end, quotes = len(text.rstrip()), list[Quotable]()
    for before, candidate in zip([None, *candidates], candidates, strict=False):
        if can_stand_alone(candidate.text, is_last=candidate.span.end == end):
            quotes.append(candidate)
        elif before and quotes[-1:] == [before]:
            quotes += _with_subject(before, candidate, text)
    return quotes


def _with_subject(before: Quotable, sentence: Quotable, text: str) -> Iterator[Quotable]:
    """Yield a sentence that opens with a pronoun, with the one before it, which names what for."""
    span, words = Span(before.span.start, sentence.span.end), sentence.text.split()
    is_one = "\n" not in text[before.span.end : sentence.span.start] and finite_verb(before.text)
    is_short = len(words) >= FEWEST_OF_FINDING and len(span.of(text).split()) <= MOST_WORDS
    if is_one and is_short and _CASED["pronoun"].match(sentence.text):
        yield replace(sentence, text=span.of(text), span=span)
