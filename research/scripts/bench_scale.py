"""One synthetic collection in several corpora: time to add, size, time of a search, recall.

    python research/scripts/bench_scale.py --n 100000 --size /tmp/kb,/var/lib/… /tmp/kb postgresql://…

Texts are words drawn by Zipf's law from topics, and vectors are sums of random vectors of their
words, weighted by rarity: no network is run, so adding takes the time of the corpus alone, and a
search the time of the search alone. Each query is ten words of a passage. Recall of meaning is
against an exact comparison with all vectors; words are compared with the first corpus.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence

import numpy as np

from pincite.corpus import engines
from pincite.protocols import Floats
from pincite.text.passages import passages
from pincite.types import Document

WORDS, TOPICS, OF_TOPIC, DIM = 60_000, 500, 400, 384
SENTENCES, OF_SENTENCE, PER_DOCUMENT = 70, 14, 9.8  # words in all: 980; passages: measured
BATCH = 70  # documents: about 700 passages, as `corpus add` has it


class StandIn:
    """A sum of random vectors, one for each word."""

    fingerprint, dim = f"stand-in-{DIM}", DIM

    def __init__(self) -> None:
        chance = np.random.default_rng(1)
        self._vectors = chance.standard_normal((WORDS, DIM), dtype=np.float32)
        self._weights = np.log1p(np.arange(1, WORDS + 1)).astype(np.float32)

    def encode(self, texts: Sequence[str], role: str) -> Floats:
        made = np.zeros((len(texts), DIM), dtype=np.float32)
        for row, text in zip(made, texts, strict=True):
            ids = [int(w.strip(".")[1:]) for w in text.lower().split() if w[1:].strip(".").isdigit()]
            row[:] = self._weights[ids] @ self._vectors[ids] if ids else self._vectors[0]
        return made / np.linalg.norm(made, axis=1, keepdims=True)


def documents(n: int) -> Iterator[Document]:
    chance = np.random.default_rng(2)
    topics = chance.integers(1_000, WORDS, (TOPICS, OF_TOPIC))
    for number in range(n):
        size = SENTENCES * OF_SENTENCE
        common = np.minimum(chance.zipf(1.15, size) - 1, WORDS - 1)
        own = topics[number % TOPICS][np.minimum(chance.zipf(1.3, size) - 1, OF_TOPIC - 1)]
        words = [f"w{i}" for i in np.where(chance.random(size) < 0.4, own, common)]
        starts = range(0, size, OF_SENTENCE)
        text = " ".join(" ".join(words[at : at + OF_SENTENCE]).capitalize() + "." for at in starts)
        yield Document(f"https://example.org/{number}", f"W{own[0]}", text, language="en")


def fill(address: str, n_documents: int) -> float:
    started, batch = time.perf_counter(), list[Document]()
    with engines.open_or_create(address, StandIn()) as corpus, corpus.indexing_behind():
        for document in documents(n_documents):
            batch.append(document)
            if len(batch) == BATCH:
                corpus.add(batch)
                batch = []
        corpus.add(batch)
    return time.perf_counter() - started


def search(given: tuple[str, list[str]]) -> list[float]:
    address, queries = given
    with engines.open(address, StandIn()) as corpus:
        hybrid, seconds = corpus.by("hybrid"), []
        hybrid.retrieve(queries[:2], 10)
        for query in queries:
            started = time.perf_counter()
            hybrid.retrieve([query], 10)
            seconds.append(time.perf_counter() - started)
    return seconds


def spread(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{p}": round(1e3 * float(np.percentile(seconds, p)), 1) for p in (50, 95)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", nargs="+")
    parser.add_argument("--n", type=int, default=100_000, help="passages")
    parser.add_argument("--queries", type=int, default=200)
    given = parser.parse_args()
    n_documents, encoder = round(given.n / PER_DOCUMENT), StandIn()
    added = {
        address: fill(address, n_documents)
        for address in given.addresses
        if not engines.exists(address)
    }
    chance = np.random.default_rng(3)
    cut = [passage for document in documents(n_documents) for passage in passages(document)]
    queries = []
    for at in chance.integers(0, len(cut), given.queries):
        words = cut[at].text.lower().replace(".", "").split()
        queries.append(" ".join(chance.choice(words, 10)))
    known = encoder.encode([f"{p.title}\n{p.text}" for p in cut], "passage")
    scores = encoder.encode(queries, "query") @ known.T
    exact = [{cut[i].passage_id for i in np.argpartition(-row, 10)[:10]} for row in scores]
    first: list[set[str]] = []
    for address in given.addresses:
        with engines.open(address, encoder) as corpus:
            ids = [
                [{hit.passage.passage_id for hit in hits} for hits in one.retrieve(queries, 10)]
                for one in (corpus.dense(), corpus.lexical())
            ]
            sizes = dict(corpus.status().n_bytes)
        first = first or ids[1]
        alone = search((address, queries))
        portions = [(address, queries[at::8]) for at in range(8)]
        with multiprocessing.get_context("spawn").Pool(8) as pool:
            of_eight = [second for seconds in pool.map(search, portions) for second in seconds]
        found = {
            "passages": len(cut),
            "add_s": round(added.get(address, 0.0)),
            "bytes": sizes,
            "one": spread(alone),
            "eight": spread(of_eight),
            "recall@10": np.mean([len(a & b) / 10 for a, b in zip(ids[0], exact, strict=True)]),
            "words": np.mean([len(a & b) / 10 for a, b in zip(ids[1], first, strict=True)]),
        }
        print(address, json.dumps(found, default=float), flush=True)


if __name__ == "__main__":
    main()
