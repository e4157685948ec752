"""A cache of fetched pages in one SQLite file.

The key is the cited address. Failures are cached too, for a shorter time.
"""

import contextlib
import gzip
import json
import sqlite3
import time
import zlib
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pincite.durable import CacheFile

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A fetched page, or why it was not fetched (`reason`, a value of `Reason`)."""

    url: str  # as cited, without its fragment
    final_url: str
    status: int | None
    body: bytes = b""
    content_type: str = ""
    reason: str = ""
    detail: str = ""
    fetched: float = 0.0  # seconds since 1970
    expires: float = 0.0
    etag: str = ""  # validators of a conditional request
    modified: str = ""

    def lasting(self, seconds: float) -> "CachedPage":
        """A copy fetched now that expires after `seconds`."""
        now = time.time()
        return replace(self, fetched=now, expires=now + seconds)

    @property
    def validators(self) -> dict[str, str]:
        """Headers that request the page only if it has changed."""
        headers = {"if-none-match": self.etag, "if-modified-since": self.modified}
        return {name: value for name, value in headers.items() if value}


class FetchCache(CacheFile, AbstractContextManager["FetchCache"]):
    """Pages by cited address; threads and processes may share the file."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; falls back to memory, with a warning, if it is unusable."""
        table = "fetched_pages (url TEXT PRIMARY KEY, fetched REAL NOT NULL, page BLOB NOT NULL)"
        super().__init__(path, table)

    def get(self, url: str) -> CachedPage | None:
        """Look up an address; an expired or damaged page counts as missing."""
        page = self.stored(url)
        return page if page and time.time() < page.expires else None

    def stored(self, url: str) -> CachedPage | None:
        """Look up an address, expired or not."""
        for (packed,) in self.rows("SELECT page FROM fetched_pages WHERE url = ?", (url,)):
            with contextlib.suppress(OSError, EOFError, zlib.error, ValueError):
                head, _, body = gzip.decompress(packed).partition(b"\n")
                return CachedPage(body=body, **json.loads(head))
        return None

    def put(self, page: CachedPage) -> None:
        """Store a page, replacing any earlier version."""
        facts = asdict(page)
        body = facts.pop("body")
        packed = gzip.compress(json.dumps(facts).encode() + b"\n" + body, 6, mtime=0)
        row = (page.url, page.fetched, packed)
        self._written("INSERT OR REPLACE INTO fetched_pages VALUES (?, ?, ?)", [row])

    def prune(self, older_than_days: float) -> int:
        """Remove older pages, and free their space; returns their number."""
        before = time.time() - older_than_days * DAY
        n_removed = self._written("DELETE FROM fetched_pages WHERE fetched < ?", [(before,)])
        with self._lock, contextlib.suppress(sqlite3.OperationalError):  # locked by another run
            self._db.execute("VACUUM")
        return n_removed

    def __exit__(self, *error: object) -> None:
        self.close()


def holdings(path: Path) -> tuple[int, int]:
    """The bytes of a cache's file and log, and the number of its pages; a missing file is empty."""
    if not path.exists():
        return 0, 0
    with FetchCache(path) as cache:
        n_pages = cache.n_rows()
    log = path.with_name(path.name + "-wal")
    return sum(file.stat().st_size for file in (path, log) if file.exists()), n_pages
