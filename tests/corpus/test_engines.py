"""An address becomes a corpus: which engine, and what is said where there is none."""

import sys
from collections import defaultdict
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pincite import api, runtime
from pincite.corpus import engines
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.corpus.engines import folders, milvus_rows
from pincite.corpus.engines.milvus_client import place_of
from pincite.corpus.protocol import Rebuilds
from pincite.errors import ConfigError, MissingExtra
from pincite.library.copying import copy
from pincite.retrieval.filters import Facts, Filters
from pincite.settings import load
from pincite.testing import _FILTERS, FakeEncoder, _filtered
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
    written = "milvus://localhost:19530/kb"
    assert engines.address(Path(written)) == written
    assert runtime.named([f"papers={written}", "x/kb"]).keys() == {"papers", "kb"}
    assert list(runtime.named(written)) == ["kb"]
    with pytest.raises(ConfigError, match="given twice"):
        runtime.named([written, Path(written)])


def test_settings_name_addresses() -> None:
    settings = load({"corpora": ["milvus://localhost/kb", "folder"]})
    assert settings.library.places == ["milvus://localhost/kb", Path("folder")]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("elsewhere://host/name", "no engine opens corpora at elsewhere://.*milvus"),
        ("milvus://me:secret@host/name", "PINCITE_MILVUS_TOKEN"),
        ("milvus://host/", "Expected milvus://host:19530/name"),
        ("milvus://host/a/b/c", "database/name"),
        ("milvus://host/kb%27", "letters, digits and _"),
        ("milvus://host/kb?token=secret", "behind the . are known: consistency"),
        ("milvus://host:port/kb", "Expected milvus://host:19530/name"),
    ],
)
def test_wrong_addresses(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        engines.open(address, None)
    assert "secret" not in str(raised.value).replace("token=secret", "")


def test_tls_and_database() -> None:
    found = place_of("milvuss://db.example:443/team/kb?consistency=bounded")
    assert found[:4] == ("https://db.example:443", "team", "kb", "Bounded")
    assert place_of("milvus+https://db.example/kb").uri == "https://db.example:19530"


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pincite\[milvus\]'"):
        engines.open("milvus://localhost/kb", None)


def test_other_packages_bring_engines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Elsewhere(folders.Folders):
        def open(self, address, encoder, *, write=False):  # type: ignore[no-untyped-def]
            return super().open(tmp_path / engines.name_of(address), encoder, write=write)

    EmbeddedCorpus.create(tmp_path / "kb", FakeEncoder()).close()
    point = EntryPoint("elsewhere", "somewhere:ENGINE", engines.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Elsewhere())
    monkeypatch.setattr(engines, "_others", lambda: [point])
    with engines.open("elsewhere://kb", None) as corpus:
        assert corpus.name == "kb"


def test_command_that_an_engine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", "somewhere:ENGINE", engines.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: object())
    monkeypatch.setattr(engines, "_others", lambda: [point])
    with pytest.raises(ConfigError, match=r"cannot do what `pincite corpus rebuild` asks.*Copy it"):
        engines.able("elsewhere://kb", Rebuilds, "rebuild", "Copy it.")  # type: ignore[type-abstract]


def test_api_takes_addresses() -> None:
    with pytest.raises(ConfigError, match="no engine opens"):
        api.open_corpus("elsewhere://host/name")


# ── What Milvus is told ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("filters", _FILTERS, ids=str)
def test_expression_lets_through_what_the_filter_accepts(filters: Filters) -> None:
    expression = milvus_rows.expression(filters)
    exact = not any(c.comparison in ("<", ">", ">=") for c in filters.where)
    assert not set(expression) & set("'\\;")
    for document in map(_filtered, range(60)):
        (row,) = [*milvus_rows.passage_rows(document, _cut(document), None)][:1]
        named = {name: row[name] for name in ("facets", "first_day", "last_day")}
        named["numbers"] = defaultdict(lambda: float("nan"), row["numbers"])
        let_through = eval(expression, _FUNCTIONS, named)  # our own expression is Python's too
        facts = Facts(*_named(document), document.meta)
        assert let_through or not filters.accepts(facts), document
        if exact:
            assert let_through == filters.accepts(facts), document


_FUNCTIONS = {
    "array_contains": lambda values, value: value in values,
    "array_contains_any": lambda values, some: bool(set(values) & set(some)),
}


def _named(document: Document) -> tuple[str, str, str, str | None, str | None]:
    return document.url, document.title, document.kind, document.published, document.language


def _cut(document: Document):  # type: ignore[no-untyped-def]
    from pincite.text.passages import passages

    return passages(document)


def test_document_with_too_many_values_is_never_left_out() -> None:
    meta = {"subjects": "; ".join(f"s{n}" for n in range(5_000))}
    facets = milvus_rows.facets_of(Facts("https://a.example/", "", "html", None, None, meta))
    names = {"facets": facets, "first_day": -1, "last_day": -1}
    assert eval(milvus_rows.expression(Filters(kinds=("html",))), _FUNCTIONS, names)


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
        assert (done.n_copied, done.n_vectors, done.is_complete) == (70, 70, True)
        assert told[-1] == (70, 70)
        assert source.manifest()["digest"] == target.manifest()["digest"]
        source.add([Document("https://example.org/new", "", "Herons stand.")])
        source.delete(["https://example.org/1"])
        again = copy(source, target, lambda n, of: None)
        assert (again.n_copied, again.n_known, again.n_besides) == (1, 69, 1)
        asked = ["heron otter5"]
        assert target.dense().retrieve(asked, 3) == source.dense().retrieve(asked, 3)
