"""Puts the measured lines of a document's pages in reading order, as running text.

Columns are found by their gutters: white space that no line crosses, with lines that share a left
edge on its right (Breuel, "Two Geometric Algorithms for Layout Analysis", 2002). A page is split at
its longest gutter into what stands above, left, right and below, and each part likewise, as in
recursive XY-cuts (Nagy and Seth, 1984). Tables have gutters too, but their cells do not fill lines
as prose does, and stay in rows. Distances are in points.
"""

import re
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, groupby, pairwise, product, zip_longest
from math import floor, inf
from typing import NamedTuple

from pincite.documents.tables import MAX_CELL_CHARS, Cell, Grid, lines_of
from pincite.documents.text import clean_text, join_pieces
from pincite.text import patterns
from pincite.text.tables import cells_of


class Line(NamedTuple):
    """A line, or the part of a line on one side of a gutter."""

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


Lines = Sequence[Line]

# ── Columns ───────────────────────────────────────────────────────────────────────────────────────

# Edges vary by the letters' side bearings. Columns in papers have 8 to 12 words a line, narrow
# newspaper columns 4; table cells have 1 or 2, or vary in length.
SAME_EDGE, COLUMN_LINES = 3.0, 3
FULL_LINE, LINE_WORDS = 0.7, 3.5
_WORD = re.compile(r"[^\W\d_]\S*")
STACKED = 2.0  # the most between baselines of a cell's lines, in font sizes
SAME_ROW = 0.4  # share of the font size: less than any line spacing
# Newspaper pages have 2,000 lines. A hostile page may have 100,000, and an edge at every point.
MAX_LINES, MAX_EDGES, MAX_DEPTH = 5_000, 8, 20


def in_reading_order(lines: Lines, rules: Sequence[Rule] = (), _depth: int = 0) -> list[Line]:
    """Order a page's lines, given in file order, by columns; joins the parts of each line."""
    if len(lines) > MAX_LINES:
        return list(lines)
    gutter = _longest_gutter(lines) if _depth < MAX_DEPTH else None
    if not gutter:
        lines = _with_unruled_tables(lines, rules)
        return [_join(row) for row in _rows(_down(lines) if _is_one_column(lines) else lines)]
    x, top, bottom = gutter
    inside = [line for line in lines if bottom <= line.baseline <= top]
    parts = (
        [line for line in lines if line.baseline > top],
        [line for line in inside if line.left < x],
        [line for line in inside if line.left >= x],
        [line for line in lines if line.baseline < bottom],
    )
    return [line for part in parts for line in in_reading_order(part, rules, _depth + 1)]


def _is_one_column(lines: Lines) -> bool:
    """Whether no lines that were written after two or more others stand beside these.

    If some do, as in a table's cells and a slide's lists, the file has them one after the other.
    """
    left, right, n_below = 0.0, 0.0, 0  # of lines that stand one below the other
    for before, line in pairwise(lines):
        step = before.baseline - line.baseline
        if not n_below:
            left, right = before.left, before.right
        if line.left >= right or line.right <= left:
            if n_below and step < -SAME_ROW * line.size:
                return False
            n_below = 0
        elif 0 < step < STACKED * line.size:
            left, right, n_below = min(left, line.left), max(right, line.right), n_below + 1
        else:
            n_below = 0
    return True


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
    longest = max(row, key=lambda line: len(line.text))
    return longest._replace(text=text, left=row[0].left, right=max(line.right for line in row))


def _longest_gutter(lines: Lines) -> tuple[float, float, float] | None:
    """The left edge, top and bottom of the column that has the most lines beside it."""
    edges = Counter(round(line.left) for line in lines).most_common(MAX_EDGES)
    down = _down(lines)
    places = [edge - SAME_EDGE for edge, n_lines in edges if n_lines > 1]
    bands = ((band, x) for x in places for band in _bands(down, x))
    long = [gutter for gutter in bands if len(gutter[0]) >= 2 * COLUMN_LINES]
    for band, x in sorted(long, key=lambda gutter: -len(gutter[0])):
        if _are_columns(band, x):
            return x, band[0].baseline, band[-1].baseline
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
    grouped, widths = _rows(_down(side)), list[float]()
    edges = Counter(round(line.left / SAME_EDGE) for line in side)
    usual_cuts = {n for n in edges if 2 * sum(edges[n + i] for i in (-1, 0, 1)) > len(grouped)}
    for row in grouped:
        cuts = [n for n, e in enumerate(row) if n and round(e.left / SAME_EDGE) in usual_cuts]
        parts = (row[a:b] for a, b in pairwise([0, *cuts, len(row)]))
        widths += [max(line.right for line in part) - part[0].left for part in parts]
    widths.sort()
    usual = widths[len(widths) * 3 // 4]  # a heading may be wider
    full = len(widths) - bisect_left(widths, FULL_LINE * usual)
    has_words = _n_words(side) >= LINE_WORDS * len(widths)
    return has_words and 2 * full > len(widths) >= COLUMN_LINES


def _n_words(lines: Lines) -> int:
    return sum(len(_WORD.findall(line.text)) for line in lines)


# ── Tables ────────────────────────────────────────────────────────────────────────────────────────

ROW = "\v"
MAX_RULES, MAX_LANES = 2_000, 100  # of a page, and side by side; drawings have more
ROW_STEP, LINE_STEP = 3.5, 1.7  # the most between baselines of rows, and of lines of a cell
STRIP = 0.5  # the least width of white space between columns, in font sizes
OTHER_STEP = 1.12  # ratio of the distances between rows and between the lines of one
LABEL_LINES = 2  # the most of a row's label beside other lines
FIGURES, FILLED = 0.7, 0.5  # the least shares of a numeric column's cells, and of cells with text
_FIGURE = re.compile(r"[^\w\s]{0,2}\d[\d.,\u202f]*(?: \d{3})*(?: ?[^\d\s]{1,4}\d?)?")
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:[-–/]\d{2,4})?")
_LEADERS = re.compile(r"(?:\. ?){4}")
_Row = dict[int, tuple[int, Line]]  # the line of a cell, with its last column, by the first one
_Strips = list[tuple[float, float]]  # of white space, from left to right


def with_ruled_tables(lines: Lines, rules: Sequence[Rule]) -> Lines:
    """Put the tables whose cells are drawn in the places of their lines."""
    rest = list(rules[:MAX_RULES])
    while rest:
        frame, n = [rest.pop()], 0  # rules that touch each other
        while n < len(frame):
            left, bottom = (place - SAME_EDGE for place in frame[n][:2])
            right, top = (place + SAME_EDGE for place in frame[n][2:])
            near = {
                r for r in rest if r[0] <= right and left <= r[2] and r[1] <= top and bottom <= r[3]
            }
            rest = [rule for rule in rest if rule not in near] if near else rest
            frame += near
            n += 1
        x, y = [r.left for r in frame if not r.is_across], [r.top for r in frame if r.is_across]
        xs = _distinct([*x, min(r.left for r in frame), max(r.right for r in frame)])
        ys = _distinct([*y, min(r.bottom for r in frame), max(r.top for r in frame)])[::-1]
        is_grid = min(len(xs), len(ys)) > 2 and max(len(xs), len(ys)) <= MAX_LANES
        high = [line for line in lines if ys[-1] < line.baseline < ys[0]] if is_grid else []
        if inside := [line for line in high if xs[0] - SAME_EDGE <= line.left < xs[-1]]:
            lines = _with_table(lines, inside, _ruled_grid(inside, frame, xs, ys), ys[0])
    return lines


def _distinct(places: list[float]) -> list[float]:
    places.sort()
    return [x for n, x in enumerate(places) if not n or x - places[n - 1] > SAME_EDGE]


def _ruled_grid(inside: Lines, frame: Sequence[Rule], xs: list[float], ys: list[float]) -> Grid:
    """The cells of a table; those that no rule parts are one."""
    rows = _rows(_down([part for line in inside for part in _cut(line, xs)]))
    places = [sum(y > row[0].baseline for y in ys) - 1 for row in rows]
    labelled = Counter(
        n for n, row in zip(places, rows, strict=True) if row[0].left < xs[1] < row[-1].left
    )
    if max(labelled.values(), default=0) > LABEL_LINES:  # there are no rules between the rows
        return _grid(rows, xs[1:-1], frame)
    at_x = [[r for r in frame if not r.is_across and abs(r.left - x) <= SAME_EDGE] for x in xs]
    at_y = [[r for r in frame if r.is_across and abs(r.top - y) <= SAME_EDGE] for y in ys]
    cells = [[list[Line]() for _ in xs[1:]] for _ in ys[1:]]  # the same list if one cell
    for i, j in product(range(len(ys) - 1), range(len(xs) - 1)):
        x, y = (xs[j] + xs[j + 1]) / 2, (ys[i] + ys[i + 1]) / 2
        if j and not any(rule.bottom < y < rule.top for rule in at_x[j]):
            cells[i][j] = cells[i][j - 1]
        elif i and not any(rule.left < x < rule.right for rule in at_y[i]):
            cells[i][j] = cells[i - 1][j]
    for n, row in zip(places, rows, strict=True):
        for part in row:
            cells[n][max(0, bisect(xs, part.left + 1) - 1)].append(part)
    written = {id(cell): Cell(_cell_text(cell)) for row in cells for cell in row}
    return [[written[id(cell)] for cell in row] for row in cells]


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
    rows, start = _rows(_down(lines)), 0
    while start < len(rows):
        end = _end_of_run(rows, start)
        run = rows[start:end]
        if mids := _mids(run):
            above = rows[:start]
            while above and _is_head(above[-1], run[0], mids):
                run.insert(0, above.pop())
            while len(run[-1]) == 1 and not _goes_on(run[-1], mids):
                run.pop()
            inside = [line for row in run for line in row]
            lines = _with_table(lines, inside, _grid(run, mids, rules), run[0][0].baseline + 1)
        start = max(end, start + 1)
    return lines


def _mids(run: Sequence[Lines]) -> list[float]:
    """The middles of the white space between columns."""
    usual = [n for n, times in Counter(map(len, run)).items() if n > 1 < times]
    full = [row for row in run if usual and len(row) == max(usual)]
    strips, mids = reduce(_free, full, [(-inf, inf)]), [-inf]
    for (left, right), (end, _) in pairwise(strips[1:]):
        pairs = (pair for row in full for pair in pairwise(row))
        # A head on the left and numbers on the right are one column.
        if any(mids[-1] < a.left < left and right <= b.left < end for a, b in pairs):
            mids.append((left + right) / 2)
    return mids[1:]


def _is_head(row: Lines, below: Lines, mids: Sequence[float]) -> bool:
    """Whether a row above a table is the first line of a head."""
    is_inside = len(row) == 1 and mids[0] < row[0].left and row[0].right <= below[-1].right + INDENT
    return is_inside and _step(row, below) < LINE_STEP and not _CAPTION.match(row[0].text)


def _step(row: Lines, below: Lines) -> float:
    return (row[0].baseline - below[0].baseline) / max(row[0].size, 1)


def _goes_on(row: Lines, mids: Sequence[float]) -> bool:
    """Whether a row is a further line of a cell."""
    first, last = bisect(mids, row[0].left), bisect(mids, row[-1].right)
    return len(row) == 1 and first == last and (first > 0 or row[0].text[0].islower())


def _end_of_run(rows: Sequence[Lines], start: int) -> int:
    """The end of the rows that all leave a strip of white space, as columns do."""
    strips, before = [(-inf, inf)], 0.0
    for n in range(start, len(rows)):
        row, below = rows[n], rows[n + 1 : n + 2]
        step = _step(rows[n - 1], row) if n > start else 0.0
        if row[0].is_table or step > ROW_STEP or len(row) > MAX_LANES:
            return n
        if (len(row) > 1 and n == start) or _free(strips[1:-1], row):  # two are outside
            strips = _free(strips, row)
        elif not (below and len(row) == 1 < len(below[0]) and step < PARAGRAPH_GAP * before):
            return n  # and not the heading of a section
        before = step
    return len(rows)


def _free(strips: _Strips, row: Lines) -> _Strips:
    """The parts of strips in which a row has white space."""
    ends = [-inf, *(x for line in row for x in (line.left, line.right)), inf]
    pairs = product(strips, zip(ends[::2], ends[1::2], strict=True))
    both = ((max(a, c), min(b, d)) for (a, b), (c, d) in pairs)
    return [(left, right) for left, right in both if right - left >= STRIP * row[0].size]


def _grid(rows: Sequence[Lines], mids: Sequence[float], rules: Sequence[Rule]) -> Grid:
    """The cells of a table in columns between `mids`; none if it may be something else.

    A table has a head, and below it a column of numbers, or rules.
    """
    table = list[_Row]()
    for row in rows:
        cells: _Row = {}
        for line, after in zip_longest(row, row[1:]):
            first, last = bisect(mids, line.left), bisect(mids, line.right)
            last = max(first, min(last, bisect(mids, after.left) - 1)) if after else last
            cells[first] = last, _join([cells[first][1], line]) if first in cells else line
        table.append(cells)
    figures, numeric = _figures(table, len(mids) + 1)
    ruled = _ruled_rows(rows, rules)
    if 1 in ruled and len(rows[0]) == 1 and (below := _grid(rows[1:], mids, rules)):
        return [[Cell(rows[0][0].text)] * (len(mids) + 1), *below]  # below a title
    inner = [n for n in ruled if 0 < n < len(rows) and len(ruled) > 1]
    heads = [n for n, numbers in enumerate(figures) if numbers] if numeric else inner
    others = (n for n in heads if any(not _YEAR.fullmatch(table[n][j][1].text) for j in figures[n]))
    start = next(others, min(heads, default=0))
    leads = any(_LEADERS.search(line.text) for row in rows for line in row)
    if not start or leads or _is_prose([cells[0][1] for cells in table if 0 in cells] or rows[0]):
        return []

    def is_section(n: int) -> bool:
        line, before = table[n][0][1], table[n - 1].get(0)
        return not before or _breaks_early(line._replace(right=mids[0]), before[1], line)

    def begins(n: int) -> bool:
        if n < start:
            return any(last > first for first, (last, _) in table[n - 1].items())
        if n == start or figures[n] or 0 not in table[n]:
            return n == start or bool(figures[n])
        if len(table[n]) == 1:
            return is_section(n)
        return not numeric or not numeric.isdisjoint(table[n])

    start -= start > 1 and {0} == table[start - 1].keys() and is_section(start - 1)
    steps = [row[0].baseline - below[0].baseline for row, below in pairwise(rows)]
    limits = [b for a, b in pairwise(sorted(steps)) if b > OTHER_STEP * a][::-1]
    groupings = [[n for n, step in enumerate(steps, 1) if step >= limit] for limit in limits]
    for breaks in (ruled, *groupings, [n for n in range(1, len(table)) if begins(n)]):
        ends = [0, *(n for n in breaks if 0 < n < len(table)), len(table)]
        records = [table[a:b] for a, b in pairwise(ends)]
        if grid := _records(records, bisect(ends, start) - 1, numeric, len(mids) + 1):
            return grid
    return []


def _figures(table: Sequence[_Row], n_columns: int) -> tuple[list[set[int]], set[int]]:
    """The numeric columns in which each row has a number, and all of these columns."""
    numbers = [{j for j, (_, e) in cells.items() if _FIGURE.fullmatch(e.text)} for cells in table]
    numeric = set[int]()
    for j in range(1, n_columns):
        column = [j in columns for cells, columns in zip(table, numbers, strict=True) if j in cells]
        below = column[(*column, True).index(True) :]  # the head
        if sum(below) >= max(2, FIGURES * len(below)):
            numeric.add(j)
    return [columns & numeric for columns in numbers], numeric


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


def _records(
    records: Sequence[Sequence[_Row]], n_heads: int, numeric: set[int], n_columns: int
) -> Grid:
    """The rows of cells of lines that are grouped to rows; none if they are grouped wrongly."""
    grid, n_rows, n_filled = Grid(), len(records) - n_heads, 0
    heads = chain(*records[:n_heads])
    named = {first for cells in heads for first, (last, _) in cells.items() if first == last}
    for n, record in enumerate(records):
        row, is_head = [Cell("")] * n_columns, n < n_heads
        for first in {j for cells in record for j in cells}:
            parts = [cells[first] for cells in record if first in cells]
            figures = sum(bool(_FIGURE.fullmatch(line.text)) for _, line in parts)
            if not is_head and first in numeric and figures > 1:
                return []
            columns = range(first, max(last for last, _ in parts) + 1)
            cell = Cell(_cell_text([line for _, line in parts]), header=is_head)
            row[first : columns.stop] = [cell] * len(columns)
        is_section = not is_head and not any(cell.text for cell in row[1:])
        grid.append(row[:1] * n_columns if is_section else row)
        n_filled += n_columns if is_section else sum(not is_head and bool(e.text) for e in row)
        if not is_head and sum(0 in cells and len(cells) > 1 for cells in record) > LABEL_LINES:
            return []
    is_table = n_heads and n_rows > (1 if n_columns > 2 else 2) and numeric <= named
    return grid if is_table and n_filled >= FILLED * n_columns * n_rows else []


def _with_table(lines: Lines, inside: Lines, grid: Grid, top: float) -> Lines:
    """Put a table of data and its caption in the place of their lines."""
    if not grid:
        return lines
    left, right = min(line.left for line in inside), max(line.right for line in inside)
    above = [e for e in lines if e.baseline >= top and e.left < right and e.right > left]
    caption, edge = list[Line](), top
    for line in _down(above)[::-1]:
        reach = LINE_STEP if caption else ROW_STEP
        if line.is_table or line.baseline - edge > reach * line.size or len(caption) > ASIDES:
            break
        caption, edge = [line, *caption], line.baseline
        if _CAPTION.match(line.text):
            break
    lone = caption[0].text if len(caption) == 1 else "."
    if _ENDS_SENTENCE.search(lone) and not (caption and _CAPTION.match(caption[0].text)):
        caption = []
    rows = lines_of(grid, _cell_text(caption))
    longest = max(len(cell.text) for row in grid for cell in row)
    if longest > MAX_CELL_CHARS or not any(map(cells_of, rows)):
        return lines
    used, size = {*caption, *inside}, max(line.size for line in inside)
    high = max(line.baseline for line in used)
    table = Line(ROW.join(rows), high, left, right, size, is_table=True)
    at = next(n for n, line in enumerate(lines) if line in used)
    return [*lines[:at], table, *(line for line in lines[at:] if line not in used)]


# ── Running heads and page numbers ────────────────────────────────────────────────────────────────

RUNNING_PAGES = 3  # a head repeats at the same height of at least this many pages
EDGE_ROWS = 3  # at the top and the bottom
HEIGHTS = 12.0  # half of it is the difference that two heights may have
HEAD_WORDS, TABLE_CELLS = 15, 3
_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"\A\W*[ivxlc]+\W*\Z", re.IGNORECASE)


@dataclass(slots=True)
class _Repeats:
    """Rows that are alike and at the same height, apart from a number."""

    first: int  # page
    has_number: bool
    n_pages: int = 0
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
                seen = repeats.setdefault(shape, _Repeats(number, printed is not None))
                seen.n_pages += 1
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
    if likes.has_number:  # it must be the page's, as it is not in the headings of chapters
        return likes.n_pages > 1 and 2 * len(likes.offsets) <= likes.n_pages + 1
    is_head = likes.n_pages >= RUNNING_PAGES and len(row) < TABLE_CELLS
    return is_head or (n_pages >= RUNNING_PAGES and page != likes.first)


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

# Ordinary leading varies by rounding and superscripts; a blank line doubles it.
PARAGRAPH_GAP = 1.35  # multiple of the page's usual line distance
OTHER_SIZE = 1.08  # ratio of the font sizes of headings, notes and captions to the text's
LAST_LINE_WIDTH = 0.8  # share of its neighbour's width: the last line of a paragraph is shorter
SMALL_CAPITALS = 1.4  # ratio of the sizes of a text and its small capitals
LETTER = 0.6  # width in font sizes, rather too much
INDENT = 8.0  # one em at the usual sizes
SAME_COLUMN = 40.0  # between the left edges of lines in one column
PROSE_WORDS = 5.0  # a line: of text that may go on with a name or a number
ASIDES = 6  # paragraphs that may stand between two halves of one
PAGE_BREAK = "\f"
# Match from word starts only, without backtracking: a word of 100,000 letters took 8 s otherwise.
_HYPHEN = re.compile(f"(?<!\\w)(\\w++)[-\u2010\xad]\n({PAGE_BREAK}?)(?=(\\w+))")
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？…][\"'”’»)\]]*\d{0,3}$")
_CAPTION = patterns(__file__, "layout")["caption"]


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
    for number, (text, notes) in enumerate(split):
        after = split[number + 1][0] if number + 1 < len(split) else []
        rest = _rest(text[-1], after) if text else None
        ordered = [*text, *notes]
        if rest is not None:  # the notes stand before the paragraph that goes on
            ordered = [*text[:-1], *notes, text[-1]]
            after.insert(0, after.pop(rest))
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


def _breaks_early(before: Line, previous: Line, line: Line) -> bool:
    """Whether a list's item begins, since its first word would have fitted in the line above."""
    word = line.text.split(" ", 1)[0]
    is_below = previous.baseline > line.baseline
    if word[0].islower() or (is_below and abs(line.left - previous.left) > INDENT):
        return False
    right = max(before.right, line.right) if is_below else before.right
    return right - previous.right > (len(word) * LETTER + 1) * line.size


def _dehyphenate(text: str, words: Counter[str]) -> str:
    """Join hyphenated words, and the lines of a paragraph.

    Keeps the hyphen if the document elsewhere has the word with a hyphen and never without.
    """

    def mended(match: re.Match[str]) -> str:
        first, page_break, second = match.groups()
        whole, hyphenated = f"{first}{second}".lower(), f"{first}-{second}".lower()
        in_word = second[0].islower() and first[-1].islower()
        is_whole = in_word or f"{first}{second}".isupper()
        keep = not is_whole or (words[hyphenated] and not words[whole])
        return f"{first}-{page_break}" if keep else first + page_break

    return re.sub(r"(?<!\n)\n(?!\n)", " ", _HYPHEN.sub(mended, text))
