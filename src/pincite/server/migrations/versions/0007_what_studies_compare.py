"""Studies that compare passages; until now all compared citations."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column(
        "studies",
        sa.Column("compare", sa.String(length=20), nullable=False, server_default="citations"),
    )
    for name in ("n_without_text", "n_one_passage"):
        op.add_column("studies", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.alter_column("study_ratings", "existing_first", new_column_name="baseline_first")
