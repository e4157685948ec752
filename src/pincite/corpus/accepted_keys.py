"""Computes the set of passages that a filter accepts, as one bit per passage key in FAISS's format.

Document rows never change and keys are never reused, so a cached set only needs the documents added
since. A deleted passage keeps its bit; `ranking` drops it.
"""

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pincite.corpus.store import Keys, Store, damaged
from pincite.errors import CorpusError
from pincite.retrieval.filters import Facts, Filters

# Up to this many passages are compared one by one (9 ms at 384 dimensions) or named to the word
# index (20 ms of 100,000). Larger sets are checked bit by bit during a normal index search.
FEW = 20_000
MOST_CACHED = 8  # filters whose sets are cached: users of a server repeat them
_RANGES = (
    "SELECT key, url, title, kind, published, language, meta,"
    " (SELECT MIN(p.key) FROM passages p WHERE p.document = documents.key),"
    " (SELECT MAX(p.key) FROM passages p WHERE p.document = documents.key) FROM documents"
)


@dataclass(frozen=True, eq=False, slots=True)
class KeySet:
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
class _Entry:
    last_document: int
    n_all: int
    accepted: KeySet


class AcceptedKeys:
    """The accepted keys of one store by filter, computed when first asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._entries: OrderedDict[Filters, _Entry] = OrderedDict()

    def of(self, filters: Filters) -> KeySet:
        """Return the passages of the documents that `filters` accepts; call inside a snapshot.

        Raises:
            CorpusError: A document's row is damaged.
        """
        nothing = KeySet(np.zeros(1, dtype=np.uint8), 0, 0.0)
        entry = self._entries.pop(filters, _Entry(0, 0, nothing))
        [[newest]] = self._store.rows("SELECT COALESCE(MAX(key), 0) FROM documents")
        if newest > entry.last_document:
            entry = self._extend(entry, filters, newest)
        self._entries[filters] = entry
        if len(self._entries) > MOST_CACHED:
            self._entries.popitem(last=False)
        return entry.accepted

    def _extend(self, entry: _Entry, filters: Filters, newest: int) -> _Entry:
        firsts, lasts, n_all = list[int](), list[int](), entry.n_all
        for rows in self._store.scan(_RANGES, "key", entry.last_document + 1, newest):
            for *fields, first, last in rows:
                if first is None:  # a document without passages
                    continue
                n_all += last - first + 1
                if filters.accepts(self._facts(fields, bool(filters.where))):
                    firsts.append(first)
                    lasts.append(last)
        bits = _with_ranges(entry.accepted.bits, firsts, lasts)
        n = entry.accepted.n + int(np.sum(lasts) - np.sum(firsts)) + len(firsts)
        return _Entry(newest, n_all, KeySet(bits, n, n / max(n_all, 1)))

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
