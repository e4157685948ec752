"""How SQLite is opened, and what its refusals mean."""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pincite.corpus.rows import damaged
from pincite.errors import CorpusError


def connect(uri: str) -> sqlite3.Connection:
    """An open connection, set up as the store needs it; raises CorpusError."""
    try:
        # One connection serves a server's worker threads in turn; the corpus serialises them.
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        # FULL: a batch took minutes to encode, so one flush of the disk is no price for keeping
        # it through a power cut; and no derived index can then be ahead of the truth.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA busy_timeout=10000")
        connection.execute(f"PRAGMA journal_size_limit={64 << 20}")
    except sqlite3.OperationalError as error:
        raise CorpusError(failed(Path(uri), error)) from error
    except sqlite3.DatabaseError as error:
        raise CorpusError(damaged(Path(uri), str(error))) from error
    return connection


def selected(connection: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> list[Any]:
    """The rows of a statement. Texts may hold half a surrogate pair, left by a broken page.

    SQLite's own way of reading texts refuses those, and takes a tenth of a search less time: it is
    left for good at the first.
    """
    try:
        return connection.execute(sql, arguments).fetchall()
    except sqlite3.OperationalError as error:
        if connection.text_factory is not str or "decode" not in str(error):
            raise
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogatepass")
    return connection.execute(sql, arguments).fetchall()


def mode(path: Path, write: bool) -> str:
    """A reader needs SQLite's two side files; where it may not make them, the file stands still."""
    if write:
        return "mode=rw"
    log = path.with_name(f"{path.name}-wal")
    if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return "mode=ro"
    return "mode=ro&immutable=1"


def failed(path: Path, error: sqlite3.OperationalError) -> str:
    """The message about a file that could not be read or written now."""
    return (
        f"{path}: {error}. What was committed before stays, and nothing else was written. Is the "
        "disk full, or the file on a medium that cannot be written or read?"
    )
