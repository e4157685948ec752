"""From degrees of confirmation to a result per reading: EvidenceSeeker's rule, extended.

The rule (“Confirmation aggregation”) is the mean of DOC(D, I) over the documents with |DOC| > 0.2,
mapped to seven levels. Here, missing evidence, balanced evidence and a failed judge
are separate results, each text counts once, and strong contradictions are listed beside the mean.

A confirmation by the verifier needs a sentence that states the reading when read alone; that
sentence is the quote. The result is strong only if two documents have such a sentence, or one
states the reading nearly word for word; what the one it is about publishes, and what is ascribed
to a speaker, does not make it strong.
"""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pincite.judgement import aggregation, decide
from pincite.judgement.attribution import swapped
from pincite.judgement.provenance import UNKNOWN, Source
from pincite.text import antonyms, tables, words
from pincite.text.finite import finite_verb
from pincite.text.languages import common
from pincite.text.sentences import is_question, n_words
from pincite.types import (
    INLINE,
    Claim,
    CopyKind,
    Doc,
    Evidence,
    Failed,
    Passage,
    Span,
    WitnessKind,
    written,
)

# Probability of support from which a passage confirms a reading; below it, and without a
# contradiction, it is neutral. Chosen on the open half of tests/cases/gate.
CONFIRMED_FROM = 0.5
# A document missing more than this share of the reading's words is about something else: its
# refutations do not count ("the mill closed" refutes nothing about a bridge). A sentence missing
# more than it, title included, must confirm CLEARLY.
ELSEWHERE = 0.6
# Sentences of a passage to judge alone: those that share most with the reading. On half of
# SciFact dev, six confirm all 36 true claims that judging every sentence confirms; four, 33.
SENTENCES, SENTENCES_ACROSS = 6, 12  # in another language than the reading's: words rank none
# By how much a lone sentence's support must exceed its refutation. Below CLEARLY, the
# passage's degree is capped at STRONG (research/check-and-ask.md).
LEAST_MARGIN, CLEARLY = 0.0, 0.2
# Share of the reading's content words that a sentence on the same topic may lack. With "fell" for
# "rose", it does not confirm (SciFact train: 18 of 113 contradicting, 3 of 202 supporting ones).
SAME_TOPIC = 0.5
NEAR_VERBATIM = 0.1  # share of the reading's content words that its sentence may lack
THRESHOLD = 0.2  # a document with |DOC| at or below it is neutral (EvidenceSeeker)
# Bounds of the levels (EvidenceSeeker): a degree on a bound gets the weaker level.
WEAK, MEDIUM, STRONG = 0.2, 0.4, 0.6
SHORTEST_QUOTE = 4  # words; fewer state nothing ("High Court"), unless one is a figure
# Decimals kept: 0.9 - 0.7 is 0.20000000000000007 in binary, which must not exceed 0.2.
_DECIMALS = 9
RESAMPLES, _SEED = 2000, 13  # of the bootstrap; more change the bounds by less than 0.01
COVERAGE = 0.95


class StatementType(StrEnum):
    """What kind of statement a reading is (EvidenceSeeker, “Preprocessor”)."""

    DESCRIPTIVE = "descriptive"  # says how things are
    ASCRIPTIVE = "ascriptive"  # says that someone says, believes or denies something
    NORMATIVE = "normative"  # says how things should be, or values them


ReadingOrigin = Literal["statement", "rule", "model", "user"]


@dataclass(frozen=True, slots=True)
class Unjudged(Failed):
    """A passage that could not be judged, and why."""

    passage: Passage = field(metadata=INLINE)


Side = Literal["for", "against", "silent", "failed"]
Degree: TypeAlias = Annotated[float, Doc("from -1 to 1")]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A passage that was found for a reading: what it says, and where it comes from."""

    outcome: Evidence | Unjudged = field(metadata=INLINE)
    text_id: Annotated[int, Doc("equal for passages of one document or of copies")] = 0
    side: Annotated[Side, Doc("silent: neither for nor against")] = "silent"
    published: str | None = None
    meta: Annotated[Mapping[str, str], Doc("author, publisher, licence, …")] = field(
        default_factory=dict
    )
    copies: Annotated[tuple[str, ...], Doc("addresses of pages with the same words")] = ()
    corpus: Annotated[str, Doc("that has it; empty where only one was searched")] = ""
    origin: Annotated[CopyKind, Doc("corpus, or live: the open web")] = CopyKind.CORPUS
    source: Annotated[Source, Doc("who says it")] = UNKNOWN

    @property
    def passage(self) -> Passage:
        return self.outcome.passage

    @property
    def quoted(self) -> str:
        return "" if isinstance(self.outcome, Failed) else self.outcome.quoted

    @property
    @written
    def failed(self) -> Failed | None:
        outcome = self.outcome
        return Failed(outcome.step, outcome.detail) if isinstance(outcome, Failed) else None

    @property
    @written
    def doc(self) -> Annotated[Degree | None, Doc("null if it could not be judged")]:
        return None if isinstance(self.outcome, Failed) else degree(self.outcome)


class Outcome(StrEnum):
    """The result for one reading: EvidenceSeeker's levels, plus the cases they do not cover."""

    STRONG_CONFIRMATION = "strong_confirmation"
    CONFIRMATION = "confirmation"
    WEAK_CONFIRMATION = "weak_confirmation"
    BALANCED = "balanced"  # about equal evidence for and against it
    WEAK_DISCONFIRMATION = "weak_disconfirmation"
    DISCONFIRMATION = "disconfirmation"
    STRONG_DISCONFIRMATION = "strong_disconfirmation"
    NO_EVIDENCE = "no_evidence"  # nothing found is for or against it
    FAILED = "failed"  # what was found could not be judged
    NOT_JUDGED = "not_judged"  # skipped on purpose: readings of its type are ignored


@dataclass(frozen=True, slots=True)
class Weight:
    """The combined verdict of the texts found for a reading."""

    outcome: Outcome
    doc: Annotated[Degree | None, Doc("mean degree of confirmation; null without evidence")]
    n_texts: Annotated[int, Doc("that speak for or against; copies count once")]
    variance: float | None = None  # of their degrees: sum of squares / n_texts
    interval: Annotated[
        tuple[Degree, Degree] | None, Doc("95 % of doc, by bootstrap; null for fewer than two")
    ] = None
    n_silent: int = 0  # texts that are neither for nor against
    n_failed: Annotated[int, Doc("passages that could not be judged")] = 0
    contradictions: Annotated[
        tuple[int, ...], Doc("indices of the items that strongly contradict doc")
    ] = ()

    @property
    @written
    def spread(self) -> float | None:
        return None if self.variance is None else math.sqrt(max(0.0, self.variance))

    @property
    @written
    def level(self) -> Annotated[str | None, Doc("EvidenceSeeker's word for the outcome")]:
        return seed_level(self.outcome)


_LEVELS = tuple(Outcome)[:7]  # strongest confirmation first


def from_answers(
    passage: Passage, prob_reading: float, prob_negation: float, quote: Span | None = None
) -> Evidence:
    """Turn a model's answers on a reading I and its negation into evidence.

    DOC(D, I) = P(first option | I, D) - P(first option | non-I, D) (EvidenceSeeker, “Confirmation
    Analyser”). The first option says that the passage supports the statement. A model may find both
    likely: the excess over 1 is subtracted from both equally, which leaves DOC unchanged.
    """
    supported = min(prob_reading, (1 + prob_reading - prob_negation) / 2)
    refuted = min(prob_negation, (1 - prob_reading + prob_negation) / 2)
    neutral = max(0.0, 1 - supported - refuted)
    score = decide.log_odds(supported)
    if passage.recognised is not None:  # a scan contradicts nothing
        neutral, refuted = neutral + refuted, 0.0
    return Evidence(passage, supported, refuted, neutral, score, quote)


class SentenceScore(NamedTuple):
    """A sentence of a passage, with how likely it supports and refutes a reading by itself."""

    span: Span  # in the passage's text
    supported: float
    refuted: float


# Words for what is untrue, not yet so, or only alleged. A sentence with one that the
# reading lacks ("a proposed tunnel", "acquitted of murder", "it is a myth that") says something
# else.
_NOT_SO = re.compile(
    r"\b(?:myths?|misconceptions?|hoax(?:es)?|rumou?r(?:s|ed)?|untrue|debunk\w*|falsely|wrongly"
    r"|mistakenly|false(?= (?:claim|belie|stor|report))|contrary to|alleg\w+|proposed|proposals?"
    r"|planned|plans|acquitt\w+|accus\w+|suspected|would|suppos(?:ed|edly)|(?:claim|believ)(?:s|ed)"
    r" (?:that|to)|(?:was|were|been) (?:lost|defeated|vetoed|withdrawn|voted down|overturned))\b",
    re.IGNORECASE,
)
_AS_PLANNED = re.compile(r"\b(?:than|as) (?:\w+ )?(?:planned|proposed|suspected)\b", re.IGNORECASE)
# What is sought, done or unknown is no finding, unless another clause follows ("Although the cause
# is unclear, …"). Of SciFact's sentences 6.1 % match, of its evidence in train 0.6 %.
_NO_FINDING = re.compile(
    r"\W*(?-i:OBJECTIVES?|AIMS?|PURPOSE|DESIGN|SETTING|METHODS?|PARTICIPANTS|PATIENTS"
    r"|INTERVENTIONS?|MAIN OUTCOME|DATA SOURCES?)\b"
    r"|.*\b(?:this|the present|our) (?:study|trial|review|paper|article|analysis|work|survey)"
    r" (?:aim|address|assesse|compare|describe|discusse|estimate|evaluate|examine|explore|review"
    r"|investigate)(?:s|d|ed)?\b"
    r"|(?!\W*(?:Although|Though|While)\b).*\b(?:little is known"
    r"|(?:is|are|was|were|been|remain\w*) (?:[\w-]+ ){0,3}?(?:unknown|unclear|uncertain|elusive"
    r"|controversial|debated?|disputed|(?:not|poorly|incompletely|little|less) (?:[\w-]+ ){0,2}?"
    r"(?:known|understood|clear|defined|determined|elucidated|established)))\b",
    re.IGNORECASE | re.DOTALL,
)
# Clauses that may be negated while the others are not: "migraine, but not other headaches". Of the
# supporting sentences of SciFact train, 14 % are negated otherwise than their claim; of the clauses
# that share most with it, 10 % (of contradicting ones 29 and 27 %).
_CLAUSES = re.compile(
    r";|,? (?:but|whereas|while|although|though|and not)\b"
    r"|, (?:suggesting|indicating|implying|showing|demonstrating)\b"
)
# Before or after a sentence that is stated only to be denied.
_ANNOUNCES = re.compile(r"\b(?:myths?|misconceptions?|hoax(?:es)?|rumou?rs?|false claims?)\b", re.I)
_DENIES = re.compile(
    r"\W*(?:(?:that|this|it|the (?:claim|story|report|rumou?r)s?) (?:is|was|were|has been)"
    r" (?:\w+ )?(?:false|untrue|wrong|not (?:true|so)|a myth|a hoax|denied|refuted|debunked"
    r"|withdrawn)|false\b|wrong\b|not (?:so|true)\b|no[,.!])",
    re.I,
)


def candidate_sentences(reading: str, passage: Passage) -> list[Span]:
    """Return the sentences of a passage that may confirm a reading, best overlap first.

    Two sentences are read as one if each has details that the other lacks (`words.best_quote`): on
    SciFact dev, this confirms five more true claims and no false one. Headings, questions, denials,
    proposals, and sentences that a neighbour calls a myth are left out.
    """
    text, all_of = passage.text, words.sentences_of(passage.text)
    most = SENTENCES if common(reading, text) else SENTENCES_ACROSS
    spans = [span for span, _ in words.quotable(reading, text)][:most]
    if not spans:  # a title may be the only text
        spans = [span for span in all_of if not is_question(span.of(text))][:SENTENCES]
    both = words.best_quote(reading, text)
    if both and both not in all_of:
        spans.append(both)
    return [span for span in spans if _may_confirm(reading, text, span, all_of)]


def _may_confirm(reading: str, text: str, span: Span, all_spans: Sequence[Span]) -> bool:
    sentence = span.of(text)
    if _differs_in_negation(reading, sentence) or _lacks_a_finding(reading, sentence):
        return False
    if _not_so(sentence) - _not_so(reading):
        return False
    if common(reading, text) == "en" and swapped(reading, sentence, text):
        return False
    same_topic = words.missing_words(reading, sentence) <= SAME_TOPIC
    if same_topic and antonyms.contrasts(reading, sentence):
        return False
    before = max((each for each in all_spans if each.end <= span.start), default=None)
    behind = min((each for each in all_spans if each.start >= span.end), default=None)
    is_denied = (before and _ANNOUNCES.search(before.of(text))) or (
        behind and _DENIES.match(behind.of(text))
    )
    return not is_denied or bool(_ANNOUNCES.search(reading))


def _not_so(text: str) -> set[str]:
    """The words that call something untrue or not yet so; "more than planned" does not."""
    return {match[0].lower() for match in _NOT_SO.finditer(_AS_PLANNED.sub("", text))}


def _differs_in_negation(reading: str, sentence: str) -> bool:
    """Whether only one is negated: of a sentence, the clause that shares most with the reading."""
    negated = words.is_negated(reading)
    clauses = _CLAUSES.split(sentence)
    return max((words.shared(reading, c), words.is_negated(c) != negated) for c in clauses)[1]


def _lacks_a_finding(reading: str, text: str) -> bool:
    """Whether a text has a sentence that states no finding, unlike the reading."""
    spans = words.sentences_of(text)
    return not _NO_FINDING.match(reading) and any(_NO_FINDING.match(s.of(text)) for s in spans)


def confirm_by_sentence(
    reading: str, evidence: Evidence, alone: Sequence[SentenceScore]
) -> Evidence:
    """Quote the sentence of `alone` that states the reading; without one, nothing is confirmed."""
    text, about = evidence.passage.text, evidence.passage.about
    across = not common(reading, text)  # where words tell nothing of the topic

    def is_near(one: SentenceScore) -> bool:  # else 4 wrong quotes, 1 right one for 160 claims
        near = words.missing_words(reading, f"{about}\n{one.span.of(text)}") <= ELSEWHERE
        return near or across or one.supported - one.refuted >= CLEARLY

    found = filter(is_near, alone)
    best = max(found, key=lambda one: one.supported - one.refuted, default=None)
    margin = best.supported - best.refuted if best else LEAST_MARGIN
    supported, refuted = _stance(evidence)
    if best is None or margin < LEAST_MARGIN:
        return replace(evidence, stance=(0.0, refuted))
    if margin < CLEARLY:
        supported = min(supported, STRONG)
    return replace(evidence, stance=(supported, refuted), quote=best.span)


def with_stance(
    reading: str, evidence: Evidence, document: str, of_document: Sequence[Evidence] = ()
) -> Evidence:
    """Return a verifier's evidence with how far it counts for and against a reading.

    A passage that "lacks a detail" has some probability of both, which is evidence of neither. A
    document that does not state a number or date of the reading does not confirm it.

    Args:
        reading: the judged text.
        evidence: what the passage says.
        document: all the text found from the passage's document.
        of_document: the evidence from each passage found in it.
    """
    evidence = aggregation.discard_rebutted(Claim.alone(reading), evidence, document)
    across = not common(reading, document)  # where words tell nothing of the topic
    elsewhere = not across and words.missing_words(reading, document) > ELSEWHERE
    counts = not elsewhere and decide.counts_as_refutation(evidence, of_document)
    if counts and evidence.contradiction is None and evidence.quote:  # read by the network alone
        counts = not _lacks_a_finding(reading, evidence.quote.of(evidence.passage.text))
    against = evidence.prob_refuted if counts and decide.refutes(evidence) else 0.0
    confirms = not against and evidence.prob_supported >= CONFIRMED_FROM
    if evidence.contradiction or (confirms and tables.unstated(reading, document)):
        confirms = False  # as in `decide.label_of`
    supported = evidence.prob_supported if confirms else 0.0
    if not against:
        evidence = decide.without(evidence, WitnessKind.NETWORK)
    return replace(evidence, stance=(supported, against))


def with_sentence_quoted(reading: str, evidence: Evidence) -> Evidence:
    """Replace a quote that states nothing, as a bare name or heading, by the next best sentence."""
    text, quote = evidence.passage.text, evidence.quote
    if quote is None:
        return evidence
    heading, gap, _ = quote.of(text).rpartition("\n\n")
    if gap and not heading.rstrip().endswith((".", "!", "?", "”", '"', ":", "|")):
        quote = Span(quote.start + len(heading) + len(gap), quote.end)
    if _states_nothing(text, quote):
        found = (span for span, share in words.quotable(reading, text) if share > 0)
        quote = next((span for span in found if not _states_nothing(text, span)), None)
    return replace(evidence, quote=quote)


def _states_nothing(text: str, span: Span) -> bool:
    line = span.of(text)
    if "|" in line or any(map(str.isdigit, line)):
        return False
    is_name = all(word[:1].isupper() for word in line.split() if len(word) > 3)
    if n_words(line) < SHORTEST_QUOTE:
        return True
    return (is_name or words.is_heading(text, span)) and not finite_verb(line)


def degree(evidence: Evidence) -> float:
    """Return DOC: how far a passage confirms a reading, -1 … 1."""
    supported, refuted = _stance(evidence)
    return round(supported - refuted, _DECIMALS)


def _stance(evidence: Evidence) -> tuple[float, float]:
    return evidence.stance or (evidence.prob_supported, evidence.prob_refuted)


def level(doc: float) -> Outcome:
    """Return the level of a mean degree; a degree within ±0.2 is balanced."""
    strength = sum(abs(doc) > bound for bound in (WEAK, MEDIUM, STRONG))
    return _LEVELS[3 - (strength if doc > 0 else -strength)]


def rank(outcome: Outcome) -> int | None:
    """Rank from -3 (strong disconfirmation) to 3; None for outcomes that are not levels."""
    return 3 - _LEVELS.index(outcome) if outcome in _LEVELS else None


def seed_level(outcome: Outcome) -> str | None:
    """Return EvidenceSeeker's word, the same for balance and no evidence; None for failures."""
    if outcome in (Outcome.BALANCED, Outcome.NO_EVIDENCE):
        return "inconclusive_confirmation"
    return str(outcome) if outcome in _LEVELS else None


def combine(
    items: Sequence[Weighed], threshold: float = THRESHOLD, *, reading: str = "", each: bool = False
) -> Weight:
    """Combine the passages found for a reading.

    Args:
        items: judged passages; those of one text share a `text_id`.
        threshold: a text with |DOC| at or below it is neutral.
        reading: its text, which a sentence may state nearly word for word.
        each: every passage counts, as in EvidenceSeeker, even several of one text, and one alone
            may confirm strongly.
    """
    degrees = [item.doc for item in items]
    texts: dict[int, list[float]] = {}
    for n, item in enumerate(items):
        if item.doc is not None:
            texts.setdefault(n if each else item.text_id, []).append(item.doc)
    decided = [docs for docs in texts.values() if any(abs(doc) > threshold for doc in docs)]
    speaking = [_vote(docs, threshold) for docs in decided]
    failed = [item.outcome for item in items if isinstance(item.outcome, Failed)]
    known = ("language", "retracted")  # the others could have been evidence
    n_failed = sum(why.step not in known for why in failed)
    n_silent = len(texts) - len(speaking)
    if not speaking:
        # A failed passage may have been evidence: "no evidence" would be a guess.
        outcome = Outcome.FAILED if n_failed else Outcome.NO_EVIDENCE
        return Weight(outcome, None, 0, n_silent=n_silent, n_failed=n_failed)
    doc = round(sum(speaking) / len(speaking), _DECIMALS)
    outcome = level(doc)
    if outcome in (_LEVELS[0], _LEVELS[-1]) and not each:
        firm = [item for item in items if item.source.independent]
        votes = {item.text_id: _vote(texts.get(item.text_id, ()), threshold) for item in firm}
        n_strong = sum(vote * doc > 0 and abs(vote) > STRONG for vote in votes.values())
        if n_strong < 2 and not any(_is_verbatim(reading, item, threshold) for item in firm):
            outcome = Outcome.CONFIRMATION if doc > 0 else Outcome.DISCONFIRMATION
    return Weight(
        outcome=outcome,
        doc=doc,
        n_texts=len(speaking),
        variance=sum((each_doc - doc) ** 2 for each_doc in speaking) / len(speaking),
        interval=interval(speaking),
        n_silent=n_silent,
        n_failed=n_failed,
        contradictions=tuple(_contradictions(degrees, doc)),
    )


def _is_verbatim(reading: str, item: Weighed, threshold: float) -> bool:
    outcome = item.outcome
    if isinstance(outcome, Failed) or not outcome.quote or degree(outcome) <= threshold:
        return False
    quote, text = outcome.quote.of(item.passage.text), item.passage.text
    if quote.strip() == item.passage.title and len(text) > 2 * len(quote):
        return False  # a headline; the text may say something else
    same = words.missing_words(reading, quote) <= NEAR_VERBATIM
    sound = words.is_negated(reading) == words.is_negated(quote)
    return bool(reading) and same and sound and not tables.unstated(reading, quote)


def _vote(docs: Sequence[float], threshold: float) -> float:
    """Combine a document's best passage for and its strongest against; the latter weighs more."""
    against = min(0.0, *docs, 0.0)
    together = max(0.0, *docs, 0.0) + against
    return round(min(0.0, together) if against < -threshold else together, _DECIMALS)


def _contradictions(degrees: Sequence[float | None], doc: float) -> list[int]:
    """Return the indices of strong contradictions of the mean; if it is balanced, on both sides."""
    strong = [(n, d) for n, d in enumerate(degrees) if d is not None and abs(d) > STRONG]
    if abs(doc) > WEAK:
        return [n for n, d in strong if (d > 0) != (doc > 0)]
    return [n for n, _ in strong] if len({d > 0 for _, d in strong}) == 2 else []


def interval(degrees: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % confidence interval of the mean, by seeded bootstrap.

    Percentile method of Efron & Tibshirani 1993 (ch. 13). None for fewer than two degrees.
    """
    n = len(degrees)
    if n < 2:
        return None
    chance = random.Random(_SEED)  # noqa: S311 - no secret
    means = sorted(sum(chance.choices(degrees, k=n)) / n for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1 - COVERAGE) / 2)
    return round(means[tail], 4), round(means[-1 - tail], 4)


def as_of(items: Sequence[Weighed], date: str) -> list[Weighed]:
    """Keep the items published up to a date ("2019"), compared at the coarser precision."""
    return [
        item
        for item in items
        if item.published and item.published[: len(date)] <= date[: len(item.published)]
    ]


def side(doc: float | None, threshold: float = THRESHOLD) -> Side:
    if doc is None:
        return "failed"
    if abs(doc) <= threshold:
        return "silent"
    return "for" if doc > 0 else "against"


def sides(items: Sequence[Weighed]) -> tuple[list[int], list[int]]:
    """Return the indices of the items for and against the reading, strongest first.

    Of overlapping passages that quote the same sentence, only the strongest is listed.
    """
    found: dict[object, tuple[int, float]] = {}  # by document, position and side of the quote
    for n, item in sorted(enumerate(items), key=lambda place: -abs(place[1].doc or 0.0)):
        if item.side in ("for", "against") and isinstance(item.outcome, Evidence):
            quote, doc = item.outcome.quote, degree(item.outcome)
            start = item.passage.span.start + quote.start if quote else None
            key = n if start is None else (item.passage.doc_id, start, doc > 0)
            found.setdefault(key, (n, doc))
    listed = list(found.values())
    return [n for n, doc in listed if doc > 0], [n for n, doc in listed if doc < 0]


def nearest(reading: str, items: Sequence[Weighed]) -> list[int]:
    """Return the passages of neutral documents, the nearest to the reading first.

    The network's probability and the words shared count alike.
    """
    deciding = {item.passage.doc_id for item in items if item.side in ("for", "against")}

    def nearness(evidence: Evidence) -> float:
        likely = max(evidence.prob_supported, evidence.prob_refuted)
        source = f"{evidence.passage.about}\n{evidence.passage.text}"
        return likely + 1.0 - words.missing_words(reading, source)

    near = {
        n: nearness(item.outcome)
        for n, item in enumerate(items)
        if isinstance(item.outcome, Evidence) and item.passage.doc_id not in deciding
    }
    return sorted(near, key=lambda n: (-near[n], n))
