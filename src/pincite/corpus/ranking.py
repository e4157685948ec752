"""From candidates to the k best that may be shown: one place decides about ties and leavings-out.

An index knows keys and scores. Passages that were deleted meanwhile, and those on excluded sites,
must not use up the k, and the order of equal scores must not depend on the index; so the search
goes deeper until k survive *and* the cut does not go through a tie, or nothing is left.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar

from pincite.corpus.protocol import NO_FILTERS, Corpus, Way
from pincite.errors import ConfigError
from pincite.protocols import Query, Retriever
from pincite.retrieval.filters import Filters
from pincite.retrieval.fusion import Mode
from pincite.retrieval.retrievers import Fused
from pincite.types import Hit, Passage, Span

Key = TypeVar("Key", bound=Hashable)


class Placed(Protocol):
    """Where a passage stands: enough to rank it, without its text."""

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
Counted: TypeAlias = tuple[int, list[tuple[str, int]]]  # as `Corpus.counted` gives it
Merge: TypeAlias = Callable[[Sequence[list[Hit]]], list[Hit]]

MARGIN = 32  # more than k at first: enough for the usual few deleted, excluded or equal passages
DEEPER = 4  # times as deep at each further attempt


def best(
    search: Callable[[Sequence[int], int], Sequence[list[tuple[Key, float]]]],
    places_of: Callable[[Iterable[Key]], Mapping[Key, Where]],
    n_queries: int,
    k: int,
) -> list[list[tuple[Where, float]]]:
    """For each query at most `k` places with scores, by score, then passage id.

    `search(queries, depth)` takes positions of queries and gives fewer than `depth` candidates
    only if there are no more; `places_of(keys)` leaves out the keys that may not be shown.
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
            if len(scored) == depth and not _is_settled(kept, k, scored[-1][1]):
                deeper.append(position)
        pending, depth = deeper, depth * DEEPER
    return results


def merged(
    read: Callable[[Sequence[Where]], Sequence[Passage]],
    ranked: Sequence[Sequence[Sequence[tuple[Where, float]]]],
    merge: Merge,
) -> list[list[Hit]]:
    """For each query its runs, one of each search, made one; only then `read` gives texts.

    Reading is most of a search, and where two are merged half of what they find is left out.
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


def _is_settled(kept: Sequence[tuple[Where, float]], k: int, lowest: float) -> bool:
    """Whether nothing below the candidates can belong to the k best."""
    return len(kept) >= k and kept[k - 1][1] > lowest


def idf(n_all: int, n_having: int) -> float:
    """How rare a word is that so many of all passages have, as in Lucene."""
    return math.log(1 + (n_all - n_having + 0.5) / (n_having + 0.5))


def terms(counted: Sequence[Counted]) -> list[tuple[str, float]]:
    """For each word its form and its idf in all corpora together, each as `Corpus.counted`."""
    n_all = sum(n for n, _ in counted)
    of_words = zip(*(words for _, words in counted), strict=True)
    return [(w[0][0], idf(n_all, sum(n for _, n in w)) if w[0][0] else 0.0) for w in of_words]


def by(
    corpus: Corpus, way: Way, exclude: Collection[str], filters: Filters, mode: Mode
) -> Retriever:
    """What `Corpus.by` gives, of any engine."""
    if way == "lexical":
        return corpus.lexical(exclude, filters)
    if way == "dense":
        return corpus.dense(exclude, filters)
    return Fused(corpus.lexical(exclude, filters), corpus.dense(exclude, filters), mode)


class Together(Protocol):
    """A corpus whose searches are merged before texts are read."""

    def together(
        self,
        searches: Sequence[tuple["CorpusRetriever", Sequence[Query]]],
        n: int,
        merge: Merge,
    ) -> list[list[Hit]]:
        """For each query what its searches find, `n` hits each, merged; see `merged`."""
        ...


@dataclass(frozen=True, slots=True)
class CorpusRetriever:
    """One way to search a corpus, by words or by meaning; sees what is committed."""

    corpus: Together
    by: Literal["lexical", "dense"]
    exclude: frozenset[str] = frozenset()
    filters: Filters = NO_FILTERS

    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        """For each query at most `k` hits; fewer only if no more passages match.

        By meaning, the texts of a weighted query are read as one, since it has no words to weigh.
        """
        return self.corpus.together([(self, queries)], k, lambda runs: runs[0])


def text_of(query: Query) -> str:
    """The text of a query, weighted or not."""
    return query if isinstance(query, str) else " ".join(text for text, _ in query)


def sites(exclude: Collection[str]) -> frozenset[str]:
    """Hosts as `text.hosts` compares them."""
    if isinstance(exclude, str):  # a str is a Collection[str] too, of single letters
        raise ConfigError(f"exclude={exclude!r} should be a collection of hosts: [{exclude!r}]")
    return frozenset(host.lower().strip(".") for host in exclude)
