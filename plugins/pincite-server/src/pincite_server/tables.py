"""The tables of the server's database, for SQLite, PostgreSQL and MariaDB.

A release that changes them increments `database.VERSION`. Times are seconds since 1970, UTC. Ids
are 22 characters from 128 random bits, so they cannot be guessed.
"""

import hashlib
import secrets
import time
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

metadata = sa.MetaData()
ID = sa.String(22)
HASH = sa.String(64)  # SHA-256 in hexadecimal
OWNER = sa.String(22)  # an account's id, or "local" in local mode
Kind = Literal["verify", "check", "ask", "ingest"]  # of a job

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("job_id", ID, primary_key=True),
    sa.Column("owner", OWNER, nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),  # verify, check, ask, ingest
    sa.Column("title", sa.Text, nullable=False),  # or the statement, or the question
    sa.Column("request", sa.JSON, nullable=False),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("started", sa.Double),
    sa.Column("finished", sa.Double),
    # The worker that holds the job, and when its lease expires.
    sa.Column("worker", sa.String(80)),
    sa.Column("lease", sa.Double),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("cancelled", sa.Boolean, nullable=False, default=False),  # requested
    sa.Column("problem", sa.JSON),  # why it failed: code, detail
    sa.Column("result", sa.LargeBinary),  # the report's JSON, gzipped
    sa.Column("n_events", sa.Integer, nullable=False, default=0),
    sa.Index("ix_jobs_owner_created", "owner", "created", "job_id"),
    sa.Index("ix_jobs_status_created", "status", "created"),
)


def _job(**options: Any) -> sa.Column[str]:
    key = sa.ForeignKey("jobs.job_id", ondelete="CASCADE")
    return sa.Column("job_id", ID, key, nullable=False, **options)


job_events = sa.Table(
    "job_events",
    metadata,
    _job(primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),  # counts from 1 within each job
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
job_files = sa.Table(  # the article, the sources that were read, and the view of the result
    "job_files",
    metadata,
    _job(primary_key=True),
    sa.Column("name", sa.String(40), primary_key=True),  # "article", or a document's id
    sa.Column("data", sa.LargeBinary, nullable=False),  # JSON, gzipped
)
corpora = sa.Table(
    "corpora",
    metadata,
    sa.Column("corpus_id", ID, primary_key=True),
    sa.Column("owner", OWNER, nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("about", sa.Text, nullable=False, default=""),
    # In the data folder; for a linked corpus, its folder or address.
    sa.Column("folder", sa.Text, nullable=False),
    sa.Column("shared", sa.String(10), nullable=False),  # private, everybody
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("deleted", sa.Double),  # since then hidden; the folder may still exist
    sa.UniqueConstraint("owner", "name"),
)
feedback = sa.Table(
    "feedback",
    metadata,
    sa.Column("feedback_id", ID, primary_key=True),
    sa.Column("owner", OWNER, nullable=False),
    sa.Column("job_id", ID, sa.ForeignKey("jobs.job_id", ondelete="SET NULL")),
    sa.Column("verdict", sa.String(10), nullable=False),  # right, wrong
    sa.Column("opinion", sa.JSON, nullable=False),  # library.feedback.Opinion
    sa.Column("created", sa.Double, nullable=False),
    sa.Index("ix_feedback_owner_created", "owner", "created"),
)

# ── Server mode ──────────────────────────────────────────────────────────────────────────────────
# Only SHA-256 hashes of session tokens, API keys and tokens in links are stored. The secrets have
# 256 random bits, so a stolen database does not reveal them.


def _account(name: str = "account_id", **options: Any) -> sa.Column[str]:
    key = sa.ForeignKey("accounts.account_id", ondelete="CASCADE")
    return sa.Column(name, ID, key, nullable=False, **options)


accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("account_id", ID, primary_key=True),
    sa.Column("name", sa.String(60), nullable=False),
    sa.Column("name_key", sa.String(240), nullable=False, unique=True),  # see `accounts.name_key`
    sa.Column("role", sa.String(10), nullable=False),
    sa.Column("password", sa.String(200)),  # argon2id; null: provider logins only
    sa.Column("disabled", sa.Boolean, nullable=False, default=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("last_login", sa.Double),
)
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("token_hash", HASH, primary_key=True),
    _account(index=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("seen", sa.Double, nullable=False),
)
api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("key_id", ID, primary_key=True),
    _account(index=True),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("prefix", sa.String(20), nullable=False),
    sa.Column("key_hash", HASH, nullable=False, unique=True),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
    sa.Column("used", sa.Double),
)
password_links = sa.Table(  # each lets one user set a password, once
    "password_links",
    metadata,
    sa.Column("token_hash", HASH, primary_key=True),
    _account(unique=True),
    sa.Column("expires", sa.Double, nullable=False),
)
invitations = sa.Table(  # each lets some users create their accounts
    "invitations",
    metadata,
    sa.Column("invitation_id", ID, primary_key=True),
    sa.Column("token_hash", HASH, nullable=False, unique=True),
    sa.Column("role", sa.String(10), nullable=False),
    sa.Column("uses", sa.Integer, nullable=False),  # that are left
    sa.Column("expires", sa.Double, nullable=False),
)
logins = sa.Table(  # through providers
    "logins",
    metadata,
    sa.Column("provider", sa.String(30), primary_key=True),
    sa.Column("subject", sa.String(200), primary_key=True),  # the user's id at the provider
    _account(index=True),
    sa.Column("name", sa.String(200), nullable=False),  # the user's name at the provider
    sa.Column("created", sa.Double, nullable=False),
)
share_links = sa.Table(
    "share_links",
    metadata,
    sa.Column("link_id", ID, primary_key=True),
    _job(index=True),
    sa.Column("token_hash", HASH, nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
)


def new_id() -> str:
    return secrets.token_urlsafe(16)


def hash_secret(secret: str) -> str:
    """Hash a secret of 256 random bits, which cannot be brute-forced, for storage."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def now() -> float:
    return time.time()


def whole(text: str) -> str:
    r"""Replace NULs and lone surrogates, which databases reject, with "?".

    >>> whole("tex\ud83d\0t")
    'tex??t'
    """
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def iso(at: float) -> str:
    """Format a time as an ISO timestamp in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
