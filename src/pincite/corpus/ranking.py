"""From candidates to the k best that may be shown: one place decides about ties and leavings-out.

An index knows keys and scores. Passages that were deleted meanwhile, and those on excluded sites,
must not use up the k, and the order of equal scores must not depend on the index; so the search
goes deeper until k survive *and* the cut does not go through a tie, or nothing is left.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from pincite.corpus.rows import Place
from pincite.corpus.store import Store
from pincite.types import Hit, Passage

Scored: TypeAlias = list[tuple[int, float]]  # (passage key, score), best first

MARGIN = 32  # more than k at first: enough for the usual few deleted, excluded or equal passages
DEEPER = 4  # times as deep at each further attempt


def best(
    search: Callable[[Sequence[int], int], Sequence[Scored]],
    places_of: Callable[[Iterable[int]], Mapping[int, Place]],
    n_queries: int,
    k: int,
) -> list[list[tuple[Place, float]]]:
    """For each query at most `k` places with scores, by score, then passage id.

    `search(queries, depth)` takes positions of queries and gives fewer than `depth` candidates
    only if there are no more; `places_of(keys)` leaves out the keys that may not be shown.
    """
    results: list[list[tuple[Place, float]]] = [[] for _ in range(n_queries)]
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
    store: Store,
    ranked: Sequence[Sequence[Sequence[tuple[Place, float]]]],
    merge: Callable[[Sequence[list[Hit]]], list[Hit]],
) -> list[list[Hit]]:
    """For each query its runs, one of each search, made one; only then texts are read.

    Reading is most of a search, and where two are merged half of what they find is left out.
    """
    places: dict[str, Place] = {}

    def unread(pairs: Sequence[tuple[Place, float]]) -> list[Hit]:
        found = [Passage(p.doc_id, p.url, p.title, "", p.span) for p, _ in pairs]
        ids = [passage.passage_id for passage in found]
        places.update(zip(ids, (place for place, _ in pairs), strict=True))
        scores = (score for _, score in pairs)
        return list(map(Hit, found, scores, range(1, len(found) + 1)))

    merged = [merge(list(map(unread, runs))) for runs in zip(*ranked, strict=True)]
    left = list(dict.fromkeys(hit.passage.passage_id for run in merged for hit in run))
    read = dict(zip(left, store.passages([places[id_] for id_ in left]), strict=True))
    return [[hit._replace(passage=read[hit.passage.passage_id]) for hit in run] for run in merged]


def _is_settled(kept: Sequence[tuple[Place, float]], k: int, lowest: float) -> bool:
    """Whether nothing below the candidates can belong to the k best."""
    return len(kept) >= k and kept[k - 1][1] > lowest


def idf(n_all: int, n_having: int) -> float:
    """How rare a word is that so many of all passages have, as in Lucene."""
    return math.log(1 + (n_all - n_having + 0.5) / (n_having + 0.5))
