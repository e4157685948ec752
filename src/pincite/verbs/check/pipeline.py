"""`check`: what does a knowledge base say for and against each reading of a statement?

statement ─▶ readings ─▶ passages that may be evidence ─▶ DOC of each pair ─▶ a result a reading
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pincite import containment
from pincite.contract.codec import made
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, StatementType, Weighed, Weight
from pincite.retrieval.copies import grouped
from pincite.types import Evidence, Failed, Hit, Passage
from pincite.verbs.check import data
from pincite.verbs.check.evidence import Finder, Found, Online, SearchedWeb, reads
from pincite.verbs.check.interpret import Interpreter
from pincite.verbs.check.records import (
    Check,
    Interpretation,
    Judge,
    Reading,
    ReadingResult,
    failed,
)

Record = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class CheckPipeline:
    """The parts that `check` is made of."""

    interpreter: Interpreter
    finder: Finder | None  # None: there is no corpus
    judge: Judge
    ignored: frozenset[StatementType] = frozenset({StatementType.NORMATIVE})
    threshold: float = confirmation.THRESHOLD
    count_copies: bool = False  # every passage counts, as in EvidenceSeeker
    languages: frozenset[str] | None = None  # that the judge reads; None: it does not say
    record: Record | None = None
    online: SearchedWeb | None = None  # asked for each reading, besides the corpus

    def interpretation(self, statement: str) -> Interpretation:
        """The readings of a statement, which a person may change before `check`."""

        def as_stated(why: Failed) -> Interpretation:
            text = " ".join(statement.split())
            return Interpretation(
                (Reading("r1", text, StatementType.DESCRIPTIVE),), "rules", (why,)
            )

        return containment.attempted(lambda: self.interpreter.interpret([statement])[0], as_stated)

    def check(self, statement: str, interpretation: Interpretation | None = None) -> Check:
        """Every reading with its evidence; readings of ignored types are listed, not judged.

        What raises costs itself (`containment`): a passage, a reading, or the statement.
        """
        given = interpretation or self.interpretation(statement)

        def unjudged(why: Failed) -> Check:
            results = tuple(failed(reading) for reading in given.readings)
            return Check(statement, results, given.by, (*given.failures, why))

        return containment.attempted(lambda: self._checked(statement, given), unjudged)

    def _checked(self, statement: str, interpretation: Interpretation) -> Check:
        self._record(
            {"event": "statement", "statement": statement, "interpretation": asdict(interpretation)}
        )
        readings = [r for r in interpretation.readings if r.kind not in self.ignored]
        pages = containment.each(self._found, readings, lambda _, why: why)
        found = dict(zip(readings, pages, strict=True))
        pairs = [
            (reading, passage)
            for reading, of in found.items()
            if isinstance(of, Online)
            for passage in of.found
        ]
        outcomes = self._outcomes(pairs)
        for (reading, passage), outcome in zip(pairs, outcomes, strict=True):
            self._record(
                {
                    "event": "judged",
                    "reading": reading.reading_id,
                    "found": asdict(passage),
                    "outcome": data.traced(outcome),
                }
            )
        return combined(
            statement,
            interpretation,
            found,
            outcomes,
            threshold=self.threshold,
            count_copies=self.count_copies,
        )

    def _found(self, readings: Sequence[Reading]) -> list[Online | Failed]:
        """What was found for each reading, in the corpus and then in the web."""
        if not readings:
            return []
        stored = self.finder.find(readings) if self.finder else [[] for _ in readings]
        return [self._online(*pair) for pair in zip(readings, stored, strict=True)]

    def _online(self, reading: Reading, stored: Sequence[Found]) -> Online:
        if self.online is None:
            return Online(tuple(stored))
        pages = self.online.find(reading, {each.passage.url for each in stored})
        self._record(
            {
                "event": "searched",
                "reading": reading.reading_id,
                "unread": [asdict(page) for page in pages.unread],
                "excluded": [asdict(page) for page in pages.excluded],
            }
        )
        return replace(pages, found=(*stored, *pages.found))

    def _outcomes(self, pairs: Sequence[tuple[Reading, Found]]) -> list[Evidence | Failed]:
        """What each passage says of its reading, judged in one batch."""
        failures = [self._unusable(found) for _, found in pairs]
        asked = [
            (reading, found.passage)
            for (reading, found), failure in zip(pairs, failures, strict=True)
            if failure is None
        ]
        answers = iter(containment.each(self.judge.judge, asked, lambda _, why: why))
        return [failure or next(answers) for failure in failures]

    def _unusable(self, found: Found) -> Failed | None:
        if found.lost:
            return Failed("source", found.lost)
        if not reads(self.languages, found.language):
            known = ", ".join(sorted(self.languages or ()))
            language = (found.language or "").split("-")[0]
            return Failed("language", f"the page is in {language!r}, the model reads {known}")
        return None

    def _record(self, event: Mapping[str, Any]) -> None:
        if self.record:
            self.record(event)


def combined(
    statement: str,
    interpretation: Interpretation,
    found: Mapping[Reading, Online | Failed],
    outcomes: Sequence[Evidence | Failed],
    *,
    threshold: float,
    count_copies: bool,
) -> Check:
    """The check in what was found and judged.

    Args:
        statement: what is checked.
        interpretation: its readings.
        found: for each reading that is judged its passages, or why there are none.
        outcomes: what each of these passages says, in their order.
        threshold: a text with |DOC| at or below it is silent.
        count_copies: every passage counts, as in EvidenceSeeker.
    """
    answers = iter(outcomes)

    def result(reading: Reading, of: Online | Failed) -> ReadingResult:
        if isinstance(of, Failed):
            return failed(reading)
        ids = _text_ids([each.passage for each in of.found])
        items = tuple(
            made(Weighed, each, outcome=next(answers), text_id=text_id)
            for each, text_id in zip(of.found, ids, strict=True)
        )
        text = reading.text
        weight = confirmation.weighed_together(items, threshold, reading=text, each=count_copies)
        years = confirmation.by_year(items, threshold, reading=text, each=count_copies)
        return ReadingResult(reading, items, weight, years, of.unread, of.excluded)

    results = {reading: result(reading, of) for reading, of in found.items()}
    left_alone = Weight(Outcome.NOT_JUDGED, None, 0)
    lost = [each for each in found.values() if isinstance(each, Failed)]
    return Check(
        statement,
        tuple(results.get(r) or ReadingResult(r, (), left_alone) for r in interpretation.readings),
        interpretation.by,
        (*interpretation.failures, *lost),
    )


def _text_ids(passages: Sequence[Passage]) -> list[int]:
    """A number for each passage, equal for those of one document and for copies of one text."""
    ids = confirmation.text_ids(passages)
    return containment.attempted(lambda: _with_copies(passages, ids), lambda _: ids)


def _with_copies(passages: Sequence[Passage], ids: list[int]) -> list[int]:
    hits = [Hit(passage, 1.0 / rank, rank) for rank, passage in enumerate(passages, 1)]
    for first, *copies in grouped(hits):
        same = {ids[hit.rank - 1] for hit in (first, *copies)}
        ids = [min(same) if number in same else number for number in ids]
    return ids
