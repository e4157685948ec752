"""Finds the rows and columns that a claim names, in tables written in words.

`pincite.documents.tables` writes a row as "Parish: Holmby; 1990: 4,120; 2000: 4,310". A network
that reads ten such rows takes any number of any row for the claim's. People look up the row and the
column, and so does this module.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from pincite.text.words import roots
from pincite.types import Span

MAX_ROWS = 5_000  # of a text
_HEADER_CHARS = 80
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:-\d{2,4})?")
_NUMERIC = re.compile(
    r"[^\w]*\d[\d.,\s]*\W*(?:(?:thousand|million|billion)\b)?\s?\S{0,12}(?:\s\S{1,12})?"
)
_FIGURE = re.compile(r"\d+(?:-\d+)?")
_TOTAL = re.compile(r"(?:grand |sub)?totals?\b|all\b|sum\b|overall\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its column header, empty for what opens a row, and its value with its position."""

    header: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table, and the line above the table."""

    span: Span
    line: str
    cells: tuple[Cell, ...]
    caption: str = ""

    @property
    def is_total(self) -> bool:
        return any(_TOTAL.match(cell.text) for cell in self.cells[:2])

    def text(self, header: str) -> str:
        """Return the value in a column; empty if the row has none."""
        return next((cell.text for cell in self.cells if cell.header == header), "")


def is_row(line: str) -> bool:
    """Whether a line is a row of a table.

    >>> is_row("Parish: Holmby; 1990: 4,120"), is_row("Its aim: peace; nothing else.")
    (True, False)
    """
    return bool(_cells(line, 0))


@lru_cache(maxsize=64)
def rows_of(text: str) -> tuple[Row, ...]:
    """Return the rows of all tables of a text, in order."""
    found, start, caption = list[Row](), 0, ""
    for line in text.split("\n") if "; " in text else ():
        if cells := _cells(line, start):
            found.append(Row(Span(start, start + len(line)), line, cells, caption))
        elif line:
            caption = line
        start += len(line) + 1
        if len(found) > MAX_ROWS:
            return ()
    return tuple(found)


def _cells(line: str, start: int) -> tuple[Cell, ...]:
    cells, n_headed = list[Cell](), 0
    parts = line.split("; ")
    for part in parts if len(parts) > 1 else ():
        header, colon, text = part.partition(": ")
        if (not colon and n_headed) or len(header) > _HEADER_CHARS or not part:
            return ()
        n_headed += bool(colon)
        value = text if colon else part
        at = start + len(part) - len(value)
        cells.append(Cell(header if colon else "", value, Span(at, at + len(value))))
        start += len(part) + len("; ")
    return tuple(cells) if n_headed else ()


@dataclass(frozen=True, slots=True)
class Named:
    """The rows of a table that a claim names, and all of its rows."""

    rows: tuple[Row, ...]
    table: tuple[Row, ...]
    columns: tuple[str, ...]  # headers of those whose values name the rows

    def matched(self, row: Row, claim: str) -> list[Cell]:
        """Return the cells of a row whose column the claim names, wholly rather than in part."""
        words, figures = set(roots(claim)), _figures(claim)
        found = [
            (cell, set(roots(cell.header)))
            for cell in row.cells
            if cell.header not in ("", *self.columns) and _is_named(cell.header, words, figures)
        ]
        whole = [mine for _, mine in found if mine <= words]
        return [
            cell
            for cell, mine in found
            if mine <= words or not any(mine & words <= other for other in whole)
        ]


@lru_cache(maxsize=256)
def named(claim: str, text: str) -> tuple[Named, ...]:
    """Return the tables of a text of which a claim names some but not all rows.

    The column with the most different values names the rows, others narrow them down. A year names
    a row only if the claim does not name its column: "opened in 1931" is a value.
    """
    words, figures = set(roots(claim)), _figures(claim)
    found = list[Named]()
    for _, group in groupby(rows_of(text), key=lambda row: (row.cells[0].header, row.caption)):
        table = tuple(group)
        chosen, columns = set[int](), list[str]()
        for header in _naming(table, words, figures):
            rows = {n for n, row in enumerate(table) if _is_in(row.text(header), words, figures)}
            if chosen and not chosen & rows:
                texts = {table[n].text(header) for n in rows}
                if any(table[n].text(columns[0]) in texts for n in chosen):
                    chosen |= rows  # a team may be host or guest
            elif not chosen or chosen - rows:
                chosen = chosen & rows or rows
                columns += [header] if rows else []
        if chosen and len(chosen) < len(table):
            rows_named = tuple(table[n] for n in sorted(chosen))
            found.append(Named(rows_named, table, tuple(columns)))
    return tuple(found)


def narrowed(claim: str, passage: str, page: str = "") -> str:
    r"""Drop the rows of a passage that the claim does not name, if it names some of their table.

    >>> narrowed("Gull Head is high.", "Tower: Gull Head; Metres: 31\nTower: Ebba; Metres: 9")
    'Tower: Gull Head; Metres: 31'
    """
    tables = named(claim, page or passage)
    if not tables:
        return passage
    kept = {row.line for each in tables for row in each.rows}
    left_out = {row.line for each in tables for row in each.table} - kept
    left = [line for line in passage.split("\n") if line not in left_out]
    return "\n".join(left).strip() or (tables[0].rows[0].caption or passage)


def _naming(table: Sequence[Row], words: set[str], figures: set[str]) -> list[str]:
    """Return the columns that may name rows: those of words first, the most various first."""
    order = list[tuple[bool, int, int, str]]()
    headers = dict.fromkeys(cell.header for row in table for cell in row.cells)
    for n, header in enumerate(headers):
        texts = [text for row in table if (text := row.text(header))]
        years = all(_YEAR.fullmatch(_dashed(text)) for text in texts)
        if years and _is_named(header, words, figures):
            continue
        if years or 2 * sum(map(is_number, texts)) < len(texts):
            order.append((years, -len(set(texts)), n, header))
    return [header for *_, header in sorted(order)]


def is_number(text: str) -> bool:
    return _NUMERIC.fullmatch(text) is not None


def _is_in(value: str, words: set[str], figures: set[str]) -> bool:
    mine, numbers = set(roots(value)), _figures(value)
    return bool(mine or numbers) and mine <= words and numbers <= figures


def _is_named(header: str, words: set[str], figures: set[str]) -> bool:
    mine, numbers = set(roots(header)), _figures(header)
    return numbers <= figures and bool(mine & words or numbers)


def _figures(text: str) -> set[str]:
    return set(_FIGURE.findall(_dashed(text).replace(",", "")))


def _dashed(text: str) -> str:
    return text.replace("–", "-").replace("/", "-")
