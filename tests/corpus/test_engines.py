"""The laws of a corpus, what the embedded one promises beyond them, and engines by address."""

import contextlib
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from support.laws import FakeEncoder, check_corpus, check_encoder, check_retriever
from support.rows import each_row

from pincite import durable
from pincite.corpora import name_corpora
from pincite.corpus import dense, engines
from pincite.corpus.engines import EmbeddedCorpus, is_corpus
from pincite.corpus.maintenance import verify
from pincite.corpus.package import copy
from pincite.corpus.protocol import Corpus
from pincite.errors import ConfigError, CorpusError, MissingExtra, StaleCorpus, install_command
from pincite.retrieval.fusion import MODES, Fused, Mode, fuse
from pincite.settings import load
from pincite.types import Document


def page(name: str, text: str, host: str = "example.org") -> Document:
    return Document(f"https://{host}/{name}", name, text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


@pytest.fixture
def corpus(folder: Path) -> Iterator[EmbeddedCorpus]:
    with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
        yield corpus


def found(corpus: EmbeddedCorpus, query: str, k: int = 10) -> list[str]:
    return [hit.passage.title for hit in corpus.lexical().retrieve([query], k)[0]]


def test_an_embedded_corpus_keeps_the_laws(folder: Path) -> None:
    opened: list[EmbeddedCorpus] = []

    def reopen(corpus: Corpus) -> Corpus:
        opened.pop().close()
        opened.append(EmbeddedCorpus.open(folder, FakeEncoder(), write=True))
        return opened[0]

    def make() -> Corpus:
        opened.append(EmbeddedCorpus.create(folder, FakeEncoder()))
        return opened[0]

    check_encoder(FakeEncoder())
    check_corpus(make, reopen)
    opened.pop().close()


def test_same_text_with_other_date_replaces_and_other_fetch_day_does_not(
    corpus: EmbeddedCorpus,
) -> None:
    first = page("a", "Some text.")
    dated = Document(first.url, first.title, first.text, published="2020-01-01")
    fetched = Document(*(first.url, first.title, first.text), published="2020-01-01", fetched="now")
    assert [corpus.add([d]) for d in (first, dated, fetched)] == [1, 1, 0]
    assert corpus.get([first.url]) == [dated]
    assert corpus.status().n_passages == 1


def test_failing_encoder_leaves_the_corpus_as_it_was(folder: Path) -> None:
    class Failing(FakeEncoder):
        def encode(self, texts, role):  # type: ignore[no-untyped-def]
            if any("poison" in text for text in texts):
                raise RuntimeError("out of memory")
            return super().encode(texts, role)[:, : 31 if "short" in texts[0] else 32]

    with EmbeddedCorpus.create(folder, Failing()) as corpus:
        corpus.add([page("a", "Kept.")])
        before = corpus.manifest()
        with pytest.raises(RuntimeError, match="out of memory"):
            corpus.add([page("a", "Changed."), page("b", "poison")])
        with pytest.raises(CorpusError, match=r"shape \(1, 31\)"):
            corpus.add([page("c", "short")])
        assert corpus.manifest() == before
        assert found(corpus, "kept") == ["a"]
        assert corpus.add([page("b", "Added.")]) == 1


def test_digest_depends_on_the_documents_and_not_on_their_history(tmp_path: Path) -> None:
    a, b, c = (page(name, f"Text {name}.") for name in "abc")
    digests: list[str] = []
    for steps in ([[a, b]], [[b], [a]], [[c, b], [a]]):
        with EmbeddedCorpus.create(tmp_path / str(len(digests)), FakeEncoder()) as corpus:
            for batch in steps:
                corpus.add(batch)
            corpus.delete([c.url])
            digests.append(corpus.manifest()["digest"])
            corpus.delete([a.url, b.url])
            assert corpus.manifest()["digest"] == "0" * 32
    assert len(set(digests)) == 1


@pytest.mark.parametrize("by", ["lexical", "dense"])
def test_excluded_sites_never_use_up_the_k(corpus: EmbeddedCorpus, by: str) -> None:
    wiki = [page(f"w{i}", f"Rome fell. Number {i}.", "en.wikipedia.org") for i in range(300)]
    good = [
        page(f"g{i}", f"Rome fell slowly, says page {i}.", "NotWikipedia.org") for i in range(9)
    ]
    corpus.add([*wiki, *good])
    retriever = corpus.lexical if by == "lexical" else corpus.dense
    assert {h.passage.title[0] for h in retriever().retrieve(["Rome fell."], 9)[0]} == {"w"}
    excluding = retriever(exclude=["Wikipedia.org"])
    check_retriever(excluding, ["Rome fell.", "page 3", "nothing of this"])
    [hits] = excluding.retrieve(["Rome fell."], 9)
    assert {hit.passage.title for hit in hits} == {document.title for document in good}
    with pytest.raises(ConfigError, match="collection of hosts"):
        retriever(exclude="wikipedia.org")


def test_reader_sees_each_batch_at_its_next_call(corpus: EmbeddedCorpus, folder: Path) -> None:
    with EmbeddedCorpus.open(folder, FakeEncoder()) as reader:
        lexical, dense = reader.lexical(), reader.dense()
        for i in range(12):
            corpus.add([page(f"p{i}", f"Unheard{i} words.")])
            assert lexical.retrieve([f"unheard{i}"], 5)[0][0].passage.title == f"p{i}"
            assert dense.retrieve([f"p{i}\nUnheard{i} words."], 1)[0][0].passage.title == f"p{i}"
            corpus.delete([f"https://example.org/p{i - 1}"])
            assert lexical.retrieve([f"unheard{i - 1}"], 5) == [[]]
            titles = [h.passage.title for h in dense.retrieve([f"unheard{i - 1}"], 50)[0]]
            assert titles == [f"p{i}"]


def test_wrong_use_is_refused_with_what_to_do(
    corpus: EmbeddedCorpus, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "PATIENCE_SECONDS", 0.1)
    with pytest.raises(CorpusError, match=r"is being written by process [0-9]+"):
        EmbeddedCorpus.open(folder, FakeEncoder(), write=True)
    with pytest.raises(CorpusError, match=r"is being written"):
        EmbeddedCorpus.create(folder, FakeEncoder())
    with pytest.raises(StaleCorpus, match=r"'fake-32'.*'fake-16'.*pincite corpus rebuild"):
        EmbeddedCorpus.open(folder, FakeEncoder(16))
    with EmbeddedCorpus.open(folder, None) as reader:
        assert reader.lexical().retrieve(["x"], 1) == [[]]
        with pytest.raises(CorpusError, match="opened without the encoder"):
            reader.dense()
        with pytest.raises(CorpusError, match="write=True"):
            reader.add([page("a", "A.")])
    corpus.close()
    with (
        EmbeddedCorpus.open(folder, None, write=True) as writer,
        pytest.raises(CorpusError, match="fake-32"),
    ):
        writer.add([page("a", "A.")])
    with pytest.raises(CorpusError, match="is already a corpus"):
        EmbeddedCorpus.create(folder, FakeEncoder())


def test_folder_that_is_no_corpus(tmp_path: Path) -> None:
    assert not is_corpus(tmp_path)
    with pytest.raises(CorpusError, match=r"is not a corpus.*pincite corpus add .* PATH…"):
        EmbeddedCorpus.open(tmp_path, None)
    with pytest.raises(CorpusError, match=r"does not exist.*pincite corpus add"):
        EmbeddedCorpus.open(tmp_path / "none", None, write=True)
    (tmp_path / "thesis.doc").write_text("precious")
    with pytest.raises(CorpusError, match=r"something else \(thesis.doc\)"):
        EmbeddedCorpus.create(tmp_path, None)


def test_creation_that_was_killed_can_be_repeated(folder: Path) -> None:
    (folder / "g1").mkdir(parents=True)
    (folder / "g1" / "store.sqlite").write_bytes(b"half a file")
    (folder / "lock").write_text("1")
    with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
        assert corpus.add([page("a", "A word.")]) == 1


def test_indexes_that_follow_are_complete_at_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "EXACT_LIMIT", 50)
    pages = [page(f"p{n}", f"Page number{n} tells of word{n}.") for n in range(120)]
    with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
        with corpus.indexing_behind():
            for start in range(0, len(pages), 7):
                assert corpus.add(pages[start : start + 7])
                with EmbeddedCorpus.open(folder, None) as reader:  # committed at once
                    assert reader.status().n_documents == min(start + 7, len(pages))
            corpus.delete([pages[5].url])
        status = corpus.status()
        assert status.lexical_sequence == status.sequence
        assert (found(corpus, "number5"), found(corpus, "number119")) == ([], ["p119"])
        [by_meaning] = corpus.dense().retrieve(["p7\nPage number7 tells of word7."], 1)
        assert [hit.passage.title for hit in by_meaning] == ["p7"]
        corpus.add([page("after", "As ever.")])
        assert found(corpus, "ever") == ["after"]
    assert [finding for finding in verify(folder) if finding.counts] == []


def test_indexes_that_follow_are_left_by_an_error_and_made_later(folder: Path) -> None:
    with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
        with contextlib.suppress(KeyboardInterrupt), corpus.indexing_behind():
            corpus.add([page("a", "Kept.")])
            raise KeyboardInterrupt
        assert corpus.status().n_documents == 1
    with EmbeddedCorpus.open(folder, FakeEncoder()) as corpus:
        assert found(corpus, "kept") == ["a"]


def test_the_nearest_passages_of_a_document(corpus: EmbeddedCorpus, folder: Path) -> None:
    lines = [f"Barley grew {n} feet tall near the old mill." for n in range(80)]
    lines[50] = "The tram museum opened."
    long, other = page("long", "\n".join(lines)), page("other", "The tram museum opened.")
    corpus.add([long, other])
    (nearest,) = corpus.nearest("The tram museum opened.", [long.url], 3)
    assert {passage.url for passage in nearest} == {long.url}
    assert "tram museum" in nearest[0].text
    assert len(corpus.nearest("tram", [long.url], 100)[0]) > 3
    with EmbeddedCorpus.open(folder, None) as without_meaning:
        assert without_meaning.nearest("tram", [long.url], 3) == [[]]


@pytest.mark.parametrize("mode", MODES)
def test_both_searches_at_once_find_what_they_find_one_by_one(
    corpus: EmbeddedCorpus, mode: Mode
) -> None:
    texts = {f"p{i}": f"Bridge {i % 7} crosses water {i % 5}." for i in range(60)}
    corpus.add([page(name, text) for name, text in texts.items()])
    corpus.delete([page("p7", "").url])
    queries = ["bridge 3", "water 4 bridge 1", "nothing of it"]
    words, meaning = corpus.lexical(), corpus.dense()
    one_by_one = zip(words.retrieve(queries, 20), meaning.retrieve(queries, 20), strict=True)
    expected = [fuse(*hits, 9, mode) for hits in one_by_one]
    found = Fused(words, meaning, mode, depth=20).retrieve(queries, 9)
    assert found == expected
    assert all(hit.passage.text == texts[hit.passage.title] for hits in found for hit in hits)


# ── Engines by address ────────────────────────────────────────────────────────────────────────────


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


def test_other_packages_bring_engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engines, "entry_points", lambda group: [])
    with pytest.raises(MissingExtra, match=re.escape(install_command("postgres"))):
        engines.open("postgresql://localhost/facts/kb", None)

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
