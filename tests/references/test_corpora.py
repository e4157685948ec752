"""Corpora of records as a source of works."""

from collections.abc import Sequence

from pincite.protocols import Query
from pincite.references.catalogue import ask
from pincite.references.corpora import CorpusRecords
from pincite.references.outcomes import Status, decide
from pincite.types import Citation, Document, Hit, Passage, Span

RYE = Document(
    "https://pubmed.ncbi.nlm.nih.gov/77/",
    "The price of rye in Jutland",
    "Rye was dear.",
    published="2011-03",
    meta={
        "authors": "Holm, Ida; Berg, Per",
        "journal": "Journal of Grain",
        "pmid": "77",
        "doi": "10.1000/1",
        "retracted": "yes",
        "pubdate": "2011 Mar",
    },
)


def documents_of(urls: Sequence[str]) -> list[Document | None]:
    return [RYE if url == RYE.url else None for url in urls]


class Words:
    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        passage = Passage(RYE.doc_id, RYE.url, RYE.title, RYE.text, Span(0, len(RYE.text)))
        return [[Hit(passage, 1.0, 1)] if query == RYE.title else [] for query in queries]


def status(**given: object) -> Status:
    citation = Citation("r1", Span(0, 0), Span(0, 0), **given)  # type: ignore[arg-type]
    return decide(citation, ask(citation, [CorpusRecords(documents_of, Words())])).status


def test_a_retracted_record_is_found_by_number_and_by_title() -> None:
    assert status(pmid="77") is Status.RETRACTED
    assert status(title=RYE.title, authors=("Ida Holm",), date="2011") is Status.RETRACTED


def test_a_work_that_is_not_in_the_corpus_is_not_accused() -> None:
    assert status(title="Old towers", authors=("Eva Lind",), pmid="78") is Status.UNVERIFIED
