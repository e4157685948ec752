"""Maps characters to pages, and parses the pages in a citation.

A page has an index in its file and, if known, a printed number, which may differ. In subtitles and
transcripts each caption is a page, with its time as the number.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from pincite.types import Document, Span

PAGES = "page_starts"  # key in `Document.meta`: a JSON list with each page's start offset
RECOGNISED = "recognised"  # likewise: per cent of confidence in each page's text, if it was a scan
SCANS = "scans"  # likewise: the pages, counted from 0, that are pictures
UNREAD = "unread"  # which of these could not be read, and why
LABELS = "page_labels"  # likewise: a JSON list with each page's printed number, if known
_PREFIX = re.compile(r"(?:pp?|pages?|pgs?)\b\.?\s*", re.IGNORECASE)
_RANGE = re.compile(r"([0-9]{1,6})(?:\s*[-\u2010-\u2015]+\s*([0-9]{1,6}))?\Z")
_SINGLE = re.compile(r"[a-z]{0,3}[0-9]{1,6}[a-z]?\Z|[ivxlcdm]{1,9}\Z", re.IGNORECASE)


class PageNumber(NamedTuple):
    """A page number as users look it up: `printed` on the page, or its index from 1."""

    label: str
    printed: bool


class PageRange(NamedTuple):
    """Pages named in a citation, both ends included."""

    first: int
    last: int


def page_of(document: Document, offset: int) -> int | None:
    """The page, counted from 1, of the character at `offset`; None without pages."""
    starts = page_starts(document)
    return max(1, bisect_right(starts, offset)) if starts else None


def number_at(document: Document, offset: int) -> PageNumber | None:
    """The displayed page number of the character at `offset`; None without pages."""
    page = page_of(document, offset)
    if page is None:
        return None
    labels = page_labels(document)
    return PageNumber(labels[page - 1], True) if labels else PageNumber(str(page), False)


def page_starts(document: Document) -> list[int]:
    """The start offsets of the pages; empty for documents without pages.

    Metadata may come from an untrusted file, so anything but ascending offsets is ignored.
    """
    starts = _list_in(document, PAGES)
    offsets = [start for start in starts if type(start) is int and start >= 0]
    return offsets if len(offsets) == len(starts) and offsets == sorted(offsets) else []


def page_labels(document: Document) -> list[str]:
    """The printed page numbers; empty unless all are known."""
    labels = [label for label in _list_in(document, LABELS) if isinstance(label, str) and label]
    return labels if len(labels) == len(page_starts(document)) else []


def is_time(label: str) -> bool:
    return ":" in label


def confidence_in(meta: Mapping[str, str], span: Span) -> int | None:
    """The least per cent of confidence in the text of a span; None if no part is from a scan."""
    if RECOGNISED not in meta:
        return None
    document = Document("", "", "", meta=meta)
    sure, starts = _list_in(document, RECOGNISED), page_starts(document) or [0]
    pages = sure[max(0, bisect_right(starts, span.start) - 1) : bisect_left(starts, span.end)]
    return min((percent for percent in pages if type(percent) is int), default=None)


def page_span(document: Document, page: int) -> Span:
    """The span of an existing page, counted from 1."""
    ends = [*page_starts(document)[1:], len(document.text)]
    return Span(page_starts(document)[page - 1], ends[page - 1])


def cited_pages(text: str) -> list[PageRange | str]:
    """Parse the pages in a citation; other locators ("Table 3", "§ 4") are skipped.

    >>> cited_pages("pp. 12–15, 123–30 and xii")
    [PageRange(first=12, last=15), PageRange(first=123, last=130), 'xii']
    """
    pages: list[PageRange | str] = []
    for piece in re.split(r"[,;&]|\band\b", text):
        words = _PREFIX.sub("", piece.strip(), count=1)
        if match := _RANGE.match(words):
            first, end = match[1], match[2] or match[1]
            last = first[: max(0, len(first) - len(end))] + end  # "123–30"
            if int(last) >= int(first):
                pages.append(PageRange(int(first), int(last)))
        elif _SINGLE.match(words):
            pages.append(words.lower())
    return pages


def _list_in(document: Document, key: str) -> list[object]:
    try:
        value = json.loads(document.meta.get(key, "[]"))
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []
