"""What corpora in databases share: documents as rows, encoding, ranking, and rebuilding."""

import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pincite.corpus.generation import ENCODED_AT_ONCE, NO_ENCODER, encoding_with, reusing
from pincite.corpus.lexical import CUT, weights, words_of
from pincite.corpus.protocol import (
    Comparison,
    Corpus,
    CorpusRetriever,
    Merge,
    best,
    merged,
    text_of,
)
from pincite.corpus.store import content_hash, raw
from pincite.errors import CorpusError
from pincite.protocols import Floats, Query
from pincite.retrieval.filters import Facts, Filters
from pincite.text.hosts import is_below
from pincite.text.languages import identify
from pincite.text.page_numbers import confidence_in
from pincite.text.passages import passages
from pincite.types import Document, Hit, Passage, Span, Voice, about

KEY_DIGITS = 24  # 96 bits: of a billion addresses no two are taken for one
# Vectors of one text differ beyond the sixth decimal by the order of their sums, and would not tie.
VECTOR_DECIMALS = 6
DOCUMENTS_AT_ONCE = 256
Progress: TypeAlias = Callable[[int, int], None]  # documents done, documents in all
Scored: TypeAlias = list[tuple[Any, float]]  # keys of passages with their scores, best first


class Head(NamedTuple):
    """A document without its text."""

    key: str
    version: str
    doc_id: str
    facts: Facts
    fetched: str | None
    n_blocks: int
    n_passages: int

    @property
    def about(self) -> str:
        return about(self.facts.title, self.facts.published, self.facts.meta)

    def with_text(self, text: str) -> Document:
        url, title, kind, published, language, meta = self.facts
        return Document(url, title, text, kind, published, self.fetched, language, meta)


class Found(NamedTuple):
    """A passage without its text."""

    key: Any
    span: Span
    head: Head

    @property
    def doc_id(self) -> str:
        return self.head.doc_id

    @property
    def passage_id(self) -> str:
        return f"{self.head.doc_id}:{self.span.start}-{self.span.end}"

    def with_text(self, text: str) -> Passage:
        head = self.head
        known = head.doc_id, head.facts.url, head.facts.title, text, self.span, head.about
        language = identify(text, head.facts.language)
        recognised = confidence_in(head.facts.meta, self.span)
        voice = Voice.of(head.facts.meta)
        return Passage(*known, language=language, recognised=recognised, voice=voice)


def key_of(url: str) -> str:
    return sha256(raw(url)).hexdigest()[:KEY_DIGITS]


def stated(document: Document) -> str:
    """All that is known of a document besides its text, in ASCII."""
    facts = [document.doc_id, document.url, document.title, document.kind, document.published]
    return json.dumps([*facts, document.fetched, document.language, dict(document.meta)])


def head_of(key: str, version: str, text: str, n_blocks: int, n_passages: int) -> Head:
    """A document, from what was `stated` of it."""
    doc_id, *fields, fetched, language, meta = json.loads(text)
    url, title, kind, published = fields
    facts = Facts(url, title, kind, published, language, meta)
    return Head(key, version, doc_id, facts, fetched, n_blocks, n_passages)


def words_in(query: Query) -> Mapping[str, float]:
    """A query's words. Of an English one no other forms, which are rare but say nothing."""
    found, english = weights(query), identify(text_of(query)) == "en"
    return {w: x for w, x in found.items() if not (english and w.endswith(CUT))}


class RemoteCorpus(Corpus):
    """A corpus in a database; several threads may use it."""

    made_with: Mapping[str, str]  # encoder, index and so on
    writes: bool

    @property
    def has_vectors(self) -> bool:
        return self.made_with["encoder"] != NO_ENCODER

    def built_with(self) -> str:
        return self.made_with["encoder"]

    @abstractmethod
    def heads(self, keys: Iterable[str]) -> dict[str, Head]:
        """The documents that there are of these keys."""

    @abstractmethod
    def every(self) -> Iterator[Head]:
        """All documents, in a stable order."""

    @abstractmethod
    def having(self, words: Collection[str]) -> tuple[int, Mapping[str, int]]:
        """The number of passages, and of those that have each word."""

    @abstractmethod
    def by_words(self, queries: Sequence[Query], depth: int, filters: Filters) -> list[Scored]:
        """What each query finds by words."""

    @abstractmethod
    def by_meaning(self, vectors: Floats, depth: int, filters: Filters) -> list[Scored]:
        """What each vector finds."""

    @abstractmethod
    def places(self, keys: Collection[Any], seen: dict[str, Head]) -> dict[Any, Found]:
        """Those of the passages that are part of the corpus; documents are kept in `seen`."""

    @abstractmethod
    def read(self, places: Sequence[Found]) -> list[Passage]:
        """The passages at `places`, in their order."""

    def require_write(self) -> None:
        if not self.writes:
            raise CorpusError(
                f"{self.address} was opened for reading. Open it with write=True to change it."
            )

    def changed(self, documents: Sequence[Document], heads: Mapping[str, Head]) -> list[Document]:
        """The documents that `heads` lacks, or has otherwise; of one address only the last."""
        latest = {document.url: document for document in documents}
        return [
            document
            for document in latest.values()
            if not (head := heads.get(key_of(document.url)))
            or head.version != content_hash(document)
        ]

    def compared(self, documents: Sequence[Document]) -> list[Comparison]:
        heads = self.heads(key_of(document.url) for document in documents)
        found = [(heads.get(key_of(d.url)), content_hash(d)) for d in documents]
        return [
            "new" if head is None else "same" if head.version == now else "changed"
            for head, now in found
        ]

    def versions(self) -> dict[str, str]:
        """The version of each document, by address."""
        return {head.facts.url: head.version for head in self.every()}

    def urls(self) -> Iterator[str]:
        return (head.facts.url for head in self.every())

    def counted(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        forms = [next(iter(words_of(word)), "") for word in words]
        n_all, having = self.having(set(forms) - {""})
        return n_all, [(form, having.get(form, 0)) for form in forms]

    def ids(self, urls: Sequence[str]) -> list[str | None]:
        heads = self.heads(map(key_of, urls))
        found = [heads.get(key_of(url)) for url in urls]
        return [head.doc_id if head else None for head in found]

    def vectors_of(
        self, cut: Sequence[Sequence[Passage]], known: Mapping[str, Floats]
    ) -> list[Floats | None]:
        """The vectors of each document's passages; None without an encoder or passages."""
        if not self.has_vectors:
            return [None] * len(cut)
        every = [passage for of_one in cut for passage in of_one]
        encode = reusing(lambda _: known, lambda new: encoding_with(self.needed_encoder())(new))
        starts = range(0, len(every), ENCODED_AT_ONCE)
        made = iter([v for at in starts for v in encode(every[at : at + ENCODED_AT_ONCE])])
        return [np.stack([next(made) for _ in of_one]) if of_one else None for of_one in cut]

    def together(
        self, searches: Sequence[tuple[CorpusRetriever, Sequence[Query]]], n: int, merge: Merge
    ) -> list[list[Hit]]:
        seen: dict[str, Head] = {}
        ranked = [self._ranked(*one, n, seen) for one in searches]
        return merged(self.read, ranked, merge)

    def _ranked(
        self, retriever: CorpusRetriever, queries: Sequence[Query], k: int, seen: dict[str, Head]
    ) -> list[list[tuple[Found, float]]]:
        filters, vectors = retriever.filters, None
        if retriever.by == "dense" and queries:
            vectors = self.needed_encoder().encode(list(map(text_of, queries)), "query")

        def search(positions: Sequence[int], depth: int) -> list[Scored]:
            if vectors is not None:
                return self.by_meaning(vectors[list(positions)], depth, filters)
            return self.by_words([queries[i] for i in positions], depth, filters)

        def places_of(keys: Iterable[Any]) -> dict[Any, Found]:
            return {
                key: place
                for key, place in self.places(list(keys), seen).items()
                if not is_below(place.head.facts.url, retriever.exclude)
                and (not filters or filters.accepts(place.head.facts))
            }

        return best(search, places_of, len(queries), k)


def follow(old: RemoteCorpus, new: RemoteCorpus, progress: Progress) -> None:
    """Make the new one hold what the old one does, until there is nothing left to do."""
    same = all(old.made_with[key] == new.made_with[key] for key in ("encoder", "encoded_text"))
    wanted, done = old.versions(), new.versions()
    while wanted != done:
        behind = [url for url, version in wanted.items() if done.get(url) != version]
        for at in range(0, len(behind), DOCUMENTS_AT_ONCE):
            found = old.get(behind[at : at + DOCUMENTS_AT_ONCE])
            documents = [document for document in found if document is not None]
            cut = [passage for document in documents for passage in passages(document)]
            new.add_with(documents, old.vectors(cut) if same else {})
            progress(len(wanted) - len(behind) + at + len(found), len(wanted))
        new.delete([url for url in done if url not in wanted])
        wanted, done = old.versions(), new.versions()


def portions(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + size] for at in range(0, len(items), size))
