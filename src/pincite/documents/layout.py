"""Puts the measured lines of a document's pages in reading order, as running text.

Columns are found by their gutters: white space that no line crosses, with lines that share a left
edge on its right (Breuel, "Two Geometric Algorithms for Layout Analysis", 2002). A page is split at
its longest gutter into what stands above, left, right and below, and each part likewise, as in
recursive XY-cuts (Nagy and Seth, 1984). Tables have gutters too, but their cells do not fill lines
as prose does, and stay in rows. Distances are in points.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from math import floor
from typing import NamedTuple

from pincite.documents.text import cleaned, joined


class Line(NamedTuple):
    """A line, or the part of a line on one side of a gutter."""

    text: str
    baseline: float  # above the lower edge of the page
    left: float
    right: float
    size: float  # of the font


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


def in_reading_order(lines: Lines, _depth: int = 0) -> list[Line]:
    """Order a page's lines, given in file order, by columns; joins the parts of each line."""
    if len(lines) > MAX_LINES:
        return list(lines)
    gutter = _longest_gutter(lines) if _depth < MAX_DEPTH else None
    if not gutter:
        return [_joined(row) for row in _rows(_down(lines) if _is_one_column(lines) else lines)]
    x, top, bottom = gutter
    inside = [line for line in lines if bottom <= line.baseline <= top]
    parts = (
        [line for line in lines if line.baseline > top],
        [line for line in inside if line.left < x],
        [line for line in inside if line.left >= x],
        [line for line in lines if line.baseline < bottom],
    )
    return [line for part in parts for line in in_reading_order(part, _depth + 1)]


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
    found = list[list[Line]]()
    for line in lines:
        if found and abs(found[-1][0].baseline - line.baseline) < SAME_ROW * line.size:
            found[-1].append(line)
        else:
            found.append([line])
    return [sorted(row, key=lambda line: line.left) for row in found]


def _joined(row: Lines) -> Line:
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
    long = [each for each in bands if len(each[0]) >= 2 * COLUMN_LINES]
    for band, x in sorted(long, key=lambda each: -len(each[0])):
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
        cuts = [n for n, each in enumerate(row) if n and round(each.left / SAME_EDGE) in usual_cuts]
        parts = (row[a:b] for a, b in pairwise([0, *cuts, len(row)]))
        widths += [max(each.right for each in part) - part[0].left for part in parts]
    widths.sort()
    usual = widths[len(widths) * 3 // 4]  # a heading may be wider
    full = len(widths) - bisect_left(widths, FULL_LINE * usual)
    has_words = _n_words(side) >= LINE_WORDS * len(widths)
    return has_words and 2 * full > len(widths) >= COLUMN_LINES


def _n_words(lines: Lines) -> int:
    return sum(len(_WORD.findall(line.text)) for line in lines)


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
    found = _rows(_down(page))
    top, foot = found[:EDGE_ROWS], found[: -EDGE_ROWS - 1 : -1]
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
    for found in numbers[:: max(1, len(numbers) - 1)]:  # the first and the last
        masked[f"{text[: found.start()]}0{text[found.end() :]}"] = int(found[0][:9])
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
_CAPTION = re.compile(
    r"(?:fig(?:ure|ura|\.)?|tab(?:le|elle|leau|la|\.)|abb(?:ildung|\.)|plate|chart|photo) ?\d",
    re.IGNORECASE,
)


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
        return large > OTHER_SIZE * small or bool(_CAPTION.match(self.lines[0].text))

    def is_small(self) -> bool:
        return self.size * OTHER_SIZE < self.usual and not _CAPTION.match(self.lines[0].text)

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
    n = next((n for n, each in enumerate(after[:ASIDES]) if not each.is_aside()), None)
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
        raw = "\n\n".join("\n".join(line.text for line in each.lines) for each in ordered)
        raw_pages.append(raw + ("\n\n" if rest is None else "\n"))
    raw_text = PAGE_BREAK.join(raw_pages)
    words = Counter(re.findall(r"\w+(?:-\w+)*", raw_text.lower()))
    whole = _dehyphenated(raw_text, words).split(PAGE_BREAK)
    gaps = [page[len(page.rstrip("\n ")) :] for page in ("", *whole)]
    return joined(zip(gaps, map(cleaned, whole), strict=False))


def _paragraphs(lines: Lines, usual: float) -> list[Paragraph]:
    pitch, found = _pitch(lines), [[line] for line in lines[:1]]
    for before, previous, line in zip([*lines[:1], *lines], lines, lines[1:], strict=False):
        if _starts_paragraph(before, previous, line, pitch):
            found.append([])
        found[-1].append(line)
    return [Paragraph(each, usual) for each in found]


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
    if step > PARAGRAPH_GAP * pitch:
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


def _dehyphenated(text: str, words: Counter[str]) -> str:
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
