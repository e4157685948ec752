"""The embedded engine: SQLite is the truth, tantivy finds words, FAISS finds meanings."""
