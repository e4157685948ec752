"""Cut files of every kind, and flipped bits: the right answer, or a clear error of ours.

The store's inner pages are SQLite's, which has no checksums: where a flip there changes an answer,
`verify` must say so. Bits of the word and vector index are seen by `verify` alone (test_check.py).
"""

import random
import shutil
from pathlib import Path

import pytest
from support.laws import FakeEncoder

from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import verify
from pincite.errors import CorpusError
from pincite.retrieval.filters import Filters, condition
from pincite.types import Document

DOCUMENTS = [
    Document(
        f"u:{i}",
        f"Page {i}",
        f"Words of page{i}. " * 80,
        published="1999",
        meta={"site": "S", "side": "even odd".split()[i % 2]},
    )
    for i in range(40)
]
DIM, EXACT_LIMIT, BATCH, DELETED = 64, 50, 30, ["u:5"]
EVEN = Filters(published_to="2000", where=(condition("side == even"),))
QUERIES = [f"Page 3\n{DOCUMENTS[3].text[:400]}", "page3", "words of page17", "page39 page38"]
KINDS = {
    "pointer": "corpus.json",
    "lock": "lock",
    "word index's stamp": "g1/lexical.json",
    "word index's list": "g1/lexical-*/meta.json",
    "word index's files": "g1/lexical-*/.managed.json",
    "word index's segments": "g1/lexical-*/*.*",
    "vector index's stamp": "g1/dense.json",
    "vector index": "g1/dense-*.faiss",
    "store": "g1/store.sqlite",
}


FLIPPED = ("pointer", "lock", "word index's stamp", "vector index's stamp", "store")


def answers(folder: Path, write: bool) -> list[object]:
    with EmbeddedCorpus.open(folder, FakeEncoder(64), write=write) as corpus:
        words = corpus.lexical().retrieve(QUERIES, 5)
        near = corpus.dense().retrieve(QUERIES, 5)
        even = corpus.lexical(filters=EVEN).retrieve(QUERIES, 5)
        near_even = corpus.dense(filters=EVEN).retrieve(QUERIES, 5)
        runs = (words, near, even, near_even)
        found = [[[hit.passage for hit in hits] for hits in run] for run in runs]
        scores = [[hit.score for hit in hits] for hits in near]
        return [found, scores, corpus.get([d.url for d in DOCUMENTS])]


def damaged(folder: Path, kind: str, chance: random.Random, cut: bool) -> Path:
    copy = folder.with_name("damaged")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    paths = sorted(p for p in copy.glob(KINDS[kind]) if p.stat().st_size)
    path = chance.choice(paths)
    content = bytearray(path.read_bytes())
    if cut:
        content = content[: chance.randrange(len(content))]
    else:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    return copy


def check(folder: Path, kind: str, seed: int, expected: list[object]) -> None:
    chance = random.Random(seed)
    copy = damaged(folder, kind, chance, cut=kind not in FLIPPED or chance.random() < 0.3)
    write, named, refused = chance.random() < 0.5, False, ""
    try:
        named = any(finding.counts for finding in verify(copy))
        given = answers(copy, write)
    except CorpusError as error:
        refused = str(error)
    if refused:
        assert str(copy) in refused, f"seed {seed}: {refused}"
    elif given != expected:
        assert kind == "store", f"seed {seed}: a wrong answer"
        assert named, f"seed {seed}: a wrong answer that verify does not see"


@pytest.mark.parametrize("kind", KINDS)
def test_right_or_clear(folder: Path, kind: str) -> None:
    expected = answers(folder, write=False)
    for seed in range(3):
        check(folder, kind, seed, expected)
