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
HEADER_CHARS = 80  # `pincite.documents.tables` cuts longer headers
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
_LACKS = 0.67  # share of the claim's words that a cell which states its values may lack
_PLACED = "|".join(ORDINALS[:10])
_RANK = re.compile(
    rf"\b(?:(?P<nth>{_PLACED})[ -])?(?:(?P<low>smallest|lowest|fewest|least|shortest|driest)"
    r"|largest|biggest|highest|most|greatest|longest|tallest|widest|wettest|heaviest)\b"
    rf"|\b(?:came|finished|ranked|was|is) (?P<place>{_PLACED})\b",
    re.IGNORECASE,
)


class Row(NamedTuple):
    """A line of a table, its values by column header ("" for a section), and the caption above."""

    line: str
    cells: dict[str, str]
    caption: str

    @property
    def is_total(self) -> bool:
        return any(map(_TOTAL.match, list(self.cells.values())[:2]))


class Named(NamedTuple):
    """The rows and columns of a table that a claim names."""

    claim: str
    rows: list[Row]
    table: list[Row]
    by: list[str]  # headers of the columns whose values name the rows
    columns: list[str]  # headers of other columns


def cells_of(line: str) -> dict[str, str]:
    """Return the values of a row by column; empty if the line is no row of a table.

    >>> cells_of("Parish: Holmby; 1990: 4,120"), cells_of("Its aim: peace; nothing else.")
    ({'Parish': 'Holmby', '1990': '4,120'}, {})
    """
    cells = dict[str, str]()
    for part in line.split("; "):
        header, colon, text = part.partition(": ")
        if not part or len(header) > HEADER_CHARS or not (colon or {""}.issuperset(cells)):
            return {}
        cells[header if colon else ""] = text if colon else part
    return cells if len(cells) > 1 else {}


@lru_cache(maxsize=64)
def rows_of(text: str) -> list[Row]:
    """Return the rows of all tables of a text, in order; none if there are more than MAX_ROWS."""
    found, caption = list[Row](), ""
    for line in text.split("\n") if "; " in text else ():
        if cells := cells_of(line):
            found.append(Row(line, cells, caption))
        else:
            caption = line or caption
    return found if len(found) <= MAX_ROWS else []


@lru_cache(maxsize=256)
def named(claim: str, text: str) -> list[Named]:
    """Return the tables of a text of which a claim names some but not all rows.

    Columns of words name rows, the one with the most distinct values first; others narrow these
    down.
    A year names a row only if the claim does not name its column: "opened in 1931" is a value.
    """
    known, found = _keys(claim), list[Named]()
    for _, group in groupby(rows_of(text), key=lambda row: (next(iter(row.cells)), row.caption)):
        table, order = list(group), list[tuple[bool, int, str]]()
        headers = dict.fromkeys(header for row in table for header in row.cells)
        for header in headers:
            texts = [row.cells[header] for row in table if header in row.cells]
            years = all(_YEAR.fullmatch(text.translate(_DASHED)) for text in texts)
            numbers = sum(bool(_NUMERIC.fullmatch(text)) for text in texts)
            if not _is_named(header, known) if years else 2 * numbers < len(texts):
                order.append((years, -len(set(texts)), header))
        chosen, by = set[int](), list[str]()
        for _, _, header in sorted(order, key=lambda each: each[:2]):
            texts = [row.cells.get(header, "") for row in table]
            rows = {n for n, text in enumerate(texts) if set() < _keys(text) <= known}
            if chosen and not chosen & rows:
                if not {table[n].cells.get(by[0]) for n in chosen}.isdisjoint(
                    texts[n] for n in rows
                ):
                    chosen |= rows  # a team may be host or guest
            elif rows and (not chosen or chosen - rows):
                chosen = chosen & rows or rows
                by.append(header)
        # Columns that the claim names wholly count more than those that it names in part.
        others = [header for header in headers if header not in by and _is_named(header, known)]
        whole = [_keys(header) for header in others if _keys(header) <= known]
        columns = [
            header
            for header in others
            if _keys(header) <= known or not any(_keys(header) & known <= keys for keys in whole)
        ]
        if 0 < len(chosen) < len(table):
            found.append(Named(claim, [table[n] for n in sorted(chosen)], table, by, columns))
    return found


@lru_cache(maxsize=4096)
def _keys(text: str) -> frozenset[str]:
    """Return roots of words, and figures without commas."""
    return frozenset([*roots(text), *_FIGURE.findall(text.translate(_DASHED).replace(",", ""))])


def _is_named(header: str, known: frozenset[str]) -> bool:
    keys = _keys(header)
    return bool(keys & known) and not any(key[0].isdigit() for key in keys - known)


def marked(claim: str, quote: str) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Return a quote of rows as a table: "th" or "td", and cells, marked if the claim names them.

    Empty if it has other lines than rows. The first cell, which names the row, is never marked.
    """
    known, lines = _keys(claim), [cells_of(line) for line in quote.split("\n")]
    found, headers = list[tuple[str, list[tuple[str, bool]]]](), list[str]()
    for cells in lines if all(lines) else ():
        if headers != list(cells):
            headers = list(cells)
            found.append(("th", [(header, False) for header in headers]))
        others = list(cells.items())[1:]
        wholly = [h for h, text in others if any(set() < _keys(x) <= known for x in (h, text))]
        kept = wholly or [header for header, _ in others if _is_named(header, known)]
        found.append(("td", [(text, header in kept) for header, text in cells.items()]))
    return found


def as_read(claim: str, passage: str, page: str = "") -> str:
    r"""Leave of the tables in a passage the rows that a claim names, with what follows from them.

    `page` has all rows; without it, nothing can be the largest, and claims that say so get no row.

    >>> as_read("Gull Head is high.", "Tower: Gull Head; Metres: 31\nTower: Ebba; Metres: 9")
    'Tower: Gull Head; Metres: 31'
    """
    found = named(claim, page or passage)
    read = {row.line: "" for each in found for row in each.table}
    if not rows_of(page) and _RANK.search(claim):
        read, found = {row.line: "" for row in rows_of(passage)}, []
    for each in found:
        read |= {row.line: row.line for row in each.rows}
        if len(each.rows) == 1:
            read[each.rows[0].line] = _without_others(each)
    for row, words in _derived(claim, page or passage) if found else ():
        read[row.line] += words
    if cell := next(filter(None, map(_stating, found)), ""):
        return cell
    lines = [read.get(line, line) for line in passage.split("\n") if read.get(line, True)]
    captions = (row.caption for row in rows_of(passage))
    return "\n".join(lines).strip() or next(captions, "") or passage


def _stating(each: Named) -> str:
    """The caption and the cell that a claim names, if they have its values and most of its words.

    Beside it, what the prose says of other cells would be read too.
    """
    one_cell = len(each.rows) == len(each.columns) == 1
    if not one_cell or not values(each.claim) or _RANK.search(each.claim):
        return ""
    text = "\n".join(filter(None, (each.rows[0].caption, _without_others(each))))
    wanted, stated = {*roots(each.claim)}, {*roots(text)}
    is_near = len(wanted - stated) <= _LACKS * len(wanted)
    return text if is_near and not quantities.unstated(each.claim, text) else ""


def unstated(
    claim: str, source: str, languages: tuple[str | None, str | None] = (None, None)
) -> tuple[Value, ...]:
    """`quantities.unstated`, without the values that follow from two cells of a table."""
    absent = quantities.unstated(claim, source, languages)
    derived = " ".join(f"{words} " for _, words in _derived(claim, source)) if absent else ""
    return tuple(value for value in absent if f" {value.span.of(claim)} " not in derived)


def misplaced(each: Named) -> tuple[Value, str] | None:
    r"""Return a value of the claim, and the other one that its row has in the column that it names.

    >>> claim, text = "Ask had 43 in 1990.", "Town: Ask; 1990: 41; 2000: 43\nTown: Vik; 1990: 24"
    >>> [misplaced(each)[1] for each in named(claim, text)]
    ['41']
    """
    claim, row = each.claim, each.rows[0]
    if len(each.rows) > 1 or row.is_total or _NOT_OF_ONE.search(claim):
        return None
    mine = [value for value in values(claim) if not value.weak]
    cells = [(h, v) for h in each.columns for v in values(row.cells.get(h, ""))[:1]]
    stated = [v for v in mine if any(states(of_cell, v) for _, of_cell in cells)]
    cells = [(h, v) for h, v in cells if not any(states(v, one) for one in stated)]
    known = "\n".join([*(row.cells.get(h, "") for h in each.by), *(h for h, _ in cells)])
    for value in (v for v in mine if v not in stated):
        # "97 died in accidents" does not count these: a column's name is next to its value.
        before, behind = roots(claim[: value.span.start]), roots(claim[value.span.end :])
        beside = {*before[-3:], *behind[: 3 if value.measure else 2]}
        near = [(h, v) for h, v in cells if beside.intersection(roots(h) or beside)]
        others = [(h, v) for h, v in near if v.measure == value.measure]
        differs = others and all(quantities.conflict(v, value) for _, v in others)
        if differs and quantities.unstated(value.span.of(claim), known):
            return value, row.cells[others[0][0]]
    return None


def _without_others(each: Named) -> str:
    """Return the row without columns that alone have a value that the claim puts into another."""
    claim, row = each.claim, each.rows[0]
    kept = [*each.by, *each.columns, next(iter(row.cells))]
    left = "; ".join(
        f"{header}: {text}".removeprefix(": ")
        for header, text in row.cells.items()
        if header in kept or not (_NUMERIC.fullmatch(text) or _keys(claim).isdisjoint(roots(text)))
    )
    lacks = not each.columns or quantities.unstated(claim, left)
    return row.line if lacks and not misplaced(each) else left


@lru_cache(maxsize=256)
def _derived(claim: str, text: str) -> list[tuple[Row, str]]:
    """Return what the claim says and a row adds: a sum, a share of the total, a rank."""
    return [found for each in named(claim, text) for found in _of_table(each)]


def _of_table(each: Named) -> Iterator[tuple[Row, str]]:
    claim, rows = each.claim, [row for row in each.rows if not row.is_total]
    rank = _RANK.search(claim)
    columns = [header for header in each.columns if rows and header in rows[0].cells]
    for header in columns or (rows[0].cells if rows else ()):
        column = [(row, v) for row in each.table if (v := _number(row.cells.get(header, "")))]
        parts = [v for row, v in column if row in rows]
        totals = [v.low for row, v in column if row.is_total]
        if len(rows) == len(parts) == len(totals) == 1 and totals[0]:
            percent = 100 * parts[0].low / totals[0]
            share = replace(parts[0], low=percent, high=percent, measure="share", unit="%")
            if words := _wording(claim, share):
                yield rows[0], f"; {header}: {words} of the total"
        if rank and len(rows) == len(parts) == 1 and header in columns:
            order = [v.low for row, v in column if not row.is_total]
            order.sort(reverse=not rank["low"])
            place = ORDINALS.index((rank["nth"] or rank["place"] or "first").lower())
            if order.count(parts[0].low) == 1 and order.index(parts[0].low) == place and order[2:]:
                yield rows[0], f"; {header}: {rank[0]}"
        if len(rows) == len(parts) and (total := _sum(claim, parts)):
            names = " and ".join(row.cells.get(each.by[0], "") for row in rows)
            yield rows[-1], f"\n{each.by[0]}: {names} together; {header}: {total}"
    parts = [v for header in columns if (v := _number(rows[0].cells[header]))]
    if len(rows) == 1 and len(parts) == len(columns) and (total := _sum(claim, parts)):
        yield rows[0], f"; {' and '.join(columns)} together: {total}"


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
