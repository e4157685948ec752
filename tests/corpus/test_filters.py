"""Filtered searches of small sets, of large ones in memory, and of built indexes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.laws import FakeEncoder, check_filters, filtered

from pincite.corpus import dense
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import optimize
from pincite.errors import CorpusError
from pincite.retrieval.filters import Filters, condition

DOCUMENTS = [filtered(number) for number in range(120)]


@pytest.fixture(params=["few", "many", "built", "graph"])
def corpus(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EmbeddedCorpus]:
    if request.param != "few":
        monkeypatch.setattr(dense, "FEW", 20)
    if request.param in ("built", "graph"):
        monkeypatch.setattr(dense, "EXACT_LIMIT", 50)
        monkeypatch.setattr(dense, "REFINED", 4)
        monkeypatch.setattr(dense, "FILTERED", 8)
    with EmbeddedCorpus.create(tmp_path / "corpus", FakeEncoder(64)) as corpus:
        corpus.add(DOCUMENTS[:100])
        corpus.add(DOCUMENTS[100:])
        corpus.delete([DOCUMENTS[number].url for number in (3, 17, 40)])
    if request.param == "graph":
        optimize(tmp_path / "corpus", index="hnsw")
    with EmbeddedCorpus.open(tmp_path / "corpus", FakeEncoder(64), write=True) as corpus:
        yield corpus


def test_as_a_search_of_everything_without_the_rest(corpus: EmbeddedCorpus) -> None:
    check_filters(corpus, DOCUMENTS, scores=True)


def test_a_set_follows_what_is_added_replaced_and_deleted(corpus: EmbeddedCorpus) -> None:
    filters = Filters(where=(condition("pages in 7, 8"),))
    retrievers = [corpus.lexical(filters=filters), corpus.dense(filters=filters)]

    def urls() -> list[set[str]]:
        return [{hit.passage.url for hit in r.retrieve(["gannets"], 999)[0]} for r in retrievers]

    seven, eight = DOCUMENTS[7], DOCUMENTS[8]
    new = replace(seven, url="https://a.example/new")
    assert urls() == [{seven.url, eight.url}] * 2
    corpus.delete([seven.url])
    corpus.add([replace(eight, text="Other gannets."), new])
    assert urls() == [{eight.url, new.url}] * 2
    corpus.add([replace(new, meta={"pages": "1"})])
    assert urls() == [{eight.url}] * 2


@pytest.mark.parametrize("change", ["kind = x'00'", "published = x'37'", "meta = '{'"])
def test_a_damaged_row_is_an_error(corpus: EmbeddedCorpus, change: str) -> None:
    corpus._generation.store.rows(f"UPDATE documents SET {change} WHERE key = 9")
    with pytest.raises(CorpusError, match=r"document 9: .*pincite corpus verify"):
        corpus.lexical(filters=Filters(where=(condition("a == b"),))).retrieve(["gannets"], 1)
