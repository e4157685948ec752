"""Pincite on more than one machine: a corpus in Milvus, bulk work on Ray."""
