"""Corpora: a deletion under way, and what could not be read."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("corpora", sa.Column("deleted", sa.Double(), nullable=True))
    op.create_table(
        "corpus_problems",
        sa.Column("corpus_id", sa.String(length=22), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("reason", sa.String(length=30), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"],
            ["corpora.corpus_id"],
            name=op.f("fk_corpus_problems_corpus_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("corpus_id", "number", name=op.f("pk_corpus_problems")),
    )
