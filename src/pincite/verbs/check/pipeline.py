"""`check`: what does a knowledge base say for and against each reading of a statement?

statement ─▶ readings ─▶ passages that may be evidence ─▶ DOC of each pair ─▶ a result a reading
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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
        (found,) = self.interpreter.interpret([statement])
        return found

    def check(self, statement: str, interpretation: Interpretation | None = None) -> Check:
        """Every reading with its evidence; readings of ignored types are listed, not judged."""
        interpretation = interpretation or self.interpretation(statement)
        self._record(
            {"event": "statement", "statement": statement, "interpretation": asdict(interpretation)}
        )
        readings = [r for r in interpretation.readings if r.kind not in self.ignored]
        stored = self.finder.find(readings) if readings else []
        online = [self._online(*pair) for pair in zip(readings, stored, strict=True)]
        found = [[*first, *more.found] for first, more in zip(stored, online, strict=True)]
        items = iter(self._items(readings, found))
        results = {
            reading.reading_id: self._result(reading, [next(items) for _ in of_reading], pages)
            for reading, of_reading, pages in zip(readings, found, online, strict=True)
        }
        return Check(
            statement,
            tuple(results.get(r.reading_id) or _left_alone(r) for r in interpretation.readings),
            interpretation.by,
            interpretation.failures,
        )

    def _online(self, reading: Reading, stored: Sequence[Found]) -> Online:
        if self.online is None:
            return Online()
        pages = self.online.find(reading, {each.passage.url for each in stored})
        self._record(
            {
                "event": "searched",
                "reading": reading.reading_id,
                "unread": [asdict(page) for page in pages.unread],
                "excluded": [asdict(page) for page in pages.excluded],
            }
        )
        return pages

    def _items(
        self, readings: Sequence[Reading], found: Sequence[Sequence[Found]]
    ) -> list[Weighed]:
        """Everything that was found, weighed in one flat batch."""
        flat = [
            (reading, each)
            for reading, of_reading in zip(readings, found, strict=True)
            for each in of_reading
        ]
        failures = [self._unusable(each) for _, each in flat]
        asked = [
            (reading, each.passage)
            for (reading, each), failure in zip(flat, failures, strict=True)
            if failure is None
        ]
        answers = iter(self.judge.judge(asked))
        outcomes = [failure or next(answers) for failure in failures]
        texts = [n for of in found for n in _text_ids([each.passage for each in of])]
        return [
            self._weighed(*pair, outcome, text)
            for pair, outcome, text in zip(flat, outcomes, texts, strict=True)
        ]

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
        passage, published, meta = found.passage, found.published, found.meta
        copies, corpus = found.copies, found.corpus
        return Weighed(passage, outcome, text_id, published, meta, copies, corpus, found.origin)

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
    """A number for each passage, equal for overlapping windows and for copies of one text."""
    ids = confirmation.text_ids(passages)
    hits = [Hit(passage, 1.0 / rank, rank) for rank, passage in enumerate(passages, 1)]
    for first, *copies in grouped(hits):
        same = {ids[hit.rank - 1] for hit in (first, *copies)}
        ids = [min(same) if number in same else number for number in ids]
    return ids


def _left_alone(reading: Reading) -> ReadingResult:
    return ReadingResult(reading, (), Weight(Outcome.NOT_JUDGED, None, 0))
