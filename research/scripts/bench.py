"""Speed and memory against what a user would pick instead: python research/scripts/bench.py [verifier …]

Each part in one run on one machine, the two sides alternating: the verifier against
sentence-transformers' CrossEncoder with the same weights, BM25 against Lucene's formula, the
demo's memory; and, of a file with pages, what `pincite corpus add` costs beside the encoder alone:

    python research/scripts/bench.py add --pages FILE

Read the ratios: absolute numbers belong to the machine.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.generation import passage_text
from pincite.documents.read import read_path
from pincite.models import session, weights
from pincite.models.session import OnnxEncoder
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text.passages import passages
from pincite.types import Document
from pincite.wiki.article import article_in

DEMO = Path(weights.__file__).parents[1] / "demo" / "verify"
ROUNDS = 3
N_PAIRS = 256
N_PASSAGES, N_QUERIES, N_WORDS = 100_000, 200, 60_000
SEED = 5


def main() -> None:
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "verifier": verifier,
        "bm25": bm25,
        "memory": memory,
    }
    always = list(parts)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, "add", "bare"])
    parser.add_argument("--pages", type=Path, help="what `add` adds")
    given = parser.parse_args()
    parts |= {"add": partial(adding, given.pages), "bare": partial(bare, given.pages)}
    for name in given.parts or always:
        print(json.dumps({name: parts[name]()}, indent=1), flush=True)


def pairs() -> list[tuple[str, str]]:
    """Claims of the demo's article with passages of its web, in a fixed random order."""
    article = article_in((DEMO / "article.wiki").read_text(), title="Varrowmouth")
    documents = [d for p in sorted((DEMO / "corpus").iterdir()) for d in read_path(p)]
    found = [p.text for d in documents if isinstance(d, Document) for p in passages(d)]
    every = [(claim.text, text) for claim in article.claims for text in found]
    order = np.random.default_rng(SEED).permutation(len(every))[:N_PAIRS]
    return [every[i] for i in order]


def verifier() -> dict[str, Any]:
    """Pairs a second, tokenisation included on both sides, same threads, same pairs."""
    import torch
    from sentence_transformers import CrossEncoder

    rows = pairs()
    folder = weights.locate(weights.VERIFIER)
    ours = CrossEncoderVerifier(folder)
    with tempfile.TemporaryDirectory() as scratch:
        as_torch(weights.VERIFIER, Path(scratch))
        fp32 = CrossEncoder(scratch, device="cpu", max_length=512)
        bf16 = CrossEncoder(
            scratch, device="cpu", max_length=512, model_kwargs={"torch_dtype": torch.bfloat16}
        )
    activation = torch.nn.Identity()
    systems: dict[str, Callable[[], Any]] = {
        "pincite int8": lambda: ours._run(rows),
        "CrossEncoder fp32": lambda: fp32.predict(rows, activation_fn=activation),
        "CrossEncoder bf16": lambda: bf16.predict(rows, activation_fn=activation),
    }
    logits = {name: np.asarray(run(), dtype=np.float32)[:, 0] for name, run in systems.items()}
    seconds = alternating(systems)
    speed = {name: round(len(rows) / value, 1) for name, value in seconds.items()}
    return {
        "pairs": len(rows),
        "threads": torch.get_num_threads(),
        "pairs_per_second": speed,
        "times_fp32": round(speed["pincite int8"] / speed["CrossEncoder fp32"], 2),
        "times_bf16": round(speed["pincite int8"] / speed["CrossEncoder bf16"], 2),
        "spearman_with_fp32": round(
            float(spearman(logits["pincite int8"], logits["CrossEncoder fp32"])), 4
        ),
    }


def as_torch(name: str, target: Path) -> None:
    """The very weights of the int8 file as a Hugging Face folder."""
    from transformers import BertTokenizerFast

    from pincite_lab.training import network

    network.load(name)[0].save_pretrained(target)
    tokenizer = BertTokenizerFast(tokenizer_file=str(weights.locate(name) / "tokenizer.json"))
    tokenizer.save_pretrained(target)


def bm25() -> dict[str, Any]:
    """Top 100 for 30-word queries over synthetic passages with natural word frequencies."""
    texts, queries = synthetic()
    with tempfile.TemporaryDirectory() as scratch:
        corpus = EmbeddedCorpus.create(Path(scratch) / "c", None)
        started = time.perf_counter()
        for start in range(0, len(texts), 5000):
            numbers = range(start, min(start + 5000, len(texts)))
            corpus.add([Document(f"https://x.example/{n}", "", texts[n]) for n in numbers])
        building = time.perf_counter() - started
        ours, times, found = corpus.lexical(), [], []
        for query in queries:
            started = time.perf_counter()
            (hits,) = ours.retrieve([query], 100)
            times.append(time.perf_counter() - started)
            found.append([int(hit.passage.url.rsplit("/", 1)[1]) for hit in hits])
        corpus.close()
    exact = Lucene([text.split() for text in texts])
    expected = [exact.top(query.split(), 100) for query in queries]
    return {
        "passages": len(texts),
        "building_seconds": round(building, 1),
        "p50_ms": round(1000 * statistics.median(times), 2),
        "p95_ms": round(1000 * float(np.percentile(times, 95)), 2),
        "overlap_with_lucene_formula": {
            f"@{k}": round(
                float(
                    np.mean(
                        [
                            len(set(a[:k]) & set(b[:k])) / k
                            for a, b in zip(found, expected, strict=True)
                        ]
                    )
                ),
                4,
            )
            for k in (10, 100)
        },
    }


class Lucene:
    """BM25 as Lucene 9 computes it, written out: k1 1.2, b 0.75, lengths kept in one byte."""

    def __init__(self, passages_: list[list[str]]) -> None:
        lengths = np.array([len(words) for words in passages_])
        self.n, average = len(passages_), lengths.mean()
        stored = np.array([in_a_byte(length) for length in range(lengths.max() + 1)])[lengths]
        self.norm = 1.2 * (0.25 + 0.75 * stored / average)
        self.postings: dict[str, list[tuple[int, int]]] = {}
        for number, words in enumerate(passages_):
            for word, count in Counter(words).items():
                self.postings.setdefault(word, []).append((number, count))

    def top(self, query: list[str], k: int) -> list[int]:
        """Numbers of the best passages; ties by number."""
        scores = np.zeros(self.n)
        for word, times_asked in Counter(query).items():
            rows, counts = np.array(self.postings.get(word, [(0, 0)])).T
            idf = np.log(1 + (self.n - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += times_asked * idf * counts / (counts + self.norm[rows])
        return [int(n) for n in np.argsort(-scores, kind="stable")[:k]]


def in_a_byte(length: int) -> int:
    """What is left of a length in Lucene's SmallFloat.intToByte4: 40 and less exactly, then four
    significant bits of what is over 24."""
    if length < 40:
        return length
    over = length - 24
    shift = max(0, over.bit_length() - 4)
    return 24 + ((over >> shift) << shift)


def synthetic() -> tuple[list[str], list[str]]:
    """Passages of 40 to 100 words (one passage each) from a Zipf vocabulary, and queries.

    A query mixes words of one passage with others.

    Words are like "t17": the stemmer leaves them alone, so both engines see the same terms.
    """
    rng = np.random.default_rng(SEED)
    chances = 1 / (np.arange(N_WORDS) + 10.0)
    chances /= chances.sum()
    words = rng.choice(N_WORDS, size=(N_PASSAGES, 100), p=chances)
    lengths = rng.integers(40, 101, size=N_PASSAGES)
    texts = [" ".join(f"t{w}" for w in row[:n]) for row, n in zip(words, lengths, strict=True)]
    queries = []
    for row in rng.integers(0, N_PASSAGES, size=N_QUERIES):
        picked = rng.choice(words[row][: lengths[row]], size=18)
        noise = rng.choice(N_WORDS, size=12, p=chances)
        queries.append(" ".join(f"t{w}" for w in [*picked, *noise]))
    return texts, queries


# A child counts its parent's memory until it is another program, and this one may be large by now.
PEAK = """
import resource, subprocess, sys
demo = [sys.executable, "-m", "pincite", "demo", "--out", sys.argv[1], "-q"]
subprocess.run(demo, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def memory() -> dict[str, Any]:
    """Peak resident memory and time of the demo in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        started = time.perf_counter()
        command = [sys.executable, "-c", PEAK, scratch]
        peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds = time.perf_counter() - started
    return {"demo_peak_mb": round(int(peak) / 1024), "demo_seconds": round(seconds, 1)}


def adding(pages: Path) -> dict[str, Any]:
    """Passages a CPU-second of `pincite corpus add` and of its encoder alone, in turn.

    The whole process counts, its start and all that it starts; what one page takes, is the start.
    """
    with tempfile.TemporaryDirectory() as scratch:
        one, kb = Path(scratch) / "one.jsonl", Path(scratch) / "kb"
        line = json.dumps({"url": "https://x.example/", "text": "The bridge opened in 1911."})
        one.write_text(line)
        costs: dict[str, list[float]] = {"whole": [], "start": [], "unencoded": [], "bare": []}
        for round_ in range(ROUNDS):
            costs["whole"].append(cpu_of_adding(kb / f"{round_}", pages))
            said = subprocess.run(own("bare", pages), check=True, capture_output=True).stdout
            of_bare = json.loads(said)["bare"]
            costs["bare"].append(of_bare["cpu_seconds"])
            costs["start"].append(cpu_of_adding(kb / f"{round_}-one", one))
            costs["unencoded"].append(cpu_of_adding(kb / f"{round_}-none", pages, "--no-vectors"))
    seconds = {name: statistics.median(values) for name, values in costs.items()}
    n, lasting = of_bare["passages"], seconds["whole"] - seconds["start"]
    return {
        "passages": n,
        "load": os.getloadavg(),
        "cpu_seconds": {name: [round(value, 2) for value in each] for name, each in costs.items()},
        "passages_a_cpu_second": {name: round(n / each, 1) for name, each in seconds.items()},
        "share_of_bare": round(seconds["bare"] / seconds["whole"], 3),
        "share_of_bare_without_start": round(seconds["bare"] / lasting, 3),
    }


def cpu_of_adding(kb: Path, pages: Path, *how: str) -> float:
    """User and system seconds of the process and of those it started."""
    command = [sys.executable, "-m", "pincite", "corpus", "add", str(kb), str(pages), "-q"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *how], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def own(part: str, pages: Path) -> list[str]:
    return [sys.executable, __file__, part, "--pages", str(pages)]


def bare(pages: Path) -> dict[str, Any]:
    """The encoder's network on the pages' passages, tokenised and sorted beforehand."""
    documents = [found for found in read_path(pages) if isinstance(found, Document)]
    texts = [passage_text(p) for document in documents for p in passages(document)]
    own_session = OnnxEncoder(weights.locate(weights.ENCODER))._sessions["passage"]
    encodings = sorted(own_session._tokenizer.encode_batch(texts), key=lambda e: -len(e.ids))
    feeds = [
        {name: np.array([getattr(e, session._FIELDS[name])]) for name in own_session._inputs}
        for e in encodings
    ]
    before = time.process_time()
    with ThreadPoolExecutor(own_session._threads) as pool:
        for _ in pool.map(lambda feed: len(own_session._network.run(None, feed)), feeds):
            pass
    return {"passages": len(texts), "cpu_seconds": time.process_time() - before}


def alternating(systems: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds of each system over rounds in which all take turns."""
    times: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(ROUNDS):
        for name, run in systems.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def spearman(a: Any, b: Any) -> float:
    """Rank correlation; logits have no ties worth the care."""
    return float(np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1])


if __name__ == "__main__":
    main()
