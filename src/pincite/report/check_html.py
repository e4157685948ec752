"""Checks as one self-contained HTML page: no script, no request, everything escaped."""

from pincite.checks import Check, CheckReport, Failed, ReadingResult, Weighed
from pincite.core import confirmation
from pincite.report import check_wording, templates, wording
from pincite.report.html import safe_link
from pincite.types import Span

# Classes of the style sheet, which knows the tones of `verify`.
_TONES = {
    **dict.fromkeys(("strong_confirmation", "confirmation", "weak_confirmation"), "supported"),
    **dict.fromkeys(("strong_disconfirmation", "disconfirmation"), "refuted"),
    "weak_disconfirmation": "refuted",
    "balanced": "partly_supported",
    **dict.fromkeys(("no_evidence", "failed", "not_judged"), "unchecked"),
}


def to_html(report: CheckReport) -> str:
    """The page as text."""
    threshold = check_wording.threshold_of(report)
    return templates.page("check.html.j2").render(
        report=report,
        checks=[_check(check, threshold) for check in report.checks],
        advice=check_wording.ADVICE,
        used=check_wording.used(report),
        css=templates.style("check.css"),
    )


def _check(check: Check, threshold: float) -> dict[str, object]:
    return {
        "statement": check.statement,
        "interpreted_by": check.interpreted_by,
        "failures": [failure.detail for failure in check.failures],
        "readings": [_reading(result, threshold) for result in check.results],
    }


def _reading(result: ReadingResult, threshold: float) -> dict[str, object]:
    outcome, weight = result.weight.outcome, result.weight
    for_it, against = confirmation.sides(result.items, threshold)
    failures = [i.outcome.detail for i in result.items if isinstance(i.outcome, Failed)]
    return {
        "number": result.reading.reading_id[1:],
        "text": result.reading.text,
        "kind": result.reading.kind,
        "origin": result.reading.origin,
        "negation": result.reading.negation,
        "tone": _TONES[str(outcome)],
        "sign": check_wording.SIGNS[outcome],
        "label": check_wording.LABELS[outcome],
        "summary": check_wording.sentence(result),
        "warning": check_wording.warning(result),
        "years": [
            (year, check_wording.signed(then.doc), check_wording.LABELS[then.outcome])
            for year, then in result.as_of
        ],
        "sides": [
            ("+", "for it", [_item(result, n) for n in for_it]),
            ("−", "against it", [_item(result, n) for n in against]),
        ],
        "n_silent": weight.n_silent,
        "failures": list(dict.fromkeys(failures)),
    }


def _item(result: ReadingResult, place: int) -> dict[str, object]:
    item: Weighed = result.items[place]
    passage, outcome = item.passage, item.outcome
    assert not isinstance(outcome, Failed)
    doc = confirmation.degree_of(item) or 0.0
    start, end = outcome.quote or Span(0, 0)
    source = (item.meta.get(name, "") for name in ("author", "publisher", "site"))
    return {
        "doc": check_wording.signed(doc),
        "share": round(abs(doc) * 100),
        "strong": place in result.weight.contradictions,
        "name": wording.one_line(passage.title) or passage.url,
        "href": safe_link(passage.url),
        "published": item.published,
        "source": " · ".join(part for part in source if part),
        "head": passage.text[:start],
        "quote": passage.text[start:end],
        "tail": passage.text[end:],
        "reasons": outcome.reasons,
        "analysis": outcome.analysis,
        "copies": item.copies,
    }
