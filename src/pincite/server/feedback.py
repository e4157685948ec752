"""Users' feedback on results, in the server's database.

A row holds the whole `library.feedback.Opinion`, so it outlives the job, the corpus and the model.
"""

from dataclasses import asdict, dataclass
from typing import Literal

import sqlalchemy as sa

from pincite.library.feedback import Opinion
from pincite.server.database import Database
from pincite.server.tables import feedback, new_id, newest_first, now

Verdict = Literal["right", "wrong"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's opinion on a result, or on one item of it."""

    feedback_id: str
    owner: str
    job_id: str | None  # None: the job has been deleted
    verdict: Verdict
    opinion: Opinion
    created: float


class FeedbackStore:
    """The feedback of all users. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, owner: str, job_id: str, verdict: Verdict, opinion: Opinion) -> Feedback:
        """Keep an opinion on a result of a job."""
        kept = Feedback(new_id(), owner, job_id, verdict, opinion, now())
        with self._db.writing() as db:
            db.execute(feedback.insert().values(asdict(kept)))
        return kept

    def get(self, feedback_id: str) -> Feedback | None:
        """One of them, or None."""
        with self._db.reading() as db:
            this = feedback.c.feedback_id == feedback_id
            row = db.execute(sa.select(feedback).where(this)).first()
        return _feedback(row) if row else None

    def listed(
        self,
        owner: str,
        limit: int,
        before: tuple[float, str] | None = None,
        job_id: str | None = None,
    ) -> list[Feedback]:
        """A user's feedback, newest first.

        Args:
            owner: the user.
            limit: at most so many.
            before: time and id of the last one of the page before.
            job_id: only on the results of this job.
        """
        columns = feedback.c.created, feedback.c.feedback_id
        wanted = newest_first(sa.select(feedback), *columns, before).limit(limit)
        wanted = wanted.where(feedback.c.owner == owner)
        if job_id is not None:
            wanted = wanted.where(feedback.c.job_id == job_id)
        with self._db.reading() as db:
            return [_feedback(row) for row in db.execute(wanted)]

    def opinions(self, owner: str | None) -> list[Opinion]:
        """The opinions of a user, None: of all users; oldest first."""
        wanted = sa.select(feedback.c.opinion).order_by(feedback.c.created, feedback.c.feedback_id)
        if owner is not None:
            wanted = wanted.where(feedback.c.owner == owner)
        with self._db.reading() as db:
            return [Opinion(**opinion) for opinion in db.execute(wanted).scalars()]

    def remove(self, feedback_id: str) -> None:
        """Delete one."""
        with self._db.writing() as db:
            db.execute(feedback.delete().where(feedback.c.feedback_id == feedback_id))


def _feedback(row: sa.Row[tuple[object, ...]]) -> Feedback:
    values = dict(row._mapping)
    return Feedback(**values | {"opinion": Opinion(**values["opinion"])})
