"""Building anew: another encoder, another rule, an interrupted build, readers meanwhile."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from support.laws import FakeEncoder

from pincite.corpus import generation, maintenance
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import rebuild as build_anew
from pincite.errors import StaleCorpus
from pincite.protocols import Floats
from pincite.text import passages as core_passages
from pincite.types import Document

DOCUMENTS = [Document(f"u:{i}", f"Page {i}", f"Words of page{i}. " * 80) for i in range(30)]


class Counting(FakeEncoder):
    def __init__(self, dim: int = 32, limit: int = 10**9) -> None:
        super().__init__(dim)
        self.n_encoded, self._limit = 0, limit

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        self.n_encoded += len(texts)
        if self.n_encoded > self._limit:
            raise KeyboardInterrupt
        return super().encode(texts, role)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
        corpus.add(DOCUMENTS)
        corpus.delete(["u:0"])
    return folder


def test_a_rebuild_may_change_the_encoder(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    with EmbeddedCorpus.open(folder, None) as corpus:
        before = corpus.manifest()
    build_anew(folder, FakeEncoder(16), lambda done, total: seen.append((done, total)))
    assert seen == [(29, 29)]
    with pytest.raises(StaleCorpus):
        EmbeddedCorpus.open(folder, FakeEncoder())
    with EmbeddedCorpus.open(folder, FakeEncoder(16)) as corpus:
        assert corpus.get([d.url for d in DOCUMENTS]) == [None, *DOCUMENTS[1:]]
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
    build_anew(folder, encoder)
    assert encoder.n_encoded == 0
    with EmbeddedCorpus.open(folder, encoder) as corpus:
        assert corpus.dense().retrieve(["page3", "words"], 1000) == before


def test_interrupted_rebuild_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "DOCUMENTS_AT_ONCE", 5)
    n_passages = 29 * 3
    with pytest.raises(KeyboardInterrupt):
        build_anew(folder, Counting(16, limit=45))
    with EmbeddedCorpus.open(folder, FakeEncoder(), write=True) as corpus:
        assert corpus.status().unfinished_rebuild
        assert corpus.status().n_bytes["unfinished"] > 0
        assert corpus.status().n_passages == n_passages
        corpus.delete(["u:1", "u:29"])
        corpus.add([Document("u:2", "Page 2", "It changed.")])
    encoder = Counting(16)
    build_anew(folder, encoder)
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
        build_anew(folder, Counting(16, limit=45))
    build_anew(folder, FakeEncoder(24))
    with EmbeddedCorpus.open(folder, FakeEncoder(24)) as corpus:
        assert corpus.status().n_documents == 29
    (folder / "g3").mkdir()
    (folder / "g3" / "store.sqlite").write_bytes(b"")
    build_anew(folder, FakeEncoder(16))
    EmbeddedCorpus.open(folder, FakeEncoder(16)).close()


def test_readers_follow_a_rebuild(folder: Path) -> None:
    encoder = FakeEncoder()
    with EmbeddedCorpus.open(folder, encoder) as reader, EmbeddedCorpus.open(folder, None) as words:
        retriever = reader.lexical()
        before = retriever.retrieve(["page5"], 3)
        build_anew(folder, encoder)
        after = retriever.retrieve(["page5"], 3)
        assert [h.passage for h in after[0]] == [h.passage for h in before[0]]
        assert len(reader.dense().retrieve(["page5"], 3)[0]) == 3
        build_anew(folder, FakeEncoder(16))
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
    build_anew(folder, encoder)
    with EmbeddedCorpus.open(folder, encoder) as corpus:
        assert corpus.status().n_passages == encoder.n_encoded == 29 * 5


def test_vectors_can_be_dropped_and_made(folder: Path) -> None:
    build_anew(folder, None)
    with EmbeddedCorpus.open(folder, None) as corpus:
        assert corpus.manifest()["encoder"] == "none"
    build_anew(folder, FakeEncoder())
    with EmbeddedCorpus.open(folder, FakeEncoder()) as corpus:
        assert len(corpus.dense().retrieve(["page5"], 3)[0]) == 3
