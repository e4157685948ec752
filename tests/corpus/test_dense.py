"""The vector index: exact when small, IVF or a graph when large, never wrong about a score."""

from pathlib import Path

import numpy as np
import pytest

from pincite.corpus import dense
from pincite.corpus.dense import DenseIndex, KeySet
from pincite.corpus.store import Keys, Store
from pincite.protocols import Floats
from pincite.types import Document, Span


def clustered(n: int, dim: int, seed: int = 0) -> Floats:
    """Unit vectors around n/50 centres, with a falling spectrum, as text embeddings have it."""
    chance = np.random.default_rng(seed)
    spectrum = np.arange(1, dim + 1) ** -0.5
    centres = chance.standard_normal((max(n // 50, 1), dim)) * spectrum
    vectors = centres[chance.integers(0, len(centres), n)]
    vectors += 0.9 * chance.standard_normal((n, dim)) * spectrum
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def near(vectors: Floats, n: int) -> Floats:
    chance = np.random.default_rng(9)
    queries = vectors[chance.choice(len(vectors), n, replace=False)]
    queries = queries + 0.5 * chance.standard_normal(queries.shape) / queries.shape[1] ** 0.5
    return np.asarray(queries / np.linalg.norm(queries, axis=1, keepdims=True), dtype=np.float32)


def put(store: Store, name: str, vectors: Floats) -> range:
    with store.batch():
        keys = store.put(
            Document(name, name, "x" * 10), [Span(i, i + 1) for i in range(len(vectors))]
        )
        store.put_vectors(keys, vectors)
    return keys


@pytest.fixture(params=["ivf", "hnsw"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Of both kinds of index: each law holds of either."""
    manifest = {"identity": "test", dense.KIND: request.param}
    return Store.create(tmp_path / "store.sqlite", manifest)


def exact(vectors: Floats, queries: Floats, k: int) -> list[list[int]]:
    stored = vectors.astype(np.float16).astype(np.float32)
    return [list(row[:k] + 1) for row in np.argsort(-(queries @ stored.T), axis=1, kind="stable")]


def recall(found: list[list[tuple[int, float]]], expected: list[list[int]]) -> float:
    shares = [
        len({key for key, _ in pairs} & set(keys)) / len(keys)
        for pairs, keys in zip(found, expected, strict=True)
    ]
    return float(np.mean(shares))


def test_it_finds_what_an_exact_search_finds(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "SCANNED", 10_500)
    vectors = clustered(21_000, 48)  # of fewer, the graph is not walked but read through
    queries = near(vectors, 100)
    put(store, "a", vectors)
    index = DenseIndex(tmp_path, store, 48)
    assert index.is_due()
    index.build()
    assert not index.is_due()
    index.open()
    assert index._built is not None
    assert not len(index._tail)
    found = index.search(queries, 100)
    assert recall(found, exact(vectors, queries, 100)) >= 0.98
    half = vectors.astype(np.float16).astype(np.float32)
    for pairs, query in zip(found, queries, strict=True):
        scores = [score for _, score in pairs]
        assert scores == sorted(scores, reverse=True)
        assert scores == pytest.approx([float(half[key - 1] @ query) for key, _ in pairs], abs=1e-5)
    deep = index.search(queries[:2], 30_000)  # beyond what the probed lists hold
    assert [len({key for key, _ in pairs}) for pairs in deep] == [21_000, 21_000]


def test_a_filter_leaves_the_nearest_of_what_it_accepts(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "FEW", 100)
    monkeypatch.setattr(dense, "EXACT_LIMIT", 100)
    vectors = clustered(12_000, 24)
    put(store, "a", vectors)
    index = DenseIndex(tmp_path, store, 24)
    index.build()
    index.open()
    assert not len(index._tail)
    queries = near(vectors, 30)
    nearest = exact(vectors, queries, 12_000)
    for share in (0.02, 0.3, 0.9):
        chosen = np.random.default_rng(4).random(12_001) < share
        chosen[0] = False  # no key
        some = KeySet(np.packbits(chosen, bitorder="little"), int(chosen.sum()), share)
        found = index.search(queries, 20, some)
        assert all(chosen[key] for pairs in found for key, _ in pairs)
        expected = [[k for k in keys if chosen[k]][:20] for keys in nearest]
        assert recall(found, expected) >= 0.95, share
        few = index.search(queries[:2], 30_000, some)  # more than are left
        assert [{key for key, _ in pairs} for pairs in few] == [set(np.flatnonzero(chosen))] * 2


def test_a_trained_index_is_added_to_until_it_has_doubled(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", 100)
    vectors = clustered(2_000, 16)
    put(store, "a", vectors[:900])
    index = DenseIndex(tmp_path, store, 16)
    index.build()
    put(store, "b", vectors[900:1_700])
    trained = index._train
    with monkeypatch.context() as patch:
        patch.setattr(index, "_train", lambda keys: pytest.fail("trained anew"))
        assert index.is_due()
        index.build()
    index.open()
    queries = near(vectors[:1_700], 20)
    assert recall(index.search(queries, 20), exact(vectors[:1_700], queries, 20)) > 0.99
    assert not list(index.faults())
    put(store, "c", vectors[1_700:])
    asked: list[int] = []

    def noted(keys: Keys) -> object:
        asked.append(len(keys))
        return trained(keys)

    monkeypatch.setattr(index, "_train", noted)
    index.build()
    assert asked == [2_000]


def test_tail_and_deletions(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", 500)
    vectors = clustered(2_000, 16)
    queries = near(vectors, 20)
    old = put(store, "old", vectors[:900])
    writer, reader = DenseIndex(tmp_path, store, 16), DenseIndex(tmp_path, store, 16)
    writer.build()
    reader.open()
    put(store, "gone", vectors[900:1000])
    with store.batch():
        store.remove("gone")
    put(store, "tail", vectors[1000:1400])
    assert not writer.is_due()
    for index in (writer, reader):
        index.open()
        found = index.search(queries, 5000)
        assert all(len(pairs) == 1300 for pairs in found)
        assert all(len({key for key, _ in pairs}) == 1300 for pairs in found)
    put(store, "more", vectors[1400:])
    assert writer.is_due()
    writer.build()
    reader.open()
    assert not writer.is_due()
    assert len(list(tmp_path.glob("dense-*.faiss"))) == 1
    assert recall(reader.search(queries, 10), exact(vectors, queries, 10)) > 0.85  # 100 are gone
    with store.batch():
        store.remove("old")
    assert writer.is_due()
    reader.open()
    found = reader.search(queries, 5000)
    assert all({key for key, _ in pairs} >= set(range(1001, 2001)) for pairs in found)
    assert old[0] not in store.places([old[0]])
    writer.build()
    assert not writer.is_due()
    assert not list(writer.faults())
