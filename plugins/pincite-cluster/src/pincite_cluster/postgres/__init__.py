"""A corpus in a PostgreSQL with pgvector: the engine of `postgresql://` addresses."""
