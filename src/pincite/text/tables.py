"""Finds the cells of a table that a claim names, and what follows from them.

`pincite.documents.tables` writes a row as a line of text: "Parish: Holmby; 1990: 4,120". A network
that reads ten such lines takes any number in them for the claim's. `look_up` therefore finds the
rows whose cells of words are all in the claim, and the columns whose headers share words with it.
Where one such row meets such a column, the cell is compared with the claim. Sums, shares and ranks
are computed.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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

    def line_of(self, headers: Collection[str]) -> str:
        """Write the row with these of its columns only."""
        cells = ((header, text) for header, text in self.cells.items() if header in headers)
        return "; ".join(f"{header}: {text}" if header else text for header, text in cells)


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
def rows_of(text: str) -> tuple[Row, ...]:
    """Return the rows of all tables of a text, in order; none if there are more than MAX_ROWS."""
    if "; " not in text:
        return ()
    rows, caption = list[Row](), ""
    for line in text.split("\n"):
        if cells := cells_of(line):
            rows.append(Row(line, cells, caption))
        elif line:
            caption = line
    return tuple(rows) if len(rows) <= MAX_ROWS else ()


# ── The rows and columns that a claim names ──────────────────────────────────────────────────────


@lru_cache(maxsize=256)
def look_up(claim: str, text: str) -> tuple[Lookup, ...]:
    """Return the tables of a text of which a claim names some but not all rows."""
    claim_terms, lookups = terms_of(claim), list[Lookup]()
    for _, group in groupby(rows_of(text), key=lambda row: (next(iter(row.cells)), row.caption)):
        table = list(group)
        headers = dict.fromkeys(header for row in table for header in row.cells)
        naming = _headers_of_names(table, headers, claim_terms)
        rows, row_headers = _choose_rows(table, naming, claim_terms)
        if 0 < len(rows) < len(table):
            columns = _choose_columns([h for h in headers if h not in row_headers], claim_terms)
            lookups.append(Lookup(claim, rows, table, row_headers, columns))
    return tuple(lookups)


def _headers_of_names(
    table: Sequence[Row], headers: Iterable[str], claim_terms: frozenset[str]
) -> list[str]:
    """Return the columns that can name a row: those of words, then those of years.

    Of each kind, the column with the most distinct values comes first. A year names a row only if
    the claim does not name its column: "opened in 1931" is a value.
    """
    of_words, of_years, n_distinct = list[str](), list[str](), dict[str, int]()
    for header in headers:
        texts = [row.cells[header] for row in table if header in row.cells]
        n_distinct[header] = len(set(texts))
        if all(_YEAR.fullmatch(text.translate(_DASHED)) for text in texts):
            if not shares_a_word(claim_terms, header):
                of_years.append(header)
        elif 2 * sum(map(_is_numeric, texts)) < len(texts):
            of_words.append(header)
    for headers_of_kind in (of_words, of_years):
        headers_of_kind.sort(key=n_distinct.__getitem__, reverse=True)
    return [*of_words, *of_years]


def _choose_rows(
    table: Sequence[Row], headers: Iterable[str], claim_terms: frozenset[str]
) -> tuple[list[Row], list[str]]:
    """Return the rows that a claim names, in order, and the columns that name them.

    Each column in turn narrows down the rows that those before it have chosen.
    """
    chosen, row_headers = set[int](), list[str]()
    for header in headers:
        texts = [row.cells.get(header, "") for row in table]
        named = {n for n, text in enumerate(texts) if has_all_of(claim_terms, text)}
        narrowed = chosen & named if chosen else named
        if narrowed and narrowed != chosen:
            chosen = narrowed
            row_headers.append(header)
        elif named and not narrowed:
            names = {table[n].cells.get(row_headers[0]) for n in chosen}
            if not names.isdisjoint(texts[n] for n in named):
                chosen |= named  # both columns have the name: a team may be host or guest
    return [table[n] for n in sorted(chosen)], row_headers


def _choose_columns(headers: Sequence[str], claim_terms: frozenset[str]) -> list[str]:
    """Return named headers; one named in part only if no whole one has the words that it shares."""
    named = {header: terms_of(header) for header in headers if shares_a_word(claim_terms, header)}
    whole = [terms for terms in named.values() if terms <= claim_terms]
    return [
        header
        for header, terms in named.items()
        if terms <= claim_terms or not any(terms & claim_terms <= other for other in whole)
    ]


@lru_cache(maxsize=4096)
def terms_of(text: str) -> frozenset[str]:
    """Return roots of words, and figures without commas; "St" is "Saint"."""
    text = _SHORT_FORM.sub(lambda match: _LONG_FORMS[match[1]], text)
    return frozenset([*roots(text), *_FIGURE.findall(text.translate(_DASHED).replace(",", ""))])


def has_all_of(claim_terms: frozenset[str], text: str) -> bool:
    """Whether the claim has all words of a cell or header."""
    terms = terms_of(text)
    return bool(terms) and terms <= claim_terms


def shares_a_word(claim_terms: frozenset[str], header: str) -> bool:
    """Whether the claim has a word of a header, and all its figures."""
    terms = terms_of(header)
    return bool(terms & claim_terms) and not any(term[0].isdigit() for term in terms - claim_terms)


def _is_numeric(text: str) -> bool:
    return _P["numeric"].fullmatch(text) is not None


def _first_value(text: str) -> Value | None:
    return next((value for value in values(text) if not value.weak and not value.dates), None)


# ── What a table refutes ─────────────────────────────────────────────────────────────────────────


class OtherValue(NamedTuple):
    """A value or rank of a claim, and what the table has in its place."""

    claimed: Span  # in the claim
    stated: str


class _Ranked(NamedTuple):
    """The rank that a claim gives to a row, and the place that the row has."""

    claimed: Rank
    row: Row
    header: str
    place: int


class _ValueCell(NamedTuple):
    """A column that the claim names, and the first value of its cell."""

    header: str
    value: Value


def other_value(lookup: Lookup) -> OtherValue | None:
    r"""Return a value or rank of the claim that its row refutes, in the column that it names.

    >>> claim, text = "Ask had 43 in 1990.", "Town: Ask; 1990: 41; 2000: 43\nTown: Vik; 1990: 24"
    >>> [other_value(lookup).stated for lookup in look_up(claim, text)]
    ['41']
    """
    ranked = _rank_row(lookup)
    if ranked and ranked.place != ranked.claimed.place:
        stated = f"{ranked.row.cells[ranked.header]} ({ranked.place}.)"
        return OtherValue(ranked.claimed.span, stated)
    return _other_cell(lookup)


def _rank_row(lookup: Lookup) -> _Ranked | None:
    """Return the place of the only named row in the claim's order; None if it is unclear.

    It is that in the column that the claim names. If it names none, the row must have one place in
    all.
    """
    claimed, rows = ranks(lookup.claim)[:1], lookup.rows_without_total
    if not claimed or len(rows) != 1:
        return None
    row, places = rows[0], dict[str, int | None]()
    for header in lookup.columns or row.cells:
        if number := _first_value(row.cells.get(header, "")):
            texts = (row.cells.get(header, "") for row in lookup.table if not row.is_total)
            column = [value.low for value in map(_first_value, texts) if value]
            places[header] = place_of(number.low, column, claimed[0].order)
    place = next(iter(places.values()), None)
    if place is None or any(other != place for other in places.values()):
        return None
    return _Ranked(claimed[0], row, next(iter(places)), place)


def _other_cell(lookup: Lookup) -> OtherValue | None:
    """Return a value that no cell states, and that the cells named beside it contradict."""
    claim, row = lookup.claim, lookup.rows[0]
    if len(lookup.rows) > 1 or row.is_total or _P["not_of_one"].search(claim):
        return None
    claimed = [value for value in values(claim) if not value.weak]
    cells = [
        _ValueCell(header, in_cell[0])
        for header in lookup.columns
        if (in_cell := values(row.cells.get(header, "")))
    ]
    stated = [value for value in claimed if any(states(cell.value, value) for cell in cells)]
    unclaimed = [cell for cell in cells if not any(states(cell.value, value) for value in stated)]
    names = [row.cells.get(header, "") for header in lookup.row_headers]
    names += [cell.header for cell in unclaimed]
    for value in claimed:
        beside = _cells_beside(value, claim, unclaimed)
        rivals = [cell for cell in beside if cell.value.measure == value.measure]
        if value in stated or not rivals:
            continue
        is_in_name = not quantities.unstated_values(value.span.of(claim), "\n".join(names))
        if not is_in_name and all(quantities.conflict(cell.value, value) for cell in rivals):
            return OtherValue(value.span, row.cells[rivals[0].header])
    return None


def _cells_beside(value: Value, claim: str, cells: Iterable[_ValueCell]) -> list[_ValueCell]:
    """Return the cells whose columns are named next to a value, unlike "97 died in accidents"."""
    n_behind = _WORDS_BEHIND_MEASURE if value.measure else _WORDS_BEHIND_NUMBER
    before, behind = roots(claim[: value.span.start]), roots(claim[value.span.end :])
    beside = {*before[-_WORDS_BEFORE:], *behind[:n_behind]}
    # A header without words, such as a year, is named by the whole claim.
    return [cell for cell in cells if beside.intersection(roots(cell.header) or beside)]


# ── What follows from several cells ──────────────────────────────────────────────────────────────


class _Derived(NamedTuple):
    """A number or rank that follows from several cells, as the claim states it."""

    row: Row
    addition: str  # to the row's line
    wording: str  # in the claim


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


@lru_cache(maxsize=256)
def _derive(claim: str, text: str) -> tuple[_Derived, ...]:
    """Return what the claim says and several cells of a table show: sums, shares and ranks."""
    return tuple(derived for lookup in look_up(claim, text) for derived in _derive_in_table(lookup))


def _derive_in_table(lookup: Lookup) -> Iterator[_Derived]:
    claim, rows = lookup.claim, lookup.rows_without_total
    if not rows:
        return
    ranked = _rank_row(lookup)
    if ranked and ranked.place == ranked.claimed.place:
        wording = ranked.claimed.span.of(claim).removeprefix("the ")
        yield _Derived(ranked.row, f"; {ranked.header}: {wording}", wording)
    columns = [header for header in lookup.columns if header in rows[0].cells]
    for header in columns or rows[0].cells:
        numbers = ((row, _first_value(row.cells.get(header, ""))) for row in lookup.table)
        column = [(row, number) for row, number in numbers if number]
        parts = [number for row, number in column if row in rows]
        if len(parts) != len(rows):
            continue
        totals = [number for row, number in column if row.is_total]
        if len(rows) == 1 and (share := _stated_share(claim, parts[0], totals)):
            yield _Derived(rows[0], f"; {header}: {share} of the total", share)
        if total := _stated_sum(claim, parts):
            name = lookup.row_headers[0]
            names = " and ".join(row.cells.get(name, "") for row in rows)
            yield _Derived(rows[-1], f"\n{name}: {names} together; {header}: {total}", total)


def _stated_share(claim: str, part: Value, totals: Sequence[Value]) -> str | None:
    """Return how the claim states a part's percentage of the only total; None if it does not."""
    if len(totals) != 1 or not totals[0].low:
        return None
    percent = 100 * part.low / totals[0].low
    return _wording(claim, replace(part, low=percent, high=percent, measure="share", unit="%"))


def _stated_sum(claim: str, parts: Sequence[Value]) -> str | None:
    """Return how the claim states the sum of two or three values; None if it does not."""
    word = _P["not_of_one"].search(claim)
    if not word or not word["sum"] or not 2 <= len(parts) <= _MOST_SUMMANDS:
        return None
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    return _wording(claim, replace(parts[0], low=low, high=high))


def _wording(claim: str, number: Value) -> str | None:
    stated = (value for value in values(claim) if not value.weak and states(number, value))
    return next((value.span.of(claim) for value in stated), None)


# ── What a network reads of a table ─────────────────────────────────────────────────────────────


def keep_named_rows(claim: str, passage: str, page: str = "") -> str:
    r"""Leave of the tables in a passage the rows that a claim names, with what follows from them.

    `page` has all rows. Without it nothing can be the largest, so a claim of a rank gets no row.

    >>> keep_named_rows("Gull Head is tall.", "Tower: Gull Head; Metres: 31\nTower: Ob; Metres: 9")
    'Tower: Gull Head; Metres: 31'
    """
    if not rows_of(page) and ranks(claim):
        return _replace_rows(passage, dict.fromkeys(row.line for row in rows_of(passage)))
    text = page or passage
    lookups = look_up(claim, text)
    if cell := next(filter(None, map(_stating_cell, lookups)), None):
        return cell
    kept = dict[str, str]()
    for lookup in lookups:
        is_only = len(lookup.rows) == 1
        kept |= {row.line: _named_cells(lookup) if is_only else row.line for row in lookup.rows}
    for derived in _derive(claim, text):
        kept[derived.row.line] += derived.addition
    dropped = dict.fromkeys(row.line for lookup in lookups for row in lookup.table)
    return _replace_rows(passage, {**dropped, **kept})


def _replace_rows(passage: str, written: Mapping[str, str | None]) -> str:
    """Replace lines of a passage, or drop them; if none is left, return the caption."""
    new = (written.get(line, line) for line in passage.split("\n"))
    rest = "\n".join(line for line in new if line is not None).strip()
    return rest or next((row.caption for row in rows_of(passage)), "") or passage


def _stating_cell(lookup: Lookup) -> str | None:
    """Return caption and cell that a claim names, if they have its values and most of its words.

    Beside it, what the prose says of other cells would be read too.
    """
    claim = lookup.claim
    is_one_cell = len(lookup.rows) == len(lookup.columns) == 1
    if not is_one_cell or not values(claim) or ranks(claim):
        return None
    text = "\n".join(filter(None, (lookup.rows[0].caption, _named_cells(lookup))))
    wanted, stated = {*roots(claim)}, {*roots(text)}
    is_near = len(wanted - stated) <= _MOST_LACKING * len(wanted)
    return text if is_near and not quantities.unstated_values(claim, text) else None


def _named_cells(lookup: Lookup) -> str:
    """Return the only named row, without numbers in columns that the claim does not name.

    The whole row is returned if the claim needs them, or puts a number into another column.
    """
    claim, row = lookup.claim, lookup.rows[0]
    claim_terms = terms_of(claim)
    named = {*lookup.row_headers, *lookup.columns, next(iter(row.cells))}
    named |= {
        header
        for header, text in row.cells.items()
        if not _is_numeric(text) and not claim_terms.isdisjoint(roots(text))
    }
    line = row.line_of(named)
    lacks = not lookup.columns or quantities.unstated_values(claim, line)
    return row.line if lacks and not other_value(lookup) else line
