"""Corpora: their documents, searching them, and files that fill them."""
