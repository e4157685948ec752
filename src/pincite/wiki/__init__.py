"""Reads Wikipedia articles into claims with citations and exact spans; writes edit suggestions."""
