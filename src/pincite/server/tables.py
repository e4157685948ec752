"""What the server keeps, as tables that SQLite and PostgreSQL both have.

A change here needs a migration beside it (`migrations/versions`); a test compares the two. Times
are seconds since 1970, UTC. An id is 22 characters of 128 random bits: nobody guesses another's.
"""

import secrets
import time
from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
ID = sa.String(22)
OWNER = sa.String(22)  # an account's id, or "local" where there are no accounts

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("job_id", ID, primary_key=True),
    sa.Column("owner", OWNER, nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),  # verify, check, ask, ingest
    sa.Column("title", sa.Text, nullable=False),  # of the article; the statement, the question
    sa.Column("request", sa.JSON, nullable=False),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("started", sa.Double),
    sa.Column("finished", sa.Double),
    # Of the worker that runs it: without a sign of life until then, another one takes it.
    sa.Column("worker", sa.String(80)),
    sa.Column("lease", sa.Double),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("cancelled", sa.Boolean, nullable=False, default=False),  # somebody asked for it
    sa.Column("problem", sa.JSON),  # why it failed, for a person: code, detail
    sa.Column("result", sa.LargeBinary),  # the report's JSON, packed
    sa.Column("n_events", sa.Integer, nullable=False, default=0),
    sa.Column("idempotency_key", sa.String(200)),
    sa.Column("request_hash", sa.String(64), nullable=False),
    sa.UniqueConstraint("owner", "idempotency_key"),
    sa.Index("ix_jobs_owner_created", "owner", "created", "job_id"),
    sa.Index("ix_jobs_status_created", "status", "created"),
)
job_events = sa.Table(
    "job_events",
    metadata,
    sa.Column("job_id", ID, sa.ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),  # 1, 2, … of its job
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
job_files = (
    sa.Table(  # what its pages show beside the result: the article, the sources that were read
        "job_files",
        metadata,
        sa.Column("job_id", ID, sa.ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.String(40), primary_key=True),  # "article", or a document's id
        sa.Column("data", sa.LargeBinary, nullable=False),  # JSON, packed
    )
)
corpora = sa.Table(
    "corpora",
    metadata,
    sa.Column("corpus_id", ID, primary_key=True),
    sa.Column("owner", OWNER, nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("about", sa.Text, nullable=False, default=""),
    sa.Column("folder", sa.Text, nullable=False),  # inside the data folder unless it was linked
    sa.Column("shared", sa.String(10), nullable=False),  # private, group, everybody
    sa.Column("group_id", ID),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("deleted", sa.Double),  # from then on nobody sees it; its folder may still be there
    sa.UniqueConstraint("owner", "name"),
)
corpus_problems = sa.Table(  # files of uploads that could not be read, until they are sent again
    "corpus_problems",
    metadata,
    sa.Column(
        "corpus_id", ID, sa.ForeignKey("corpora.corpus_id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("file", sa.Text, nullable=False),
    sa.Column("place", sa.Text, nullable=False),  # in the file; empty: all of it
    sa.Column("reason", sa.String(30), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
feedback = sa.Table(
    "feedback",
    metadata,
    sa.Column("feedback_id", ID, primary_key=True),
    sa.Column("owner", OWNER, nullable=False),
    sa.Column("job_id", ID, sa.ForeignKey("jobs.job_id", ondelete="SET NULL")),
    sa.Column("item", sa.String(200), nullable=False),  # of the result: a claim, reading, sentence
    sa.Column("verdict", sa.String(10), nullable=False),  # right, wrong
    sa.Column("label", sa.String(30)),  # the correct one, if it was said
    sa.Column("quote", sa.Text),  # a better one
    sa.Column("note", sa.Text),
    sa.Column("row", sa.JSON, nullable=False),  # as `pincite feedback` keeps it: what to train on
    sa.Column("versions", sa.JSON, nullable=False),  # of what was judged
    sa.Column("created", sa.Double, nullable=False),
    sa.Index("ix_feedback_owner_created", "owner", "created"),
)
tallies = sa.Table(
    "tallies",
    metadata,
    sa.Column("name", sa.String(20), primary_key=True),
    sa.Column("label", sa.String(60), primary_key=True),
    sa.Column("value", sa.Double, nullable=False),
)


def new_id() -> str:
    """128 random bits."""
    return secrets.token_urlsafe(16)


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def newest_first(
    wanted: sa.Select[Any],
    created: sa.Column[float],
    key: sa.Column[str],
    before: tuple[float, str] | None,
) -> sa.Select[Any]:
    """The rows, the newest first, from behind the one whose time and id are `before`."""
    wanted = wanted.order_by(created.desc(), key.desc())
    if before:
        at, seen = before
        wanted = wanted.where(sa.or_(created < at, sa.and_(created == at, key < seen)))
    return wanted
