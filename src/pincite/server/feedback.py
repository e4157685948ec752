"""What people think of results, each with the statement and the passage that it is about.

A row holds all that it needs to be learnt from (`library.feedback.Opinion`), so it outlives the
job, the corpus and the model that it speaks of.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import sqlalchemy as sa

from pincite.documents.jsonl import LABELS
from pincite.library import feedback as opinions
from pincite.library.feedback import Opinion, Words
from pincite.library.results import result_in
from pincite.server.database import Database
from pincite.server.tables import feedback, new_id, newest_first, now

Thumb = Literal["right", "wrong"]
_SIGNS: Mapping[Thumb, str] = {"right": opinions.UP, "wrong": opinions.DOWN}


@dataclass(frozen=True, slots=True)
class Said:
    """One person's word on one item of a result."""

    feedback_id: str
    owner: str
    job_id: str | None  # None: the job was deleted since
    item: str  # empty: the whole result
    verdict: Thumb
    label: str | None
    quote: str | None
    note: str | None
    row: Mapping[str, Any]  # an Opinion
    versions: Mapping[str, str]
    created: float

    @property
    def opinion(self) -> Opinion:
        """As `pincite feedback` has it."""
        return Opinion(**self.row)


def opinion_on(
    result: bytes, item: str, verdict: Thumb, label: str | None, words: Words
) -> Opinion:
    """What is kept of somebody's word on an item of a result.

    A better quote that stands in the passage takes the place of the one that was shown.

    Args:
        result: the report's JSON.
        item: of it, as `library.results` counts them; empty: the whole.
        verdict: whether it is right.
        label: the right one, if it was said; it says more than `verdict`.
        words: a note, and what should stand there instead.

    Raises:
        InputError: there is no such item, or the result has none.
        ConfigError: a label that the item cannot have; names those that it can.
    """
    found = result_in(result, "the result")
    chosen = found.chosen(item, passage=label in LABELS) if item else None
    given = opinions.opinion(result, found, label or _SIGNS[verdict], chosen, words)
    if words.correction and words.correction in given.passage:
        return Opinion(**(asdict(given) | {"quote": words.correction}))
    return given


class FeedbackStore:
    """All that was said. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, owner: str, job_id: str, verdict: Thumb, label: str | None, row: Opinion) -> Said:
        """Keep somebody's word on a result of a job."""
        values = {
            "feedback_id": new_id(),
            "owner": owner,
            "job_id": job_id,
            "item": row.item_id,
            "verdict": verdict,
            "label": label,
            "quote": row.correction or None,
            "note": row.note or None,
            "row": asdict(row),
            "versions": json.loads(row.versions),
            "created": now(),
        }
        with self._db.writing() as db:
            db.execute(feedback.insert().values(values))
        return Said(**values)

    def get(self, feedback_id: str) -> Said | None:
        """One of them, or None."""
        with self._db.reading() as db:
            this = feedback.c.feedback_id == feedback_id
            row = db.execute(sa.select(feedback).where(this)).first()
        return Said(**row._mapping) if row else None

    def listed(
        self,
        owner: str | None,
        limit: int,
        before: tuple[float, str] | None = None,
        job_id: str | None = None,
    ) -> list[Said]:
        """At most `limit`, the newest first.

        Args:
            owner: whose; None: everybody's.
            limit: how many.
            before: time and id of the last one that was seen.
            job_id: only on the results of this job.
        """
        columns = feedback.c.created, feedback.c.feedback_id
        wanted = newest_first(sa.select(feedback), *columns, before).limit(limit)
        if owner is not None:
            wanted = wanted.where(feedback.c.owner == owner)
        if job_id is not None:
            wanted = wanted.where(feedback.c.job_id == job_id)
        with self._db.reading() as db:
            return [Said(**row._mapping) for row in db.execute(wanted)]

    def opinions(self, owner: str | None) -> list[Opinion]:
        """All of somebody's, or everybody's, oldest first: what rows to train on are made of."""
        wanted = sa.select(feedback.c.row).order_by(feedback.c.created, feedback.c.feedback_id)
        if owner is not None:
            wanted = wanted.where(feedback.c.owner == owner)
        with self._db.reading() as db:
            return [Opinion(**row) for (row,) in db.execute(wanted)]

    def remove(self, feedback_id: str) -> None:
        """Forget one."""
        with self._db.writing() as db:
            db.execute(feedback.delete().where(feedback.c.feedback_id == feedback_id))
