"""What may be evidence for a reading: passages of a corpus or the web, or the seed's windows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pincite.judgement.references import Retraction, retraction_of
from pincite.library.exclusions import Exclusions
from pincite.library.web_pages import WebCandidates
from pincite.protocols import DocumentsOf, Encoder, Retriever
from pincite.retrieval.copies import grouped
from pincite.text.passages import WIDE_WORDS, around
from pincite.text.sentences import sentences
from pincite.types import (
    Claim,
    CopyKind,
    Document,
    Exclusion,
    Hit,
    Passage,
    Reason,
    Span,
    Unchecked,
)
from pincite.verbs.check.records import Reading

# Passages that are looked at for one that is kept: a long document may hold all the first ones.
CROWDED = 4


@dataclass(frozen=True, slots=True)
class Found:
    """A passage with where it comes from; `lost` says why it cannot be used, if so."""

    passage: Passage
    published: str | None = None
    language: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    copies: tuple[str, ...] = ()  # addresses of pages that say the same words
    origin: CopyKind = CopyKind.CORPUS
    lost: str = ""
    corpus: str = ""  # its name, where several are searched


class Finder(Protocol):
    """For each reading what may be evidence, best first; at most `top_k` texts."""

    def find(self, readings: Sequence[Reading]) -> list[list[Found]]:
        """In the readings' order."""
        ...


@dataclass(frozen=True, slots=True)
class PassageFinder:
    """What a search of a corpus finds; a text that several pages carry is found once."""

    search: Retriever
    documents_of: DocumentsOf
    top_k: int = 8
    passages: int = 200  # of the search
    words: int = WIDE_WORDS  # of a text that is judged, around the passage that was found
    count_copies: bool = False

    def find(self, readings: Sequence[Reading]) -> list[list[Found]]:
        """In the readings' order."""
        texts = [reading.text for reading in readings]
        found = self.search.retrieve(texts, self.passages)
        how = self.top_k, self.words, self.count_copies
        return [distinct_texts(hits, self.documents_of, *how) for hits in found]


def distinct_texts(
    hits: Sequence[Hit], documents_of: DocumentsOf, top_k: int, words: int, count_copies: bool
) -> list[Found]:
    """The first `top_k` texts; what stands in one that was found before is not found again."""
    groups = [[hit] for hit in hits] if count_copies else grouped(hits)
    chosen: list[Found] = []
    # A portion at a time: documents may be long, and the first portion is mostly enough.
    for start in range(0, CROWDED * top_k, top_k):
        portion = groups[start : start + top_k]
        documents = documents_of([group[0].passage.url for group in portion])
        for group, document in zip(portion, documents, strict=True):
            found = found_in(document, group[0].passage, [hit.passage.url for hit in group[1:]])
            if any(_holds(other.passage, found.passage) for other in chosen):
                continue
            if document and not found.lost:
                span = around(document, found.passage.span, words)
                wide = replace(found.passage, text=span.of(document.text), span=span)
                found = replace(found, passage=wide)
            chosen.append(found)
            if len(chosen) == top_k:
                return chosen
    return chosen


@dataclass(frozen=True, slots=True)
class Online:
    """What became of the pages of the web that were found for a reading: each is in one part."""

    found: tuple[Found, ...] = ()
    unread: tuple[Unchecked, ...] = ()
    excluded: tuple[Exclusion, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchedWeb:
    """Evidence in the open web, by a search engine. A page that cannot be read is no evidence."""

    candidates: WebCandidates
    exclusions: Exclusions
    top_k: int = 8
    words: int = WIDE_WORDS
    count_copies: bool = False
    languages: frozenset[str] | None = None  # that the judge reads; None: it does not say

    def find(self, reading: Reading, known: Collection[str]) -> Online:
        """At most `top_k` texts; `known`: addresses that were found elsewhere already."""
        claim = Claim.alone(reading.text)
        came = self.candidates.of(claim, known, self.exclusions)
        chosen = distinct_texts(
            came.hits, self.candidates.get, self.top_k, self.words, self.count_copies
        )
        live = [replace(each, origin=CopyKind.LIVE) for each in chosen]
        foreign = {
            each.passage.url: Unchecked(each.passage.url, Reason.LANGUAGE, each.language or "")
            for each in live
            if not reads(self.languages, each.language)
        }
        found = tuple(each for each in live if each.passage.url not in foreign)
        return Online(found, (*came.unread, *foreign.values()), came.excluded)


def reads(languages: Collection[str] | None, language: str | None) -> bool:
    """Whether a judge reads a page; of one whose language is not known it is assumed.

    >>> reads({"en"}, "en-GB"), reads({"en"}, "de"), reads(None, "de"), reads({"en"}, None)
    (True, False, True, True)
    """
    return not languages or not language or language.split("-")[0] in languages


def _holds(text: Passage, passage: Passage) -> bool:
    """Whether all of a passage stands in a text of the same document."""
    within = text.span.start <= passage.span.start and passage.span.end <= text.span.end
    return text.doc_id == passage.doc_id and within


@dataclass(frozen=True, slots=True)
class WindowFinder:
    """EvidenceSeeker's retrieval: the nearest sentences, each with `window` others on either side.

    The vectors of a corpus are of passages: the sentences are those of the `depth` nearest ones.
    """

    dense: Retriever
    encoder: Encoder
    documents_of: DocumentsOf
    top_k: int = 8
    window: int = 3
    depth: int = 100

    def find(self, readings: Sequence[Reading]) -> list[list[Found]]:
        """In the readings' order."""
        texts = [reading.text for reading in readings]
        found = self.dense.retrieve(texts, self.depth)
        return [self._nearest(text, hits) for text, hits in zip(texts, found, strict=True)]

    def _nearest(self, text: str, hits: Sequence[Hit]) -> list[Found]:
        places = [
            (hit.passage, span, span.of(hit.passage.text))
            for hit in hits
            for span in sentences(hit.passage.text)
        ]
        if not places:
            return []
        (query,) = self.encoder.encode([text], "query")
        scores = self.encoder.encode([sentence for *_, sentence in places], "passage") @ query
        order = sorted(
            range(len(places)), key=lambda n: (-scores[n], places[n][0].passage_id, places[n][1])
        )
        chosen = [places[n] for n in order[: self.top_k]]
        documents = self.documents_of([passage.url for passage, *_ in chosen])
        return [
            found_in(document, self._around(document, passage, span))
            for (passage, span, _), document in zip(chosen, documents, strict=True)
        ]

    def _around(self, document: Document | None, passage: Passage, span: Span) -> Passage:
        """The sentence with its neighbours, as a passage of the document."""
        if document is None:
            return passage
        place = Span(passage.span.start + span.start, passage.span.start + span.end)
        spans = sentences(document.text, document.language or "en")
        within = [n for n, s in enumerate(spans) if s.overlaps(place)]
        if not within:
            return passage
        first, last = max(0, within[0] - self.window), within[-1] + self.window
        wide = Span(spans[first].start, spans[min(last, len(spans) - 1)].end)
        text, about = wide.of(document.text), passage.about
        return Passage(passage.doc_id, passage.url, passage.title, text, wide, about)


def found_in(document: Document | None, passage: Passage, copies: Sequence[str] = ()) -> Found:
    """A passage with its document's facts, if a plain comparison finds it in the stored text."""
    if document is None or passage.span.of(document.text) != passage.text:
        return Found(passage, lost="the passage does not stand in the stored text")
    others = tuple(url for url in dict.fromkeys(copies) if url != passage.url)
    if retraction_of(document) is Retraction.YES:
        return Found(passage, lost="the source was retracted")
    published, language = document.published, document.language
    meta = dict(document.meta)
    return Found(passage, published, language, meta, others, corpus=document.corpus)
