"""List a corpus's documents in pages, and compute the set of passages that a filter accepts.

An accepted set has one bit per passage key, in FAISS's format. Document rows never change and keys
are never reused, so a cached set only needs the documents added since. A deleted passage keeps its
bit; `ranking` drops it.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pincite.corpus.store import Keys, Store, damaged, folded, raw
from pincite.errors import CorpusError
from pincite.protocols import Floats
from pincite.retrieval.filters import Facts, Filters
from pincite.types import Passage, Span

Order: TypeAlias = Literal["added", "title", "date"]
After: TypeAlias = tuple[str, int]  # sort value and key of a row
# Sort expression, comparison with the last row, and direction. Undated documents come last; the
# most recently added comes first.
_ORDERS: Mapping[Order, tuple[str, str, str]] = {
    "added": ("''", "<", "DESC"),
    "title": ("substr(title, 1, 200) COLLATE NOCASE", ">", "ASC"),
    "date": ("COALESCE(published, '')", "<", "DESC"),
}
# SQLite folds the case of ASCII only.
_CONTAINS = (
    "(title LIKE CAST(?1 AS TEXT) ESCAPE '!' OR url LIKE CAST(?1 AS TEXT) ESCAPE '!'"
    " OR length(CAST(title AS BLOB)) > length(title)"
    " AND instr(folded(CAST(title AS BLOB)), ?2))"
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A document without its text."""

    key: int
    sorted_by: str  # with `key`: where the next page starts
    doc_id: str
    url: str
    title: str
    kind: str
    published: str | None
    language: str | None
    n_passages: int


@dataclass(frozen=True, slots=True)
class Which:
    """Which documents to list; an empty field does not restrict."""

    order: Order = "added"
    text: str = ""  # substring of the title or the address, ignoring case
    kind: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """Counts of a corpus's documents, most frequent first, and their date range."""

    kinds: Mapping[str, int]
    languages: Mapping[str, int]  # "": unknown
    first: str | None  # earliest and latest date of publication, ISO; None: no known dates
    last: str | None
    n_undated: int


def listed(store: Store, which: Which, limit: int, after: After | None = None) -> list[Listed]:
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
        escaped = folded(which.text)
        for sign in "!%_":
            escaped = escaped.replace(sign, f"!{sign}")
        conditions.append(_CONTAINS)
        values += [raw(f"%{escaped}%"), raw(folded(which.text))]
    for name in ("kind", "language"):
        if value := getattr(which, name):
            conditions.append(f"{name} = ?")
            values.append(value)
    return conditions, values


def contents(store: Store) -> Contents:
    """Count the documents by kind, language and date; reads every document's row."""
    kinds = store.rows("SELECT kind, COUNT(*) FROM documents GROUP BY 1 ORDER BY 2 DESC, 1")
    sql = "SELECT COALESCE(language, ''), COUNT(*) FROM documents GROUP BY 1 ORDER BY 2 DESC, 1"
    languages = store.rows(sql)
    sql = "SELECT MIN(published), MAX(published), COUNT(*) - COUNT(published) FROM documents"
    [[first, last, n_undated]] = store.rows(sql)
    return Contents(dict(kinds), dict(languages), first, last, n_undated)


def url_of(store: Store, doc_id: str) -> str | None:
    rows = store.rows("SELECT url FROM documents WHERE doc_id = ?", (doc_id,))
    return str(rows[0][0]) if rows else None


def ids_of(store: Store, urls: Sequence[str]) -> list[str | None]:
    return [next((doc_id for (doc_id,) in store.at(url, "doc_id")), None) for url in urls]


def spans_of(store: Store, url: str) -> list[Span]:
    """Return the spans of the passages of the document at `url`, in text order."""
    return [Span(first, last) for first, last in store.passages_at(url, "p.first, p.last")]


def nearest(store: Store, url: str, question: Floats, k: int) -> list[Passage]:
    """Return the `k` passages of the document at `url` that are nearest to the vector (dim,)."""
    of_document = [int(key) for (key,) in store.passages_at(url, "p.key")]
    keys, vectors = store.vectors(of_document, len(question))
    best = np.lexsort((keys, -(vectors @ question)))[:k]
    places = store.places(keys[best])
    return store.passages([places[int(key)] for key in keys[best]])


# Up to this many passages are compared one by one (9 ms at 384 dimensions) or named to the word
# index (20 ms of 100,000). Larger sets are checked bit by bit during a normal index search.
FEW = 20_000
KEPT = 8  # filters whose sets are cached: users of a server repeat them
_RANGES = (
    "SELECT key, url, title, kind, published, language, meta,"
    " (SELECT MIN(p.key) FROM passages p WHERE p.document = documents.key),"
    " (SELECT MAX(p.key) FROM passages p WHERE p.document = documents.key) FROM documents"
)


@dataclass(frozen=True, eq=False, slots=True)
class Accepted:
    """A set of passage keys; equal only to itself."""

    bits: npt.NDArray[np.uint8]  # key k is bit k % 8 of byte k // 8
    n: int  # keys in the set
    share: float  # of all passages at that time

    @property
    def is_small(self) -> bool:
        return self.n <= FEW

    def holds(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which of the keys (n_keys,) are in the set; False for later passages."""
        known = (keys >= 0) & (keys < 8 * len(self.bits))
        at = np.where(known, keys, 0)
        set_bits = (self.bits[at >> 3] >> (at & 7).astype(np.uint8)) & 1
        return np.asarray(known & (set_bits == 1))

    def keys(self) -> Keys:
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little")).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Known:
    last_document: int
    n_all: int
    accepted: Accepted


class AcceptedPassages:
    """A lazily filled cache of the accepted sets of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[Filters, _Known] = OrderedDict()

    def of(self, filters: Filters) -> Accepted:
        """Return the passages of the documents that `filters` accepts; call inside a snapshot.

        Raises:
            CorpusError: A document's row is damaged.
        """
        nothing = Accepted(np.zeros(1, dtype=np.uint8), 0, 0.0)
        known = self._known.pop(filters, _Known(0, 0, nothing))
        [[newest]] = self._store.rows("SELECT COALESCE(MAX(key), 0) FROM documents")
        if newest > known.last_document:
            known = self._extend(known, filters, newest)
        self._known[filters] = known
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return known.accepted

    def _extend(self, known: _Known, filters: Filters, newest: int) -> _Known:
        firsts, lasts, n_all = [], [], known.n_all
        for rows in self._store.scan(_RANGES, "key", known.last_document + 1, newest):
            for *fields, first, last in rows:
                if first is None:  # a document without passages
                    continue
                n_all += last - first + 1
                if filters.accepts(self._facts(fields, bool(filters.where))):
                    firsts.append(first)
                    lasts.append(last)
        bits = _with_ranges(known.accepted.bits, firsts, lasts)
        n = known.accepted.n + int(np.sum(lasts) - np.sum(firsts)) + len(firsts)
        return _Known(newest, n_all, Accepted(bits, n, n / max(n_all, 1)))

    def _facts(self, fields: list[Any], with_meta: bool) -> Facts:
        key, url, title, kind, published, language, meta = fields
        try:
            if {str} != {type(v) for v in (url, title, kind, published or "", language or "")}:
                raise TypeError("a field that should be text is none")
            more = dict(json.loads(meta)) if with_meta else {}
        except (ValueError, TypeError) as error:
            raise CorpusError(damaged(self._store.path, f"document {key}: {error}")) from error
        return Facts(url, title, kind, published, language, more)


def _with_ranges(
    bits: npt.NDArray[np.uint8], firsts: list[int], lasts: list[int]
) -> npt.NDArray[np.uint8]:
    """Set the bits of these closed, disjoint ranges; the result is extended as needed."""
    if not firsts:
        return bits
    steps = np.zeros(max(8 * len(bits), max(lasts) + 1) + 1, dtype=np.int8)
    np.add.at(steps, firsts, 1)
    np.add.at(steps, np.array(lasts) + 1, -1)
    added = np.packbits(np.cumsum(steps, dtype=np.int8).astype(bool), bitorder="little")
    added[: len(bits)] |= bits
    return added
