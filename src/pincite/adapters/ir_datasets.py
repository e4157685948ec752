"""A WAFER-like collection with the iterators of ir_datasets, which is not needed for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pincite.documents.read import read_path
from pincite.evaluation.wafer import open_collection
from pincite.types import Document
from pincite.wiki.wafer import claim_of


class Doc(NamedTuple):
    """A page of the corpus, identified by its address, as in WAFER."""

    doc_id: str
    title: str
    text: str


class Query(NamedTuple):
    """A claim, and where it stands: title, section, and the sentences around it."""

    query_id: str
    text: str
    context: str


class Qrel(NamedTuple):
    """A page that is cited for a claim."""

    query_id: str
    doc_id: str
    relevance: int = 1
    iteration: str = "0"


class Wafer:
    """One split of a folder that `pincite eval wafer` reads; raises InputError as that does."""

    def __init__(self, folder: str | Path, split: str) -> None:
        self._collection = open_collection(Path(folder), split)

    def docs_iter(self) -> Iterator[Doc]:
        """The pages that can be read; none if the folder has no corpus."""
        file = self._collection.corpus_file
        for found in read_path(file) if file else ():
            if isinstance(found, Document):
                yield Doc(found.url, found.title, found.text)

    def queries_iter(self) -> Iterator[Query]:
        """The claims; those tagged as failing are left out."""
        for record in self._collection.records:
            yield Query(record.id, claim_of(record).text, record.input)

    def qrels_iter(self) -> Iterator[Qrel]:
        """The cited pages of each claim."""
        for record in self._collection.records:
            yield from (Qrel(record.id, url) for url in record.urls)
