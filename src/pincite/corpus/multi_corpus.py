"""Search several corpora as one, each with its own encoder and its name in the results.

Hits are ranked as if from one corpus: word frequencies are summed, and vectors of one encoder are
compared. Hits of different encoders are merged by rank. If an address is in several corpora, the
first corpus's document is used.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pincite.corpus import protocol
from pincite.corpus.protocol import NO_FILTERS, Corpus, idf
from pincite.notes import Note
from pincite.protocols import Encoder, Query, Retriever, WordRetriever
from pincite.retrieval.filters import Filters
from pincite.retrieval.fusion import merged, pooled
from pincite.types import Document, Hit, Passage

_WORD = re.compile(r"[^\W_]+")  # tokenize like the index: runs of letters and digits


@dataclass(frozen=True, slots=True)
class Corpora:
    """One or more open corpora by name; a single one behaves as if used alone."""

    named: Mapping[str, Corpus]
    marked: Callable[[Document], Document] = lambda document: document  # if retracted

    @property
    def encoder(self) -> Encoder | None:
        return next((each.encoder for each in self.named.values() if each.encoder), None)

    @property
    def n_documents(self) -> int:
        return sum(each.status().n_documents for each in self.named.values())

    @property
    def notes(self) -> tuple[Note, ...]:
        """Warnings about corpora of which a search sees only a part."""
        behind = (name for name, each in self.named.items() if not each.is_complete)
        return tuple(Note("corpus_behind", {"corpus": name}) for name in behind)

    def versions(self) -> dict[str, str]:
        """Return what results record: encoders and digests, by name if there are several."""
        found = {name: each.manifest() for name, each in self.named.items()}
        if len(found) == 1:
            (only,) = found.values()
            return {"encoder": only["encoder"], "corpus": only["digest"]}
        encoders = dict.fromkeys(each["encoder"] for each in found.values())
        digests = (f"{name} {each['digest']}" for name, each in found.items())
        return {"encoder": ", ".join(encoders), "corpus": ", ".join(digests)}

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """Return the documents at `urls`, in order, each from the first corpus that has it."""
        found, several = dict[str, Document](), len(self.named) > 1
        for name, corpus in self.named.items():
            wanted = [url for url in dict.fromkeys(urls) if url not in found]
            for url, document in zip(wanted, corpus.get(wanted), strict=True):
                if document:
                    found[url] = replace(document, corpus=name) if several else document
        return [self.marked(found[url]) if url in found else None for url in urls]

    def lexical(
        self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS
    ) -> WordRetriever:
        searches = [each.lexical(exclude, filters) for each in self.named.values()]
        return _ByWords(list(self.named.values()), searches) if len(searches) > 1 else searches[0]

    def dense(self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS) -> Retriever:
        """Search by meaning, like `Corpus.dense`; each encoder gets the query's text."""
        corpora = list(self.named.values())
        searches = [each.dense(exclude, filters) for each in corpora]
        return _ByMeaning(corpora, searches) if len(searches) > 1 else searches[0]

    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        """Like `Corpus.nearest`, each document from the first corpus that has it."""
        found: dict[str, list[Passage]] = {}
        for corpus in self.named.values():
            known = zip(urls, corpus.ids(urls), strict=True)
            here = [url for url, doc_id in known if doc_id is not None and url not in found]
            found |= zip(here, corpus.nearest(question, here, k), strict=True)
        return [found.get(url, []) for url in urls]


@dataclass(frozen=True, slots=True)
class _ByWords:
    """BM25 over several indexes with a shared idf: query weights replace each index's own."""

    corpora: Sequence[Corpus]
    searches: Sequence[WordRetriever]

    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        split = [list(_words(query)) for query in queries]
        words = list(dict.fromkeys(word for of_query in split for word, _ in of_query))
        counted = [corpus.counted(words) for corpus in self.corpora]
        rare = {
            word: value for word, (_, value) in zip(words, protocol.terms(counted), strict=True)
        }
        found = []
        for search, (n_all, having) in zip(self.searches, counted, strict=True):
            here = {w: idf(n_all, n) for w, (_, n) in zip(words, having, strict=True)}
            ratios = {word: rare[word] / here[word] for word in words}
            weighted = [tuple((w, x * ratios[w]) for w, x in of_query) for of_query in split]
            found.append(search.retrieve(weighted, k))
        own = _of_first(self.corpora, found)
        return [pooled(runs, k) for runs in zip(*own, strict=True)]


@dataclass(frozen=True, slots=True)
class _ByMeaning:
    """Compares scores within an encoder, and merges hits of different encoders by rank."""

    corpora: Sequence[Corpus]
    searches: Sequence[Retriever]

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        found = _of_first(self.corpora, [each.retrieve(queries, k) for each in self.searches])
        of_encoder: dict[str, list[list[list[Hit]]]] = {}
        for corpus, runs in zip(self.corpora, found, strict=True):
            of_encoder.setdefault(corpus.manifest()["encoder"], []).append(runs)
        compared = [
            [pooled(runs, k) for runs in zip(*of_one, strict=True)]
            for of_one in of_encoder.values()
        ]
        if len(compared) == 1:
            return compared[0]
        return [merged(runs, k) for runs in zip(*compared, strict=True)]


def _words(query: Query) -> Iterator[tuple[str, float]]:
    for text, weight in ((query, 1.0),) if isinstance(query, str) else query:
        yield from ((match[0], weight) for match in _WORD.finditer(text))


def _of_first(corpora: Sequence[Corpus], found: Sequence[list[list[Hit]]]) -> list[list[list[Hit]]]:
    """Drop each corpus's hits at addresses where an earlier corpus has a different text.

    `Corpora.get` returns the earlier document, which does not contain the passage.
    """
    kept = []
    for number, runs in enumerate(found):
        ids = {hit.passage.url: hit.passage.doc_id for hits in runs for hit in hits}
        other = {
            url
            for earlier in corpora[:number]
            for url, known in zip(ids, earlier.ids(list(ids)), strict=True)
            if known not in (None, ids[url])
        }
        kept.append([[hit for hit in hits if hit.passage.url not in other] for hits in runs])
    return kept
