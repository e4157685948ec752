"""Pincite on more than one machine: a corpus in PostgreSQL, bulk work on Ray."""
