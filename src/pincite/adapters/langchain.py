"""A corpus as a LangChain retriever: needs `langchain-core`."""

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from pincite.corpus.protocol import Corpus


class CorpusRetriever(BaseRetriever):  # type: ignore[misc]  # mypy does not read LangChain
    """The passages of an open corpus nearest to a query, by words and by meaning.

    >>> CorpusRetriever(corpus=pincite.open_corpus("kb"), k=4)  # doctest: +SKIP
    """

    corpus: Any  # a Corpus; the caller closes it
    k: int = 8

    def _get_relevant_documents(self, query: str) -> list[Document]:
        corpus: Corpus = self.corpus
        (hits,) = corpus.by("hybrid" if corpus.has_vectors else "lexical").retrieve([query], self.k)
        return [
            Document(
                hit.passage.text,
                id=hit.passage.passage_id,
                metadata={
                    "source": hit.passage.url,
                    "title": hit.passage.title,
                    "span": list(hit.passage.span),
                    "score": hit.score,
                },
            )
            for hit in hits
        ]
