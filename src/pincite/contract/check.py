"""What `pincite check --json` writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pincite.completions import Usage
from pincite.contract.codec import (
    Coded,
    CorpusName,
    Offsets,
    Probability,
    Scalar,
    Whole,
    Within,
)
from pincite.judgement.confirmation import Outcome, ReadingOrigin, StatementType
from pincite.types import CopyKind, Exclusion, Failed, Says, Span, Unchecked

Degree: TypeAlias = Annotated[float, Within(-1, 1)]
Level: TypeAlias = Literal[
    "strong_confirmation",
    "confirmation",
    "weak_confirmation",
    "inconclusive_confirmation",
    "weak_disconfirmation",
    "disconfirmation",
    "strong_disconfirmation",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRecord:
    """What a passage says of a reading, as a trace has it."""

    prob_reading: Probability
    prob_negation: Probability
    quote: Annotated[Span, Says("in the passage's text")] | None
    reasons: tuple[str, ...] = ()
    reasons_coded: Coded = ()
    analysis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRecord:
    """A passage that was found for a reading, and what it says."""

    side: Literal["for", "against", "silent", "failed"]
    doc: Degree | None
    prob_reading: (
        Annotated[Probability, Says("of support; of a model P(first option | I, D)")] | None
    )
    prob_negation: (
        Annotated[Probability, Says("of refutation; of a model P(first option | non-I, D)")] | None
    )
    strong_contradiction: bool
    text_id: Annotated[Whole, Says("equal for overlapping windows of one text")]
    url: str
    title: str
    published: str | None
    meta: Mapping[str, str]
    copies: Annotated[tuple[str, ...], Says("addresses of pages that say the same words")]
    corpus: CorpusName = ""
    doc_id: str
    span: Annotated[Offsets, Says("of the passage in the document's text")]
    passage: str
    quote: str | None
    quote_span: Annotated[Offsets, Says("of the quote in the document's text")] | None
    reasons: tuple[str, ...]
    reasons_coded: Coded = ()
    analysis: Annotated[str, Says("what a model wrote before it chose")]
    failed: Failed | None
    origin: Annotated[CopyKind, Says("corpus, or live: the open web")] = CopyKind.CORPUS


# Without slots, which forbid two bases: their fields stand in the order of the bases, last first.


@dataclass(frozen=True, kw_only=True)
class WeightRecord:
    """What the texts found for a reading say together."""

    outcome: Outcome
    doc: Annotated[Degree, Says("mean degree of confirmation; null without evidence")] | None
    n_texts: Annotated[Whole, Says("that speak for or against; copies count once")]
    n_silent: Whole
    n_failed: Annotated[Whole, Says("passages that could not be judged")]
    variance: float | None
    spread: Annotated[float, Says("standard deviation")] | None
    interval: Annotated[tuple[Degree, Degree], Says("95 % of doc, by bootstrap")] | None
    contradictions: Annotated[tuple[Whole, ...], Says("places in the evidence")]


@dataclass(frozen=True, kw_only=True)
class YearRecord:
    """A year."""

    year: str


@dataclass(frozen=True, kw_only=True)
class AsOfRecord(WeightRecord, YearRecord):
    """What the texts published up to a year say together."""


@dataclass(frozen=True, kw_only=True)
class WordingRecord:
    """One way to understand a statement."""

    reading_id: str
    text: str
    kind: StatementType
    negation: str
    origin: ReadingOrigin


@dataclass(frozen=True, kw_only=True)
class ReadingRecord(WeightRecord, WordingRecord):
    """One way to understand a statement, and what the knowledge base says of it."""

    level: Annotated[Level | None, Says("EvidenceSeeker's word for the outcome")]
    summary: str
    warning: str | None
    as_of: tuple[AsOfRecord, ...]
    evidence: tuple[WeighedRecord, ...]
    unread: Annotated[tuple[Unchecked, ...], Says("pages of the web that could not be read")] = ()
    excluded: Annotated[tuple[Exclusion, ...], Says("pages of the web not used, and why")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """A statement with all its readings; there is no verdict over them."""

    statement: str
    complete: bool
    interpreted_by: str
    failures: tuple[Failed, ...]
    readings: tuple[ReadingRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReportRecord:
    """The checks of one run, with all that is needed to repeat them."""

    schema_version: Literal["1"]
    complete: bool
    n_statements: Annotated[Whole, Says("more than checks if the run was stopped")]
    checks: tuple[CheckRecord, ...]
    usage: Usage
    warnings: tuple[str, ...]
    warnings_coded: Coded = ()
    settings: Mapping[str, Scalar]
    versions: Mapping[str, str]
    created: str
