"""The JSON of a check, for tests that look at a few of its values."""

from typing import Any


def readings(report: Any) -> list[dict[str, Any]]:
    """The readings of the first statement."""
    found: list[dict[str, Any]] = report["checks"][0]["readings"]
    return found
