"""Queries for a claim, fusion of rankings, and retrievers built from others: fused or reranked.

Each retriever is a `protocols.Retriever`, so verbs, commands, the server and benchmarks can combine
them in one line. An article published by several sites counts once.

Copies cut paragraphs, so a passage of a copy may overlap two neighbours of the original. It is a
copy if nearly all of its words occur, in runs of three, in better-ranked passages of one page.
Texts that differ in a figure, a name or a negation are never copies. MinHash (Broder 1997, by
rensa) finds the few passages worth comparing word by word.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

from pincite.protocols import Query, Reader, Retriever, WordRetriever
from pincite.text import words as wording
from pincite.text.figures import figures
from pincite.types import Claim, FoundBy, Hit

Mode = Literal["weighted", "rrf", "union", "verifai"]
MODES: tuple[Mode, ...] = get_args(Mode)

# The dense ranking's share in the weighted sum. On the WAFER-like dev claims, a supporting passage
# comes first for 0.87 of them with 0.3 to 0.5, and for 0.82 with 0.7 or by reciprocal ranks.
# SciFact's train claims prefer 0.5 (nDCG@10 0.731; 0.721 with 0.4, 0.727 with 0.6).
DENSE_SHARE = 0.5
VERIFAI = (0.7, 0.3)  # lexical and dense: the defaults in Verif.ai's code
RRF_K = 60  # Cormack, Clarke & Büttcher 2009, §2: 60 was best in their pilot and is customary
# Log-odds between the first and the last candidate of a search. A pairwise logistic regression on
# the WAFER-like dev claims gives 6.6 (five folds, right passages against others).
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


def fused(
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


def pooled(runs: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
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


def merged(runs: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Merge runs whose scores are not comparable, each hit by its share of its run's best.

    The best hits of all runs then tie, and a verifier, which reads them all, has to decide.
    """
    of_runs = ([h._replace(score=s) for h, s in zip(r, shares(r), strict=True)] for r in runs)
    return pooled(list(of_runs), k)


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


def kept(hits: Sequence[Hit], keep: Callable[[Hit], bool]) -> list[Hit]:
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
        """Return the `k` best of the union of both per query; scores as in `fusion.fused`."""
        forms = [q if isinstance(q, HybridQuery) else HybridQuery(q, q) for q in queries]
        words, meanings = [query.words for query in forms], [query.text for query in forms]
        n = self.depth or k

        def merge(pair: Sequence[list[Hit]]) -> list[Hit]:
            return fused(pair[0], pair[1], k, self.mode, self.dense_share)

        corpus: Any = getattr(self.lexical, "corpus", None)
        if corpus is getattr(self.dense, "corpus", None) and corpus is not None:
            # The corpus reads texts only after merging.
            both = [(self.lexical, words), (self.dense, meanings)]
            hits: list[list[Hit]] = corpus.together(both, n, merge)
            return hits
        nothing: list[list[Hit]] = [[] for _ in forms]
        by_words = self.lexical.retrieve(words, n) if self.lexical else nothing
        by_meaning = self.dense.retrieve(meanings, n) if self.dense else nothing
        return [merge(both) for both in zip(by_words, by_meaning, strict=True)]


@dataclass(frozen=True, slots=True)
class Reranked:
    """Reranks the first hits of a search with a network; the scores are its log-odds."""

    retriever: Retriever
    reader: Reader
    read: int = JUDGED  # hits per query; no more are returned
    of_one: int = JUDGED  # hits per document that are read; the others come last

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return at most `k` of the first hits per query."""
        hits = self.retriever.retrieve(queries, self.read)
        return [self._order(*pair)[:k] for pair in zip(queries, hits, strict=True)]

    def _order(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Order the hits by the reader's log-odds with the search's prior (`fusion.with_prior`).

        The reader alone orders worse than the search does. Ties break on passage id. Unread hits
        keep their order and get the score of the last one read.
        """
        claim, share = Claim.alone(query), dict(zip(map(id, hits), shares(hits), strict=True))
        seen = Counter[str]()
        read, others = list[Hit](), list[Hit]()
        for hit in hits:
            seen[hit.passage.url] += 1
            (read if seen[hit.passage.url] <= self.of_one else others).append(hit)
        odds = map(float, self.reader.relevance([(claim, hit.passage) for hit in read]))

        def order(row: tuple[float, Hit]) -> tuple[float, str]:
            return -with_prior(row[0], share[id(row[1])]), row[1].passage.passage_id

        rows = sorted(zip(odds, read, strict=True), key=order)
        least = min((score for score, _ in rows), default=0.0)
        rows += [(least, hit) for hit in others]
        return [hit._replace(score=s, rank=rank) for rank, (s, hit) in enumerate(rows, 1)]


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


def side_query(claim: Claim) -> str:
    """Return SIDE's BM25 query without the generated title: the claim, then the article's title.

    (Petroni et al. 2023, Methods; the released code left a literal "[CIT]" in it.)

    >>> side_query(Claim("c1", "It opened in 1911.", title="Varde Bridge"))
    'It opened in 1911. Varde Bridge'
    """
    return " ".join(filter(None, (claim.text, claim.title)))


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


# ── Near-duplicates ───────────────────────────────────────────────────────────────────────────────

RUN = 3  # words: two texts on one topic share words, but few runs of three
# Share of a passage's words in no shared run. Copies with 5 % of the words changed are found 95
# times in 100, with 15 % never (tests/retrieval/test_copies.py).
OTHER_WORDS = 0.10
# A passage split between two neighbours has a Jaccard similarity of at least 1/4 to one of them.
# With 128 hashes the estimate is off by 0.04, so 0.12 misses fewer than 1 in 1,000.
WORTH_COMPARING = 0.12
_HASHES, _SEED = 128, 42
_WORD = re.compile(r"\w+(?:['’]\w+)?")


@dataclass(frozen=True, slots=True)
class _Text:
    url: str
    text: str
    words: tuple[re.Match[str], ...]
    runs: tuple[str, ...]  # the run that begins at each word, except the last two
    signature: Any


def without_copies(hits: Sequence[Hit]) -> list[Hit]:
    firsts = {id(group[0]) for group in grouped(hits)}
    return kept(hits, lambda hit: id(hit) in firsts)


def grouped(hits: Sequence[Hit]) -> list[list[Hit]]:
    """Group the distinct hits, in order, each followed by its copies."""
    read: list[tuple[_Text, list[Hit]]] = []
    for hit in hits:
        text = _read(hit.passage.text, hit.passage.url)
        alike: defaultdict[str, list[tuple[_Text, list[Hit]]]] = defaultdict(list)
        for known in read:
            if known[0].signature.jaccard(text.signature) >= WORTH_COMPARING:
                alike[known[0].url].append(known)
        originals = (o for o in alike.values() if _is_copy(text, [known for known, _ in o]))
        original = next(originals, None)
        if original is None:
            read.append((text, [hit]))
        else:  # the copy goes to the most similar passage of the page
            _, copies = max(original, key=lambda known: known[0].signature.jaccard(text.signature))
            copies.append(hit)
    return [group for _, group in read]


def stands_in(paragraph: str, texts: Sequence[str]) -> bool:
    """Whether the texts of one page together contain all but a tenth of the paragraph's words.

    >>> stands_in("The king opened the bridge.", ["In 1911 the king opened the bridge."])
    True
    """
    read = _read(paragraph)
    runs = {run for text in texts for run in _read(text).runs}
    other = len(read.words) - len(_known_words(read, runs))
    return bool(read.words) and other <= OTHER_WORDS * len(read.words)


def n_words(text: str) -> int:
    return len(_WORD.findall(text))


def _read(text: str, url: str = "") -> _Text:
    from rensa import RMinHash

    words = tuple(_WORD.finditer(text))
    plain = [word[0].lower() for word in words]
    starts = range(max(len(plain) - RUN + 1, 1))
    runs = tuple(" ".join(plain[i : i + RUN]) for i in starts)
    signature = RMinHash(num_perm=_HASHES, seed=_SEED)
    signature.update(runs)
    return _Text(url, text, words, runs, signature)


def _is_copy(text: _Text, originals: Sequence[_Text]) -> bool:
    """Whether the text adds nothing to the originals, and they negate none of it."""
    known = _known_words(text, {run for original in originals for run in original.runs})
    other = [word for i, word in enumerate(text.words) if i not in known]
    if len(other) > OTHER_WORDS * len(text.words):
        return False
    numbers = [figure.span for figure in figures(text.text)]
    return not any(
        wording.is_negated(word[0])
        or (word[0][0].isupper() and wording.content_words(word[0]))
        or any(start < word.end() and word.start() < end for start, end in numbers)
        for word in other
    ) and not any(_denies(original, text) for original in originals)


def _denies(original: _Text, text: _Text) -> bool:
    known = _known_words(original, set(text.runs))
    between = range(min(known, default=0), max(known, default=0))
    return any(wording.is_negated(original.words[i][0]) for i in between if i not in known)


def _known_words(text: _Text, runs: set[str]) -> set[int]:
    return {i + j for i, run in enumerate(text.runs) if run in runs for j in range(RUN)}
