"""Which documents an answer is written from: searched by words and meaning, read, put in order.

question ─▶ passages by words and meaning, fused ─▶ read by the verifier ─▶ exact ones first

A document counts as its best passage does. Verif.ai sums the scores of an abstract's passages,
which favours long ones (B24).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core import wording
from pincite.core.fusion import JUDGED, Mode, fused, kept
from pincite.pipeline.verify import DocumentsOf
from pincite.protocols import Reader, Retriever, WordRetriever
from pincite.types import Claim, Document, Hit, Passage, claim_id_of

# Log-odds of the best document below which nothing relevant was found; docs/benchmarks.md.
LEAST_RELEVANCE = 0.0
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,200})[\"”“»]")


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document with the passages of it that were found, best first."""

    document: Document
    passages: tuple[Passage, ...]
    relevance: float  # log-odds that its best passage bears on the question; the fused score unread


@dataclass(frozen=True, slots=True)
class LiteratureFinder:
    """Documents for a question, best first; a part that is None is left out."""

    lexical: WordRetriever | None
    dense: Retriever | None
    documents_of: DocumentsOf
    reader: Reader | None  # None: the order of the search stays
    limit: int = 10  # documents
    depth: int = 100  # passages of either search
    read: int = JUDGED  # of them together, that the reader reads
    fusion: Mode = "weighted"
    exact_first: bool = True

    def find(self, question: str) -> list[FoundDocument]:
        """At most `limit` documents; none if neither search found a passage."""
        words = self.lexical.retrieve([question], self.depth)[0] if self.lexical else []
        meaning = self.dense.retrieve([question], self.depth)[0] if self.dense else []
        hits = fused(words, meaning, 2 * self.depth, self.fusion)
        if self.reader:
            hits = by_relevance(question, hits[: self.read], self.reader)
        if self.exact_first:
            hits = exact_matches_first(question, hits)
        return self._documents(hits)

    def _documents(self, hits: Sequence[Hit]) -> list[FoundDocument]:
        of_url: dict[str, list[Hit]] = {}
        for hit in hits:
            of_url.setdefault(hit.passage.url, []).append(hit)
        urls = list(of_url)[: self.limit]
        return [
            FoundDocument(document, tuple(h.passage for h in found), max(h.score for h in found))
            for document, found in zip(
                self.documents_of(urls), (of_url[url] for url in urls), strict=True
            )
            if document is not None
        ]


def by_relevance(question: str, hits: Sequence[Hit], reader: Reader) -> list[Hit]:
    """The hits in the order of the reader's log-odds; ties break on passage id."""
    claim = Claim(claim_id_of("", (), question), question)
    odds = reader.relevance([(claim, hit.passage) for hit in hits])
    scored = [(float(score), hit.passage) for score, hit in zip(odds, hits, strict=True)]
    order = sorted(scored, key=lambda each: (-each[0], each[1].passage_id))
    return [Hit(passage, score, rank) for rank, (score, passage) in enumerate(order, 1)]


def exact_matches_first(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """What holds the question's quoted phrases, or all its words, before what does not.

    Verif.ai's users expect exact matches first and those by meaning after them (§III-A). Within
    either the order stays.
    """
    phrases = [_plain(phrase) for phrase in _QUOTED.findall(question)]

    def is_exact(hit: Hit) -> bool:
        text = f"{hit.passage.title}\n{hit.passage.text}"
        if phrases:
            plain = _plain(text)
            return all(f" {phrase} " in f" {plain} " for phrase in phrases)
        return wording.missing_words(question, text) == 0.0

    return kept(sorted(hits, key=lambda hit: not is_exact(hit)), lambda _: True)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
