"""What the page of a checked statement shows of its evidence: documents for, against and neutral.

What is counted is what is listed: documents, each with its passages, the strongest first. The
reports list passages; a reader asks how many sources agree.
"""

from collections.abc import Sequence
from typing import Any

from pincite.judgement import confirmation
from pincite.judgement.confirmation import Weighed
from pincite.report import cells
from pincite.report.cells import safe_link
from pincite.text.hosts import host_of
from pincite.text.page_numbers import PageNumber, number_at
from pincite.types import CopyKind, Document, Failed, Span
from pincite.verbs.check import wording as check_wording
from pincite.verbs.check.records import ReadingResult

Places = Sequence[int]
SIDES = (
    {"word": "for", "sign": "▲", "tone": "supported"},
    {"word": "against", "sign": "▽", "tone": "refuted"},
    {"word": "neutral", "sign": "○", "tone": "unchecked"},
)


def sides(result: ReadingResult, threshold: float) -> list[dict[str, Any]]:
    """For, against and neutral, each with its documents; empty where nothing was judged."""
    items = result.items
    for_it, against = confirmation.sides(items, threshold)
    speaking = {items[place].passage.doc_id for place in (*for_it, *against)}
    judged = [n for n, item in enumerate(items) if not isinstance(item.outcome, Failed)]
    neutral = [n for n in judged if items[n].passage.doc_id not in speaking]
    if not judged:
        return []
    return [
        {**side, "documents": _documents(result, places)}
        for side, places in zip(SIDES, (for_it, against, neutral), strict=True)
    ]


def _documents(result: ReadingResult, places: Places) -> list[dict[str, Any]]:
    """The documents of the passages at these places, in their order."""
    grouped: dict[str, list[int]] = {}
    for place in places:
        grouped.setdefault(result.items[place].passage.doc_id, []).append(place)
    return [_document(result, of_one) for of_one in grouped.values()]


def _document(result: ReadingResult, places: Places) -> dict[str, Any]:
    item = result.items[places[0]]
    passage, href = item.passage, safe_link(item.passage.url)
    source = (item.meta.get(name, "") for name in ("author", "publisher", "site"))
    return {
        "name": cells.one_line(passage.title) or passage.url,
        "href": href,
        "host": host_of(passage.url) if href and passage.title else "",
        "published": item.published,
        "source": " · ".join(dict.fromkeys(part for part in source if part)),
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
        "degree": check_wording.signed(degree),
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
    """The page on which the quote stands, else the passage; None of what has no pages."""
    quote = None if isinstance(item.outcome, Failed) else item.outcome.quote
    document = Document(item.passage.url, item.passage.title, "", meta=dict(item.meta))
    return number_at(document, item.passage.span.start + (quote.start if quote else 0))
