"""Several corpora that are searched as one, each with its own encoder and its name in the results.

Rankings of two corpora become one by rank within each (`retrieval.fusion.merged`), before a
verifier reads what was found. Of an address that several have the first corpus's copy counts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pincite.corpus.embedded import NO_FILTERS, EmbeddedCorpus
from pincite.protocols import Encoder, Query
from pincite.retrieval.filters import Filters
from pincite.retrieval.retrievers import Merged, Search
from pincite.types import Document, Hit

Asked_contra = TypeVar("Asked_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Corpora:
    """Open corpora by name, at least one; a single one behaves as it does alone."""

    named: Mapping[str, EmbeddedCorpus]

    @property
    def encoder(self) -> Encoder | None:
        """The first one's."""
        return next((each.encoder for each in self.named.values() if each.encoder), None)

    @property
    def n_documents(self) -> int:
        """Of all together."""
        return sum(each.status().n_documents for each in self.named.values())

    def versions(self) -> dict[str, str]:
        """What results must record of them: encoders and digests, of several by name."""
        found = {name: each.manifest() for name, each in self.named.items()}
        if len(found) == 1:
            (only,) = found.values()
            return {"encoder": only["encoder"], "corpus": only["digest"]}
        encoders = dict.fromkeys(each["encoder"] for each in found.values())
        digests = (f"{name} {each['digest']}" for name, each in found.items())
        return {"encoder": ", ".join(encoders), "corpus": ", ".join(digests)}

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """The documents at `urls`, in order, each of the first corpus that has it."""
        found: dict[str, Document] = {}
        for name, corpus in self.named.items():
            wanted = [url for url in dict.fromkeys(urls) if url not in found]
            for url, document in zip(wanted, corpus.get(wanted), strict=True):
                if document:
                    found[url] = self._named(document, name)
        return [found.get(url) for url in urls]

    def search(self, of: Callable[[EmbeddedCorpus], Search[Asked_contra]]) -> Search[Asked_contra]:
        """The searches that `of` makes of each corpus as one."""
        corpora = list(self.named.values())
        if len(corpora) == 1:
            return of(corpora[0])
        return Merged([_OfOne(of(each), corpora[:n]) for n, each in enumerate(corpora)])

    def lexical(
        self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS
    ) -> Search[Query]:
        """Search by words, as `EmbeddedCorpus.lexical`."""
        return self.search(lambda corpus: corpus.lexical(exclude, filters))

    def dense(self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS) -> Search[str]:
        """Search by meaning, as `EmbeddedCorpus.dense`; each encoder gets the query's text."""
        return self.search(lambda corpus: corpus.dense(exclude, filters))

    def terms(self, words: Sequence[str]) -> list[tuple[str, float]]:
        """For each word its form in the word indexes, and the mean of its idf."""
        of_each = [corpus.terms(words) for corpus in self.named.values()]
        return [
            (found[0][0], sum(idf for _, idf in found) / len(found))
            for found in zip(*of_each, strict=True)
        ]

    def _named(self, document: Document, name: str) -> Document:
        return replace(document, corpus=name) if len(self.named) > 1 else document


@dataclass(frozen=True, slots=True)
class _OfOne(Generic[Asked_contra]):
    """A corpus's hits without those of addresses at which an earlier corpus has another text.

    `Corpora.get` gives the earlier one's document, in whose text the passage does not stand.
    """

    search: Search[Asked_contra]
    earlier: Sequence[EmbeddedCorpus]

    def retrieve(self, queries: Sequence[Asked_contra], k: int) -> list[list[Hit]]:
        """For each query at most `k` hits."""
        found = self.search.retrieve(queries, k)
        ids = {hit.passage.url: hit.passage.doc_id for hits in found for hit in hits}
        urls = list(ids)
        for corpus in self.earlier:
            for url, known in zip(urls, corpus.ids(urls), strict=True):
                if known not in (None, ids[url]):
                    ids[url] = ""
        return [[hit for hit in hits if ids[hit.passage.url]] for hits in found]
