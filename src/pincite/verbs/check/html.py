"""Checks as one self-contained HTML page: no script, no request, everything escaped."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pincite.documents.text import code_of
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, Weighed
from pincite.report import cells, templates
from pincite.report.cells import safe_link
from pincite.text.hosts import host_of
from pincite.types import CopyKind, Failed, Span
from pincite.verbs.check import wording as check_wording
from pincite.verbs.check.records import Check, CheckReport, ReadingResult, shown

_PLOT = 320  # pixels of a side of the plot of measures
_HEADLINE = 300  # characters of a statement as a heading; the whole is a click away
_SIDES: tuple[dict[str, str], ...] = (
    {"sign": "▲", "word": "for", "name": "For it", "tone": "supported", "bar": "s"},
    {"sign": "▽", "word": "against", "name": "Against it", "tone": "refuted", "bar": "r"},
)


def to_html(report: CheckReport) -> str:
    """The page as text."""
    threshold = check_wording.threshold_of(report)
    n_readings = sum(len(check.results) for check in report.checks)
    return templates.page("check.html.j2").render(
        report=report,
        checks=[shown(partial(view, threshold=threshold), check) for check in report.checks],
        n_readings=check_wording.readings(n_readings),
        language=code_of(str(report.settings.get("language", ""))) or "en",
        advice=check_wording.ADVICE,
        legend=check_wording.legend(threshold) if check_wording.has_degrees(report) else "",
        used=cells.asked(report.usage),
        css=templates.style("check.css"),
    )


def view(check: Check, threshold: float) -> dict[str, Any]:
    """What a page shows of one check, in the names of its template."""
    return {
        "statement": check.statement,
        "short": cells.shortened(check.statement, _HEADLINE),
        "interpreted_by": check.interpreted_by,
        "failures": [failure.detail for failure in check.failures],
        "readings": [_reading(result, threshold) for result in check.results],
    }


def _tone(outcome: Outcome) -> str:
    """A class of the style sheet, which knows the tones of `verify`."""
    rank = confirmation.rank(outcome)
    if rank is None:
        return "unchecked"
    return ("partly_supported", "supported", "refuted")[(rank > 0) - (rank < 0)]


def _reading(result: ReadingResult, threshold: float) -> dict[str, object]:
    outcome, weight = result.weight.outcome, result.weight
    for_it, against = confirmation.sides(result.items, threshold)
    failures = [i.outcome.detail for i in result.items if isinstance(i.outcome, Failed)]
    return {
        "number": result.reading.reading_id[1:],
        "text": result.reading.text,
        "kind": result.reading.kind,
        "meaning": check_wording.KINDS[result.reading.kind],
        "negation": result.reading.negation,
        "tone": _tone(outcome),
        "sign": check_wording.SIGNS[outcome],
        "label": check_wording.LABELS[outcome],
        "summary": check_wording.sentence(result),
        "warning": check_wording.warning(result),
        "years": [
            (year, check_wording.signed(then.doc), check_wording.LABELS[then.outcome])
            for year, then in result.as_of
        ],
        "sides": [
            {**side, "items": [_item(result, n) for n in places]}
            for side, places in zip(_SIDES, (for_it, against), strict=True)
            if for_it or against
        ],
        "n_silent": weight.n_silent,
        "failures": list(dict.fromkeys(failures)),
        "unused": check_wording.unused_pages(result),
    }


def _item(result: ReadingResult, place: int) -> dict[str, object]:
    item: Weighed = result.items[place]
    passage, outcome = item.passage, item.outcome
    assert not isinstance(outcome, Failed)
    doc = confirmation.degree_of(item) or 0.0
    start, end = outcome.quote or Span(0, 0)
    source = [item.meta.get(name, "") for name in ("author", "publisher", "site")]
    source += [f"corpus {item.corpus}"] if item.corpus else []
    href = safe_link(passage.url)
    return {
        "doc": check_wording.signed(doc),
        "share": round(abs(doc) * 100),
        "strong": place in result.weight.contradictions,
        "name": cells.one_line(passage.title) or passage.url,
        "href": href,
        "host": host_of(passage.url) if href and passage.title else "",
        "published": item.published,
        "source": " · ".join(dict.fromkeys(part for part in source if part)),
        "head": passage.text[:start],
        "quote": passage.text[start:end],
        "tail": passage.text[end:],
        "reasons": outcome.reasons_coded,
        "analysis": outcome.analysis,
        "copies": item.copies,
        "online": item.origin is CopyKind.LIVE,
    }


def measures_to_html(result: Mapping[str, Any]) -> str:
    """What `pincite eval check` measured, as one self-contained HTML page with its plot."""
    points = [
        {
            "x": round(one["mean_probability"] * _PLOT, 1),
            "y": round((1 - one["share_supported"]) * _PLOT, 1),
            "r": round(3 + 2 * one["n"] ** 0.5, 1),
            "title": f"{one['mean_probability']:.2f} said, {one['share_supported']:.2f} true, "
            f"{one['n']} statements",
        }
        for one in result["reliability"]
    ]
    said = list(next(iter(result["confusion"].values())))
    return templates.page("check_measures.html.j2").render(
        result=result,
        groups={"all": result, **result["by_type"]},
        names={name: name.replace("_", " ") for name in (*result["confusion"], *said)},
        rows=[_measured(row) for row in result["rows"]],
        said=said,
        points=points,
        side=_PLOT,
        css=templates.style("check_measures.css"),
    )


def _measured(row: Mapping[str, Any]) -> dict[str, Any]:
    """A statement as its line of the table shows it."""
    return {
        **row,
        "right": row["said"] == row["label"],
        "outcome": check_wording.LABELS[Outcome(row["outcome"])],
        "degree": check_wording.signed(row["doc"]),
    }
