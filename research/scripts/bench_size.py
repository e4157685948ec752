"""How an engine fares at size: loading many passages, then searching them beside another engine.

    python research/scripts/bench_size.py fill corpus.jsonl.gz kb/ --passages 200000
    python research/scripts/bench_size.py fill corpus.jsonl.gz postgresql://127.0.0.1/bench/kb --passages 200000 \\
        --server PID --data /tmp/postgres
    python research/scripts/bench_size.py search corpus.jsonl.gz kb/ postgresql://127.0.0.1/bench/kb --n 40

The documents of the file come again and again, each time at other addresses and with a tenth of
their words drawn anew; vectors are hashed bags of words of 384 numbers, not the encoder's.
Queries are stretches of thirty words of the file itself.
"""

import argparse
import os
import random
import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from bench_million import Call, alternating

from pincite.corpus import engines
from pincite.corpus.protocol import Corpus, Way
from pincite.documents.collection import collect
from pincite.protocols import Floats
from pincite.types import Document

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from support.laws import FakeEncoder

DEPTH, WORDS, DIM, AT_ONCE, STEP = 100, 30, 384, 128, 25_000
WAYS: tuple[Way, ...] = ("lexical", "dense", "hybrid")
_WORD = re.compile(r"\w+")


class Timed(FakeEncoder):
    """Knows how long it took."""

    seconds = 0.0

    def encode(self, texts: Any, role: Any) -> Floats:
        began = time.monotonic()
        found = super().encode(texts, role)
        self.seconds += time.monotonic() - began
        return found


def documents(file: Path) -> list[Document]:
    collection = collect([file])
    found = (each for piece in collection.pieces for each in collection.read(piece))
    return [each for each in found if isinstance(each, Document)]


def repeated(known: list[Document]) -> Iterator[Document]:
    """Without end; the first round as they are."""
    yield from known
    vocabulary = list({word for one in known[:2_000] for word in _WORD.findall(one.text)})
    for again in count(1):
        chance = random.Random(again)  # noqa: S311
        drawn = partial(other, chance, sorted(vocabulary))
        for one in known:
            yield replace(one, url=f"{one.url}?copy={again}", text=_WORD.sub(drawn, one.text))


def other(chance: random.Random, vocabulary: list[str], word: re.Match[str]) -> str:
    return chance.choice(vocabulary) if chance.random() < 0.1 else word[0]


def memory(pid: int) -> str:
    """Resident now and at most, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    now, most = (int(found[key].split()[0]) / 1_000 for key in ("VmRSS", "VmHWM"))
    return f"{now:,.0f} MB, at most {most:,.0f}"


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fill(given: Any) -> None:
    (address,), encoder = given.corpora, Timed(DIM)
    source, told = repeated(documents(given.file)), STEP
    with engines.create(address, encoder) as corpus:
        began = time.monotonic()
        with corpus.indexing_behind():
            n_passages = 0
            while n_passages < given.passages:
                for _ in range(8):  # counting takes a while too
                    corpus.add([next(source) for _ in range(AT_ONCE)])
                n_passages = corpus.status().n_passages
                if n_passages >= told:
                    tell(given, n_passages, began, encoder)
                    told += STEP
            print("indexing", flush=True)
        tell(given, n_passages, began, encoder)
        print(f"peak of the client: {peak():,.0f} MB")
    data = given.data or (address if isinstance(address, Path) else None)
    if data:
        print(f"{size(Path(data)) / n_passages:,.0f} bytes a passage on disk")


def tell(given: Any, n_passages: int, began: float, encoder: Timed) -> None:
    seconds = time.monotonic() - began
    server = f"; server {memory(given.server)}" if given.server else ""
    print(
        f"{n_passages:,} passages: {seconds:,.0f} s, {encoder.seconds:,.0f} of it encoding; client"
        f" {memory(os.getpid())}{server}",
        flush=True,
    )


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000


def queries(known: list[Document], n: int) -> list[str]:
    chance, found = random.Random(22), list[str]()  # noqa: S311
    while len(found) < n:
        words = chance.choice(known).text.split()
        if len(words) >= WORDS:
            at = chance.randrange(len(words) - WORDS + 1)
            found.append(" ".join(words[at : at + WORDS]))
    return found


def search(given: Any) -> None:
    asked, found = queries(documents(given.file), given.n), dict[tuple[Any, Way, int], set[str]]()
    with ExitStack() as stack:
        calls = dict[str, Call]()
        for address in given.corpora:
            corpus = stack.enter_context(engines.open(address, FakeEncoder(DIM)))

            def ask(corpus: Corpus, address: Any, way: Way, n: int) -> None:
                (hits,) = corpus.by(way).retrieve([asked[n]], DEPTH)
                found[address, way, n] = {hit.passage.passage_id for hit in hits[:10]}

            calls |= {f"{address}, {way}": partial(ask, corpus, address, way) for way in WAYS}
        for name, row in alternating(calls, given.n).items():
            print(f"{name}: {row}")
    first, last = given.corpora[0], given.corpora[-1]
    for way in WAYS:
        pairs = [(found[first, way, n], found[last, way, n]) for n in range(given.n)]
        shared = sum(len(a & b) for a, b in pairs) / sum(len(a) for a, _ in pairs)
        print(f"{way}: overlap@10 {shared:.3f}")
    print(f"peak of the client: {peak():,.0f} MB")
    if given.server:
        print(f"server {memory(given.server)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=["fill", "search"])
    parser.add_argument("file", type=Path)
    parser.add_argument("corpora", nargs="+", type=engines.address)
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--server", type=int, help="its process, to tell its memory")
    parser.add_argument("--data", type=Path, help="its folder, to tell its size")
    given = parser.parse_args()
    {"fill": fill, "search": search}[given.what](given)


if __name__ == "__main__":
    main()
