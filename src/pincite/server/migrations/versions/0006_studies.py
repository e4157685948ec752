"""Blind studies."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("study_id", sa.String(length=22), nullable=False),
        sa.Column("owner", sa.String(length=22), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("consent", sa.Text(), nullable=False),
        sa.Column("sample", sa.String(length=20), nullable=False),
        sa.Column("per_item", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.String(length=22), nullable=True),
        sa.Column("salt", sa.String(length=64), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("closed", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("study_id", name=op.f("pk_studies")),
        sa.UniqueConstraint("token", name=op.f("uq_studies_token")),
    )
    op.create_index("ix_studies_owner_created", "studies", ["owner", "created", "study_id"])
    op.create_table(
        "study_items",
        sa.Column("study_id", sa.String(length=22), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.study_id"],
            name=op.f("fk_study_items_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_study_items")),
    )
    op.create_table(
        "study_raters",
        sa.Column("rater_id", sa.String(length=22), nullable=False),
        sa.Column("study_id", sa.String(length=22), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=True),
        sa.Column("account_hash", sa.String(length=64), nullable=True),
        sa.Column("agreed", sa.Double(), nullable=False),
        sa.Column("finished", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.study_id"],
            name=op.f("fk_study_raters_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("rater_id", name=op.f("pk_study_raters")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_study_raters_key_hash")),
        sa.UniqueConstraint("study_id", "number", name=op.f("uq_study_raters_study_id_number")),
        sa.UniqueConstraint(
            "study_id", "account_hash", name=op.f("uq_study_raters_study_id_account_hash")
        ),
    )
    op.create_table(
        "study_ratings",
        sa.Column("rater_id", sa.String(length=22), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.String(length=22), nullable=False),
        sa.Column("item", sa.Integer(), nullable=False),
        sa.Column("existing_first", sa.Boolean(), nullable=False),
        sa.Column("lease", sa.Double(), nullable=False),
        sa.Column("shown", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("n_answers", sa.Integer(), nullable=False),
        sa.Column("answered", sa.Double(), nullable=True),
        sa.Column("answer", sa.String(length=10), nullable=True),
        sa.Column("evidence_a", sa.String(length=10), nullable=True),
        sa.Column("evidence_b", sa.String(length=10), nullable=True),
        sa.ForeignKeyConstraint(
            ["rater_id"],
            ["study_raters.rater_id"],
            name=op.f("fk_study_ratings_rater_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id", "item"],
            ["study_items.study_id", "study_items.number"],
            name=op.f("fk_study_ratings_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("rater_id", "position", name=op.f("pk_study_ratings")),
        sa.UniqueConstraint("rater_id", "item", name=op.f("uq_study_ratings_rater_id_item")),
    )
    op.create_index("ix_study_ratings_study_item", "study_ratings", ["study_id", "item"])
