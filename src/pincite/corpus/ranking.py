"""Reduce candidates to the k best allowed passages, in the same way for every engine.

An index knows only keys and scores. Deleted passages and those on excluded sites must not use up
the k, and the order of equal scores must not depend on the index. So the search deepens until k
survive *and* the cut does not go through a tie, or nothing is left.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self, TypeAlias, TypeVar

from pincite.corpus.protocol import NO_FILTERS, Way
from pincite.errors import ConfigError, CorpusError
from pincite.protocols import Encoder, Floats, Query, Retriever
from pincite.retrieval.filters import Filters
from pincite.retrieval.fusion import Mode
from pincite.retrieval.retrievers import Fused
from pincite.types import Document, Hit, Passage, Span

Key = TypeVar("Key", bound=Hashable)


class Placed(Protocol):
    """A passage without its text: enough to rank it."""

    @property
    def doc_id(self) -> str:
        """Its document's."""
        ...

    @property
    def span(self) -> Span:
        """In its document's text."""
        ...

    @property
    def passage_id(self) -> str:
        """The same as `Passage.passage_id`."""
        ...


Where = TypeVar("Where", bound=Placed)
Counted: TypeAlias = tuple[int, list[tuple[str, int]]]  # see `Corpus.counted`
Merge: TypeAlias = Callable[[Sequence[list[Hit]]], list[Hit]]

MARGIN = 32  # first extra depth; usually covers deleted, excluded and tied passages
DEEPER = 4  # depth factor of each further attempt


class Searchable(ABC):
    """The part of `protocol.Corpus` that all engines share."""

    address: str
    encoder: Encoder | None

    @property
    @abstractmethod
    def has_vectors(self) -> bool:
        """Whether it can be searched by meaning, given its encoder."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    @abstractmethod
    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        """As `protocol.Corpus`."""

    @abstractmethod
    def built_with(self) -> str:
        """The fingerprint of the encoder that it was built with."""

    @abstractmethod
    def together(
        self,
        searches: Sequence[tuple["CorpusRetriever", Sequence[Query]]],
        n: int,
        merge: Merge,
    ) -> list[list[Hit]]:
        """For each query what its searches find, `n` hits each, merged; see `merged`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def add(self, documents: Sequence[Document]) -> int:
        """Commit the documents; returns how many were new or changed.

        A document at the address of a stored one replaces it; an identical one is skipped. Add a
        large collection in batches: a kill costs at most one.

        Raises:
            CorpusError: It was opened read-only or without its encoder, or it cannot be written.
        """
        return self.add_with(documents, {})

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
        """Search by meaning, among the same documents as `lexical`.

        Raises:
            CorpusError: The corpus has no vectors, or was opened without an encoder.
        """
        if not self.has_vectors:
            raise CorpusError(
                f"{self.address} was made without an encoder and has no vectors to search. "
                f"Make them: pincite corpus rebuild {self.address}"
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
        if way == "lexical":
            return self.lexical(exclude, filters)
        if way == "dense":
            return self.dense(exclude, filters)
        return Fused(self.lexical(exclude, filters), self.dense(exclude, filters), mode)


@dataclass(frozen=True, slots=True)
class CorpusRetriever:
    """One way to search a corpus, by words or by meaning; sees every committed batch."""

    corpus: Searchable
    by: Literal["lexical", "dense"]
    exclude: frozenset[str] = frozenset()
    filters: Filters = NO_FILTERS

    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        """Return at most `k` hits per query; fewer only if no more passages match.

        By meaning, the texts of a weighted query are joined, since there are no words to weight.
        """
        return self.corpus.together([(self, queries)], k, lambda runs: runs[0])


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
        found = search(pending, depth)
        places = places_of({key for scored in found for key, _ in scored})
        deeper = []
        for position, scored in zip(pending, found, strict=True):
            kept = [(places[key], score) for key, score in scored if key in places]
            kept.sort(key=lambda pair: (-pair[1], pair[0].passage_id))
            results[position] = kept[:k]
            # If the k-th score is above the last candidate's, nothing deeper can be in the k best.
            settled = len(kept) >= k and kept[k - 1][1] > scored[-1][1]
            if len(scored) == depth and not settled:
                deeper.append(position)
        pending, depth = deeper, depth * DEEPER
    return results


def merged(
    read: Callable[[Sequence[Where]], Sequence[Passage]],
    ranked: Sequence[Sequence[Sequence[tuple[Where, float]]]],
    merge: Merge,
) -> list[list[Hit]]:
    """Merge the runs of each query, one run per search, and only then `read` the texts.

    Reading takes most of a search's time, and merging two runs drops half of their hits.
    """
    places: dict[str, Where] = {}

    def unread(pairs: Sequence[tuple[Where, float]]) -> list[Hit]:
        found = [Passage(p.doc_id, "", "", "", p.span) for p, _ in pairs]
        ids = [passage.passage_id for passage in found]
        places.update(zip(ids, (place for place, _ in pairs), strict=True))
        scores = (score for _, score in pairs)
        return list(map(Hit, found, scores, range(1, len(found) + 1)))

    merged = [merge(list(map(unread, runs))) for runs in zip(*ranked, strict=True)]
    left = list(dict.fromkeys(hit.passage.passage_id for run in merged for hit in run))
    texts = dict(zip(left, read([places[id_] for id_ in left]), strict=True))
    return [[hit._replace(passage=texts[hit.passage.passage_id]) for hit in run] for run in merged]


def idf(n_all: int, n_having: int) -> float:
    """Inverse document frequency as in Lucene."""
    return math.log(1 + (n_all - n_having + 0.5) / (n_having + 0.5))


def terms(counted: Sequence[Counted]) -> list[tuple[str, float]]:
    """Return each word's indexed form and its idf over all corpora, from `Corpus.counted`."""
    n_all = sum(n for n, _ in counted)
    of_words = zip(*(words for _, words in counted), strict=True)
    return [(w[0][0], idf(n_all, sum(n for _, n in w)) if w[0][0] else 0.0) for w in of_words]


def text_of(query: Query) -> str:
    return query if isinstance(query, str) else " ".join(text for text, _ in query)


def _sites(exclude: Collection[str]) -> frozenset[str]:
    if isinstance(exclude, str):  # a str is a Collection[str] too, of single letters
        raise ConfigError(f"exclude={exclude!r} should be a collection of hosts: [{exclude!r}]")
    return frozenset(host.lower().strip(".") for host in exclude)
