"""How far a passage confirms a reading, by a local verifier.

A passage confirms a reading only if one of its sentences, or two neighbours, do so alone. Where
nothing in a document is for or against a reading, its sentences are read alone.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

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
CONFIRMED_FROM = 0.5  # support of a passage; `decide.THRESHOLD` if an examined model agrees
# Share of a reading's words that a document on the same topic may lack ("the mill closed" refutes
# nothing about a bridge). A sentence that lacks more, title included, must confirm `CLEARLY`.
ELSEWHERE = 0.6
# Margins: by how much the support of sentences read alone exceeds their refutation.
LEAST_MARGIN = 0.0  # of what confirms at all
CLEARLY = 0.2  # below it, a sentence confirms at most strongly
PROBABLY = 0.05  # of a sentence whose passage has less than `CONFIRMED_FROM`
TOGETHER = 0.1  # of two neighbours, unless their passage is `SURE` and they leave little unstated
OPPOSED_FROM = 0.2  # of a sentence that says the opposite, as a negative margin
TOGETHER_FROM = 0.4  # support of a passage in which two neighbours may confirm
SURE = 0.6  # support of such a passage
UNSTATED = 0.35  # share of the reading's words that its two neighbours may lack

_SILENT = Stance(0.0, 0.0)
_Pair: TypeAlias = tuple[Reading, Passage]
_SpansOf: TypeAlias = Callable[[str, Passage], list[Span]]  # of a reading's text and a passage


class _Document(NamedTuple):
    """What the pairs of one reading and one document share."""

    reading: str
    doc_id: str


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """One or two sentences of a passage, which are judged without the others."""

    n: int  # of the pair of reading and passage
    span: Span  # in the passage
    pair: tuple[Claim, Passage]


@dataclass(frozen=True, slots=True)
class VerifierJudge:
    """DOC = supported - refuted, by a local verifier; the negation is not judged."""

    verifier: Verifier
    reader: RoutedVerifier | None = None  # None: the verifier reads sentences too
    on_progress: Progress | None = None

    @property
    def fingerprint(self) -> str:
        return self.verifier.fingerprint

    def judge(self, pairs: Sequence[_Pair]) -> list[Evidence | Failed]:
        """Judge each pair, taking into account everything found in the same document."""
        try:
            evidence = weigh_in_documents(pairs, self._read(pairs))
            evidence = self._require_sentence(pairs, evidence)
            evidence = self._read_silent_documents(pairs, evidence)
        except KeyboardInterrupt:
            return [STOPPED] * len(pairs)
        return [judged.failed or judged for judged in prefer_stated_figures(pairs, evidence)]

    def _read(self, pairs: Sequence[_Pair]) -> list[Evidence]:
        evidence: list[Evidence] = []
        for start in range(0, len(pairs), _CHUNK):
            chunk = pairs[start : start + _CHUNK]
            claims = [(Claim.alone(reading.text), passage) for reading, passage in chunk]
            evidence += self.verifier.verify(claims)
            if self.on_progress:
                self.on_progress(len(evidence), len(pairs))
        return evidence

    def _require_sentence(
        self, pairs: Sequence[_Pair], evidence: Sequence[Evidence]
    ) -> list[Evidence]:
        """Let no confirmation count without a sentence, or two neighbours, that confirm alone."""
        result = list(evidence)
        confirming = [n for n, judged in enumerate(evidence) if _confirms(judged)]
        for n, margins in self._read_alone(pairs, confirming, quotes.candidate_sentences).items():
            result[n] = confirm_by_sentence(pairs[n][0].text, evidence[n], margins)
        undecided = [
            n
            for n in confirming
            if evidence[n].prob_supported >= TOGETHER_FROM and not _confirms(result[n])
        ]
        for n, margins in self._read_alone(pairs, undecided, quotes.neighbours).items():
            result[n] = confirm_by_neighbours(pairs[n][0].text, evidence[n], margins)
        return result

    def _read_alone(
        self, pairs: Sequence[_Pair], places: Sequence[int], spans_of: _SpansOf
    ) -> dict[int, dict[Span, float]]:
        """Return the margin of each excerpt of some of the pairs."""
        margins: dict[int, dict[Span, float]] = {n: {} for n in places}
        excerpts = _excerpts(pairs, places, spans_of)
        read = self._margins([excerpt.pair for excerpt in excerpts])
        for excerpt, margin in zip(excerpts, read, strict=True):
            margins[excerpt.n][excerpt.span] = margin
        return margins

    def _read_silent_documents(
        self, pairs: Sequence[_Pair], evidence: Sequence[Evidence]
    ) -> list[Evidence]:
        """Read one or two sentences alone where a document says nothing as it was read.

        What they confirm is confirmed weakly. They count against a reading only if nothing in
        their document is for it, and a rule or the network shows how they contradict it.
        """
        documents = [_Document(reading.text, passage.doc_id) for reading, passage in pairs]
        decided = {documents[n] for n, judged in enumerate(evidence) if any(judged.stance or ())}
        silent = [
            n
            for n, judged in enumerate(evidence)
            if documents[n] not in decided and judged.failed is None
        ]
        excerpts = _excerpts(pairs, silent, quotes.near_spans)
        alone = [excerpt.pair for excerpt in excerpts]
        read = zip(excerpts, self.verifier.verify(alone), self._margins(alone), strict=True)
        of_document = defaultdict[_Document, list[tuple[_Excerpt, Evidence]]](list)
        for excerpt, judged, margin in read:
            document = documents[excerpt.n]
            weighed = weigh_alone(document.reading, judged, margin)
            of_document[document].append((excerpt, weighed))
        result = list(evidence)
        for of_one in of_document.values():
            confirming = [pair for pair in of_one if _confirms(pair[1])]
            opposing = [pair for pair in of_one if _opposes(pair[1])]
            for excerpt, judged in confirming or opposing:
                result[excerpt.n] = replace(
                    evidence[excerpt.n],
                    stance=judged.stance,
                    quote=excerpt.span,
                    witnesses=judged.witnesses,
                )
        return result

    def _margins(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[float]:
        """Return by how much the support of each pair exceeds its refutation."""
        if self.reader is None:
            evidence = self.verifier.verify(pairs)
            return [judged.prob_supported - judged.prob_refuted for judged in evidence]
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(pairs).tolist())
        return [supported - (1 - supported) * refuted for supported, refuted in odds]


def _excerpts(pairs: Sequence[_Pair], places: Sequence[int], spans_of: _SpansOf) -> list[_Excerpt]:
    excerpts = list[_Excerpt]()
    for n in places:
        reading, passage = pairs[n]
        for span in spans_of(reading.text, passage):
            alone = replace(passage, text=span.of(passage.text))
            excerpts.append(_Excerpt(n, span, (Claim.alone(reading.text), alone)))
    return excerpts


def _by_document(pairs: Sequence[_Pair]) -> dict[_Document, list[int]]:
    """Group the indices of the pairs by reading and document."""
    places = defaultdict[_Document, list[int]](list)
    for n, (reading, passage) in enumerate(pairs):
        places[_Document(reading.text, passage.doc_id)].append(n)
    return places


def _confirms(evidence: Evidence) -> bool:
    return evidence.stance is not None and evidence.stance.supports > 0


def _opposes(evidence: Evidence) -> bool:
    return evidence.stance is not None and evidence.stance.refutes > 0


def weigh_in_documents(pairs: Sequence[_Pair], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Decide each pair with the texts and evidence of all passages of its document."""
    result = list(evidence)
    for document, places in _by_document(pairs).items():
        passages = [pairs[n][1] for n in places]
        # Passages may share a page.
        texts = dict.fromkeys([passages[0].about, *(p.page or p.text for p in passages)])
        of_document = [evidence[n] for n in places]
        for n in places:
            result[n] = with_stance(document.reading, evidence[n], "\n".join(texts), of_document)
    return result


def prefer_stated_figures(pairs: Sequence[_Pair], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Let no confirmation count that lacks a figure, if another of its document states them all."""
    result = list(evidence)
    for document, places in _by_document(pairs).items():
        confirming = [n for n in places if _confirms(evidence[n])]
        quotes_of = {n: f"{evidence[n].passage.about}\n{evidence[n].quoted}" for n in confirming}
        lacking = [
            n for n, quote in quotes_of.items() if tables.unstated_values(document.reading, quote)
        ]
        if len(lacking) < len(confirming):
            for n in lacking:
                result[n] = replace(evidence[n], stance=_SILENT)
    return result


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
    if not decide.refutes(evidence) or _is_elsewhere(reading, document):
        return False
    if not decide.counts_as_refutation(evidence, of_document):
        return False
    is_by_rule = evidence.contradiction is not None
    return is_by_rule or not evidence.quote or not quotes.lacks_a_finding(reading, evidence.quoted)


def _is_elsewhere(reading: str, document: str) -> bool:
    """Whether a document is about something else: it lacks most words, or all names."""
    if common(reading, document) and words.missing_words(reading, document) > ELSEWHERE:
        return True
    is_any_named = any(words.is_named(name, document) for name in words.names(reading))
    return not is_any_named and bool(names.missing(reading, document))


def weigh_alone(reading: str, evidence: Evidence, margin: float) -> Evidence:
    """Return evidence from one or two sentences with how far they count, and what shows it.

    `margin`: by how much their support exceeds their refutation.
    """
    passage, text = evidence.passage, evidence.passage.text
    against = _contrary(reading, evidence)
    if margin <= -OPPOSED_FROM and against:
        return replace(evidence, stance=Stance(0.0, min(-margin, MEDIUM)), witnesses=against)
    supported = 0.0
    is_one = len(words.sentences_of(text)) == 1  # of two, the first may be of another subject
    is_likely = evidence.prob_supported >= CONFIRMED_FROM and margin >= PROBABLY and not against
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
        if margin >= CLEARLY or _is_near(reading, evidence.passage, span)
    ]
    best = _surest(near, margins)
    if best is None:
        return _confirmed_as_quoted_by_model(evidence, margins)
    if evidence.prob_supported >= CONFIRMED_FROM or decide.supporting_opinion(evidence):
        return _confirm_by_quote(evidence, best, STRONG if margins[best] < CLEARLY else 1.0)
    return _confirm_weakly(evidence, best, is_clear=margins[best] >= PROBABLY)


def confirm_by_neighbours(
    reading: str, evidence: Evidence, margins: Mapping[Span, float]
) -> Evidence:
    """Quote the two neighbours that state the reading best, as `confirm_by_sentence`."""
    passage = evidence.passage
    best = _surest([span for span in margins if _is_near(reading, passage, span)], margins)
    if best is None:
        return _confirmed_as_quoted_by_model(evidence, margins)
    quote = f"{passage.about}\n{best.of(passage.text)}"
    lacks = words.missing_words(reading, quote) > UNSTATED or tables.unstated_values(reading, quote)
    least = TOGETHER if lacks or evidence.prob_supported < SURE else LEAST_MARGIN
    return _confirm_weakly(evidence, best, is_clear=margins[best] >= least)


def _surest(spans: Sequence[Span], margins: Mapping[Span, float]) -> Span | None:
    best = max(spans, key=lambda span: margins[span], default=None)
    return None if best is None or margins[best] < LEAST_MARGIN else best


def _confirm_by_quote(evidence: Evidence, quote: Span, most: float) -> Evidence:
    """Quote sentences that let their passage confirm, at most so much."""
    assert evidence.stance is not None
    stance = Stance(min(evidence.stance.supports, most), 0.0)
    return replace(evidence, stance=stance, quote=quote)


def _confirm_weakly(evidence: Evidence, quote: Span, *, is_clear: bool) -> Evidence:
    """As `_confirm_by_quote`, unless the quote is unclear or a row of a table."""
    if is_clear and not tables.rows_of(quote.of(evidence.passage.text)):
        return _confirm_by_quote(evidence, quote, MEDIUM)
    return replace(evidence, stance=_SILENT)


def _confirmed_as_quoted_by_model(evidence: Evidence, spans: Iterable[Span]) -> Evidence:
    """Quote the first sentence that a trusted model, which read its context, quotes in support."""
    opinion, text = decide.supporting_opinion(evidence), evidence.passage.text
    for quote in opinion.quotes if opinion else ():
        start = text.find(quote)
        quoted = Span(start, start + len(quote))
        for span in spans if start >= 0 else ():
            if quoted.overlaps(span):
                return _confirm_by_quote(evidence, span, STRONG)
    return replace(evidence, stance=_SILENT)


def _is_near(reading: str, passage: Passage, span: Span) -> bool:
    """Whether a quote has most words of a reading, with the title and two sentences before it.

    Without this, 4 quotes more would be wrong, and 1 more right, for 160 claims. Across languages,
    words tell nothing of the topic.
    """
    text = passage.text
    before = [sentence for sentence in words.sentences_of(text) if sentence.end <= span.start][-2:]
    context = text[before[0].start if before else span.start : span.end]
    missing = words.missing_words(reading, f"{passage.about}\n{context}")
    return missing <= ELSEWHERE or not common(reading, text)
