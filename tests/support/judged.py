"""Evidence, results and parts of claims as a verifier would return them."""

import math

from pincite.judgement import decide
from pincite.types import (
    Citation,
    CitationResult,
    Evidence,
    Part,
    Passage,
    Reason,
    Span,
    Unchecked,
    Witness,
    WitnessKind,
)

DEAD = Unchecked("https://gone.example/", Reason.DEAD, "HTTP 404")


def evidence(score: float, refuted: float = 0.0, url: str = "https://a.example/") -> Evidence:
    supported = 1 / (1 + math.exp(-score))
    passage = Passage("d", url, "T", "text", Span(0, 4))
    return Evidence(passage, supported, refuted, 1 - supported - refuted, score)


def result(outcome: Evidence | Unchecked) -> CitationResult:
    citation = Citation("r1", Span(0, 1), Span(0, 1))
    return CitationResult(citation, outcome, decide.label_of(outcome))


SAID = Witness(WitnessKind.VALUE, "1886", "1889", Span(0, 9))


def clause(start: int, score: float) -> Part:
    judged = evidence(score)
    return Part("clause", Span(start, start + 9), "c", judged.prob_supported >= 0.55, judged)


def atom(start: int) -> Part:
    return Part("figure", Span(start, start + 4), "1911", supported=False)


BOTH, NONE, ALL = (
    [clause(0, 2), clause(10, -2)],
    [clause(0, -2), clause(10, -2)],
    [clause(0, 2)] * 2,
)
