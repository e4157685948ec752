"""Doctests, as in the core."""

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A module without an example is not imported to look for one: some need torch."""
    if collection_path.suffix != ".py":
        return None
    return True if ">>>" not in collection_path.read_text(encoding="utf-8") else None
