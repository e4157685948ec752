"""Several corpora searched as one: rankings, names, and an encoder for each."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import FakeEncoder, check_retriever
from support.rows import each_row

from pincite import runtime
from pincite.corpora import Corpora, name_corpora, open_corpora
from pincite.corpus.engines import EmbeddedCorpus
from pincite.errors import ConfigError, StaleCorpus
from pincite.protocols import Query
from pincite.retrieval.fusion import Fused, merge_by_share
from pincite.settings import Settings
from pincite.types import Document, Hit, Passage, Span

BRIDGE = Document("https://a.example/bridge", "Bridge", "The bridge of Varde opened in 1911.")
MILL = Document("https://b.example/mill", "Mill", "The mill of Varde burnt down in 1875.")
FERRY = Document("https://b.example/ferry", "Ferry", "A ferry crossed the river until 1911.")


@pytest.fixture
def corpora(tmp_path: Path) -> Iterator[Corpora]:
    """Two, built with encoders of different width."""
    with (
        EmbeddedCorpus.create(tmp_path / "one", FakeEncoder(32)) as one,
        EmbeddedCorpus.create(tmp_path / "two", FakeEncoder(16)) as two,
    ):
        one.add([BRIDGE])
        two.add([MILL, FERRY])
        yield Corpora({"one": one, "two": two})


def found(corpora: Corpora, query: str) -> list[str]:
    search = Fused(corpora.lexical(), corpora.dense())
    return [hit.passage.url for hit in search.retrieve([query], 9)[0]]


def test_each_corpus_is_searched_with_its_own_encoder(corpora: Corpora) -> None:
    (hits,) = corpora.dense().retrieve(["the mill burnt down"], 9)
    assert {hit.passage.url for hit in hits} == {BRIDGE.url, MILL.url, FERRY.url}
    assert {BRIDGE.url, MILL.url} == set(found(corpora, "mill bridge")[:2])
    check_retriever(corpora.dense(), ["the bridge", "a ferry"])


SUBJECTS = ["bridge", "mill", "ferry", "harbour", "market"]
PLACES = ["Varde", "Ribe", "Esbjerg"]
MANY = [
    Document(
        f"https://many.example/{s}/{p}",
        f"{s} of {p}",
        f"The {s} of {p} opened in {1800 + 7 * len(s + p)}. " * (1 + len(p) % 3),
    )
    for s in SUBJECTS
    for p in PLACES
]


@each_row("corpus/multi_corpus/several_with_one_encoder_are_searched_as_one")
def test_several_with_one_encoder_are_searched_as_one(tmp_path: Path, query: Query) -> None:
    """One of them has nearly all that is said of bridges: a bridge is no rarer in the others."""
    parts = {
        "bridges": [d for d in MANY if d.title.startswith("bridge")],
        "others": [d for d in MANY if not d.title.startswith("bridge")][:-1],
        "last": MANY[-1:],
    }
    with contextlib.ExitStack() as stack:

        def made(name: str, documents: list[Document]) -> EmbeddedCorpus:
            folder = tmp_path / name
            corpus = stack.enter_context(EmbeddedCorpus.create(folder, FakeEncoder()))
            corpus.add(documents)
            return corpus

        one, several = made("one", MANY), Corpora({n: made(n, d) for n, d in parts.items()})
        alone, together = (each.lexical().retrieve([query], 20)[0] for each in (one, several))
        of_one = {hit.passage.passage_id: hit.score for hit in alone}
        # The mean length of a passage is each corpus's own: BM25 differs by that alone.
        assert {h.passage.passage_id: h.score for h in together} == pytest.approx(of_one, rel=0.2)
        text = query if isinstance(query, str) else " ".join(text for text, _ in query)
        alone, together = (each.dense().retrieve([text], 20)[0] for each in (one, several))
        assert alone == together


def test_documents_bear_the_name_of_their_corpus(corpora: Corpora) -> None:
    urls = [MILL.url, "https://nowhere.example/", BRIDGE.url]
    documents = corpora.get(urls)
    assert documents == [MILL, None, BRIDGE]
    assert [document and document.corpus for document in documents] == ["two", None, "one"]
    alone = Corpora({"one": corpora.named["one"]})
    (only,) = alone.get([BRIDGE.url])
    assert only
    assert only.corpus == "", "one corpus needs no name"


def test_the_first_corpus_gives_the_document_of_a_shared_address(corpora: Corpora) -> None:
    other = Document(BRIDGE.url, "Bridge", "The bridge of Varde opened in 1950, says this copy.")
    corpora.named["two"].add([other])
    assert corpora.get([BRIDGE.url]) == [BRIDGE]
    (hits,) = corpora.lexical().retrieve(["bridge of Varde opened"], 9)
    texts = [hit.passage.text for hit in hits if hit.passage.url == BRIDGE.url]
    assert texts == [BRIDGE.text], "no passage that does not stand in the document that is given"
    corpora.named["two"].add([BRIDGE])
    (hits,) = corpora.lexical().retrieve(["bridge of Varde opened"], 9)
    assert [hit.passage.url for hit in hits].count(BRIDGE.url) == 1, "equal ones count once"


def test_results_record_what_each_corpus_held(corpora: Corpora) -> None:
    of_each = [corpus.manifest() for corpus in corpora.named.values()]
    versions = corpora.versions()
    assert versions["encoder"] == "fake-32, fake-16"
    assert versions["corpus"] == f"one {of_each[0]['digest']}, two {of_each[1]['digest']}"
    alone = Corpora({"one": corpora.named["one"]}).versions()
    assert alone == {"encoder": "fake-32", "corpus": of_each[0]["digest"]}
    assert corpora.n_documents == 3


@given(st.lists(st.lists(st.floats(-9, 9, width=16), max_size=6), max_size=4), st.integers(0, 9))
def test_merged_rankings_are_in_order_and_of_k_hits(scores: list[list[float]], k: int) -> None:
    runs = [
        [
            Hit(Passage(f"{n}-{rank}", "", "", "", Span(0, 0)), score, rank)
            for rank, score in enumerate(sorted(run, reverse=True), 1)
        ]
        for n, run in enumerate(scores)
    ]
    hits = merge_by_share(runs, k)
    assert len(hits) == min(k, sum(map(len, runs)))
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert sorted(hits, key=lambda hit: -hit.score) == hits
    for run in runs:  # the order within a corpus stays
        ours = [hit.passage for hit in hits if hit.passage in [each.passage for each in run]]
        scores_of = {each.passage: each.score for each in run}
        assert sorted(ours, key=lambda passage: -scores_of[passage]) == ours
    firsts = [run[0].passage for run in runs if run]
    if k >= len(firsts):
        better = [hit.passage for hit in hits if hit.score == 1.0]
        assert set(firsts) <= set(better) or len(better) == k


# ── Names and encoders ───────────────────────────────────────────────────────────────────────────


def test_corpora_of_one_name_get_distinct_names(tmp_path: Path) -> None:
    given = [tmp_path / "a/kb", tmp_path / "b/kb", Path(f"press={tmp_path / 'c'}")]
    assert list(name_corpora(given)) == ["kb", "kb (2)", "press"]
    assert name_corpora(given)["press"] == tmp_path / "c"
    assert list(name_corpora({"papers": tmp_path})) == ["papers"]
    there = tmp_path / "x=y"
    there.mkdir()
    assert name_corpora([there]) == {"x=y": there}, "a folder that is there is no name"


@each_row("corpus/multi_corpus/names_that_mean_nothing")
def test_names_that_mean_nothing(given: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        name_corpora([Path(each) for each in given])


def test_the_encoder_that_built_a_corpus_is_chosen(
    tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.of(encoder=str(tiny_encoder))
    with EmbeddedCorpus.create(tmp_path / "one", runtime.encoder(settings)) as one:
        one.add([BRIDGE])
    with EmbeddedCorpus.create(tmp_path / "two", runtime.encoder(Settings())) as two:
        two.add([MILL])
    both = [tmp_path / "one", tmp_path / "two"]
    with open_corpora(settings, both) as opened:
        (hits,) = opened.dense().retrieve(["the mill of Varde"], 2)
        assert {hit.passage.url for hit in hits} == {BRIDGE.url, MILL.url}
    with open_corpora(Settings.of(encoders=str(tiny_encoder)), both[:1]) as opened:
        assert opened.dense().retrieve(["Varde"], 1)[0]
    with pytest.raises(StaleCorpus, match="one"), open_corpora(Settings(), both):
        pass
