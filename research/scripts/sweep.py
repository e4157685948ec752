"""Which vector index at which size: python research/scripts/sweep.py CORPUS [--vectors N] [--queries FILE]

Reads the vectors of a built corpus (real ones: synthetic vectors mislead, see docs/benchmarks.md),
builds each kind of FAISS index over them, and prints for each setting the recall@100 against an
exact search, the time of one query on one thread, bytes a vector and seconds to build. Queries are
the lines of FILE, or sentences of about thirty words drawn from the corpus itself.

`pincite.corpus.dense` takes its parameters from this table: make sweep CORPUS=folder
"""

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pincite.corpus.generation import current_name
from pincite.corpus.store import Store
from pincite.models import weights
from pincite.models.session import OnnxEncoder
from pincite.protocols import Floats

faiss: Any = import_module("faiss")  # its stubs lack most of what is used here
DEPTH = 100
N_QUERIES = 300
SEED = 5
TRAINED_PER_LIST = 40
PROBES = (8, 16, 32, 64, 128, 256)
# Factory string → the settings that are searched with; {"nprobe"} of IVF, {"efSearch"} of HNSW, and
# with a refining index how many times DEPTH candidates it looks at exactly ("k").
KINDS: dict[str, list[dict[str, int]]] = {
    "IVF1024,SQ8": [{"nprobe": n} for n in PROBES],
    "IVF2048,SQ8": [{"nprobe": n} for n in PROBES],
    "IVF4096,SQ8": [{"nprobe": n} for n in PROBES],
    "IVF2048,SQ4": [{"nprobe": n} for n in PROBES[2:]],
    "IVF2048,RaBitQ": [{"nprobe": 64}],
    "IVF2048,RaBitQ,Refine(SQ8)": [{"nprobe": n, "k": k} for n in PROBES[2:] for k in (4, 10)],
    "IVF2048,PQ96x4fs,Refine(SQ8)": [{"nprobe": n, "k": k} for n in PROBES[2:] for k in (4, 10)],
    "HNSW16,SQ8": [{"efSearch": n} for n in (200, 400)],
    "HNSW32,SQ8": [{"efSearch": n} for n in (200, 300, 400, 600)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--vectors", type=int, default=0, help="Only the first N. [all]")
    parser.add_argument("--queries", type=Path, help="A text file, a query a line.")
    parser.add_argument("--encoder", default=weights.ENCODER, help="What made the corpus.")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), help="Only these.")
    given = parser.parse_args()
    encoder = OnnxEncoder(weights.locate(given.encoder))
    store = Store.open(given.corpus / current_name(given.corpus) / "store.sqlite", write=False)
    vectors = stored(store, given.vectors, encoder.dim)
    asked = given.queries.read_text().splitlines() if given.queries else sentences(store)
    queries = encoder.encode(asked, "query")
    sweep(vectors, queries, given.kinds)


def stored(store: Store, limit: int, dim: int) -> Floats:
    n = min(limit or store.n_passages(), store.n_passages())
    vectors = np.empty((n, dim), dtype=np.float32)
    done = 0
    for _, portion in store.vectors_between(1, store.last_key(), dim):
        taken = portion[: n - done]
        vectors[done : done + len(taken)] = taken
        done += len(taken)
        if done == n:
            break
    return vectors[:done]


def sentences(store: Store) -> list[str]:
    """Real text of a claim's length: the first thirty words of a passage's second half."""
    keys = np.random.default_rng(SEED).choice(store.keys(), N_QUERIES, replace=False)
    passages = store.passages(list(store.places(keys).values()))
    return [" ".join(re.findall(r"\S+", p.text)[-45:][:30]) for p in passages]


def sweep(vectors: Floats, queries: Floats, kinds: list[str]) -> None:
    exact = faiss.IndexFlatIP(vectors.shape[1])
    exact.add(vectors)
    expected = [set(row) for row in exact.search(queries, DEPTH)[1]]
    print(f"{len(vectors)} vectors, {len(queries)} queries, recall@{DEPTH}\n")
    print("| index | setting | recall | p50 ms | p95 ms | bytes a vector | build s |")
    print("|---|---|---|---|---|---|---|", flush=True)
    row("Flat (exact)", {}, measured(exact, queries, {}, expected), vectors[:1].nbytes, 0)
    del exact
    for kind in kinds:
        started = time.perf_counter()
        index = built(kind, vectors)
        seconds = time.perf_counter() - started
        size = n_bytes(index) / len(vectors)
        for setting in KINDS[kind]:
            row(kind, setting, measured(index, queries, setting, expected), size, seconds)


def row(kind: str, setting: dict[str, int], found: Any, size: float, seconds: float) -> None:
    recall, p50, p95 = found
    words = " ".join(f"{key} {value}" for key, value in setting.items()) or "-"
    print(
        f"| {kind} | {words} | {recall:.3f} | {p50:.2f} | {p95:.2f} | {size:.0f} | {seconds:.0f} |",
        flush=True,
    )


def built(kind: str, vectors: Floats) -> Any:
    index: Any = faiss.index_factory(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    lists = re.match(r"IVF(\d+)", kind)
    n_sample = min(len(vectors), int(lists[1]) * TRAINED_PER_LIST if lists else 20_000)
    chosen = np.random.default_rng(0).choice(len(vectors), n_sample, replace=False)
    base = faiss.downcast_index(getattr(index, "base_index", index))
    if lists:
        base.cp.niter = 5
        base.cp.min_points_per_centroid = 1
    index.train(vectors[np.sort(chosen)])
    for start in range(0, len(vectors), 65_536):
        index.add(vectors[start : start + 65_536])
    return index


def n_bytes(index: Any) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "index"
        faiss.write_index(index, str(path))
        return path.stat().st_size


def measured(
    index: Any, queries: Floats, setting: dict[str, int], expected: list[set[int]]
) -> tuple[float, ...]:
    """Mean recall, and the median and 95th percentile of milliseconds a query, on one thread."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    params, shares, times = how(setting), [], []
    for query, best in zip(each(queries), expected, strict=True):
        started = time.perf_counter()
        _, found = index.search(query, DEPTH, params=params)
        times.append(1000 * (time.perf_counter() - started))
        shares.append(len(best & set(found[0])) / len(best))
    faiss.omp_set_num_threads(threads)
    return (statistics.mean(shares), *map(float, np.percentile(times, (50, 95))))


def how(setting: dict[str, int]) -> Any:
    if "efSearch" in setting:
        return faiss.SearchParametersHNSW(efSearch=setting["efSearch"])
    if "nprobe" not in setting:
        return None
    ivf = faiss.SearchParametersIVF(nprobe=setting["nprobe"])
    if "k" not in setting:
        return ivf
    return faiss.IndexRefineSearchParameters(k_factor=setting["k"], base_index_params=ivf)


def each(queries: Floats) -> Iterator[Floats]:
    return (queries[i : i + 1] for i in range(len(queries)))


if __name__ == "__main__":
    main()
