"""Looks up what a claim says in tables that are written in words.

`pincite.documents.tables` writes a row as "Parish: Holmby; 1990: 4,120; 2000: 4,310". A network
that reads ten such rows takes any number of any row for the claim's. People look up the row and the
column, add two cells, or look for the largest; so does this module.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from pincite.text import quantities
from pincite.text.figures import ORDINALS
from pincite.text.quantities import Value, states, values
from pincite.text.words import roots

MAX_ROWS = 5_000  # of a text
_HEADER_CHARS = 80
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:-\d{2,4})?")
_NUMERIC = re.compile(
    r"[^\w]*\d[\d.,\s]*\W*(?:(?:thousand|million|billion)\b)?\s?\S{0,12}(?:\s\S{1,12})?"
)
_FIGURE = re.compile(r"\d+(?:-\d+)?")
_DASHED = str.maketrans("–/", "--")
_TOTAL = re.compile(r"(?:grand |sub)?totals?\b|all\b|sum\b|overall\b", re.IGNORECASE)
# With these, a claim's number need not be the one in the cell that it names.
_NOT_OF_ONE = re.compile(
    r"\b(?P<sum>together|combined|both|altogether|in all|in total|sum|total\w*)\b"
    r"|\b(?:averag\w*|overall|between them|differ\w*|additional|another|further|than|half|twice"
    r"|double\w*|triple\w*|per|each|every|by (?=\d)|(?:increase|rise|drop|fall|decrease|loss|gain"
    r"|growth|decline|surplus|lead|majority) of)\b",
    re.IGNORECASE,
)
_PLACED = "|".join(ORDINALS[:10])
_RANK = re.compile(
    rf"\b(?:(?P<nth>{_PLACED})[ -])?(?:(?P<low>smallest|lowest|fewest|least|shortest|driest)"
    r"|largest|biggest|highest|most|greatest|longest|tallest|widest|wettest|heaviest)\b"
    rf"|\b(?:came|finished|ranked|was|is) (?P<place>{_PLACED})\b",
    re.IGNORECASE,
)


class Cell(NamedTuple):
    """A cell: its column header, empty for what opens a row, and its value."""

    header: str
    text: str


class Row(NamedTuple):
    """A line of a table, and the line above the table."""

    line: str
    cells: tuple[Cell, ...]
    caption: str

    @property
    def is_total(self) -> bool:
        return any(_TOTAL.match(cell.text) for cell in self.cells[:2])

    def text(self, header: str) -> str:
        """Return the value in a column; empty if the row has none."""
        return next((cell.text for cell in self.cells if cell.header == header), "")


class Named(NamedTuple):
    """The rows of a table that a claim names, all of its rows, and the columns that name them."""

    claim: str
    rows: tuple[Row, ...]
    table: tuple[Row, ...]
    columns: tuple[str, ...]  # headers

    def matched(self, row: Row) -> list[Cell]:
        """Return the cells of a row whose column the claim names, wholly rather than in part."""
        known = _keys(self.claim)
        found = [
            (cell, _keys(cell.header))
            for cell in row.cells
            if cell.header not in self.columns and _is_named(cell.header, known)
        ]
        whole = [keys for _, keys in found if keys <= known]
        return [
            cell
            for cell, keys in found
            if keys <= known or not any(keys & known <= other for other in whole)
        ]


def cells_of(line: str) -> tuple[Cell, ...]:
    """Return the cells of a row; empty if the line is no row of a table.

    >>> [cell.text for cell in cells_of("Parish: Holmby; 1990: 4,120")]
    ['Holmby', '4,120']
    >>> cells_of("Its aim: peace; nothing else.")
    ()
    """
    cells = list[Cell]()
    for part in line.split("; "):
        header, colon, text = part.partition(": ")
        if not part or len(header) > _HEADER_CHARS or (not colon and cells and cells[-1].header):
            return ()
        cells.append(Cell(header, text) if colon else Cell("", part))
    return tuple(cells) if len(cells) > 1 and cells[-1].header else ()


@lru_cache(maxsize=64)
def rows_of(text: str) -> tuple[Row, ...]:
    """Return the rows of all tables of a text, in order; none if they are more than MAX_ROWS."""
    found, caption = list[Row](), ""
    for line in text.split("\n") if "; " in text else ():
        if cells := cells_of(line):
            found.append(Row(line, cells, caption))
        else:
            caption = line or caption
    return tuple(found) if len(found) <= MAX_ROWS else ()


@lru_cache(maxsize=256)
def named(claim: str, text: str) -> tuple[Named, ...]:
    """Return the tables of a text of which a claim names some but not all rows.

    Columns of words name rows, that with the most different values first; others narrow them down.
    A year names a row only if the claim does not name its column: "opened in 1931" is a value.
    """
    known, found = _keys(claim), list[Named]()
    for _, group in groupby(rows_of(text), key=lambda row: (row.cells[0].header, row.caption)):
        table = tuple(group)
        order = list[tuple[bool, int, str]]()
        for header in dict.fromkeys(cell.header for row in table for cell in row.cells):
            texts = [text for row in table if (text := row.text(header))]
            years = all(_YEAR.fullmatch(text.translate(_DASHED)) for text in texts)
            numbers = sum(bool(_NUMERIC.fullmatch(text)) for text in texts)
            if not _is_named(header, known) if years else 2 * numbers < len(texts):
                order.append((years, -len(set(texts)), header))
        chosen, columns = set[Row](), list[str]()
        for _, _, header in sorted(order, key=lambda each: each[:2]):
            rows = {row for row in table if set() < _keys(row.text(header)) <= known}
            if chosen and not chosen & rows:
                texts = [row.text(header) for row in rows]
                if any(row.text(columns[0]) in texts for row in chosen):
                    chosen |= rows  # a team may be host or guest
            elif rows and (not chosen or chosen - rows):
                chosen = chosen & rows or rows
                columns.append(header)
        if 0 < len(chosen) < len(table):
            rows_named = tuple(row for row in table if row in chosen)
            found.append(Named(claim, rows_named, table, tuple(columns)))
    return tuple(found)


@lru_cache(maxsize=4096)
def _keys(text: str) -> frozenset[str]:
    """Return roots of words, and figures: years, and others without commas."""
    return frozenset([*roots(text), *_FIGURE.findall(text.translate(_DASHED).replace(",", ""))])


def _is_named(header: str, known: frozenset[str]) -> bool:
    keys = _keys(header)
    return bool(keys & known) and not any(key[0].isdigit() for key in keys - known)


def as_read(claim: str, passage: str, page: str = "") -> str:
    r"""Leave of the tables in a passage the rows that a claim names, with what follows from them.

    `page` has all rows; without it, nothing can be the largest, and claims that say so get no row.

    >>> as_read("Gull Head is high.", "Tower: Gull Head; Metres: 31\nTower: Ebba; Metres: 9")
    'Tower: Gull Head; Metres: 31'
    """
    found = named(claim, page or passage)
    read = {row.line: "" for each in found for row in each.table}
    if not page and _RANK.search(claim):
        read, found = {row.line: "" for row in rows_of(passage)}, ()
    for each in found:
        for row in each.rows:
            read[row.line] = _without_others(each) if len(each.rows) == 1 else row.line
        for row, words in _derived(each):
            read[row.line] += words
    lines = [read.get(line, line) for line in passage.split("\n") if read.get(line, True)]
    return "\n".join(lines).strip() or rows_of(passage)[0].caption or passage


def unstated(
    claim: str, source: str, languages: tuple[str | None, str | None] = (None, None)
) -> tuple[Value, ...]:
    """`quantities.unstated`, without the values that follow from two cells of a table."""
    absent = quantities.unstated(claim, source, languages)
    found = named(claim, source) if absent else ()
    derived = [f"{words} " for each in found for _, words in _derived(each)]
    return tuple(
        v for v in absent if not any(f" {v.span.of(claim)} " in words for words in derived)
    )


def misplaced(each: Named) -> tuple[Value, Cell] | None:
    r"""Return a value of the claim that the one row and the columns that it names state otherwise.

    >>> claim, text = "Ask had 43 in 1990.", "Town: Ask; 1990: 41; 2000: 43\nTown: Vik; 1990: 24"
    >>> [misplaced(each)[1].text for each in named(claim, text)]
    ['41']
    """
    claim, row = each.claim, each.rows[0]
    if len(each.rows) > 1 or row.is_total or _NOT_OF_ONE.search(claim):
        return None
    mine = [value for value in values(claim) if not value.weak]
    cells = [(c, v) for c in each.matched(row) for v in values(c.text)[:1]]
    stated = [v for v in mine if any(states(of_cell, v) for _, of_cell in cells)]
    cells = [(c, v) for c, v in cells if not any(states(v, one) for one in stated)]
    known = "\n".join([*map(row.text, each.columns), *(cell.header for cell, _ in cells)])
    for value in (v for v in mine if v not in stated):
        # "97 died in accidents" does not count these: a column's name is next to its value.
        before, behind = roots(claim[: value.span.start]), roots(claim[value.span.end :])
        beside = {*before[-3:], *behind[: 3 if value.measure else 2]}
        others = [
            (c, v)
            for c, v in cells
            if v.measure == value.measure and beside.intersection(roots(c.header) or beside)
        ]
        differs = others and all(quantities.conflict(v, value) for _, v in others)
        if differs and quantities.unstated(value.span.of(claim), known):
            return value, others[0][0]
    return None


def _without_others(each: Named) -> str:
    """Return the row without columns that alone have a value that the claim puts into another."""
    claim, row, matched = each.claim, each.rows[0], each.matched(each.rows[0])
    kept = [*each.columns, *(cell.header for cell in matched), row.cells[0].header]
    left = "; ".join(
        f"{cell.header}: {cell.text}".removeprefix(": ")
        for cell in row.cells
        if cell.header in kept
        or not (_NUMERIC.fullmatch(cell.text) or _keys(claim).isdisjoint(roots(cell.text)))
    )
    lacks = not matched or quantities.unstated(claim, left)
    return row.line if lacks and not misplaced(each) else left


def _derived(each: Named) -> Iterator[tuple[Row, str]]:
    """Yield what the claim says and a row adds: a sum, a share of the total, a rank."""
    claim, rows = each.claim, [row for row in each.rows if not row.is_total]
    matched, rank = each.matched(rows[0]) if rows else [], _RANK.search(claim)
    for header, text in (matched or rows[0].cells) if rows else ():
        column = {row: v for row in each.table if (v := _number(row.text(header)))}
        parts = [column[row] for row in rows if row in column]
        totals = [v.low for row, v in column.items() if row.is_total]
        if len(rows) == len(parts) == len(totals) == 1 and totals[0]:
            percent = 100 * parts[0].low / totals[0]
            share = replace(parts[0], low=percent, high=percent, measure="share", unit="%")
            if words := _wording(claim, share):
                yield rows[0], f"; {header}: {words} of the total"
        if rank and len(rows) == len(parts) == 1 and Cell(header, text) in matched:
            order = [v.low for row, v in column.items() if not row.is_total]
            order.sort(reverse=not rank["low"])
            place = ORDINALS.index((rank["nth"] or rank["place"] or "first").lower())
            if order.count(parts[0].low) == 1 and order.index(parts[0].low) == place and order[2:]:
                yield rows[0], f"; {header}: {rank[0]}"
        if len(rows) == len(parts) and (total := _sum(claim, parts)):
            names = " and ".join(row.text(each.columns[0]) for row in rows)
            yield rows[-1], f"\n{each.columns[0]}: {names} together; {header}: {total}"
    parts = [v for cell in matched if (v := _number(cell.text))]
    if len(rows) == 1 and len(parts) == len(matched) and (total := _sum(claim, parts)):
        yield rows[0], f"; {' and '.join(cell.header for cell in matched)} together: {total}"


def _number(text: str) -> Value | None:
    return next((value for value in values(text) if not value.weak and not value.dates), None)


def _sum(claim: str, parts: Sequence[Value]) -> str:
    found = _NOT_OF_ONE.search(claim)
    if not found or not found["sum"] or not 2 <= len(parts) <= 3:
        return ""
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    return _wording(claim, replace(parts[0], low=low, high=high))


def _wording(claim: str, number: Value) -> str:
    """Return how the claim states a number; empty if it does not."""
    stated = (v for v in values(claim) if not v.weak and states(number, v))
    return next((value.span.of(claim) for value in stated), "")
