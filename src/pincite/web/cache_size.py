"""What the cache of fetched pages holds, and making it smaller, also while a run fetches.

Every step is a short transaction of its own: a run that fetches meanwhile waits for moments, and
asks again for what was taken from under it.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pincite.errors import ConfigError
from pincite.web.cache import DAY, LAYOUT

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
