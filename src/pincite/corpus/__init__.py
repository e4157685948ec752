"""A corpus in a folder: SQLite, tantivy and FAISS behind one door, checksummed and crash-safe."""
