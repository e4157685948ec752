"""A filtered search gives what a search of everything gives, without what is left out."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.laws import FakeEncoder

from pincite.corpus import catalogue, dense
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.corpus.maintenance import optimize
from pincite.errors import CorpusError
from pincite.retrieval.filters import Facts, Filters, condition
from pincite.types import Document, Hit

WORDS = "bridge river mayor opened harbour tower railway market school church".split()
FILTERS = [
    Filters(published_from="2015", published_to="2016-06"),
    Filters(published_from="2019", undated=True),
    Filters(domains=("a.example", "b.example")),
    Filters(not_domains=("a.example",), kinds=("html",)),
    Filters(languages=("de",)),
    Filters(where=(condition("pages >= 90"),)),
    Filters(where=(condition("pages == 7"),)),
    Filters(kinds=("film",)),
    Filters(kinds=("html", "pdf")),
]
QUERIES = ["the bridge over the river", "mayor market market tower", "railway", "number17", ""]


def document(number: int, version: int = 0) -> Document:
    chance = random.Random(1000 * version + number)
    text = " ".join(
        " ".join(["The", *chance.choices(WORDS, k=8), f"number{number}."]) for _ in range(12)
    )
    return Document(
        f"https://www.{'abcd'[number % 4]}.example/{number}",
        f"Page {number}",
        text,
        kind=("html", "pdf")[number % 3 == 0],
        published=(None, "", f"{2010 + number % 10}", f"{2010 + number % 10}-0{1 + number % 9}-11")[
            chance.randrange(4)
        ],
        language=("en", "de", None)[number % 5 % 3],
        meta={"pages": str(number % 100)},
    )


def accepts(filters: Filters, number: int, version: int = 0) -> bool:
    d = document(number, version)
    return filters.accepts(Facts(d.url, d.title, d.kind, d.published, d.language, d.meta))


def expected(everything: Sequence[Hit], filters: Filters, k: int) -> list[tuple[str, float]]:
    chosen = [hit for hit in everything if accepts(filters, int(hit.passage.url.rsplit("/")[-1]))]
    return [(hit.passage.passage_id, hit.score) for hit in chosen[:k]]


@pytest.fixture(params=["few", "many", "built", "graph"])
def corpus(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EmbeddedCorpus]:
    """120 pages: as a small set, as a large one in memory, as a large one in a built index."""
    if request.param != "few":
        monkeypatch.setattr(catalogue, "FEW", 20)
    if request.param in ("built", "graph"):
        monkeypatch.setattr(dense, "EXACT_LIMIT", 50)
        monkeypatch.setattr(dense, "REFINED", 4)
        monkeypatch.setattr(dense, "FILTERED", 8)
    with EmbeddedCorpus.create(tmp_path / "corpus", FakeEncoder(64)) as corpus:
        corpus.add([document(number) for number in range(100)])
        corpus.add([document(number) for number in range(100, 120)])
        corpus.delete([document(number).url for number in (3, 17, 40)])
    if request.param == "graph":
        optimize(tmp_path / "corpus", index="hnsw")
    with EmbeddedCorpus.open(tmp_path / "corpus", FakeEncoder(64), write=True) as corpus:
        yield corpus


def test_as_a_search_of_everything_without_the_rest(corpus: EmbeddedCorpus) -> None:
    n = corpus.status().n_passages
    for search in (corpus.lexical, corpus.dense):
        everything = search().retrieve(QUERIES, n)
        for filters in FILTERS:
            for k in (1, 20, n):
                found = search(filters=filters).retrieve(QUERIES, k)
                for all_hits, hits in zip(everything, found, strict=True):
                    given = [(hit.passage.passage_id, hit.score) for hit in hits]
                    assert given == expected(all_hits, filters, k), (search, filters, k)


def test_a_set_follows_what_is_added_replaced_and_deleted(corpus: EmbeddedCorpus) -> None:
    filters = Filters(where=(condition("pages in 7, 8"),))
    retrievers = [corpus.lexical(filters=filters), corpus.dense(filters=filters)]

    def urls() -> list[set[str]]:
        return [{hit.passage.url for hit in r.retrieve(["bridge"], 999)[0]} for r in retrievers]

    assert urls() == [{document(n).url for n in (7, 8, 107, 108)}] * 2
    corpus.delete([document(7).url])
    corpus.add([document(8, version=1), document(207), document(208)])
    assert urls() == [{document(n).url for n in (8, 107, 108, 207, 208)}] * 2
    other = document(107, version=2)
    corpus.add([Document(other.url, other.title, other.text, meta={"pages": "1"})])
    assert urls() == [{document(n).url for n in (8, 108, 207, 208)}] * 2


@pytest.mark.parametrize("change", ["kind = x'00'", "published = x'37'", "meta = '{'"])
def test_a_damaged_row_is_an_error(corpus: EmbeddedCorpus, change: str) -> None:
    corpus._generation.store.rows(f"UPDATE documents SET {change} WHERE key = 9")
    with pytest.raises(CorpusError, match=r"document 9: .*pincite corpus verify"):
        corpus.lexical(filters=Filters(where=(condition("a == b"),))).retrieve(["bridge"], 1)
