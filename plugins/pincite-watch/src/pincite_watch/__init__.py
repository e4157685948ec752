"""Findings that follow the articles of a wiki as they are edited: `pincite watch`."""
