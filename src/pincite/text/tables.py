"""Looks up what a claim says in tables that are written in words.

`pincite.documents.tables` writes a row as "Parish: Holmby; 1990: 4,120; 2000: 4,310", and a network
that reads ten such rows takes any number of any row for the claim's. `look_up` finds the rows whose
cells of words are all in the claim, and the columns whose headers share words with it. Where these
meet in one cell, its value is compared with the claim's; sums, shares and ranks are computed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from pincite.text import pattern, quantities
from pincite.text.changes import Rank, follows, place_of, ranks
from pincite.text.quantities import Value, states, values
from pincite.text.words import roots

MAX_ROWS = 5_000  # of a text
HEADER_CHARS = 80  # `pincite.documents.tables` cuts longer headers
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:-\d{2,4})?")
_NUMERIC = pattern(__name__, "numeric")
_FIGURE = re.compile(r"\d+(?:-\d+)?")
_DASHED = str.maketrans("–/", "--")
_TOTAL = re.compile(r"(?:grand |sub)?totals?\b|all\b|sum\b|overall\b", re.IGNORECASE)
_NOT_OF_ONE = pattern(__name__, "not_of_one", re.IGNORECASE)
_SHORT_FORMS = [  # of the first word of a name
    (re.compile(rf"\b{short}\.?(?= [A-Z])"), long)
    for short, long in (("St", "Saint"), ("Mt", "Mount"), ("Ft", "Fort"))
]
_LACKS = 0.67  # share of the claim's words that a cell which states its values may lack


class Row(NamedTuple):
    """A line of a table, its values by column header ("" for a section), and the caption above."""

    line: str
    cells: dict[str, str]
    caption: str

    @property
    def is_total(self) -> bool:
        return any(map(_TOTAL.match, list(self.cells.values())[:2]))


class Lookup(NamedTuple):
    """The rows and columns of a table that a claim names."""

    claim: str
    rows: list[Row]
    table: list[Row]
    row_headers: list[str]  # of the columns whose values name the rows
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
    rows, caption = list[Row](), ""
    for line in text.split("\n") if "; " in text else ():
        if cells := cells_of(line):
            rows.append(Row(line, cells, caption))
        else:
            caption = line or caption
    return rows if len(rows) <= MAX_ROWS else []


@lru_cache(maxsize=256)
def look_up(claim: str, text: str) -> list[Lookup]:
    """Return the tables of a text of which a claim names some but not all rows."""
    known, lookups = _keys(claim), list[Lookup]()
    for _, group in groupby(rows_of(text), key=lambda row: (next(iter(row.cells)), row.caption)):
        table = list(group)
        headers = dict.fromkeys(header for row in table for header in row.cells)
        rows, row_headers = _choose_rows(table, _headers_of_names(table, headers, known), known)
        if 0 < len(rows) < len(table):
            columns = _choose_columns([h for h in headers if h not in row_headers], known)
            lookups.append(Lookup(claim, rows, table, row_headers, columns))
    return lookups


def _headers_of_names(
    table: Sequence[Row], headers: Iterable[str], known: frozenset[str]
) -> list[str]:
    """Return the columns of words, the one with the most distinct values first, then of years.

    A year names a row only if the claim does not name its column: "opened in 1931" is a value.
    """
    order = list[tuple[bool, int, str]]()
    for header in headers:
        texts = [row.cells[header] for row in table if header in row.cells]
        years = all(_YEAR.fullmatch(text.translate(_DASHED)) for text in texts)
        n_numbers = sum(bool(_NUMERIC.fullmatch(text)) for text in texts)
        if not _is_named(header, known) if years else 2 * n_numbers < len(texts):
            order.append((years, -len(set(texts)), header))
    return [header for *_, header in sorted(order, key=itemgetter(0, 1))]


def _choose_rows(
    table: Sequence[Row], headers: Iterable[str], known: frozenset[str]
) -> tuple[list[Row], list[str]]:
    """Return the rows that the cells of some columns name, and those columns, which narrow down."""
    chosen, row_headers = set[int](), list[str]()
    for header in headers:
        texts = [row.cells.get(header, "") for row in table]
        rows = {n for n, text in enumerate(texts) if _is_whole(text, known)}
        if chosen and not chosen & rows:
            names = {table[n].cells.get(row_headers[0]) for n in chosen}
            if not names.isdisjoint(texts[n] for n in rows):
                chosen |= rows  # a team may be host or guest
        elif rows and (not chosen or chosen - rows):
            chosen = chosen & rows or rows
            row_headers.append(header)
    return [table[n] for n in sorted(chosen)], row_headers


def _choose_columns(headers: Sequence[str], known: frozenset[str]) -> list[str]:
    """Return named headers; one named in part only if no whole one has the words that it shares."""
    named = [header for header in headers if _is_named(header, known)]
    whole = [_keys(header) for header in named if _keys(header) <= known]
    return [
        header
        for header in named
        if _keys(header) <= known or not any(_keys(header) & known <= keys for keys in whole)
    ]


@lru_cache(maxsize=4096)
def _keys(text: str) -> frozenset[str]:
    """Return roots of words, and figures without commas; "St" is "Saint"."""
    for short, long in _SHORT_FORMS:
        text = short.sub(long, text)
    return frozenset([*roots(text), *_FIGURE.findall(text.translate(_DASHED).replace(",", ""))])


def _is_whole(text: str, known: frozenset[str]) -> bool:
    return set() < _keys(text) <= known


def _is_named(header: str, known: frozenset[str]) -> bool:
    keys = _keys(header)
    return bool(keys & known) and not any(key[0].isdigit() for key in keys - known)


def mark_cells(claim: str, quote: str) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Return a quote of rows as a table: "th" or "td", and cells, marked if the claim names them.

    Empty if it has other lines than rows. The first cell, which names the row, is never marked.
    """
    known, lines = _keys(claim), [cells_of(line) for line in quote.split("\n")]
    rows, headers = list[tuple[str, list[tuple[str, bool]]]](), list[str]()
    for cells in lines if all(lines) else ():
        if headers != list(cells):
            headers = list(cells)
            rows.append(("th", [(header, False) for header in headers]))
        others = list(cells.items())[1:]
        whole = [h for h, text in others if _is_whole(h, known) or _is_whole(text, known)]
        marked = whole or [header for header, _ in others if _is_named(header, known)]
        rows.append(("td", [(text, header in marked) for header, text in cells.items()]))
    return rows


def keep_named_rows(claim: str, passage: str, page: str = "") -> str:
    r"""Leave of the tables in a passage the rows that a claim names, with what follows from them.

    `page` has all rows; without it, nothing can be the largest, and claims that say so get no row.

    >>> keep_named_rows("Gull Head is tall.", "Tower: Gull Head; Metres: 31\nTower: Ob; Metres: 9")
    'Tower: Gull Head; Metres: 31'
    """
    lookups = look_up(claim, page or passage)
    texts = {row.line: "" for lookup in lookups for row in lookup.table}
    if not rows_of(page) and ranks(claim):
        texts, lookups = {row.line: "" for row in rows_of(passage)}, []
    for lookup in lookups:
        texts |= {row.line: row.line for row in lookup.rows}
        if len(lookup.rows) == 1:
            texts[lookup.rows[0].line] = _without_others(lookup)
    for row, words in _derive(claim, page or passage) if lookups else ():
        texts[row.line] += words
    if cell := next(filter(None, map(_stating_cell, lookups)), ""):
        return cell
    lines = [texts.get(line, line) for line in passage.split("\n") if texts.get(line, True)]
    captions = (row.caption for row in rows_of(passage))
    return "\n".join(lines).strip() or next(captions, "") or passage


def _stating_cell(lookup: Lookup) -> str:
    """Return caption and cell that a claim names, if they have its values and most of its words.

    Beside it, what the prose says of other cells would be read too.
    """
    claim = lookup.claim
    one_cell = len(lookup.rows) == len(lookup.columns) == 1
    if not one_cell or not values(claim) or ranks(claim):
        return ""
    text = "\n".join(filter(None, (lookup.rows[0].caption, _without_others(lookup))))
    wanted, stated = {*roots(claim)}, {*roots(text)}
    is_near = len(wanted - stated) <= _LACKS * len(wanted)
    return text if is_near and not quantities.unstated(claim, text) else ""


def unstated(
    claim: str, source: str, languages: tuple[str | None, str | None] = (None, None)
) -> tuple[Value, ...]:
    """`quantities.unstated`, without the values that follow from two cells or two values."""
    absent = quantities.unstated(claim, source, languages)
    derived = " ".join(f"{words} " for _, words in _derive(claim, source)) if absent else ""
    known = follows(claim, source) if absent else []
    return tuple(
        value
        for value in absent
        if f" {value.span.of(claim)} " not in derived
        and not any(span.overlaps(value.span) for span in known)
    )


def other_value(lookup: Lookup) -> tuple[Value | Rank, str] | None:
    r"""Return a value or rank of the claim, and what its row has in the column that it names.

    >>> claim, text = "Ask had 43 in 1990.", "Town: Ask; 1990: 41; 2000: 43\nTown: Vik; 1990: 24"
    >>> [other_value(lookup)[1] for lookup in look_up(claim, text)]
    ['41']
    """
    claim, row = lookup.claim, lookup.rows[0]
    for rank in ranks(claim)[:1]:
        if (found := _place(lookup, rank)) and found[1] != rank.place:
            return rank, f"{row.cells[found[0]]} ({found[1]}.)"
    if len(lookup.rows) > 1 or row.is_total or _NOT_OF_ONE.search(claim):
        return None
    claimed = [value for value in values(claim) if not value.weak]
    cells = [(h, value) for h in lookup.columns for value in values(row.cells.get(h, ""))[:1]]
    stated = [v for v in claimed if any(states(in_cell, v) for _, in_cell in cells)]
    cells = [(h, in_cell) for h, in_cell in cells if not any(states(in_cell, v) for v in stated)]
    names = (row.cells.get(header, "") for header in lookup.row_headers)
    known = "\n".join([*names, *(header for header, _ in cells)])
    for value in (v for v in claimed if v not in stated):
        others = [(h, v) for h, v in _near(value, claim, cells) if v.measure == value.measure]
        differs = others and all(quantities.conflict(v, value) for _, v in others)
        if differs and quantities.unstated(value.span.of(claim), known):
            return value, row.cells[others[0][0]]
    return None


def _near(value: Value, claim: str, cells: Sequence[tuple[str, Value]]) -> list[tuple[str, Value]]:
    """Return the cells whose column is named next to a value, unlike "97 died in accidents"."""
    before, behind = roots(claim[: value.span.start]), roots(claim[value.span.end :])
    beside = {*before[-3:], *behind[: 3 if value.measure else 2]}
    return [(header, v) for header, v in cells if beside.intersection(roots(header) or beside)]


def _without_others(lookup: Lookup) -> str:
    """Return the row without columns that alone have a value that the claim puts into another."""
    claim, row = lookup.claim, lookup.rows[0]
    kept = [*lookup.row_headers, *lookup.columns, next(iter(row.cells))]
    rest = "; ".join(
        f"{header}: {text}".removeprefix(": ")
        for header, text in row.cells.items()
        if header in kept or not (_NUMERIC.fullmatch(text) or _keys(claim).isdisjoint(roots(text)))
    )
    lacks = not lookup.columns or quantities.unstated(claim, rest)
    return row.line if lacks and not other_value(lookup) else rest


# ── What follows from several cells ──────────────────────────────────────────────────────────────


@lru_cache(maxsize=256)
def _derive(claim: str, text: str) -> list[tuple[Row, str]]:
    """Return what the claim says and a row adds: a sum, a share of the total, a rank."""
    return [words for lookup in look_up(claim, text) for words in _derive_in_table(lookup)]


def _derive_in_table(lookup: Lookup) -> Iterator[tuple[Row, str]]:
    claim, rows = lookup.claim, [row for row in lookup.rows if not row.is_total]
    if not rows:
        return
    for rank in ranks(claim)[:1]:
        if (found := _place(lookup, rank)) and found[1] == rank.place:
            yield rows[0], f"; {found[0]}: {rank.span.of(claim).removeprefix('the ')}"
    columns = [header for header in lookup.columns if header in rows[0].cells]
    for header in columns or rows[0].cells:
        column = [(row, v) for row in lookup.table if (v := _number(row.cells.get(header, "")))]
        parts = [value for row, value in column if row in rows]
        if len(parts) != len(rows):
            continue
        totals = [v for row, v in column if row.is_total]
        if len(rows) == 1 and (share := _share(claim, parts[0], totals)):
            yield rows[0], f"; {header}: {share} of the total"
        if total := _sum(claim, parts):
            name = lookup.row_headers[0]
            names = " and ".join(row.cells.get(name, "") for row in rows)
            yield rows[-1], f"\n{name}: {names} together; {header}: {total}"


def _place(lookup: Lookup, rank: Rank) -> tuple[str, int] | None:
    """Return the column that a claim names, or any if all agree, and the place of its row there."""
    rows = [row for row in lookup.rows if not row.is_total]
    found = dict[str, int | None]()
    for header in (lookup.columns or rows[0].cells) if len(rows) == 1 else ():
        table = [row.cells.get(header, "") for row in lookup.table if not row.is_total]
        if number := _number(rows[0].cells.get(header, "")):
            column = [value.low for text in table if (value := _number(text))]
            found[header] = place_of(number.low, column, rank.order)
    header, place = next(iter(found.items()), ("", None))
    return (header, place) if place and len({*found.values()}) == 1 else None


def _share(claim: str, part: Value, totals: Sequence[Value]) -> str:
    """Return how the claim states a part's percentage of the only total; empty if it does not."""
    if len(totals) != 1 or not totals[0].low:
        return ""
    percent = 100 * part.low / totals[0].low
    return _wording(claim, replace(part, low=percent, high=percent, measure="share", unit="%"))


def _number(text: str) -> Value | None:
    return next((value for value in values(text) if not value.weak and not value.dates), None)


def _sum(claim: str, parts: Sequence[Value]) -> str:
    words = _NOT_OF_ONE.search(claim)
    if not words or not words["sum"] or not 2 <= len(parts) <= 3:
        return ""
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    return _wording(claim, replace(parts[0], low=low, high=high))


def _wording(claim: str, number: Value) -> str:
    """Return how the claim states a number; empty if it does not."""
    stated = (v for v in values(claim) if not v.weak and states(number, v))
    return next((value.span.of(claim) for value in stated), "")
