"""Runs the migrations on the connection that `Database.migrate` gives, in its transaction."""

from alembic import context

from pincite.server.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
