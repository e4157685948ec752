"""Puts the lines of a page in reading order, by its columns.

Columns are found by their gutters: white space that no line crosses, with lines that share a left
edge on its right (Breuel, "Two Geometric Algorithms for Layout Analysis", 2002). A page is split at
its longest gutter into what stands above, left, right and below, and each part likewise, as in
recursive XY-cuts (Nagy and Seth, 1984). Tables have gutters too, but their cells do not fill lines
as prose does, and stay in rows. Distances are in points.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pincite.documents.page_lines import (
    COLUMN_LINES,
    SAME_EDGE,
    SAME_ROW,
    Line,
    Lines,
    Rule,
    downwards,
    is_prose,
    join_row,
    rows_of,
)
from pincite.documents.spaced_tables import with_unruled_tables

STACKED = 2.0  # the most between baselines of a cell's lines, in font sizes
# Newspaper pages have 2,000 lines. A hostile page may have 100,000, and an edge at every point.
MAX_LINES, MAX_EDGES, MAX_DEPTH = 5_000, 8, 20


class Gutter(NamedTuple):
    """White space between columns: the left edge, top and bottom of what is on its right."""

    x: float
    top: float
    bottom: float


def in_reading_order(lines: Lines, rules: Sequence[Rule] = (), _depth: int = 0) -> list[Line]:
    """Order a page's lines, given in file order, by columns; joins the parts of each line."""
    if len(lines) > MAX_LINES:
        return list(lines)
    gutter = _longest_gutter(lines) if _depth < MAX_DEPTH else None
    if not gutter:
        lines = with_unruled_tables(lines, rules)
        return [
            join_row(row) for row in rows_of(downwards(lines) if _is_one_column(lines) else lines)
        ]
    inside = [line for line in lines if gutter.bottom <= line.baseline <= gutter.top]
    parts = (
        [line for line in lines if line.baseline > gutter.top],
        [line for line in inside if line.left < gutter.x],
        [line for line in inside if line.left >= gutter.x],
        [line for line in lines if line.baseline < gutter.bottom],
    )
    return [line for part in parts for line in in_reading_order(part, rules, _depth + 1)]


def _is_one_column(lines: Lines) -> bool:
    """Whether no lines that were written after two or more others stand beside these.

    If some do, as in a table's cells and a slide's lists, the file has them one after the other.
    """
    left = right = 0.0  # of the lines so far that stand one below the other
    n_below = 0  # how many of them stand below another
    for before, line in pairwise(lines):
        step = before.baseline - line.baseline
        if not n_below:
            left, right = before.left, before.right
        is_beside = line.left >= right or line.right <= left
        if is_beside and n_below and step < -SAME_ROW * line.size:
            return False
        if not is_beside and 0 < step < STACKED * line.size:
            left, right, n_below = min(left, line.left), max(right, line.right), n_below + 1
        else:
            n_below = 0
    return True


def _longest_gutter(lines: Lines) -> Gutter | None:
    """The gutter that has the most lines beside it."""
    edges = Counter(round(line.left) for line in lines).most_common(MAX_EDGES)
    down = downwards(lines)
    places = [edge - SAME_EDGE for edge, n_lines in edges if n_lines > 1]
    bands = [(band, x) for x in places for band in _bands(down, x)]
    for band, x in sorted(bands, key=lambda candidate: -len(candidate[0])):
        if len(band) >= 2 * COLUMN_LINES and _are_columns(band, x):
            return Gutter(x, band[0].baseline, band[-1].baseline)
    return None


def _bands(down: Lines, x: float) -> Iterator[Lines]:
    """Runs of lines, from top to bottom, between those that cross `x`."""
    band = list[Line]()
    below = float("inf")
    for line in down:
        if line.left < x < line.right:
            # What shares a row with a crossing line belongs to neither band.
            row = SAME_ROW * line.size
            while band and band[-1].baseline < line.baseline + row:
                band.pop()
            yield band
            band, below = [], line.baseline - row
        elif line.baseline <= below:
            band.append(line)
    yield band


def _are_columns(band: Lines, x: float) -> bool:
    left = [line for line in band if line.left < x]
    right = [line for line in band if line.left >= x]
    aligned = sum(line.left <= x + 2 * SAME_EDGE for line in right)
    return min(len(left), aligned) >= COLUMN_LINES and is_prose(left) and is_prose(right)
