"""Measured lines and rules of a document's pages. Distances are in points."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pincite.text import patterns

SAME_EDGE = 3.0  # edges vary by the letters' side bearings
SAME_ROW = 0.4  # share of the font size: less than any line spacing
INDENT = 8.0  # one em at the usual sizes
LETTER = 0.6  # width in font sizes, rather too much
PARAGRAPH_GAP = 1.35  # times the usual line distance, which varies by rounding and superscripts
ASIDES = 6  # the most paragraphs between two halves of one, and the most lines of a caption
_WORD = re.compile(r"[^\W\d_]\S*")
ENDS_SENTENCE = re.compile(r"[.!?:;。！？…][\"'”’»)\]]*\d{0,3}$")
CAPTION = patterns(__file__, "page_lines")["caption"]
# Columns in papers have 8 to 12 words a line, narrow newspaper columns 4; table cells have 1 or 2,
# or vary in length.
COLUMN_LINES = 3  # the least lines of a column
LINE_WORDS = 3.5  # the least words of its lines on average
FULL_LINE = 0.7  # share of the column's width that a full line has


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


def downwards(lines: Lines) -> list[Line]:
    return sorted(lines, key=lambda line: -line.baseline)


def rows_of(lines: Lines) -> list[list[Line]]:
    """Consecutive lines on one baseline, from left to right."""
    rows = list[list[Line]]()
    for line in lines:
        is_near = rows and abs(rows[-1][0].baseline - line.baseline) < SAME_ROW * line.size
        if is_near and not (line.is_table or rows[-1][0].is_table):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.left) for row in rows]


def join_row(row: Lines) -> Line:
    if len(row) == 1:
        return row[0]
    text = " ".join(line.text for line in row)
    right, lefts = max(line.right for line in row), tuple(x for line in row for x in line.lefts)
    longest = max(row, key=lambda line: len(line.text))
    return longest._replace(text=text, left=row[0].left, right=right, lefts=lefts)


def breaks_early(before: Line, previous: Line, line: Line) -> bool:
    """Whether a list's item begins, since its first word would have fitted in the line above."""
    word = line.text.split(" ", 1)[0]
    is_below = previous.baseline > line.baseline
    if word[0].islower() or (is_below and abs(line.left - previous.left) > INDENT):
        return False
    right = max(before.right, line.right) if is_below else before.right
    return right - previous.right > (len(word) * LETTER + 1) * line.size


def n_words(lines: Lines) -> int:
    return sum(len(_WORD.findall(line.text)) for line in lines)


def is_prose(side: Lines) -> bool:
    """Whether lines fill one or more columns as running text does, unlike cells."""
    rows, widths = rows_of(downwards(side)), list[float]()
    edges = Counter(round(line.left / SAME_EDGE) for line in side)
    of_columns = {e for e in edges if 2 * sum(edges[e + i] for i in (-1, 0, 1)) > len(rows)}
    for row in rows:
        cuts = [n for n, e in enumerate(row) if n and round(e.left / SAME_EDGE) in of_columns]
        parts = (row[a:b] for a, b in pairwise([0, *cuts, len(row)]))
        widths += [max(line.right for line in part) - part[0].left for part in parts]
    widths.sort()
    usual = widths[len(widths) * 3 // 4]  # a heading may be wider
    full = len(widths) - bisect_left(widths, FULL_LINE * usual)
    has_words = n_words(side) >= LINE_WORDS * len(widths)
    return has_words and 2 * full > len(widths) >= COLUMN_LINES
