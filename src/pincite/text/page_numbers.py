"""Which page a character stands on, and which pages a citation names.

A page has a place in its file and, where that is known, a number printed on it; the two differ as
soon as a book has a preface or a copy is only a chapter.
"""

import json
import re
from bisect import bisect_right
from typing import NamedTuple

from pincite.types import Document, Span

PAGES = "pages"  # in `Document.meta`: a JSON list with the offset where each page starts
LABELS = "page_labels"  # there too: a JSON list with what is printed on each page, if known
_PREFIX = re.compile(r"(?:pp?|pages?|pgs?)\b\.?\s*", re.IGNORECASE)
_RANGE = re.compile(r"([0-9]{1,6})(?:\s*[-\u2010-\u2015]+\s*([0-9]{1,6}))?\Z")
_SINGLE = re.compile(r"[a-z]{0,3}[0-9]{1,6}[a-z]?\Z|[ivxlcdm]{1,9}\Z", re.IGNORECASE)


class PageNumber(NamedTuple):
    """A page as a person looks it up: `printed` on it, or counted in the file from 1."""

    label: str
    printed: bool


class PageRange(NamedTuple):
    """Pages that a citation names, by number, both included."""

    first: int
    last: int


def page_of(document: Document, offset: int) -> int | None:
    """The page, counted from 1, on which the character at `offset` stands; None without pages.

    >>> page_of(Document("u", "", "one two", meta={"pages": "[0, 4]"}), 5)
    2
    """
    starts = page_starts(document)
    return max(1, bisect_right(starts, offset)) if starts else None


def number_at(document: Document, offset: int) -> PageNumber | None:
    """What to call the page of the character at `offset`; None without pages."""
    page = page_of(document, offset)
    if page is None:
        return None
    labels = page_labels(document)
    return PageNumber(labels[page - 1], True) if labels else PageNumber(str(page), False)


def page_starts(document: Document) -> list[int]:
    """The offsets at which the pages start; none for what has no pages.

    Metadata may come from an untrusted file: anything but ascending offsets is ignored.
    """
    starts = _list_in(document, PAGES)
    offsets = [start for start in starts if type(start) is int and start >= 0]
    return offsets if len(offsets) == len(starts) and offsets == sorted(offsets) else []


def page_labels(document: Document) -> list[str]:
    """What is printed on each page; none if that is not known of every page."""
    labels = [label for label in _list_in(document, LABELS) if isinstance(label, str) and label]
    return labels if len(labels) == len(page_starts(document)) else []


def page_span(document: Document, page: int) -> Span:
    """The characters of a page that is there, counted from 1."""
    ends = [*page_starts(document)[1:], len(document.text)]
    return Span(page_starts(document)[page - 1], ends[page - 1])


def cited_pages(text: str) -> list[PageRange | str]:
    """The pages in a citation's words; what is no page ("Table 3", "§ 4") is left out.

    >>> cited_pages("pp. 12–15, 123–30 and xii")
    [PageRange(first=12, last=15), PageRange(first=123, last=130), 'xii']
    """
    found: list[PageRange | str] = []
    for piece in re.split(r"[,;&]|\band\b", text):
        words = _PREFIX.sub("", piece.strip(), count=1)
        match = _RANGE.match(words)
        if match and (last := _last(match[1], match[2] or match[1])) >= int(match[1]):
            found.append(PageRange(int(match[1]), last))
        elif not match and _SINGLE.match(words):
            found.append(words.lower())
    return found


def _last(first: str, last: str) -> int:
    """The end of a range, which may leave out the digits that it shares: 123–30."""
    return int(first[: max(0, len(first) - len(last))] + last)


def _list_in(document: Document, key: str) -> list[object]:
    try:
        found = json.loads(document.meta.get(key, "[]"))
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []
