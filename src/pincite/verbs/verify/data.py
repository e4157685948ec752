"""The report as plain JSON values; `report.schema.json` beside this file is its published schema.

Field order is fixed, spans count in the article's source or in the source document's text, and a
change of shape raises `SCHEMA_VERSION`.
"""

import math
from collections import Counter
from pathlib import Path
from typing import Any

from pincite.judgement import aggregation
from pincite.report.json_text import dumped
from pincite.types import (
    Changed,
    CitationResult,
    Copy,
    Evidence,
    Exclusion,
    Finding,
    Label,
    Listing,
    Part,
    Place,
    Report,
    Span,
    Suggestion,
    Unchecked,
)
from pincite.verbs.verify import funnel_words, wording

SCHEMA_VERSION = "4"
SCHEMA = Path(__file__).parent / "report.schema.json"


def to_json(report: Report) -> str:
    """The report as indented JSON with a line break at its end."""
    return dumped(as_dict(report))


def as_dict(report: Report) -> dict[str, Any]:
    """The report as values that JSON knows."""
    return {
        "schema_version": SCHEMA_VERSION,
        "article": {
            "title": report.title,
            "language": report.language,
            "revision_id": report.revision_id,
            "url": report.url,
        },
        "complete": report.complete,
        "counts": counts(report),
        "funnel": funnel_words.as_dict(report.funnel),
        "flag_precision": [
            {"base_rate": base_rate, "precision": _rounded(precision)}
            for base_rate, precision in report.flag_precision
        ],
        "advice": wording.flag_advice(report.flag_precision) or None,
        "findings": [_finding(f, rank) for rank, f in enumerate(report.findings, 1)],
        "warnings": list(report.warnings),
        "settings": dict(report.settings),
        "versions": dict(report.versions),
        "created": report.created,
    }


def counts(report: Report) -> dict[str, Any]:
    """How many of what: references, claims and verdicts."""
    labels = Counter(finding.label for finding in report.findings)
    outcomes = [result.outcome for finding in report.findings for result in finding.citations]
    reasons = Counter(str(o.reason) for o in outcomes if isinstance(o, Unchecked))
    return {
        "references": report.n_references,
        "claims": report.n_claims,
        "judged": len(report.findings),
        "labels": {str(label): labels[label] for label in Label},
        "citations_checked": len(outcomes) - sum(reasons.values()),
        "citations_unchecked": dict(sorted(reasons.items())),
        "with_suggestion": sum(bool(finding.suggestions) for finding in report.findings),
    }


def _finding(finding: Finding, rank: int) -> dict[str, Any]:
    claim = finding.claim
    return {
        "rank": rank,
        "claim_id": claim.claim_id,
        "claim": claim.text,
        "sentence": claim.sentence,
        "part": _span(claim.part),
        "before": claim.before,
        "section": list(claim.section),
        "span": _span(claim.span),
        "tags": list(claim.tags),
        "label": str(finding.label),
        "score": _rounded(finding.score),
        "prob_supported": support(finding),
        "source_changed": finding.source_changed,
        "missing": [_part(part, claim.text) for part in finding.missing],
        "citations": [_citation(result, claim.text) for result in finding.citations],
        "together": _evidence(finding.together) if finding.together else None,
        "suggestions": [_suggestion(s) for s in finding.suggestions],
        "n_candidates": finding.n_candidates,
        "excluded": [_exclusion(left_out) for left_out in finding.excluded],
    }


def _citation(result: CitationResult, claim: str) -> dict[str, Any]:
    citation, outcome = result.citation, result.outcome
    unchecked = isinstance(outcome, Unchecked)
    return {
        "citation_id": citation.citation_id,
        "span": _span(citation.span),
        "template": citation.template,
        "title": citation.title,
        "authors": list(citation.authors),
        "publisher": citation.publisher,
        "pages": citation.pages,
        "url": citation.url,
        "doi": citation.doi,
        "pmid": citation.pmid,
        "isbn": citation.isbn,
        "archive_url": citation.archive_url,
        "url_status": citation.url_status,
        "tags": list(citation.tags),
        "reliability": listing(result.listing),
        "label": str(result.label),
        "clauses": [_part(part, claim) for part in result.clauses],
        "missing": [_part(part, claim) for part in result.missing],
        "copy": _copy(result.copy),
        "not_live": _reason(result.not_live),
        "changed": _changed(result.changed),
        "unchecked": _reason(outcome if isinstance(outcome, Unchecked) else None),
        "place": _place(result.place),
        "evidence": None if unchecked else _evidence(outcome),
    }


def _place(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        "page": place.page,
        "printed": place.printed,
        "cited": place.cited,
        "elsewhere": place.elsewhere,
    }


def _copy(copy: Copy | None) -> dict[str, Any] | None:
    return {"kind": str(copy.kind), "url": copy.url, "date": copy.date} if copy else None


def _reason(why: Unchecked | None) -> dict[str, Any] | None:
    return {"reason": str(why.reason), "detail": why.detail} if why else None


def _changed(changed: Changed | None) -> dict[str, Any] | None:
    if changed is None:
        return None
    return {
        "copy": _copy(changed.copy),
        "label": str(changed.label),
        "evidence": _evidence(changed.evidence),
    }


def _part(part: Part, claim: str) -> dict[str, Any]:
    evidence = part.evidence
    return {
        "kind": part.kind,
        "span": _span(part.span),
        "words": part.span.of(claim),
        "text": part.text,
        "supported": part.supported,
        "prob_supported": _rounded(evidence.prob_supported) if evidence else None,
        "prob_refuted": _rounded(evidence.prob_refuted) if evidence else None,
        "url": evidence.passage.url if evidence else None,
        "quote": evidence.quoted or None if evidence else None,
    }


def _suggestion(suggestion: Suggestion) -> dict[str, Any]:
    return {
        "url": suggestion.evidence.passage.url,
        "title": suggestion.evidence.passage.title,
        "published": suggestion.published,
        "gain": _rounded(suggestion.gain),
        "reliability": listing(suggestion.listing),
        "place": _place(suggestion.place),
        "evidence": _evidence(suggestion.evidence),
    }


def listing(found: Listing | None) -> dict[str, Any] | None:
    """What a list says of a site; None if no list was asked."""
    if found is None:
        return None
    return {
        "label": str(found.reliability),
        "name": found.name,
        "place": found.place,
        "scope": found.scope,
        "link": found.link,
        "others": list(found.others),
    }


def _exclusion(left_out: Exclusion) -> dict[str, Any]:
    return {
        "url": left_out.url,
        "title": left_out.title,
        "reason": str(left_out.bar),
        "detail": left_out.detail,
    }


def _evidence(evidence: Evidence | Unchecked) -> dict[str, Any]:
    assert isinstance(evidence, Evidence)
    passage, quote = evidence.passage, evidence.quote
    start = passage.span.start
    in_document = Span(start + quote.start, start + quote.end) if quote else None
    return {
        "url": passage.url,
        "title": passage.title,
        "doc_id": passage.doc_id,
        "span": _span(passage.span),
        "passage": passage.text,
        "quote": evidence.quoted or None,
        "quote_span": _span(in_document),
        "prob_supported": _rounded(evidence.prob_supported),
        "prob_refuted": _rounded(evidence.prob_refuted),
        "prob_neutral": _rounded(evidence.prob_neutral),
        "score": _rounded(evidence.score),
        "reasons": list(evidence.reasons),
    }


def _span(span: Span | None) -> list[int] | None:
    return [span.start, span.end] if span else None


def _rounded(value: float | None) -> float | None:
    """Four decimals: more would be noise of the int8 weights, and differ between machines."""
    return None if value is None else round(value, 4)


def support(finding: Finding) -> float | None:
    """The probability that the group bears the whole claim out; None if nothing was checked.

    Not that of `finding.score`, which may count the claim's parts and only ranks.
    """
    whole = aggregation.group_score(finding.citations, finding.together, "max")
    return probability(finding.score if whole is None else whole)


def probability(score: float | None) -> float | None:
    """The probability of support behind a score (log-odds); None of None."""
    return None if score is None else round(1 / (1 + math.exp(-max(-30.0, min(30.0, score)))), 4)
