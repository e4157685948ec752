"""The tables of watched articles and of their findings."""

from enum import StrEnum

import sqlalchemy as sa

from pincite_server.tables import HASH, ID

metadata = sa.MetaData()
LONGEST = 300  # characters of what is counted
WIKI = sa.String(255)  # the wiki's host, and its path unless that is the usual one


class State(StrEnum):
    """What has become of a finding."""

    LIVE = "live"
    WITHDRAWN = "withdrawn"  # its sentence, reference or source has gone or changed
    EXPIRED = "expired"  # not confirmed in time; a later check of its page revives it


findings = sa.Table(  # all of them, with those that have ended
    "watch_findings",
    metadata,
    sa.Column("finding_id", ID, primary_key=True),
    sa.Column("wiki", WIKI, nullable=False),
    sa.Column("page_id", sa.BigInteger, nullable=False),
    sa.Column("claim_hash", sa.String(12), nullable=False),  # `Claim.claim_id`
    sa.Column("claim_sha256", HASH, nullable=False),  # see `carry`
    sa.Column("source_hash", HASH, nullable=False),
    sa.Column("context", HASH, nullable=False),  # see `carry`, as the next one
    sa.Column("inputs", HASH, nullable=False),
    sa.Column("verifier", sa.Text, nullable=False),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("claim", sa.Text, nullable=False),
    # Of the claim in the wikitext of `revision`, the last one in which it was seen.
    sa.Column("span_start", sa.Integer, nullable=False),
    sa.Column("span_end", sa.Integer, nullable=False),
    sa.Column("span_sha256", HASH, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),  # gate.Kind
    sa.Column("rank", sa.Integer, nullable=False),  # worst first
    sa.Column("published", sa.Boolean, nullable=False),  # it passed the gate
    sa.Column("private", sa.Boolean, nullable=False),  # it quotes what only the operator may read
    sa.Column("hidden", sa.String(10)),  # why editors hid it; null: they did not
    sa.Column("record", sa.JSON, nullable=False),  # gate.Record
    sa.Column("judged", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
    sa.Index("ix_watch_findings_page", "wiki", "page_id", "state"),
    sa.Index("ix_watch_findings_rank", "wiki", "state", "published", "rank", "finding_id"),
)
pages = sa.Table(  # the watched articles, and the queue: those with a time in `due`
    "watch_pages",
    metadata,
    sa.Column("wiki", WIKI, primary_key=True),
    sa.Column("title", sa.String(255), primary_key=True),
    sa.Column("page_id", sa.BigInteger),  # null: not read yet
    sa.Column("priority", sa.Integer, nullable=False),  # the highest is checked first
    sa.Column("due", sa.Double),
    sa.Column("changed", sa.Double),  # the first edit since the last check
    sa.Column("revision", sa.BigInteger),  # the last one that was checked
    sa.Column("failures", sa.Integer, nullable=False, default=0),  # in a row
    sa.Column("problem", sa.Text),  # why the last check failed
    sa.Index("ix_watch_pages_due", "due", "priority"),
    sa.Index("ix_watch_pages_page", "wiki", "page_id"),
)
counts = sa.Table(  # what was used and done on each day, UTC
    "watch_counts",
    metadata,
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("what", sa.String(LONGEST), primary_key=True),
    sa.Column("n", sa.Double, nullable=False),
)
notes = sa.Table(  # of each wiki: what is watched, read up to where, whether findings are public
    "watch_notes",
    metadata,
    sa.Column("wiki", WIKI, primary_key=True),
    sa.Column("name", sa.String(20), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
