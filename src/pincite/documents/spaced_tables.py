"""Finds tables whose columns only white space parts.

Rows that all leave the same strips of white space are a run. Its columns lie between the strips,
lines above may belong to its head, and lines below each other to one row.
"""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, pairwise, product, zip_longest
from math import inf
from typing import NamedTuple

from pincite.documents.page_lines import (
    CAPTION,
    FULL_LINE,
    INDENT,
    PARAGRAPH_GAP,
    Line,
    Lines,
    Rule,
    breaks_early,
    downwards,
    is_prose,
    join_row,
    rows_of,
)
from pincite.documents.page_tables import LINE_STEP, MAX_LANES, ROW_STEP, cell_text, put_table
from pincite.documents.tables import Cell, Grid

STRIP = 0.5  # the least width of white space between columns, in font sizes
OTHER_STEP = 1.12  # ratio of the distances between rows and between the lines of one
LABEL_LINES = 2  # the most of a row's label beside other lines
FIGURES = 0.7  # the least share of figures in a numeric column
FILLED = 0.5  # the least share of cells with text
_FIGURE = re.compile(r"[^\w\s]{0,2}\d[\d.,\u202f]*(?: \d{3})*(?: ?[^\d\s]{1,4}\d?)?")
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:[-–/]\d{2,4})?")
_LEADERS = re.compile(r"(?:\. ?){4}")
Strip = tuple[float, float]  # the left and the right end of white space between columns


def with_unruled_tables(lines: Lines, rules: Sequence[Rule]) -> Lines:
    """Put tables that only white space parts in the places of their lines, given in one column."""
    rows = rows_of(downwards(lines))
    start = n_read = 0  # rows above `n_read` belong to a table
    while start < len(rows):
        end = _end_of_run(rows, start)
        if bounds := _column_bounds(rows[start:end]):
            run = _without_text_below(rows[start:end], bounds)
            run = _with_head(run, rows[n_read:start], bounds)
            inside = [line for row in run for line in row]
            grid = grid_of_rows(run, bounds, rules)
            placed = put_table(lines, inside, grid, run[0][0].baseline + 1)
            lines, n_read = (lines, n_read) if placed is None else (placed, end)
        start = max(end, start + 1)
    return lines


def _with_head(
    run: Sequence[Lines], above: Sequence[Lines], bounds: Sequence[float]
) -> list[Lines]:
    """Add the rows above that are the first lines of a head."""
    table, n_above = list(run), len(above)
    while n_above and _is_head(above[n_above - 1], table[0], bounds):
        n_above -= 1
        table.insert(0, above[n_above])
    return table


def _without_text_below(run: Sequence[Lines], bounds: Sequence[float]) -> Sequence[Lines]:
    while len(run[-1]) == 1 and not _goes_on(run[-1], bounds):
        run = run[:-1]
    return run


def _column_bounds(run: Sequence[Lines]) -> list[float]:
    """The middles of the white space between columns."""
    usual = [n for n, times in Counter(map(len, run)).items() if n > 1 < times]
    full = [row for row in run if usual and len(row) == max(usual)]
    pairs = [pair for row in full for pair in pairwise(row)]
    bounds, strips = [-inf], reduce(_shared_strips, full, [(-inf, inf)])
    for (left, right), (end, _) in pairwise(strips[1:]):
        # A head on the left and numbers on the right are one column: in some row, cells must stand
        # on both sides of the strip.
        if any(bounds[-1] < a.left < left and right <= b.left < end for a, b in pairs):
            bounds.append((left + right) / 2)
    return bounds[1:]


def _shared_strips(strips: Sequence[Strip], row: Lines) -> list[Strip]:
    """The parts of strips in which a row has white space too."""
    edges = [-inf, *(x for line in row for x in (line.left, line.right)), inf]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    both = ((max(a, c), min(b, d)) for (a, b), (c, d) in product(strips, gaps))
    return [(left, right) for left, right in both if right - left >= STRIP * row[0].size]


def _is_head(row: Lines, below: Lines, bounds: Sequence[float]) -> bool:
    """Whether a row above a table is the first line of a head."""
    right = below[-1].right + INDENT
    is_inside = len(row) == 1 and bounds[0] < row[0].left and row[0].right <= right
    return is_inside and _step(row, below) < LINE_STEP and not CAPTION.match(row[0].text)


def _step(row: Lines, below: Lines) -> float:
    return (row[0].baseline - below[0].baseline) / max(row[0].size, 1)


def _goes_on(row: Lines, bounds: Sequence[float]) -> bool:
    """Whether a row is a further line of a cell."""
    first, last = bisect(bounds, row[0].left), bisect(bounds, row[-1].right)
    return len(row) == 1 and first == last and (first > 0 or row[0].text[0].islower())


def _end_of_run(rows: Sequence[Lines], start: int) -> int:
    """The end of the rows that all leave a strip of white space, as columns do."""
    strips, step_before = [(-inf, inf)], 0.0
    for n in range(start, len(rows)):
        row, below = rows[n], rows[n + 1 : n + 2]
        step = _step(rows[n - 1], row) if n > start else 0.0
        if row[0].is_table or step > ROW_STEP or len(row) > MAX_LANES:
            return n
        between = strips[1:-1]  # two are outside
        if (len(row) > 1 and n == start) or _shared_strips(between, row):
            strips = _shared_strips(strips, row)
        elif not (below and len(row) == 1 < len(below[0]) and step < PARAGRAPH_GAP * step_before):
            return n  # and not the heading of a section
        step_before = step
    return len(rows)


class PlacedCell(NamedTuple):
    """A line of a cell, with the first and the last column that it covers."""

    first: int
    last: int
    line: Line

    @property
    def is_figure(self) -> bool:
        return _FIGURE.fullmatch(self.line.text) is not None


CellsOfRow = dict[int, PlacedCell]  # by their first column


@dataclass(frozen=True)
class ColumnTable:
    """Rows of lines in columns between `bounds`; several may belong to one row of the table."""

    rows: Sequence[CellsOfRow]
    bounds: Sequence[float]

    @classmethod
    def of(cls, rows: Sequence[Lines], bounds: Sequence[float]) -> "ColumnTable":
        placed = list[CellsOfRow]()
        for row in rows:
            cells: CellsOfRow = {}
            for line, after in zip_longest(row, row[1:]):
                first, last = bisect(bounds, line.left), bisect(bounds, line.right)
                last = max(first, min(last, bisect(bounds, after.left) - 1)) if after else last
                whole = join_row([cells[first].line, line]) if first in cells else line
                cells[first] = PlacedCell(first, last, whole)
            placed.append(cells)
        return cls(placed, bounds)

    @cached_property
    def numeric(self) -> set[int]:
        """The columns that have figures below their head."""
        columns = range(1, len(self.bounds) + 1)
        are_figures = {j: [row[j].is_figure for row in self.rows if j in row] for j in columns}
        below = {j: column[(*column, True).index(True) :] for j, column in are_figures.items()}
        return {j for j in columns if sum(below[j]) >= max(2, FIGURES * len(below[j]))}

    @cached_property
    def figures(self) -> list[list[PlacedCell]]:
        """The figures of each row in numeric columns."""
        return [
            [row[j] for j in self.numeric if j in row and row[j].is_figure] for row in self.rows
        ]

    def first_below_head(self, ruled: Sequence[int]) -> int:
        """The row of the first figure but a year, else of any, else below a rule; 0: no head."""
        inner = [n for n in ruled if 0 < n < len(self.rows) and len(ruled) > 1]
        with_figures = [n for n, cells in enumerate(self.figures) if cells]
        texts = ((n, cell.line.text) for n in with_figures for cell in self.figures[n])
        others = (n for n, text in texts if not _YEAR.fullmatch(text))
        return next(others, min(with_figures if self.numeric else inner, default=0))

    def is_section(self, n: int) -> bool:
        """Whether a row's label does not go on with the one above."""
        label, above = self.rows[n][0].line, self.rows[n - 1].get(0)
        widened = label._replace(right=self.bounds[0])
        return not above or breaks_early(widened, above.line, label)

    def begins_row(self, n: int, start: int) -> bool:
        """Whether a row of the table seems to begin here; `start` is the first below the head."""
        row = self.rows[n]
        if n < start:
            return any(cell.last > cell.first for cell in self.rows[n - 1].values())
        if n == start or self.figures[n]:
            return True
        if 0 not in row:
            return False
        if len(row) == 1:
            return self.is_section(n)
        return not self.numeric or not self.numeric.isdisjoint(row)


def grid_of_rows(rows: Sequence[Lines], bounds: Sequence[float], rules: Sequence[Rule]) -> Grid:
    """The cells of a table, which has a head above numbers or rules; none of something else.

    Its rows begin at rules, at wider distances, or where cells do: the first that fit are taken.
    """
    ruled = _ruled_rows(rows, rules)
    if 1 in ruled and len(rows[0]) == 1 and (below := grid_of_rows(rows[1:], bounds, rules)):
        title = Cell(rows[0][0].text)
        return [[title] * (len(bounds) + 1), *below]
    table = ColumnTable.of(rows, bounds)
    n_head = _rows_of_head(table, rows, ruled)
    if not n_head:
        return []
    by_cells = [n for n in range(1, len(rows)) if table.begins_row(n, n_head)]
    breaks = (ruled, *_breaks_by_distance(rows), by_cells)
    return next(filter(None, (_grouped(table, starts, n_head) for starts in breaks)), [])


def _rows_of_head(table: ColumnTable, rows: Sequence[Lines], ruled: Sequence[int]) -> int:
    """How many rows the head has; 0 if this is no table of data."""
    start = table.first_below_head(ruled)
    has_leaders = any(_LEADERS.search(line.text) for row in rows for line in row)
    labels = [row[0].line for row in table.rows if 0 in row]
    if not start or has_leaders or is_prose(labels or rows[0]):
        return 0
    opens_section = table.rows[start - 1].keys() == {0} and table.is_section(start - 1)
    return start - 1 if start > 1 and opens_section else start


def _breaks_by_distance(rows: Sequence[Lines]) -> list[list[int]]:
    """Rows that stand apart from the one above, for each distance that may part rows; wide first.

    Of the distances 10, 10, 24, 10 and 30, those are 30 and 24: each is wider than the next.
    """
    steps = [row[0].baseline - below[0].baseline for row, below in pairwise(rows)]
    wide_steps = [b for a, b in pairwise(sorted(steps)) if b > OTHER_STEP * a][::-1]
    return [[n for n, step in enumerate(steps, 1) if step >= wide] for wide in wide_steps]


def _ruled_rows(rows: Sequence[Lines], rules: Sequence[Rule]) -> list[int]:
    """The numbers of the rows above which a rule is as wide as all of them; one more for below."""
    left = min(row[0].left for row in rows)
    width = max(row[-1].right for row in rows) - left
    tops = [row[0].baseline for row in rows]
    bounds = [tops[0] + ROW_STEP * rows[0][0].size, *tops, tops[-1] - ROW_STEP * rows[-1][0].size]
    wide = Counter[int]()
    for rule in rules:
        if rule.is_across and rule.left < left + width and rule.right > left:
            wide[bisect(bounds, -rule.top, key=lambda y: -y) - 1] += round(rule.right - rule.left)
    return [n for n in range(len(rows) + 1) if wide[n] >= FULL_LINE * width]


def _grouped(table: ColumnTable, breaks: Sequence[int], start: int) -> Grid:
    """The cells of the rows that begin at `breaks`; none if lines are grouped wrongly."""
    ends = [0, *(n for n in breaks if 0 < n < len(table.rows)), len(table.rows)]
    groups = [table.rows[a:b] for a, b in pairwise(ends)]
    n_heads, n_columns = bisect(ends, start) - 1, len(table.bounds) + 1
    heads, body = groups[:n_heads], groups[n_heads:]
    cells = (cell for row in chain(*heads) for cell in row.values())
    is_headed = heads and table.numeric <= {cell.first for cell in cells if cell.first == cell.last}
    is_long = len(body) > (1 if n_columns > 2 else 2)
    if not is_headed or not is_long or any(_is_several_rows(g, table.numeric) for g in body):
        return []
    grid = [_merged(group, n_columns, header=True) for group in heads]
    n_filled = 0
    for row in (_merged(group, n_columns) for group in body):
        is_section = not any(cell.text for cell in row[1:])
        n_filled += n_columns if is_section else sum(bool(cell.text) for cell in row)
        grid.append(row[:1] * n_columns if is_section else row)
    return grid if n_filled >= FILLED * n_columns * len(body) else []


def _is_several_rows(group: Sequence[CellsOfRow], numeric: set[int]) -> bool:
    """Whether a group has two figures in one column, or a long label beside other cells."""
    n_figures = Counter(j for row in group for j in numeric if j in row and row[j].is_figure)
    n_labels = sum(0 in row and len(row) > 1 for row in group)
    return max(n_figures.values(), default=0) > 1 or n_labels > LABEL_LINES


def _merged(group: Sequence[CellsOfRow], n_columns: int, *, header: bool = False) -> list[Cell]:
    merged = [Cell("")] * n_columns
    for first in sorted({j for row in group for j in row}):
        parts = [row[first] for row in group if first in row]
        columns = range(first, max(part.last for part in parts) + 1)
        cell = Cell(cell_text([part.line for part in parts]), header=header)
        merged[first : columns.stop] = [cell] * len(columns)
    return merged
