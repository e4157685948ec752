"""A cache in one SQLite file, or in memory after a warning if the file cannot be used."""

import os
import sqlite3
import threading
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from pincite.errors import PinciteWarning

LOOKUP = 500  # keys per SELECT, below SQLite's limit on variables on every platform


def cache_folder() -> Path:
    """Return the user's cache: `PINCITE_CACHE`, or the platform's folder."""
    return Path(os.environ.get("PINCITE_CACHE") or platformdirs.user_cache_dir("pincite"))


def data_path(name: str, chosen: str = "") -> Path:
    """Return the path that a setting chose, else that of `name` in the user's data folder."""
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("pincite") / name


class CacheFile:
    """One table of keys and values; threads and processes may share the file."""

    def __init__(self, path: Path, table: str) -> None:
        """Open or create the file. `table` is the table definition, without CREATE TABLE."""
        self._path, self._lock, self._warned = path, threading.Lock(), False
        self._name = table.partition("(")[0].strip()
        create = f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(create)
        except (OSError, sqlite3.Error) as error:
            self._warn(error)
            self._db = sqlite3.connect(":memory:", check_same_thread=False)
            self._db.execute(create)

    def rows(self, query: str, keys: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a SELECT; returns no rows if the file is damaged."""
        try:
            with self._lock:
                return self._db.execute(query, keys).fetchall()
        except sqlite3.DatabaseError as error:
            self._warn(error)
            return []

    def values(self, column: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), LOOKUP):
            some = keys[start : start + LOOKUP]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, {column} FROM {self._name} WHERE key IN ({marks})"  # noqa: S608
            found.update(self.rows(query, some))
        return found

    def insert(self, rows: Iterable[tuple[object, object]]) -> None:
        self._written(f"INSERT OR REPLACE INTO {self._name} VALUES (?, ?)", rows)  # noqa: S608

    def clear(self) -> int:
        """Remove all rows and free the space; returns the number of rows removed."""
        n = self._written(f"DELETE FROM {self._name} WHERE ?", [(1,)])  # noqa: S608
        with self._lock:
            self._db.execute("VACUUM")
        return n

    def n_rows(self) -> int:
        found = self.rows(f"SELECT count(*) FROM {self._name}")  # noqa: S608
        return int(found[0][0]) if found else 0

    def close(self) -> None:
        self._db.close()

    def _written(self, statement: str, rows: Iterable[tuple[object, ...]]) -> int:
        try:
            with self._lock, self._db:
                return self._db.executemany(statement, rows).rowcount
        except sqlite3.Error as error:
            self._warn(error)
            return 0

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            warnings.warn(
                f"The cache {self._path} cannot be used ({error}), so nothing is reused. Free "
                "disk space, delete the file if it is a damaged cache, or choose another "
                "file with web.cache or PINCITE_CACHE.",
                PinciteWarning,
                stacklevel=4,
            )
        self._warned = True
