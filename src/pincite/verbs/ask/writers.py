"""Who writes an answer: sentences taken from the sources, or a language model that reads them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pincite.completions import Completion, Prompt
from pincite.documents.xml.pubmed import in_own_words
from pincite.errors import ServerError
from pincite.llm.calls import Calls
from pincite.llm.templates import Templates
from pincite.protocols import Encoder, Reader
from pincite.settings.ask import LEAST_ANSWER
from pincite.text.fences import abstract
from pincite.text.sentences import joined, sentences
from pincite.types import Claim, Document, Passage, Span, claim_id_of
from pincite.verbs.ask import extract
from pincite.verbs.ask.literature import WHOLE
from pincite.verbs.ask.records import Reference

EXTRACT = "extract"  # what `by` says of an answer that no model wrote
STEP = "answer_question"
CHARS_A_TOKEN = 3  # of a prompt, on the safe side
FENCE_TOKENS = 40  # around each abstract
READ = 100  # sentences, the nearest to the question in meaning, that the network reads
PASSAGES = 12  # of a long document, whose sentences may be quoted
# Log-odds behind the best document from which on none of a document's sentences is taken: its
# sentences would be further behind than `extract.BEHIND`.
TOO_FAR = 5.0


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of an answer, or how it ended."""

    text: str = ""
    cut: bool = False  # ended at its longest length
    failure: str = ""  # ended because the server did


class Writer(Protocol):
    """Writes an answer from references, with a mark behind each statement."""

    @property
    def fingerprint(self) -> str:
        """Its name, for the result."""
        ...

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """The answer in pieces, as they are written."""
        ...


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that a source says word for word."""

    text: str
    number: int  # of its reference
    span: Span  # in the reference's text
    relevance: float  # log-odds that it answers the question


class _Place(NamedTuple):
    """A sentence that may be quoted, where it stands."""

    source: int  # place of its reference, from 0
    place: int  # in its document: where it begins
    depth: float
    part: extract.Part
    span: Span  # without the label of its section
    text: str


@dataclass(frozen=True, slots=True)
class Extractor:
    """The sentences of the sources that answer the question best, word for word."""

    reader: Reader
    encoder: Encoder
    sentences: int = 5
    least: float = LEAST_ANSWER
    documents_read: bool = True  # whether a reference's relevance is the network's log-odds
    passages: int = PASSAGES
    fingerprint: str = EXTRACT

    def quotes(self, question: str, references: Sequence[Reference]) -> list[Quote]:
        """One to `sentences` of them, the most answering first; none if none answers it."""
        best = max((each.relevance for each in references), default=0.0)
        places = [
            place
            for source, reference in enumerate(references)
            if reference.relevance >= best - TOO_FAR or not self.documents_read
            for place in quotable(source, reference.document, self._chosen(reference))
        ]
        by_place = {(p.source, p.place): p for p in places}
        candidates = self._candidates(question, references, places)
        return [
            Quote(c.text, references[c.source].number, by_place[c.source, c.place].span, c.answers)
            for c in extract.chosen(candidates, self.sentences, self.least)
        ]

    def _chosen(self, reference: Reference) -> list[Span]:
        """The passages of a long document that are worth reading, in its order; none: all of it."""
        if len(reference.document.text) <= WHOLE:
            return []
        return sorted(passage.span for passage in reference.passages[: self.passages])

    def _candidates(
        self, question: str, references: Sequence[Reference], places: Sequence[_Place]
    ) -> list[extract.Quotable]:
        if not places:
            return []
        asked = self.encoder.encode([question], "query")[0]
        likeness = self.encoder.encode([p.text for p in places], "passage") @ asked
        near = sorted(range(len(places)), key=lambda i: (-float(likeness[i]), i))[:READ]
        claim = Claim(claim_id_of("", (), question), question)
        read = [(claim, _passage(references[places[i].source].document, places[i])) for i in near]
        odds = self.reader.relevance(read)
        best = dict[int, float]()  # of each document, where nobody has read it as a whole
        for i, score in zip(near, odds, strict=True):
            best[places[i].source] = max(float(score), best.get(places[i].source, float(score)))
        if self.documents_read:
            best = {source: references[source].relevance for source in best}
        return [
            extract.Quotable(
                text=(at := places[i]).text,
                source=at.source,
                place=at.place,
                relevance=float(score),
                likeness=float(likeness[i]),
                of_document=best[at.source],
                depth=at.depth,
                part=at.part,
            )
            for i, score in zip(near, odds, strict=True)
        ]


def quotable(source: int, document: Document, within: Sequence[Span] = ()) -> list[_Place]:
    """The sentences of a document that can stand alone, without what other languages say.

    `within`: of these passages only; none: of all of it.
    """
    text = in_own_words(document.text)
    found = []
    for piece in within or [Span(0, len(text))]:
        cut = sentences(piece.of(text), document.language or "en")
        spans = _whole_ones(text, [span.moved(piece.start) for span in cut])
        kinds = extract.parts([span.of(text) for span in spans])
        for n, (span, part) in enumerate(zip(spans, kinds, strict=True)):
            said = extract.unlabelled(span.of(text))
            own = Span(span.end - len(said), span.end) if span.of(text).endswith(said) else span
            depth = extract.MIDDLE if within else extract.depth(n, len(spans))
            found.append(_Place(source, own.start, depth, part, own, said))
    return [place for place in found if extract.can_stand_alone(place.text)]


def _whole_ones(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans, those put together that were cut within a sentence."""

    def is_cut(left: Span, right: Span) -> bool:
        on_one_line = "\n" not in text[left.end : right.start]
        return on_one_line and extract.is_cut(left.of(text), right.of(text))

    return joined(spans, is_cut)


def _passage(document: Document, place: _Place) -> Passage:
    return Passage(document.doc_id, document.url, document.title, place.text, place.span)


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """A language model that is given the question and the abstracts (Verif.ai, §II-B)."""

    calls: Calls
    templates: Templates
    prompt_tokens: int = 6000  # for the abstracts
    reply_tokens: int = 1000
    temperature: float = 0.0

    @property
    def fingerprint(self) -> str:
        """The model's."""
        return self.calls.model(STEP).fingerprint

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """The reply as it comes; its end says whether it was cut or failed."""
        for piece in self.calls.stream(STEP, self.prompt(question, references)):
            if isinstance(piece, str):
                yield Written(piece)
            elif isinstance(piece, ServerError):
                yield Written(failure=str(piece))
            elif isinstance(piece, Completion) and not piece.complete:
                yield Written(cut=True)

    def prompt(self, question: str, references: Sequence[Reference]) -> Prompt:
        """The question with as many abstracts as have room, the most relevant first."""
        given = within_budget(references, self.prompt_tokens)
        abstracts = "\n\n".join(
            abstract(r.number, r.ref_id, r.document.title, r.document.text) for r in given
        )
        system, user = self.templates.filled(STEP, question=question, abstracts=abstracts)
        return Prompt(user, system, self.reply_tokens, self.temperature)


def _whole(reference: Reference) -> str:
    return f"{reference.document.title}\n{reference.document.text}".strip()


def within_budget(references: Sequence[Reference], tokens: int) -> list[Reference]:
    """The first references whose texts fit; at least one."""
    kept: list[Reference] = []
    used = 0
    for reference in references:
        used += len(_whole(reference)) // CHARS_A_TOKEN + FENCE_TOKENS
        if kept and used > tokens:
            break
        kept.append(reference)
    return kept
