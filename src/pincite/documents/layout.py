"""Puts the measured lines of a document's pages in reading order, as running text.

Columns are found by their gutters: white space that no line crosses, with lines that share a left
edge on its right (Breuel, "Two Geometric Algorithms for Layout Analysis", 2002). A page is split at
its longest gutter into what stands above, left, right and below, and each part likewise, as in
recursive XY-cuts (Nagy and Seth, 1984). Tables have gutters too, but their cells do not fill lines
as prose does, and stay in rows. Distances are in points.
"""

import re
from bisect import bisect, bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain, groupby, pairwise, product, zip_longest
from math import floor, inf
from typing import NamedTuple

from pincite.documents.tables import MAX_CELL_CHARS, Cell, Grid, lines_of
from pincite.documents.text import clean_text, join_pieces
from pincite.text import patterns
from pincite.text.tables import cells_of

# ── Lines and rules ───────────────────────────────────────────────────────────────────────────────

SAME_EDGE = 3.0  # edges vary by the letters' side bearings
SAME_ROW = 0.4  # share of the font size: less than any line spacing
INDENT = 8.0  # one em at the usual sizes
LETTER = 0.6  # width in font sizes, rather too much
PARAGRAPH_GAP = 1.35  # times the usual line distance, which varies by rounding and superscripts
ASIDES = 6  # the most paragraphs between two halves of one, and the most lines of a caption
_WORD = re.compile(r"[^\W\d_]\S*")
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？…][\"'”’»)\]]*\d{0,3}$")
_CAPTION = patterns(__file__, "layout")["caption"]


class Line(NamedTuple):
    """A line, or the part of a line on one side of a gutter; its text begins with no space."""

    text: str
    baseline: float  # above the lower edge of the page
    left: float
    right: float
    size: float  # of the font
    lefts: tuple[float, ...] = ()  # of its words
    is_table: bool = False  # with one row of cells a line of the text, which `ROW` separates


class Rule(NamedTuple):
    """A straight line that is drawn on a page, horizontal or vertical."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def is_across(self) -> bool:
        return self.right - self.left >= self.top - self.bottom

    def touches(self, other: "Rule") -> bool:
        beside = other.left <= self.right + SAME_EDGE and self.left - SAME_EDGE <= other.right
        level = other.bottom <= self.top + SAME_EDGE and self.bottom - SAME_EDGE <= other.top
        return beside and level


Lines = Sequence[Line]


def _down(lines: Lines) -> list[Line]:
    return sorted(lines, key=lambda line: -line.baseline)


def _rows(lines: Lines) -> list[list[Line]]:
    """Consecutive lines on one baseline, from left to right."""
    rows = list[list[Line]]()
    for line in lines:
        is_near = rows and abs(rows[-1][0].baseline - line.baseline) < SAME_ROW * line.size
        if is_near and not (line.is_table or rows[-1][0].is_table):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.left) for row in rows]


def _join(row: Lines) -> Line:
    if len(row) == 1:
        return row[0]
    text = " ".join(line.text for line in row)
    right, lefts = max(line.right for line in row), tuple(x for line in row for x in line.lefts)
    longest = max(row, key=lambda line: len(line.text))
    return longest._replace(text=text, left=row[0].left, right=right, lefts=lefts)


def _breaks_early(before: Line, previous: Line, line: Line) -> bool:
    """Whether a list's item begins, since its first word would have fitted in the line above."""
    word = line.text.split(" ", 1)[0]
    is_below = previous.baseline > line.baseline
    if word[0].islower() or (is_below and abs(line.left - previous.left) > INDENT):
        return False
    right = max(before.right, line.right) if is_below else before.right
    return right - previous.right > (len(word) * LETTER + 1) * line.size


def _n_words(lines: Lines) -> int:
    return sum(len(_WORD.findall(line.text)) for line in lines)


# ── Columns ───────────────────────────────────────────────────────────────────────────────────────

# Columns in papers have 8 to 12 words a line, narrow newspaper columns 4; table cells have 1 or 2,
# or vary in length.
COLUMN_LINES = 3  # the least lines of a column
LINE_WORDS = 3.5  # the least words of its lines on average
FULL_LINE = 0.7  # share of the column's width that a full line has
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
        lines = _with_unruled_tables(lines, rules)
        return [_join(row) for row in _rows(_down(lines) if _is_one_column(lines) else lines)]
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
    down = _down(lines)
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
    return min(len(left), aligned) >= COLUMN_LINES and _is_prose(left) and _is_prose(right)


def _is_prose(side: Lines) -> bool:
    """Whether lines fill one or more columns as running text does, unlike cells."""
    rows, widths = _rows(_down(side)), list[float]()
    edges = Counter(round(line.left / SAME_EDGE) for line in side)
    of_columns = {e for e in edges if 2 * sum(edges[e + i] for i in (-1, 0, 1)) > len(rows)}
    for row in rows:
        cuts = [n for n, e in enumerate(row) if n and round(e.left / SAME_EDGE) in of_columns]
        parts = (row[a:b] for a, b in pairwise([0, *cuts, len(row)]))
        widths += [max(line.right for line in part) - part[0].left for part in parts]
    widths.sort()
    usual = widths[len(widths) * 3 // 4]  # a heading may be wider
    full = len(widths) - bisect_left(widths, FULL_LINE * usual)
    has_words = _n_words(side) >= LINE_WORDS * len(widths)
    return has_words and 2 * full > len(widths) >= COLUMN_LINES


# ── Tables ────────────────────────────────────────────────────────────────────────────────────────

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
    rows = _rows(_down([part for line in inside for part in _cut(line, xs)]))
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
    text = "\n".join(_join(row).text for row in _rows(_down(lines)))
    return re.sub(r"(?<=\w)-\n(?=[a-z])", "", text).replace("\n", " ")


def _with_unruled_tables(lines: Lines, rules: Sequence[Rule]) -> Lines:
    """Put tables that only white space parts in the places of their lines, given in one column."""
    rows = _rows(_down(lines))
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
    return is_inside and _step(row, below) < LINE_STEP and not _CAPTION.match(row[0].text)


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
                whole = _join([cells[first].line, line]) if first in cells else line
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
        return not above or _breaks_early(widened, above.line, label)

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
    if not start or has_leaders or _is_prose(labels or rows[0]):
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
    for line in _down([line for line in lines if line.baseline >= top])[::-1]:
        reach = LINE_STEP if caption else ROW_STEP
        if line.is_table or line.baseline - edge > reach * line.size or len(caption) > ASIDES:
            break
        caption, edge = [line, *caption], line.baseline
        if _CAPTION.match(line.text):
            return caption
    return caption if len(caption) == 1 and not _ENDS_SENTENCE.search(caption[0].text) else []


# ── Running heads and page numbers ────────────────────────────────────────────────────────────────

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
    rows = _rows(_down(page))
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
    if len(text) > 200 or n_words > HEAD_WORDS or (n_words > 4 and _ENDS_SENTENCE.search(text)):
        return {}
    height = row[0].baseline / HEIGHTS
    grids = (2 * floor(height), 2 * floor(height + 0.5) + 1)
    masked: dict[str, int | None] = {_ROMAN.sub("x", text): None}
    numbers = list(_NUMBER.finditer(text))
    for match in numbers[:: max(1, len(numbers) - 1)]:  # the first and the last
        masked[f"{text[: match.start()]}0{text[match.end() :]}"] = int(match[0][:9])
    return {(shape, grid): number for shape, number in masked.items() for grid in grids}


# ── Paragraphs ────────────────────────────────────────────────────────────────────────────────────

OTHER_SIZE = 1.08  # ratio of the font sizes of headings, notes and captions to the text's
LAST_LINE_WIDTH = 0.8  # share of its neighbour's width: the last line of a paragraph is shorter
SMALL_CAPITALS = 1.4  # ratio of the sizes of a text and its small capitals
SAME_COLUMN = 40.0  # between the left edges of lines in one column
PROSE_WORDS = 5.0  # a line: of text that may go on with a name or a number
PAGE_BREAK = "\f"
# Match from word starts only, without backtracking: a word of 100,000 letters took 8 s otherwise.
_HYPHEN = re.compile(f"(?<!\\w)(\\w++)[-\u2010\xad]\n({PAGE_BREAK}?)(?=(\\w+))")


class Paragraph(NamedTuple):
    """Lines of one paragraph, or of the part of one in a column."""

    lines: Lines
    usual: float  # the font size of most of the document

    @property
    def size(self) -> float:
        return max(line.size for line in self.lines[:3])  # a line may be in small capitals

    def is_aside(self) -> bool:
        """Whether this is a note, a caption, a heading or a quotation beside the text."""
        small, large = sorted((self.size, self.usual))
        return self._is_float() or large > OTHER_SIZE * small

    def is_small(self) -> bool:
        return self.size * OTHER_SIZE < self.usual and not self._is_float()

    def _is_float(self) -> bool:
        return self.lines[0].is_table or bool(_CAPTION.match(self.lines[0].text))

    def is_cut(self) -> bool:
        """Whether it ends within a sentence: without a stop, in a full line of words."""
        last = self.lines[-1]
        if self.is_aside() or _ENDS_SENTENCE.search(last.text):
            return False
        width = max(line.right for line in self.lines[-3:]) - last.left
        full = last.right - last.left >= LAST_LINE_WIDTH * width
        return full and _n_words([last]) >= LINE_WORDS - 1


def _rest(cut: Paragraph, after: Sequence[Paragraph]) -> int | None:
    """The place of the paragraph that goes on with the sentence in which `cut` ends."""
    n = next((n for n, paragraph in enumerate(after[:ASIDES]) if not paragraph.is_aside()), None)
    if n is None or not cut.is_cut():
        return None
    first = after[n].lines[0].text[0]
    last = cut.lines[-3:]
    is_prose = len(last) > 1 and _n_words(last) >= PROSE_WORDS * len(last)
    return n if first.islower() or (is_prose and first.isalnum()) else None


def running_text(pages: Sequence[Lines]) -> tuple[str, list[int]]:
    """Join all pages, each in reading order; returns the text and each page's start offset.

    A page begins with a new paragraph, unless a sentence goes on from the page before.
    """
    sizes = Counter[float]()
    for line in chain(*pages):
        sizes[round(2 * line.size) / 2] += len(line.text)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    split = [_with_asides_apart(_paragraphs(page, usual)) for page in pages]
    raw_pages = list[str]()
    for (text, notes), (text_after, _) in pairwise([*split, ([], [])]):
        rest = _rest(text[-1], text_after) if text else None
        ordered = [*text, *notes]
        if rest is not None:  # the notes stand before the paragraph that goes on
            ordered = [*text[:-1], *notes, text[-1]]
            text_after.insert(0, text_after.pop(rest))
        raw = "\n\n".join("\n".join(line.text for line in part.lines) for part in ordered)
        raw_pages.append(raw + ("\n\n" if rest is None else "\n"))
    raw_text = PAGE_BREAK.join(raw_pages)
    words = Counter(re.findall(r"\w+(?:-\w+)*", raw_text.lower()))
    whole = _dehyphenate(raw_text, words).split(PAGE_BREAK)
    gaps = [page[len(page.rstrip("\n ")) :] for page in ("", *whole)]
    return join_pieces(zip(gaps, map(clean_text, whole), strict=False))


def _paragraphs(lines: Lines, usual: float) -> list[Paragraph]:
    pitch, groups = _pitch(lines), [[line] for line in lines[:1]]
    for before, previous, line in zip([*lines[:1], *lines], lines, lines[1:], strict=False):
        if _starts_paragraph(before, previous, line, pitch):
            groups.append([])
        groups[-1].append(line)
    return [Paragraph(group, usual) for group in groups]


def _with_asides_apart(paragraphs: list[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """The text with what stood within a sentence moved after it, and the footnotes."""
    text, notes = list[Paragraph](), list[Paragraph]()
    for n, paragraph in enumerate(paragraphs):
        (notes if _is_footnote(paragraphs, n) else text).append(paragraph)
    n = 0
    while n < len(text):
        rest = _rest(text[n], text[n + 1 : n + 1 + ASIDES])
        below = text[n].lines[-1].baseline
        if rest is not None and (rest or below < text[n + 1].lines[0].baseline):
            lines = [*text[n].lines, *text[n + 1 + rest].lines]
            text[n : n + 2 + rest] = [text[n]._replace(lines=lines), *text[n + 1 : n + 1 + rest]]
        else:
            n += 1
    return text, notes


def _is_footnote(paragraphs: Sequence[Paragraph], n: int) -> bool:
    """Whether a small paragraph stands below the text of its column, or of the page."""
    first = paragraphs[n].lines[0]
    above = next((p.lines[-1] for p in reversed(paragraphs[:n]) if not p.is_small()), first)
    below = next((p.lines[0] for p in paragraphs[n + 1 :] if not p.is_small()), above)
    is_last = above.baseline > first.baseline < below.baseline and above.left < first.right
    return is_last and paragraphs[n].is_small()


def _pitch(lines: Lines) -> float:
    """The line distance within paragraphs; 0 if there are no two consecutive lines.

    Uses the lower quartile, since a page of short paragraphs has as many gaps between them as
    within them. Steps below the line height are notes and superscripts.
    """
    pairs = ((a.baseline - b.baseline, b.size) for a, b in pairwise(lines))
    steps = sorted(step for step, size in pairs if step > 0.8 * size)
    return steps[len(steps) // 4] if steps else 0.0


def _starts_paragraph(before: Line, previous: Line, line: Line, pitch: float) -> bool:
    """Whether `line` begins a paragraph; `before` is the line before `previous`."""
    step = previous.baseline - line.baseline
    if step > PARAGRAPH_GAP * pitch or previous.is_table or line.is_table:
        return True
    small, large = sorted((previous, line), key=lambda line: line.size)
    in_capitals = small.text.isupper() and large.size < SMALL_CAPITALS * small.size
    if abs(step) > 1 and large.size > OTHER_SIZE * small.size and not in_capitals:
        return True
    if not _ENDS_SENTENCE.search(previous.text):
        return _breaks_early(before, previous, line)
    if abs(line.left - previous.left) > SAME_COLUMN:
        return False
    if line.left - previous.left > INDENT:
        return True
    width = max(before.right, line.right) - previous.left
    return previous.right - previous.left < LAST_LINE_WIDTH * width


def _dehyphenate(text: str, words: Counter[str]) -> str:
    """Join hyphenated words, unless they always have a hyphen, and the lines of a paragraph."""

    def mended(match: re.Match[str]) -> str:
        first, page_break, second = match.groups()
        whole, hyphenated = f"{first}{second}".lower(), f"{first}-{second}".lower()
        in_word = second[0].islower() and first[-1].islower()
        is_whole = in_word or f"{first}{second}".isupper()
        keep = not is_whole or (words[hyphenated] and not words[whole])
        return f"{first}-{page_break}" if keep else first + page_break

    return re.sub(r"(?<!\n)\n(?!\n)", " ", _HYPHEN.sub(mended, text))
