"""Lines on pages → running text: what the typesetter broke is joined again.

Words hyphenated at a line's end, lines of a paragraph, paragraphs set apart by space, headers and
footers that repeat. Pure functions over what the worker measured; distances are in points.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from pincite.documents.clean import cleaned

# Ordinary leading varies by rounding and superscripts; a blank line doubles it.
PARAGRAPH_GAP = 1.35  # times the page's usual distance between lines
HEADING_SIZE = 1.15  # times the font size of the line beside it
LAST_LINE_WIDTH = 0.8  # of its neighbour: the end of a paragraph leaves room
SAME_ROW = 0.6  # of the larger font size: a step that no two lines have between them
INDENT = 8.0  # points; one em at the usual sizes
SAME_COLUMN = 40.0  # points between the left edges of lines in one column
RUNNING_PAGES = 3  # a header is a line that stands at the edge of so many pages, and of half of all
HEADER_WORDS = 15
# Columns, in points: edges vary by the bearing of letters. Papers' columns have 8 to 12 words a
# line, narrow ones of newspapers 4; cells of tables have 1 or 2, or differ in length.
SAME_EDGE, MIN_COLUMN = 3.0, 60.0
COLUMN_ROWS, COLUMN_SHARE = 3, 0.5  # rows that are cut there, and their share of all that are cut
FULL_LINE, LINE_WORDS = 0.7, 3.5
# From the start of a word only, once: a word of 100,000 letters took 8 s from each of its letters.
_HYPHEN = re.compile("(?<!\\w)(\\w++)(?:[\x02\ufffe\xad]\n?|-\n)(?=(\\w+))")
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？…][\"'”’»)\]]*\d{0,3}$")


class Line(NamedTuple):
    """A line as the worker measured it; baselines are heights from the lower edge."""

    text: str
    first_baseline: float
    last_baseline: float
    left: float
    right: float
    size: float


def in_columns(lines: Sequence[Sequence[Line]]) -> list[Line]:
    """A page's lines in reading order, each column for itself where the file has them row by row.

    Args:
        lines: in the order of the file, each in the pieces that may stand in different columns.

    Columns are where many lines are cut before the same place and where the pieces fill their
    columns as running text does; the cells of a table do not. A line across columns, as a heading,
    ends those above it.
    """
    lefts = _lefts_of_columns(lines)
    if not lefts:
        return [_whole(line) for line in lines]
    ordered = list[Line]()
    columns: list[list[Line]] = [[] for _ in (0.0, *lefts)]
    for line in lines:
        for row in _rows(line):
            places = [bisect_right(lefts, piece.left) for piece in row]
            across = any(piece.left < left < piece.right for piece in row for left in lefts)
            edges = [abs(piece.left - lefts[n - 1]) for piece, n in zip(row, places, strict=True)]
            if across or len(set(places)) < len(row) or max(edges[1:], default=0) > INDENT:
                ordered += [*chain(*columns), _whole(row)]
                columns = [[] for _ in columns]
            else:
                for place, piece in zip(places, row, strict=True):
                    columns[place].append(piece)
    return [*ordered, *chain(*columns)]


def _rows(line: Sequence[Line]) -> list[list[Line]]:
    """The pieces of a line that stand at one height; a hyphen at the end of a row is one again."""
    rows = [[line[0]]]
    for piece in line[1:]:
        before = rows[-1][-1]
        if abs(piece.first_baseline - before.last_baseline) > 0.5 * before.size:
            rows[-1][-1] = before._replace(text=before.text.replace("\x02", "-"))
            rows.append([])
        rows[-1].append(piece)
    return rows


def _whole(pieces: Sequence[Line]) -> Line:
    """The line that was cut into these pieces."""
    first, last = pieces[0], pieces[-1]
    text = "".join(piece.text for piece in pieces)
    return first._replace(text=text, last_baseline=last.last_baseline, right=last.right)


def _lefts_of_columns(lines: Sequence[Sequence[Line]]) -> list[float]:
    """The left edges of all columns but the first; none if the page has one column."""
    rows = [row for line in lines for row in _rows(line)]
    cut = [row for row in rows if len(row) > 1]
    counts = Counter(round(piece.left) for row in cut for piece in row[1:])
    lefts = list[float]()
    for edge, _ in counts.most_common():
        near = sum(n for other, n in counts.items() if abs(other - edge) <= SAME_EDGE)
        if near < COLUMN_ROWS or near < COLUMN_SHARE * len(cut):
            break
        if all(abs(edge - left) > MIN_COLUMN for left in lefts):
            lefts.append(edge - SAME_EDGE)
    lefts.sort()
    pieces: list[list[Line]] = [[] for _ in (0.0, *lefts)]
    for row in cut:
        for piece in row:
            pieces[bisect_right(lefts, piece.left)].append(piece)
    return lefts if all(map(_is_prose, pieces)) else []


def _is_prose(column: Sequence[Line]) -> bool:
    """Whether most lines of a column are of several words and nearly as long as the longest."""
    widths = [line.right - line.left for line in column]
    full = sum(width > FULL_LINE * max(widths) for width in widths)
    n_words = sum(len(line.text.split()) for line in column)
    return 2 * full > len(column) and n_words >= LINE_WORDS * len(column)


def running_text(pages: Sequence[Sequence[Line]]) -> tuple[str, list[int]]:
    """The text of all pages with a blank line between, and the offset at which each page starts."""
    furniture = _running_lines(pages)
    raw_pages = [_page_text(_without_furniture(page, furniture)) for page in pages]
    words = Counter(re.findall(r"\w+(?:-\w+)*", "\n".join(raw_pages).lower()))
    starts: list[int] = []
    pieces: list[str] = []
    length = 0
    for raw in raw_pages:
        page = cleaned(_dehyphenated(raw, words))
        separator = "\n\n" if length and page else ""
        starts.append(length + len(separator))
        pieces.append(separator + page)
        length += len(separator) + len(page)
    return "".join(pieces), starts


def _page_text(lines: Sequence[Line]) -> str:
    """Lines of a paragraph one after the other, paragraphs with a blank line between."""
    if not lines:
        return ""
    pitch = _pitch(lines)
    text = [lines[0].text.strip()]
    before = lines[0]
    for previous, line in pairwise(lines):
        text.append("\n\n" if _starts_paragraph(before, previous, line, pitch) else "\n")
        text.append(line.text.strip())
        before = previous
    return "".join(text)


def _pitch(lines: Sequence[Line]) -> float:
    """The distance of lines in a paragraph; 0 if the page has no two lines below each other.

    The lower quartile, since a page of short paragraphs has as many gaps between them as in them;
    steps below a line's height are notes and signs set higher.
    """
    pairs = ((a.last_baseline - b.first_baseline, b.size) for a, b in pairwise(lines))
    steps = sorted(step for step, size in pairs if step > 0.8 * size)
    return steps[len(steps) // 4] if steps else 0.0


def _starts_paragraph(before: Line, previous: Line, line: Line, pitch: float) -> bool:
    """Whether `line` begins a paragraph; `before` is the line before `previous`."""
    step = previous.last_baseline - line.first_baseline
    small, large = sorted((previous.size, line.size))
    if abs(step) < SAME_ROW * large and line.left >= previous.right:
        return False  # a line that goes on behind something set higher, as an exponent
    if step > PARAGRAPH_GAP * pitch or (step > 1 and large > HEADING_SIZE * small):
        return True
    if not _ENDS_SENTENCE.search(previous.text.rstrip()):
        return False
    if abs(line.left - previous.left) > SAME_COLUMN:
        return False
    if line.left - previous.left > INDENT:
        return True
    width = max(before.right, line.right) - previous.left
    return previous.right - previous.left < LAST_LINE_WIDTH * width


def _dehyphenated(text: str, words: Counter[str]) -> str:
    """Words broken at a line's end put together, lines of a paragraph joined.

    The hyphen stays where the document elsewhere writes the word with it and never without.
    """

    def joined(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        if match[0].endswith("-\n") and not (second[0].islower() and first[-1].islower()):
            return f"{first}-"
        whole, hyphenated = f"{first}{second}".lower(), f"{first}-{second}".lower()
        return f"{first}-" if words[hyphenated] and not words[whole] else first

    return re.sub(r"(?<!\n)\n(?!\n)", " ", _HYPHEN.sub(joined, text))


def _running_lines(pages: Sequence[Sequence[Line]]) -> set[str]:
    """Headers and footers: lines that repeat, but for their numbers, at the edges of pages."""
    edges = Counter(shape for page in pages for shape in {_shape(line) for line in _edge(page)})
    return {
        shape for shape, n_pages in edges.items() if n_pages >= max(RUNNING_PAGES, len(pages) / 2)
    }


def _edge(page: Sequence[Line]) -> Sequence[Line]:
    return [page[0], page[-1]] if page else []


def _shape(line: Line) -> str:
    """A short line with its page number masked; rows of figures stay as different as they are."""
    text = line.text.strip()
    if len(text.split()) > HEADER_WORDS:
        return f"{text} {line}"
    return re.sub(r"\d+", "0", text) if len(re.findall(r"\d+", text)) == 1 else text


def _without_furniture(page: Sequence[Line], furniture: set[str]) -> Sequence[Line]:
    start = 1 if page and _shape(page[0]) in furniture else 0
    end = -1 if len(page) > start and _shape(page[-1]) in furniture else None
    return page[start:end]
