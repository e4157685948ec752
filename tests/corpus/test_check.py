"""`verify` finds every kind of fault and names it; what is derived is fixed."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from support.laws import FakeEncoder
from support.rows import each_row

from pincite.corpus import engines, generation
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.generation import POINTER, point_to
from pincite.corpus.maintenance import rebuild, verify
from pincite.corpus.protocol import Finding
from pincite.errors import CorpusError
from pincite.types import Document

DOCUMENTS = [
    Document(
        f"u:{i}", f"Page {i}", f"Words of page{i}. " * 80, published="1999", meta={"site": "S"}
    )
    for i in range(30)
]
DIM, EXACT_LIMIT, BATCH, DELETED = 32, 20, 20, ["u:3"]


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
    assert "pincite corpus delete" in document.remedy
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
