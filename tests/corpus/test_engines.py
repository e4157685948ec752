"""An address becomes a corpus: which engine, and what is said where there is none."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from support.laws import FakeEncoder
from support.rows import each_row

from pincite.corpora import name_corpora
from pincite.corpus import engines
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.package import copy
from pincite.errors import ConfigError, MissingExtra, install_command
from pincite.settings import load
from pincite.types import Document


def pages(n: int) -> list[Document]:
    return [Document(f"https://example.org/{i}", f"Page {i}", f"Otter{i} swims.") for i in range(n)]


def test_folder_and_address(tmp_path: Path) -> None:
    with engines.open_or_create(str(tmp_path / "kb"), FakeEncoder()) as corpus:
        assert isinstance(corpus, EmbeddedCorpus)
        assert corpus.add(pages(2)) == 2
    with engines.open_or_create(tmp_path / "kb", FakeEncoder()) as corpus:
        assert corpus.status().n_documents == 2
    assert engines.encoder_of(tmp_path / "kb") == "fake-32"
    assert engines.exists(tmp_path / "kb")
    assert not engines.exists(tmp_path / "none")


def test_path_of_an_address_is_the_address() -> None:
    written = "postgresql://localhost/facts/kb"
    assert engines.address(Path(written)) == written
    assert name_corpora([f"papers={written}", "x/kb"]).keys() == {"papers", "kb"}
    assert list(name_corpora(written)) == ["kb"]
    with pytest.raises(ConfigError, match="given twice"):
        name_corpora([written, Path(written)])
    assert load({"corpora": [written, "folder"]}).library.places == [written, Path("folder")]


@each_row("corpus/engines/wrong_addresses_are_refused")
def test_wrong_addresses_are_refused(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        engines.open(address, None)
    assert "secret" not in str(raised.value)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "entry_points", lambda group: [])
    with pytest.raises(MissingExtra, match=re.escape(install_command("postgres"))):
        engines.open("postgresql://localhost/facts/kb", None)


def test_other_packages_bring_engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Elsewhere(engines.Folders):
        def open(self, address, encoder, *, write=False):  # type: ignore[no-untyped-def]
            return super().open(tmp_path / engines.name_of(address), encoder, write=write)

    EmbeddedCorpus.create(tmp_path / "kb", FakeEncoder()).close()
    point = EntryPoint("elsewhere", "somewhere:ENGINE", engines.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Elsewhere())
    monkeypatch.setattr(engines, "entry_points", lambda group: [point])
    with engines.open("elsewhere://kb", None) as corpus:
        assert corpus.name == "kb"


# ── Copying ──────────────────────────────────────────────────────────────────────────────────────


def test_copy_takes_vectors_over_and_goes_on(tmp_path: Path) -> None:
    class Refusing(FakeEncoder):
        def encode(self, texts, role):  # type: ignore[no-untyped-def]
            assert role == "query", "a passage was encoded anew"
            return super().encode(texts, role)

    with (
        EmbeddedCorpus.create(tmp_path / "a", FakeEncoder()) as source,
        EmbeddedCorpus.create(tmp_path / "b", Refusing()) as target,
    ):
        source.add(pages(70))
        told: list[tuple[int, int]] = []
        done = copy(source, target, lambda n, of: told.append((n, of)))
        assert (done.n_copied, done.n_vectors) == (70, 70)
        assert told[-1] == (70, 70)
        assert source.manifest()["digest"] == target.manifest()["digest"]
        source.add([Document("https://example.org/new", "", "Herons stand.")])
        source.delete(["https://example.org/1"])
        again = copy(source, target, lambda n, of: None)
        assert (again.n_copied, again.n_known) == (1, 69)
        asked = ["heron otter5"]
        assert target.dense().retrieve(asked, 3) == source.dense().retrieve(asked, 3)
