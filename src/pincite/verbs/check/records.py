"""The records of `check`: a statement, its readings, and what a knowledge base says of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from pincite import containment
from pincite.completions import Usage
from pincite.judgement.confirmation import (
    Outcome,
    ReadingOrigin,
    StatementType,
    Weighed,
    Weight,
)
from pincite.notes import Note, texts
from pincite.types import Exclusion, Failed, Passage, Span, Unchecked

T = TypeVar("T")
STOPPED = Failed("stopped", "the run was stopped")


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand a statement, with its negation."""

    reading_id: str  # "r1", "r2", …: unique within a check
    text: str
    kind: StatementType
    negation: str = ""  # empty where nobody could word one
    origin: ReadingOrigin = "statement"  # who worded it: the statement itself, a rule, …


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The readings of one statement, who found them, and what of that went wrong."""

    readings: tuple[Reading, ...]
    by: str  # "rules", "user", or the model
    failures: tuple[Failed, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """A reading with its evidence, each passage alone and all together."""

    reading: Reading
    items: tuple[Weighed, ...]  # as they were found, best first
    weight: Weight
    as_of: tuple[
        tuple[str, Weight], ...
    ] = ()  # (year, what the texts up to then say), oldest first
    unread: tuple[Unchecked, ...] = ()  # pages of the web that could not be read: no evidence
    excluded: tuple[Exclusion, ...] = ()  # pages of the web that may not be used


@dataclass(frozen=True, slots=True)
class Check:
    """A statement with all its readings. Each is judged on its own; there is no overall verdict."""

    statement: str
    results: tuple[ReadingResult, ...]
    interpreted_by: str  # "rules", "user", or the model
    failures: tuple[Failed, ...] = ()  # of the interpretation

    @property
    def complete(self) -> bool:
        """Whether everything that was found was judged."""
        failed = [r.weight.n_failed or r.weight.outcome is Outcome.FAILED for r in self.results]
        return not self.failures and not any(failed)

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C ended it."""
        outcomes = [item.outcome for result in self.results for item in result.items]
        failed = [each for each in (*self.failures, *outcomes) if isinstance(each, Failed)]
        return any(each.step == "stopped" for each in failed)


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
    def stopped(self) -> bool:
        """Whether Ctrl-C ended the run."""
        return len(self.checks) < self.n_statements or any(c.stopped for c in self.checks)

    @property
    def complete(self) -> bool:
        """Whether every statement was checked, and nothing failed."""
        return len(self.checks) == self.n_statements and all(c.complete for c in self.checks)


def failed(reading: Reading) -> ReadingResult:
    """A reading that could not be judged at all."""
    return ReadingResult(reading, (), Weight(outcome=Outcome.FAILED, doc=None, n_texts=0))


def shown(render: Callable[[Check], T], check: Check) -> T:
    """What `render` makes of a check; passages and readings for which it raises are failures."""

    def without_culprits(why: Failed) -> T:
        results = tuple(_showable(render, check, result, why) for result in check.results)
        return render(replace(check, results=results, failures=(*check.failures, why)))

    def nothing(why: Failed) -> T:
        return render(Check(check.statement, (), check.interpreted_by, (why,)))

    return containment.attempted(
        lambda: render(check),
        lambda why: containment.attempted(lambda: without_culprits(why), nothing),
    )


def _showable(
    render: Callable[[Check], T], check: Check, result: ReadingResult, why: Failed
) -> ReadingResult:
    """The result without those of its passages, or all of it, for which `render` raises."""

    def raises(one: ReadingResult) -> bool:
        try:
            render(replace(check, results=(one,)))
        except Exception:  # the first one is in the log
            return True
        return False

    if not raises(result):
        return result
    plain = replace(result, weight=replace(result.weight, contradictions=()), as_of=())
    items = [(item, raises(replace(plain, items=(item,)))) for item in result.items]
    kept = replace(result, items=tuple(_blank(i, why) if bad else i for i, bad in items))
    return failed(result.reading) if raises(kept) else kept


def _blank(item: Weighed, why: Failed) -> Weighed:
    """The place of a passage that cannot be shown."""
    passage = Passage(item.passage.doc_id, str(item.passage.url), "", "", Span(0, 0))
    return Weighed(passage=passage, outcome=why, text_id=item.text_id)
