"""Several rankings made into one, and repetition taken out of it."""

import math
from collections.abc import Callable, Sequence

from pincite.core.wording import content_words
from pincite.types import Hit

RRF_K = 60  # Cormack, Clarke & Büttcher 2009, §2: 60 was best in their pilot and is customary
# Log-odds that a passage loses with each e-fold of its rank; chosen on the WAFER-like dev claims.
RANK_WEIGHT = 0.6
JUDGED = 50  # candidates that the verifier reads; docs/benchmarks.md says what more would change
SAME_TEXT = 0.9  # Jaccard over content words: syndicated copies reach it, rewrites do not


def reciprocal_rank_fusion(runs: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """One ranking of at most `k` hits: score = Σ 1 / (60 + rank) over the runs that have it.

    Symmetric in the runs; every passage occurs once; ties break on passage id. With `k` at least
    the number of hits this is SIDE's union of both retrievers, ordered and without repetition.
    """
    scores: dict[str, float] = {}
    passages = {}
    for run in runs:
        for hit in run:
            key = hit.passage.passage_id
            passages[key] = hit.passage
            scores[key] = scores.get(key, 0.0) + 1.0 / (RRF_K + hit.rank)
    order = sorted(scores, key=lambda key: (-scores[key], key))[:k]
    return [Hit(passages[key], scores[key], rank) for rank, key in enumerate(order, 1)]


def with_rank(score: float, rank: int, weight: float = RANK_WEIGHT) -> float:
    """The verifier's log-odds and the retrievers' rank as one score for ordering candidates.

    The share of right passages falls with their rank about as a power of it; Bayes adds the
    logarithm of that prior to the log-odds, which saw the passage but not its competitors.

    >>> with_rank(1.0, 1), with_rank(1.0, 2) < 1.0
    (1.0, True)
    """
    return score - weight * math.log(rank)


def kept(hits: Sequence[Hit], keep: Callable[[Hit], bool]) -> list[Hit]:
    """The hits that `keep` accepts, ranks closed up."""
    chosen = [hit for hit in hits if keep(hit)]
    return [hit._replace(rank=rank) for rank, hit in enumerate(chosen, 1)]


def without_copies(hits: Sequence[Hit]) -> list[Hit]:
    """Hits without later ones that say nearly the same words: a syndicated text counts once."""
    seen: list[frozenset[str]] = []

    def is_new(hit: Hit) -> bool:
        words = frozenset(content_words(hit.passage.text))
        if any(_jaccard(words, other) >= SAME_TEXT for other in seen):
            return False
        seen.append(words)
        return True

    return kept(hits, is_new)


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0
