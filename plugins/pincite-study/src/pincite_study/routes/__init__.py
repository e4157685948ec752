"""Rater studies: made, taken part in, and reported."""
