"""The truth: what goes in comes out, and a damaged or full store says so."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.rows import each_row

from pincite.corpus.protocol import Order, Selection
from pincite.corpus.store import BLOCK_CHARACTERS, Store, content_hash
from pincite.types import Document, Span


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store.sqlite", {"identity": "test"})


_any_text = st.text(st.characters(), max_size=40)  # half surrogate pairs included


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    url=_any_text,
    title=_any_text,
    text=_any_text,
    meta=st.dictionaries(_any_text, _any_text, max_size=2),
)
def test_documents_come_back_equal(
    store: Store, url: str, title: str, text: str, meta: dict[str, str]
) -> None:
    document = Document(url, title, text, meta=meta)
    with store.batch():
        store.remove(url)
        store.put(document, [])
    assert store.document(url) == document
    assert store.hash_at(url) == content_hash(document)


def test_passages_across_blocks(store: Store) -> None:
    text = "".join(chr(0x4E00 + i % 5000) for i in range(3 * BLOCK_CHARACTERS + 17))
    edges = [0, 1, BLOCK_CHARACTERS - 1, BLOCK_CHARACTERS, BLOCK_CHARACTERS + 1, 10_000, len(text)]
    spans = [Span(a, b) for a in edges for b in edges if a < b]
    with store.batch():
        keys = store.put(Document("u", "t", text), spans)
    places = store.places(keys)
    assert list(places) == list(keys)
    passages = store.passages([places[key] for key in reversed(keys)])
    assert [p.span for p in passages] == list(reversed(spans))
    assert all(p.text == p.span.of(text) for p in passages)
    assert [p.passage_id for p in passages] == [places[key].passage_id for key in reversed(keys)]


def test_changes_tell_what_to_replay(store: Store) -> None:
    spans = [Span(0, 1), Span(1, 2)]
    for name in "ab":
        with store.batch():
            store.put(Document(name, "", name * 2), spans)
    with store.batch():
        store.remove("a")
        store.put(Document("a", "", "aaa"), spans)
    assert store.sequence == 3
    assert store.changes(0) == ([(1, 2), (3, 4), (5, 6)], [(1, 2)])
    assert store.changes(2) == ([(5, 6)], [(1, 2)])
    assert store.changes(3) == ([], [])
    assert [p.key for ps in store.places_between(1, 6) for p in ps] == [3, 4, 5, 6]


def test_failed_batch_leaves_nothing_and_keys_are_not_used_again(store: Store) -> None:
    with store.batch():
        store.put(Document("a", "", "aa"), [Span(0, 1), Span(1, 2)])
        store.put_vectors([1, 2], np.eye(2, 4, dtype=np.float32))
    before = store.manifest()

    def fail() -> None:
        with store.batch():
            store.remove("a")
            store.put(Document("b", "", "b"), [Span(0, 1)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert store.manifest() == before
    assert store.document("b") is None
    keys, vectors = store.vectors([2, 1, 7], 4)
    assert (keys.tolist(), vectors.tolist()) == ([1, 2], np.eye(2, 4).tolist())
    with store.batch():
        store.remove("a")
        assert store.put(Document("b", "", "b"), [Span(0, 1)]) == range(3, 4)
    assert store.vectors([1, 2, 3], 4)[0].tolist() == []


def test_snapshot_is_one_state(store: Store) -> None:
    reader = Store.open(store.path, write=False)
    with reader.snapshot():
        assert reader.sequence == 0
        with store.batch():
            store.put(Document("a", "", "a"), [])
        assert reader.n_documents() == 0
        with reader.snapshot():
            assert reader.sequence == 0
    assert reader.n_documents() == 1
    reader.close()


TITLES = ["İstanbul", "STRASSE 100%", "Die Straße", "Σίσυφος", "half \ud800 istanbul"]


@each_row("corpus/store/a_text_is_found_whatever_its_case")
def test_a_text_is_found_whatever_its_case(store: Store, text: str, found: list[int]) -> None:
    with store.batch():
        for n, title in enumerate(TITLES):
            store.put(Document(f"https://a.example/{n}", title, "A."), [])
    documents = store.list_documents(Selection(text=text), 10)
    assert sorted(TITLES.index(document.title) for document in documents) == found


@pytest.mark.parametrize(
    ("order", "titles"), [("added", "cbaB"), ("title", "aBbc"), ("date", "Bacb")]
)
def test_documents_are_listed_in_pages(store: Store, order: Order, titles: str) -> None:
    with store.batch():
        for title, published in (("B", "2001"), ("a", "2000"), ("b", None), ("c", None)):
            language = "de" if published else None
            store.put(
                Document(
                    f"https://a.example/{title}", title, "A.", "html", published, language=language
                ),
                [Span(0, 2)],
            )
    listed = store.list_documents(Selection(order), 10)
    assert "".join(document.title for document in listed) == titles
    after = (listed[1].sorted_by, listed[1].key)
    assert store.list_documents(Selection(order), 2, after) == listed[2:]
    german = store.list_documents(Selection(order, kind="html", language="de"), 10)
    assert {document.title: document.n_passages for document in german} == {"a": 1, "B": 1}
    assert store.list_documents(Selection(order, kind="pdf"), 10) == []
