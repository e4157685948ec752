"""Queries for a claim, fusion of rankings, and retrievers built from others: fused or reranked.

Each retriever is a `protocols.Retriever`, so verbs, commands, the server and benchmarks can combine
them in one line.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Literal, NamedTuple, get_args

from pincite.protocols import Query, Reader, Retriever, WordRetriever
from pincite.types import Claim, FoundBy, Hit

Mode = Literal["weighted", "rrf", "union", "verifai"]
MODES: tuple[Mode, ...] = get_args(Mode)

# The dense ranking's share in the weighted sum, by the WAFER-like dev claims and SciFact's train
# claims: research/fusion.md has other values.
DENSE_SHARE = 0.5
VERIFAI = (0.7, 0.3)  # lexical and dense: the defaults in Verif.ai's code
RRF_K = 60  # Cormack, Clarke & Büttcher 2009, §2: 60 was best in their pilot and is customary
# Log-odds between the first and the last candidate of a search (regression: research/fusion.md).
PRIOR_WEIGHT = 6.5
JUDGED = 50  # candidates that the verifier reads; see research/fusion.md for other values


def reciprocal_rank_fusion(runs: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Fuse to at most `k` hits by score = Σ 1 / (60 + rank) over the runs that have the passage.

    Symmetric in the runs; every passage occurs once; ties break on passage id.
    """
    return _rank_by_sums(runs, [[1.0 / (RRF_K + hit.rank) for hit in run] for run in runs], k)


def weighted_sum(runs: Sequence[Sequence[Hit]], weights: Sequence[float], k: int) -> list[Hit]:
    """Fuse to at most `k` hits by score = Σ weight · (s − min) / (max − min) over the runs.

    Minimum and maximum are those of the run. A passage gets 0 from a run that lacks it, and all
    scores of a run in which they are equal count as 1. Ties break on passage id.
    """
    pairs = zip(weights, map(shares, runs), strict=True)
    return _rank_by_sums(runs, [[weight * share for share in run] for weight, run in pairs], k)


def sum_by_maximum(runs: Sequence[Sequence[Hit]], weights: Sequence[float], k: int) -> list[Hit]:
    """Fuse to at most `k` hits by score = Σ weight · s / max over the runs, as in Verif.ai.

    The maximum is the run's; a run without a positive score counts for nothing.
    """
    scores = list[list[float]]()
    for run, weight in zip(runs, weights, strict=True):
        best = max((hit.score for hit in run), default=0.0)
        scores.append([weight * hit.score / best if best > 0 else 0.0 for hit in run])
    return _rank_by_sums(runs, scores, k)


def union(runs: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Concatenate the runs without repetition: SIDE's union.

    There the dense run comes first, and the verifier orders them all (Petroni et al. 2023, §4). The
    score is the reciprocal of the new rank, since scores of different runs are not comparable.
    """
    passages = {hit.passage.passage_id: hit.passage for run in runs for hit in run}
    return [Hit(p, 1.0 / rank, rank) for rank, p in enumerate(list(passages.values())[:k], 1)]


def fuse(
    lexical: Sequence[Hit],
    dense: Sequence[Hit],
    k: int,
    mode: Mode,
    dense_share: float = DENSE_SHARE,
) -> list[Hit]:
    """Fuse both retrievers' hits for one query; either may be empty.

    `dense_share` is for "weighted": 0 uses only the lexical hits, 1 only the dense ones.
    """
    if mode == "union":
        hits = union([dense, lexical], k)
    elif mode == "rrf":
        hits = reciprocal_rank_fusion([lexical, dense], k)
    elif mode == "verifai":
        hits = sum_by_maximum([lexical, dense], VERIFAI, k)
    else:
        hits = weighted_sum([lexical, dense], [1 - dense_share, dense_share], k)
    ways: dict[str, FoundBy] = {hit.passage.passage_id: "words" for hit in lexical}
    for key in (hit.passage.passage_id for hit in dense):
        ways[key] = "both" if key in ways else "meaning"
    return [hit._replace(found_by=ways[hit.passage.passage_id]) for hit in hits]


def pool_hits(runs: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Merge hits of several collections into the `k` best by their comparable scores.

    A passage found in several counts once, with its best score. Ties break on passage id.
    """
    best: dict[str, Hit] = {}
    for hit in (hit for run in runs for hit in run):
        known = best.setdefault(hit.passage.passage_id, hit)
        if hit.score > known.score:
            best[hit.passage.passage_id] = hit
    order = sorted(best.values(), key=lambda hit: (-hit.score, hit.passage.passage_id))
    return [hit._replace(rank=rank) for rank, hit in enumerate(order[:k], 1)]


def merge_by_share(runs: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Merge runs whose scores are not comparable, each hit by its share of its run's best.

    The best hits of all runs then tie, and a verifier, which reads them all, has to decide.
    """
    of_runs = ([h._replace(score=s) for h, s in zip(r, shares(r), strict=True)] for r in runs)
    return pool_hits(list(of_runs), k)


def shares(run: Sequence[Hit]) -> list[float]:
    """Rescale the scores to 0 … 1; all 1 if they are equal."""
    scores = [hit.score for hit in run]
    low, width = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
    return [(score - low) / width if width > 0 else 1.0 for score in scores]


def _rank_by_sums(
    runs: Sequence[Sequence[Hit]], scores: Sequence[Sequence[float]], k: int
) -> list[Hit]:
    """Rank passages by the sums of their `scores`, one for each hit of each run."""
    passages = {hit.passage.passage_id: hit.passage for run in runs for hit in run}
    sums = dict.fromkeys(passages, 0.0)
    for hit, score in zip(chain(*runs), chain(*scores), strict=True):
        sums[hit.passage.passage_id] += score
    order = sorted(sums, key=lambda key: (-sums[key], key))[:k]
    return [Hit(passages[key], sums[key], rank) for rank, key in enumerate(order, 1)]


def with_prior(score: float, share: float) -> float:
    """Add the search's prior to the verifier's log-odds, for ordering.

    The verifier saw the passage but not its competitors. How well a passage was found among them is
    its prior; by Bayes' rule its logarithm is added to the log-odds.
    """
    return score + PRIOR_WEIGHT * share


def filter_hits(hits: Sequence[Hit], keep: Callable[[Hit], bool]) -> list[Hit]:
    chosen = [hit for hit in hits if keep(hit)]
    return [hit._replace(rank=rank) for rank, hit in enumerate(chosen, 1)]


# ── Retrievers ───────────────────────────────────────────────────────────────────────────────────

# Hits per document that are read to see whether it bears on a question: with 6 of a full article,
# ten questions got the same answers as with all 50 hits.
OF_ONE = 6
# Weights of the words around the claim, relative to its own; chosen on the WAFER-like dev claims.
SECTION_WEIGHT = 0.5
BEFORE_WEIGHT = 0.1


class HybridQuery(NamedTuple):
    """A query in two forms: its words, which may be weighted, and the text to encode."""

    words: Query
    text: str


@dataclass(frozen=True, slots=True)
class Fused:
    """Fuses a lexical and a dense search; one that is None finds nothing."""

    lexical: WordRetriever | None
    dense: Retriever | None
    mode: Mode = "weighted"
    depth: int = 0  # hits from each; 0: as many as requested
    dense_share: float = DENSE_SHARE

    def retrieve(self, queries: Sequence[str | HybridQuery], k: int) -> list[list[Hit]]:
        """Return the `k` best of the union of both per query; scores as in `fusion.fuse`."""
        forms = [q if isinstance(q, HybridQuery) else HybridQuery(q, q) for q in queries]
        words, meanings = [query.words for query in forms], [query.text for query in forms]
        n = self.depth or k

        def merge(runs: Sequence[list[Hit]]) -> list[Hit]:
            return fuse(runs[0], runs[1], k, self.mode, self.dense_share)

        corpus: Any = getattr(self.lexical, "corpus", None)
        if corpus is getattr(self.dense, "corpus", None) and corpus is not None:
            # The corpus reads texts only after merging.
            searches = [(self.lexical, words), (self.dense, meanings)]
            rankings: list[list[Hit]] = corpus.together(searches, n, merge)
            return rankings
        nothing: list[list[Hit]] = [[] for _ in forms]
        by_words = self.lexical.retrieve(words, n) if self.lexical else nothing
        by_meaning = self.dense.retrieve(meanings, n) if self.dense else nothing
        return [merge(runs) for runs in zip(by_words, by_meaning, strict=True)]


@dataclass(frozen=True, slots=True)
class Reranked:
    """Reranks the first hits of a search with a network; the scores are its log-odds."""

    retriever: Retriever
    reader: Reader
    read: int = JUDGED  # hits per query; no more are returned
    of_one: int = JUDGED  # hits per document that are read; the others come last

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return at most `k` of the first hits per query."""
        runs = self.retriever.retrieve(queries, self.read)
        return [self._order(query, run)[:k] for query, run in zip(queries, runs, strict=True)]

    def _order(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Order the hits by the reader's log-odds with the search's prior (`fusion.with_prior`).

        The reader alone orders worse than the search does. Ties break on passage id. Unread hits
        keep their order and get the score of the last one read.
        """
        claim, n_of_document = Claim.alone(query), Counter[str]()
        read, unread = list[tuple[Hit, float]](), list[Hit]()
        for hit, share in zip(hits, shares(hits), strict=True):
            n_of_document[hit.passage.url] += 1
            if n_of_document[hit.passage.url] <= self.of_one:
                read.append((hit, share))
            else:
                unread.append(hit)
        odds = map(float, self.reader.relevance([(claim, hit.passage) for hit, _ in read]))
        scored = [
            (-with_prior(score, share), hit.passage.passage_id, hit._replace(score=score))
            for score, (hit, share) in zip(odds, read, strict=True)
        ]
        ordered = [hit for _, _, hit in sorted(scored, key=itemgetter(0, 1))]
        least = min((hit.score for hit in ordered), default=0.0)
        ordered += [hit._replace(score=least) for hit in unread]
        return [hit._replace(rank=rank) for rank, hit in enumerate(ordered, 1)]


# ── Queries ──────────────────────────────────────────────────────────────────────────────────────


def lexical_query(claim: Claim) -> Query:
    """Return the claim with its context as weighted words for BM25.

    The article's title stands in for "it" and "he". The section and the preceding sentences break
    ties between equal passages.

    >>> lexical_query(Claim("c1", "It opened in 1911.", "Varde Bridge", ("Use",), "It was dear."))
    (('It opened in 1911.', 1.0), ('Varde Bridge', 1.0), ('Use', 0.5), ('It was dear.', 0.1))
    """
    parts = (
        (claim.text, 1.0),
        (claim.title, 1.0),
        (" ".join(claim.section), SECTION_WEIGHT),
        (claim.before, BEFORE_WEIGHT),
    )
    return tuple((text, weight) for text, weight in parts if text)


def dense_query(claim: Claim) -> str:
    """Return the article's title, then the claim: the title stands in for "it" and "he"."""
    return f"{claim.title} {claim.text}".strip()


def web_query(claim: Claim) -> str:
    """Return the claim for a web search, with the article's title unless it contains it.

    >>> web_query(Claim("c1", "It opened in 1911.", "Varde Bridge"))
    'Varde Bridge It opened in 1911.'
    >>> web_query(Claim("c1", "Varde Bridge opened in 1911.", "Varde Bridge"))
    'Varde Bridge opened in 1911.'
    """
    return claim.text if claim.title.lower() in claim.text.lower() else dense_query(claim)
