"""Turns tables into lines of words, one row a line: "Parish: Holmby; 1990: 4,120; 2000: 4,310".

This is the form of the verifier's training rows, and `pincite.text.tables` reads it. Each line has
its own column headers, and a long table repeats its caption, so that no passage needs another.
Readers of formats give rows of cells; units and scales move from headers to the numbers here.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise, zip_longest
from typing import Any
from urllib.parse import unquote

from lxml import html

from pincite.documents.body import Body
from pincite.documents.plain import document_of
from pincite.documents.text import decode, detect, one_line
from pincite.text.quantities import UNITS
from pincite.text.sentences import n_words
from pincite.text.tables import HEADER_CHARS
from pincite.types import Document, Reason, Unchecked

MAX_COLUMNS, MAX_ROWSPAN = 200, 1_000  # wider tables are matrices of data, not evidence
MAX_CELL_CHARS = 400  # tables with longer cells lay out a page
MAX_ROWS = 10_000  # of a table with merged cells
LINE_WORDS = 40  # rows with more are cut, repeating the row's header
GROUP_WORDS = 80  # of rows below a caption: together they fill a passage
_MARKS = re.compile(  # of footnotes
    r"\s*(?:\[[\da-z]{1,3}\]|\[(?:note|nb|n) ?\d*\]|[*†‡§¶])+\s*\Z|(?<=\d)[¹²³ᵃᵇᶜ]\Z"
)
_BLANK = re.compile(r"[-–—.…?]*|n/?a|N/?A")
_NUMBER = re.compile(r"[+−–-]?(?:\d{1,3}(?:[,. \u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d(?:[-–/]\d{2,4})?")
_DIGIT = re.compile(r"\d")
_UNCOUNTED = re.compile(r"year|date|rank|no\.?|#|month|season|pos\.?|position", re.IGNORECASE)
# As in "Sales (€ m)", "Sales, in millions of euros", "Turnout (% of residents)", "Area (km²)".
_AT_END = re.compile(r"(.*?)\s*[(\[]([^()\[\]]{1,40})[)\]]|(.*\w)?,? ?(\bin (?:[^,]|,\d){1,40}|%)")
_UNIT = re.compile(
    r"(?:in |of )?(US\$|[$€£¥])? ?(?:(thousand|million|billion|[’']?000|1[,.]?000|mn|bn|k"
    r"|(?<=[$€£¥])m|(?<=[$€£¥] )m)s?\b)?(?: ?(?:of )?(°?[^\W\d].*))?|(%|per ?cent\b).*",
    re.IGNORECASE,
)
# "In m" is in millions in a table of money, else in metres.
_IN_M, _MONEY = re.compile(r"(.*\w),? \(?in m\)?"), re.compile(r"[$€£¥]|\b(?:EUR|USD|GBP|CHF)\b")
# A comma that no three digits follow, or that follows a point, is a decimal one; so are all others
# of its table, unless a number is written the English way.
_DECIMAL_COMMA = re.compile(r"[+−–-]?(?:\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:[. ]\d{3})+,\d+)")
_DECIMAL_POINT = re.compile(r"[+−–-]?(?:\d+\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3})+(?:\.\d+)?)")
_SCALES = {"m": "million", "mn": "million", "bn": "billion", "k": "thousand"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with the columns and rows that it spans; `above`: it continues the one above it."""

    text: str
    columns: int = 1
    rows: int = 1
    header: bool = False
    above: bool = False

    def __post_init__(self) -> None:
        text = _MARKS.sub("", one_line(self.text))
        object.__setattr__(self, "text", "" if _BLANK.fullmatch(text) else text)


Grid = list[list[Cell]]


def span_of(stated: str | None) -> int:
    """Return the number of columns or rows that a cell states; 1 if it states none."""
    return int(stated) if stated and stated.isdecimal() and len(stated) < 6 else 1


def cell_of(element: Any, text: str) -> Cell:
    columns, rows = (span_of(element.get(name)) for name in ("colspan", "rowspan"))
    header = element.tag.lower() == "th" or element.getparent().getparent().tag.lower() == "thead"
    return Cell(text, columns, rows, header)


def grid_of(rows: Iterable[Sequence[Cell]]) -> Grid:
    """Resolve spans: a cell stands, as the same object, in every place that it covers."""
    grid, below = Grid(), dict[int, list[Cell]]()
    for row in islice(rows, MAX_ROWS):
        line, cells = list[Cell](), iter(row)
        while (at := len(line)) < MAX_COLUMNS:
            if below.get(at):
                line.append(below[at].pop())
            elif cell := next(cells, None):
                if cell.above and grid and at < len(grid[-1]):
                    cell = grid[-1][at]
                for place in range(at, min(at + max(1, cell.columns), MAX_COLUMNS)):
                    below[place] = [cell] * (min(cell.rows, MAX_ROWSPAN) - 1)
                    line.append(cell)
            else:
                break
        grid += [line] if any(cell.text for cell in line) else []
    return grid


def lines_of(grid: Grid, caption: str = "", *, headed: bool = False) -> list[str]:
    """Return the table in words, or its cells as they stand; `headed`: the first row is a head."""
    width = max(map(len, grid), default=0)
    titles = list(filter(None, [_MARKS.sub("", one_line(caption))]))
    while len(grid) > 2 and len(grid[0]) == width and _is_merged(grid[0]):
        titles.append(grid[0][0].text)
        grid = grid[1:]
    n = _n_headers(grid, headed=headed) if width > 1 else 0
    if not 0 < n < len(grid):
        joint = ": " if {len(row) for row in grid} == {2} and len(grid) > 1 and not n else " | "
        rows = ([cell.text for cell, _ in groupby(row) if cell.text] for row in grid)
        return [*titles, *filter(None, map(joint.join, rows))]
    headers = [
        ", ".join(dict.fromkeys(row[j].text for row in grid[:n] if j < len(row) and row[j].text))
        for j in range(width)
    ]
    is_money = any(map(_MONEY.search, [*titles, *headers]))
    columns = [_split_unit(re.sub(":|;", "", text)[:HEADER_CHARS], is_money) for text in headers]
    if titles and not any(unit for _, unit in columns):
        unit, below = _split_unit(titles[-1])[1], zip_longest(*grid[n:], fillvalue=Cell(""))
        years = [all(_YEAR.fullmatch(cell.text) for cell in column) for column in below]
        columns = [
            (name, "" if not j or is_year or _UNCOUNTED.fullmatch(name) else unit)
            for j, ((name, _), is_year) in enumerate(zip(columns, years, strict=False))
        ]
    text_lines, section, n_below = titles[:-1], "", GROUP_WORDS
    for row, after in zip_longest(grid[n:], grid[n + 1 :]):
        if titles and n_below >= GROUP_WORDS:
            text_lines.append(titles[-1])
            n_below = 0
        if _is_merged(row) and (width > 2 or after is None):
            section = row[0].text if after and not _is_merged(after) else ""
            text_lines += [] if section else [row[0].text]
        else:
            lines = list(_row(row, columns, section))
            text_lines += lines
            n_below += n_words(" ".join(lines))
    return text_lines


def _is_merged(row: Sequence[Cell]) -> bool:
    return len(set(map(id, row))) == 1


def _n_headers(grid: Grid, *, headed: bool) -> int:
    """Return how many rows at the top have the headers of columns."""
    marked = [all(cell.header or not cell.text for cell in row) for row in grid]
    if any(marked[:1]) or len(grid) < 2:
        return marked.index(False) if False in marked else 0
    texts = [cell.text for cell in grid[0]]
    if any(_NUMBER.fullmatch(text) and not _YEAR.fullmatch(text) for text in texts):
        return 0
    if not headed and len(texts) < 3:  # names and values, or a header above numbers
        numbers = sum(bool(_DIGIT.search(row[-1].text)) for row in grid[1:])
        if _DIGIT.search(texts[-1]) or 2 * numbers < len(grid):
            return 0
    n = 1 + any(one is other and one.text for one, other in pairwise(grid[0]))
    while n < len(grid) and not {*map(id, grid[n - 1])}.isdisjoint(map(id, grid[n])):
        n += 1
    return min(n, len(grid) - 1)


def _split_unit(header: str, is_money: bool = False) -> tuple[str, str]:
    """Split "Length (m)" into "Length" and "… m", as a number is written; "": no known unit."""
    if is_money and (in_m := _IN_M.fullmatch(header)):
        return in_m[1], "… million"
    ending = _AT_END.fullmatch(header)
    match = _UNIT.fullmatch(ending[2] or ending[4]) if ending else None
    if not ending or not match:
        return header, ""
    sign, scale, unit, share = (part or "" for part in match.groups())
    scale = "thousand" if "000" in scale else _SCALES.get(scale, scale).lower()
    if not (sign or scale or share or {unit, unit.lower().rpartition(" ")[2]} & UNITS.keys()):
        return header, ""
    shown = " ".join(filter(None, (f"{sign}…", scale, unit, share and "%")))
    return (ending[1] or ending[3] or "Share").rstrip(","), shown


def _row(row: Sequence[Cell], columns: Sequence[tuple[str, str]], section: str) -> Iterator[str]:
    """Write a row; a wide one as several lines, which all begin with its first cell."""
    cells, last = [section] if section else [], None
    of_row = _split_unit(row[0].text)[1] if row else ""  # "Fare income (£ million)"
    for cell, (name, of_column) in zip(row, columns, strict=False):
        if cell.text and cell is not last:
            unit = of_column or ("" if _YEAR.fullmatch(cell.text) else of_row)
            text = unit.replace("…", cell.text) if _NUMBER.fullmatch(cell.text) else ""
            cells.append(f"{name}: {text or cell.text.replace('; ', ', ')}".removeprefix(": "))
        last = cell
    line = cells[:1]
    for written in cells[1:]:
        if len(line) > 1 and n_words(" ".join([*line, written])) > LINE_WORDS:
            yield "; ".join(line)
            line = cells[:1]
        line.append(written)
    yield "; ".join(line)


# ── Files that are tables ────────────────────────────────────────────────────────────────────────


def read_csv(body: Body) -> Document | Unchecked:
    text = decode(body.data, body.charset)
    lines = (text or "").replace("\0", "").splitlines(keepends=True)
    delimiter = max(",;\t|", key=lambda sign: sum(sign in line for line in lines[:50]))
    try:
        rows = _in_english(list(csv.reader(lines, delimiter=delimiter)), text or "")
    except csv.Error as error:
        return Unchecked(body.url, Reason.UNDECODABLE, f"not readable as CSV: {error}")
    title = name_in_words(body.url)
    return document_of(body, "csv", text and of_sheet(rows), {"title": title})


def _in_english(rows: Sequence[Sequence[str]], text: str) -> Grid:
    """Make cells; in a file with decimal commas write numbers as English does: "1,240.5"."""
    numbers = [cell.strip() for row in rows for cell in row if _NUMBER.fullmatch(cell.strip())]
    other = any(map(_DECIMAL_COMMA.fullmatch, numbers)) and detect(text) in (None, "en")
    if not other or any(map(_DECIMAL_POINT.fullmatch, numbers)):
        return [list(map(Cell, row)) for row in rows]

    def written(cell: str) -> str:
        if not _NUMBER.fullmatch(cell.strip()) or _YEAR.fullmatch(cell.strip()):
            return cell
        whole, comma, decimals = re.sub(r"[. \u202f]", "", cell.strip()).partition(",")
        sign, digits = re.fullmatch(r"(\D?)(\d+)", whole).groups()  # type: ignore[union-attr]
        return f"{sign}{int(digits):,}{'.' * bool(comma)}{decimals}"

    return [[Cell(written(cell)) for cell in row] for row in rows]


def name_in_words(url: str) -> str:
    """The title of a file that states none.

    >>> name_in_words("file:///tmp/crime_statistics.csv")
    'crime statistics'
    """
    name = unquote(re.split("[/:]", url)[-1].partition("?")[0]).partition(".")[0]
    return re.sub(r"[-_+]", " ", name)


def of_sheet(rows: Grid) -> str:
    """Write the tables of a sheet, which blank rows separate; lone cells are titles and notes."""
    blocks = groupby(rows, key=lambda row: any(cell.text for cell in row))
    lines = list[str]()
    for grid in (list(block) for filled, block in blocks if filled):
        width = max(map(len, grid))
        stated = ([cell for cell in row if cell.text] for row in grid)
        pairs = zip(stated, grid, strict=True)
        grid = [lone * width if len(lone) == 1 else row for lone, row in pairs]
        lines += [*lines_of(grid, headed=True), ""]
    return "\n".join(lines)


_WIKI_TABLE = re.compile(r"^[ :]*\{\|[^\n]*\n(.*?)^\s*\|\}", re.DOTALL | re.MULTILINE)
_TO_HTML = (
    (r"(?s)<ref[^>/]*/>|<ref.*?</ref>|<[^<>]*>|'{2,}|\[\[(?:[^|\]]*\|)?|\]\]", ""),
    ("<", "&lt;"),
    (r"(?m)^\|\+(?:[^|\n]*\|)?", "<caption>"),
    (r"(?m)^\|-.*", "<tr>"),
    ("(?m)^!|!!", "<th>"),
    (r"(?m)^\||\|\|", "<td>"),
    (r"<(t[hd])>([^|<\n]*=[^|<\n]*)\|", r"<\1 \2>"),
)


def read_wikitext(body: Body) -> Document | Unchecked:
    """Read wikitext as it stands, with the rows of its tables in words."""
    source = decode(body.data, body.charset)
    return document_of(body, "text", source and _WIKI_TABLE.sub(_from_wikitext, source))


def _from_wikitext(match: re.Match[str]) -> str:
    source = match[1]
    for pattern, tag in _TO_HTML:
        source = re.sub(pattern, tag, source)
    table = html.fragment_fromstring(f"<table><tr>{source}</table>")
    elements = (row.iterchildren("td", "th") for row in table.iter("tr"))
    rows = ([cell_of(cell, cell.text_content()) for cell in row] for row in elements)
    lines = lines_of(grid_of(rows), table.xpath("string(.//caption)"))
    return "\n".join(["", *lines, ""])
