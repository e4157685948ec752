"""What was fetched is kept, so that no page is asked for twice: one SQLite file.

The key is the cited address, not what came: pages change their counters every second. Bodies are
stored once by their hash, packed. A failure is kept too, for a shorter time. Each page is one
transaction in a write-ahead log: after a kill the page is there or it is not.
"""

import contextlib
import gzip
import hashlib
import json
import sqlite3
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pincite.errors import ConfigError, PinciteWarning

DAY = 86_400.0
LAYOUT = 1  # of the tables; another layout is another file's business
_TABLES = """
CREATE TABLE IF NOT EXISTS bodies (
    sha256 BLOB PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
    url TEXT PRIMARY KEY, final_url TEXT NOT NULL, status INTEGER, headers TEXT NOT NULL,
    sha256 BLOB REFERENCES bodies, redirects TEXT NOT NULL, notes TEXT NOT NULL,
    reason TEXT NOT NULL, detail TEXT NOT NULL, fetched REAL NOT NULL, expires REAL NOT NULL);
CREATE INDEX IF NOT EXISTS pages_by_body ON pages (sha256);
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A page as it was fetched, or why it was not (`reason`, a value of `Reason`)."""

    url: str  # as cited, without its fragment
    final_url: str
    status: int | None
    headers: dict[str, str]
    body: bytes | None
    redirects: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    detail: str = ""
    fetched: float = 0.0  # seconds since 1970
    expires: float = 0.0

    @property
    def fresh(self) -> bool:
        """Whether it may be used without asking its host."""
        return time.time() < self.expires


class FetchCache:
    """Pages by cited address; safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or makes it; its folder too. Memory takes its place if it cannot be used.

        Raises:
            ConfigError: it is a cache of another version.
        """
        self._path, self._lock = path, threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open(str(path))
        except (OSError, sqlite3.Error) as error:
            self._warn(error)
            self._open(":memory:")

    def _open(self, path: str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA busy_timeout=10000")
        self._db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file: see fetch_keeping
        self._db.execute("PRAGMA journal_mode=WAL")
        # A power cut may lose the last pages, which are fetched again; a kill loses none.
        self._db.execute("PRAGMA synchronous=NORMAL")
        (layout,) = self._db.execute("PRAGMA user_version").fetchone()
        if layout not in (0, LAYOUT):
            raise ConfigError(f"{path} is a cache of another version. Delete it.")
        if layout != LAYOUT:
            self._db.executescript(f"{_TABLES} PRAGMA user_version={LAYOUT};")

    def _warn(self, error: Exception) -> None:
        what = f"The cache of fetched pages {self._path} cannot be written ({error})."
        warnings.warn(
            f"{what} Free some space, or set web.cache to another file.",
            PinciteWarning,
            stacklevel=3,
        )

    def get(self, url: str) -> Kept | None:
        """What is kept of an address, fresh or not; a body that is damaged counts as not kept."""
        with self._lock:
            row = self._db.execute(
                "SELECT p.final_url, status, headers, packed, redirects, notes, reason, detail, "
                "fetched, expires, p.sha256 FROM pages p LEFT JOIN bodies USING (sha256) "
                "WHERE url = ?",
                (url,),
            ).fetchone()
        if row is None:
            return None
        body = None
        if row[10] is not None:
            body = _unpacked(row[3], row[10])
            if body is None:
                return None
        return Kept(
            url,
            row[0],
            row[1],
            json.loads(row[2]),
            body,
            tuple(json.loads(row[4])),
            tuple(json.loads(row[5])),
            row[6],
            row[7],
            row[8],
            row[9],
        )

    def put(self, kept: Kept) -> None:
        """Keep a page in place of what was kept of its address, as far as the disk allows it."""
        body = kept.body
        digest = hashlib.sha256(body).digest() if body is not None else None
        row = (
            kept.url,
            kept.final_url,
            kept.status,
            json.dumps(kept.headers),
            digest,
            json.dumps(kept.redirects),
            json.dumps(kept.notes),
            kept.reason,
            kept.detail,
            kept.fetched,
            kept.expires,
        )
        packed = gzip.compress(body, 6, mtime=0) if body is not None else b""
        with self._lock:
            try:
                self._store(row, digest, packed)
            except sqlite3.Error as error:
                self._warn(error)
            finally:
                with contextlib.suppress(sqlite3.Error):
                    if self._db.in_transaction:  # it did not come to its end
                        self._db.execute("ROLLBACK")

    def _store(self, row: Sequence[object], digest: bytes | None, packed: bytes) -> None:
        """One transaction: the page, its body, and the body before if nobody else has it."""
        self._db.execute("BEGIN IMMEDIATE")
        old = self._db.execute("SELECT sha256 FROM pages WHERE url = ?", row[:1]).fetchone()
        if digest is not None:  # in place of a body that rotted, too
            self._db.execute("REPLACE INTO bodies VALUES (?, ?)", (digest, packed))
        self._db.execute("REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        if old and old[0] not in (None, digest):
            self._db.execute(
                "DELETE FROM bodies WHERE sha256 = ? AND NOT EXISTS "
                "(SELECT 1 FROM pages WHERE sha256 = ?)",
                (old[0], old[0]),
            )
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _unpacked(packed: bytes | None, digest: bytes) -> bytes | None:
    try:
        body = gzip.decompress(packed or b"")
    except (OSError, EOFError):
        return None
    return body if hashlib.sha256(body).digest() == digest else None
