"""Finds tables whose cells are drawn: rules that touch each other part rows and columns.

A table without rules between its rows has them found as in `spaced_tables`.
"""

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, pairwise
from math import inf

from pincite.documents.page_lines import SAME_EDGE, Line, Lines, Rule, downwards, rows_of
from pincite.documents.page_tables import MAX_LANES, cell_text, put_table
from pincite.documents.spaced_tables import LABEL_LINES, grid_of_rows
from pincite.documents.tables import Cell, Grid

MAX_RULES = 2_000  # of a page; drawings have more


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

    def row_at(self, y: float) -> int:
        return sum(edge > y for edge in self.ys) - 1

    def column_at(self, x: float) -> int:
        """What juts out belongs to the first or the last column."""
        return min(max(0, bisect(self.xs, x + 1) - 1), len(self.xs) - 2)

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
            lines = put_table(lines, inside, _grid(inside, frame), frame.ys[0]) or lines
    return lines


def _grid(inside: Lines, frame: Frame) -> Grid:
    """The cells of a table; those that no rule parts are one."""
    xs = frame.xs
    rows = rows_of(downwards([part for line in inside for part in _cut(line, xs)]))
    placed = [(frame.row_at(row[0].baseline), row) for row in rows]
    n_labelled = Counter(n for n, row in placed if row[0].left < xs[1] < row[-1].left)
    if max(n_labelled.values(), default=0) > LABEL_LINES:  # there are no rules between the rows
        return grid_of_rows(rows, xs[1:-1], frame.rules)
    areas, parts = _areas(frame), defaultdict[int, list[Line]](list)
    for n, row in placed:
        for part in row:
            parts[areas[n][frame.column_at(part.left)]].append(part)
    cells = {area: Cell(cell_text(parts[area])) for area in chain(*areas)}
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
