"""How far a passage confirms a reading, by a local verifier.

1. A passage is for a reading, against it, or neither: `with_stance`, by all of its document.
2. One that is for it confirms it only by a sentence that does so alone: `confirm_by_sentence`.
3. Or else by two neighbouring sentences, then at most weakly: `confirm_by_neighbours`.
4. Of a document that is neither for nor against, sentences are read alone: `weigh_alone`.
5. Confirmations that lack a figure give way to those that state it: `prefer_stated_figures`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pincite.judgement import decide
from pincite.judgement.confirmation import MEDIUM, STRONG
from pincite.judgement.contradictions import contrary_by_word, discard_rebutted
from pincite.llm.calls import Progress
from pincite.models.routing import RoutedVerifier
from pincite.protocols import Verifier
from pincite.text import names, tables, words
from pincite.text.languages import common
from pincite.types import (
    STOPPED,
    Claim,
    Evidence,
    Failed,
    Passage,
    Span,
    Stance,
    Witness,
    WitnessKind,
    sigmoid,
)
from pincite.verbs.check import quotes
from pincite.verbs.check.report import Reading

_CHUNK = 16  # pairs between two checks for Ctrl-C: about a second of verifier time on two cores

# The thresholds below were chosen on the open half of tests/cases/gate (research/check-and-ask.md).
# Support: the probability that a passage supports a reading.
SUPPORT_TO_CONFIRM = 0.5  # of its sentence; `decide.THRESHOLD` if an examined model agrees
SUPPORT_FOR_NEIGHBOURS = 0.4  # from which two neighbours may confirm
SUPPORT_SURE = 0.6  # from which neighbours that leave little unsaid need only `MARGIN_LEAST`
# Margin: by how much the support of sentences read alone exceeds their refutation.
MARGIN_LEAST = 0.0  # of what confirms at all
MARGIN_CLEAR = 0.2  # of a sentence that confirms fully, whatever its topic
MARGIN_WEAK = 0.05  # of a sentence whose passage has less than `SUPPORT_TO_CONFIRM`
MARGIN_NEIGHBOURS = 0.1  # of two neighbours
MARGIN_OPPOSING = -0.2  # of sentences that say the opposite
# Shares of a reading's words that a text may lack. More are missing in a document on another topic
# ("the mill closed" refutes nothing about a bridge).
MOST_LACKING = 0.6  # of a document, or of a sentence and its context
MOST_LACKING_IN_NEIGHBOURS = 0.35  # of two neighbours that leave little unsaid

_SILENT = Stance(0.0, 0.0)
_Confirm: TypeAlias = Callable[[str, Evidence, Mapping[Span, float]], Evidence]
_Document: TypeAlias = tuple[str, str]  # a reading, and the id of a document
_SpansOf: TypeAlias = Callable[[str, Passage], list[Span]]  # of a reading's text and a passage


@dataclass(frozen=True, slots=True, eq=False)  # two equal pairs are judged apart
class Judged:
    """A reading with the evidence from one passage, as far as it was judged."""

    reading: str
    evidence: Evidence

    @property
    def document(self) -> _Document:
        return self.reading, self.evidence.passage.doc_id

    @property
    def stance(self) -> Stance:
        return self.evidence.stance or _SILENT

    @property
    def confirms(self) -> bool:
        return self.stance.supports > 0


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """One or two sentences of a passage, which are read without the others."""

    source: Judged
    span: Span  # in its passage

    @property
    def pair(self) -> tuple[Claim, Passage]:
        passage = self.source.evidence.passage
        alone = replace(passage, text=self.span.of(passage.text))
        return Claim.alone(self.source.reading), alone

    def weigh(self, alone: Evidence, margin: float) -> Judged:
        """Return the passage, counting as the excerpt does by its own evidence and margin."""
        source, read = self.source, weigh_alone(self.source.reading, alone, margin)
        evidence = replace(
            source.evidence, stance=read.stance, quote=self.span, witnesses=read.witnesses
        )
        return replace(source, evidence=evidence)


@dataclass(frozen=True, slots=True)
class VerifierJudge:
    """DOC = supported - refuted, by a local verifier; the negation is not judged."""

    verifier: Verifier
    reader: RoutedVerifier | None = None  # None: the verifier reads sentences too
    on_progress: Progress | None = None

    @property
    def fingerprint(self) -> str:
        return self.verifier.fingerprint

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """Judge each pair, taking into account everything found in the same document."""
        try:
            judged = weigh_in_documents(self._verify(pairs))
            judged = self._require_sentence(judged)
            judged = self._read_silent_documents(judged)
        except KeyboardInterrupt:
            return [STOPPED] * len(pairs)
        return [one.evidence.failed or one.evidence for one in prefer_stated_figures(judged)]

    def _verify(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Judged]:
        judged: list[Judged] = []
        for start in range(0, len(pairs), _CHUNK):
            chunk = pairs[start : start + _CHUNK]
            claims = [(Claim.alone(reading.text), passage) for reading, passage in chunk]
            evidence = self.verifier.verify(claims)
            judged += [Judged(c.text, read) for (c, _), read in zip(claims, evidence, strict=True)]
            if self.on_progress:
                self.on_progress(len(judged), len(pairs))
        return judged

    def _require_sentence(self, judged: Sequence[Judged]) -> list[Judged]:
        """Let no confirmation count without a sentence, or two neighbours, that confirm alone."""
        confirming = [one for one in judged if one.confirms]
        decided = self._read_alone(confirming, quotes.candidate_sentences, confirm_by_sentence)
        undecided = [
            one
            for one, by_sentence in decided.items()
            if not by_sentence.confirms and one.evidence.prob_supported >= SUPPORT_FOR_NEIGHBOURS
        ]
        decided |= self._read_alone(undecided, quotes.neighbours, confirm_by_neighbours)
        return [decided.get(one, one) for one in judged]

    def _read_alone(
        self, judged: Sequence[Judged], spans_of: _SpansOf, confirm: _Confirm
    ) -> dict[Judged, Judged]:
        """Return each passage as it counts by the margins of its excerpts."""
        excerpts = _excerpts(judged, spans_of)
        read = self._margins([excerpt.pair for excerpt in excerpts])
        margins: dict[Judged, dict[Span, float]] = {one: {} for one in judged}
        for excerpt, margin in zip(excerpts, read, strict=True):
            margins[excerpt.source][excerpt.span] = margin
        return {
            one: replace(one, evidence=confirm(one.reading, one.evidence, of_one))
            for one, of_one in margins.items()
        }

    def _read_silent_documents(self, judged: Sequence[Judged]) -> list[Judged]:
        """Read one or two sentences alone where a document says nothing as it was read."""
        speaking = {one.document for one in judged if any(one.stance)}
        silent = [
            one for one in judged if one.document not in speaking and one.evidence.failed is None
        ]
        excerpts = _excerpts(silent, quotes.near_spans)
        pairs = [excerpt.pair for excerpt in excerpts]
        evidence = self.verifier.verify(pairs)
        margins = self._margins(pairs, evidence)
        weighed = [
            (excerpt.source, excerpt.weigh(read, margin))
            for excerpt, read, margin in zip(excerpts, evidence, margins, strict=True)
        ]
        surest = surest_excerpts(weighed)
        return [surest.get(one, one) for one in judged]

    def _margins(
        self, pairs: Sequence[tuple[Claim, Passage]], evidence: Sequence[Evidence] = ()
    ) -> list[float]:
        """Return the margins; `evidence`: the verifier's on these pairs, if it has read them."""
        if self.reader is None:
            evidence = evidence or self.verifier.verify(pairs)
            return [read.prob_supported - read.prob_refuted for read in evidence]
        # The second value is the share of refutation in what is not supported.
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(pairs).tolist())
        return [supported - (1 - supported) * refuted for supported, refuted in odds]


def _excerpts(judged: Sequence[Judged], spans_of: _SpansOf) -> list[_Excerpt]:
    spans = ((one, spans_of(one.reading, one.evidence.passage)) for one in judged)
    return [_Excerpt(one, span) for one, of_one in spans for span in of_one]


def surest_excerpts(weighed: Sequence[tuple[Judged, Judged]]) -> dict[Judged, Judged]:
    """Choose for each passage the excerpt that counts most; a passage without one is left out.

    Excerpts count against a reading only if none of their document is for it.
    """
    confirmed = {alone.document for _, alone in weighed if alone.confirms}
    surest = dict[Judged, Judged]()
    for source, alone in weighed:
        counts = alone.confirms or (any(alone.stance) and alone.document not in confirmed)
        if counts and (source not in surest or max(alone.stance) > max(surest[source].stance)):
            surest[source] = alone
    return surest


def weigh_in_documents(judged: Sequence[Judged]) -> list[Judged]:
    """Decide each pair with the texts and evidence of all passages of its document."""
    of_documents = defaultdict[_Document, list[Evidence]](list)
    for one in judged:
        of_documents[one.document].append(one.evidence)
    return [replace(one, evidence=_weigh(one, of_documents[one.document])) for one in judged]


def _weigh(judged: Judged, of_document: Sequence[Evidence]) -> Evidence:
    pages = (read.passage.page or read.passage.text for read in of_document)  # may be one page
    text = "\n".join(dict.fromkeys([of_document[0].passage.about, *pages]))
    return with_stance(judged.reading, judged.evidence, text, of_document)


def prefer_stated_figures(judged: Sequence[Judged]) -> list[Judged]:
    """Let no confirmation count that lacks a figure, if another of its document states them all."""
    complete, lacking = set[_Document](), set[Judged]()
    for one in (one for one in judged if one.confirms):
        quote = f"{one.evidence.passage.about}\n{one.evidence.quoted}"
        if tables.unstated_values(one.reading, quote):
            lacking.add(one)
        else:
            complete.add(one.document)
    outdone = {one for one in lacking if one.document in complete}
    return [
        replace(one, evidence=_silenced(one.evidence)) if one in outdone else one for one in judged
    ]


def with_stance(
    reading: str, evidence: Evidence, document: str, of_document: Sequence[Evidence] = ()
) -> Evidence:
    """Return a verifier's evidence with how far it counts for and against a reading.

    A document that does not state a number or date of the reading does not confirm it. `document`:
    all the text found of it; `of_document`: the evidence from each of its passages.
    """
    evidence = discard_rebutted(Claim.alone(reading), evidence, document)
    if _refutes(reading, evidence, document, of_document):
        return replace(evidence, stance=Stance(0.0, evidence.prob_refuted))
    is_supported = evidence.prob_supported >= decide.THRESHOLD
    if evidence.contradiction or (is_supported and tables.unstated_values(reading, document)):
        is_supported = False  # as in `decide.label_of`
    supported = evidence.prob_supported if is_supported else 0.0
    return replace(decide.without(evidence, WitnessKind.NETWORK), stance=Stance(supported, 0.0))


def _refutes(
    reading: str, evidence: Evidence, document: str, of_document: Sequence[Evidence]
) -> bool:
    """Whether a refutation counts: it is of the same topic, and states a finding."""
    if not decide.refutes(evidence) or _is_off_topic(reading, document):
        return False
    if not decide.counts_as_refutation(evidence, of_document):
        return False
    is_by_rule = evidence.contradiction is not None
    return is_by_rule or not evidence.quote or not quotes.lacks_a_finding(reading, evidence.quoted)


def _is_off_topic(reading: str, document: str) -> bool:
    """Whether a document is about something else: it lacks most words, or all names."""
    if common(reading, document) and words.missing_words(reading, document) > MOST_LACKING:
        return True
    is_any_named = any(words.is_named(name, document) for name in words.names(reading))
    return not is_any_named and bool(names.missing(reading, document))


def weigh_alone(reading: str, evidence: Evidence, margin: float) -> Evidence:
    """Return evidence from one or two sentences with how far they count, and what shows it.

    `margin`: by how much their support exceeds their refutation.
    """
    passage, text = evidence.passage, evidence.passage.text
    against = _contrary(reading, evidence)
    if margin <= MARGIN_OPPOSING and against:
        return replace(evidence, stance=Stance(0.0, min(-margin, MEDIUM)), witnesses=against)
    supported = 0.0
    is_one = len(words.sentences_of(text)) == 1  # of two, the first may be of another subject
    is_likely = (
        evidence.prob_supported >= SUPPORT_TO_CONFIRM and margin >= MARGIN_WEAK and not against
    )
    if is_one and is_likely and quotes.may_confirm(reading, passage, Span(0, len(text))):
        supported = min(evidence.prob_supported, MEDIUM)
    return replace(evidence, stance=Stance(supported, 0.0), witnesses=())


def _contrary(reading: str, evidence: Evidence) -> tuple[Witness, ...]:
    """Return what shows that sentences contradict a reading: a rule, or the opposite word.

    The network alone counts only of sentences that have all words.
    """
    text = f"{evidence.passage.about}\n{evidence.passage.text}"
    by_rule = tuple(w for w in evidence.witnesses if w.kind is not WitnessKind.NETWORK)
    if by_rule or tables.unstated_values(reading, text):
        return by_rule if decide.refutes(evidence) else ()
    own = set(words.roots(reading))
    has_all = len(own) >= quotes.SHORTEST_QUOTE and own <= set(words.roots(text))
    if has_all and decide.refutes(evidence):
        return evidence.witnesses
    word = contrary_by_word(reading, evidence.passage.text, evidence.passage.about)
    return (word,) if word else ()


def confirm_by_sentence(
    reading: str, evidence: Evidence, margins: Mapping[Span, float]
) -> Evidence:
    """Quote the sentence that states the reading best alone; without one, nothing is confirmed.

    `margins`: by how much the support of each sentence exceeds its refutation.
    """
    near = [
        span
        for span, margin in margins.items()
        if margin >= MARGIN_CLEAR or _is_on_topic(reading, evidence.passage, span)
    ]
    best = _surest(near, margins)
    if best is None:
        return _confirmed_as_quoted_by_model(evidence, margins)
    margin = margins[best]
    if evidence.prob_supported >= SUPPORT_TO_CONFIRM or decide.supporting_opinion(evidence):
        return _confirm_by_quote(evidence, best, STRONG if margin < MARGIN_CLEAR else 1.0)
    return _confirm_weakly(evidence, best, is_clear=margin >= MARGIN_WEAK)


def confirm_by_neighbours(
    reading: str, evidence: Evidence, margins: Mapping[Span, float]
) -> Evidence:
    """Quote the two neighbours that state the reading best, as `confirm_by_sentence`."""
    passage = evidence.passage
    best = _surest([span for span in margins if _is_on_topic(reading, passage, span)], margins)
    if best is None:
        return _confirmed_as_quoted_by_model(evidence, margins)
    quote = f"{passage.about}\n{best.of(passage.text)}"
    lacks = words.missing_words(reading, quote) > MOST_LACKING_IN_NEIGHBOURS
    is_complete = not (lacks or tables.unstated_values(reading, quote))
    is_sure = is_complete and evidence.prob_supported >= SUPPORT_SURE
    least = MARGIN_LEAST if is_sure else MARGIN_NEIGHBOURS
    return _confirm_weakly(evidence, best, is_clear=margins[best] >= least)


def _surest(spans: Sequence[Span], margins: Mapping[Span, float]) -> Span | None:
    best = max(spans, key=lambda span: margins[span], default=None)
    return None if best is None or margins[best] < MARGIN_LEAST else best


def _confirm_by_quote(evidence: Evidence, quote: Span, most: float) -> Evidence:
    """Quote sentences that let their passage confirm, at most so much."""
    assert evidence.stance is not None
    stance = Stance(min(evidence.stance.supports, most), 0.0)
    return replace(evidence, stance=stance, quote=quote)


def _confirm_weakly(evidence: Evidence, quote: Span, *, is_clear: bool) -> Evidence:
    """As `_confirm_by_quote`, unless the quote is unclear or a row of a table."""
    if is_clear and not tables.rows_of(quote.of(evidence.passage.text)):
        return _confirm_by_quote(evidence, quote, MEDIUM)
    return _silenced(evidence)


def _silenced(evidence: Evidence) -> Evidence:
    return replace(evidence, stance=_SILENT)


def _confirmed_as_quoted_by_model(evidence: Evidence, spans: Iterable[Span]) -> Evidence:
    """Quote the first sentence that a trusted model, which read its context, quotes in support."""
    opinion, text = decide.supporting_opinion(evidence), evidence.passage.text
    if opinion is None:
        return _silenced(evidence)
    places = [(text.find(quote), len(quote)) for quote in opinion.quotes]
    quoted = [Span(start, start + length) for start, length in places if start >= 0]
    chosen = [span for quote in quoted for span in spans if quote.overlaps(span)]
    return _confirm_by_quote(evidence, chosen[0], STRONG) if chosen else _silenced(evidence)


def _is_on_topic(reading: str, passage: Passage, span: Span) -> bool:
    """Whether a quote has most words of a reading, with the title and two sentences before it.

    Without this, 4 quotes more would be wrong, and 1 more right, for 160 claims. Across languages,
    words tell nothing of the topic.
    """
    text = passage.text
    before = [sentence for sentence in words.sentences_of(text) if sentence.end <= span.start][-2:]
    context = text[before[0].start if before else span.start : span.end]
    missing = words.missing_words(reading, f"{passage.about}\n{context}")
    return missing <= MOST_LACKING or not common(reading, text)
