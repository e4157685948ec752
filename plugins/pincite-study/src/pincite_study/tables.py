"""The tables of studies in the server's database.

Of a rater nothing is kept that names a person: a number, a hash of the key that their browser
holds, and where they have an account a keyed hash of it, whose key is thrown away at the end.
"""

from typing import Any

import sqlalchemy as sa

from pincite_server.tables import HASH, ID, OWNER

metadata = sa.MetaData()
_CASCADE: Any = {"ondelete": "CASCADE"}

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("study_id", ID, primary_key=True),
    sa.Column("owner", OWNER, nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("consent", sa.Text, nullable=False),  # what a rater agrees to
    sa.Column("sample", sa.String(20), nullable=False),  # how the items were chosen
    sa.Column("per_item", sa.Integer, nullable=False),  # ratings that each item is to get
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("compare", sa.String(20), nullable=False, server_default="citations"),
    # Citations of which no two passages could be compared: no text at hand, or no other passage.
    sa.Column("n_without_text", sa.Integer, nullable=False, server_default="0"),
    sa.Column("n_one_passage", sa.Integer, nullable=False, server_default="0"),
    sa.Column("token", ID, unique=True),  # of the invitation link; null: there is none
    sa.Column("salt", HASH),  # of the hashes of accounts; null: the study is closed
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("closed", sa.Double),
    sa.Index("ix_studies_owner_created", "owner", "created", "study_id"),
)
study_items = sa.Table(
    "study_items",
    metadata,
    sa.Column("study_id", ID, sa.ForeignKey(studies.c.study_id, **_CASCADE), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),  # 1, 2, … of its study
    sa.Column("data", sa.JSON, nullable=False),  # an `items.Item`
)
study_raters = sa.Table(
    "study_raters",
    metadata,
    sa.Column("rater_id", ID, primary_key=True),
    sa.Column("study_id", ID, sa.ForeignKey(studies.c.study_id, **_CASCADE), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),  # what reports and exports call them
    sa.Column("key_hash", HASH, unique=True),  # null: imported, nobody can go on as this one
    sa.Column("account_hash", HASH),
    sa.Column("agreed", sa.Double, nullable=False),  # when they agreed to take part
    sa.Column("finished", sa.Double),  # from then on nothing is changed, and the sides are told
    sa.UniqueConstraint("study_id", "number"),
    sa.UniqueConstraint("study_id", "account_hash"),
)
study_ratings = sa.Table(
    "study_ratings",
    metadata,
    sa.Column("rater_id", ID, sa.ForeignKey(study_raters.c.rater_id, **_CASCADE), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),  # 1, 2, … in the order of the rater
    sa.Column("study_id", ID, nullable=False),
    sa.Column("item", sa.Integer, nullable=False),  # its number
    sa.Column("baseline_first", sa.Boolean, nullable=False),  # see `preferences.PAIRS`: as side A
    sa.Column("lease", sa.Double, nullable=False, default=0.0),  # of its place, until then
    sa.Column("shown", sa.Double, nullable=False, default=0.0),  # when it was last opened
    sa.Column("seconds", sa.Double, nullable=False, default=0.0),  # that it was visible, together
    sa.Column("n_answers", sa.Integer, nullable=False, default=0),  # how often it was answered
    sa.Column("answered", sa.Double),  # when, for the last time; null: not yet
    sa.Column("answer", sa.String(10)),  # a, b, neither, both, unsure
    sa.Column("evidence_a", sa.String(10)),  # enough, partial, none
    sa.Column("evidence_b", sa.String(10)),
    sa.UniqueConstraint("rater_id", "item"),
    sa.ForeignKeyConstraint(
        ["study_id", "item"], ["study_items.study_id", "study_items.number"], ondelete="CASCADE"
    ),
    sa.Index("ix_study_ratings_study_item", "study_id", "item"),
)
