"""What the server's jobs came to, in numbers that outlive the jobs: for `/metrics`.

Jobs run in processes of their own, on several machines perhaps, so their numbers meet in the
database. A number counts verdicts, reasons and seconds; no claim, title or name stands in any.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from pincite.server.database import Database
from pincite.server.jobs.store import Kind
from pincite.server.tables import tallies

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
    """What a result comes to: how many of which verdict, and why sources could not be checked."""
    report = json.loads(result)
    found: defaultdict[Key, float] = defaultdict(float)
    for label in _VERDICTS[kind](report):
        found[VERDICTS, f"{kind} {label}"] += 1
    if kind == "verify":
        for reason, n in report["counts"]["citations_unchecked"].items():
            found[UNCHECKED, reason] += n
    return dict(found)


def _of_verify(report: Mapping[str, Any]) -> list[str]:
    return [finding["label"] for finding in report["findings"]]


def _of_check(report: Mapping[str, Any]) -> list[str]:
    return [
        reading["outcome"]
        for check in report.get("checks", ())  # without: it was stopped at its readings
        for reading in check["readings"]
    ]


def _of_ask(report: Mapping[str, Any]) -> list[str]:
    answers = report["answers"]
    abstained = ["abstained" for answer in answers if answer["abstained"]]
    return abstained + [each["standing"] for answer in answers for each in answer["sentences"]]


_VERDICTS: dict[Kind, Callable[[Mapping[str, Any]], list[str]]] = {
    "verify": _of_verify,
    "check": _of_check,
    "ask": _of_ask,
    "ingest": lambda _report: [],
}
