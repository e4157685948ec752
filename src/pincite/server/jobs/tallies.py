"""What the server's jobs came to, in numbers that outlive the jobs: for `/metrics`.

Jobs run in processes of their own, on several machines perhaps, so their numbers meet in the
database. A number counts verdicts, reasons and seconds; no claim, title or name stands in any.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from pincite.contract import codec
from pincite.contract.ask import AnswerReportRecord
from pincite.contract.check import CheckReportRecord
from pincite.errors import InputError
from pincite.server.database import Database
from pincite.server.tables import Kind, tallies
from pincite.types import Unchecked
from pincite.verbs.verify.report import Report

Key = tuple[str, str]  # what is counted, and of which sort
VERDICTS, UNCHECKED, STAGE, STAGE_UNDER = "verdicts", "unchecked", "stage", "stage_under"
BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)  # seconds of a stage
# The event that ends a stage of a job; what comes after the last of them is its last stage.
ENDS = {"article": "read", "fetching": "fetch", "readings": "interpret"}
LAST: dict[Kind, str] = {"verify": "judge", "check": "judge", "ask": "answer", "ingest": "index"}


class Tallies:
    """Sums that only grow. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, found: Mapping[Key, float]) -> None:
        """Add to the sums; those that are not there begin with it."""
        if not found:
            return
        insert = sqlite.insert if self._db.is_sqlite else postgresql.insert
        # In one order: two that add at once would wait for each other otherwise.
        rows = [{"name": n, "label": lb, "value": v} for (n, lb), v in sorted(found.items())]
        new = insert(tallies)
        added = new.on_conflict_do_update(
            index_elements=["name", "label"],
            set_={"value": tallies.c.value + new.excluded.value},
        )
        with self._db.writing() as db:
            db.execute(added, rows)

    def all(self) -> dict[Key, float]:
        """All sums."""
        with self._db.reading() as db:
            return {(row.name, row.label): row.value for row in db.execute(sa.select(tallies))}


class Stopwatch:
    """Hears what a job tells, and says how long each of its stages took."""

    def __init__(self, kind: Kind) -> None:
        self._kind: Kind = kind
        self._last = time.monotonic()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def hear(self, event: str) -> None:
        """Something happened."""
        if stage := ENDS.get(event):
            self._lap(stage)

    def ended(self) -> dict[Key, float]:
        """The job is at its end: what is to be added to the sums."""
        self._lap(LAST[self._kind])
        found: dict[Key, float] = {}
        for stage, seconds in self._seconds.items():
            label = f"{self._kind} {stage}"
            found[STAGE, label] = seconds
            bucket = next((f"{limit:g}" for limit in BUCKETS if seconds <= limit), "+Inf")
            found[STAGE_UNDER, f"{label} {bucket}"] = 1
        return found

    def _lap(self, stage: str) -> None:
        at = time.monotonic()
        self._seconds[stage] += at - self._last
        self._last = at


def of_result(kind: Kind, result: str) -> dict[Key, float]:
    """What a result comes to: how many of which verdict, and why sources could not be checked.

    Nothing, where there is no report: of an ingested folder, of a check that ended at its readings.
    """
    try:
        return dict(Counter(_KEYS[kind](result)))
    except InputError:
        return {}


def _of_verify(result: str) -> list[Key]:
    findings = Report.from_json(result).findings
    outcomes = [each.outcome for finding in findings for each in finding.citations]
    reasons = [(UNCHECKED, str(o.reason)) for o in outcomes if isinstance(o, Unchecked)]
    return [(VERDICTS, f"verify {finding.label}") for finding in findings] + reasons


def _of_check(result: str) -> list[Key]:
    checks = codec.from_json(CheckReportRecord, result).checks
    outcomes = [reading.outcome for check in checks for reading in check.readings]
    return [(VERDICTS, f"check {outcome}") for outcome in outcomes]


def _of_ask(result: str) -> list[Key]:
    answers = codec.from_json(AnswerReportRecord, result).answers
    abstained = ["abstained" for answer in answers if answer.abstained]
    standings = [each.standing for answer in answers for each in answer.sentences]
    return [(VERDICTS, f"ask {said}") for said in (*abstained, *standings)]


_KEYS: dict[Kind, Callable[[str], list[Key]]] = {
    "verify": _of_verify,
    "check": _of_check,
    "ask": _of_ask,
    "ingest": lambda _result: [],
}
