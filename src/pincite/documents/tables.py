"""Turns tables into lines of words, one row a line: "Parish: Holmby; 1990: 4,120; 2000: 4,310".

This is the form of the verifier's training rows, and `pincite.text.tables` reads it. Each line has
its own column headers, and a long table repeats its caption, so that no passage needs another.
Readers of formats give rows of cells; spans are resolved here, units and scales move from headers
and captions to the numbers, and footnote marks are dropped.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any
from urllib.parse import unquote

from pincite.documents.body import Body
from pincite.documents.text import cleaned, decoded, one_line
from pincite.text.quantities import UNITS
from pincite.text.sentences import n_words
from pincite.types import Document, Reason, Unchecked

MAX_COLUMNS, MAX_ROWSPAN = 200, 1_000  # wider tables are matrices of data, not evidence
LINE_WORDS = 40  # rows with more are cut, repeating the row's header (the rules read 45 words)
GROUP_WORDS = 80  # of rows below a caption: together they fill a passage
HEADER_CHARS = 80
MAX_CELLS = 500_000
_MARKS = re.compile(
    r"\s*(?:\[[\da-z]{1,3}\]|\[(?:note|nb|n) ?\d*\]|[*†‡§¶])+\s*\Z|(?<=\d)[¹²³ᵃᵇᶜ]\Z"
)
_NUMBER = re.compile(r"[+−–-]?(?:\d{1,3}(?:[,. \u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d(?:[-–/]\d{2,4})?")
_BLANK = re.compile(r"[-–—.…?]*|n/?a|N/?A")
_DIGIT = re.compile(r"\d")
_CURRENCY = r"US\$|[$€£¥]"
_SCALE = r"thousands?|millions?|billions?|[’']?000s?|1[,.]?000|m|mn|bn|k"
_SCALES = {"m": "million", "mn": "million", "bn": "billion", "k": "thousand"}
# As in "€ m", "in millions of euros", "thousand m³", "% of residents", "km²".
_UNIT = re.compile(
    rf"(?:in |of )?(?:(?P<share>%|per ?cent\b)(?: of .*)?"
    rf"|(?P<sign>{_CURRENCY})? ?(?:(?P<scale>{_SCALE})\b)?"
    r"(?: ?(?:of )?(?P<unit>°?[^\W\d][^(),;]*?))?)\Z",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]{1,40})[)\]]\Z")
_BEHIND = re.compile(r"(?:,|(?<=\w)) (in [^,]{1,40}|%)\Z")
_OTHER_UNITS = frozenset("hl gwh mwh kwh nmi km² m² m³ euro euros dollars pounds crowns".split())
_NOT_COUNTED = re.compile(r"year|date|rank|no\.?|#|month|season|pos\.?|position", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with the columns and rows that it spans."""

    text: str
    columns: int = 1
    rows: int = 1
    header: bool = False


Grid = list[list[Cell]]


def grid_of(rows: Iterable[Sequence[Cell]]) -> Grid:
    """Resolve spans: a cell stands, as the same object, in every place that it covers."""
    grid, below = Grid(), dict[int, tuple[Cell, int]]()  # by column: a cell, and rows to come
    n_cells = 0
    for row in rows:
        line, cells = list[Cell](), list(reversed(row))
        while (cells or len(line) in below) and len(line) < MAX_COLUMNS:
            if (above := below.pop(len(line), None)) is not None:
                cell, left = above
                if left > 1:
                    below[len(line)] = cell, left - 1
                line.append(cell)
                continue
            given = cells.pop()
            text = _MARKS.sub("", one_line(given.text))
            cell = replace(given, text="" if _BLANK.fullmatch(text) else text)
            for _ in range(max(1, min(cell.columns, MAX_COLUMNS - len(line)))):
                if cell.rows > 1:
                    below[len(line)] = cell, min(cell.rows, MAX_ROWSPAN) - 1
                line.append(cell)
        n_cells += len(line)
        if n_cells > MAX_CELLS:
            break
        if any(cell.text for cell in line):
            grid.append(line)
    return grid


def cell_of(element: Any, text: str) -> Cell:
    """Return a cell of HTML or JATS with its spans."""
    sizes = (element.get(name) or "1" for name in ("colspan", "rowspan"))
    columns, rows = (int(size) if size.isdecimal() and len(size) < 6 else 1 for size in sizes)
    header = element.tag.lower() == "th" or element.getparent().getparent().tag.lower() == "thead"
    return Cell(text, columns, rows or 1, header)


def lines_of(grid: Grid, caption: str = "", *, headed: bool = False) -> list[str]:
    """Return the table in words; empty if it is no table of data.

    `headed`: the first row has the headers, as in CSV files.
    """
    width = max(map(len, grid), default=0)
    if width < 2:
        return []
    while len(grid) > 2 and len(grid[0]) == width and len(set(map(id, grid[0]))) == 1:
        caption, grid = caption or grid[0][0].text, grid[1:]  # a title across the table
    n_headers = _n_headers(grid, headed=headed)
    if not n_headers and width == 2 and len(grid) > 1 and all(len(row) == 2 for row in grid):
        return [": ".join(filter(None, (cell.text for cell in row))) for row in grid]
    if not 0 < n_headers < len(grid):
        return []
    headers = [_header(grid[:n_headers], j) for j in range(width)]
    body = grid[n_headers:]
    caption = _MARKS.sub("", one_line(caption))
    units = [_split(header) for header in headers]
    shared = _of_caption(caption) if not any(unit for _, unit in units) else ""
    shown = [[row[j] for row in body if j < len(row)] for j in range(width)]
    columns = [
        (name, unit or (shared if j and _is_counted(name, shown[j]) else ""))
        for j, (name, unit) in enumerate(units)
    ]
    found, section = list[str](), ""
    for n, row in enumerate(body):
        if width > 2 and len(set(map(id, row))) == 1:  # merged across the table
            section = row[0].text if n + 1 < len(body) else ""
            found += [] if section else [row[0].text]
            continue
        if [cell.text for cell in row] != [cell.text for cell in grid[n_headers - 1]]:
            found += _row(row, columns, section)  # not the headers again
    return list(_with_caption(found, caption))


def text_of(grid: Grid, caption: str = "", *, headed: bool = False) -> str:
    """Return the table in words, or its cells as they stand if it is no table of data."""
    lines = lines_of(grid, caption, headed=headed)
    if not lines:
        rows = ([cell for cell, _ in groupby(row)] for row in grid)
        lines = [" | ".join(cell.text for cell in row if cell.text) for row in rows]
    return "\n".join(filter(None, lines))


def _n_headers(grid: Grid, *, headed: bool) -> int:
    """Return how many rows at the top have the headers of columns."""
    n = 0
    while n < len(grid) and all(cell.header or not cell.text for cell in grid[n]):
        n += 1
    if n or len(grid) < 2:
        return n if n < len(grid) else min(n, 1)
    first, rest = grid[0], grid[1:]
    texts = [cell.text for cell in first]
    if any(_NUMBER.fullmatch(text) and not _YEAR.fullmatch(text) for text in texts):
        return 0
    counted = [
        j
        for j in range(1, len(first))
        if 2 * sum(j < len(row) and bool(_DIGIT.search(row[j].text)) for row in rest) > len(rest)
        and (not _DIGIT.search(texts[j]) or len(first) > 2)
    ]
    if not counted and not (headed or len(first) > 2):
        return 0
    merged = any(one is other and one.text for one, other in pairwise(first))
    tall = max(cell.rows for cell in first)
    return min(max(tall, 2 if merged else 1), len(grid) - 1)


def _header(rows: Grid, column: int) -> str:
    texts = dict.fromkeys(row[column].text for row in rows if column < len(row))
    header = ", ".join(filter(None, texts)).replace(":", "").replace(";", ",")
    return header if len(header) <= HEADER_CHARS else f"{header[: HEADER_CHARS - 1]}…"


def _split(header: str) -> tuple[str, str]:
    """Split a header into its words and its unit: "Length (m)" is "Length" and "m"."""
    found = _IN_BRACKETS.search(header) or _BEHIND.search(header)
    unit = _unit(found[1]) if found else ""
    if not unit and header.strip() == "%":
        return "Share", "%"
    return (header[: found.start()].rstrip(" ,"), unit) if found and unit else (header, "")


def _of_caption(caption: str) -> str:
    """Return the unit that a caption gives to all numbers: "… (in thousands)"."""
    found = _IN_BRACKETS.search(caption) or _BEHIND.search(f"{caption}")
    found = found or re.search(r"\b(in (?:\S+ )?\S+)\Z", caption)
    return _unit(found[1]) if found else ""


def _unit(text: str) -> str:
    """Return how a unit is written behind a number; "€…" begins with the sign; empty if unknown."""
    match = _UNIT.match(text.strip())
    if match is None:
        return ""
    if match["share"]:
        return "%"
    sign, unit = match["sign"] or "", (match["unit"] or "").strip()
    scale = (match["scale"] or "").lower().rstrip("s")
    if scale == "m" and not sign:
        scale, unit = "", unit or "m"
    scale = "thousand" if "000" in scale else _SCALES.get(scale, scale)
    last = unit.lower().split()[-1:] or [""]
    known = not unit or scale or last[0] in UNITS or unit in UNITS or last[0] in _OTHER_UNITS
    return " ".join(filter(None, (f"{sign}…", scale, unit))) if known and match[0] else ""


def _is_counted(header: str, cells: Sequence[Cell]) -> bool:
    numbers = [cell.text for cell in cells if cell.text]
    counts = all(_NUMBER.fullmatch(text) for text in numbers)
    years = all(_YEAR.fullmatch(text) for text in numbers)
    return counts and not years and not _NOT_COUNTED.fullmatch(header)


def _with_unit(text: str, unit: str) -> str:
    if not unit or not _NUMBER.fullmatch(text):
        return text
    if unit == "%":
        return f"{text} %"
    sign, _, rest = unit.partition("…")
    return f"{sign}{text}{rest}"


def _row(row: Sequence[Cell], columns: Sequence[tuple[str, str]], section: str) -> list[str]:
    """Write a row; a wide one as several lines, which all begin with its first cell."""
    cells, last = [section] if section else [], Cell("")
    for j, cell in enumerate(row):
        name, unit = columns[j]
        if cell.text and cell is not last:
            text = _with_unit(cell.text, unit).replace("; ", ", ")
            cells.append(f"{name}: {text}" if name else text)
        last = cell
    lines, lead = [cells[:1]], cells[:1]
    for written in cells[1:]:
        if len(lines[-1]) > 1 and n_words(" ".join([*lines[-1], written])) > LINE_WORDS:
            lines.append(list(lead))
        lines[-1].append(written)
    return ["; ".join(line) for line in lines if line]


def _with_caption(lines: Iterable[str], caption: str) -> Iterator[str]:
    n = GROUP_WORDS
    for line in lines:
        if caption and n >= GROUP_WORDS:
            yield caption
            n = 0
        n += len(line.split())
        yield line


# ── Files that are tables ────────────────────────────────────────────────────────────────────────

_DELIMITERS = ",;\t|"
_SPLIT_AT = 50  # lines that show the delimiter


def read_csv(body: Body) -> Document | Unchecked:
    """Read a file of comma-, semicolon- or tab-separated values."""
    text = decoded(body.data, body.charset)
    if text is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are not text in any encoding")
    lines = text.replace("\0", "").splitlines()
    counts = {sign: [line.count(sign) for line in lines[:_SPLIT_AT]] for sign in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda sign: sum(n > 0 for n in counts[sign]))
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, strict=False))
    except csv.Error as error:
        return Unchecked(body.url, Reason.UNDECODABLE, f"not readable as CSV: {error}")
    return _document(body, "csv", [_of_sheet(rows)])


def read_sheets(body: Body) -> Document | Unchecked:
    """Read a spreadsheet of Excel (.xlsx) or OpenDocument (.ods): what its cells show last."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        with CalamineWorkbook.from_filelike(io.BytesIO(body.data)) as book:
            blocks = list[str]()
            for sheet in book.sheets_metadata:
                if "Visible" not in repr(sheet.visible) or "WorkSheet" not in repr(sheet.typ):
                    continue
                opened = book.get_sheet_by_name(sheet.name)
                rows = [[_shown(value) for value in row] for row in opened.to_python()]
                plain = re.fullmatch(r"\w+ ?\d+", sheet.name)
                spans = dict(opened.merged_cell_ranges or ())
                blocks += [] if plain else [sheet.name]
                blocks.append(_of_sheet(rows, spans, opened.start or (0, 0)))
    except CalamineError as error:
        return Unchecked(body.url, Reason.UNDECODABLE, f"not a readable spreadsheet: {error}")
    return _document(body, "spreadsheet", blocks)


def _shown(value: object) -> str:
    """Write a cell's value; numbers as readers write them, years without a comma."""
    if isinstance(value, float):
        value = int(value) if value.is_integer() else round(value, 6)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return f"{value:,}" if isinstance(value, float) and abs(value) >= 10_000 else str(value)


def _of_sheet(
    rows: Sequence[Sequence[str]],
    spans: dict[tuple[int, int], tuple[int, int]] | None = None,
    start: tuple[int, int] = (0, 0),
) -> str:
    """Write the tables of a sheet, which blank rows separate, with the lines above and below."""
    found = list[str]()
    numbered = enumerate(rows)
    for filled, group in groupby(numbered, key=lambda each: any(map(str.strip, each[1]))):
        block = [(n, [c.strip() for c in row]) for n, row in group] if filled else []
        above = list[str]()
        while block and sum(map(bool, block[0][1])) == 1:
            above.append("".join(block.pop(0)[1]))
        below = list[str]()
        while block and sum(map(bool, block[-1][1])) == 1 and len(block[-1][1]) > 1:
            below.insert(0, "".join(block.pop()[1]))
        caption = above.pop() if above and block else ""
        grid = grid_of(_merged(block, spans or {}, start))
        found += [*above, text_of(grid, caption, headed=True) or caption, *below, ""]
    return "\n".join(found)


def _merged(
    block: Iterable[tuple[int, Sequence[str]]],
    spans: dict[tuple[int, int], tuple[int, int]],
    start: tuple[int, int],
) -> Iterator[list[Cell]]:
    covered = set[tuple[int, int]]()
    for n, row in block:
        cells = list[Cell]()
        for j, text in enumerate(row):
            place = (n + start[0], j + start[1])
            if place in covered:
                continue
            last = spans.get(place, place)
            high, wide = last[0] - place[0] + 1, last[1] - place[1] + 1
            if (high, wide) != (1, 1) and high * wide <= MAX_COLUMNS * MAX_ROWSPAN:
                covered |= {(place[0] + a, place[1] + b) for a in range(high) for b in range(wide)}
            cells.append(Cell(text, wide, high))
        yield cells


def _document(body: Body, kind: str, blocks: Sequence[str]) -> Document | Unchecked:
    text = cleaned("\n\n".join(block for block in blocks if block.strip()))
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the file contains no words")
    first = text.split("\n", 1)[0]
    title = first if kind == "spreadsheet" and ": " not in first else ""
    if kind == "csv":  # nothing but the file's name says what it is about
        name = unquote(body.url.rsplit("/", 1)[-1].partition("?")[0]).partition(".")[0]
        title = one_line(re.sub(r"[-_+]", " ", name))
    return Document(url=body.url, title=title, text=text, kind=kind, fetched=body.fetched)


# ── Tables in wikitext ───────────────────────────────────────────────────────────────────────────

_WIKI_TABLE = re.compile(r"^[ :]*\{\|[^\n]*\n(.*?)^\s*\|\}", re.DOTALL | re.MULTILINE)
_ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*["']?([\w%.# -]*)["']?""")
_WIKI_MARKS = re.compile(r"<ref[^>/]*/>|<ref.*?</ref>|<[^<>]*>|'{2,}|\[\[(?:[^|\]]*\|)?|\]\]", re.S)


def read_wikitext(body: Body) -> Document | Unchecked:
    """Read wikitext as it stands, with the rows of its tables in words."""
    source = decoded(body.data, body.charset)
    if source is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are not text in any encoding")
    text = _WIKI_TABLE.sub(lambda table: f"\n{_wikitext(table[1])}\n", source)
    return _document(body, "text", [text])


def _wikitext(inner: str) -> str:
    caption, rows = "", [list[Cell]()]
    for line in _WIKI_MARKS.sub("", inner).split("\n"):
        if line.startswith("|+"):
            caption = line[2:].rpartition("|")[2]
        elif line.startswith("|-"):
            rows.append([])
        elif line[:1] in ("|", "!"):
            for cell in re.split(r"\|\||!!" if line[0] == "!" else r"\|\|", line[1:]):
                attributes, bar, text = cell.partition("|")
                stated = dict(_ATTRIBUTE.findall(attributes)) if bar else {}
                sizes = (stated.get(name, "1") for name in ("colspan", "rowspan"))
                wide, high = (int(n) if n.isdecimal() else 1 for n in sizes)
                rows[-1].append(Cell(text if bar else cell, wide, high, line[0] == "!"))
        elif rows[-1] and line.strip():
            rows[-1][-1] = replace(rows[-1][-1], text=f"{rows[-1][-1].text} {line}")
    return text_of(grid_of(row for row in rows if row), caption)
