"""Logits that were computed once and are kept, so that a run can be stopped and go on.

The key is a hash over the network's fingerprint, the claim's text and the passage's text: another
network, an edited claim or a changed page is computed anew, a new calibration or threshold is not.
Every chunk is committed when it is done; Ctrl-C or a kill loses the chunk in work and nothing else.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np

from pincite.errors import PinciteError
from pincite.protocols import Floats

COMMIT_EVERY = 64  # rows: about a second of work on two cores
_STORED = "<f4"  # the same file serves machines of either byte order
_LOOKUP = 500  # keys in one SELECT; SQLite's limit on variables is higher everywhere
T = TypeVar("T")

TextPairs = Sequence[tuple[str, str]]  # claim, passage


class JudgedPairs:
    """A file of known logits; several processes may share it."""

    def __init__(self, path: Path, network: str) -> None:
        """Open or make the file at `path` for the network with this fingerprint."""
        self._network = network
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS outputs (key BLOB PRIMARY KEY, logits BLOB)"
                " WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise PinciteError(
                f"{path}, where judged pairs are kept, cannot be used ({error}). Delete it, or "
                "set PINCITE_CACHE to another folder."
            ) from error

    def logits(self, pairs: TextPairs, compute: Callable[[TextPairs], Floats]) -> Floats:
        """(n_pairs, n_labels) float32; `compute` is asked in chunks, for unknown pairs only."""
        keys = [self._key(pair) for pair in pairs]
        known = self._known(keys)
        todo = list({key: i for i, key in enumerate(keys) if key not in known}.values())
        todo.sort(key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))  # chunks of like lengths
        for chunk in _chunks(todo, COMMIT_EVERY):
            fresh = compute([pairs[i] for i in chunk])
            rows = [
                (keys[i], row.astype(_STORED).tobytes())
                for i, row in zip(chunk, fresh, strict=True)
            ]
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO outputs VALUES (?, ?)", rows)
            known.update(rows)
        stored = np.frombuffer(b"".join(known[key] for key in keys), dtype=_STORED)
        return stored.reshape(len(keys), -1 if keys else 1).astype(np.float32)

    def close(self) -> None:
        """Close the file; the object is of no use afterwards."""
        self._db.close()

    def _key(self, pair: tuple[str, str]) -> bytes:
        content = "\0".join((self._network, *pair))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()[:16]

    def _known(self, keys: list[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for chunk in _chunks(keys, _LOOKUP):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, logits FROM outputs WHERE key IN ({marks})"  # noqa: S608 - marks
            found.update(self._db.execute(query, chunk).fetchall())
        return found


def n_kept(path: Path) -> int:
    """How many pairs a file of judged pairs holds; of a file that is not there, none.

    Raises:
        PinciteError: it is something else, or cannot be read.
    """
    return _done(path, "SELECT count(*) FROM outputs") if path.exists() else 0


def forget(path: Path) -> int:
    """Empty a file of judged pairs, also while a run uses it; returns how many there were."""
    n = n_kept(path)
    if n:
        _done(path, "DELETE FROM outputs")
        _done(path, "VACUUM")
    return n


def _done(path: Path, statement: str) -> int:
    try:
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as db:
            row = db.execute(statement).fetchone()
            return int(row[0]) if row else 0
    except sqlite3.Error as error:
        raise PinciteError(
            f"{path}, where judged pairs are kept, cannot be used: {error}."
        ) from error


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
