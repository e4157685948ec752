"""What is measured alike: anything that says, for each row, how well its claim is supported.

Pincite's verifier and the baselines stand in the same table because they see the same thing, a
claim with the passages of its evidence, and give the same thing, one number a row. Three values
stay apart: a number; −∞ for evidence without words; NaN where a system can say nothing of a row
(no address to count the path of), which leaves the row out for that system alone.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np

from pincite.documents.jsonl import LabelledClaim
from pincite.errors import MissingModel
from pincite.evaluation.measures import Doubles
from pincite.judgement import aggregation
from pincite.models import weights
from pincite.models.session import Session
from pincite.models.verifier import MAX_TOKENS
from pincite.protocols import Encoder, Verifier
from pincite.retrieval import cascade
from pincite.text import words as wording
from pincite.text.passages import cited_passages, passages
from pincite.types import Claim, Document, Evidence, Passage

BATCH_ROWS = 32
FIRST = 3  # SIDE's document-level scorer sees only the first two or three passages

Heard = Callable[[int], None]  # rows done


@dataclass(frozen=True, slots=True)
class CutRow:
    """A row with its evidence cut as `verify` cuts a cited source."""

    row: LabelledClaim
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """One number a row, and from a verifier the evidence that spoke for it and its speed."""

    values: Doubles  # (n_rows,): bigger is better supported; −∞, NaN: see above
    evidence: tuple[Evidence | None, ...] | None = None  # None in it: evidence without words
    denying: tuple[Evidence | None, ...] | None = None  # the passage that contradicts most
    n_pairs: int = 0
    seconds: float = 0.0


class Scorer(Protocol):
    """One row in the table of systems."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """A value for each row, in order; `heard` is told how many rows are done."""
        ...


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A system that cannot be measured on this machine, and what to do about it."""

    name: str
    why: str


def cut(row: LabelledClaim) -> CutRow:
    """The row with the passages that `verify` would read."""
    found = cited_passages(Document(row.row_id, "", row.evidence))
    return CutRow(row, tuple(cascade.worth_reading(row.claim, found)))


def first_passages(row: CutRow) -> Sequence[Passage]:
    """The first three 100-word passages of the evidence."""
    return passages(Document(row.row.row_id, "", row.row.evidence))[:FIRST]


def all_passages(row: CutRow) -> Sequence[Passage]:
    """Everything that `verify` would read."""
    return row.passages


def batches(rows: Sequence[CutRow], heard: Heard) -> Iterator[Sequence[CutRow]]:
    """The rows in order, a few at a time; `heard` is told when a batch is done."""
    for start in range(0, len(rows), BATCH_ROWS):
        batch = rows[start : start + BATCH_ROWS]
        yield batch
        heard(start + len(batch))


@dataclass(frozen=True, slots=True)
class ByVerifier:
    """A verifier: the log-odds of support of the best passage (SIDE §2.2: the maximum)."""

    verifier: Verifier
    name: str = "pincite"
    shown: Callable[[CutRow], Sequence[Passage]] = all_passages

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """Log-odds of support; keeps the evidence, whose probabilities are measured too."""
        best: list[Evidence | None] = []
        denying: list[Evidence | None] = []
        n_pairs, started = 0, time.perf_counter()
        for batch in batches(rows, heard):
            found = [self.shown(row) for row in batch]
            judged = all_evidence(
                self.verifier, [(row.row.claim, p) for row, p in zip(batch, found, strict=True)]
            )
            best += map(aggregation.best, judged)
            denying += map(aggregation.denying, judged)
            n_pairs += sum(map(len, found))
        values = np.array([-np.inf if one is None else one.score for one in best])
        seconds = time.perf_counter() - started
        return Scores(values, tuple(best), tuple(denying), n_pairs, seconds)


def document_level(verifier: Verifier) -> ByVerifier:
    """Document-level reading, as SIDE's baseline does it: only the first passages are seen.

    Source: Petroni et al. 2023, the document-level scorer beside which SIDE's passage-level one is
    put; ours reads each of the first three by itself with Pincite's own verifier.
    """
    return ByVerifier(verifier, f"first {FIRST} passages", first_passages)


def all_evidence(
    verifier: Verifier, claims: Sequence[tuple[str, Sequence[Passage]]]
) -> list[list[Evidence]]:
    """For each claim the evidence of each of its passages."""
    pairs = [(Claim("", claim), passage) for claim, of_claim in claims for passage in of_claim]
    evidence = iter(verifier.verify(pairs))
    return [[next(evidence) for _ in of_claim] for _, of_claim in claims]


# What a verifier has to beat: scorers that know nothing, words, vectors, and relevance alone.

K1, B = 0.9, 0.4  # Anserini's defaults, as the field's passage baselines use them


@dataclass(frozen=True, slots=True)
class UrlDepth:
    """The number of path elements of the cited address: deep pages are more often specific.

    Source: SIDE (Petroni et al. 2023) ranks citations by it as a baseline that reads nothing.
    """

    name: str = "URL depth"

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """Path elements of `meta.url`, or of the deepest of `meta.urls`; NaN without address."""
        depths = [max(map(url_depth, _urls(row)), default=math.nan) for row in rows]
        heard(len(rows))
        return Scores(np.array(depths, dtype=np.float64))


def url_depth(url: str) -> float:
    """How many elements the path has.

    >>> url_depth("https://news.example/2011/05/bridge?page=2"), url_depth("https://news.example/")
    (3.0, 0.0)
    """
    try:
        return float(sum(bool(element) for element in urlsplit(url).path.split("/")))
    except ValueError:  # a bracket that opens no IPv6 address
        return math.nan


def _urls(row: CutRow) -> list[str]:
    meta = row.row.meta
    found = [meta.get("url"), *(meta["urls"] if isinstance(meta.get("urls"), list) else [])]
    return [url for url in found if isinstance(url, str) and url]


@dataclass(frozen=True, slots=True)
class Bm25:
    """BM25 of the claim against its row's passages, the best one; idf over all of the file's.

    Σ over words: idf·tf·(k1 + 1) / (tf + k1·(1 − b + b·length/mean)), idf = ln(1 + (N − n + ½) /
    (n + ½)). Source: Robertson & Zaragoza 2009, idf as in Lucene, k1 0.9, b 0.4. Words are
    `text.words`'s: function words left out, six letters kept.
    """

    name: str = "BM25"

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """The best passage's BM25."""
        counts = [[Counter(wording.content_words(p.text)) for p in row.passages] for row in rows]
        every = [one for of_row in counts for one in of_row]
        mean = sum(one.total() for one in every) / max(1, len(every))
        having = Counter(word for one in every for word in one)

        def weight(word: str) -> float:
            return math.log(1 + (len(every) - having[word] + 0.5) / (having[word] + 0.5))

        values = []
        for row, of_row in zip(rows, counts, strict=True):
            words = Counter(wording.content_words(row.row.claim))
            query = {word: count * weight(word) for word, count in words.items()}
            values.append(max((_bm25(query, one, mean) for one in of_row), default=-math.inf))
        heard(len(rows))
        return Scores(np.array(values, dtype=np.float64))


def _bm25(query: dict[str, float], passage: Counter[str], mean: float) -> float:
    norm = K1 * (1 - B + B * passage.total() / mean) if mean else K1
    return sum(
        weight * passage[word] * (K1 + 1) / (passage[word] + norm) for word, weight in query.items()
    )


@dataclass(frozen=True, slots=True)
class Cosine:
    """The encoder's cosine of claim and passage, the best one.

    Source: dense retrieval by one vector a passage (Karpukhin et al. 2020), here with the encoder
    that Pincite's own dense index uses.
    """

    encoder: Encoder
    name: str = "encoder cosine"

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """The best passage's cosine."""
        values: list[float] = []
        for batch in batches(rows, heard):
            texts = list(dict.fromkeys(p.text for row in batch for p in row.passages))
            vectors = dict(zip(texts, self.encoder.encode(texts, "passage"), strict=True))
            claims = self.encoder.encode([row.row.claim for row in batch], "query")
            values += [
                max((float(claim @ vectors[p.text]) for p in row.passages), default=-math.inf)
                for row, claim in zip(batch, claims, strict=True)
            ]
        return Scores(np.array(values, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Relevance:
    """A cross-encoder trained for relevance, as shipped: its raw logit, the best passage's.

    Source: sentence-transformers' ms-marco-MiniLM-L-12-v2, trained on MS MARCO passages; what
    Pincite's verifier was before it had weights of its own.
    """

    logits: Callable[[Sequence[tuple[str, str]]], Sequence[float]]  # (claim, passage) pairs
    name: str = "ms-marco cross-encoder"

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """The best passage's logit."""
        values: list[float] = []
        for batch in batches(rows, heard):
            pairs = [(row.row.claim, p.text) for row in batch for p in row.passages]
            logits = iter(self.logits(pairs))
            values += [
                max((float(next(logits)) for _ in row.passages), default=-math.inf) for row in batch
            ]
        return Scores(np.array(values, dtype=np.float64))


def relevance(model: str = weights.RERANKER, threads: int = 0) -> Relevance:
    """The cross-encoder of this name.

    Raises:
        MissingModel: it is not on this machine.
    """
    folder = weights.locate(model)
    card = weights.read_card(folder)
    session = Session(folder, max_tokens=card.get("max_tokens", MAX_TOKENS), threads=threads)

    def logits(pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        return [float(logit) for logit in session.logits(pairs)[:, 0]]

    return Relevance(logits)


def all_of(
    verifier: Verifier, encoder: Callable[[], Encoder], threads: int = 0
) -> list[Scorer | Unavailable]:
    """Every baseline, the cheapest first; one whose model is missing says so instead."""
    return [
        UrlDepth(),
        Bm25(),
        _or_unavailable("encoder cosine", "models", lambda: Cosine(encoder())),
        _or_unavailable("ms-marco cross-encoder", "reranker", lambda: relevance(threads=threads)),
        document_level(verifier),
    ]


def _or_unavailable(name: str, target: str, make: Callable[[], Scorer]) -> Scorer | Unavailable:
    try:
        return make()
    except MissingModel:
        return Unavailable(name, f"not available: make {target}")
