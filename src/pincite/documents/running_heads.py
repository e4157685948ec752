"""Drops running heads, running feet and page numbers from a document's pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import floor

from pincite.documents.page_lines import (
    ENDS_SENTENCE,
    Line,
    Lines,
    downwards,
    rows_of,
)

RUNNING_PAGES = 3  # a head repeats at the same height of at least this many pages
EDGE_ROWS = 3  # at the top and the bottom
HEIGHTS = 12.0  # half of it is the difference that two heights may have
HEAD_WORDS = 15  # the most of a running head
TABLE_CELLS = 3  # the least of the head of a table
_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"\A\W*[ivxlc]+\W*\Z", re.IGNORECASE)


@dataclass(slots=True)
class _Repeats:
    """Rows that are alike and at the same height, apart from a number."""

    has_number: bool
    pages: set[int] = field(default_factory=set[int])
    offsets: set[int] = field(default_factory=set[int])  # of page numbers to pages


def without_running_heads(pages: Sequence[Lines]) -> list[Lines]:
    """Drop the lines at the edges of pages that repeat there, apart from their page numbers.

    Lines without a number that stand on two pages only, and the heads of tables, are kept once.
    """
    edges = [_edges(page) for page in pages]
    repeats = dict[tuple[str, int], _Repeats]()
    for number, sides in enumerate(edges):
        for row in chain(*sides):
            for shape, printed in _shapes(row).items():
                seen = repeats.setdefault(shape, _Repeats(printed is not None))
                seen.pages.add(number)
                seen.offsets.add(number - (printed or 0))
    kept = list[Lines]()
    for number, (page, sides) in enumerate(zip(pages, edges, strict=True)):
        drop = set[Line]()
        for side in sides:
            for row in side:
                likes = [repeats[shape] for shape in _shapes(row)]
                if not any(_is_running(row, number, like, len(pages)) for like in likes):
                    break
                drop.update(row)
        kept.append([line for line in page if line not in drop] if drop else page)
    return kept


def _is_running(row: Lines, page: int, likes: _Repeats, n_pages: int) -> bool:
    n_alike = len(likes.pages)
    if likes.has_number:  # it must be the page's, as it is not in the headings of chapters
        return n_alike > 1 and 2 * len(likes.offsets) <= n_alike + 1
    is_head = n_alike >= RUNNING_PAGES and len(row) < TABLE_CELLS
    return is_head or (n_pages >= RUNNING_PAGES and page != min(likes.pages))


def _edges(page: Lines) -> tuple[list[list[Line]], list[list[Line]]]:
    """The first and the last rows of a page, each in its parts, from the edges inwards."""
    rows = rows_of(downwards(page))
    top, foot = rows[:EDGE_ROWS], rows[: -EDGE_ROWS - 1 : -1]
    return (  # on a page of few rows, each belongs to the nearer edge
        [row for n, row in enumerate(top) if row not in foot[:n]],
        [row for n, row in enumerate(foot) if row not in top[: n + 1]],
    )


def _shapes(row: Lines) -> dict[tuple[str, int], int | None]:
    """The text and height, with the first, the last or no number masked; maps to that number.

    There are two grids of heights: those near the edge of a cell in one share a cell of the other.
    """
    text = " ".join(line.text for line in row)
    n_words = len(text.split())
    if len(text) > 200 or n_words > HEAD_WORDS or (n_words > 4 and ENDS_SENTENCE.search(text)):
        return {}
    height = row[0].baseline / HEIGHTS
    grids = (2 * floor(height), 2 * floor(height + 0.5) + 1)
    masked: dict[str, int | None] = {_ROMAN.sub("x", text): None}
    numbers = list(_NUMBER.finditer(text))
    for match in numbers[:: max(1, len(numbers) - 1)]:  # the first and the last
        masked[f"{text[: match.start()]}0{text[match.end() :]}"] = int(match[0][:9])
    return {(shape, grid): number for shape, number in masked.items() for grid in grids}
