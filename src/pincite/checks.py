"""The vocabulary of `check`: a statement, its readings, and what a knowledge base says of each.

Beside `types`, and like it: frozen, complete when constructed, and known to every room.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pincite.notes import Note, texts
from pincite.types import Passage, Span


class StatementType(StrEnum):
    """What kind of statement a reading is (EvidenceSeeker, “Preprocessor”)."""

    DESCRIPTIVE = "descriptive"  # says how things are
    ASCRIPTIVE = "ascriptive"  # says that somebody says, believes, denies something
    NORMATIVE = "normative"  # says how things should be, or values them


ReadingOrigin = Literal["statement", "rule", "model", "user"]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand a statement, with its negation."""

    reading_id: str  # "r1", "r2", …: unique within a check
    text: str
    kind: StatementType
    negation: str = ""  # empty where nobody could word one
    origin: ReadingOrigin = "statement"  # who worded it: the statement itself, a rule, …


FailedStep = Literal[
    "reply", "server", "budget", "stopped", "source", "language", "negation", "statement"
]


@dataclass(frozen=True, slots=True)
class Failed:
    """Something that could not be done, and why: a result that counts neither for nor against."""

    step: FailedStep
    detail: str


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The readings of one statement, who found them, and what of that went wrong."""

    readings: tuple[Reading, ...]
    by: str  # "rules", "user", or the model
    failures: tuple[Failed, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What one passage says about one reading: the two probabilities that DOC is made of.

    DOC(D, I) = P(first option | I, D) - P(first option | non-I, D) (EvidenceSeeker, “Confirmation
    Analyser”), where the first option says that the passage supports the statement. Of a local
    verifier the second is the probability that the passage refutes the reading.
    """

    prob_reading: float
    prob_negation: float
    quote: Span | None = None  # in the passage's text
    reasons_coded: tuple[Note, ...] = ()
    analysis: str = ""  # what a model wrote before it chose; empty of a verifier

    @property
    def reasons(self) -> tuple[str, ...]:
        """In English."""
        return texts(self.reasons_coded)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A passage that was found for a reading, with what it says and where it comes from."""

    passage: Passage
    outcome: Judged | Failed
    text_id: int  # equal for windows that overlap: they count once
    published: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)  # author, publisher, licence, …
    copies: tuple[str, ...] = ()  # addresses of texts that say the same words


class Outcome(StrEnum):
    """The result for one reading: the seed's levels, and what they leave out."""

    STRONG_CONFIRMATION = "strong_confirmation"
    CONFIRMATION = "confirmation"
    WEAK_CONFIRMATION = "weak_confirmation"
    BALANCED = "balanced"  # texts speak for and against it about as much
    WEAK_DISCONFIRMATION = "weak_disconfirmation"
    DISCONFIRMATION = "disconfirmation"
    STRONG_DISCONFIRMATION = "strong_disconfirmation"
    NO_EVIDENCE = "no_evidence"  # nothing was found that speaks for or against it
    FAILED = "failed"  # what was found could not be judged
    NOT_JUDGED = "not_judged"  # left alone on purpose: its type is to be ignored


@dataclass(frozen=True, slots=True)
class Weight:
    """What the texts found for a reading say together."""

    outcome: Outcome
    doc: float | None  # mean degree of confirmation, -1 … 1; None without evidence
    n_texts: int  # that speak for or against it; copies and overlapping windows count once
    variance: float | None = None  # of their degrees: sum of squares / n_texts
    interval: tuple[float, float] | None = None  # of `doc`, by bootstrap; None of fewer than two
    n_silent: int = 0  # texts that say neither
    n_failed: int = 0  # passages that could not be judged
    contradictions: tuple[int, ...] = ()  # places in `items` of what strongly says otherwise


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """A reading with its evidence, each passage alone and all together."""

    reading: Reading
    items: tuple[Weighed, ...]  # as they were found, best first
    weight: Weight
    as_of: tuple[
        tuple[str, Weight], ...
    ] = ()  # (year, what the texts up to then say), oldest first


@dataclass(frozen=True, slots=True)
class Check:
    """A statement with all its readings. There is no verdict over them: each stands alone."""

    statement: str
    results: tuple[ReadingResult, ...]
    interpreted_by: str  # "rules", "user", or the model
    failures: tuple[Failed, ...] = ()  # of the interpretation

    @property
    def complete(self) -> bool:
        """Whether everything that was found was judged."""
        return not self.failures and not any(r.weight.n_failed for r in self.results)

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C ended it."""
        outcomes = [item.outcome for result in self.results for item in result.items]
        failed = [each for each in (*self.failures, *outcomes) if isinstance(each, Failed)]
        return any(each.step == "stopped" for each in failed)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run asked of language models."""

    n_calls: int = 0
    n_failed: int = 0  # calls without a reply
    n_unreadable: int = 0  # replies that did not say what was asked
    n_reused: int = 0  # replies taken from an earlier trace
    n_prompt_tokens: int = 0
    n_reply_tokens: int = 0
    cost: float = 0.0  # in the currency of the prices that were set
    seconds: float = 0.0  # of the whole run


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The checks of one run, with all that is needed to repeat them."""

    checks: tuple[Check, ...]
    n_statements: int  # more than `checks` if the run was stopped
    usage: Usage
    warnings_coded: tuple[Note, ...]
    settings: Mapping[str, str | float | int | bool | None]
    versions: Mapping[str, str]  # pincite, judge, encoder, corpus, prompts
    created: str  # ISO timestamp, UTC

    @property
    def warnings(self) -> tuple[str, ...]:
        """In English."""
        return texts(self.warnings_coded)

    @property
    def complete(self) -> bool:
        """Whether every statement was checked, and nothing failed."""
        return len(self.checks) == self.n_statements and all(c.complete for c in self.checks)
