"""Jobs, corpora, feedback."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "corpora",
        sa.Column("corpus_id", sa.String(length=22), nullable=False),
        sa.Column("owner", sa.String(length=22), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("shared", sa.String(length=10), nullable=False),
        sa.Column("group_id", sa.String(length=22), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("corpus_id", name=op.f("pk_corpora")),
        sa.UniqueConstraint("owner", "name", name=op.f("uq_corpora_owner_name")),
    )
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.String(length=22), nullable=False),
        sa.Column("owner", sa.String(length=22), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("started", sa.Double(), nullable=True),
        sa.Column("finished", sa.Double(), nullable=True),
        sa.Column("worker", sa.String(length=80), nullable=True),
        sa.Column("lease", sa.Double(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("cancelled", sa.Boolean(), nullable=False),
        sa.Column("problem", sa.JSON(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("n_events", sa.Integer(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200), nullable=True),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("owner", "idempotency_key", name=op.f("uq_jobs_owner_idempotency_key")),
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index("ix_jobs_owner_created", ["owner", "created", "job_id"], unique=False)
        batch_op.create_index("ix_jobs_status_created", ["status", "created"], unique=False)

    op.create_table(
        "feedback",
        sa.Column("feedback_id", sa.String(length=22), nullable=False),
        sa.Column("owner", sa.String(length=22), nullable=False),
        sa.Column("job_id", sa.String(length=22), nullable=True),
        sa.Column("item", sa.String(length=200), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column("label", sa.String(length=30), nullable=True),
        sa.Column("quote", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("row", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.job_id"], name=op.f("fk_feedback_job_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("feedback_id", name=op.f("pk_feedback")),
    )
    with op.batch_alter_table("feedback", schema=None) as batch_op:
        batch_op.create_index("ix_feedback_owner_created", ["owner", "created"], unique=False)

    op.create_table(
        "job_events",
        sa.Column("job_id", sa.String(length=22), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.job_id"], name=op.f("fk_job_events_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_job_events")),
    )
    op.create_table(
        "job_files",
        sa.Column("job_id", sa.String(length=22), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.job_id"], name=op.f("fk_job_files_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "name", name=op.f("pk_job_files")),
    )
