"""Whose job is next: accounts take turns, and each has its own jobs taken in their order.

Next is the account whose last job was begun longest ago; where two have begun none yet, the job
that came first. So who queues ten articles makes nobody wait for more than one of them. Where
there is one person, jobs are taken as they come.
"""

from typing import Any

import sqlalchemy as sa

from pincite.server.tables import jobs

QUEUED = "queued"


def _turns() -> sa.Subquery:
    """Each account that has a job waiting, and when its last one was begun; 0: none was."""
    waiting, begun = jobs.alias("waiting"), jobs.alias("begun")
    last = (  # an account's jobs begin as they came: of those that began the newest is the last
        sa.select(begun.c.started)
        .where(begun.c.owner == waiting.c.owner, begun.c.started.is_not(None))
        .order_by(begun.c.created.desc(), begun.c.job_id.desc())
        .limit(1)
        .scalar_subquery()
    )
    return (
        sa.select(waiting.c.owner, sa.func.coalesce(last, 0.0).label("begun"))
        .where(waiting.c.status == QUEUED)
        .group_by(waiting.c.owner)
        .subquery("turns")
    )


def _places() -> sa.Subquery:
    """Each job that waits, with how many are taken before it if nobody else comes."""
    waiting, turns = jobs.alias("queued"), _turns()
    age = (waiting.c.created, waiting.c.job_id)
    its_round = sa.func.row_number().over(partition_by=waiting.c.owner, order_by=age)
    rounds = (
        sa.select(*age, turns.c.begun, its_round.label("round"))
        .join_from(waiting, turns, turns.c.owner == waiting.c.owner)
        .where(waiting.c.status == QUEUED)
        .subquery("rounds")
    )
    order = (rounds.c.round, rounds.c.begun, rounds.c.created, rounds.c.job_id)
    before = sa.func.row_number().over(order_by=order) - 1
    return sa.select(rounds.c.job_id, before.label("before")).subquery("places")


def following() -> sa.Select[Any]:
    """The job whose turn it is, locked for whoever asks; none that another has locked."""
    turns = _turns()
    return (
        sa.select(jobs.c.job_id)
        .join_from(jobs, turns, turns.c.owner == jobs.c.owner)
        .where(jobs.c.status == QUEUED)
        .order_by(turns.c.begun, jobs.c.created, jobs.c.job_id)
        .limit(1)
        .with_for_update(of=jobs, skip_locked=True)  # SQLite has one writer at a time anyway
    )


_PLACES = _places()
AHEAD = sa.case(
    (
        jobs.c.status == QUEUED,
        sa.select(_PLACES.c.before).where(_PLACES.c.job_id == jobs.c.job_id).scalar_subquery(),
    ),
    else_=0,
)
