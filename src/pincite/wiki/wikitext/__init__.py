"""Wikitext as a tree with exact offsets, and what a reader sees of it."""
