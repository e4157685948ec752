"""Which documents an answer is written from: searched by words and meaning, read, put in order.

question ─▶ passages by words and meaning, fused ─▶ read by the verifier ─▶ exact ones first

A document counts as its best passage does. Verif.ai sums the scores of an abstract's passages,
which favours long ones (B24).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.answers import Retraction, retraction_of
from pincite.protocols import DocumentsOf, Reader, Retriever, WordRetriever
from pincite.retrieval.fusion import JUDGED, Mode, fused, kept, shares, with_prior
from pincite.text import words as wording
from pincite.types import Claim, Document, Hit, Passage, claim_id_of

_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,200})[\"”“»]")


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document with the passages of it that were found, best first."""

    document: Document
    passages: tuple[Passage, ...]
    relevance: float  # log-odds that its best passage bears on the question; the fused score unread

    @property
    def is_retracted(self) -> bool:
        """Whether it is known to be; partly is not."""
        return retraction_of(self.document) is Retraction.YES


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a question, best first."""

    documents: tuple[FoundDocument, ...]
    left_out: tuple[FoundDocument, ...] = ()  # retracted ones that would have been among them


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
    include_retracted: bool = False

    def find(self, question: str) -> list[FoundDocument]:
        """At most `limit` documents; none if neither search found a passage."""
        return list(self.found(question).documents)

    def found(self, question: str) -> Found:
        """The same, with what was left out."""
        words = self.lexical.retrieve([question], self.depth)[0] if self.lexical else []
        meaning = self.dense.retrieve([question], self.depth)[0] if self.dense else []
        hits = fused(words, meaning, 2 * self.depth, self.fusion)
        if self.reader:
            hits = by_relevance(question, hits[: self.read], self.reader)
        if self.exact_first:
            hits = exact_matches_first(question, hits)
        return self._documents(hits)

    def _documents(self, hits: Sequence[Hit]) -> Found:
        of_url: dict[str, list[Hit]] = {}
        for hit in hits:
            of_url.setdefault(hit.passage.url, []).append(hit)
        sound: list[FoundDocument] = []
        retracted: list[FoundDocument] = []
        # A few at a time: of a few hundred documents that were found ten are wanted.
        urls = list(of_url)
        for start in range(0, len(urls), self.limit):
            for each in self._read(of_url, urls[start : start + self.limit]):
                is_left_out = each.is_retracted and not self.include_retracted
                (retracted if is_left_out else sound).append(each)
                if len(sound) == self.limit:
                    return Found(tuple(sound), tuple(retracted))
        return Found(tuple(sound), tuple(retracted))

    def _read(self, of_url: dict[str, list[Hit]], urls: Sequence[str]) -> list[FoundDocument]:
        return [
            FoundDocument(document, tuple(h.passage for h in found), max(h.score for h in found))
            for document, found in zip(
                self.documents_of(urls), (of_url[url] for url in urls), strict=True
            )
            if document is not None
        ]


def by_relevance(question: str, hits: Sequence[Hit], reader: Reader) -> list[Hit]:
    """The hits with the reader's log-odds as scores, in the order of these and of the search.

    Alone the reader orders worse than the search does: a passage is ordered by its log-odds with
    the search's prior (`fusion.with_prior`). Ties break on passage id.
    """
    claim = Claim(claim_id_of("", (), question), question)
    odds = [float(score) for score in reader.relevance([(claim, hit.passage) for hit in hits])]
    rows = list(zip(odds, shares(hits), (hit.passage for hit in hits), strict=True))
    order = sorted(rows, key=lambda row: (-with_prior(row[0], row[1]), row[2].passage_id))
    return [Hit(passage, score, rank) for rank, (score, _, passage) in enumerate(order, 1)]


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
