"""Which files a corpus's documents came from, in a small SQLite file beside the corpus.

Searches do not depend on it. It is written after the documents are committed, so a kill between the
two means reading one file again. Without it, the next update reads all files.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pincite.corpus.store import raw
from pincite.errors import CorpusError

ORIGINS = "origins.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS files (path BLOB PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    url BLOB NOT NULL, path BLOB NOT NULL REFERENCES files ON DELETE CASCADE,
    PRIMARY KEY (url, path)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS documents_of_file ON documents (path);
CREATE TABLE IF NOT EXISTS withdrawn (
    url BLOB NOT NULL, path BLOB NOT NULL, PRIMARY KEY (url, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gone (url BLOB PRIMARY KEY, path BLOB NOT NULL) WITHOUT ROWID;
"""
_FILES_BELOW = "SELECT path FROM files WHERE path = ? OR (path > ? AND path < ?) ORDER BY path"
_GONE_BELOW = "SELECT url FROM gone WHERE path = ? OR (path > ? AND path < ?)"
_FILES_NAMING = (
    "SELECT path FROM documents WHERE url = ? UNION SELECT path FROM withdrawn WHERE url = ?"
)
_MAKE_GONE = "INSERT OR REPLACE INTO gone SELECT url, path FROM documents WHERE path = ?"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What is remembered of a file that was read."""

    path: Path
    signature: str  # empty if a part was unreadable: the next update reads it again
    urls: Sequence[str]  # of its documents


class Origins:
    """The source files by full path, each with a signature and the addresses of its documents."""

    def __init__(self, corpus: Path | None, *, write: bool = True) -> None:
        """Open or create a corpus's file; without `write`, work on a copy. Raises CorpusError."""
        self._path = corpus / ORIGINS if corpus else Path(":memory:")
        with self._report_errors():
            self._connection = sqlite3.connect(self._path if write else ":memory:")
            self._connection.execute("PRAGMA foreign_keys=ON")
            if not write and self._path.exists():
                uri = f"{self._path.resolve().as_uri()}?mode=ro"
                with sqlite3.connect(uri, uri=True) as stored:
                    stored.backup(self._connection)
                stored.close()
            self._connection.executescript(_TABLES)

    def in_memory(self) -> "Origins":
        """Return a copy, for a dry run to change."""
        copy = Origins(None)
        with self._report_errors():
            self._connection.backup(copy._connection)
        return copy

    def __enter__(self) -> "Origins":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def signature(self, path: Path) -> str:
        """Return the file's signature when last read; empty if it was never read to the end."""
        rows = self._rows("SELECT signature FROM files WHERE path = ?", (_key(path),))
        return str(rows[0][0]) if rows else ""

    def urls_in(self, path: Path) -> list[str]:
        rows = self._rows("SELECT url FROM documents WHERE path = ? ORDER BY url", (_key(path),))
        return [_text(url) for (url,) in rows]

    def files_naming(self, url: str) -> list[Path]:
        """Return the files that contained the document at `url`, or withdrew it."""
        return self._paths(_FILES_NAMING, (raw(url), raw(url)))

    def files(self) -> list[Path]:
        """Return all known files, including those that withdrew documents."""
        return self._paths("SELECT path FROM files UNION SELECT path FROM withdrawn", ())

    def files_below(self, paths: Iterable[Path]) -> list[Path]:
        """Return the known files that are among `paths` or below them."""
        return [file for path in paths for file in self._paths(_FILES_BELOW, _range(path))]

    def gone_below(self, paths: Iterable[Path]) -> list[str]:
        """Return addresses that files below `paths` once had and that no known file has now."""
        urls = {url for path in paths for (url,) in self._rows(_GONE_BELOW, _range(path))}
        held = "SELECT 1 FROM documents WHERE url = ? LIMIT 1"
        return sorted(_text(url) for url in urls if not self._rows(held, (url,)))

    def record(self, files: Iterable[ReadFile]) -> None:
        """Record files with their addresses, in one transaction.

        Addresses that a file no longer has are gone.
        """
        with self._report_errors(), self._connection:
            for file in files:
                key = _key(file.path)
                self._remove_file(key)
                self._connection.execute("INSERT INTO files VALUES (?, ?)", (key, file.signature))
                rows = [(raw(url), key) for url in file.urls]
                self._connection.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?)", rows)
                for table in ("gone", "withdrawn"):
                    statement = f"DELETE FROM {table} WHERE url = ? AND path = ?"  # noqa: S608
                    self._connection.executemany(statement, rows)

    def withdraw(self, withdrawn: Mapping[str, Path]) -> None:
        """Record addresses that a file withdraws: earlier files must not restore them."""
        rows = [(raw(url), _key(path)) for url, path in sorted(withdrawn.items())]
        with self._report_errors(), self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO withdrawn VALUES (?, ?)", rows)

    def forget_files(self, paths: Iterable[Path]) -> None:
        """Forget deleted files; their addresses are gone."""
        with self._report_errors(), self._connection:
            for path in paths:
                self._remove_file(_key(path))

    def _remove_file(self, key: bytes) -> None:
        self._connection.execute(_MAKE_GONE, (key,))
        self._connection.execute("DELETE FROM files WHERE path = ?", (key,))

    def forget_gone(self, urls: Iterable[str]) -> None:
        """Forget gone addresses that are not in the corpus any more."""
        with self._report_errors(), self._connection:
            rows = [(raw(url),) for url in urls]
            self._connection.executemany("DELETE FROM gone WHERE url = ?", rows)

    def _paths(self, sql: str, arguments: Sequence[object]) -> list[Path]:
        return [Path(os.fsdecode(path)) for (path,) in self._rows(sql, arguments)]

    def _rows(self, sql: str, arguments: Sequence[object]) -> list[tuple[bytes]]:
        with self._report_errors():
            return self._connection.execute(sql, arguments).fetchall()

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:  # a closed file: a bug in our code
            raise
        except sqlite3.DatabaseError as error:
            raise CorpusError(
                f"{self._path}: {error}. It only remembers which files were read: remove it, and "
                "the next update will read them again."
            ) from error


def _key(path: Path) -> bytes:
    return os.fsencode(path.resolve())


def _range(path: Path) -> tuple[bytes, bytes, bytes]:
    """Return parameters for the statements above: the path, and the key range of its contents."""
    key = _key(path)
    folder = key.rstrip(b"/") + b"/"
    return key, folder, folder[:-1] + b"0"  # "0" is the character after "/"


def _text(url: bytes) -> str:
    return url.decode("utf-8", "surrogatepass")
