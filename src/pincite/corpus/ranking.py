"""Reduce candidates to the k best allowed passages, in the same way for every engine.

An index knows only keys and scores. Deleted passages and those on excluded sites must not use up
the k, and the order of equal scores must not depend on the index. So the search deepens until k
survive *and* the cut does not go through a tie, or nothing is left.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from pincite.corpus.protocol import Merge
from pincite.protocols import Query
from pincite.types import Hit, Passage, Span

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
Counted: TypeAlias = tuple[int, list[tuple[str, int]]]  # see `Corpus.counted`

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
