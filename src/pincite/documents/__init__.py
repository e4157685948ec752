"""Readers, one file per format: bytes in, a `Document` or the reason why there is none out."""
