"""What a finding is, whether editors see it by default, and what is stored of it.

The gate goes by what can be shown: a value that differs from the quote, a page that is not the
page cited, a retraction, an identifier that no work can have. A verdict that rests on the network
alone, "partly supported" and "could not check" are counted, and not published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from pincite.judgement import decide
from pincite.judgement.references import Retraction, is_retracted_title, retraction_of
from pincite.notes import Note, Value
from pincite.text.words import roots
from pincite.types import (
    Citation,
    CitationResult,
    Claim,
    Document,
    Evidence,
    FaultKind,
    Finding,
    Label,
    Reason,
    Unchecked,
    WitnessKind,
)
from pincite.verbs.verify import render, wording
from pincite.wiki.suggest import DateFormat, Dates


class Kind(StrEnum):
    """What a finding shows, worst first; from `NETWORK` on, not published by default."""

    VALUE = "other_value"  # the source has another value or name, in its quote
    RETRACTED = "retracted"
    IDENTIFIER = "identifier"  # of another work, or of none
    NOT_THE_PAGE = "not_the_page"  # its address leads to an error, a front page or a list
    NETWORK = "contradicted"  # a contradiction without a value to show
    NOT_SUPPORTED = "not_supported"
    DISPUTED = "disputed"
    PARTLY = "partly_supported"
    UNCHECKED = "unchecked"
    SUPPORTED = "supported"


# Measured share of findings that were right; None: not measured. `OF_A_RULE` is the precision of
# rules on rows that did not choose them, rounded down.
PRECISION: Mapping[Kind, float | None] = MappingProxyType(
    {
        Kind.VALUE: decide.OF_A_RULE,
        Kind.RETRACTED: None,
        Kind.IDENTIFIER: None,
        Kind.NOT_THE_PAGE: None,
    }
)
PUBLISHED = frozenset(PRECISION)
_RETRACTED = frozenset(roots("retracted withdrawn"))
RANKS = {kind: number for number, kind in enumerate(Kind)}
_OTHER_PAGE = (Reason.SOFT_404, Reason.FRONT_PAGE, Reason.LISTING)
_OF_LABEL = {
    Label.REFUTED: Kind.NETWORK,
    Label.NOT_SUPPORTED: Kind.NOT_SUPPORTED,
    Label.DISPUTED: Kind.DISPUTED,
    Label.PARTLY_SUPPORTED: Kind.PARTLY,
    Label.UNCHECKED: Kind.UNCHECKED,
    Label.SUPPORTED: Kind.SUPPORTED,
}


@dataclass(frozen=True, slots=True)
class Record:
    """A finding as it is stored and published."""

    kind: Kind
    label: Label
    confidence: float | None
    quote: str
    source_url: str
    ref_name: str
    notes: tuple[tuple[str, dict[str, Value]], ...]  # reasons: code and values
    unread: tuple[str, str] | None  # reason and detail, if the source could not be read
    proposed: str

    def values(self) -> dict[str, Any]:
        names = ("label", "confidence", "quote", "source_url", "ref_name", "unread", "proposed")
        return {name: getattr(self, name) for name in names} | {"notes": self.notes}


def record_of(
    finding: Finding,
    sources: Sequence[Document | Unchecked],
    today: date,
    date_format: DateFormat = "iso",
) -> Record:
    """Choose the citation that shows most, and keep what a reader needs; one source a citation."""
    kinds = [_kind(finding, *pair) for pair in zip(finding.citations, sources, strict=True)]
    kind = min([*kinds, _OF_LABEL[finding.label]], key=RANKS.__getitem__)
    shown = next((r for r, k in zip(finding.citations, kinds, strict=True) if k is kind), None)
    shown = shown or min(finding.citations, key=_by_label, default=None)
    outcome = shown.outcome if shown else None
    notes = [*wording.reasons(shown, finding)] if shown else []
    if kind is Kind.RETRACTED:
        notes = [Note("source_retracted")]
    elif kind is Kind.IDENTIFIER and shown:
        notes = [fault.note for fault in shown.citation.faults if _is_other_work(fault.kind)]
    citation = shown.citation if shown else None
    unread = (str(outcome.reason), outcome.detail) if isinstance(outcome, Unchecked) else None
    return Record(
        kind=kind,
        label=finding.label,
        confidence=finding.prob_supported,
        quote=outcome.quoted if isinstance(outcome, Evidence) else "",
        source_url=(citation and (citation.url or citation.archive_url)) or "",
        ref_name=(citation and citation.name) or "",
        notes=tuple((note.code, dict(note.values)) for note in notes),
        unread=unread,
        proposed="\n".join(render.to_paste(finding, Dates(today, date_format))),
    )


def _kind(finding: Finding, result: CitationResult, source: Document | Unchecked) -> Kind:
    """What one citation shows."""
    outcome = result.outcome
    is_retracted = isinstance(source, Document) and retraction_of(source) is Retraction.YES
    if is_retracted and not _says_retracted(finding.claim, result.citation):
        return Kind.RETRACTED
    if any(_is_other_work(fault.kind) for fault in result.citation.faults):
        return Kind.IDENTIFIER
    if isinstance(outcome, Unchecked):
        return Kind.NOT_THE_PAGE if outcome.reason in _OTHER_PAGE else _OF_LABEL[finding.label]
    if finding.label is Label.REFUTED and result.label is Label.REFUTED:
        return Kind.VALUE if _shows_value(result, outcome) else Kind.NETWORK
    return _OF_LABEL[finding.label]


def _shows_value(result: CitationResult, evidence: Evidence) -> bool:
    """Whether the quote itself has the other value."""
    seen = evidence.contradiction
    return (
        seen is not None
        and seen.kind is WitnessKind.VALUE
        and bool(seen.source)
        and seen.source.casefold() in evidence.quoted.casefold()
        and not result.other_copy
    )


def _says_retracted(claim: Claim, citation: Citation) -> bool:
    """Whether the article itself says so: by a template, the cited title, or in the sentence."""
    is_titled = is_retracted_title(citation.title or "")
    return (
        citation.is_marked
        or is_titled
        or not _RETRACTED.isdisjoint(roots(claim.sentence or claim.text))
    )


def _is_other_work(kind: FaultKind) -> bool:
    return kind.is_impossible or kind is FaultKind.SAME_DOI


def _by_label(result: CitationResult) -> int:
    return decide.WORST_FIRST.index(result.label)
