"""The engine at size, and the same queries through what a user would pick instead.

    python research/scripts/bench_million.py alone CORPUS      open time, latency, memory, recall, bytes
    python research/scripts/bench_million.py against CORPUS    bm25s, Lucene and LanceDB in the same run

CORPUS was made by `pincite corpus add` (research/scripts/make_text.py says from what). Queries are stretches
of thirty words of the corpus itself, or the lines of --queries FILE. Lucene runs where --jar names
Anserini's jar (it is inside pyserini's source package) and pyjnius is installed.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from engines import BUILDERS
from sweep import sentences, stored

from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.generation import Generation, current_name
from pincite.corpus.store import Store
from pincite.models import weights
from pincite.models.session import OnnxEncoder
from pincite.protocols import Encoder, Floats
from pincite.retrieval.fusion import Fused, fuse

DEPTH = 100
OPENINGS = 5

Call = Callable[[int], Any]  # the number of a query → whatever the engine answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["alone", "against", "open"])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--queries", type=Path, help="A text file, a query a line.")
    parser.add_argument("--encoder", default=weights.ENCODER, help="What made the corpus; or none.")
    parser.add_argument("--engines", nargs="*", default=list(BUILDERS), help="Only these.")
    parser.add_argument("--jar", type=Path, help="Anserini's jar.")
    given = parser.parse_args()
    encoder = None if given.encoder == "none" else OnnxEncoder(weights.locate(given.encoder))
    if given.what == "open":
        print(json.dumps(opened(given.corpus, encoder)))
        return
    store = Store.open(given.corpus / current_name(given.corpus) / "store.sqlite", write=False)
    asked = given.queries.read_text().splitlines() if given.queries else sentences(store)
    known = Known(encoder, asked) if encoder else None
    result = alone(given, known, asked) if given.what == "alone" else against(given, known, asked)
    print(json.dumps(result, indent=1))


class Known:
    """The queries' vectors, looked up: the encoder's own time is left out."""

    def __init__(self, encoder: Encoder, asked: Sequence[str]) -> None:
        self.dim, self.fingerprint = encoder.dim, encoder.fingerprint
        self.vectors = encoder.encode(asked, "query")
        self._rows = {text: row for row, text in enumerate(asked)}

    def encode(self, texts: Sequence[str], role: str) -> Floats:
        return np.asarray(self.vectors[[self._rows[text] for text in texts]])


def opened(folder: Path, encoder: Encoder | None) -> dict[str, float]:
    """Milliseconds to open, to the end of the first search, and the resident memory, in MB."""
    before = resident()
    started = time.perf_counter()
    with EmbeddedCorpus.open(folder, encoder) as corpus:
        is_open = time.perf_counter()
        corpus.lexical().retrieve(["the first question asked"], DEPTH)
        first = time.perf_counter()
    milliseconds = [1000 * (moment - started) for moment in (is_open, first)]
    return {"open": milliseconds[0], "first": milliseconds[1], "mb": resident() - before}


def alone(given: Any, known: Known | None, asked: list[str]) -> dict[str, Any]:
    script = [sys.executable, __file__, "open", str(given.corpus), "--encoder", given.encoder]
    runs = [
        json.loads(subprocess.run(script, capture_output=True, check=True, text=True).stdout)
        for _ in range(OPENINGS)
    ]
    before = resident()
    with EmbeddedCorpus.open(given.corpus, known) as corpus:
        status = corpus.status()
        lexical, dense = corpus.lexical(), corpus.dense()

        both = Fused(lexical, dense)

        def apart(n: int) -> Any:
            words, near = (by.retrieve([asked[n]], DEPTH)[0] for by in (lexical, dense))
            return fuse(words, near, DEPTH, "weighted")

        calls: dict[str, Call] = {"lexical": lambda n: lexical.retrieve([asked[n]], DEPTH)}
        if known:
            calls |= {
                "dense": lambda n: dense.retrieve([asked[n]], DEPTH),
                "hybrid": lambda n: both.retrieve([asked[n]], DEPTH),
                "hybrid, all texts read before it is fused": apart,
            }
        times = alternating(calls, len(asked))
        memory = resident() - before
    passages = status.n_passages
    return {
        "passages": passages,
        "documents": status.n_documents,
        "queries": len(asked),
        "words a query": round(statistics.mean(len(text.split()) for text in asked), 1),
        "open ms": [round(run["open"], 1) for run in runs],
        "first search ms": [round(run["first"], 1) for run in runs],
        "bytes a passage": {k: round(v / passages, 1) for k, v in status.n_bytes.items()},
        "ms": times,
        "resident MB more than before opening": round(memory),
        "recall": recalled(given.corpus, known) if known else None,
    }


def recalled(folder: Path, known: Known) -> dict[str, dict[str, float]]:
    generation = Generation(folder / current_name(folder), write=False)
    generation.dense.open()
    rows, dense = known.vectors, generation.dense
    return recall(
        generation.store, known, {"vectors": lambda n: dense.search(rows[n : n + 1], DEPTH)}
    )


def recall(store: Store, known: Known, calls: dict[str, Call]) -> dict[str, dict[str, float]]:
    """Shares of the exact 10 and 100 nearest vectors that each call brings."""
    import faiss

    keys = store.keys()
    vectors = stored(store, 0, known.dim)
    _, best = faiss.knn(known.vectors, vectors, DEPTH, metric=faiss.METRIC_INNER_PRODUCT)
    shares: dict[str, dict[str, float]] = {}
    for name, call in calls.items():
        found = [keys_of(call(n)) for n in range(len(best))]
        shares[name] = {
            f"@{k}": round(
                statistics.mean(
                    len(set(keys[rows[:k]].tolist()) & set(ours[:k])) / k
                    for rows, ours in zip(best, found, strict=True)
                ),
                4,
            )
            for k in (10, DEPTH)
        }
    return shares


def keys_of(answer: Any) -> list[int]:
    """Of our index's answer to one query, or of an Arrow table."""
    return answer["key"].to_pylist() if hasattr(answer, "column") else [k for k, _ in answer[0]]


def against(given: Any, known: Known | None, asked: list[str]) -> dict[str, Any]:
    generation = Generation(given.corpus / current_name(given.corpus), write=False)
    generation.lexical.open()
    calls: dict[str, Call] = {
        "pincite words": lambda n: generation.lexical.search([asked[n]], DEPTH)
    }
    if known:
        generation.dense.open()
        rows = known.vectors
        calls["pincite vectors"] = lambda n: generation.dense.search(rows[n : n + 1], DEPTH)
    built: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=given.corpus.parent) as scratch:
        for name in given.engines:
            started = time.perf_counter()
            more = BUILDERS[name](generation.store, Path(scratch), asked, known, given.jar)
            built[name] = round(time.perf_counter() - started, 1)
            calls |= more
            print(name, "built in", built[name], "s", file=sys.stderr, flush=True)
        times = alternating(calls, len(asked))
        near = {name: call for name, call in calls.items() if "vectors" in name}
        shares = recall(generation.store, known, near) if known else None
        return {"seconds to build": built, "ms": times, "recall": shares}


def alternating(calls: dict[str, Call], n: int) -> dict[str, dict[str, float]]:
    """Every query through every engine before the next one; the first twenty warm up.

    `cpu`: the median of the process' own time, all threads, which other work delays less.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for number in [*range(min(20, n)), *range(n)]:
        for name, call in calls.items():
            started, before = time.perf_counter(), time.process_time()
            call(number)
            times[name].append(1000 * (time.perf_counter() - started))
            spent[name].append(1000 * (time.process_time() - before))
    return {
        name: {
            **{f"p{p}": round(float(np.percentile(times[name][-n:], p)), 2) for p in (50, 95)},
            "cpu": round(statistics.median(spent[name][-n:]), 2),
        }
        for name in calls
    }


def resident() -> float:
    """Resident memory of this process in MB, mapped files included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    main()
