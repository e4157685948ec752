"""Nearest vectors by inner product (FAISS): exact for small corpora, IVF or HNSW for large ones.

A built index covers the passages up to some key; later ones (the *tail*) are searched exactly in
memory. So a missing or stale index costs time but never changes an answer. The index's codes only
choose candidates: every score is the exact inner product with the stored vector. Built indexes are
immutable, memory-mapped files named by a stamp; deleted passages stay in them until a rebuild.

The passages that a filter accepts are a set of bits, one per passage key, in FAISS's format.
Document rows never change and keys are never reused, so a cached set only needs the documents added
since. A deleted passage keeps its bit; `protocol.best` drops it.
"""

import contextlib
import json
import math
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from pincite.corpus.protocol import IndexKind
from pincite.corpus.store import Keys, Store, damage_error
from pincite.durable import Tell, checksum, read_stamp, silent, sync, write_stamp
from pincite.errors import CorpusError
from pincite.protocols import Floats
from pincite.retrieval.filters import Facts, Filters

# ── Passages that a filter accepts ────────────────────────────────────────────────────────────────

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
        """Return the accepted passages, inside a snapshot; raises CorpusError for a damaged row."""
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
            raise damage_error(self._store.path, f"document {key}: {error}") from error
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


# ── Index ─────────────────────────────────────────────────────────────────────────────────────────

# Exact search of 20,000 vectors takes 9 ms at 384 dimensions on one busy core.
EXACT_LIMIT = 20_000
# The tail may grow to a twentieth of the built index: searching 50,000 of a million takes 5 ms.
# Adding it to a trained index takes seconds; the index is retrained when its size has doubled.
TAIL_SHARE = 20
GROWTH = 2
DEAD_SHARE = 5  # rebuild when more than a fifth has been deleted
LISTS_PER_ROOT = 4  # 4*sqrt(n) lists; FAISS's guide has 4 to 16
MAX_LISTS = 4_096  # k-means over more takes minutes
# How many vectors a query is compared with, in whole lists: all of a small index. By
# `research/scripts/sweep.py`, scanning 62,500 of a million real vectors (4,096 lists) gives
# recall@100 of 0.95 in 4.5 ms on one core.
SCANNED = 70_000
# HNSW graph (Malkov & Yashunin 2018): links per vector and level, and the search width (efSearch).
# Recall and time of other values: research/search.md.
LINKS = 32
WIDTH = 500
TRAINED_CODES = 100_000  # vectors that the ranges of the graph's codes are trained on
TRAINED_PER_LIST = 40  # FAISS warns below 39
TRAINING_ROUNDS = 5
# Candidates per wanted result. SQ8 scores are off by about 0.003 and the exact scores decide:
# recall with 1.5 times as many equals that with twice as many.
REFINED = 1.5
# Filtered passages may be far from the query, where scores are too close for the codes to tell
# apart: for the farthest 30 % of 100,000, recall@100 is 0.98 at four candidates, 0.80 at two.
FILTERED = 4
STAMP = "dense.json"
KINDS: tuple[IndexKind, ...] = get_args(IndexKind)
KIND = "vector_index"  # key in the store's manifest; IVF if absent


@cache
def _faiss() -> Any:
    """Import it where it is first used; its type stubs lack half of it."""
    import faiss

    return faiss


@dataclass(frozen=True)
class _Stamp:
    file: str
    store: str
    last_key: int
    n_vectors: int
    size: int  # of the file, in bytes
    sha256: str
    n_trained: int  # number of vectors when its lists were trained


class DenseIndex:
    """The vectors of one store, of `dim` dimensions. `build` needs the writer's lock."""

    def __init__(self, folder: Path, store: Store, dim: int) -> None:
        self._folder = folder
        self._store = store
        self._dim = dim
        manifest = store.manifest()
        self._identity, self.kind = manifest["identity"], manifest.get(KIND, "ivf")
        self._stamp: _Stamp | None = None
        self._built: _Lists | _Graph | None = None
        self._sequence = -1
        self._last_key = 0
        self._tail_keys: Keys = np.empty(0, dtype=np.int64)
        self._tail: Floats = np.empty((0, dim), dtype=np.float32)
        self._few: tuple[KeySet, Keys, Floats] | None = None  # the last small set searched

    def open(self) -> None:
        """Load the newest sound built index and the vectors that it lacks."""
        stamp = self._read_stamp()
        if self._built is not None and stamp is None:
            stamp = self._stamp  # its folder was just replaced; the mapped file stays usable
        if self._sequence < 0 or stamp != self._stamp:
            self._built = self._open_sound(stamp) if stamp else None
            if self._built is None and self._read_stamp() != stamp:
                self.open()  # a writer replaced it meanwhile
                return
            self._stamp = stamp
            self._last_key = stamp.last_key if stamp and self._built is not None else 0
            self._sequence = -1
            self._tail_keys = np.empty(0, dtype=np.int64)
            self._tail = np.empty((0, self._dim), dtype=np.float32)
        sequence = self._store.sequence
        if sequence != self._sequence:
            self._drop_from_tail(self._store.changes(self._sequence).deleted)
            self._extend_tail()
            self._sequence = sequence

    def close(self) -> None:
        self._stamp, self._built = None, None

    def is_due(self) -> bool:
        """Whether a built index is missing, damaged, or too far behind; reads no vectors."""
        stamp = self._read_stamp()
        if (n_passages := self._store.n_passages()) <= EXACT_LIMIT:
            return False
        if stamp is None or not self._is_whole(stamp):
            return True
        n_alive = self._store.n_passages(up_to=stamp.last_key)
        n_tail, n_dead = n_passages - n_alive, stamp.n_vectors - n_alive
        is_long = n_tail > max(EXACT_LIMIT, stamp.n_vectors // TAIL_SHARE)
        return is_long or n_dead > stamp.n_vectors // DEAD_SHARE

    def build(self, tell: Tell = silent) -> None:
        """Write an index of all vectors, then name it in the stamp; raises CorpusError."""
        keys = self._store.keys()
        index, last, n_trained = self._grown(keys) or (self._train(keys), 0, len(keys))
        for portion, vectors in self._store.vectors_between(last + 1, int(keys[-1]), self._dim):
            index.add_with_ids(vectors, portion)
            tell("indexing vectors", index.ntotal, len(keys))
        path = self._folder / f"dense-{uuid.uuid4().hex[:8]}.faiss"
        try:
            _faiss().write_index(index, str(path))
            self._name(path, int(keys[-1]), index.ntotal, n_trained)
        except (RuntimeError, OSError) as error:
            path.unlink(missing_ok=True)
            raise CorpusError(
                f"The vector index {path} could not be written: {error}. The documents are safe, "
                "and searches stay exact but slow. Is the disk full?"
            ) from error

    def _grown(self, keys: Keys) -> tuple[Any, int, int] | None:
        """Return the built index in memory, its last key and n_trained; None to retrain."""
        stamp = self._read_stamp()
        if stamp is None or len(keys) > GROWTH * stamp.n_trained or not self._is_whole(stamp):
            return None
        n_dead = stamp.n_vectors - int(np.searchsorted(keys, stamp.last_key, "right"))
        if n_dead > stamp.n_vectors // DEAD_SHARE:
            return None
        try:
            index = _faiss().read_index(str(self._folder / stamp.file))
        except RuntimeError:
            return None
        return index, stamp.last_key, stamp.n_trained

    def _name(self, path: Path, last: int, n_vectors: int, n_trained: int) -> None:
        """Read a written file back, make it the built index, and remove the previous one."""
        _faiss().read_index(str(path), self._reading())  # a full disk may show only here
        sync(path)
        written = (path.stat().st_size, checksum(path))
        stamp = _Stamp(path.name, self._identity, last, n_vectors, *written, n_trained)
        write_stamp(self._folder / STAMP, asdict(stamp))
        self.sweep()

    def leftovers(self) -> list[Path]:
        """Return index files that the stamp does not name, left by killed or older builds."""
        stamp = self._read_stamp()
        return [p for p in self._folder.glob("dense-*.faiss") if not stamp or p.name != stamp.file]

    def sweep(self) -> None:
        for path in self.leftovers():
            with contextlib.suppress(PermissionError):  # Windows cannot remove a mapped file
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        (self._folder / STAMP).unlink(missing_ok=True)
        self.sweep()

    def faults(self, tell: Tell = silent) -> Iterator[tuple[str, str]]:
        """Check the built index, if any, and yield (place, problem)."""
        stamp = self._read_stamp()
        if stamp is None:
            if (self._folder / STAMP).exists():
                yield str(self._folder / STAMP), "is damaged, or belongs to another store"
            elif self.is_due():
                yield str(self._folder / STAMP), "is missing, and searches are exact but slow"
            return
        path = self._folder / stamp.file
        built = self._open_sound(stamp) if checksum(path) == stamp.sha256 else None
        if built is None:
            yield str(path), "is missing, or not what was written"
            return
        keys, stored = built.keys(), self._store.keys()
        missing = np.setdiff1d(stored[stored <= stamp.last_key], keys)
        if len(missing):
            problem = f"lacks {len(missing)} vectors, the first of passage {missing[0]}"
            yield str(path), problem
        if len(np.unique(keys)) != len(keys) or len(keys) != stamp.n_vectors:
            problem = f"holds {len(keys)} vectors of {len(np.unique(keys))} passages"
            yield str(path), f"{problem}; {stamp.n_vectors} were written"

    def search(
        self, queries: Floats, depth: int, accepted: KeySet | None = None
    ) -> list[list[tuple[int, float]]]:
        """Return (passage key, exact score) pairs, best first, for each query (n_queries, dim).

        There are fewer than `depth` only if no more exist (among those `accepted`, if given).
        Keys of deleted passages may be included.
        """
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if accepted and accepted.is_small:
            if self._few is None or self._few[0] is not accepted:
                self._few = (accepted, *self._store.vectors(accepted.keys(), self._dim))
            return _exact(queries, depth, *self._few[1:])
        rows = np.flatnonzero(accepted.holds(self._tail_keys)) if accepted else slice(None)
        tail = _exact(queries, depth, self._tail_keys[rows], self._tail[rows])
        built = self._search_built(queries, depth, accepted)
        both = (a + b for a, b in zip(tail, built, strict=True))
        return [sorted(pairs, key=lambda pair: -pair[1])[:depth] for pairs in both]

    def _search_built(
        self, queries: Floats, depth: int, accepted: KeySet | None
    ) -> list[list[tuple[int, float]]]:
        if self._built is None:
            return [[] for _ in queries]
        n_found = min(math.ceil((FILTERED if accepted else REFINED) * depth), self._built.n)
        candidates = self._built.nearest(queries, n_found, accepted)
        short = np.flatnonzero((candidates < 0).sum(axis=1) > n_found - min(depth, n_found))
        if len(short):
            candidates[short] = self._built.of_all(queries[short], n_found, accepted)
        results = []
        for keys, query in zip(candidates, queries, strict=True):
            stored, vectors = self._store.vectors(keys[keys >= 0], self._dim)
            gone = np.setdiff1d(keys[keys >= 0], stored)
            pairs = _pairs(stored, vectors, query)
            # Count deleted passages too, so that "fewer than depth" still means that none are left.
            results.append(pairs + [(int(key), pairs[-1][1] if pairs else -1.0) for key in gone])
        return results

    def _train(self, keys: Keys) -> Any:
        if self.kind == "hnsw":
            named, n_sample = f"IDMap,HNSW{LINKS},SQ8", min(len(keys), TRAINED_CODES)
        else:
            n_lists = min(int(LISTS_PER_ROOT * len(keys) ** 0.5), len(keys) // TRAINED_PER_LIST)
            n_lists = max(1, min(n_lists, MAX_LISTS))
            named, n_sample = f"IVF{n_lists},SQ8", min(len(keys), n_lists * TRAINED_PER_LIST)
        sample = np.random.default_rng(0).choice(keys, n_sample, replace=False)
        _, vectors = self._store.vectors(sample, self._dim)
        index = _faiss().index_factory(self._dim, named, _faiss().METRIC_INNER_PRODUCT)
        if self.kind == "ivf":
            index.cp.niter = TRAINING_ROUNDS
            index.cp.min_points_per_centroid = 1  # silences a warning; recall is tested
        index.train(vectors)
        return index

    def _extend_tail(self) -> None:
        newest = self._store.last_key()
        portions = list(self._store.vectors_between(self._last_key + 1, newest, self._dim))
        if portions:
            self._tail_keys = np.concatenate([self._tail_keys, *(keys for keys, _ in portions)])
            self._tail = np.concatenate([self._tail, *(vectors for _, vectors in portions)])
        # A build may reach beyond the reader's snapshot.
        self._last_key = max(self._last_key, newest)

    def _drop_from_tail(self, ranges: Sequence[tuple[int, int]]) -> None:
        if not ranges or not len(self._tail_keys):
            return
        firsts, lasts = np.array(ranges, dtype=np.int64).T
        keep = np.ones(len(self._tail_keys), dtype=bool)
        starts = np.searchsorted(self._tail_keys, firsts, "left")
        ends = np.searchsorted(self._tail_keys, lasts, "right")
        for start, end in zip(starts, ends, strict=True):
            keep[start:end] = False
        if not keep.all():
            self._tail_keys, self._tail = self._tail_keys[keep], self._tail[keep]

    def _read_stamp(self) -> _Stamp | None:
        content = read_stamp(self._folder / STAMP)
        try:
            stamp = _Stamp(**content) if content else None
        except TypeError:
            return None
        return stamp if stamp and stamp.store == self._identity else None

    def _open_sound(self, stamp: _Stamp) -> "_Lists | _Graph | None":
        if not self._is_whole(stamp):
            return None
        kind: type[_Lists | _Graph] = _Graph if self.kind == "hnsw" else _Lists
        try:
            return kind(_faiss().read_index(str(self._folder / stamp.file), self._reading()))
        except RuntimeError:
            return None

    def _reading(self) -> int:
        """Map the file, or read it into memory where FAISS cannot map lists (Windows)."""
        if self.kind == "hnsw":
            return int(_faiss().IO_FLAG_MMAP_IFC)
        return int(_faiss().IO_FLAG_MMAP) if hasattr(_faiss(), "OnDiskInvertedLists") else 0

    def _is_whole(self, stamp: _Stamp) -> bool:
        """Whether the file exists with the right size; only `faults` reads its content."""
        path = self._folder / stamp.file
        return path.exists() and path.stat().st_size == stamp.size


class _Lists:
    """IVF: the vectors are in lists around centroids; a query scans the nearest lists.

    Searches return keys (n_queries, n_found), padded with -1: `nearest` scans most of the nearest
    vectors' codes, `of_all` scans all.
    """

    def __init__(self, index: Any) -> None:
        self._index = index
        # By default each search starts 32 prefetching threads: 3 of 9 ms for cached pages.
        lists = _faiss().downcast_InvertedLists(index.invlists)
        if hasattr(lists, "prefetch_nthread"):  # an empty index has others
            lists.prefetch_nthread = 0

    @property
    def n(self) -> int:
        return int(self._index.ntotal)

    def nearest(self, queries: Floats, n_found: int, accepted: KeySet | None) -> Keys:
        # Compare as many vectors with a filter as without one.
        share = SCANNED / max(1, self.n) / (accepted.share if accepted else 1.0)
        return self.of_all(queries, n_found, accepted, min(1.0, share))

    def of_all(
        self, queries: Floats, n_found: int, accepted: KeySet | None, share: float = 1.0
    ) -> Keys:
        n_probed = math.ceil(self._index.nlist * share)
        how = _faiss().SearchParametersIVF(nprobe=n_probed, **_only(accepted))
        _, keys = self._index.search(queries, n_found, params=how)
        return np.asarray(keys, dtype=np.int64)

    def keys(self) -> Keys:
        lists = self._index.invlists
        sizes = [(n, size) for n in range(self._index.nlist) if (size := lists.list_size(n))]
        parts = [_faiss().rev_swig_ptr(lists.get_ids(n), size).copy() for n, size in sizes]
        return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


class _Graph:
    """HNSW: a query walks from neighbour to nearer neighbour; same interface as `_Lists`.

    Deleted vectors remain as waypoints.
    """

    def __init__(self, index: Any) -> None:
        self._index = index
        graph = _faiss().downcast_index(index.index)
        self._codes = _faiss().downcast_index(graph.storage)

    @property
    def n(self) -> int:
        return int(self._index.ntotal)

    def nearest(self, queries: Floats, n_found: int, accepted: KeySet | None) -> Keys:
        # The walk also visits passages that are not accepted. If it would visit more neighbours
        # than there are accepted passages, compare these directly.
        share = accepted.share if accepted else 1.0
        width = math.ceil(max(WIDTH, n_found) / max(share, 1 / max(1, self.n)))
        if width * LINKS > share * self.n:
            return self.of_all(queries, n_found, accepted)
        how = _faiss().SearchParametersHNSW(efSearch=width, **_only(accepted))
        return np.asarray(self._index.search(queries, n_found, params=how)[1], dtype=np.int64)

    def of_all(self, queries: Floats, n_found: int, accepted: KeySet | None) -> Keys:
        only = _only(accepted)
        if accepted:  # the graph stores positions, not keys
            only = {"sel": _faiss().IDSelectorTranslated(self._index.id_map, only["sel"])}
        how = _faiss().SearchParameters(**only)
        _, rows = self._codes.search(queries, n_found, params=how)
        return np.where(rows < 0, -1, self._keys[rows])

    @cached_property
    def _keys(self) -> Keys:
        return np.asarray(_faiss().vector_to_array(self._index.id_map), dtype=np.int64)

    def keys(self) -> Keys:
        return np.sort(self._keys)


def _only(accepted: KeySet | None) -> dict[str, Any]:
    return {"sel": _faiss().IDSelectorBitmap(accepted.bits)} if accepted else {}


def _exact(
    queries: Floats, depth: int, keys: Keys, vectors: Floats
) -> list[list[tuple[int, float]]]:
    n_found = min(depth, len(keys))
    if not n_found:
        return [[] for _ in queries]
    _, nearest = _faiss().knn(queries, vectors, n_found, metric=_faiss().METRIC_INNER_PRODUCT)
    pairs = zip(nearest, queries, strict=True)
    return [_pairs(keys[rows], vectors[rows], query) for rows, query in pairs]


def _pairs(keys: Keys, vectors: Floats, query: Floats) -> list[tuple[int, float]]:
    """Return (key, inner product) pairs, best first.

    Scores are computed row by row, so a score never depends on its batch.
    """
    scores = np.einsum("ij,j->i", vectors, query)
    order = np.lexsort((keys, -scores))
    return [(int(keys[i]), float(scores[i])) for i in order]
