"""Queries, filters, rankings made one: how evidence is found, whatever holds it."""
