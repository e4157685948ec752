"""Who writes an answer: sentences taken from the sources, or a language model that reads them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from pincite import containment
from pincite.completions import Completion, Prompt
from pincite.documents.pubmed import in_own_words
from pincite.errors import ServerError
from pincite.llm.calls import Calls, tokens_of
from pincite.llm.client import all_at_once
from pincite.llm.templates import Templates
from pincite.protocols import Encoder, Reader
from pincite.settings.tables import LEAST_ANSWER
from pincite.text.passages import passages
from pincite.text.prompt_quoting import abstract
from pincite.text.sentences import joined, sentences
from pincite.types import Claim, Document, Failed, Passage, Span, claim_id_of
from pincite.verbs.ask import extract
from pincite.verbs.ask.literature import WHOLE
from pincite.verbs.ask.records import Reference

EXTRACT = "extract"  # what `by` says of an answer that no model wrote
STEP, SUMMARISE = "answer_question", "summarise_passage"
CHAT_TOKENS = 64  # that a server puts around two messages: roles, and with some models a date
SUMMARY_TOKENS, NOTHING = 150, "NONE"  # of a summary; what the prompt asks for where there is none
SUMMARISED = 8  # passages of a long document, each of which is a call
LEAST = 400  # tokens of a reference that is worth giving: an abstract, or two passages
MOST_CHARS = 8  # of a token of running text
BETWEEN, GAP = "\n\n", "\n[…]\n"  # between references; where some of one is left out
NO_ROOM = (
    "ask.prompt_tokens = {} leaves no room for a reference beside the question and the prompt's "
    "own words. Raise it, or ask in fewer words."
)
READ = 100  # sentences, the nearest to the question in meaning, that the network reads
# Passages whose sentences may be quoted: of one long document, and of all of them together, best
# first. Of 20 full articles, 40 gave the sentences that 100 did; research/check-and-ask.md.
OF_ONE, OF_ALL = 40, 60
# Log-odds behind the best document from which on none of a document's sentences is taken: its
# sentences would be further behind than `extract.BEHIND`.
TOO_FAR = 5.0
UNREAD = -99.0  # log-odds of a sentence that could not be read


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
    fingerprint: str = EXTRACT

    def quotes(
        self, question: str, references: Sequence[Reference]
    ) -> tuple[list[Quote], list[Failed]]:
        """One to `sentences` of them, the most answering first; none if none answers it.

        Beside them what kept documents or sentences of theirs from being read.
        """
        best = max((each.relevance for each in references), default=0.0)
        near = [
            (source, reference)
            for source, reference in enumerate(references)
            if reference.relevance >= best - TOO_FAR or not self.documents_read
        ]
        n_long = sum(len(reference.document.text) > WHOLE for _, reference in near)
        most = min(OF_ONE, OF_ALL // max(1, n_long))
        failures = list[Failed]()
        places, lacks = list[_Place](), dict[int, float]()
        for source, reference in near:
            read = partial(_quotable, question, source, reference, most)
            found = containment.attempted(read, failures.append)
            if found:
                places += found[0]
                lacks[source] = found[1]
        by_place = {(p.source, p.place): p for p in places}
        candidates = self._candidates(question, references, places, lacks, failures)
        quotes = [
            Quote(c.text, references[c.source].number, by_place[c.source, c.place].span, c.answers)
            for c in extract.chosen(candidates, self.sentences, self.least)
        ]
        return quotes, failures

    def _candidates(
        self,
        question: str,
        references: Sequence[Reference],
        places: Sequence[_Place],
        lacks: Mapping[int, float],
        failures: list[Failed],
    ) -> list[extract.Quotable]:
        if not places:
            return []
        asked = self.encoder.encode([question], "query")[0]
        likeness = self.encoder.encode([p.text for p in places], "passage") @ asked
        near = sorted(range(len(places)), key=lambda i: (-float(likeness[i]), i))[:READ]
        claim = Claim(claim_id_of("", (), question), question)
        read = [(claim, _passage(references[places[i].source].document, places[i])) for i in near]

        def unread(_: tuple[Claim, Passage], why: Failed) -> float:
            failures.append(why)
            return UNREAD

        def relevance(of: Sequence[tuple[Claim, Passage]]) -> list[float]:
            return [float(score) for score in self.reader.relevance(of)]

        odds = containment.each(relevance, read, unread)
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
                lacks=lacks[at.source],
            )
            for i, score in zip(near, odds, strict=True)
        ]


def _quotable(
    question: str, source: int, reference: Reference, most: int
) -> tuple[list[_Place], float]:
    """The sentences of a reference that may be quoted, and what of the question it lacks."""
    places = quotable(source, reference.document, _chosen(reference, most))
    return places, extract.lacks(question, _read(reference, most))


def _chosen(reference: Reference, most: int) -> list[Span]:
    """The passages of a long document that are worth reading, in its order; none: all of it."""
    if len(reference.document.text) <= WHOLE:
        return []
    return sorted(passage.span for passage in reference.passages[: max(1, most)])


def _read(reference: Reference, most: int) -> str:
    """The title of a document and what of it is read."""
    text = reference.document.text
    spans = _chosen(reference, most) or [Span(0, len(text))]
    return "\n".join([reference.document.title, *(span.of(text) for span in spans)])


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
    """A language model that is given the question and the references (Verif.ai, §II-B)."""

    calls: Calls
    templates: Templates
    prompt_tokens: int = 6000  # of a prompt, all in all
    reply_tokens: int = 1000
    temperature: float = 0.0
    summaries: int = 0  # passages summarised at once before it writes; 0: it reads them themselves

    @property
    def fingerprint(self) -> str:
        """The model's."""
        return self.calls.model(STEP).fingerprint

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """The reply as it comes; its end says whether it was cut or failed."""
        if self.summaries:
            references = self._summarised(question, references)
        prompt = self.prompt(question, references)
        if prompt is None:
            yield Written(failure=NO_ROOM.format(self.prompt_tokens))
            return
        for piece in self.calls.stream(STEP, prompt):
            if isinstance(piece, str):
                yield Written(piece)
            elif isinstance(piece, ServerError):
                yield Written(failure=str(piece))
            elif isinstance(piece, Completion) and not piece.complete:
                yield Written(cut=True)

    def prompt(self, question: str, references: Sequence[Reference]) -> Prompt | None:
        """The question with what of the references has room, the most relevant first.

        All of it has at most `prompt_tokens`; None where that leaves room for no reference.
        """
        around = self.templates.filled(STEP, question=question, abstracts="")
        room = self.prompt_tokens - CHAT_TOKENS - tokens_of("\n".join(around))
        given = within_budget(references, room)
        if not given:
            return None
        system, user = self.templates.filled(STEP, question=question, abstracts=BETWEEN.join(given))
        return Prompt(user, system, self.reply_tokens, self.temperature)

    def _summarised(self, question: str, references: Sequence[Reference]) -> Sequence[Reference]:
        """References for the prompt alone, with what the model says of each passage as their text.

        Those of which it says that nothing bears on the question are left out, unless all are.
        """
        texts = [(r.number, text) for r in references for text in _to_summarise(r)]
        tasks = [partial(self._summary, question, text) for _, text in texts]
        said = all_at_once(tasks, self.summaries, self.calls)
        if self.calls.stopped:
            raise KeyboardInterrupt
        found = dict[int, list[str]]()
        for (number, _), summary in zip(texts, said, strict=True):
            found.setdefault(number, []).extend([summary] if summary else [])
        short = [
            replace(r, document=replace(r.document, text=GAP.join(found[r.number])), passages=())
            for r in references
            if found.get(r.number)
        ]
        return short or references

    def _summary(self, question: str, text: str) -> str:
        """Empty where nothing bears on the question; the text itself where the model fails."""
        system, user = self.templates.filled(SUMMARISE, question=question, evidence_item=text)
        if tokens_of(system + user) + CHAT_TOKENS > self.prompt_tokens:
            return text

        def read(reply: Completion) -> str | None:
            said = " ".join(reply.text.split())
            return said if reply.complete and said else None

        prompt = Prompt(user, system, SUMMARY_TOKENS)
        said = self.calls.read(SUMMARISE, prompt, {"question": question}, read)
        if isinstance(said, Failed):
            return text
        return "" if said.strip(" .\"'*").upper() == NOTHING else said


def _to_summarise(reference: Reference) -> list[str]:
    """A short text as a whole; of a long one the passages of most use, in its order."""
    document = reference.document
    if len(document.text) <= WHOLE:
        return [document.text] if document.text.strip() else []
    best = (reference.passages or passages(document))[:SUMMARISED]
    return [passage.text for passage in sorted(best, key=lambda each: each.span)]


def within_budget(references: Sequence[Reference], tokens: int) -> list[str]:
    """The first references as a prompt gives them, in at most `tokens` tokens together.

    Where not all have room, those that do share it, with `LEAST` tokens or more each: the shorter
    ones are whole, of the longer ones there are the passages of most use.
    """
    costs = [_cost(each, tokens) for each in references]
    sums = accumulate(min(cost, LEAST) for cost in costs)
    n = max(1, sum(total <= tokens for total in sums))
    given, left = list[str](), tokens
    for place, reference in enumerate(references[:n]):
        room = _share(costs[place:n], left)
        text = reference.document.text
        shown = _shown(reference, text) if costs[place] <= room else _excerpt(reference, room)
        if shown:
            given.append(shown)
            left -= tokens_of(shown + BETWEEN)
    return given


def _shown(reference: Reference, text: str) -> str:
    return abstract(reference.number, reference.ref_id, reference.document.title, text)


def _cost(reference: Reference, tokens: int) -> int:
    """Tokens of the whole reference; of one that is far too long `tokens` and one more."""
    text = reference.document.text
    return tokens + 1 if len(text) > MOST_CHARS * tokens else tokens_of(_shown(reference, text))


def _share(costs: Sequence[int], total: int) -> int:
    """How much each may take of `total`, so that what the cheaper ones leave goes to the others."""
    for n, cost in zip(range(len(costs), 0, -1), sorted(costs), strict=True):
        if cost * n > total:
            return total // n
        total -= cost
    return max(costs)


def _excerpt(reference: Reference, tokens: int) -> str:
    """The passages of most use that have room, in the order of the text; empty if none has."""
    document, chosen = reference.document, list[Span]()
    left = tokens - tokens_of(_shown(reference, ""))
    for passage in reference.passages or passages(document):
        left -= (cost := tokens_of(passage.text + GAP))
        if left >= 0:
            chosen.append(passage.span)
        else:
            left += cost
    while chosen:
        shown = _shown(reference, excerpt(document.text, sorted(chosen)))
        if tokens_of(shown) <= tokens:
            return shown
        chosen.pop()
    return ""


def excerpt(text: str, spans: Sequence[Span]) -> str:
    """The spans, with a sign where something between two is left out."""
    said = spans[0].of(text)
    for before, span in pairwise(spans):
        between = text[before.end : span.start]
        said += (GAP if between.strip() else between) + span.of(text)
    return said
