"""Pincite on more than one machine: a corpus in PostgreSQL or Milvus, bulk work on Ray."""
