"""Extracts the text of a PDF, with the page of every character.

pdfium measures the lines. This module rejoins hyphenated words, the lines of a paragraph, columns,
and paragraphs separated by space, and drops repeated headers and footers. Distances are in points.
Run it only in `sandbox`: pdfium is C++ code, and crafted files have crashed it.
"""

import ctypes
import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import pypdfium2
from pypdfium2 import raw

from pincite.documents.body import Body
from pincite.documents.text import cleaned, one_line
from pincite.text.page_numbers import LABELS, PAGES
from pincite.types import Document, Reason, Unchecked

# Default titles of word processors.
_NO_TITLE = re.compile(
    r"microsoft (word|powerpoint)\b|untitled|.*\.(docx?|indd|qxd|pdf|tex|dvi|rtf|odt)$|\W*$",
    re.IGNORECASE,
)


class Line(NamedTuple):
    """A line or part of a line as measured by pdfium; heights are from the lower edge."""

    text: str
    first_baseline: float
    last_baseline: float
    left: float
    right: float
    size: float


def read_pdf(body: Body) -> Document | Unchecked:
    url, limits = body.url, body.limits
    try:
        pdf = pypdfium2.PdfDocument(body.data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            return Unchecked(url, Reason.ENCRYPTED, "the PDF is password-protected")
        return Unchecked(url, Reason.UNDECODABLE, f"not a readable PDF: {error}")
    pages, n_chars = list[Sequence[Line]](), 0
    for number in range(len(pdf)):
        lines = _lines_of_page(pdf, number)
        n_chars += sum(len(piece.text) for line in lines for piece in line)
        if n_chars > limits.max_chars:
            detail = f"the PDF has more than {limits.max_chars} characters of text"
            return Unchecked(url, Reason.TOO_LARGE, detail)
        pages.append(in_columns(lines))
    text, starts = running_text(pages)
    if not text:
        return Unchecked(url, Reason.EMPTY, f"no text layer in {len(starts)} pages: a scan?")
    # Use the printed labels, unless two pages share one or the labels just count the pages.
    labels = [one_line(pdf.get_page_label(number)) for number in range(len(pdf))]
    counted = [str(number) for number in range(1, len(labels) + 1)]
    is_labelled = all(labels) and len(set(labels)) == len(labels) and labels != counted
    info = pdf.get_metadata_dict()
    title = one_line(info.get("Title"))
    # The creation date of the file is not the publication date.
    created = re.match(r"(?:D:)?(\d{4})(\d\d)(\d\d)", info.get("CreationDate") or "")
    meta = {
        PAGES: json.dumps(starts),
        LABELS: json.dumps(labels) if is_labelled else "",
        "author": one_line(info.get("Author")),
        "created": "-".join(created.groups()) if created else "",
    }
    return Document(
        url=url,
        title="" if _NO_TITLE.match(title) else title,
        text=text,
        kind="pdf",
        fetched=body.fetched,
        meta={name: value for name, value in meta.items() if value},
    )


# ── Lines as pdfium measures them ─────────────────────────────────────────────────────────────────

JOINED = 2  # pdfium's code for a hyphen at a line end, when it continues with the next line
# In multiples of the font size. Word spaces are 0.25, up to 1 in justified lines; column gaps are 1
# or more. `in_columns` rejoins false cuts.
GAP = 0.9
FEW_LINES, SAMPLED = 12, 4  # on pages with more lines, every fourth is sampled first
_POWER = re.compile(
    r"(?<![\d.,])(10|(?<![A-Za-z])(?:[cdkm]?m|km|s|kg)) ?([-\u2212\u2013]?\d{1,3})(?!\d)"
)
_SUPERSCRIPT = str.maketrans("0123456789-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻")


def _lines_of_page(document: Any, number: int) -> list[list[Line]]:
    """The lines of a page in file order; empty if the page cannot be read.

    Each line is a list of pieces, cut at possible column gaps.
    """
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return []
    codes = _codes(text_page)
    ends = [i for i, code in enumerate(codes) if code == 10]
    bounds = list(zip([0, *(end + 1 for end in ends)], [*ends, len(codes)], strict=True))
    seen = [[i for i in range(*line) if codes[i] > 32] for line in bounds]
    # Checking every gap doubles the run time, so a sample decides whether the page has wide gaps.
    sample = seen if len(seen) <= FEW_LINES else seen[1::SAMPLED]
    cut = any(_cuts(text_page, codes, each) for each in sample)
    lines = [
        _pieces(text_page, codes, line, each, _cuts(text_page, codes, each) if cut else [])
        for line, each in zip(bounds, seen, strict=True)
        if each
    ]
    text_page.close()
    page.close()
    return lines


def _codes(text_page: Any) -> list[int]:
    """The character codes of a page; fetched one by one only if the counts disagree."""
    n_chars = text_page.count_chars()
    buffer = (ctypes.c_ushort * (2 * n_chars + 2))()
    n_written = raw.FPDFText_GetText(text_page, 0, n_chars, buffer)
    codes = buffer[: max(n_written - 1, 0)]
    if len(codes) != n_chars or any(0xD800 <= code < 0xE000 for code in codes):
        return [raw.FPDFText_GetUnicode(text_page, i) for i in range(n_chars)]
    return [JOINED if code == 0xFFFE else code for code in codes]


def _cuts(text_page: Any, codes: list[int], seen: list[int]) -> list[int]:
    """Indices at which to cut a line: after a wide gap, or where the height changes."""
    if not seen:
        return []
    cuts, size = list[int](), raw.FPDFText_GetFontSize(text_page, seen[0])
    x, y = ctypes.c_double(), ctypes.c_double()
    for before, after in pairwise(seen):
        if after == before + 1 and codes[before] != JOINED:
            continue
        raw.FPDFText_GetCharOrigin(text_page, before, x, y)
        left, baseline = x.value, y.value
        raw.FPDFText_GetCharOrigin(text_page, after, x, y)
        if abs(y.value - baseline) > 0.7 * size or (
            x.value - left > GAP * size
            and x.value - _right(text_page, before) > GAP * size  # costly, and seldom needed
        ):
            cuts.append(after)
    return cuts


def _pieces(
    text_page: Any, codes: list[int], line: tuple[int, int], seen: list[int], cuts: list[int]
) -> list[Line]:
    """Split a line at `cuts`; the pieces' texts concatenate to the line."""
    found = list[Line]()
    for first, last in pairwise((line[0], *cuts, line[1])):
        inside = seen[bisect_left(seen, first) : bisect_left(seen, last)]
        left, first_baseline = _origin(text_page, inside[0])
        right, last_baseline = _origin(text_page, inside[-1])
        size = raw.FPDFText_GetFontSize(text_page, inside[0])
        text = "".join(chr(c) for c in codes[first:last] if 0 < c < 0x110000 and c != 13)
        if _POWER.search(text) and (raised := _exponents(text_page, codes, first, last)):
            text = "".join(
                raised.get(i, chr(codes[i]))
                for i in range(first, last)
                if 0 < codes[i] < 0x110000 and codes[i] != 13
            )
        # pdfium counts a surrogate pair as two characters; join them.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        found.append(Line(text, first_baseline, last_baseline, left, right, size))
    return found


def _right(text_page: Any, index: int) -> float:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top)
    return right.value


def _exponents(text_page: Any, codes: list[int], start: int, end: int) -> dict[int, str]:
    """Map positions of raised digits after a ten or a unit to exponents.

    A raised number after any other word is a footnote mark.
    """
    text = "".join(chr(code) if code < 0xFFFF else "\ufffd" for code in codes[start:end])
    found = dict[int, str]()
    for match in _POWER.finditer(text):
        base, digits = start + match.end(1) - 1, range(start + match.start(2), start + match.end(2))
        height = _origin(text_page, digits[-1])[1] - _origin(text_page, base)[1]
        if 0.1 * raw.FPDFText_GetFontSize(text_page, base) < height:
            found |= dict.fromkeys(range(base + 1, digits[0]), "")
            found |= {i: chr(codes[i]).translate(_SUPERSCRIPT) for i in digits}
    return found


def _origin(text_page: Any, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text_page, index, x, y)
    return x.value, y.value


# ── Lines to running text ─────────────────────────────────────────────────────────────────────────

# Ordinary leading varies by rounding and superscripts; a blank line doubles it.
PARAGRAPH_GAP = 1.35  # multiple of the page's usual line distance
HEADING_SIZE = 1.15  # multiple of the neighbouring line's font size
LAST_LINE_WIDTH = 0.8  # share of its neighbour's width: the last line of a paragraph is shorter
SAME_ROW = 0.6  # share of the larger font size: less than any line spacing
INDENT = 8.0  # points; one em at the usual sizes
SAME_COLUMN = 40.0  # points between the left edges of lines in one column
RUNNING_PAGES = 3  # a header repeats at the edge of at least this many pages, and of half of all
HEADER_WORDS = 15
# Columns, in points: edges vary by the letters' side bearings. Columns in papers have 8 to 12 words
# a line, narrow newspaper columns 4; table cells have 1 or 2, or vary in length.
SAME_EDGE, MIN_COLUMN = 3.0, 60.0
COLUMN_ROWS, COLUMN_SHARE = 3, 0.5  # rows cut at the same place, and their share of all cut rows
FULL_LINE, LINE_WORDS = 0.7, 3.5
# Match from word starts only, without backtracking: a word of 100,000 letters took 8 s otherwise.
_HYPHEN = re.compile("(?<!\\w)(\\w++)(?:[\x02\ufffe\xad]\n?|-\n)(?=(\\w+))")
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？…][\"'”’»)\]]*\d{0,3}$")


def in_columns(lines: Sequence[Sequence[Line]]) -> list[Line]:
    """Put a page's lines in reading order, column by column if the file has them row by row.

    Columns are where many lines are cut at the same place and the pieces fill their width as
    running text does, unlike table cells. A line across all columns, such as a heading, ends the
    columns above it.

    Args:
        lines: in file order, each as pieces that may belong to different columns.
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
    """Group the pieces of a line by height; restores a hyphen at the end of a row."""
    rows = [[line[0]]]
    for piece in line[1:]:
        before = rows[-1][-1]
        if abs(piece.first_baseline - before.last_baseline) > 0.5 * before.size:
            rows[-1][-1] = before._replace(text=before.text.replace("\x02", "-"))
            rows.append([])
        rows[-1].append(piece)
    return rows


def _whole(pieces: Sequence[Line]) -> Line:
    first, last = pieces[0], pieces[-1]
    text = "".join(piece.text for piece in pieces)
    return first._replace(text=text, last_baseline=last.last_baseline, right=last.right)


def _lefts_of_columns(lines: Sequence[Sequence[Line]]) -> list[float]:
    """The left edges of all columns but the first; empty for a single column."""
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
    widths = [line.right - line.left for line in column]
    full = sum(width > FULL_LINE * max(widths) for width in widths)
    n_words = sum(len(line.text.split()) for line in column)
    return 2 * full > len(column) and n_words >= LINE_WORDS * len(column)


def running_text(pages: Sequence[Sequence[Line]]) -> tuple[str, list[int]]:
    """Join all pages with blank lines; returns the text and each page's start offset."""
    furniture = _running_lines(pages)
    raw_pages = [_page_text(_without_furniture(page, furniture)) for page in pages]
    words = Counter(re.findall(r"\w+(?:-\w+)*", "\n".join(raw_pages).lower()))
    starts: list[int] = []
    pieces: list[str] = []
    length = 0
    for raw_page in raw_pages:
        page = cleaned(_dehyphenated(raw_page, words))
        separator = "\n\n" if length and page else ""
        starts.append(length + len(separator))
        pieces.append(separator + page)
        length += len(separator) + len(page)
    return "".join(pieces), starts


def _page_text(lines: Sequence[Line]) -> str:
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
    """The line distance within paragraphs; 0 if there are no two consecutive lines.

    Uses the lower quartile, since a page of short paragraphs has as many gaps between them as
    within them. Steps below the line height are notes and superscripts.
    """
    pairs = ((a.last_baseline - b.first_baseline, b.size) for a, b in pairwise(lines))
    steps = sorted(step for step, size in pairs if step > 0.8 * size)
    return steps[len(steps) // 4] if steps else 0.0


def _starts_paragraph(before: Line, previous: Line, line: Line, pitch: float) -> bool:
    """Whether `line` begins a paragraph; `before` is the line before `previous`."""
    step = previous.last_baseline - line.first_baseline
    small, large = sorted((previous.size, line.size))
    if abs(step) < SAME_ROW * large and line.left >= previous.right:
        return False  # the line continues after a superscript
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
    """Join hyphenated words, and the lines of a paragraph.

    Keeps the hyphen if the document elsewhere has the word with a hyphen and never without.
    """

    def joined(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        if match[0].endswith("-\n") and not (second[0].islower() and first[-1].islower()):
            return f"{first}-"
        whole, hyphenated = f"{first}{second}".lower(), f"{first}-{second}".lower()
        return f"{first}-" if words[hyphenated] and not words[whole] else first

    return re.sub(r"(?<!\n)\n(?!\n)", " ", _HYPHEN.sub(joined, text))


def _running_lines(pages: Sequence[Sequence[Line]]) -> set[str]:
    """Detect headers and footers: page-edge lines that repeat, apart from numbers."""
    edges = Counter(
        shape for page in pages for shape in {_shape(line) for line in [*page[:1], *page[-1:]]}
    )
    return {
        shape for shape, n_pages in edges.items() if n_pages >= max(RUNNING_PAGES, len(pages) / 2)
    }


def _shape(line: Line) -> str:
    """Mask the page number in a short line; rows of figures stay distinct."""
    text = line.text.strip()
    if len(text.split()) > HEADER_WORDS:
        return f"{text} {line}"
    return re.sub(r"\d+", "0", text) if len(re.findall(r"\d+", text)) == 1 else text


def _without_furniture(page: Sequence[Line], furniture: set[str]) -> Sequence[Line]:
    start = 1 if page and _shape(page[0]) in furniture else 0
    end = -1 if len(page) > start and _shape(page[-1]) in furniture else None
    return page[start:end]
