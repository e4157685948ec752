"""The passages that a filter leaves, as a set that both indexes can ask.

One bit for each passage key: a megabyte for eight million passages, and FAISS reads it as it is.
A document's row never changes and its key is never used again, so a set is only ever extended by
the documents that came since; a deleted passage keeps its bit, and `ranking` drops it.
"""

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pincite.corpus.rows import Keys, damaged
from pincite.corpus.store import Store
from pincite.errors import CorpusError
from pincite.retrieval.filters import Facts, Filters

# Of so few passages each is compared (9 ms at 384 dimensions), or named to the word index (20 ms
# of 100,000); of more, the indexes search as always and look at the bit.
FEW = 20_000
KEPT = 8  # filters whose sets are remembered: a server's users ask the same ones again
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
    share: float  # of all passages that were there

    @property
    def is_small(self) -> bool:
        """Whether each passage of the set is better looked at than searched for."""
        return self.n <= FEW

    def holds(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Which of the keys (n_keys,) are in the set; those that came later are not."""
        known = (keys >= 0) & (keys < 8 * len(self.bits))
        at = np.where(known, keys, 0)
        set_bits = (self.bits[at >> 3] >> (at & 7).astype(np.uint8)) & 1
        return np.asarray(known & (set_bits == 1))

    def keys(self) -> Keys:
        """The keys, ascending."""
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little")).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Known:
    last_document: int
    n_all: int
    accepted: Accepted


class AcceptedPassages:
    """The sets of one store, each made when it is first asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[Filters, _Known] = OrderedDict()

    def of(self, filters: Filters) -> Accepted:
        """The passages of the documents that `filters` accepts; call it inside a snapshot.

        Raises:
            CorpusError: A document's row is damaged.
        """
        nothing = Accepted(np.zeros(1, dtype=np.uint8), 0, 0.0)
        known = self._known.pop(filters, _Known(0, 0, nothing))
        [[newest]] = self._store.rows("SELECT COALESCE(MAX(key), 0) FROM documents")
        if newest > known.last_document:
            known = self._extended(known, filters, newest)
        self._known[filters] = known
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return known.accepted

    def _extended(self, known: _Known, filters: Filters, newest: int) -> _Known:
        firsts, lasts, n_all = [], [], known.n_all
        for rows in self._store.scan(_RANGES, "key", known.last_document + 1, newest):
            for *fields, first, last in rows:
                if first is None:  # a document without a sentence
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
    """The bits with those of the closed ranges set, which do not overlap; as long as needed."""
    if not firsts:
        return bits
    steps = np.zeros(max(8 * len(bits), max(lasts) + 1) + 1, dtype=np.int8)
    np.add.at(steps, firsts, 1)
    np.add.at(steps, np.array(lasts) + 1, -1)
    added = np.packbits(np.cumsum(steps, dtype=np.int8).astype(bool), bitorder="little")
    added[: len(bits)] |= bits
    return added
