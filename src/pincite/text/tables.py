"""Looks up what a claim says in tables that are written in words.

`pincite.documents.tables` writes a row as "Parish: Holmby; 1990: 4,120; 2000: 4,310". A network
that reads ten such rows takes any number of any row for the claim's. People look up the row and the
column, add two cells, or look for the largest; so does this module.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from pincite.text import quantities
from pincite.text.figures import ORDINALS
from pincite.text.quantities import Value, values
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


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table, and the line above the table."""

    line: str
    cells: tuple[Cell, ...]
    caption: str = ""

    @property
    def is_total(self) -> bool:
        return any(_TOTAL.match(cell.text) for cell in self.cells[:2])

    def text(self, header: str) -> str:
        """Return the value in a column; empty if the row has none."""
        return next((cell.text for cell in self.cells if cell.header == header), "")


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
        if len(found) > MAX_ROWS:
            return ()
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Named:
    """The rows of a table that a claim names, and all of its rows."""

    claim: str
    rows: tuple[Row, ...]
    table: tuple[Row, ...]
    columns: tuple[str, ...]  # headers of those whose values name the rows

    def matched(self, row: Row) -> list[Cell]:
        """Return the cells of a row whose column the claim names, wholly rather than in part."""
        words, figures = set(roots(self.claim)), _figures(self.claim)
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
            elif rows and (not chosen or chosen - rows):
                chosen = chosen & rows or rows
                columns.append(header)
        if chosen and len(chosen) < len(table):
            rows_named = tuple(table[n] for n in sorted(chosen))
            found.append(Named(claim, rows_named, table, tuple(columns)))
    return tuple(found)


def _naming(table: Sequence[Row], words: set[str], figures: set[str]) -> list[str]:
    """Return the columns that may name rows: those of words first, the most various first."""
    order = list[tuple[bool, int, int, str]]()
    for n, header in enumerate(dict.fromkeys(cell.header for row in table for cell in row.cells)):
        texts = [text for row in table if (text := row.text(header))]
        years = all(_YEAR.fullmatch(text.translate(_DASHED)) for text in texts)
        numbers = sum(bool(_NUMERIC.fullmatch(text)) for text in texts)
        if not _is_named(header, words, figures) if years else 2 * numbers < len(texts):
            order.append((years, -len(set(texts)), n, header))
    return [header for *_, header in sorted(order)]


def _is_in(value: str, words: set[str], figures: set[str]) -> bool:
    mine, numbers = set(roots(value)), _figures(value)
    return bool(mine or numbers) and mine <= words and numbers <= figures


def _is_named(header: str, words: set[str], figures: set[str]) -> bool:
    numbers = _figures(header)
    return numbers <= figures and bool(words.intersection(roots(header)) or numbers)


def _figures(text: str) -> set[str]:
    return set(_FIGURE.findall(text.translate(_DASHED).replace(",", "")))


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
    return "\n".join(lines).strip() or (rows_of(passage)[0].caption or passage)


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
    stated = [v for v in mine if any(_is_alike(of_cell, v) for _, of_cell in cells)]
    cells = [(c, v) for c, v in cells if not any(_is_alike(v, one) for one in stated)]
    known = "\n".join([*map(row.text, each.columns), *(cell.header for cell, _ in cells)])
    for value in mine:
        if value in stated or not quantities.unstated(value.span.of(claim), known):
            continue
        others = [
            (c, v)
            for c, v in cells
            if v.measure == value.measure and _is_beside(value, claim, c.header)
        ]
        if others and all(quantities.conflict(v, value) for _, v in others):
            return value, others[0][0]
    return None


def _is_beside(value: Value, claim: str, header: str) -> bool:
    """Whether a column's name is next to a value: "97 died in accidents" does not count those."""
    before, behind = claim[: value.span.start], claim[value.span.end :]
    near = {*roots(before)[-3:], *roots(behind)[: 3 if value.measure else 2]}
    return not roots(header) or not near.isdisjoint(roots(header))


def _is_alike(one: Value, other: Value) -> bool:
    """Whether a cell states a value, or its opposite: "lost 11 seats" for "−11"."""
    same = one.measure == other.measure and not one.dates and abs(one.low) == abs(other.low)
    return same or quantities.states(one, other)


def _without_others(each: Named) -> str:
    """Return the row without columns that alone have a value that the claim puts into another."""
    claim, row, matched = each.claim, each.rows[0], each.matched(each.rows[0])
    kept, words = {*each.columns, *(c.header for c in matched), row.cells[0].header}, roots(claim)
    cells = [
        f"{cell.header}: {cell.text}" if cell.header else cell.text
        for cell in row.cells
        if cell.header in kept
        or not (_NUMERIC.fullmatch(cell.text) or set(words).isdisjoint(roots(cell.text)))
    ]
    left = "; ".join(cells)
    lacks = bool(quantities.unstated(claim, left))
    return left if misplaced(each) or (matched and not lacks) else row.line


# ── What follows from two cells ──────────────────────────────────────────────────────────────────


def _derived(each: Named) -> Iterator[tuple[Row, str]]:
    """Yield what the claim says and a row adds: a sum, a share of the total, a rank."""
    rows = [row for row in each.rows if not row.is_total]
    matched = each.matched(rows[0]) if rows else []
    if len(rows) == 1:
        for cell in matched or rows[0].cells:
            if words := _share(each, rows[0], cell.header) or _rank(each, rows[0], cell.header):
                yield rows[0], f"; {cell.header}: {words}"
                break
        if total := _sum(each.claim, [cell.text for cell in matched]):
            yield rows[0], f"; {' and '.join(cell.header for cell in matched)} together: {total}"
    names = " and ".join(row.text(each.columns[0]) for row in rows)
    for cell in matched if len(rows) in (2, 3) else ():
        if total := _sum(each.claim, [row.text(cell.header) for row in rows]):
            yield rows[-1], f"\n{each.columns[0]}: {names} together; {cell.header}: {total}"


def _first(text: str) -> Value | None:
    return next((value for value in values(text) if not value.weak and not value.dates), None)


def _sum(claim: str, texts: Sequence[str]) -> str:
    found, parts = _NOT_OF_ONE.search(claim), [part for text in texts if (part := _first(text))]
    if not found or not found["sum"] or not 2 <= len(parts) == len(texts) <= 3:
        return ""
    total = replace(parts[0], low=sum(p.low for p in parts), high=sum(p.high for p in parts))
    stated = (v for v in values(claim) if not v.weak and quantities.states(total, v))
    return next((v.span.of(claim) for v in stated), "")


def _share(each: Named, row: Row, header: str) -> str:
    totals = [_first(other.text(header)) for other in each.table if other.is_total]
    part, total = _first(row.text(header)), totals[0] if len(totals) == 1 else None
    if not (part and total and total.low):
        return ""
    percent, shares = 100 * part.low / total.low, values(each.claim)
    stated = (v for v in shares if v.measure == "share" and v.low <= percent + 0.5 <= v.high + 1)
    return next((f"{v.span.of(each.claim)} of the total" for v in stated), "")


def _rank(each: Named, row: Row, header: str) -> str:
    match = _RANK.search(each.claim)
    if match is None or header not in (cell.header for cell in each.matched(row)):
        return ""
    place = ORDINALS.index((match["nth"] or match["place"] or "first").lower())
    others = [_first(other.text(header)) for other in each.table if not other.is_total]
    numbers = sorted((v.low for v in others if v), reverse=not match["low"])
    mine = _first(row.text(header))
    is_it = mine and len(numbers) > 2 and numbers[place : place + 1] == [mine.low]
    return match[0] if is_it and numbers.count(numbers[place]) == 1 else ""
