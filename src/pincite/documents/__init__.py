"""Bytes in, a Document or the reason why there is none out: one file per format."""
