"""Checks as one self-contained HTML page, and the values that the server's page shows.

The page has no script and makes no request; every value is escaped.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, Weighed
from pincite.notes import IN_ENGLISH, Language
from pincite.report import cells, templates
from pincite.report.cells import safe_link
from pincite.text.hosts import host_of
from pincite.text.page_numbers import PageNumber, number_at
from pincite.types import CopyKind, Document, Failed, Span
from pincite.verbs.check import wording
from pincite.verbs.check.records import Check, CheckReport, ReadingResult, shown

_PLOT = 320  # pixels of a side of the plot of measures
_HEADLINE = 300  # characters of a statement as a heading; the whole is a click away
_SIDES = (
    {"word": "for", "sign": "▲", "tone": "supported"},
    {"word": "against", "sign": "▽", "tone": "refuted"},
    {"word": "neutral", "sign": "○", "tone": "unchecked"},
)


def to_html(report: CheckReport) -> str:
    """The page as text."""
    threshold = wording.threshold_of(report)
    n_readings = sum(len(check.results) for check in report.checks)
    return templates.page("check.html.j2").render(
        report=report,
        checks=views(report),
        n_readings=wording.readings(n_readings),
        advice=wording.ADVICE,
        legend=wording.legend(threshold) if wording.has_degrees(report) else "",
        used=cells.asked(report.usage),
        css=templates.style("check.css"),
    )


def views(report: CheckReport, words: Language = IN_ENGLISH) -> list[dict[str, Any]]:
    """What a page shows of each check, in the names of `reading.html.j2`."""
    view = partial(_view, threshold=wording.threshold_of(report), words=words)
    return [shown(view, check) for check in report.checks]


def _view(check: Check, threshold: float, words: Language) -> dict[str, Any]:
    return {
        "statement": check.statement,
        "short": cells.shortened(check.statement, _HEADLINE),
        "interpreted_by": check.interpreted_by,
        "failures": [failure.detail for failure in check.failures],
        "readings": [_reading(result, threshold, words) for result in check.results],
    }


def _reading(result: ReadingResult, threshold: float, words: Language) -> dict[str, object]:
    outcome = result.weight.outcome
    rank = confirmation.rank(outcome)
    failures = [i.outcome.detail for i in result.items if isinstance(i.outcome, Failed)]
    return {
        "reading_id": result.reading.reading_id,
        "number": result.reading.reading_id[1:],
        "text": result.reading.text,
        "meaning": words.say(wording.KINDS[result.reading.kind]),
        "negation": result.reading.negation,
        "outcome": outcome.value,
        # A class of the style sheet, which knows the labels of `verify`.
        "tone": "unchecked"
        if rank is None
        else ("partly_supported", "supported", "refuted")[(rank > 0) - (rank < 0)],
        "sign": wording.SIGNS[outcome],
        "label": words.say(wording.LABELS[outcome]),
        "summary": wording.mean_degree(result, words) or wording.sentence(result, words),
        "warning": wording.warning(result, words),
        "years": [
            (year, wording.signed(then.doc), words.say(wording.LABELS[then.outcome]))
            for year, then in result.as_of
        ],
        "sides": sides(result, threshold),
        "failures": list(dict.fromkeys(failures)),
        "unused": wording.unused_pages(result, words.say),
    }


def sides(result: ReadingResult, threshold: float) -> list[dict[str, Any]]:
    """For, against and neutral, each with its documents; empty where nothing was judged.

    What is counted is what is listed: documents with their passages, the strongest first.
    """
    items = result.items
    for_it, against = confirmation.sides(items, threshold)
    deciding = {items[place].passage.doc_id for place in (*for_it, *against)}
    judged = [n for n, item in enumerate(items) if not isinstance(item.outcome, Failed)]
    neutral = [n for n in judged if items[n].passage.doc_id not in deciding]
    if not judged:
        return []
    return [
        {**side, "documents": _documents(result, places)}
        for side, places in zip(_SIDES, (for_it, against, neutral), strict=True)
    ]


def _documents(result: ReadingResult, places: Sequence[int]) -> list[dict[str, Any]]:
    """The documents of the passages at these places, in their order."""
    grouped: dict[str, list[int]] = {}
    for place in places:
        grouped.setdefault(result.items[place].passage.doc_id, []).append(place)
    return [_document(result, of_one) for of_one in grouped.values()]


def _document(result: ReadingResult, places: Sequence[int]) -> dict[str, Any]:
    item = result.items[places[0]]
    passage, href = item.passage, safe_link(item.passage.url)
    source = (item.meta.get(name, "") for name in ("author", "publisher", "site"))
    return {
        "name": cells.one_line(passage.title) or passage.url,
        "href": href,
        "host": host_of(passage.url) if href and passage.title else "",
        "published": item.published,
        "source": " · ".join(dict.fromkeys(part for part in source if part)),
        "corpus": item.corpus,
        "copies": item.copies,
        "online": item.origin is CopyKind.LIVE,
        "passages": [_passage(result, place) for place in places],
    }


def _passage(result: ReadingResult, place: int) -> dict[str, Any]:
    item = result.items[place]
    outcome, text = item.outcome, item.passage.text
    assert not isinstance(outcome, Failed)
    start, end = outcome.quote or Span(0, 0)
    degree = confirmation.degree_of(item) or 0.0
    return {
        "degree": wording.signed(degree),
        "share": round(abs(degree) * 100),
        "strong": place in result.weight.contradictions,
        "page": page_of(item),
        "head": text[:start],
        "quote": text[start:end],
        "tail": text[end:],
        "reasons": outcome.reasons_coded,
        "analysis": outcome.analysis,
    }


def page_of(item: Weighed) -> PageNumber | None:
    """The page of the quote, else of the passage; None for documents without pages."""
    quote = None if isinstance(item.outcome, Failed) else item.outcome.quote
    document = Document(item.passage.url, item.passage.title, "", meta=dict(item.meta))
    return number_at(document, item.passage.span.start + (quote.start if quote else 0))


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
        "outcome": wording.LABELS[Outcome(row["outcome"])],
        "degree": wording.signed(row["doc"]),
    }
