"""The report as one self-contained HTML page: no script, no request, everything escaped.

Jinja2 escapes every value (autoescape is on for the whole environment) and the page's own
content-security policy forbids scripts and requests, should anything ever slip through. The filter
is made of radio buttons and style rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from pincite import containment
from pincite.judgement.funnel import FLAGS, Stage
from pincite.notes import Note
from pincite.report import cells, templates
from pincite.report.reasons import REASONS, why_excluded
from pincite.types import (
    CitationResult,
    Evidence,
    Finding,
    Label,
    Listing,
    Part,
    Suggestion,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify import excerpts, funnel_words, wikitext, wording
from pincite.verbs.verify.report import Report

MAX_BEFORE = 160  # characters of context before a claim
MAX_NAME = 160  # characters of a source's name: some references are whole paragraphs
MAX_LINE = 95  # characters of a claim in a list
LOOK_AT = (Label.REFUTED, Label.NOT_SUPPORTED, Label.PARTLY_SUPPORTED)


@dataclass(frozen=True, slots=True)
class _Quoted:
    """The few lines of a passage to show, and the passage in three pieces; support in percent."""

    shown: excerpts.Excerpt | None
    head: str
    quote: str
    tail: str
    support: int
    refuted: int
    reasons: tuple[Note, ...]


def to_html(report: Report, today: date) -> str:
    """The page as text."""
    findings = {
        rank: containment.shown(partial(_finding, rank=rank, today=today), each)
        for rank, each in enumerate(report.findings, 1)
    }
    first = [rank for rank, f in enumerate(report.findings, 1) if _to_look_at(f)]
    sound = [
        rank
        for rank, f in enumerate(report.findings, 1)
        if f.label is Label.SUPPORTED and rank not in set(first)
    ]
    counts = report.counts
    return templates.page("report.html.j2").render(
        report=report,
        article_url=cells.safe_link(report.url),
        counts=counts,
        cited=report.funnel.stages[Stage.CITED],
        n_judged=report.funnel.stages[Stage.JUDGED].uses,
        n_of=cells.n_of,
        findings=list(findings.values()),
        first=[findings[rank] for rank in first],
        first_words=_first_words([report.findings[rank - 1] for rank in first]),
        sound=[findings[rank] for rank in sound],
        open=_open(report, findings),
        uncited=None
        if report.uncited is None
        else [
            containment.shown_uncited(partial(_uncited, today=today), each)
            for each in report.uncited
        ],
        uncited_words=wording.UNCITED,
        columns=funnel_words.columns(report.funnel),
        counted=funnel_words.counted(report.funnel),
        lost=funnel_words.lost(report.funnel),
        order=wording.ORDER,
        signs=wording.SIGNS,
        labels=wording.LABELS,
        legend=wording.LEGEND,
        advice=wording.flag_advice(report.flag_precision) or wording.ADVICE,
        other_rates=wording.other_rates(report.flag_precision),
        no_quote=_sentence(excerpts.NONE),
        changed_step=wording.CHANGED_STEP,
        css=templates.style("verify.css"),
    )


def _to_look_at(finding: Finding) -> bool:
    """Whether a person should read it first: it fails in a part, or its source changed."""
    return finding.label in LOOK_AT or (finding.label is Label.SUPPORTED and finding.source_changed)


def _first_words(first: Sequence[Finding]) -> str:
    flagged = sum(finding.label in FLAGS for finding in first)
    partly = sum(finding.label is Label.PARTLY_SUPPORTED for finding in first)
    changed = len(first) - flagged - partly
    counts = (
        (flagged, "flagged"),
        (partly, "partly supported"),
        (changed, "with a changed source"),
    )
    said = [f"{n} {words}" for n, words in counts if n]
    return f"{cells.n_of(len(first), 'claim')} ({', '.join(said)})" if said else ""


def _open(report: Report, findings: Mapping[int, object]) -> list[dict[str, object]]:
    return [
        {
            "why": _sentence(group.why),
            "steps": _sentence(group.steps),
            "one_reason": len(group.reasons) == 1,
            "findings": [findings[rank] for rank, _ in group.findings],
            "n_better": sum(bool(finding.suggestions) for _, finding in group.findings),
        }
        for group in funnel_words.by_reason(report.findings)
    ]


def _finding(finding: Finding, rank: int, today: date) -> dict[str, object]:
    claim = finding.claim
    support = finding.prob_supported
    texts = [wikitext.tag(finding, today)]
    texts += [wikitext.archived(result) for result in finding.citations]
    texts += [wikitext.reference(suggestion, today) for suggestion in finding.suggestions[:1]]
    judged = [r for r in finding.citations if isinstance(r.outcome, Evidence)]
    shared = wording.unsaid(_shared_reasons(judged), finding.missing)
    lacks = wording.what_is_missing(finding.label, finding.missing)
    return {
        "rank": rank,
        "label": finding.label,
        "support": None if support is None else round(100 * support),
        "together": cells.percent(finding.together.prob_supported) if finding.together else None,
        "tags": claim.tags,
        "section": " › ".join(claim.section),
        "before": f"[{claim.about}] " * bool(claim.about) + _tail(claim.before, MAX_BEFORE),
        "unread": claim.unread,
        "short": cells.shortened(claim.text, MAX_LINE),
        "pieces": pieces(claim.text, finding.missing),
        "missing": _sentence(
            ("but " if finding.label is Label.SUPPORTED else "") * bool(lacks) + lacks
        ),
        "source_changed": finding.source_changed,
        "n_citations": len(finding.citations),
        "shared": shared,
        "judged": [_citation(result, finding, shared) for result in judged],
        "unchecked": _unchecked(finding),
        "opinion": wording.second_opinion(finding),
        "suggestions": [_suggestion(suggestion) for suggestion in finding.suggestions],
        "wikitext": [text for text in texts if text],
        "excluded": [
            {"url": left_out.url, "why": why_excluded(left_out)} for left_out in finding.excluded
        ],
    }


def _uncited(uncited: Uncited, today: date) -> dict[str, object]:
    claim = uncited.claim
    texts = [wikitext.tag_uncited(uncited, today)]
    texts += [wikitext.reference(suggestion, today) for suggestion in uncited.suggestions[:1]]
    return {
        "section": " › ".join(claim.section),
        "before": _tail(claim.before, MAX_BEFORE),
        "text": claim.text,
        "percent": cells.percent(uncited.probability),
        "reasons": uncited.reasons_coded,
        "suggestions": [_suggestion(suggestion) for suggestion in uncited.suggestions],
        "wikitext": [text for text in texts if text],
    }


def pieces(text: str, missing: Sequence[Part]) -> list[tuple[str, bool]]:
    """The text cut at the edges of its missing parts; whether each piece is one."""
    found, end = [], 0
    for start, stop in sorted(part.span for part in missing):
        start, stop = max(start, end), max(stop, end)  # parts of different kinds may overlap
        found += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return [piece for piece in [*found, (text[end:], False)] if piece[0]]


def _shared_reasons(judged: Sequence[CitationResult]) -> tuple[Note, ...]:
    """What would be said of each of several sources: it is said once."""
    found = [r.outcome.reasons_coded for r in judged if isinstance(r.outcome, Evidence)]
    if len(found) < 2:
        return ()
    return tuple(reason for reason in found[0] if all(reason in other for other in found[1:]))


def _unchecked(finding: Finding) -> list[dict[str, object]]:
    groups: dict[str, list[dict[str, object]]] = {}
    for result in finding.citations:
        if isinstance(result.outcome, Unchecked):
            name, detail = _name(result), cells.one_line(result.outcome.detail)
            known = detail in name or name in detail
            source: dict[str, object] = {
                "name": name,
                "href": cells.safe_link(result.citation.url),
                "detail": "" if known else detail,
                "listed": _listed(result.listing),
            }
            groups.setdefault(REASONS[result.outcome.reason], []).append(source)
    return [{"why": _sentence(why), "sources": sources} for why, sources in groups.items()]


def _citation(
    result: CitationResult, finding: Finding, shared: Sequence[Note]
) -> dict[str, object]:
    outcome, read = result.outcome, wording.copy_read(result)
    assert isinstance(outcome, Evidence)
    missing = result.missing or finding.missing
    reasons = wording.unsaid(outcome.reasons_coded, missing)
    differs = result.missing != finding.missing or result.label is not finding.label
    today = result.changed.evidence if result.changed else None
    lacks = wording.what_is_missing(result.label, result.missing) if differs else ""
    return {
        "label": result.label,
        "name": _name(result),
        "href": cells.safe_link(result.citation.url),
        "listed": _listed(result.listing),
        "missing": _sentence(lacks),
        "read": _sentence(read),
        "read_href": cells.safe_link(result.copy.url) if result.copy else None,
        "evidence": _quoted(outcome, [r for r in reasons if r not in shared]),
        "where": wording.where(result.place, result.label),
        "changed": wording.what_changed(result),
        "today": _quoted(today, today.reasons_coded) if today else None,
    }


def _suggestion(suggestion: Suggestion) -> dict[str, object]:
    evidence = suggestion.evidence
    passage = evidence.passage
    return {
        "name": cells.shortened(passage.title, MAX_NAME) or passage.url,
        "href": cells.safe_link(passage.url),
        "published": suggestion.published,
        "corpus": suggestion.corpus,
        "listed": _listed(suggestion.listing),
        "evidence": _quoted(evidence, evidence.reasons_coded),
        "where": wording.where(suggestion.place, Label.SUPPORTED),
    }


def _name(result: CitationResult) -> str:
    return cells.shortened(wording.name_of(result.citation), MAX_NAME)


def _listed(listing: Listing | None) -> dict[str, object] | None:
    if listing is None:
        return None
    words = wording.reliability(listing)
    return {"label": listing.reliability, "words": words, "href": cells.safe_link(listing.link)}


def _quoted(evidence: Evidence, reasons: Sequence[Note]) -> _Quoted:
    text, quote = evidence.passage.text, evidence.quote
    start, end = (quote.start, quote.end) if quote else (0, 0)
    return _Quoted(
        shown=excerpts.excerpt(text, quote),
        head=text[:start],
        quote=text[start:end],
        tail=text[end:],
        support=cells.percent(evidence.prob_supported),
        refuted=cells.percent(evidence.prob_refuted),
        reasons=tuple(reasons),
    )


def _sentence(words: str) -> str:
    """With a capital letter; nothing else is changed, as `str.capitalize` would.

    >>> _sentence("the PDF asks for a password")
    'The PDF asks for a password'
    """
    return words[:1].upper() + words[1:]


def _tail(text: str, limit: int) -> str:
    return text if len(text) <= limit else "…" + text[-limit:].partition(" ")[2]
