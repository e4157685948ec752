"""A corpus in a folder: SQLite, tantivy and FAISS behind one API, checksummed and crash-safe."""
