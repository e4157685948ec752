"""`check`: what does a knowledge base say for and against each reading of a statement?

statement ─▶ readings ─▶ passages that may be evidence ─▶ DOC of each pair ─▶ a result a reading
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pincite import containment
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, StatementType, Weighed, Weight
from pincite.retrieval.copies import grouped
from pincite.types import Evidence, Failed, Hit, Passage
from pincite.verbs.check import data
from pincite.verbs.check.evidence import Finder, Found, Online, WebFinder, reads
from pincite.verbs.check.records import (
    Check,
    Interpretation,
    Interpreter,
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
    finder: Finder
    judge: Judge
    ignored: frozenset[StatementType] = frozenset({StatementType.NORMATIVE})
    threshold: float = confirmation.THRESHOLD
    count_copies: bool = False  # every passage counts, as in EvidenceSeeker
    languages: frozenset[str] | None = None  # that the judge reads; None: it does not say
    record: Record | None = None
    online: WebFinder | None = None  # asked for each reading, besides the corpus

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
        found = containment.each(self._found, readings, lambda _, why: why)
        lost = [each for each in found if isinstance(each, Failed)]
        online = [Online() if isinstance(each, Failed) else each for each in found]
        judged = [each for of_reading in online for each in of_reading.found]
        items = iter(self._items(readings, [of_reading.found for of_reading in online], judged))
        results = {
            reading.reading_id: failed(reading)
            if isinstance(outcome, Failed)
            else self._result(reading, [next(items) for _ in pages.found], pages)
            for reading, outcome, pages in zip(readings, found, online, strict=True)
        }
        return Check(
            statement,
            tuple(results.get(r.reading_id) or _left_alone(r) for r in interpretation.readings),
            interpretation.by,
            (*interpretation.failures, *lost),
        )

    def _found(self, readings: Sequence[Reading]) -> list[Online | Failed]:
        """What was found for each reading, in the corpus and then in the web."""
        if not readings:
            return []
        return [
            self._online(*pair) for pair in zip(readings, self.finder.find(readings), strict=True)
        ]

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

    def _items(
        self, readings: Sequence[Reading], found: Sequence[Sequence[Found]], judged: Sequence[Found]
    ) -> list[Weighed]:
        """Everything that was found, weighed in one flat batch."""
        of = [reading for reading, those in zip(readings, found, strict=True) for _ in those]
        failures = [self._unusable(each) for each in judged]
        asked = [
            (reading, each.passage)
            for reading, each, failure in zip(of, judged, failures, strict=True)
            if failure is None
        ]
        answers = iter(containment.each(self.judge.judge, asked, lambda _, why: why))
        outcomes = [failure or next(answers) for failure in failures]
        texts = [n for those in found for n in _text_ids([each.passage for each in those])]
        return [self._weighed(*each) for each in zip(of, judged, outcomes, texts, strict=True)]

    def _weighed(
        self, reading: Reading, found: Found, outcome: Evidence | Failed, text_id: int
    ) -> Weighed:
        self._record(
            {
                "event": "judged",
                "reading": reading.reading_id,
                "found": asdict(found),
                "outcome": data.traced(outcome),
            }
        )
        return Weighed(
            found.passage,
            outcome,
            text_id,
            published=found.published,
            meta=found.meta,
            copies=found.copies,
            corpus=found.corpus,
            origin=found.origin,
        )

    def _unusable(self, found: Found) -> Failed | None:
        if found.lost:
            return Failed("source", found.lost)
        if not reads(self.languages, found.language):
            known = ", ".join(sorted(self.languages or ()))
            language = (found.language or "").split("-")[0]
            return Failed("language", f"the page is in {language!r}, the model reads {known}")
        return None

    def _result(self, reading: Reading, items: Sequence[Weighed], pages: Online) -> ReadingResult:
        text, each = reading.text, self.count_copies
        weight = confirmation.weighed_together(items, self.threshold, reading=text, each=each)
        years = confirmation.by_year(items, self.threshold, reading=text, each=each)
        return ReadingResult(reading, tuple(items), weight, years, pages.unread, pages.excluded)

    def _record(self, event: Mapping[str, Any]) -> None:
        if self.record:
            self.record(event)


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


def _left_alone(reading: Reading) -> ReadingResult:
    return ReadingResult(reading, (), Weight(Outcome.NOT_JUDGED, None, 0))
