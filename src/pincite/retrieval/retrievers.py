"""Queries for a claim, and retrievers built from others: fused or reranked.

Each one is itself a retriever (`protocols.Retriever`), so verbs, commands, the server and
benchmarks can combine them in one line.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pincite.protocols import Query, Reader, Retriever, WordRetriever
from pincite.retrieval.fusion import DENSE_SHARE, JUDGED, Mode, fused, shares, with_prior
from pincite.types import Claim, Hit

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
        forms = [
            query if isinstance(query, HybridQuery) else HybridQuery(query, query)
            for query in queries
        ]
        words, meanings = [query.words for query in forms], [query.text for query in forms]
        n = self.depth or k

        def merge(both: Sequence[list[Hit]]) -> list[Hit]:
            return fused(both[0], both[1], k, self.mode, self.dense_share)

        corpus: Any = getattr(self.lexical, "corpus", None)
        if corpus is getattr(self.dense, "corpus", None) and corpus is not None:
            # The corpus reads texts only after merging.
            both = [(self.lexical, words), (self.dense, meanings)]
            found: list[list[Hit]] = corpus.together(both, n, merge)
            return found
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
        found = self.retriever.retrieve(queries, self.read)
        return [self._ordered(*each)[:k] for each in zip(queries, found, strict=True)]

    def _ordered(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
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
        rows = list(zip(odds, read, strict=True))
        rows.sort(
            key=lambda row: (-with_prior(row[0], share[id(row[1])]), row[1].passage.passage_id)
        )
        least = min((score for score, _ in rows), default=0.0)
        rows += [(least, hit) for hit in others]
        return [hit._replace(score=s, rank=rank) for rank, (s, hit) in enumerate(rows, 1)]


# Queries


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
    return " ".join(part for part in (claim.text, claim.title) if part)


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
