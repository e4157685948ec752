"""`check`: what does a knowledge base say for and against each reading of a statement?

statement ─▶ readings ─▶ passages that may be evidence ─▶ DOC of each pair ─▶ a result per reading

An error affects only its own passage or reading or, at worst, the statement (`errors`).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pincite import codec, errors
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, Unjudged, Weighed, Weight
from pincite.judgement.provenance import (
    UNKNOWN,
    Retraction,
    Source,
    is_about,
    retraction_of,
    source_of,
    with_retraction,
)
from pincite.library.exclusions import Exclusions
from pincite.protocols import DocumentsOf, Encoder, Retriever
from pincite.retrieval.copies import group_copies
from pincite.settings import CheckSettings, Settings
from pincite.text.context import about_passage
from pincite.text.hosts import without_folder
from pincite.text.languages import language_name
from pincite.text.passages import around
from pincite.text.sentences import source_sentences
from pincite.text.tables import rows_of
from pincite.text.words import is_negated
from pincite.types import (
    Claim,
    CopyKind,
    Document,
    Evidence,
    Exclusion,
    Failed,
    Hit,
    Passage,
    Reason,
    Span,
    StatementType,
    Unchecked,
)
from pincite.verbs.check.confirm import VerifierJudge
from pincite.verbs.check.kinds import without_speaker
from pincite.verbs.check.model_judge import ModelJudge
from pincite.verbs.check.quotes import speaker_in, with_sentence_quoted
from pincite.verbs.check.readings import ModelInterpreter, interpret_by_rules
from pincite.verbs.check.report import Check, Interpretation, Reading, ReadingResult, failed_result
from pincite.verbs.check.spoken import UNKNOWN as UNSAID
from pincite.verbs.check.spoken import Occasion

if TYPE_CHECKING:
    from pincite.library.web_pages import WebCandidates

# Passages considered per passage kept: a single long document may fill the first places.
CROWDED = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage with its origin. `lost` says why it cannot be used."""

    passage: Passage
    document: Document | None = None  # None: unknown or unusable
    copies: tuple[str, ...] = ()  # addresses of pages with the same text
    origin: CopyKind = CopyKind.CORPUS
    lost: Failed | None = None

    @property
    def language(self) -> str | None:
        return self.document.language if self.document else None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a reading, including web pages that could not be used."""

    candidates: tuple[Candidate, ...] = ()
    unread: tuple[Unchecked, ...] = ()
    excluded: tuple[Exclusion, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckPipeline:
    """The parts of `check`."""

    finder: "PassageFinder | WindowFinder | None"  # None: no corpus
    judge: VerifierJudge | ModelJudge
    interpreter: ModelInterpreter | None = None  # None: by rules
    settings: Settings = field(default_factory=Settings)
    languages: frozenset[str] | None = None  # that the judge reads; None: unknown
    record: Callable[[Mapping[str, Any]], None] = lambda event: None
    online: "SearchedWeb | None" = None  # searched for each reading, in addition to the corpus

    def interpretation(self, statement: str, occasion: Occasion = UNSAID) -> Interpretation:
        """Return the readings of a statement, which the user may edit before `check`."""
        interpret = partial(interpret_by_rules, statement, self.settings.language, occasion)
        if self.interpreter is not None:
            interpret = partial(self.interpreter.interpret, statement)
        as_stated = Reading("r1", " ".join(statement.split()), StatementType.DESCRIPTIVE)
        return errors.attempt(interpret, lambda why: Interpretation((as_stated,), "rules", (why,)))

    def check(
        self,
        statement: str,
        interpretation: Interpretation | None = None,
        occasion: Occasion = UNSAID,
    ) -> Check:
        """Judge every reading. Readings of ignored types are listed but not judged."""
        given = interpretation or self.interpretation(statement, occasion)
        unjudged = tuple(map(failed_result, given.readings))
        checked = errors.attempt(
            lambda: self._check_readings(statement, given),
            lambda why: Check(statement, unjudged, given.by, (*given.failures, why)),
        )
        speaker = occasion.speaker or without_speaker(" ".join(statement.split()))[0]
        return replace(checked, occasion=replace(occasion, speaker=speaker))

    def _record(self, event: str, **values: object) -> None:
        self.record({"event": event, **codec.values_of(values)})

    def _check_readings(self, statement: str, interpretation: Interpretation) -> Check:
        self._record("statement", statement=statement, interpretation=interpretation)
        ignored = self.settings.check.ignored_types
        judged = [
            reading
            for reading in interpretation.readings
            if reading.kind not in ignored and not reading.is_about_unknown_speaker
        ]
        of_judged = errors.apply(self._retrieve, judged, lambda _, why: why)
        retrieved = dict(zip(judged, of_judged, strict=True))
        pairs = [
            (reading, candidate)
            for reading, retrieval in retrieved.items()
            if isinstance(retrieval, Retrieval)
            for candidate in retrieval.candidates
        ]
        items = defaultdict[Reading, list[Weighed]](list)
        for (reading, candidate), outcome in zip(pairs, self._judge(pairs), strict=True):
            item = _weigh(reading, candidate, outcome)
            items[reading].append(item)
            self._record("judged", reading=reading.reading_id, item=item)
        results = with_wholes(
            [
                self._result(reading, retrieved.get(reading), items[reading])
                for reading in interpretation.readings
            ]
        )
        lost = [retrieval for retrieval in of_judged if isinstance(retrieval, Failed)]
        return Check(statement, results, interpretation.by, (*interpretation.failures, *lost))

    def _result(
        self, reading: Reading, retrieved: Retrieval | Failed | None, items: Sequence[Weighed]
    ) -> ReadingResult:
        """Weigh the judged passages of a reading; `retrieved`: None if its type is ignored."""
        if retrieved is None:
            return ReadingResult(reading, (), Weight(Outcome.NOT_JUDGED, doc=None, n_texts=0))
        if isinstance(retrieved, Failed):
            return failed_result(reading)
        ids, check = _text_ids([item.passage for item in items]), self.settings.check
        weighed = tuple(
            replace(item, text_id=text_id, side=confirmation.side(item.doc, check.threshold))
            for item, text_id in zip(items, ids, strict=True)
        )
        weight = confirmation.combine(
            weighed, check.threshold, reading=reading.text, count_copies=check.count_copies
        )
        return ReadingResult(reading, weighed, weight, retrieved.unread, retrieved.excluded)

    def _retrieve(self, readings: Sequence[Reading]) -> list[Retrieval | Failed]:
        if not readings:
            return []
        stored = self.finder.find(readings) if self.finder else [[] for _ in readings]
        if self.online is None:
            return [Retrieval(tuple(candidates)) for candidates in stored]
        both = list[Retrieval | Failed]()
        for reading, candidates in zip(readings, stored, strict=True):
            pages = self.online.find(reading, {one.passage.url for one in candidates})
            unused = {"unread": pages.unread, "excluded": pages.excluded}
            self._record("searched", reading=reading.reading_id, **unused)
            both.append(replace(pages, candidates=(*candidates, *pages.candidates)))
        return both

    def _judge(self, pairs: Sequence[tuple[Reading, Candidate]]) -> list[Evidence | Failed]:
        failures = [self._why_unusable(candidate) for _, candidate in pairs]
        usable = [
            (reading, candidate.passage)
            for (reading, candidate), failure in zip(pairs, failures, strict=True)
            if failure is None
        ]
        answers = iter(errors.apply(self.judge.judge, usable, lambda _, why: why))
        return [failure or next(answers) for failure in failures]

    def _why_unusable(self, candidate: Candidate) -> Failed | None:
        if candidate.lost or reads(self.languages, candidate.language):
            return candidate.lost
        language, read = (
            language_name((candidate.language or "").split("-")[0]),
            self.languages or (),
        )
        more = "pincite[multilingual] reads more than English"
        if set(read) != {"en"}:
            more = f"the models read only {', '.join(sorted(read))}"
        return Failed("language", f"the page is in {language}; {more}")


def _weigh(reading: Reading, candidate: Candidate, outcome: Evidence | Failed) -> Weighed:
    """Join a candidate with what it says of the reading, and who says it there."""
    judged: Evidence | Unjudged
    if isinstance(outcome, Failed):
        judged = Unjudged(outcome.step, outcome.detail, candidate.passage)
    else:
        quoted = with_sentence_quoted(reading.text, outcome)
        judged = with_retraction(quoted, candidate.document)
    source = _source(reading, candidate, judged)
    return codec.build(Weighed, candidate, candidate.document, outcome=judged, source=source)


def with_wholes(results: Sequence[ReadingResult]) -> tuple[ReadingResult, ...]:
    """Decide what joins several parts by the weakest: it holds only if each does.

    A single part is what is said beside the background: it, or the whole, whichever is clearer.
    """
    decided: dict[str, ReadingResult] = {}  # by the reading's text
    for result in reversed(results):  # parts follow their whole
        texts = result.reading.parts
        parts = [decided[text] for text in texts if text in decided]
        if len(parts) == len(texts) == 1:
            main = parts[0]
            # A denial without its background denies more, and may be wrong.
            is_wider = _rank(main) < 0 and is_negated(main.reading.text)
            if not is_wider and abs(_rank(main)) >= abs(_rank(result)):
                result = replace(result, items=main.items, weight=main.weight)
        elif parts and len(parts) == len(texts):
            weakest = min(parts, key=_rank)
            result = replace(result, items=weakest.items, weight=weakest.weight)
        decided[result.reading.text] = result
    return tuple(decided[result.reading.text] for result in results)


def _rank(result: ReadingResult) -> int:
    return confirmation.rank(result.weight.outcome) or 0


def _text_ids(passages: Sequence[Passage]) -> list[int]:
    """Number the passages; those of one document, or copies of one text, share a number."""
    first: dict[str, int] = {}
    ids = [first.setdefault(passage.doc_id, n) for n, passage in enumerate(passages)]
    return errors.attempt(lambda: _with_copies(passages, ids), lambda _: ids)


def _with_copies(passages: Sequence[Passage], ids: list[int]) -> list[int]:
    hits = [Hit(passage, 1.0 / rank, rank) for rank, passage in enumerate(passages, 1)]
    for group in group_copies(hits):
        same = {ids[hit.rank - 1] for hit in group}
        ids = [min(same) if number in same else number for number in ids]
    return ids


# ── Retrieval ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PassageFinder:
    """Finds passages in a corpus. A text that several pages share is found once."""

    search: Retriever
    documents_of: DocumentsOf
    check: CheckSettings = field(default_factory=CheckSettings)
    passages: int = 200  # retrieved by the search

    def find(self, readings: Sequence[Reading]) -> list[list[Candidate]]:
        of_readings = self.search.retrieve([reading.text for reading in readings], self.passages)
        return [distinct_texts(hits, self.documents_of, self.check) for hits in of_readings]


@dataclass(frozen=True, slots=True)
class WindowFinder:
    """EvidenceSeeker's retrieval: the nearest sentences of passages, with those around them."""

    dense: Retriever
    encoder: Encoder
    documents_of: DocumentsOf
    check: CheckSettings = field(default_factory=CheckSettings)
    depth: int = 100

    def find(self, readings: Sequence[Reading]) -> list[list[Candidate]]:
        texts = [reading.text for reading in readings]
        of_readings = self.dense.retrieve(texts, self.depth)
        return [self._nearest(text, hits) for text, hits in zip(texts, of_readings, strict=True)]

    def _nearest(self, text: str, hits: Sequence[Hit]) -> list[Candidate]:
        sentences = [
            (hit.passage, span)
            for hit in hits
            for span in source_sentences(hit.passage.text, hit.passage.language)
        ]
        if not sentences:
            return []
        (query,) = self.encoder.encode([text], "query")
        written = [span.of(passage.text) for passage, span in sentences]
        scores = self.encoder.encode(written, "passage") @ query

        def order(n: int) -> tuple[float, str, Span]:
            passage, span = sentences[n]
            return -scores[n], passage.passage_id, span

        nearest = sorted(range(len(sentences)), key=order)[: self.check.top_k]
        chosen = [sentences[n] for n in nearest]
        documents = self.documents_of([passage.url for passage, _ in chosen])
        return [
            candidate(document, self._around(document, passage, span))
            for (passage, span), document in zip(chosen, documents, strict=True)
        ]

    def _around(self, document: Document | None, passage: Passage, span: Span) -> Passage:
        if document is None:
            return passage
        place = span.moved(passage.span.start)
        spans = source_sentences(document.text, document.language)
        within = [n for n, sentence in enumerate(spans) if sentence.overlaps(place)]
        if not within:
            return passage
        first = max(0, within[0] - self.check.window_size)
        last = min(within[-1] + self.check.window_size, len(spans) - 1)
        return widen(passage, document, Span(spans[first].start, spans[last].end))


@dataclass(frozen=True, slots=True)
class SearchedWeb:
    """Pages found by a search engine. A page that cannot be read is not evidence."""

    candidates: "WebCandidates"
    exclusions: Exclusions
    check: CheckSettings
    languages: frozenset[str] | None = None  # that the judge reads; None: unknown

    def find(self, reading: Reading, known: Collection[str]) -> Retrieval:
        """Return at most `top_k` texts; `known` are addresses already found elsewhere."""
        pages = self.candidates.of(Claim.alone(reading.text), known, self.exclusions)
        texts, unread = list[Candidate](), dict[str, Unchecked]()
        for text in distinct_texts(pages.hits, self.candidates.get, self.check):
            url, language = text.passage.url, text.language
            if reads(self.languages, language):
                texts.append(replace(text, origin=CopyKind.LIVE))
            else:
                unread.setdefault(url, Unchecked(url, Reason.LANGUAGE, language or ""))
        return Retrieval(tuple(texts), (*pages.unread, *unread.values()), pages.excluded)


def distinct_texts(
    hits: Sequence[Hit], documents_of: DocumentsOf, check: CheckSettings
) -> list[Candidate]:
    """Return the first `top_k` texts, dropping passages contained in an earlier one."""
    groups = [[hit] for hit in hits] if check.count_copies else group_copies(hits)
    chosen: list[Candidate] = []
    # In portions: documents may be long, and the first portion is usually enough.
    for start in range(0, CROWDED * check.top_k, check.top_k):
        portion = groups[start : start + check.top_k]
        documents = documents_of([group[0].passage.url for group in portion])
        for group, document in zip(portion, documents, strict=True):
            text = candidate(document, group[0].passage, [hit.passage.url for hit in group[1:]])
            span, doc_id = text.passage.span, text.passage.doc_id
            of_document = [one.passage.span for one in chosen if one.passage.doc_id == doc_id]
            if any(one.start <= span.start and span.end <= one.end for one in of_document):
                continue
            if document and not text.lost:
                span = around(document, text.passage.span, check.passage_words)
                text = replace(text, passage=widen(text.passage, document, span))
            chosen.append(text)
            if len(chosen) == check.top_k:
                return chosen
    return chosen


def widen(passage: Passage, document: Document, span: Span) -> Passage:
    """Widen a passage to `span`; its page is kept for other rows of tables, and for names."""
    text = span.of(document.text)
    about = about_passage(passage.about, text, document.published, document.text)
    page = document.text if rows_of(text) or about != passage.about else ""
    return replace(passage, text=text, span=span, about=about, page=page)


def candidate(document: Document | None, passage: Passage, copies: Sequence[str] = ()) -> Candidate:
    """Add the document's metadata; the passage is lost unless the stored text has it verbatim.

    A report may be published: it has the names of local files, not their folders.
    """
    others = dict.fromkeys(map(without_folder, copies))
    passage = replace(passage, url=without_folder(passage.url))
    if document is None or passage.span.of(document.text) != passage.text:
        why = Failed("source", "the passage is not in the stored text")
        return Candidate(passage, lost=why)
    if retraction_of(document) is Retraction.YES:
        why = Failed("retracted", "the source was retracted")
        return Candidate(passage, lost=why)
    return Candidate(passage, document, tuple(url for url in others if url != passage.url))


def _source(reading: Reading, candidate: Candidate, outcome: Evidence | Failed) -> Source:
    """Add who speaks in the quote, and whether the publisher is whom the reading is about.

    For a reading about what someone says, their own words are the right source.
    """
    document, passage = candidate.document, candidate.passage
    source = source_of(document) if document else UNKNOWN
    if reading.kind is StatementType.ASCRIPTIVE:
        return source
    own = any(is_about(reading.text, name) for name in (source.publisher, source.author))
    if isinstance(outcome, Failed) or outcome.quote is None:
        return replace(source, own=own)
    quote = outcome.quote.moved(passage.span.start if document else 0)
    text, language = document.text if document else passage.text, passage.language or "en"
    return replace(source, own=own, speaker=speaker_in(reading.text, text, quote, language))


def reads(languages: Collection[str] | None, language: str | None) -> bool:
    """Whether a judge reads a page's language; assumed if the language is unknown.

    >>> reads({"en"}, "en-GB"), reads({"en"}, "de"), reads(None, "de"), reads({"en"}, None)
    (True, False, True, True)
    """
    return not languages or not language or language.split("-")[0] in languages
