"""Checking, repairing, compacting and rebuilding: every fault is named, and no document is lost."""

import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest
from support.laws import FakeEncoder
from support.rows import each_row

from pincite import durable
from pincite.corpus import dense, engines, generation, maintenance
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.generation import POINTER, point_to
from pincite.corpus.maintenance import optimize, rebuild, verify
from pincite.corpus.protocol import Finding, IndexKind
from pincite.durable import n_bytes
from pincite.errors import CorpusError, StaleCorpus
from pincite.protocols import Floats
from pincite.retrieval.filters import Filters, condition
from pincite.text import passages as core_passages
from pincite.types import Document

DOCUMENTS = [
    Document(
        f"u:{i}",
        f"Page {i}",
        f"Words of page{i}. " * 80,
        published="1999",
        meta={"site": "S", "side": "even odd".split()[i % 2]},
    )
    for i in range(30)
]
EXACT_LIMIT = 20  # so that a vector index is built


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All documents but one, which was deleted; copied for each test, which may damage it."""
    folder = tmp_path_factory.mktemp("made") / "corpus"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "EXACT_LIMIT", EXACT_LIMIT)
        with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
            corpus.add(DOCUMENTS[:20])
            corpus.add(DOCUMENTS[20:])
            corpus.delete(["u:3"])
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(dense, "EXACT_LIMIT", EXACT_LIMIT)
    monkeypatch.setattr(durable, "PATIENCE_SECONDS", 0.1)
    return Path(shutil.copytree(made, tmp_path / "corpus"))


EVEN = Filters(published_to="2000", where=(condition("side == even"),))
QUERIES = [f"Page 4\n{DOCUMENTS[4].text[:400]}", "page4", "words of page17", "page29 page28"]


def answers(folder: Path, write: bool = False) -> list[object]:
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=write) as corpus:
        searches = [corpus.lexical(), corpus.dense()]
        searches += [corpus.lexical(filters=EVEN), corpus.dense(filters=EVEN)]
        runs = [search.retrieve(QUERIES, 5) for search in searches]
        found = [[[hit.passage for hit in hits] for hits in run] for run in runs]
        scores = [[hit.score for hit in hits] for hits in runs[1]]
        return [found, scores, corpus.get([d.url for d in DOCUMENTS])]


def kinds(findings: list[Finding]) -> set[str]:
    return {finding.kind for finding in findings}


def sql(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "g1" / "store.sqlite")
    assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()


def flip(path: Path, at: int, mask: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= mask
    path.write_bytes(content)


def contents(folder: Path) -> dict[Path, bytes]:
    """All files and folders but those of locks: the writer's, and SQLite's."""
    paths = (p for p in folder.rglob("*") if not p.name.startswith(("lock", "store.sqlite-")))
    return {path: path.read_bytes() if path.is_file() else b"" for path in paths}


def test_sound_corpora_are_silent_and_unchanged(folder: Path, tmp_path: Path) -> None:
    before, told = contents(folder), list[str]()
    assert verify(folder, tell=lambda what, done, total: told.append(what)) == []
    assert contents(folder) == before
    assert len(set(told)) >= 4
    with EmbeddedCorpus.create(tmp_path / "words", None) as corpus:
        corpus.add(DOCUMENTS[:3])
    assert verify(tmp_path / "words") == []
    EmbeddedCorpus.create(tmp_path / "empty", FakeEncoder()).close()
    assert verify(tmp_path / "empty", repair=True) == []


@each_row("corpus/check/what_is_wrong_in_the_store_is_named_and_never_dropped")
def test_what_is_wrong_in_the_store_is_named_and_never_dropped(
    folder: Path, statement: str, kind: str, place: str
) -> None:
    sql(folder, statement)
    found = [f for f in verify(folder, repair=True) if f.kind == kind]
    assert place in [Path(f.place).name if kind == "store" else f.place for f in found]
    assert all(f.counts and f.remedy for f in found)
    assert [f for f in verify(folder) if f.kind == kind] == found


def words(folder: Path) -> Path:
    [path] = (folder / "g1").glob("lexical-*")
    return path


def vectors(folder: Path) -> Path:
    [path] = (folder / "g1").glob("dense-*.faiss")
    return path


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda f: (f / "g1" / "lexical.json").unlink(), "words"),
        (lambda f: flip(f / "g1" / "lexical.json", 90), "words"),
        (lambda f: flip(next(words(f).glob("*.fieldnorm")), 40), "words"),
        (lambda f: next(words(f).glob("*.idx")).unlink(), "words"),
        (lambda f: (f / "g1" / "dense.json").unlink(), "meaning"),
        (lambda f: flip(f / "g1" / "dense.json", 90), "meaning"),
        (lambda f: flip(vectors(f), -500), "meaning"),
        (lambda f: vectors(f).unlink(), "meaning"),
        (lambda f: (f / POINTER).unlink(), "pointer"),
        (lambda f: flip(f / POINTER, 30), "pointer"),
    ],
)
def test_what_is_derived_is_found_and_made_anew(
    folder: Path, damage: Callable[[Path], None], kind: str
) -> None:
    damage(folder)
    found = verify(folder)
    assert kind in kinds([f for f in found if f.counts])
    assert all(f.place and f.problem and "--repair" in f.remedy for f in found)
    repaired = verify(folder, repair=True)
    assert kind in kinds(repaired)
    assert [f for f in repaired if f.counts] == []
    assert verify(folder) == []
    with EmbeddedCorpus.open(folder, FakeEncoder()) as corpus:
        assert corpus.lexical().retrieve(["page9"], 1)[0][0].passage.url == "u:9"
        assert corpus.status().n_documents == 29


def test_word_index_with_too_much_or_too_little(folder: Path) -> None:
    """A wrong index under a right stamp: what only the comparison with the store can see."""
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=True) as corpus:
        index = corpus._generation.lexical
        real = index._store.changes
        index._store.changes = lambda after: type(real(after))([], [])  # type: ignore[method-assign]
        corpus.delete(["u:5"])
        corpus.add([Document("u:new", "", "New.")])
    found = [f for f in verify(folder) if f.kind == "words"]
    problems = " ".join(f.problem for f in found)
    assert "lacks 1 passages" in problems
    assert "though they were deleted, 3 passages" in problems
    assert [f for f in verify(folder, repair=True) if f.counts] == []


def test_leftovers_leave_a_corpus_sound_and_go_with_repair(folder: Path) -> None:
    for name in ("lexical-0", "dense-0.faiss"):
        (folder / "g1" / name).mkdir() if "." not in name else (folder / "g1" / name).touch()
    (folder / "g2").mkdir()
    (folder / "g2" / generation.COMPACTING).touch()
    (folder / "corpus.json.part").touch()
    before, found = contents(folder), verify(folder)
    assert [(f.kind, f.counts, f.repaired) for f in found] == [("leftover", False, False)] * 4
    assert contents(folder) == before, "only a repair removes them"
    assert [f.repaired for f in verify(folder, repair=True)] == [True] * 4
    assert verify(folder) == []


def test_unfinished_rebuild_is_named_and_kept(folder: Path) -> None:
    generation.new_generation(folder / "g2", FakeEncoder(16))
    [finding] = verify(folder, repair=True)
    assert (finding.kind, finding.counts, finding.repaired) == ("leftover", False, False)
    assert "pincite corpus rebuild" in finding.remedy
    with pytest.raises(CorpusError, match="unfinished rebuild"):
        optimize(folder)
    (folder / POINTER).unlink()
    [finding] = verify(folder, repair=True)
    assert "g1, g2" in finding.remedy
    assert finding.counts
    point_to(folder, "g1")
    rebuild(folder, FakeEncoder(16))
    assert verify(folder) == []


def test_damaged_document_can_be_deleted_and_damaged_vector_made_anew(folder: Path) -> None:
    sql(folder, "UPDATE blocks SET data = x'00' WHERE document = 2")
    (folder / "g1" / "lexical.json").unlink()  # so that the word index must be made, and cannot be
    [document] = [f for f in verify(folder, repair=True) if f.kind == "document"]
    assert f"pincite corpus delete {folder} u:1" in document.remedy  # as a shell reads it
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=True) as corpus:
        with pytest.raises(CorpusError, match="damaged"):
            corpus.lexical().retrieve(["page9"], 1)
        corpus.delete(["u:1"])
        assert corpus.lexical().retrieve(["page9"], 1)[0][0].passage.url == "u:9"
        corpus.add(DOCUMENTS[1:2])
    assert verify(folder) == []
    sql(folder, "UPDATE vectors SET vector = zeroblob(64) WHERE passage = 14")
    assert kinds(verify(folder)) >= {"vector"}
    rebuild(folder, FakeEncoder())
    assert verify(folder) == []


def test_a_corpus_being_written_of_another_format_or_absent_is_not_checked(
    folder: Path, tmp_path: Path
) -> None:
    with (
        EmbeddedCorpus.open(folder, FakeEncoder(), write=True),
        pytest.raises(CorpusError, match="is being written by process"),
    ):
        verify(folder)
    with pytest.raises(CorpusError, match="is not a corpus"):
        verify(tmp_path)
    sql(folder, "UPDATE manifest SET value = '9' WHERE name = 'format'")
    with pytest.raises(CorpusError, match="has format 9"):
        verify(folder)


def test_lost_pointer_never_costs_the_documents(folder: Path) -> None:
    (folder / POINTER).unlink()
    for use in (engines.open_or_create, EmbeddedCorpus.create, EmbeddedCorpus.open):
        with pytest.raises(CorpusError, match=r"verify .* --repair"):
            use(folder, FakeEncoder())
    assert [f.repaired for f in verify(folder, repair=True)] == [True]
    with EmbeddedCorpus.open(folder, FakeEncoder()) as corpus:
        assert corpus.get([DOCUMENTS[7].url]) == [DOCUMENTS[7]]


# ── Damage of any kind ────────────────────────────────────────────────────────────────────────────

# Cut files of every kind, and flipped bits: the right answer, or a clear error of ours. The store's
# inner pages are SQLite's, which has no checksums: where a flip there changes an answer, `verify`
# must say so. Bits of the word and vector index are seen by `verify` alone (see above).

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
        assert kind in ("pointer", "store"), f"seed {seed}: what is derived was not made anew"
        assert str(copy) in refused, f"seed {seed}: {refused}"
    elif given != expected:
        assert kind == "store", f"seed {seed}: a wrong answer"
        assert named, f"seed {seed}: a wrong answer that verify does not see"


@pytest.mark.parametrize("kind", KINDS)
def test_right_or_clear(folder: Path, kind: str) -> None:
    expected = answers(folder, write=False)
    for seed in range(3):
        check(folder, kind, seed, expected)


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    """A copy that may only be read, where every user can get to: pytest's folders are private."""
    parent = Path(tempfile.mkdtemp(prefix="pincite-test-"))
    copy = shutil.copytree(folder, parent / "corpus")
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    parent.chmod(0o755)
    yield copy
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(parent)


def test_folder_that_may_only_be_read(read_only: Path) -> None:
    code = (
        # Libraries first: the folder of the interpreter may be out of reach afterwards.
        "import os, sys, faiss, tantivy; from pathlib import Path\n"
        "from pincite.corpus.engines import CorpusError, EmbeddedCorpus\n"
        "from support.laws import FakeEncoder\n"
        "folder = Path(sys.argv[1])\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        "    with EmbeddedCorpus.open(folder, FakeEncoder()) as corpus:\n"
        "        print(corpus.lexical().retrieve(['page7'], 1)[0][0].passage.url)\n"
        "        print(len(corpus.dense().retrieve(['page7'], 3)[0]))\n"
        "    EmbeddedCorpus.open(folder, FakeEncoder(), write=True)\n"
        "except CorpusError as error: print(error)\n"
    )
    command = [sys.executable, "-c", code, str(read_only)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.stdout.splitlines()[:2] == ["u:7", "3"], result.stdout + result.stderr
    assert result.stdout.splitlines()[2].startswith(str(read_only))


# ── Compacting ────────────────────────────────────────────────────────────────────────────────────


def test_smaller_and_the_same(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=True) as corpus:
        more = [Document(f"m:{i}", f"More {i}", f"Words of more{i}. " * 400) for i in range(30)]
        corpus.add(more)
        corpus.delete([document.url for document in more])
        manifest = corpus.manifest()
    before = answers(folder)
    told: list[str] = []
    size = n_bytes(folder)
    before_bytes, after_bytes = optimize(folder, lambda what, done, total: told.append(what))
    assert before_bytes == size
    assert after_bytes == n_bytes(folder) < 0.8 * size
    assert {"copying (bytes)", "indexing words", "indexing vectors"} >= set(told) > set()
    assert [path.name for path in generation.generations(folder)] == ["g2"]
    assert verify(folder) == []
    assert answers(folder) == before
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=True) as corpus:
        assert corpus.manifest() == manifest
        assert len(corpus._generation.store.changes(-1).added) == 1
        assert corpus.add(DOCUMENTS) == 1
        corpus.delete(["u:0"])
    assert verify(folder) == []
    optimize(folder, index="hnsw")
    assert verify(folder) == []
    steps: list[tuple[IndexKind | None, str]] = [(None, "hnsw"), ("ivf", "ivf"), (None, "ivf")]
    for index, kept in steps:
        rebuild(folder, FakeEncoder(), index=index)
        optimize(folder)
        with EmbeddedCorpus.open(folder, FakeEncoder()) as corpus:
            assert corpus.manifest()[dense.KIND] == kept


def test_readers_go_on_and_writers_are_refused_meanwhile(folder: Path) -> None:
    asked: list[str] = []
    with EmbeddedCorpus.open(folder, FakeEncoder()) as reader:

        def ask(what: str, done: int = 0, total: int = 0) -> None:
            assert reader.lexical().retrieve(["page8"], 1)[0][0].passage.url == "u:8"
            assert reader.dense().retrieve(["page8"], 1)[0]
            if what not in asked:
                with pytest.raises(CorpusError, match="is being written by process"):
                    EmbeddedCorpus.open(folder, FakeEncoder(), write=True)
            asked.append(what)

        optimize(folder, ask)
        asked.append("done")
        ask("done")
    assert len(set(asked)) >= 3


def test_interrupted_at_any_word_of_progress(folder: Path) -> None:
    before, told = answers(folder), list[str]()
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
    assert answers(folder) == before


def test_what_a_killed_one_left_is_no_rebuild(folder: Path) -> None:
    (folder / "g2").mkdir()
    (folder / "g2" / generation.COMPACTING).touch()
    (folder / "g2" / "store.sqlite").write_bytes(b"half")
    EmbeddedCorpus.open(folder, FakeEncoder()).close()
    assert not (folder / "g2").exists()
    (folder / "g2").mkdir()
    (folder / "g2" / generation.COMPACTING).touch()
    rebuild(folder, FakeEncoder())
    assert not (folder / "g2" / generation.COMPACTING).exists()
    assert verify(folder) == []


def test_damaged_document_stops_it(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=True) as corpus:
        corpus._generation.store._run("UPDATE blocks SET data = x'00' WHERE document = 1")
    with pytest.raises(CorpusError, match="pincite corpus verify"):
        optimize(folder)
    assert [path.name for path in generation.generations(folder)] == ["g1"]


# ── Rebuilding ────────────────────────────────────────────────────────────────────────────────────


class Counting(FakeEncoder):
    def __init__(self, dim: int = 32, limit: int = 10**9) -> None:
        super().__init__(dim)
        self.n_encoded, self._limit = 0, limit

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        self.n_encoded += len(texts)
        if self.n_encoded > self._limit:
            raise KeyboardInterrupt
        return super().encode(texts, role)


def test_a_rebuild_may_change_the_encoder(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    with EmbeddedCorpus.open(folder, None) as corpus:
        before = corpus.manifest()
    rebuild(folder, FakeEncoder(16), lambda done, total: seen.append((done, total)))
    assert seen == [(29, 29)]
    with pytest.raises(StaleCorpus):
        EmbeddedCorpus.open(folder, FakeEncoder())
    with EmbeddedCorpus.open(folder, FakeEncoder(16)) as corpus:
        assert corpus.get([d.url for d in DOCUMENTS]) == [*DOCUMENTS[:3], None, *DOCUMENTS[4:]]
        assert corpus.manifest()["digest"] == before["digest"]
        [hit] = corpus.dense().retrieve([f"Page 7\n{DOCUMENTS[7].text[:300]}"], 1)[0]
        assert hit.passage.url == "u:7"
        assert corpus.lexical().retrieve(["page9"], 1)[0][0].passage.url == "u:9"
    assert [path.name for path in folder.glob("g*")] == ["g2"]


def test_same_encoder_takes_the_vectors_over(folder: Path) -> None:
    encoder = Counting()
    with EmbeddedCorpus.open(folder, encoder) as corpus:
        before = corpus.dense().retrieve(["page3", "words"], 1000)
    encoder.n_encoded = 0
    rebuild(folder, encoder)
    assert encoder.n_encoded == 0
    with EmbeddedCorpus.open(folder, encoder) as corpus:
        assert corpus.dense().retrieve(["page3", "words"], 1000) == before


def test_interrupted_rebuild_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "DOCUMENTS_AT_ONCE", 5)
    n_passages = 29 * 3
    with pytest.raises(KeyboardInterrupt):
        rebuild(folder, Counting(16, limit=45))
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=True) as corpus:
        assert corpus.status().unfinished_rebuild
        assert corpus.status().n_bytes["unfinished"] > 0
        assert corpus.status().n_passages == n_passages
        corpus.delete(["u:1", "u:29"])
        corpus.add([Document("u:2", "Page 2", "It changed.")])
    encoder = Counting(16)
    rebuild(folder, encoder)
    assert encoder.n_encoded == n_passages - 45 - 3 + 1  # without u:29, with the new u:2
    with EmbeddedCorpus.open(folder, FakeEncoder(16)) as corpus:
        assert corpus.status().n_documents == 27
        assert corpus.get(["u:1", "u:2"]) == [None, Document("u:2", "Page 2", "It changed.")]
        assert not corpus.status().unfinished_rebuild


def test_unfinished_rebuild_for_another_encoder_is_dropped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "DOCUMENTS_AT_ONCE", 5)
    with pytest.raises(KeyboardInterrupt):
        rebuild(folder, Counting(16, limit=45))
    rebuild(folder, FakeEncoder(24))
    with EmbeddedCorpus.open(folder, FakeEncoder(24)) as corpus:
        assert corpus.status().n_documents == 29
    (folder / "g3").mkdir()
    (folder / "g3" / "store.sqlite").write_bytes(b"")
    rebuild(folder, FakeEncoder(16))
    EmbeddedCorpus.open(folder, FakeEncoder(16)).close()


def test_readers_follow_a_rebuild(folder: Path) -> None:
    encoder = FakeEncoder()
    with EmbeddedCorpus.open(folder, encoder) as reader, EmbeddedCorpus.open(folder, None) as words:
        retriever = reader.lexical()
        before = retriever.retrieve(["page5"], 3)
        rebuild(folder, encoder)
        after = retriever.retrieve(["page5"], 3)
        assert [h.passage for h in after[0]] == [h.passage for h in before[0]]
        assert len(reader.dense().retrieve(["page5"], 3)[0]) == 3
        rebuild(folder, FakeEncoder(16))
        with pytest.raises(StaleCorpus):
            retriever.retrieve(["page5"], 3)
        assert len(words.lexical().retrieve(["page5"], 3)[0]) == 3


def test_other_passage_rule(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (generation, core_passages):
        monkeypatch.setattr(module, "PASSAGE_RULE", "sentences-50-v2")
    monkeypatch.setattr(core_passages, "PASSAGE_WORDS", 50)
    with pytest.raises(StaleCorpus, match="rebuild"):
        EmbeddedCorpus.open(folder, FakeEncoder())
    encoder = Counting()
    rebuild(folder, encoder)
    with EmbeddedCorpus.open(folder, encoder) as corpus:
        assert corpus.status().n_passages == encoder.n_encoded == 29 * 5


def test_vectors_can_be_dropped_and_made(folder: Path) -> None:
    rebuild(folder, None)
    with EmbeddedCorpus.open(folder, None) as corpus:
        assert corpus.manifest()["encoder"] == "none"
    rebuild(folder, FakeEncoder())
    with EmbeddedCorpus.open(folder, FakeEncoder()) as corpus:
        assert len(corpus.dense().retrieve(["page5"], 3)[0]) == 3
