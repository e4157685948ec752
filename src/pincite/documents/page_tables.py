"""Finds tables among the lines of a page, by drawn rules or by white space between columns."""

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, groupby, pairwise, product, zip_longest
from math import inf
from typing import NamedTuple

from pincite.documents.page_lines import (
    ASIDES,
    CAPTION,
    ENDS_SENTENCE,
    FULL_LINE,
    INDENT,
    PARAGRAPH_GAP,
    SAME_EDGE,
    Line,
    Lines,
    Rule,
    breaks_early,
    downwards,
    is_prose,
    join_row,
    rows_of,
)
from pincite.documents.tables import MAX_CELL_CHARS, Cell, Grid, lines_of
from pincite.text.tables import cells_of

ROW = "\v"
MAX_RULES = 2_000  # of a page; drawings have more
MAX_LANES = 100  # columns or rows of a frame, and cells of a row
ROW_STEP = 3.5  # the most between baselines of rows, in font sizes
LINE_STEP = 1.7  # the most between baselines of lines of a cell
STRIP = 0.5  # the least width of white space between columns, in font sizes
OTHER_STEP = 1.12  # ratio of the distances between rows and between the lines of one
LABEL_LINES = 2  # the most of a row's label beside other lines
FIGURES = 0.7  # the least share of figures in a numeric column
FILLED = 0.5  # the least share of cells with text
_FIGURE = re.compile(r"[^\w\s]{0,2}\d[\d.,\u202f]*(?: \d{3})*(?: ?[^\d\s]{1,4}\d?)?")
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:[-–/]\d{2,4})?")
_LEADERS = re.compile(r"(?:\. ?){4}")
Strip = tuple[float, float]  # the left and the right end of white space between columns


@dataclass(frozen=True)
class Frame:
    """Rules that touch each other, and the edges of the columns and rows between them."""

    rules: Sequence[Rule]

    @cached_property
    def xs(self) -> list[float]:
        ends = min(rule.left for rule in self.rules), max(rule.right for rule in self.rules)
        return _distinct([*ends, *(rule.left for rule in self.rules if not rule.is_across)])

    @cached_property
    def ys(self) -> list[float]:
        """From top to bottom."""
        ends = min(rule.bottom for rule in self.rules), max(rule.top for rule in self.rules)
        return _distinct([*ends, *(rule.top for rule in self.rules if rule.is_across)])[::-1]

    def lines_inside(self, lines: Lines) -> Lines:
        """The lines in the frame; none if it has no rows and columns, or too many."""
        if min(len(self.xs), len(self.ys)) <= 2 or max(len(self.xs), len(self.ys)) > MAX_LANES:
            return []
        level = (line for line in lines if self.ys[-1] < line.baseline < self.ys[0])
        return [line for line in level if self.xs[0] - SAME_EDGE <= line.left < self.xs[-1]]


def _distinct(places: Sequence[float]) -> list[float]:
    """The first of each row of places that are close to each other."""
    pairs = pairwise([-inf, *sorted(places)])
    return [place for before, place in pairs if place - before > SAME_EDGE]


def with_ruled_tables(lines: Lines, rules: Sequence[Rule]) -> Lines:
    """Put the tables whose cells are drawn in the places of their lines."""
    rest = list(rules[:MAX_RULES])
    while rest:
        connected = [rest.pop()]
        for rule in connected:  # which grows
            near = {other for other in rest if rule.touches(other)}
            rest = [other for other in rest if other not in near] if near else rest
            connected += near
        frame = Frame(connected)
        if inside := frame.lines_inside(lines):
            lines = _with_table(lines, inside, _ruled_grid(inside, frame), frame.ys[0])
    return lines


def _ruled_grid(inside: Lines, frame: Frame) -> Grid:
    """The cells of a table; those that no rule parts are one."""
    xs, ys = frame.xs, frame.ys
    rows = rows_of(downwards([part for line in inside for part in _cut(line, xs)]))
    placed = [(sum(y > row[0].baseline for y in ys) - 1, row) for row in rows]
    n_labelled = Counter(n for n, row in placed if row[0].left < xs[1] < row[-1].left)
    if max(n_labelled.values(), default=0) > LABEL_LINES:  # there are no rules between the rows
        return _grid(rows, xs[1:-1], frame.rules)
    areas, parts = _areas(frame), defaultdict[int, list[Line]](list)
    for n, row in placed:
        for part in row:
            column = bisect(xs, part.left + 1) - 1  # one too many for what juts out
            parts[areas[n][min(max(0, column), len(xs) - 2)]].append(part)
    cells = {area: Cell(_cell_text(parts[area])) for area in chain(*areas)}
    return [[cells[area] for area in row] for row in areas]


def _areas(frame: Frame) -> list[list[int]]:
    """The numbers of the areas that the rules part, by row and column."""
    beside, above = defaultdict[int, list[Rule]](list), defaultdict[int, list[Rule]](list)
    for rule in frame.rules:
        if rule.is_across:
            above[sum(y > rule.top for y in frame.ys)].append(rule)
        else:
            beside[bisect(frame.xs, rule.left) - 1].append(rule)
    areas, n_areas = list[list[int]](), 0
    for i, (top, bottom) in enumerate(pairwise(frame.ys)):
        row, y = list[int](), (top + bottom) / 2
        for j, (left, right) in enumerate(pairwise(frame.xs)):
            x = (left + right) / 2
            if j and not any(rule.bottom < y < rule.top for rule in beside[j]):
                row.append(row[-1])
            elif i and not any(rule.left < x < rule.right for rule in above[i]):
                row.append(areas[-1][j])
            else:
                row.append(n_areas)
                n_areas += 1
        areas.append(row)
    return areas


def _cut(line: Line, xs: Sequence[float]) -> Iterator[Line]:
    """The parts of a line in the columns that begin at `xs`."""
    words = list(zip(line.lefts, line.text.split(" "), strict=False)) or [(line.left, line.text)]
    for _, group in groupby(words, key=lambda word: bisect(xs, word[0] + 1)):
        lefts, texts = zip(*group, strict=True)
        right = line.right if lefts[-1] == words[-1][0] else lefts[-1]
        yield line._replace(text=" ".join(texts), left=lefts[0], right=right)


def _cell_text(lines: Lines) -> str:
    text = "\n".join(join_row(row).text for row in rows_of(downwards(lines)))
    return re.sub(r"(?<=\w)-\n(?=[a-z])", "", text).replace("\n", " ")


def with_unruled_tables(lines: Lines, rules: Sequence[Rule]) -> Lines:
    """Put tables that only white space parts in the places of their lines, given in one column."""
    rows = rows_of(downwards(lines))
    start = written = 0  # the rows before `written` are read
    while start < len(rows):
        end = _end_of_run(rows, start)
        run = rows[start:end]
        if bounds := _column_bounds(run):
            above = rows[written:start]
            while above and _is_head(above[-1], run[0], bounds):
                run.insert(0, above.pop())
            while len(run[-1]) == 1 and not _goes_on(run[-1], bounds):
                run.pop()
            inside = [line for row in run for line in row]
            top = run[0][0].baseline + 1
            before, lines = lines, _with_table(lines, inside, _grid(run, bounds, rules), top)
            written = end if lines is not before else written
        start = max(end, start + 1)
    return lines


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


def _grid(rows: Sequence[Lines], bounds: Sequence[float], rules: Sequence[Rule]) -> Grid:
    """The cells of a table, which has a head above numbers or rules; none of something else."""
    table, ruled = ColumnTable.of(rows, bounds), _ruled_rows(rows, rules)
    if 1 in ruled and len(rows[0]) == 1 and (below := _grid(rows[1:], bounds, rules)):
        return [[Cell(rows[0][0].text)] * (len(bounds) + 1), *below]  # below a title
    start = table.first_below_head(ruled)
    has_leaders = any(_LEADERS.search(line.text) for row in rows for line in row)
    labels = [row[0].line for row in table.rows if 0 in row]
    if not start or has_leaders or is_prose(labels or rows[0]):
        return []
    if start > 1 and table.rows[start - 1].keys() == {0} and table.is_section(start - 1):
        start -= 1
    steps = [row[0].baseline - below[0].baseline for row, below in pairwise(rows)]
    wide_steps = [b for a, b in pairwise(sorted(steps)) if b > OTHER_STEP * a][::-1]
    by_distance = [[n for n, step in enumerate(steps, 1) if step >= wide] for wide in wide_steps]
    by_cells = [n for n in range(1, len(rows)) if table.begins_row(n, start)]
    for breaks in (ruled, *by_distance, by_cells):
        if grid := _grouped(table, breaks, start):
            return grid
    return []


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
        cell = Cell(_cell_text([part.line for part in parts]), header=header)
        merged[first : columns.stop] = [cell] * len(columns)
    return merged


def _with_table(lines: Lines, inside: Lines, grid: Grid, top: float) -> Lines:
    """Put a table of data and its caption in the place of their lines."""
    if not grid:
        return lines
    left, right = min(line.left for line in inside), max(line.right for line in inside)
    caption = _caption_above([e for e in lines if e.left < right and e.right > left], top)
    rows = lines_of(grid, _cell_text(caption))
    longest = max(len(cell.text) for row in grid for cell in row)
    if longest > MAX_CELL_CHARS or not any(map(cells_of, rows)):
        return lines
    used, size = {*caption, *inside}, max(line.size for line in inside)
    high = max(line.baseline for line in used)
    table = Line(ROW.join(rows), high, left, right, size, is_table=True)
    at = next(n for n, line in enumerate(lines) if line in used)
    return [*lines[:at], table, *(line for line in lines[at:] if line not in used)]


def _caption_above(lines: Lines, top: float) -> list[Line]:
    """The lines above a table from the word "Table" on, or a lone line that is no sentence."""
    caption, edge = list[Line](), top
    for line in downwards([line for line in lines if line.baseline >= top])[::-1]:
        reach = LINE_STEP if caption else ROW_STEP
        if line.is_table or line.baseline - edge > reach * line.size or len(caption) > ASIDES:
            break
        caption, edge = [line, *caption], line.baseline
        if CAPTION.match(line.text):
            return caption
    return caption if len(caption) == 1 and not ENDS_SENTENCE.search(caption[0].text) else []
