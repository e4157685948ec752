"""A cache of fetched pages in one SQLite file.

The key is the cited address. Failures are cached too, for a shorter time. Each page is one
transaction in a write-ahead log, so a kill never leaves a partial page. Pruning uses short
transactions, so a concurrent run waits only briefly.
"""

import gzip
import json
import sqlite3
import threading
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pincite.errors import ConfigError, PinciteWarning

DAY = 86_400.0
LAYOUT = 2  # schema version of the table
_TABLE = """
CREATE TABLE IF NOT EXISTS pages (
    url TEXT PRIMARY KEY, reply TEXT NOT NULL, reason TEXT NOT NULL, fetched REAL NOT NULL,
    expires REAL NOT NULL, body BLOB);
"""
AT_ONCE = 200  # pages removed per transaction, which takes some milliseconds


@dataclass(frozen=True, slots=True)
class Kept:
    """A fetched page, or why it was not fetched (`reason`, a value of `Reason`)."""

    url: str  # as cited, without its fragment
    final_url: str
    status: int | None
    headers: dict[str, str]
    body: bytes | None
    reason: str = ""
    detail: str = ""
    fetched: float = 0.0  # seconds since 1970
    expires: float = 0.0

    @property
    def fresh(self) -> bool:
        return time.time() < self.expires

    def lasting(self, seconds: float) -> "Kept":
        """A copy fetched now that expires after `seconds`."""
        now = time.time()
        return replace(self, fetched=now, expires=now + seconds)


class FetchCache(AbstractContextManager["FetchCache"]):
    """Pages by cited address; safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        """Open or create the file and its folder; falls back to memory if the file is unusable.

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
        self._db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # for a new file: see `prune`
        self._db.execute("PRAGMA journal_mode=WAL")
        # A power cut may lose the last pages, which are fetched again; a kill loses none.
        self._db.execute("PRAGMA synchronous=NORMAL")
        (layout,) = self._db.execute("PRAGMA user_version").fetchone()
        if layout not in (0, LAYOUT):
            raise ConfigError(f"{path} is a cache of another version. Delete it.")
        if layout != LAYOUT:
            self._db.executescript(f"{_TABLE} PRAGMA user_version={LAYOUT};")

    def _warn(self, error: Exception) -> None:
        warnings.warn(
            f"The cache of fetched pages {self._path} cannot be written ({error}). Free some "
            "space, or set web.cache to another file.",
            PinciteWarning,
            stacklevel=3,
        )

    def get(self, url: str) -> Kept | None:
        """Look up an address, expired or not; a damaged body counts as missing."""
        with self._lock:
            row = self._db.execute(
                "SELECT reply, reason, fetched, expires, body FROM pages WHERE url = ?", (url,)
            ).fetchone()
        if row is None:
            return None
        reply, reason, fetched, expires, packed = row
        try:
            body = None if packed is None else gzip.decompress(packed)
        except (OSError, EOFError, zlib.error):
            return None
        known = json.loads(reply)
        facts = {name: known[name] for name in ("final_url", "status", "headers", "detail")}
        return Kept(url, body=body, reason=reason, fetched=fetched, expires=expires, **facts)

    def put(self, kept: Kept) -> None:
        """Store a page, replacing any earlier version; ignores a full or read-only disk."""
        reply = asdict(kept)
        url, reason, fetched, expires, body = (
            reply.pop(name) for name in ("url", "reason", "fetched", "expires", "body")
        )
        packed = gzip.compress(body, 6, mtime=0) if body is not None else None
        row = (url, json.dumps(reply), reason, fetched, expires, packed)
        with self._lock:
            try:
                self._db.execute("REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?)", row)
            except sqlite3.Error as error:
                self._warn(error)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def holdings(path: Path) -> tuple[int, int]:
    """The bytes of a cache's file and log, and the number of its entries; a missing file is empty.

    Raises:
        ConfigError: it is not a cache of this version, or cannot be read.
    """
    if not path.exists():
        return 0, 0
    with _opened(path) as db:
        (n_entries,) = db.execute("SELECT count(*) FROM pages").fetchone()
    log = path.with_name(path.name + "-wal")
    return sum(file.stat().st_size for file in (path, log) if file.exists()), n_entries


def prune(path: Path, older_than_days: float) -> int:
    """Remove older entries and free their space; return the number of addresses removed.

    Raises:
        ConfigError: it is not a cache of this version, or cannot be written.
    """
    if not path.exists():
        return 0
    before = time.time() - older_than_days * DAY
    removed, some = 0, AT_ONCE
    old = "SELECT url FROM pages WHERE fetched < ? LIMIT ?"
    with _opened(path) as db:
        while some == AT_ONCE:
            found = db.execute(f"DELETE FROM pages WHERE url IN ({old})", (before, AT_ONCE))  # noqa: S608
            some = found.rowcount
            removed += some
        db.executescript("PRAGMA incremental_vacuum")  # `execute` frees a single page
        # Best effort: busy readers keep the log for now, and it is reused.
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return removed


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as db:
            (layout,) = db.execute("PRAGMA user_version").fetchone()
            if layout != LAYOUT:
                raise ConfigError(f"{path} is not a cache of fetched pages of this version.")
            yield db
    except sqlite3.Error as error:
        raise ConfigError(
            f"{path} cannot be used as the cache of fetched pages: {error}."
        ) from error
