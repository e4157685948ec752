"""What a finding is, whether editors see it by default, and what is stored of it.

The gate goes by what can be shown: a date that differs from the quote, a page that is not the page
cited, a retraction, an identifier that no work can have. A kind is published if precision.toml
has measured it at `LEAST`, on documents that did not choose its conditions, or if it had no false
alarm among thousands of real pages. All else, "partly supported" and "could not check" among it, is
counted, and published only on request.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from pincite.judgement import decide
from pincite.judgement.provenance import Retraction, is_retracted_title, retraction_of
from pincite.notes import Note, Value
from pincite.text.clauses import clauses
from pincite.text.quantities import values
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
    Witness,
    WitnessKind,
)
from pincite.verbs.verify import wikitext, wording
from pincite.wiki.suggest import DateFormat, Dates


class Kind(StrEnum):
    """What a finding shows, worst first."""

    DATE = "other_date"  # the source has another date, in its quote, and else says the same
    RETRACTED = "retracted"
    IDENTIFIER = "identifier"  # that no work can have
    NOT_THE_PAGE = "not_the_page"  # its address leads to an error, a front page or a list
    NUMBER = "other_number"
    NAME = "other_name"
    SHARED = "shared_identifier"  # with another reference: one of them is wrong
    NETWORK = "contradicted"  # any other contradiction
    NOT_SUPPORTED = "not_supported"
    DISPUTED = "disputed"
    PARTLY = "partly_supported"
    UNCHECKED = "unchecked"
    SUPPORTED = "supported"


@dataclass(frozen=True, slots=True)
class Measured:
    """How often findings of a kind were right, and false alarms among sound pages."""

    right: int = 0
    n: int = 0
    false_alarms: int = 0
    pages: int = 0

    @property
    def precision(self) -> float | None:
        return round(self.right / self.n, 2) if self.n else None

    @property
    def is_precise(self) -> bool:
        if self.n:
            return self.right >= LEAST * self.n
        return self.pages >= MANY and not self.false_alarms


LEAST = 0.9  # issue 62
MANY = 3_000  # pages without a false alarm: fewer than one in a thousand, by the rule of three
_FIGURES = tomllib.loads(Path(__file__).with_name("precision.toml").read_text("utf-8"))
MEASURED: Mapping[Kind, Measured] = {
    Kind(name): Measured(**{key: n for key, n in row.items() if key != "how"})
    for name, row in _FIGURES.items()
}
PUBLISHED = frozenset(kind for kind, each in MEASURED.items() if each.is_precise)
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
        return {name: value for name, value in asdict(self).items() if name != "kind"}


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
    if shown is None:
        worst_first = sorted(finding.citations, key=lambda r: decide.WORST_FIRST.index(r.label))
        shown = next(iter(worst_first), None)
    citation, outcome = (shown.citation, shown.outcome) if shown else (None, None)
    faults = citation.faults if citation else ()
    notes = [*wording.reasons(shown, finding)] if shown else []
    if kind is Kind.RETRACTED:
        notes = [Note("source_retracted")]
    elif kind is Kind.IDENTIFIER:
        notes = [fault.note for fault in faults if fault.kind.is_impossible]
    elif kind is Kind.SHARED:
        notes = [fault.note for fault in faults if fault.kind is FaultKind.SAME_DOI]
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
        proposed="\n".join(wikitext.to_paste(finding, Dates(today, date_format))),
    )


def _kind(finding: Finding, result: CitationResult, source: Document | Unchecked) -> Kind:
    """What one citation shows."""
    outcome = result.outcome
    is_retracted = isinstance(source, Document) and retraction_of(source) is Retraction.YES
    if is_retracted and not _says_retracted(finding.claim, result.citation):
        return Kind.RETRACTED
    if any(fault.kind.is_impossible for fault in result.citation.faults):
        return Kind.IDENTIFIER
    if isinstance(outcome, Unchecked):
        return Kind.NOT_THE_PAGE if outcome.reason in _OTHER_PAGE else _OF_LABEL[finding.label]
    if finding.label is Label.REFUTED and result.label is Label.REFUTED:
        return _shown_by(finding.claim, result, outcome)
    if any(fault.kind is FaultKind.SAME_DOI for fault in result.citation.faults):
        return Kind.SHARED
    return _OF_LABEL[finding.label]


def _shown_by(claim: Claim, result: CitationResult, evidence: Evidence) -> Kind:
    """What the quote itself has in place of the claim's words, if it says all else of the clause.

    The network must agree: where it half believes the claim, rules were wrong.
    """
    seen, readout = evidence.contradiction, evidence.readout
    if seen is None or seen.kind is not WitnessKind.VALUE or seen.sentence is None:
        return Kind.NETWORK
    network = readout.network if readout else None
    quoted = bool(seen.source) and seen.source.casefold() in evidence.quoted.casefold()
    agrees = network is not None and network <= decide.COUNTS_BELOW
    if result.other_copy or not (quoted and agrees and _says_the_rest(claim, evidence, seen)):
        return Kind.NETWORK
    in_claim, in_source = values(seen.claim)[:1], values(seen.source)[:1]
    if in_claim and in_source and bool(in_claim[0].dates) == bool(in_source[0].dates):
        return Kind.DATE if in_claim[0].dates else Kind.NUMBER
    is_named = seen.claim[:1].isupper() and seen.source[:1].isupper()
    return Kind.NAME if is_named and not (in_claim or in_source) else Kind.NETWORK


def _says_the_rest(claim: Claim, evidence: Evidence, seen: Witness) -> bool:
    """Whether the sentence, with the titles of page and article, has the clause's other words."""
    parts = [clause.text for clause in clauses(claim.text) if seen.claim in clause.text]
    rest = min([*parts, claim.text], key=len).replace(seen.claim, " ", 1)
    sentence = seen.sentence.of(evidence.passage.text) if seen.sentence else ""
    known = roots(f"{claim.title}\n{evidence.passage.about}\n{sentence}")
    return set(roots(rest)) <= set(known)


def _says_retracted(claim: Claim, citation: Citation) -> bool:
    """Whether the article itself says so: by a template, the cited title, or in the sentence."""
    is_stated = not _RETRACTED.isdisjoint(roots(claim.sentence or claim.text))
    return citation.is_marked or is_retracted_title(citation.title or "") or is_stated
