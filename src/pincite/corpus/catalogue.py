"""A corpus as a list that people leaf through: its documents in an order, and what kinds there are.

Searching has indexes of its own; this is for "what is in it". A page of a list is one statement
that names the last row before it, so that page 1,000 costs what page 1 does but for the sorting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from pincite.corpus.rows import raw
from pincite.corpus.store import Store
from pincite.protocols import Floats
from pincite.types import Passage, Span

Order: TypeAlias = Literal["added", "title", "date"]
After: TypeAlias = tuple[str, int]  # what the list is sorted by, and the row's key
# The sorting expression, its comparison with the last row seen, and its direction. Those without
# a date come last; what was added last comes first.
_ORDERS: Mapping[Order, tuple[str, str, str]] = {
    "added": ("''", "<", "DESC"),
    "title": ("substr(title, 1, 200) COLLATE NOCASE", ">", "ASC"),
    "date": ("COALESCE(published, '')", "<", "DESC"),
}
_CONTAINS = "(title LIKE CAST(? AS TEXT) ESCAPE '!' OR url LIKE CAST(? AS TEXT) ESCAPE '!')"


@dataclass(frozen=True, slots=True)
class Listed:
    """A document without its text."""

    key: int
    sorted_by: str  # with `key` the place to go on from
    doc_id: str
    url: str
    title: str
    kind: str
    published: str | None
    language: str | None
    n_passages: int


@dataclass(frozen=True, slots=True)
class Which:
    """Which documents are listed; empty fields ask nothing."""

    order: Order = "added"
    text: str = ""  # stands in the title or the address, whatever its case
    kind: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a corpus is made of: numbers of documents, most first, and the dates they are of."""

    kinds: Mapping[str, int]
    languages: Mapping[str, int]  # "": not known
    first: str | None  # earliest and latest date of publication, ISO; None: none is known
    last: str | None
    n_undated: int


def listed(store: Store, which: Which, limit: int, after: After | None = None) -> list[Listed]:
    """At most `limit` documents behind the place `after`, in order."""
    expression, comparison, direction = _ORDERS[which.order]
    conditions, values = _conditions(which)
    if after:
        conditions.append(f"({expression}, key) {comparison} (CAST(? AS TEXT), ?)")
        values += [raw(after[0]), after[1]]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    sql = (
        f"SELECT key, {expression}, doc_id, url, title, kind, published, language,"  # noqa: S608
        " (SELECT COUNT(*) FROM passages WHERE document = documents.key)"
        f" FROM documents{where} ORDER BY {expression} {direction}, key {direction} LIMIT ?"
    )
    return [Listed(*row) for row in store.rows(sql, (*values, limit))]


def _conditions(which: Which) -> tuple[list[str], list[object]]:
    conditions: list[str] = []
    values: list[object] = []
    if which.text:
        escaped = which.text
        for sign in "!%_":
            escaped = escaped.replace(sign, f"!{sign}")
        conditions.append(_CONTAINS)
        values += [raw(f"%{escaped}%")] * 2
    for name in ("kind", "language"):
        if value := getattr(which, name):
            conditions.append(f"{name} = ?")
            values.append(value)
    return conditions, values


def contents(store: Store) -> Contents:
    """What the documents are, counted; reads every document's row."""
    kinds = store.rows("SELECT kind, COUNT(*) FROM documents GROUP BY 1 ORDER BY 2 DESC, 1")
    sql = "SELECT COALESCE(language, ''), COUNT(*) FROM documents GROUP BY 1 ORDER BY 2 DESC, 1"
    languages = store.rows(sql)
    sql = "SELECT MIN(published), MAX(published), COUNT(*) - COUNT(published) FROM documents"
    [[first, last, n_undated]] = store.rows(sql)
    return Contents(dict(kinds), dict(languages), first, last, n_undated)


def url_of(store: Store, doc_id: str) -> str | None:
    """The address of the document with this id; None if there is none."""
    rows = store.rows("SELECT url FROM documents WHERE doc_id = ?", (doc_id,))
    return str(rows[0][0]) if rows else None


def ids_of(store: Store, urls: Sequence[str]) -> list[str | None]:
    """The ids of the documents at `urls`, in order; None where there is none."""
    sql = "SELECT doc_id FROM documents WHERE url = CAST(? AS TEXT)"
    found = [store.rows(sql, (raw(url),)) for url in urls]
    return [str(rows[0][0]) if rows else None for rows in found]


def spans_of(store: Store, url: str) -> list[Span]:
    """The passages of the document at `url`, in the order of its text."""
    sql = (
        "SELECT p.first, p.last FROM documents d JOIN passages p ON p.document = d.key"
        " WHERE d.url = CAST(? AS TEXT) ORDER BY p.first, p.last"
    )
    return [Span(first, last) for first, last in store.rows(sql, (raw(url),))]


def nearest(store: Store, url: str, question: Floats, k: int) -> list[Passage]:
    """At most `k` passages of the document at `url`, the nearest to the vector (dim,) first."""
    sql = (
        "SELECT p.key FROM documents d JOIN passages p ON p.document = d.key"
        " WHERE d.url = CAST(? AS TEXT)"
    )
    of_document = [int(key) for (key,) in store.rows(sql, (raw(url),))]
    keys, vectors = store.vectors(of_document, len(question))
    best = np.lexsort((keys, -(vectors @ question)))[:k]
    places = store.places(keys[best])
    return store.passages([places[int(key)] for key in keys[best]])
