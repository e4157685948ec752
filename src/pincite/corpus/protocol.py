"""What every corpus can do, how an engine opens one, and how it ranks what its indexes find.

An index knows only keys and scores. Deleted passages and those on excluded sites must not use up
the k, and the order of equal scores must not depend on the index. So the search deepens until k
survive *and* the cut does not go through a tie, or nothing is left.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from pincite.durable import Tell
from pincite.errors import ConfigError, CorpusError
from pincite.protocols import Encoder, Floats, Query, Retriever
from pincite.retrieval.filters import Filters
from pincite.retrieval.fusion import Fused, Mode
from pincite.types import Document, Hit, Passage, Span

Address: TypeAlias = Path | str  # a folder, or `scheme://…`
Way: TypeAlias = Literal["hybrid", "lexical", "dense"]
IndexKind: TypeAlias = Literal["ivf", "hnsw"]  # of vectors
Comparison: TypeAlias = Literal["new", "changed", "same"]
Merge: TypeAlias = Callable[[Sequence[list[Hit]]], list[Hit]]
NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    """Counts and sizes of a corpus."""

    n_documents: int
    n_passages: int
    n_bytes: Mapping[str, int]  # by part, as far as the engine knows
    encoder: str
    created: str
    sequence: int  # of the last committed batch
    lexical_sequence: int  # of the last batch in the word index; -1 without an index
    unfinished_rebuild: bool


Order: TypeAlias = Literal["added", "title", "date"]  # of a list of documents
After: TypeAlias = tuple[str, int]  # sort value and key of the last row of a page


@dataclass(frozen=True, slots=True)
class Selection:
    """Which documents to list; an empty field does not restrict."""

    order: Order = "added"
    text: str = ""  # substring of the title or the address, ignoring case
    kind: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document without its text."""

    key: int
    sorted_by: str  # with `key`: where the next page starts
    doc_id: str
    url: str
    title: str
    kind: str
    published: str | None
    language: str | None
    n_passages: int


@dataclass(frozen=True, slots=True)
class Contents:
    """Counts of a corpus's documents, most frequent first, and their date range."""

    kinds: Mapping[str, int]
    languages: Mapping[str, int]  # "": unknown
    first: str | None  # earliest and latest date of publication, ISO; None: no known dates
    last: str | None
    n_undated: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a corpus."""

    kind: str  # pointer, store, document, vector, words, meaning, leftover
    place: str
    problem: str
    remedy: str
    repaired: bool = False

    @property
    def counts(self) -> bool:
        """Whether it makes the corpus unsound: a leftover only takes space."""
        return self.kind != "leftover" and not self.repaired


class Corpus(ABC):
    """Documents that can be added, deleted, looked up by url and searched by text or meaning.

    A context manager; `tests/support/laws.py` has its laws.
    """

    address: str
    encoder: Encoder | None  # that it was opened with

    @property
    @abstractmethod
    def name(self) -> str:
        """The last part of its address."""

    @property
    @abstractmethod
    def has_vectors(self) -> bool:
        """Whether it can be searched by meaning, given its encoder."""

    @abstractmethod
    def built_with(self) -> str:
        """The fingerprint of the encoder that it was built with."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def add(self, documents: Sequence[Document]) -> int:
        """Commit the documents; returns how many were new or changed.

        A document at the address of a stored one replaces it; an identical one is skipped. A kill
        costs at most one call: add a large collection in batches. Raises CorpusError if it was
        opened read-only or without its encoder, or cannot be written.
        """
        return self.add_with(documents, {})

    @abstractmethod
    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        """As `add`; a passage whose id is in `known` gets that vector and is not encoded."""

    @abstractmethod
    def indexing_behind(self) -> AbstractContextManager[None]:
        """Inside, searches may find what is added a little later; at the end they find it all."""

    @abstractmethod
    def delete(self, urls: Sequence[str]) -> int:
        """Remove the documents at `urls`; returns how many there were."""

    @abstractmethod
    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """The documents at `urls`, in order; None where there is none."""

    @abstractmethod
    def ids(self, urls: Sequence[str]) -> list[str | None]:
        """The ids of the documents at `urls`, in order; None where there is none."""

    @abstractmethod
    def urls(self) -> Iterator[str]:
        """All addresses, in a stable order."""

    @abstractmethod
    def vectors(self, passages: Sequence[Passage]) -> Mapping[str, Floats]:
        """The stored vectors of those passages that have one, by passage id."""

    @abstractmethod
    def compare(self, documents: Sequence[Document]) -> list[Comparison]:
        """What `add` would do with each: a new address, another content, or nothing to do."""

    def needed_encoder(self) -> Encoder:
        """Return the encoder; raises CorpusError if the corpus was opened without it."""
        if self.encoder is None:
            raise CorpusError(
                f"{self.address} was opened without the encoder {self.built_with()}, which is "
                "needed for this. Open it with that encoder."
            )
        return self.encoder

    def lexical(
        self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS
    ) -> "CorpusRetriever":
        """Search by words (BM25), among the documents that `filters` accepts.

        Sites in `exclude` (see `text.hosts`) do not use up the k.
        """
        return CorpusRetriever(self, "lexical", _sites(exclude), filters)

    def dense(
        self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS
    ) -> "CorpusRetriever":
        """Search by meaning, as `lexical`; raises CorpusError without vectors or encoder."""
        if not self.has_vectors:
            raise CorpusError(
                f"{self.address} was made without an encoder and has no vectors to search. "
                f"Create them: pincite corpus rebuild {self.address}"
            )
        self.needed_encoder()
        return CorpusRetriever(self, "dense", _sites(exclude), filters)

    def by(
        self,
        way: Way,
        exclude: Collection[str] = (),
        filters: Filters = NO_FILTERS,
        mode: Mode = "weighted",
    ) -> Retriever:
        """Search by words, by meaning, or by both ranked together in this mode."""
        if way == "lexical":
            return self.lexical(exclude, filters)
        if way == "dense":
            return self.dense(exclude, filters)
        return Fused(self.lexical(exclude, filters), self.dense(exclude, filters), mode)

    @abstractmethod
    def together(
        self, searches: Sequence[tuple["CorpusRetriever", Sequence[Query]]], n: int, merge: Merge
    ) -> list[list[Hit]]:
        """For each query what its searches find, `n` hits each, merged; see `merge_runs`."""

    @abstractmethod
    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        """The top-k passages of each document, nearest in meaning to the question first.

        The list is empty for a missing document, or if the corpus has no vectors.
        """

    @abstractmethod
    def count_words(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        """The number of passages; for each word its form and how many of them have it."""

    @abstractmethod
    def manifest(self) -> Mapping[str, str]:
        """What results record to be repeatable: at least encoder, digest, versions, rules."""

    @abstractmethod
    def status(self) -> CorpusStatus:
        """Counts, sizes, and whether anything is unfinished."""

    @property
    def is_complete(self) -> bool:
        """Whether searches by words cover all documents; not so after a full or read-only disk."""
        return True


@dataclass(frozen=True, slots=True)
class CorpusRetriever:
    """One way to search a corpus, by words or by meaning; sees every committed batch."""

    corpus: Corpus
    by: Literal["lexical", "dense"]
    exclude: frozenset[str] = frozenset()
    filters: Filters = NO_FILTERS

    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        """Return at most `k` hits per query; fewer only if no more passages match.

        By meaning, the texts of a weighted query are joined, since there are no words to weight.
        """
        return self.corpus.together([(self, queries)], k, lambda runs: runs[0])


def _sites(exclude: Collection[str]) -> frozenset[str]:
    if isinstance(exclude, str):  # a str is a Collection[str] too, of single letters
        raise ConfigError(f"exclude={exclude!r} should be a collection of hosts: [{exclude!r}]")
    return frozenset(host.lower().strip(".") for host in exclude)


@runtime_checkable
class Catalogue(Protocol):
    """A corpus that can list its documents, as the web pages of a corpus need."""

    def list_documents(
        self, selection: Selection, limit: int, after: After | None = None
    ) -> list[ListedDocument]:
        """At most `limit` documents, without their texts, behind the place `after`."""

    def contents(self) -> Contents:
        """Counts of documents by kind, language and date."""

    def by_id(self, doc_id: str) -> tuple[Document, list[Span]] | None:
        """The document with this id and its passages, in order; None if there is none."""


class Engine(Protocol):
    """Corpora of one kind, by address. An entry point of the group `pincite.corpora` is one.

    The entry point's name is the scheme of the addresses: `postgresql` of `postgresql://host/database/name`.
    """

    def exists(self, address: Address) -> bool:
        """Whether there is a corpus that `open` would open."""

    def encoder_of(self, address: Address) -> str:
        """The fingerprint of the encoder that the corpus was built with, or "none"."""

    def create(self, address: Address, encoder: Encoder | None) -> Corpus:
        """A new, empty corpus, open for writing; raises CorpusError if there is one."""

    def open(self, address: Address, encoder: Encoder | None, *, write: bool = False) -> Corpus:
        """An existing one; raises CorpusError, and StaleCorpus if encoder or rules differ."""

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """What is wrong with it, worst first; `repair` rebuilds what is derived."""

    def optimize(self, address: Address, tell: Tell, index: IndexKind | None) -> str:
        """Make it compact; returns a sentence that says what was gained."""

    def rebuild(
        self,
        address: Address,
        encoder: Encoder | None,
        progress: Callable[[int, int], None],
        index: IndexKind | None,
    ) -> None:
        """Rebuild it from the stored documents, with this encoder and today's rules."""


# ── Ranking ───────────────────────────────────────────────────────────────────────────────────────

Key = TypeVar("Key", bound=Hashable)


class Placed(Protocol):
    """A passage without its text: enough to rank it."""

    @property
    def doc_id(self) -> str: ...

    @property
    def span(self) -> Span: ...

    @property
    def passage_id(self) -> str: ...


Where = TypeVar("Where", bound=Placed)

MARGIN = 32  # first extra depth; usually covers deleted, excluded and tied passages
DEEPER = 4  # depth factor of each further attempt


def best(
    search: Callable[[Sequence[int], int], Sequence[list[tuple[Key, float]]]],
    places_of: Callable[[Iterable[Key]], Mapping[Key, Where]],
    n_queries: int,
    k: int,
) -> list[list[tuple[Where, float]]]:
    """Return at most `k` places with scores per query, by score, then passage id.

    `search(queries, depth)` takes indices of queries and returns fewer than `depth` candidates
    only if there are no more; `places_of(keys)` omits keys that must not be shown.
    """
    results: list[list[tuple[Where, float]]] = [[] for _ in range(n_queries)]
    pending, depth = list(range(n_queries)) if k > 0 else [], k + MARGIN
    while pending:
        candidates = search(pending, depth)
        places = places_of({key for scored in candidates for key, _ in scored})
        deeper = []
        for position, scored in zip(pending, candidates, strict=True):
            kept = [(places[key], score) for key, score in scored if key in places]
            kept.sort(key=lambda pair: (-pair[1], pair[0].passage_id))
            results[position] = kept[:k]
            # If the k-th score is above the last candidate's, nothing deeper can be in the k best.
            settled = len(kept) >= k and kept[k - 1][1] > scored[-1][1]
            if len(scored) == depth and not settled:
                deeper.append(position)
        pending, depth = deeper, depth * DEEPER
    return results


def merge_runs(
    read: Callable[[Sequence[Where]], Sequence[Passage]],
    ranked: Sequence[Sequence[Sequence[tuple[Where, float]]]],
    merge: Merge,
) -> list[list[Hit]]:
    """Merge the runs of each query, one run per search, and only then `read` the texts.

    Reading takes most of a search's time, and merging two runs drops half of their hits.
    """
    places: dict[str, Where] = {}

    def unread(pairs: Sequence[tuple[Where, float]]) -> list[Hit]:
        hits = list[Hit]()
        for rank, (place, score) in enumerate(pairs, 1):
            hits.append(Hit(Passage(place.doc_id, "", "", "", place.span), score, rank))
            places[hits[-1].passage.passage_id] = place
        return hits

    merged = [merge(list(map(unread, runs))) for runs in zip(*ranked, strict=True)]
    left = list(dict.fromkeys(hit.passage.passage_id for run in merged for hit in run))
    texts = dict(zip(left, read([places[id_] for id_ in left]), strict=True))
    return [[hit._replace(passage=texts[hit.passage.passage_id]) for hit in run] for run in merged]


def idf(n_all: int, n_having: int) -> float:
    """Inverse document frequency as in Lucene."""
    return math.log(1 + (n_all - n_having + 0.5) / (n_having + 0.5))


def text_of(query: Query) -> str:
    return query if isinstance(query, str) else " ".join(text for text, _ in query)
