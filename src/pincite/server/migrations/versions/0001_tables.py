"""All tables. Nothing was released yet: at the first release they are written out here."""

from alembic import op

from pincite.server.tables import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    metadata.create_all(op.get_bind())
