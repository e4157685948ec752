"""The report as one self-contained HTML page: no script, no request, everything escaped.

Jinja2 escapes every value (autoescape is on for the whole environment) and the page's own
content-security policy forbids scripts and requests, should anything ever slip through.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pincite.report import data, funnel, templates, wikitext, wording
from pincite.types import (
    CitationResult,
    Evidence,
    Finding,
    Label,
    Listing,
    Part,
    Report,
    Suggestion,
    Unchecked,
)

MAX_BEFORE = 400  # characters of context before a claim


@dataclass(frozen=True, slots=True)
class _Quoted:
    """A passage in three pieces, the middle one to be marked; shares in whole percent."""

    head: str
    quote: str
    tail: str
    supported: int
    refuted: int
    reasons: tuple[str, ...]


def to_html(report: Report, today: date) -> str:
    """The page as text."""
    findings = [_finding(f, rank, today) for rank, f in enumerate(report.findings, 1)]
    return templates.page("report.html.j2").render(
        report=report,
        article_url=safe_link(report.url),
        counts=data.counts(report),
        columns=funnel.columns(report.funnel),
        counted=funnel.counted(report.funnel),
        lost=funnel.lost(report.funnel),
        n_lost=funnel.n_lost(report.funnel),
        findings=findings,
        open=[finding for finding in findings if finding["label"] is Label.UNCHECKED],
        order=wording.ORDER,
        signs=wording.SIGNS,
        labels=wording.LABELS,
        advice=wording.ADVICE,
        changed_step=wording.CHANGED_STEP,
        flag_advice=wording.flag_advice(report.flag_precision),
        css=templates.style(),
    )


def _finding(finding: Finding, rank: int, today: date) -> dict[str, object]:
    claim = finding.claim
    support = data.support(finding)
    texts = [wikitext.tag(finding, today)]
    texts += [wikitext.archived(result) for result in finding.citations]
    texts += [wikitext.reference(suggestion, today) for suggestion in finding.suggestions[:1]]
    return {
        "rank": rank,
        "label": finding.label,
        "support": None if support is None else round(100 * support),
        "together": _percent(finding.together.prob_supported) if finding.together else None,
        "tags": claim.tags,
        "section": " › ".join(claim.section),
        "before": _tail(claim.before, MAX_BEFORE),
        "claim": claim.text,
        "pieces": pieces(claim.text, finding.missing),
        "missing": wording.what_is_missing(claim.text, finding.label, finding.missing),
        "why": wording.why_open(finding),
        "citations": [_citation(result, finding) for result in finding.citations],
        "suggestions": [_suggestion(suggestion) for suggestion in finding.suggestions],
        "wikitext": [text for text in texts if text],
        "excluded": [
            {"url": left_out.url, "why": wording.why_excluded(left_out)}
            for left_out in finding.excluded
        ],
    }


def pieces(text: str, missing: Sequence[Part]) -> list[tuple[str, bool]]:
    """The text cut at the edges of its missing parts; whether each piece is one."""
    found, end = [], 0
    for start, stop in sorted(part.span for part in missing):
        start, stop = max(start, end), max(stop, end)  # parts of different kinds may overlap
        found += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return [piece for piece in [*found, (text[end:], False)] if piece[0]]


def _citation(result: CitationResult, finding: Finding) -> dict[str, object]:
    outcome = result.outcome
    unchecked = isinstance(outcome, Unchecked)
    read = wording.copy_read(result)
    differs = result.missing != finding.missing or result.label is not finding.label
    return {
        "label": result.label,
        "name": wording.name_of(result.citation),
        "href": safe_link(result.citation.url),
        "listed": _listed(result.listing),
        "why": wording.why_unchecked(outcome) if isinstance(outcome, Unchecked) else "",
        "missing": (
            wording.what_is_missing(finding.claim.text, result.label, result.missing)
            if differs
            else ""
        ),
        "read": read[:1].upper() + read[1:],
        "read_href": safe_link(result.copy.url) if result.copy else None,
        "evidence": None if unchecked else _quoted(outcome),
        "where": wording.where(result.place, result.label),
        "changed": wording.what_changed(result),
        "today": _quoted(result.changed.evidence) if result.changed else None,
    }


def _suggestion(suggestion: Suggestion) -> dict[str, object]:
    passage = suggestion.evidence.passage
    return {
        "name": wording.one_line(passage.title) or passage.url,
        "href": safe_link(passage.url),
        "published": suggestion.published,
        "listed": _listed(suggestion.listing),
        "evidence": _quoted(suggestion.evidence),
        "where": wording.where(suggestion.place, Label.SUPPORTED),
    }


def _listed(listing: Listing | None) -> dict[str, object] | None:
    """What the list says of the site, with the link to its discussion."""
    if listing is None:
        return None
    words = wording.reliability(listing)
    return {"label": listing.reliability, "words": words, "href": safe_link(listing.link)}


def _quoted(evidence: Evidence | Unchecked) -> _Quoted:
    assert isinstance(evidence, Evidence)
    text, quote = evidence.passage.text, evidence.quote
    start, end = (quote.start, quote.end) if quote else (0, 0)
    return _Quoted(
        head=text[:start],
        quote=text[start:end],
        tail=text[end:],
        supported=_percent(evidence.prob_supported),
        refuted=_percent(evidence.prob_refuted),
        reasons=evidence.reasons,
    )


def _percent(probability: float) -> int:
    return round(100 * probability)


def safe_link(url: str | None) -> str | None:
    """The URL if a browser may open it: `javascript:` and its like become plain text."""
    return url if url and url.lower().startswith(("http://", "https://")) else None


def _tail(text: str, limit: int) -> str:
    return text if len(text) <= limit else "…" + text[-limit:].partition(" ")[2]
