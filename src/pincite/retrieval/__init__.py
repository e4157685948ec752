"""Finds evidence: queries, filters, fusion of rankings."""
