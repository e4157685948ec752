"""Which files a corpus's documents came from: `origins.sqlite` in the corpus folder.

Searches do not depend on it. It is written after the documents are committed, so a kill between the
two means reading one file again. Without it, the next update reads all files.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pincite.corpus.store import raw
from pincite.errors import CorpusError

NAME = "origins.sqlite"
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
_SAID_BY = "SELECT path FROM documents WHERE url = ? UNION SELECT path FROM withdrawn WHERE url = ?"
_LOSE = "INSERT OR REPLACE INTO gone SELECT url, path FROM documents WHERE path = ?"


class Origins:
    """The source files by full path, each with a signature and the addresses of its documents."""

    def __init__(self, corpus: Path | None, *, write: bool = True) -> None:
        """Open or create the file in the corpus folder; without `write`, work on a copy.

        Raises CorpusError if it cannot be opened.
        """
        self._path = corpus / NAME if corpus else Path(":memory:")
        with self._reported():
            self._connection = sqlite3.connect(self._path if write else ":memory:")
            self._connection.execute("PRAGMA foreign_keys=ON")
            if not write and self._path.exists():
                uri = f"{self._path.resolve().as_uri()}?mode=ro"
                with sqlite3.connect(uri, uri=True) as stored:
                    stored.backup(self._connection)
                stored.close()
            self._connection.executescript(_TABLES)

    def __enter__(self) -> "Origins":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def signature(self, path: Path) -> str:
        """Return the file's signature when last read; empty if it was never read to the end."""
        rows = self._rows("SELECT signature FROM files WHERE path = ?", (_key(path),))
        return str(rows[0][0]) if rows else ""

    def addresses(self, path: Path) -> list[str]:
        rows = self._rows("SELECT url FROM documents WHERE path = ? ORDER BY url", (_key(path),))
        return [_text(url) for (url,) in rows]

    def said_by(self, url: str) -> list[Path]:
        """Return the files that contained the document at `url`, or withdrew it."""
        key = raw(url)
        return [Path(os.fsdecode(path)) for (path,) in self._rows(_SAID_BY, (key, key))]

    def all_files(self) -> list[Path]:
        """Return all known files, including those that withdrew documents."""
        rows = self._rows("SELECT path FROM files UNION SELECT path FROM withdrawn", ())
        return [Path(os.fsdecode(path)) for (path,) in rows]

    def below(self, paths: Iterable[Path]) -> list[Path]:
        """Return the known files that are among `paths` or below them."""
        found = (self._rows(_FILES_BELOW, _range(path)) for path in paths)
        return [Path(os.fsdecode(path)) for rows in found for (path,) in rows]

    def gone(self, paths: Iterable[Path]) -> list[str]:
        """Return addresses that files below `paths` once had and that no known file has now."""
        found = {url for path in paths for (url,) in self._rows(_GONE_BELOW, _range(path))}
        held = "SELECT 1 FROM documents WHERE url = ? LIMIT 1"
        return sorted(_text(url) for url in found if not self._rows(held, (url,)))

    def record(self, read: Sequence[tuple[Path, str, Sequence[str]]]) -> None:
        """Record files with their signatures and addresses, in one transaction.

        Addresses that a file no longer has become `gone`.
        """
        with self._reported(), self._connection:
            for path, signature, urls in read:
                key = _key(path)
                self._connection.execute(_LOSE, (key,))
                self._connection.execute("DELETE FROM files WHERE path = ?", (key,))
                self._connection.execute("INSERT INTO files VALUES (?, ?)", (key, signature))
                rows = [(raw(url), key) for url in urls]
                self._connection.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?)", rows)
                for table in ("gone", "withdrawn"):
                    statement = f"DELETE FROM {table} WHERE url = ? AND path = ?"  # noqa: S608
                    self._connection.executemany(statement, rows)

    def withdraw(self, withdrawn: Sequence[tuple[str, Path]]) -> None:
        """Record documents that a file withdraws: earlier files must not restore them."""
        rows = [(raw(url), _key(path)) for url, path in withdrawn]
        with self._reported(), self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO withdrawn VALUES (?, ?)", rows)

    def lose(self, paths: Iterable[Path]) -> None:
        """Forget deleted files; their addresses become `gone`."""
        with self._reported(), self._connection:
            for key in map(_key, paths):
                self._connection.execute(_LOSE, (key,))
                self._connection.execute("DELETE FROM files WHERE path = ?", (key,))

    def forget(self, urls: Iterable[str]) -> None:
        """Forget addresses that were also deleted from the corpus."""
        with self._reported(), self._connection:
            rows = [(raw(url),) for url in urls]
            self._connection.executemany("DELETE FROM gone WHERE url = ?", rows)

    def _rows(self, sql: str, arguments: Sequence[object]) -> list[tuple[bytes]]:
        with self._reported():
            return self._connection.execute(sql, arguments).fetchall()

    @contextmanager
    def _reported(self) -> Iterator[None]:
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
