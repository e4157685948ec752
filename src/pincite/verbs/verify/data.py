"""The report as JSON and back: `contract.verify` describes each object.

A change of shape raises `schema_version`. What the JSON leaves out cannot be read again: of the
evidence for a clause all but its probabilities and quote.
"""

from collections import Counter
from functools import partial
from pathlib import Path

from pincite import containment, notes
from pincite.contract import codec
from pincite.contract.codec import made, rounded
from pincite.contract.verify import (
    ArticleRecord,
    ChangedRecord,
    CitationRecord,
    CountsRecord,
    EvidenceRecord,
    ExclusionRecord,
    FindingRecord,
    ListingRecord,
    OpinionRecord,
    PartRecord,
    PrecisionRecord,
    ReportRecord,
    SuggestionRecord,
    UncheckedRecord,
    UncitedRecord,
)
from pincite.errors import InputError
from pincite.judgement import aggregation, fusion
from pincite.opinions import Opinion, Verdict
from pincite.types import (
    Changed,
    Citation,
    CitationResult,
    Claim,
    Evidence,
    Exclusion,
    Failed,
    Finding,
    Label,
    Listing,
    Part,
    Passage,
    Span,
    Suggestion,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.records import Report

_NOTHING_SAID = Opinion(Verdict.UNUSABLE, "")  # what the record of a failure has beside the reason
SCHEMA = Path(__file__).parent / "report.schema.json"


def to_json(report: Report) -> str:
    """The report as indented JSON with a line break at its end."""
    return codec.to_json(record_of(report))


def from_json(data: bytes | str) -> Report:
    """The report that `to_json` wrote, but for rounding and what the JSON leaves out.

    Raises:
        InputError: it is no such report; the message names the first place that is wrong.
    """
    return report_of(codec.from_json(ReportRecord, data))


# ── Written ──────────────────────────────────────────────────────────────────────────────────────


def record_of(report: Report) -> ReportRecord:
    """The report as its JSON has it."""
    return made(
        ReportRecord,
        report,
        schema_version="4",
        article=made(ArticleRecord, report),
        counts=counts(report),
        flag_precision=tuple(
            PrecisionRecord(base_rate=base_rate, precision=round(precision, 4))
            for base_rate, precision in report.flag_precision
        ),
        advice=wording.flag_advice(report.flag_precision) or None,
        findings=tuple(
            containment.shown(partial(_finding, rank=rank), each)
            for rank, each in enumerate(report.findings, 1)
        ),
        uncited=None
        if report.uncited is None
        else tuple(containment.shown_uncited(_uncited, each) for each in report.uncited),
    )


def counts(report: Report) -> CountsRecord:
    """How many of what: references, claims and verdicts."""
    labels = Counter(finding.label for finding in report.findings)
    outcomes = [result.outcome for finding in report.findings for result in finding.citations]
    reasons = Counter(o.reason for o in outcomes if isinstance(o, Unchecked))
    return CountsRecord(
        references=report.n_references,
        claims=report.n_claims,
        judged=len(report.findings),
        labels={label: labels[label] for label in Label},
        citations_checked=len(outcomes) - reasons.total(),
        citations_unchecked=dict(sorted(reasons.items())),
        with_suggestion=sum(bool(finding.suggestions) for finding in report.findings),
    )


def _finding(finding: Finding, rank: int) -> FindingRecord:
    claim = finding.claim
    return rounded(
        made(
            FindingRecord,
            claim,
            finding,
            rank=rank,
            claim=claim.text,
            prob_supported=aggregation.support(finding),
            missing=_parts(finding.missing, claim.text),
            citations=tuple(_citation(result, claim.text) for result in finding.citations),
            together=_evidence(finding.together) if finding.together else None,
            suggestions=tuple(map(_suggestion, finding.suggestions)),
            excluded=tuple(made(ExclusionRecord, e, reason=e.bar) for e in finding.excluded),
            opinion=_opinion(finding),
        )
    )


def _uncited(uncited: Uncited) -> UncitedRecord:
    return rounded(
        made(
            UncitedRecord,
            uncited.claim,
            uncited,
            suggestions=tuple(map(_suggestion, uncited.suggestions)),
            excluded=tuple(made(ExclusionRecord, e, reason=e.bar) for e in uncited.excluded),
        )
    )


def _opinion(finding: Finding) -> OpinionRecord | None:
    said = finding.opinion
    if said is None:
        return None
    return rounded(
        made(
            OpinionRecord,
            said,
            _NOTHING_SAID,
            verdict=None if isinstance(said, Failed) else said.verdict,
            disagrees=fusion.disagree(finding),
            failed=said if isinstance(said, Failed) else None,
        )
    )


def _citation(result: CitationResult, claim: str) -> CitationRecord:
    outcome, changed = result.outcome, result.changed
    unchecked = outcome if isinstance(outcome, Unchecked) else None
    return made(
        CitationRecord,
        result.citation,
        result,
        reliability=listing(result.listing),
        clauses=_parts(result.clauses, claim),
        missing=_parts(result.missing, claim),
        not_live=made(UncheckedRecord, result.not_live) if result.not_live else None,
        changed=made(ChangedRecord, changed, evidence=_evidence(changed.evidence))
        if changed
        else None,
        unchecked=made(UncheckedRecord, unchecked) if unchecked else None,
        evidence=_evidence(outcome) if isinstance(outcome, Evidence) else None,
    )


def _parts(parts: tuple[Part, ...], claim: str) -> tuple[PartRecord, ...]:
    return tuple(_part(part, claim) for part in parts)


def _part(part: Part, claim: str) -> PartRecord:
    evidence = part.evidence
    return rounded(
        made(
            PartRecord,
            part,
            words=part.span.of(claim),
            prob_supported=evidence.prob_supported if evidence else None,
            prob_refuted=evidence.prob_refuted if evidence else None,
            url=evidence.passage.url if evidence else None,
            quote=evidence.quoted or None if evidence else None,
        )
    )


def _suggestion(suggestion: Suggestion) -> SuggestionRecord:
    return rounded(
        made(
            SuggestionRecord,
            suggestion,
            suggestion.evidence.passage,
            reliability=listing(suggestion.listing),
            evidence=_evidence(suggestion.evidence),
        )
    )


def listing(found: Listing | None) -> ListingRecord | None:
    """What a list says of a site; None if no list was asked."""
    return made(ListingRecord, found, label=found.reliability) if found else None


def _evidence(evidence: Evidence) -> EvidenceRecord:
    passage, quote = evidence.passage, evidence.quote
    return rounded(
        made(
            EvidenceRecord,
            evidence,
            passage,
            passage=passage.text,
            quote=evidence.quoted or None,
            quote_span=quote.moved(passage.span.start) if quote else None,
        )
    )


# ── Read ─────────────────────────────────────────────────────────────────────────────────────────


def report_of(record: ReportRecord) -> Report:
    """The report behind its JSON.

    Raises:
        InputError: its parts do not fit together; names the first.
    """
    title = record.article.title
    return made(
        Report,
        record,
        record.article,
        warnings_coded=notes.stored(record.warnings_coded, *record.warnings),
        findings=tuple(_finding_of(each, title) for each in record.findings),
        n_claims=record.counts.claims,
        n_references=record.counts.references,
        stopped=not record.complete,
        flag_precision=tuple((each.base_rate, each.precision) for each in record.flag_precision),
        uncited=None
        if record.uncited is None
        else tuple(_uncited_of(each, title) for each in record.uncited),
    )


def _finding_of(record: FindingRecord, title: str) -> Finding:
    results = tuple(map(_result_of, record.citations))
    citations = tuple(result.citation for result in results)
    return made(
        Finding,
        record,
        claim=made(Claim, record, text=record.claim, title=title, citations=citations),
        citations=results,
        together=_evidence_of(record.together) if record.together else None,
        suggestions=tuple(map(_suggestion_of, record.suggestions)),
        missing=tuple(map(_part_of, record.missing)),
        excluded=tuple(made(Exclusion, each, bar=each.reason) for each in record.excluded),
        opinion=_opinion_of(record.opinion) if record.opinion else None,
    )


def _uncited_of(record: UncitedRecord, title: str) -> Uncited:
    text = record.sentence
    return made(
        Uncited,
        record,
        claim=made(Claim, record, text=text, title=title, part=Span(0, len(text)), citations=()),
        suggestions=tuple(map(_suggestion_of, record.suggestions)),
        reasons_coded=notes.stored(record.reasons_coded, *record.reasons),
        excluded=tuple(made(Exclusion, each, bar=each.reason) for each in record.excluded),
    )


def _opinion_of(record: OpinionRecord) -> Opinion | Failed:
    if record.failed:
        return record.failed
    if record.verdict is None:
        raise InputError("an opinion has neither a verdict nor a reason why it has none")
    return made(Opinion, record)


def _result_of(record: CitationRecord) -> CitationResult:
    changed, not_live = record.changed, record.not_live
    return made(
        CitationResult,
        record,
        citation=citation_of(record),
        outcome=_outcome_of(record),
        clauses=tuple(map(_part_of, record.clauses)),
        missing=tuple(map(_part_of, record.missing)),
        listing=_listing_of(record.reliability),
        not_live=_unchecked_of(not_live, record) if not_live else None,
        changed=made(Changed, changed, evidence=_evidence_of(changed.evidence))
        if changed
        else None,
    )


def citation_of(record: CitationRecord) -> Citation:
    """The citation itself, without what was found of it."""
    return made(Citation, record, definition=record.span, quote=None)


def _outcome_of(record: CitationRecord) -> Evidence | Unchecked:
    if record.unchecked:
        return _unchecked_of(record.unchecked, record)
    if record.evidence is None:
        raise InputError(f"citation {record.citation_id!r} has neither evidence nor a reason")
    return _evidence_of(record.evidence)


def _unchecked_of(why: UncheckedRecord, record: CitationRecord) -> Unchecked:
    return made(Unchecked, why, url=record.url or "")


def _listing_of(record: ListingRecord | None) -> Listing | None:
    return made(Listing, record, reliability=record.label) if record else None


def _part_of(record: PartRecord) -> Part:
    if record.prob_supported is None:
        return made(Part, record)
    quote, refuted = record.quote or "", record.prob_refuted or 0.0
    whole = Span(0, len(quote))
    evidence = Evidence(
        Passage("", record.url or "", "", quote, whole),
        record.prob_supported,
        refuted,
        max(0.0, 1 - record.prob_supported - refuted),
        aggregation.log_odds(record.prob_supported),
        whole if quote else None,
    )
    return made(Part, record, evidence=evidence)


def _suggestion_of(record: SuggestionRecord) -> Suggestion:
    evidence, found = _evidence_of(record.evidence), _listing_of(record.reliability)
    return made(Suggestion, record, evidence=evidence, listing=found)


def _evidence_of(record: EvidenceRecord) -> Evidence:
    span, quote = record.span, record.quote_span
    if quote and quote.start < span.start:
        raise InputError(f"a quote_span begins before its passage: {list(quote)} in {list(span)}")
    return made(
        Evidence,
        record,
        passage=made(Passage, record, text=record.passage),
        quote=quote.moved(-span.start) if quote else None,
        reasons_coded=notes.stored(record.reasons_coded, *record.reasons),
    )
