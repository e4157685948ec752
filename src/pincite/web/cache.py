"""What was fetched is kept, so that no page is asked for twice: one SQLite file.

The key is the cited address, not what came: pages change their counters every second. Bodies are
stored once by their hash, packed. A failure is kept too, for a shorter time. Each page is one
transaction in a write-ahead log: after a kill the page is there or it is not. Making the cache
smaller is done in short transactions, so that a run that fetches meanwhile waits for moments.
"""

import contextlib
import gzip
import hashlib
import json
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

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


class FetchCache(AbstractContextManager["FetchCache"]):
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
        headers, redirects, notes = (json.loads(row[n]) for n in (2, 4, 5))
        known = (headers, body, tuple(redirects), tuple(notes))
        return Kept(url, row[0], row[1], *known, *row[6:10])

    def put(self, kept: Kept) -> None:
        """Keep a page in place of what was kept of its address, as far as the disk allows it."""
        body = kept.body
        digest = hashlib.sha256(body).digest() if body is not None else None
        headers, redirects, notes = map(json.dumps, (kept.headers, kept.redirects, kept.notes))
        row = (
            *(kept.url, kept.final_url, kept.status, headers, digest, redirects, notes),
            *(kept.reason, kept.detail, kept.fetched, kept.expires),
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

    def __exit__(self, *error: object) -> None:
        self.close()


def _unpacked(packed: bytes | None, digest: bytes) -> bytes | None:
    try:
        body = gzip.decompress(packed or b"")
    except (OSError, EOFError):
        return None
    return body if hashlib.sha256(body).digest() == digest else None


AT_ONCE = 200  # pages that one transaction removes: some milliseconds
FREED_AT_ONCE = 500  # pages of the file, of 4 kB each, that one transaction gives back


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a cache holds."""

    n_bytes: int  # of the file and its log on the disk
    n_pages: int
    n_failures: int
    n_robots: int  # robots.txt of hosts, in neither of the counts above
    n_expired: int  # of all of them: they are asked for again when they are wanted
    oldest: float | None  # seconds since 1970, of the request; None of an empty cache
    newest: float | None


def holdings(path: Path) -> Holdings:
    """What the cache in a file holds; of a file that is not there, nothing.

    Raises:
        ConfigError: it is no cache of this version, or cannot be read.
    """
    if not path.exists():
        return Holdings(0, 0, 0, 0, 0, None, None)
    with _opened(path) as db:
        row = db.execute(
            "SELECT count(*) FILTER (WHERE reason = '' AND NOT robots), "
            "count(*) FILTER (WHERE reason != '' AND NOT robots), count(*) FILTER (WHERE robots), "
            "count(*) FILTER (WHERE expires <= ?), min(fetched), max(fetched) "
            "FROM (SELECT *, url LIKE '%://%/robots.txt' AND url NOT LIKE '%://%/%/%' AS robots "
            "FROM pages)",
            (time.time(),),
        ).fetchone()
    return Holdings(_size(path), *row)


def prune(path: Path, older_than_days: float) -> int:
    """Remove what was fetched longer ago, and give its room back; how many addresses that were.

    Raises:
        ConfigError: it is no cache of this version, or cannot be written.
    """
    if not path.exists():
        return 0
    before = time.time() - older_than_days * DAY
    removed = 0
    with _opened(path) as db:
        while n := _removed(db, before):
            removed += n
        while _freed(db):
            pass
        # Best effort: readers that are busy keep the log for now, and it is used again.
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return removed


def _removed(db: sqlite3.Connection, before: float) -> int:
    """One portion: addresses, and the bodies that no other address has."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        urls = db.execute(
            "SELECT url, sha256 FROM pages WHERE fetched < ? LIMIT ?", (before, AT_ONCE)
        ).fetchall()
        db.executemany("DELETE FROM pages WHERE url = ?", [(url,) for url, _ in urls])
        db.executemany(
            "DELETE FROM bodies WHERE sha256 = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM pages WHERE sha256 = ?1)",
            [(digest,) for _, digest in urls if digest],
        )
    return len(urls)


def _freed(db: sqlite3.Connection) -> bool:
    """One portion of the file's empty pages is given back; whether there was any."""
    (before,) = db.execute("PRAGMA freelist_count").fetchone()
    db.execute(f"PRAGMA incremental_vacuum({FREED_AT_ONCE})").fetchall()
    (after,) = db.execute("PRAGMA freelist_count").fetchone()
    return bool(0 < after < before)


def _size(path: Path) -> int:
    beside = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in beside if file.exists())


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as db:
            (layout,) = db.execute("PRAGMA user_version").fetchone()
            if layout != LAYOUT:
                raise ConfigError(f"{path} is no cache of fetched pages of this version.")
            yield db
    except sqlite3.Error as error:
        raise ConfigError(
            f"{path} cannot be used as the cache of fetched pages: {error}."
        ) from error
