"""Users' verdicts on results and their items."""

from dataclasses import asdict
from typing import Literal

import sqlalchemy as sa

from pincite.library.feedback import Opinion
from pincite_server.database import Database
from pincite_server.tables import feedback, new_id, now

MARKS = 1_000  # newest feedback on a result that is looked at
Verdict = Literal["right", "wrong"]


class FeedbackStore:
    """Feedback on results and their items; it outlives the job. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, owner: str, job_id: str | None, verdict: Verdict, opinion: Opinion) -> None:
        row = {"feedback_id": new_id(), "owner": owner, "job_id": job_id, "verdict": verdict}
        self._db.write(feedback.insert().values(**row, opinion=asdict(opinion), created=now()))

    def verdicts(self, owner: str, job_id: str) -> dict[str, Verdict]:
        """A user's last verdict on each item of a result."""
        wanted = sa.select(feedback.c.opinion, feedback.c.verdict).where(
            feedback.c.owner == owner, feedback.c.job_id == job_id
        )
        newest = wanted.order_by(feedback.c.created.desc(), feedback.c.feedback_id.desc())
        rows = self._db.rows(newest.limit(MARKS))
        return {opinion["item_id"]: verdict for opinion, verdict in reversed(rows)}

    def opinions(self, owner: str | None) -> list[Opinion]:
        """The opinions of a user (None: of all users), oldest first."""
        wanted = sa.select(feedback.c.opinion).order_by(feedback.c.created, feedback.c.feedback_id)
        if owner is not None:
            wanted = wanted.where(feedback.c.owner == owner)
        return [Opinion(**opinion) for (opinion,) in self._db.rows(wanted)]
