"""Finds the cells of a table that a claim names, and what follows from them.

`pincite.documents.tables` writes a row as a line of text: "Parish: Holmby; 1990: 4,120". A network
that reads ten such lines takes any number in them for the claim's. `look_up` therefore finds the
rows whose cells of words are all in the claim, and the columns whose headers share words with it.
Where one such row meets such a column, the cell is compared with the claim. Sums, shares and ranks
are computed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from pincite.text import patterns, quantities
from pincite.text.changes import Rank, follows, place_of, ranks
from pincite.text.quantities import Value, states, values
from pincite.text.words import roots
from pincite.types import Span

MAX_ROWS = 5_000  # of a text
HEADER_CHARS = 80  # `pincite.documents.tables` cuts longer headers
_YEAR = re.compile(r"(?:1\d|20)\d\d(?:-\d{2,4})?")
_P = patterns(__file__, "tables")
_FIGURE = re.compile(r"\d+(?:-\d+)?")
_DASHED = str.maketrans("–/", "--")  # "2010/11" and "2010–11" are "2010-11"
_TOTAL = re.compile(r"(?:grand |sub)?totals?\b|all\b|sum\b|overall\b", re.IGNORECASE)
_LONG_FORMS = {"St": "Saint", "Mt": "Mount", "Ft": "Fort"}  # of the first word of a name
_SHORT_FORM = re.compile(rf"\b({'|'.join(_LONG_FORMS)})\.?(?= [A-Z])")
_MOST_LACKING = 0.67  # share of the claim's words that a cell which states its values may lack
_MOST_SUMMANDS = 3  # rows whose sum a claim may state
# Words beside a value that may name its column. Behind a bare number stand the things it counts.
_WORDS_BEFORE, _WORDS_BEHIND_MEASURE, _WORDS_BEHIND_NUMBER = 3, 3, 2


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table, its values by column header ("" for a section), and the caption above."""

    line: str
    cells: Mapping[str, str]
    caption: str

    @property
    def is_total(self) -> bool:
        return any(map(_TOTAL.match, list(self.cells.values())[:2]))


@dataclass(frozen=True, slots=True)
class Lookup:
    """The rows and columns of a table that a claim names."""

    claim: str
    rows: Sequence[Row]
    table: Sequence[Row]  # all rows
    row_headers: Sequence[str]  # of the columns whose values name the rows
    columns: Sequence[str]  # headers of other columns that the claim names

    @property
    def rows_without_total(self) -> list[Row]:
        return [row for row in self.rows if not row.is_total]


class OtherValue(NamedTuple):
    """A value or rank of a claim, and what the table has in its place."""

    claimed: Span  # in the claim
    stated: str


class MarkedCell(NamedTuple):
    """A cell of a quoted row, and whether the claim names it."""

    text: str
    is_marked: bool


class MarkedRow(NamedTuple):
    """A quoted row, or the headers above it."""

    is_header: bool
    cells: Sequence[MarkedCell]


class _Derived(NamedTuple):
    """A number or rank that follows from several cells, as the claim states it."""

    row: Row
    addition: str  # to the row's line
    wording: str  # in the claim


def cells_of(line: str) -> dict[str, str]:
    """Return the values of a row by column; empty if the line is no row of a table.

    >>> cells_of("Parish: Holmby; 1990: 4,120"), cells_of("Its aim: peace; nothing else.")
    ({'Parish': 'Holmby', '1990': '4,120'}, {})
    """
    cells = dict[str, str]()
    for part in line.split("; "):
        header, colon, text = part.partition(": ")
        if not part or len(header) > HEADER_CHARS:
            return {}
        if colon:
            cells[header] = text
        elif not any(cells):  # a section, which stands before the cells
            cells[""] = part
        else:
            return {}
    return cells if len(cells) > 1 else {}


@lru_cache(maxsize=64)
def rows_of(text: str) -> list[Row]:
    """Return the rows of all tables of a text, in order; none if there are more than MAX_ROWS."""
    if "; " not in text:
        return []
    rows, caption = list[Row](), ""
    for line in text.split("\n"):
        if cells := cells_of(line):
            rows.append(Row(line, cells, caption))
        elif line:
            caption = line
    return rows if len(rows) <= MAX_ROWS else []


@lru_cache(maxsize=256)
def look_up(claim: str, text: str) -> list[Lookup]:
    """Return the tables of a text of which a claim names some but not all rows."""
    claim_keys, lookups = _keys(claim), list[Lookup]()
    for _, group in groupby(rows_of(text), key=lambda row: (next(iter(row.cells)), row.caption)):
        table = list(group)
        headers = dict.fromkeys(header for row in table for header in row.cells)
        naming = _headers_of_names(table, headers, claim_keys)
        rows, row_headers = _choose_rows(table, naming, claim_keys)
        if 0 < len(rows) < len(table):
            columns = _choose_columns([h for h in headers if h not in row_headers], claim_keys)
            lookups.append(Lookup(claim, rows, table, row_headers, columns))
    return lookups


def _headers_of_names(
    table: Sequence[Row], headers: Iterable[str], claim_keys: frozenset[str]
) -> list[str]:
    """Return the columns that can name a row: those of words, then those of years.

    Of each kind, the column with the most distinct values comes first. A year names a row only if
    the claim does not name its column: "opened in 1931" is a value.
    """
    words, years, n_distinct = list[str](), list[str](), dict[str, int]()
    for header in headers:
        texts = [row.cells[header] for row in table if header in row.cells]
        n_distinct[header] = len(set(texts))
        if all(_YEAR.fullmatch(text.translate(_DASHED)) for text in texts):
            if not _is_named(header, claim_keys):
                years.append(header)
        elif 2 * sum(bool(_P["numeric"].fullmatch(text)) for text in texts) < len(texts):
            words.append(header)
    return [
        header
        for kind in (words, years)
        for header in sorted(kind, key=n_distinct.__getitem__, reverse=True)
    ]


def _choose_rows(
    table: Sequence[Row], headers: Iterable[str], claim_keys: frozenset[str]
) -> tuple[list[Row], list[str]]:
    """Return the rows that a claim names, in order, and the columns that name them.

    Each column in turn narrows down the rows that those before it have chosen.
    """
    chosen, row_headers = set[int](), list[str]()
    for header in headers:
        texts = [row.cells.get(header, "") for row in table]
        named = {n for n, text in enumerate(texts) if _is_whole(text, claim_keys)}
        if not named:
            continue
        if not chosen:
            chosen = named
            row_headers.append(header)
        elif chosen.isdisjoint(named):
            names = {table[n].cells.get(row_headers[0]) for n in chosen}
            if not names.isdisjoint(texts[n] for n in named):
                chosen |= named  # a team may be host or guest
        elif not chosen <= named:
            chosen &= named
            row_headers.append(header)
    return [table[n] for n in sorted(chosen)], row_headers


def _choose_columns(headers: Sequence[str], claim_keys: frozenset[str]) -> list[str]:
    """Return named headers; one named in part only if no whole one has the words that it shares."""
    keys = {header: _keys(header) for header in headers if _is_named(header, claim_keys)}
    whole = [header_keys for header_keys in keys.values() if header_keys <= claim_keys]
    return [
        header
        for header, header_keys in keys.items()
        if header_keys <= claim_keys
        or not any(header_keys & claim_keys <= other for other in whole)
    ]


@lru_cache(maxsize=4096)
def _keys(text: str) -> frozenset[str]:
    """Return roots of words, and figures without commas; "St" is "Saint"."""
    text = _SHORT_FORM.sub(lambda match: _LONG_FORMS[match[1]], text)
    return frozenset([*roots(text), *_FIGURE.findall(text.translate(_DASHED).replace(",", ""))])


def _is_whole(text: str, claim_keys: frozenset[str]) -> bool:
    """Whether the claim has all words of a cell or header."""
    keys = _keys(text)
    return bool(keys) and keys <= claim_keys


def _is_named(header: str, claim_keys: frozenset[str]) -> bool:
    """Whether the claim has a word of a header, and all its figures."""
    keys = _keys(header)
    return bool(keys & claim_keys) and not any(key[0].isdigit() for key in keys - claim_keys)


def mark_cells(claim: str, quote: str) -> list[MarkedRow]:
    """Return a quote of rows as a table whose cells are marked if the claim names them.

    Empty if it has other lines than rows. The first cell, which names the row, is never marked.
    """
    lines = [cells_of(line) for line in quote.split("\n")]
    if not all(lines):
        return []
    claim_keys, marked_rows, headers = _keys(claim), list[MarkedRow](), list[str]()
    for cells in lines:
        if headers != list(cells):
            headers = list(cells)
            marked_rows.append(MarkedRow(True, [MarkedCell(h, is_marked=False) for h in headers]))
        others = headers[1:]
        named = [
            header
            for header in others
            if _is_whole(header, claim_keys) or _is_whole(cells[header], claim_keys)
        ] or [header for header in others if _is_named(header, claim_keys)]
        in_row = [MarkedCell(text, header in named) for header, text in cells.items()]
        marked_rows.append(MarkedRow(False, in_row))
    return marked_rows


def keep_named_rows(claim: str, passage: str, page: str = "") -> str:
    r"""Leave of the tables in a passage the rows that a claim names, with what follows from them.

    `page` has all rows. Without it nothing can be the largest, so a claim of a rank gets no row.

    >>> keep_named_rows("Gull Head is tall.", "Tower: Gull Head; Metres: 31\nTower: Ob; Metres: 9")
    'Tower: Gull Head; Metres: 31'
    """
    if not rows_of(page) and ranks(claim):
        return _replace_rows(passage, dict.fromkeys(row.line for row in rows_of(passage)))
    text = page or passage
    lookups, kept = look_up(claim, text), dict[str, str]()
    for lookup in lookups:
        if cell := _stating_cell(lookup):
            return cell
        is_one = len(lookup.rows) == 1
        kept |= {row.line: _without_others(lookup) if is_one else row.line for row in lookup.rows}
    for derived in _derive(claim, text):
        kept[derived.row.line] += derived.addition
    dropped = dict.fromkeys(row.line for lookup in lookups for row in lookup.table)
    return _replace_rows(passage, {**dropped, **kept})


def _replace_rows(passage: str, written: Mapping[str, str | None]) -> str:
    """Replace lines of a passage, or drop them; if none is left, return the caption."""
    new = (written.get(line, line) for line in passage.split("\n"))
    rest = "\n".join(line for line in new if line is not None).strip()
    return rest or next((row.caption for row in rows_of(passage)), "") or passage


def _stating_cell(lookup: Lookup) -> str:
    """Return caption and cell that a claim names, if they have its values and most of its words.

    Beside it, what the prose says of other cells would be read too.
    """
    claim = lookup.claim
    is_one_cell = len(lookup.rows) == len(lookup.columns) == 1
    if not is_one_cell or not values(claim) or ranks(claim):
        return ""
    text = "\n".join(filter(None, (lookup.rows[0].caption, _without_others(lookup))))
    wanted, stated = {*roots(claim)}, {*roots(text)}
    is_near = len(wanted - stated) <= _MOST_LACKING * len(wanted)
    return text if is_near and not quantities.unstated_values(claim, text) else ""


def _without_others(lookup: Lookup) -> str:
    """Return the only named row, without numbers in columns that the claim does not name.

    The whole row is returned if the claim needs them, or puts a number into another column.
    """
    claim, row = lookup.claim, lookup.rows[0]
    kept = [*lookup.row_headers, *lookup.columns, next(iter(row.cells))]
    claim_keys = _keys(claim)
    rest = "; ".join(
        f"{header}: {text}".removeprefix(": ")
        for header, text in row.cells.items()
        if header in kept
        or not (_P["numeric"].fullmatch(text) or claim_keys.isdisjoint(roots(text)))
    )
    lacks = not lookup.columns or quantities.unstated_values(claim, rest)
    return row.line if lacks and not other_value(lookup) else rest


def unstated_values(
    claim: str, source: str, languages: tuple[str | None, str | None] = (None, None)
) -> tuple[Value, ...]:
    """`quantities.unstated_values`, without the values that follow from two cells or two values."""
    absent = quantities.unstated_values(claim, source, languages)
    if not absent:
        return ()
    wordings = [f" {derived.wording} " for derived in _derive(claim, source)]
    known = follows(claim, source)
    return tuple(
        value
        for value in absent
        if not any(f" {value.span.of(claim)} " in wording for wording in wordings)
        and not any(span.overlaps(value.span) for span in known)
    )


def other_value(lookup: Lookup) -> OtherValue | None:
    r"""Return a value or rank of the claim that its row refutes, in the column that it names.

    >>> claim, text = "Ask had 43 in 1990.", "Town: Ask; 1990: 41; 2000: 43\nTown: Vik; 1990: 24"
    >>> [other_value(lookup).stated for lookup in look_up(claim, text)]
    ['41']
    """
    return _other_place(lookup) or _other_cell(lookup)


def _other_place(lookup: Lookup) -> OtherValue | None:
    for rank in ranks(lookup.claim)[:1]:
        header, place = _place(lookup, rank)
        if place and place != rank.place:
            return OtherValue(rank.span, f"{lookup.rows[0].cells[header]} ({place}.)")
    return None


def _other_cell(lookup: Lookup) -> OtherValue | None:
    """Return a value that no cell states, and that the cells named beside it contradict."""
    claim, row = lookup.claim, lookup.rows[0]
    if len(lookup.rows) > 1 or row.is_total or _P["not_of_one"].search(claim):
        return None
    claimed = [value for value in values(claim) if not value.weak]
    cells = {h: first for h in lookup.columns for first in values(row.cells.get(h, ""))[:1]}
    stated = [v for v in claimed if any(states(cell, v) for cell in cells.values())]
    others = {h: cell for h, cell in cells.items() if not any(states(cell, v) for v in stated)}
    names = "\n".join([*(row.cells.get(header, "") for header in lookup.row_headers), *others])
    for value in claimed:
        rivals = [h for h in _near(value, claim, others) if others[h].measure == value.measure]
        is_other = value not in stated and rivals
        if not is_other or not quantities.unstated_values(value.span.of(claim), names):
            continue
        if all(quantities.conflict(others[header], value) for header in rivals):
            return OtherValue(value.span, row.cells[rivals[0]])
    return None


def _near(value: Value, claim: str, headers: Iterable[str]) -> list[str]:
    """Return the columns that are named next to a value, unlike "97 died in accidents"."""
    n_behind = _WORDS_BEHIND_MEASURE if value.measure else _WORDS_BEHIND_NUMBER
    before, behind = roots(claim[: value.span.start]), roots(claim[value.span.end :])
    beside = {*before[-_WORDS_BEFORE:], *behind[:n_behind]}
    return [header for header in headers if beside.intersection(roots(header) or beside)]


@lru_cache(maxsize=256)
def _derive(claim: str, text: str) -> list[_Derived]:
    """Return what the claim says and several cells of a table show: sums, shares and ranks."""
    return [derived for lookup in look_up(claim, text) for derived in _derive_in_table(lookup)]


def _derive_in_table(lookup: Lookup) -> Iterator[_Derived]:
    claim, rows = lookup.claim, lookup.rows_without_total
    if not rows:
        return
    for rank in ranks(claim)[:1]:
        header, place = _place(lookup, rank)
        if place == rank.place:
            wording = rank.span.of(claim).removeprefix("the ")
            yield _Derived(rows[0], f"; {header}: {wording}", wording)
    columns = [header for header in lookup.columns if header in rows[0].cells]
    for header in columns or rows[0].cells:
        column = [(row, v) for row in lookup.table if (v := _number(row.cells.get(header, "")))]
        parts = [value for row, value in column if row in rows]
        if len(parts) != len(rows):
            continue
        totals = [value for row, value in column if row.is_total]
        if len(rows) == 1 and (share := _share(claim, parts[0], totals)):
            yield _Derived(rows[0], f"; {header}: {share} of the total", share)
        if total := _sum(claim, parts):
            name = lookup.row_headers[0]
            names = " and ".join(row.cells.get(name, "") for row in rows)
            yield _Derived(rows[-1], f"\n{name}: {names} together; {header}: {total}", total)


def _place(lookup: Lookup, rank: Rank) -> tuple[str, int]:
    """Return the column of a rank and the row's place in it; ("", 0) if they are unclear.

    It is the column that the claim names. If it names none, its row must have one place in all.
    """
    rows = lookup.rows_without_total
    if len(rows) != 1:
        return "", 0
    places = dict[str, int | None]()
    for header in lookup.columns or rows[0].cells:
        if number := _number(rows[0].cells.get(header, "")):
            texts = [row.cells.get(header, "") for row in lookup.table if not row.is_total]
            column = [value.low for text in texts if (value := _number(text))]
            places[header] = place_of(number.low, column, rank.order)
    if len({*places.values()}) != 1:
        return "", 0
    header, place = next(iter(places.items()))
    return header, place or 0


def _number(text: str) -> Value | None:
    return next((value for value in values(text) if not value.weak and not value.dates), None)


def _share(claim: str, part: Value, totals: Sequence[Value]) -> str:
    """Return how the claim states a part's percentage of the only total; empty if it does not."""
    if len(totals) != 1 or not totals[0].low:
        return ""
    percent = 100 * part.low / totals[0].low
    return _wording(claim, replace(part, low=percent, high=percent, measure="share", unit="%"))


def _sum(claim: str, parts: Sequence[Value]) -> str:
    """Return how the claim states the sum of two or three values; empty if it does not."""
    word = _P["not_of_one"].search(claim)
    if not word or not word["sum"] or not 2 <= len(parts) <= _MOST_SUMMANDS:
        return ""
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    return _wording(claim, replace(parts[0], low=low, high=high))


def _wording(claim: str, number: Value) -> str:
    """Return how the claim states a number; empty if it does not."""
    stated = (v for v in values(claim) if not v.weak and states(number, v))
    return next((value.span.of(claim) for value in stated), "")
