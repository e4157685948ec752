"""Texts and times as a database and JSON take them."""

from datetime import UTC, datetime


def whole(text: str) -> str:
    r"""The text with a "?" for what UTF-8 cannot write and databases refuse.

    >>> whole("tex\ud83d\0t")
    'tex??t'
    """
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def iso(at: float) -> str:
    """A time for people and programs: UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
