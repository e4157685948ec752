"""How far a passage confirms a reading, by a local verifier.

What the verifier says of a passage counts only if one of its sentences, or two neighbours, confirm
the reading alone. Where a document says nothing so, its sentences are read alone.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from pincite.judgement import decide
from pincite.judgement.confirmation import MEDIUM, STRONG
from pincite.judgement.contradictions import contrary_by_word, discard_rebutted
from pincite.llm.calls import Progress
from pincite.models.verifier import RoutedVerifier
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
    Witness,
    WitnessKind,
    sigmoid,
)
from pincite.verbs.check.quotes import (
    SHORTEST_QUOTE,
    candidate_sentences,
    lacks_a_finding,
    may_confirm,
    near_spans,
    neighbours,
)
from pincite.verbs.check.report import Reading

_CHUNK = 16  # pairs between two checks for Ctrl-C: about a second of verifier time on two cores
# Probability of support from which a passage confirms a reading; chosen on the open half of
# tests/cases/gate. `decide.THRESHOLD` is enough if an examined model agrees
# (research/check-and-ask.md).
CONFIRMED_FROM = 0.5
# A document missing more than this share of the reading's words is about something else: its
# refutations do not count ("the mill closed" refutes nothing about a bridge). A sentence missing
# more than it, title included, must confirm CLEARLY.
ELSEWHERE = 0.6
# By how much a lone sentence's support must exceed its refutation. Below CLEARLY, the
# passage's degree is capped at STRONG (research/check-and-ask.md).
LEAST_MARGIN, CLEARLY = 0.0, 0.2
# The same for what confirms weakly: a sentence of a passage of less than CONFIRMED_FROM, and two
# neighbours of TOGETHER_FROM or more, unless a SURE one's lack at most UNSTATED of the words.
PROBABLY, TOGETHER, TOGETHER_FROM = 0.05, 0.1, 0.4
SURE, UNSTATED = 0.6, 0.35
# By how much the refutation of a lone sentence that says the opposite must exceed its support.
OPPOSED_FROM = 0.2

_Pair: TypeAlias = tuple[Reading, Passage]


class _Document(NamedTuple):
    """What the pairs of one reading and one document share."""

    reading: str
    doc_id: str


@dataclass(frozen=True, slots=True)
class _Excerpt:
    """One or two sentences of a pair's passage, which are judged without the others."""

    n: int  # of the pair
    span: Span


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
        for n, margins in self._read_alone(pairs, confirming, candidate_sentences).items():
            result[n] = confirm_by_sentence(pairs[n][0].text, evidence[n], margins)
        undecided = [
            n
            for n in confirming
            if evidence[n].prob_supported >= TOGETHER_FROM and not _confirms(result[n])
        ]
        for n, margins in self._read_alone(pairs, undecided, neighbours).items():
            result[n] = confirm_by_neighbours(pairs[n][0].text, evidence[n], margins)
        return result

    def _read_alone(
        self,
        pairs: Sequence[_Pair],
        places: Sequence[int],
        spans_of: Callable[[str, Passage], list[Span]],
    ) -> dict[int, dict[Span, float]]:
        """Return, for some of the pairs, by how much each excerpt supports its reading."""
        excerpts = [
            _Excerpt(n, span) for n in places for span in spans_of(pairs[n][0].text, pairs[n][1])
        ]
        margins: dict[int, dict[Span, float]] = {n: {} for n in places}
        read = self._margins([_alone(pairs, excerpt) for excerpt in excerpts])
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
        documents = [_document_of(pair) for pair in pairs]
        decided = {documents[n] for n, judged in enumerate(evidence) if any(judged.stance or ())}
        excerpts = [
            _Excerpt(n, span)
            for n, (reading, passage) in enumerate(pairs)
            if documents[n] not in decided and evidence[n].failed is None
            for span in near_spans(reading.text, passage)
        ]
        alone = [_alone(pairs, excerpt) for excerpt in excerpts]
        read = self.verifier.verify(alone)
        weighed = [
            weigh_alone(claim.text, judged, margin)
            for (claim, _), judged, margin in zip(alone, read, self._margins(alone), strict=True)
        ]
        result = list(evidence)
        for counts in (_confirms, _opposes):
            telling = [
                (excerpt, judged)
                for excerpt, judged in zip(excerpts, weighed, strict=True)
                if counts(judged) and documents[excerpt.n] not in decided
            ]
            for excerpt, judged in telling:
                result[excerpt.n] = replace(
                    evidence[excerpt.n],
                    stance=judged.stance,
                    quote=excerpt.span,
                    witnesses=judged.witnesses,
                )
            decided |= {documents[excerpt.n] for excerpt, _ in telling}
        return result

    def _margins(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[float]:
        """Return by how much the support of each pair exceeds its refutation."""
        if self.reader is None:
            evidence = self.verifier.verify(pairs)
            return [judged.prob_supported - judged.prob_refuted for judged in evidence]
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(pairs).tolist())
        return [supported - (1 - supported) * refuted for supported, refuted in odds]


def _alone(pairs: Sequence[_Pair], excerpt: _Excerpt) -> tuple[Claim, Passage]:
    reading, passage = pairs[excerpt.n]
    return Claim.alone(reading.text), replace(passage, text=excerpt.span.of(passage.text))


def _document_of(pair: _Pair) -> _Document:
    return _Document(pair[0].text, pair[1].doc_id)


def _by_document(pairs: Sequence[_Pair]) -> dict[_Document, list[int]]:
    """Group the indices of the pairs by reading and document."""
    places = defaultdict[_Document, list[int]](list)
    for n, pair in enumerate(pairs):
        places[_document_of(pair)].append(n)
    return places


def _confirms(evidence: Evidence) -> bool:
    return evidence.stance is not None and evidence.stance[0] > 0


def _opposes(evidence: Evidence) -> bool:
    return evidence.stance is not None and evidence.stance[1] > 0


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
        lacking = [n for n in confirming if _lacks_figure(document.reading, evidence[n])]
        if len(lacking) < len(confirming):
            for n in lacking:
                result[n] = replace(evidence[n], stance=(0.0, 0.0))
    return result


def _lacks_figure(reading: str, evidence: Evidence) -> bool:
    return bool(tables.unstated_values(reading, f"{evidence.passage.about}\n{evidence.quoted}"))


def with_stance(
    reading: str, evidence: Evidence, document: str, of_document: Sequence[Evidence] = ()
) -> Evidence:
    """Return a verifier's evidence with how far it counts for and against a reading.

    A document that does not state a number or date of the reading does not confirm it. `document`:
    all the text found of it; `of_document`: the evidence from each of its passages.
    """
    evidence = discard_rebutted(Claim.alone(reading), evidence, document)
    if _refutes(reading, evidence, document, of_document):
        return replace(evidence, stance=(0.0, evidence.prob_refuted))
    is_supported = evidence.prob_supported >= decide.THRESHOLD
    if evidence.contradiction or (is_supported and tables.unstated_values(reading, document)):
        is_supported = False  # as in `decide.label_of`
    supported = evidence.prob_supported if is_supported else 0.0
    return replace(decide.without(evidence, WitnessKind.NETWORK), stance=(supported, 0.0))


def _refutes(
    reading: str, evidence: Evidence, document: str, of_document: Sequence[Evidence]
) -> bool:
    """Whether a refutation counts: it is of the same topic, and states a finding."""
    if not decide.refutes(evidence) or _is_elsewhere(reading, document):
        return False
    if not decide.counts_as_refutation(evidence, of_document):
        return False
    is_by_rule = evidence.contradiction is not None
    return is_by_rule or not evidence.quote or not lacks_a_finding(reading, evidence.quoted)


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
        return replace(evidence, stance=(0.0, min(-margin, MEDIUM)), witnesses=against)
    supported = 0.0
    is_one = len(words.sentences_of(text)) == 1  # of two, the first may be of another subject
    is_likely = evidence.prob_supported >= CONFIRMED_FROM and margin >= PROBABLY
    if is_one and is_likely and not against and may_confirm(reading, passage, Span(0, len(text))):
        supported = min(evidence.prob_supported, MEDIUM)
    return replace(evidence, stance=(supported, 0.0), witnesses=())


def _contrary(reading: str, evidence: Evidence) -> tuple[Witness, ...]:
    """Return what shows that sentences contradict a reading: a rule, or the opposite word.

    The network alone counts only of sentences that have all words.
    """
    text = f"{evidence.passage.about}\n{evidence.passage.text}"
    by_rule = tuple(w for w in evidence.witnesses if w.kind is not WitnessKind.NETWORK)
    if by_rule or tables.unstated_values(reading, text):
        return by_rule if decide.refutes(evidence) else ()
    own = set(words.roots(reading))
    has_all = len(own) >= SHORTEST_QUOTE and own <= set(words.roots(text))
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
    passage = evidence.passage
    near = [s for s in margins if margins[s] >= CLEARLY or _is_near(reading, passage, s)]
    best = _surest(near, margins)
    if best is None:
        return _confirm_as_quoted_by_model(evidence, margins)
    if evidence.prob_supported >= CONFIRMED_FROM or decide.supporting_opinion(evidence):
        return _confirm(evidence, best, STRONG if margins[best] < CLEARLY else 1.0)
    return _confirm_weakly(evidence, best, margins[best] >= PROBABLY)


def confirm_by_neighbours(
    reading: str, evidence: Evidence, margins: Mapping[Span, float]
) -> Evidence:
    """Quote the two neighbours that state the reading best, as `confirm_by_sentence`."""
    passage = evidence.passage
    best = _surest([s for s in margins if _is_near(reading, passage, s)], margins)
    if best is None:
        return _confirm_as_quoted_by_model(evidence, margins)
    quote = f"{passage.about}\n{best.of(passage.text)}"
    lacks = words.missing_words(reading, quote) > UNSTATED or tables.unstated_values(reading, quote)
    least = TOGETHER if lacks or evidence.prob_supported < SURE else LEAST_MARGIN
    return _confirm_weakly(evidence, best, margins[best] >= least)


def _surest(spans: Sequence[Span], margins: Mapping[Span, float]) -> Span | None:
    best = max(spans, key=lambda span: margins[span], default=None)
    return None if best is None or margins[best] < LEAST_MARGIN else best


def _confirm(evidence: Evidence, quote: Span | None, most: float) -> Evidence:
    """Quote a sentence, and let the passage confirm at most so much; nothing without a quote."""
    supported, refuted = evidence.stance or (evidence.prob_supported, evidence.prob_refuted)
    if quote is None or not most:
        return replace(evidence, stance=(0.0, refuted))
    return replace(evidence, stance=(min(supported, most), refuted), quote=quote)


def _confirm_weakly(evidence: Evidence, quote: Span, is_clear: bool) -> Evidence:
    is_row = bool(tables.rows_of(quote.of(evidence.passage.text)))
    return _confirm(evidence, quote, MEDIUM if is_clear and not is_row else 0.0)


def _confirm_as_quoted_by_model(evidence: Evidence, spans: Mapping[Span, float]) -> Evidence:
    """Quote the first sentence that a trusted model, which read its context, quotes in support."""
    opinion, text = decide.supporting_opinion(evidence), evidence.passage.text
    for quote in opinion.quotes if opinion else ():
        start = text.find(quote)
        quoted = Span(start, start + len(quote))
        for span in spans if start >= 0 else ():
            if quoted.overlaps(span):
                return _confirm(evidence, span, STRONG)
    return _confirm(evidence, None, 0.0)


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
