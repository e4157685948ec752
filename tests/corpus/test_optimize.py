"""Compact afterwards, the same in every answer, and never in anybody's way."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.laws import FakeEncoder

from pincite.corpus import dense, generation
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import optimize, rebuild, verify
from pincite.durable import n_bytes
from pincite.errors import CorpusError
from pincite.types import Document

DOCUMENTS = [Document(f"u:{i}", f"Page {i}", f"Words of page{i}. " * 400) for i in range(80)]
DELETED = [d.url for d in DOCUMENTS[1::2][:30]]  # read by the fixture `made`
DIM, EXACT_LIMIT, BATCH = 256, 100, 20
QUERIES = ["page8", "words page42", "page79"]


def answers(corpus: EmbeddedCorpus) -> list[object]:
    near = [[hit.passage for hit in hits] for hits in corpus.dense().retrieve(QUERIES, 5)]
    top = [hits[0].passage.url for hits in corpus.lexical().retrieve(QUERIES, 5)]
    return [near, top, corpus.get([d.url for d in DOCUMENTS])]


def test_smaller_and_the_same(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, FakeEncoder(256)) as corpus:
        before, manifest = answers(corpus), corpus.manifest()
    told: list[str] = []
    size = n_bytes(folder)
    before_bytes, after_bytes = optimize(folder, lambda what, done, total: told.append(what))
    assert before_bytes == size
    assert after_bytes == n_bytes(folder) < 0.8 * size
    assert {"copying (bytes)", "indexing words", "indexing vectors"} >= set(told) > set()
    assert [path.name for path in generation.generations(folder)] == ["g2"]
    assert verify(folder) == []
    with EmbeddedCorpus.open(folder, FakeEncoder(256), write=True) as corpus:
        assert answers(corpus) == before
        assert corpus.manifest() == manifest
        assert len(corpus._generation.store.changes(-1).added) == 1
        assert corpus.add(DOCUMENTS) == 30
        corpus.delete(["u:0"])
    assert verify(folder) == []
    _, again = optimize(folder)
    with_graph = optimize(folder, index="hnsw")
    assert verify(folder) == []
    assert optimize(folder)[1] == pytest.approx(with_graph[1], rel=0.02)
    rebuild(folder, FakeEncoder(256))
    with EmbeddedCorpus.open(folder, FakeEncoder(256)) as corpus:
        assert corpus.manifest()[dense.KIND] == "hnsw"  # kept by what is made anew
    rebuild(folder, FakeEncoder(256), index="ivf")
    optimize(folder)
    with EmbeddedCorpus.open(folder, FakeEncoder(256)) as corpus:
        assert corpus.manifest()[dense.KIND] == "ivf"
    assert optimize(folder)[1] == pytest.approx(again, rel=0.02)


def test_readers_go_on_and_writers_are_refused_meanwhile(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from pincite.corpus.engines import EmbeddedCorpus\n"
        "from support.laws import FakeEncoder\n"
        "with EmbeddedCorpus.open(Path(sys.argv[1]), FakeEncoder(256)) as corpus:\n"
        "    print('ready', flush=True)\n"
        "    for line in sys.stdin:\n"
        "        [words], [near] = (r.retrieve([line.strip()], 1)\n"
        "                           for r in (corpus.lexical(), corpus.dense()))\n"
        "        print(words[0].passage.url, len(near), flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    asked: list[str] = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"

        def ask(what: str, done: int = 0, total: int = 0) -> None:
            assert reader.stdin is not None
            assert reader.stdout is not None
            reader.stdin.write("page8\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == "u:8 1\n"
            if what not in asked:
                with pytest.raises(CorpusError, match="is being written by process"):
                    EmbeddedCorpus.open(folder, FakeEncoder(256), write=True)
            asked.append(what)

        optimize(folder, ask)
        asked.append("done")
        ask("done")
        reader.stdin.close()
    assert len(set(asked)) >= 3


def test_interrupted_at_any_word_of_progress(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, FakeEncoder(256)) as corpus:
        before = answers(corpus)
    told: list[str] = []
    optimize(folder, lambda what, done, total: told.append(what))
    for stop in range(len(told)):
        left = [stop]

        def interrupt(what: str, done: int, total: int, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            optimize(folder, interrupt)
        assert len(generation.generations(folder)) == 1
        assert verify(folder) == []
    with EmbeddedCorpus.open(folder, FakeEncoder(256)) as corpus:
        assert answers(corpus) == before


def test_unfinished_rebuild_is_not_thrown_away(folder: Path) -> None:
    generation.new_generation(folder / "g2", FakeEncoder(16))
    with pytest.raises(CorpusError, match="unfinished rebuild"):
        optimize(folder)
    assert (folder / "g2").exists()
    rebuild(folder, FakeEncoder(16))
    assert verify(folder) == []


def test_what_a_killed_one_left_is_no_rebuild(folder: Path) -> None:
    (folder / "g2").mkdir()
    (folder / "g2" / generation.COMPACTING).touch()
    (folder / "g2" / "store.sqlite").write_bytes(b"half")
    EmbeddedCorpus.open(folder, FakeEncoder(256)).close()
    assert not (folder / "g2").exists()
    (folder / "g2").mkdir()
    (folder / "g2" / generation.COMPACTING).touch()
    rebuild(folder, FakeEncoder(256))
    assert not (folder / "g2" / generation.COMPACTING).exists()
    assert verify(folder) == []


def test_damaged_document_stops_it(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, FakeEncoder(256), write=True) as corpus:
        corpus._generation.store._run("UPDATE blocks SET data = x'00' WHERE document = 1")
    with pytest.raises(CorpusError, match="pincite corpus verify"):
        optimize(folder)
    assert [path.name for path in generation.generations(folder)] == ["g1"]
