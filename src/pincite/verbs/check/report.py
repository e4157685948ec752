"""The report of `check` and its JSON."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from pincite import codec, errors
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, ReadingOrigin, Unjudged, Weighed, Weight
from pincite.judgement.decide import LEAST_DEGREE
from pincite.notes import IN_ENGLISH, Language, Note
from pincite.protocols import Usage
from pincite.text.words import missing_words
from pincite.types import (
    INLINE,
    Doc,
    Exclusion,
    Failed,
    Passage,
    Span,
    StatementType,
    Unchecked,
    json_key,
    written,
)
from pincite.verbs.check import wording
from pincite.verbs.check.spoken import UNKNOWN, Occasion

T = TypeVar("T")
MOST_NEAREST = 3  # neutral quotes shown if nothing else is
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y)\b")  # "we" may be all of us
MOST_LACKING = 0.75  # share of the reading's words that the nearest quote may lack


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a statement, with its negation."""

    reading_id: str  # "r1", "r2", …: unique within a check
    text: str
    kind: StatementType
    negation: Annotated[str, Doc("empty if none could be formed")] = ""
    origin: Annotated[ReadingOrigin, Doc("the statement itself, a rule, …")] = "statement"
    parts: Annotated[tuple[str, ...], Doc("texts of the readings that it joins")] = ()
    lacks: Annotated[tuple[str, ...], Doc("speaker, date, place: what it needs and lacks")] = ()

    @property
    def is_about_unknown_speaker(self) -> bool:
        return "speaker" in self.lacks and bool(_FIRST_PERSON.search(self.text))


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The readings of one statement, who made them, and what failed."""

    readings: tuple[Reading, ...]
    by: str  # "rules", "user", or the model
    failures: tuple[Failed, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """A reading with its evidence, each passage alone and all together."""

    reading: Reading = field(metadata=INLINE)
    items: Annotated[tuple[Weighed, ...], Doc("passages, best first")] = field(
        metadata=json_key("evidence")
    )
    weight: Weight = field(metadata=INLINE)
    unread: Annotated[tuple[Unchecked, ...], Doc("pages of the web that could not be read")] = ()
    excluded: Annotated[tuple[Exclusion, ...], Doc("pages of the web not used, and why")] = ()

    @property
    @written
    def label(self) -> Annotated[str, Doc("the outcome in words, or who alone says so")]:
        return wording.look(self).label

    @property
    @written
    def summary(self) -> str:
        return wording.summary(self)

    @property
    def nearest(self) -> list[int]:
        """If nothing is for or against the reading, the nearest quotes: three at most."""
        if any(item.side in ("for", "against") for item in self.items):
            return []
        by_text: dict[int, int] = {}  # one of each text
        for n in confirmation.nearest(self.reading.text, self.items):
            quote = self.items[n].quoted
            lacks = missing_words(self.reading.text, quote) if quote else 1.0
            if quote and lacks <= (confirmation.SAME_TOPIC if by_text else MOST_LACKING):
                by_text.setdefault(self.items[n].text_id, n)
        return [*by_text.values()][:MOST_NEAREST]

    @property
    @written
    def warning(self) -> str:
        """What must not be overlooked next to the mean; empty if nothing."""
        return wording.warning(self)


@dataclass(frozen=True, slots=True)
class Check:
    """A statement with all its readings. Each is judged on its own; there is no overall verdict."""

    statement: str
    results: tuple[ReadingResult, ...] = field(metadata=json_key("readings"))
    interpreted_by: Annotated[str, Doc("rules, user, or the model")]
    failures: Annotated[tuple[Failed, ...], Doc("of the interpretation")] = ()
    occasion: Occasion = field(default=UNKNOWN, metadata=INLINE)

    @property
    @written
    def complete(self) -> bool:
        failed = [r.weight.n_failed or r.weight.outcome is Outcome.FAILED for r in self.results]
        return not self.failures and not any(failed)

    @property
    def stopped(self) -> bool:
        outcomes = [item.outcome for result in self.results for item in result.items]
        failed = [failure for failure in (*self.failures, *outcomes) if isinstance(failure, Failed)]
        return any(failure.step == "stopped" for failure in failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport(codec.JsonReport):
    """The checks of one run, with all that is needed to repeat them."""

    schema_version: Literal["2"] = "2"
    checks: tuple[Check, ...]
    n_statements: Annotated[int, Doc("larger than the number of checks if the run was stopped")]
    usage: Usage
    warnings_coded: tuple[Note, ...]
    settings: Mapping[str, str | float | int | bool | None]
    versions: Annotated[Mapping[str, str], Doc("of pincite, judge, encoder, corpus, prompts")]
    created: Annotated[str, Doc("ISO timestamp, UTC")]

    @property
    def stopped(self) -> bool:
        return len(self.checks) < self.n_statements or any(c.stopped for c in self.checks)

    @property
    @written
    def complete(self) -> bool:
        return len(self.checks) == self.n_statements and all(c.complete for c in self.checks)

    def legend(self, words: Language = IN_ENGLISH) -> str:
        threshold = self.settings.get("check.threshold")
        threshold = threshold if isinstance(threshold, int | float) else LEAST_DEGREE
        degrees = [result.weight.doc for check in self.checks for result in check.results]
        return wording.legend(threshold, words) if any(d is not None for d in degrees) else ""

    def writers(self) -> Mapping[str, Callable[[Any], Any]]:
        write = partial(codec.values_of, digits=codec.DIGITS)
        return {
            "checks": lambda checks: [render_parts(write, check) for check in checks],
            "usage": partial(codec.values_of, digits=6),
        }


def failed_result(reading: Reading) -> ReadingResult:
    return ReadingResult(reading, (), Weight(outcome=Outcome.FAILED, doc=None, n_texts=0))


def render_parts(render: Callable[[Check], T], check: Check) -> T:
    """Render a check; passages and readings for which `render` raises become failures."""

    def without_culprits(why: Failed) -> T:
        results = tuple(_showable(render, check, result, why) for result in check.results)
        return render(replace(check, results=results, failures=(*check.failures, why)))

    def nothing(why: Failed) -> T:
        return render(Check(check.statement, (), check.interpreted_by, (why,)))

    return errors.attempt(
        lambda: render(check), lambda why: errors.attempt(lambda: without_culprits(why), nothing)
    )


def _showable(
    render: Callable[[Check], T], check: Check, result: ReadingResult, why: Failed
) -> ReadingResult:
    """Drop the passages for which `render` raises, or all of them."""

    def raises(tried: ReadingResult) -> bool:
        try:
            render(replace(check, results=(tried,)))
        except Exception:  # the first exception was logged
            return True
        return False

    if not raises(result):
        return result
    plain = replace(result, weight=replace(result.weight, contradictions=()))
    sound = list[Weighed]()
    for item in result.items:
        if raises(replace(plain, items=(item,))):
            passage = Passage(item.passage.doc_id, str(item.passage.url), "", "", Span(0, 0))
            item = Weighed(Unjudged(why.step, why.detail, passage), item.text_id, "failed")
        sound.append(item)
    without_bad = replace(result, items=tuple(sound))
    return failed_result(result.reading) if raises(without_bad) else without_bad
