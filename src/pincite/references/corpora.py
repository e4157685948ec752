"""Corpora of records (PubMed, RIS, BibTeX) as a source of works."""

from dataclasses import dataclass

from pincite.judgement.references import retraction_of
from pincite.protocols import DocumentsOf, WordRetriever
from pincite.references.catalogue import Notice, Work, ids_of
from pincite.references.imports import kind_of
from pincite.retrieval.filters import SEPARATOR
from pincite.text.identifiers import doi_address, pubmed_address
from pincite.types import Citation, Document

HITS = 20  # passages read for a title


@dataclass(frozen=True, slots=True)
class CorpusRecords:
    """The records of corpora, found by the addresses of their identifiers, or by title."""

    documents_of: DocumentsOf
    words: WordRetriever
    name: str = "corpus"

    def lookup(self, citation: Citation) -> list[Work]:
        ids = dict(ids_of(citation))
        urls = [doi_address(doi) for doi in (citation.doi, ids.get("doi")) if doi]
        urls += [pubmed_address(ids["pmid"])] if "pmid" in ids else []
        hits = self.words.retrieve([citation.title], HITS)[0] if citation.title else []
        urls += [hit.passage.url for hit in hits]
        documents = self.documents_of(list(dict.fromkeys(urls)))
        return [_work(each) for each in documents if each and each.title]


def _work(document: Document) -> Work:
    meta, kind = document.meta, kind_of(retraction_of(document))
    dates = (meta.get("pubdate", ""), document.published or "")
    years = [int(date[:4]) for date in dates if date[:4].isdecimal()]
    return Work(
        document.title,
        tuple(filter(None, meta.get("authors", "").split(SEPARATOR))),
        tuple(dict.fromkeys(years)),
        meta.get("journal", ""),
        meta.get("doi", "").lower(),
        pmid=meta.get("pmid", ""),
        pmc=meta.get("pmc", "").upper().removeprefix("PMC"),
        issn=meta.get("issn", ""),
        volume=meta.get("volume", ""),
        issue=meta.get("issue", ""),
        pages=meta.get("pages", ""),
        url=document.url,
        notices=(Notice(kind, stated_by="corpus"),) if kind else (),
    )
