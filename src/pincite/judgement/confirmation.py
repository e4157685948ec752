"""From degrees of confirmation to a result per reading: EvidenceSeeker's rule, extended.

The rule (“Confirmation aggregation”) is the mean of DOC(D, I) over the documents with |DOC| > 0.2,
mapped to seven levels. Here, missing evidence, balanced evidence and a failed judge
are separate results, each text counts once, and strong contradictions are listed beside the mean.

The result is strong only if two documents confirm, or one states the reading nearly word for word;
what the one it is about publishes, and what is ascribed to a speaker, does not make it strong.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pincite.judgement import decide
from pincite.judgement.decide import LEAST_DEGREE
from pincite.judgement.provenance import UNKNOWN, Source
from pincite.text import tables, words
from pincite.types import INLINE, CopyKind, Doc, Evidence, Failed, Passage, Span, written

# Share of the reading's content words that a sentence on the same topic may lack. With "fell" for
# "rose", it does not confirm (SciFact train: 18 of 113 contradicting, 3 of 202 supporting ones).
SAME_TOPIC = 0.5
NEAR_VERBATIM = 0.1  # share of the reading's content words that its sentence may lack
# Bounds of the levels (EvidenceSeeker): a degree on a bound gets the weaker level.
WEAK, MEDIUM, STRONG = 0.2, 0.4, 0.6
# Decimals kept: 0.9 - 0.7 is 0.20000000000000007 in binary, which must not exceed 0.2.
_DECIMALS = 9
# Why a passage failed that would have been no evidence either; the others could have been some.
_NO_EVIDENCE = ("language", "retracted")


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
    NOT_JUDGED = "not_judged"  # on purpose: of an ignored type, or of an unknown speaker


@dataclass(frozen=True, slots=True)
class Weight:
    """The combined verdict of the texts found for a reading."""

    outcome: Outcome
    doc: Annotated[Degree | None, Doc("mean degree of confirmation; null without evidence")]
    n_texts: Annotated[int, Doc("that speak for or against; copies count once")]
    variance: float | None = None  # of their degrees: sum of squares / n_texts
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

    @property
    def is_capped(self) -> bool:
        """Whether the degree is strong by EvidenceSeeker's bound, but too few documents show it."""
        return self.doc is not None and level(self.doc) is not self.outcome


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


def degree(evidence: Evidence) -> float:
    """Return DOC: how far a passage confirms a reading, -1 … 1."""
    supported, refuted = evidence.stance or (evidence.prob_supported, evidence.prob_refuted)
    return round(supported - refuted, _DECIMALS)


def level(doc: float) -> Outcome:
    """Return the level of a mean degree; a degree within ±0.2 is balanced."""
    strength = sum(abs(doc) > bound for bound in (WEAK, MEDIUM, STRONG))
    return _LEVELS[3 - strength] if doc > 0 else _LEVELS[3 + strength]


def rank(outcome: Outcome) -> int | None:
    """Rank from -3 (strong disconfirmation) to 3; None for outcomes that are not levels."""
    return 3 - _LEVELS.index(outcome) if outcome in _LEVELS else None


def seed_level(outcome: Outcome) -> str | None:
    """Return EvidenceSeeker's word, the same for balance and no evidence; None for failures."""
    if outcome in (Outcome.BALANCED, Outcome.NO_EVIDENCE):
        return "inconclusive_confirmation"
    return str(outcome) if outcome in _LEVELS else None


def combine(
    items: Sequence[Weighed],
    threshold: float = LEAST_DEGREE,
    *,
    reading: str = "",
    count_copies: bool = False,
) -> Weight:
    """Combine the passages found for a reading.

    Args:
        items: judged passages; those of one text share a `text_id`.
        threshold: a text with |DOC| at or below it is neutral.
        reading: its text, which a sentence may state nearly word for word.
        count_copies: every passage counts, as in EvidenceSeeker, even several of one text, and one
            alone may confirm strongly.
    """
    texts = defaultdict[int, list[float]](list)
    for n, item in enumerate(items):
        if item.doc is not None:
            texts[n if count_copies else item.text_id].append(item.doc)
    votes = {text_id: _vote(docs, threshold) for text_id, docs in texts.items()}
    speaking = [vote for text, vote in votes.items() if max(map(abs, texts[text])) > threshold]
    failures = [item.outcome.step for item in items if isinstance(item.outcome, Failed)]
    n_failed = sum(step not in _NO_EVIDENCE for step in failures)
    n_silent = len(texts) - len(speaking)
    if not speaking:
        # A failed passage may have been evidence: "no evidence" would be a guess.
        outcome = Outcome.FAILED if n_failed else Outcome.NO_EVIDENCE
        return Weight(outcome, None, 0, n_silent=n_silent, n_failed=n_failed)
    doc = round(sum(speaking) / len(speaking), _DECIMALS)
    outcome = level(doc)
    if outcome in (_LEVELS[0], _LEVELS[-1]) and not count_copies:
        independent = [item for item in items if item.source.independent]
        of_texts = [votes.get(text_id, 0.0) for text_id in {item.text_id for item in independent}]
        n_strong = sum(vote * doc > 0 and abs(vote) > STRONG for vote in of_texts)
        is_verbatim = any(_is_verbatim(reading, item, threshold) for item in independent)
        if n_strong < 2 and not is_verbatim:
            outcome = Outcome.CONFIRMATION if doc > 0 else Outcome.DISCONFIRMATION
    return Weight(
        outcome=outcome,
        doc=doc,
        n_texts=len(speaking),
        variance=sum((vote - doc) ** 2 for vote in speaking) / len(speaking),
        n_silent=n_silent,
        n_failed=n_failed,
        contradictions=_contradictions([item.doc for item in items], doc),
    )


def _is_verbatim(reading: str, item: Weighed, threshold: float) -> bool:
    """Whether a passage confirms a reading, and its quote states it nearly word for word."""
    quote, text = item.quoted, item.passage.text
    if not reading or not quote or (item.doc or 0.0) <= threshold:
        return False
    if quote.strip() == item.passage.title and len(text) > 2 * len(quote):
        return False  # a headline; the text may say something else
    is_same = words.missing_words(reading, quote) <= NEAR_VERBATIM
    is_alike = words.is_negated(reading) == words.is_negated(quote)
    return is_same and is_alike and not tables.unstated_values(reading, quote)


def _vote(docs: Sequence[float], threshold: float) -> float:
    """Combine a document's best passage for and its strongest against; the latter weighs more."""
    against = min([0.0, *docs])
    together = max([0.0, *docs]) + against
    return round(min(0.0, together) if against < -threshold else together, _DECIMALS)


def _contradictions(degrees: Sequence[float | None], doc: float) -> tuple[int, ...]:
    """Return the indices of strong contradictions of the mean; if it is balanced, on both sides."""
    strong = {n: d > 0 for n, d in enumerate(degrees) if d is not None and abs(d) > STRONG}
    if abs(doc) > WEAK:
        return tuple(n for n, is_for in strong.items() if is_for != (doc > 0))
    return tuple(strong) if len({*strong.values()}) == 2 else ()


def side(doc: float | None, threshold: float = LEAST_DEGREE) -> Side:
    if doc is None:
        return "failed"
    if abs(doc) <= threshold:
        return "silent"
    return "for" if doc > 0 else "against"


def sides(items: Sequence[Weighed]) -> tuple[list[int], list[int]]:
    """Return the indices of the items for and against the reading, strongest first.

    Of overlapping passages that quote the same sentence, only the strongest is listed.
    """
    indices: dict[Side, list[int]] = {"for": [], "against": []}
    quoted = set[tuple[str, int, Side]]()
    for n in sorted(range(len(items)), key=lambda n: -abs(items[n].doc or 0.0)):
        item, outcome = items[n], items[n].outcome
        if item.side not in indices or isinstance(outcome, Failed):
            continue
        if outcome.quote:
            start = item.passage.span.start + outcome.quote.start
            if (item.passage.doc_id, start, item.side) in quoted:
                continue
            quoted.add((item.passage.doc_id, start, item.side))
        indices[item.side].append(n)
    return indices["for"], indices["against"]


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
