"""Corpora of a server: the register, files on their way in, what is kept open."""
