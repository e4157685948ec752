"""Which documents an answer is written from: searched by words and meaning, read, put in order.

question ─▶ passages by words and meaning, fused ─▶ read by the verifier ─▶ exact ones first

A document counts as its best passage does. Verif.ai sums the scores of an abstract's passages,
which favours long ones (B24).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from pincite import containment
from pincite.judgement.references import Retraction, retraction_of
from pincite.protocols import DocumentsOf, Nearest, Retriever
from pincite.retrieval.fusion import kept
from pincite.text import words as wording
from pincite.text.passages import passages
from pincite.types import Document, Hit, Passage, Span

# Characters of a text that is read from beginning to end; of a longer one passages are chosen. The
# longest abstracts of PubMed, in two languages, have about as many.
WHOLE = 6_000
RANKED = 100  # passages of a longer text: a prompt of 15,000 tokens
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,200})[\"”“»]")


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document with passages of it, best first: those found, and of a long one the nearest."""

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
    """Documents for a question, best first."""

    search: Retriever
    documents_of: DocumentsOf
    limit: int = 10  # documents
    nearest: Nearest | None = None  # of a long document; None: those that share most words
    passages: int = 200  # of the search
    exact_first: bool = True
    include_retracted: bool = False

    def find(self, question: str) -> list[FoundDocument]:
        """At most `limit` documents; none if the search found no passage."""
        return list(self.found(question).documents)

    def found(self, question: str) -> Found:
        """The same, with what was left out."""
        (hits,) = self.search.retrieve([question], self.passages)
        if self.exact_first:
            hits = exact_matches_first(question, hits)
        found = self._documents(hits)
        return replace(found, documents=self._with_passages(question, found.documents))

    def _with_passages(
        self, question: str, found: Sequence[FoundDocument]
    ) -> tuple[FoundDocument, ...]:
        """The documents, the long ones with more passages behind those that were found."""
        long = [each.document for each in found if len(each.document.text) > WHOLE]
        urls = [document.url for document in long]
        nearest = self.nearest(question, urls, RANKED) if self.nearest else [[] for _ in long]
        more = {
            document.url: near
            or containment.attempted(partial(_by_words, question, document), lambda _: [])
            for document, near in zip(long, nearest, strict=True)
        }
        return tuple(
            replace(each, passages=_merged(each.passages, more.get(each.document.url, ())))
            for each in found
        )

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


def _by_words(question: str, document: Document) -> list[Passage]:
    """Those that share most with the question, first."""
    by_words = sorted(passages(document), key=lambda p: -wording.shared(question, p.text))
    return by_words[:RANKED]


def _merged(found: Sequence[Passage], more: Sequence[Passage]) -> tuple[Passage, ...]:
    """Each once, in this order."""
    by_span: dict[Span, Passage] = {}
    for passage in (*found, *more):
        by_span.setdefault(passage.span, passage)
    return tuple(by_span.values())


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

    exact = containment.each(lambda of: list(map(is_exact, of)), hits, lambda *_: False)
    ordered = sorted(zip(exact, hits, strict=True), key=lambda pair: not pair[0])
    return kept([hit for _, hit in ordered], lambda _: True)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
