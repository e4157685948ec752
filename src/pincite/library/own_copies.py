"""The user's own copies of paid papers and books: files by their content, and an index of them.

A folder that only its owner can read: `index.sqlite` says which sources each copy stands for, and
`files/` holds the bytes under their SHA-256, so no name that a stranger chose becomes a path. A
file is complete before the index names it, and a change of the index is one transaction: a kill at
any moment leaves the copy attached or not, and at most a file that the next change clears away.
"""

import contextlib
import hashlib
import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pincite.corpus.durable import sync
from pincite.errors import ConfigError

LAYOUT = 1  # of the tables
INDEX, FILES = "index.sqlite", "files"
_PART = ".part-"
# Windows has neither; there the checksum alone says that a link leads to what was attached.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OURS = re.compile(rf"[0-9a-f]{{64}}|{re.escape(_PART)}\w+")
_TABLES = """
CREATE TABLE IF NOT EXISTS copies (
    id INTEGER PRIMARY KEY AUTOINCREMENT, ref TEXT NOT NULL, name TEXT NOT NULL,
    sha256 TEXT NOT NULL, n_bytes INTEGER NOT NULL, first_page INTEGER, last_page INTEGER,
    n_pages INTEGER NOT NULL, n_words INTEGER NOT NULL, language TEXT NOT NULL,
    title TEXT NOT NULL, added TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
    key TEXT NOT NULL, copy INTEGER NOT NULL REFERENCES copies ON DELETE CASCADE,
    PRIMARY KEY (key, copy)) WITHOUT ROWID;
"""
_FIELDS = (
    "id, ref, name, sha256, n_bytes, first_page, last_page, n_pages, n_words, language, title, "
    "added"
)


@dataclass(frozen=True, slots=True)
class OwnCopy:
    """One file that a user has attached to a source."""

    ref: str  # the source as the user named it
    keys: tuple[str, ...]  # by which citations find it: "doi:10.1000/x", "isbn:978…"
    name: str  # of the file when it was attached; never a path
    sha256: str
    n_bytes: int
    pages: tuple[int, int] | None  # numbers printed on its first and last page, if known
    n_pages: int  # 0: a kind of file without pages
    n_words: int
    language: str  # ISO 639-1; empty if it is not known
    title: str  # as the file states it
    added: str = ""  # ISO timestamp, UTC; given by `attach`
    copy_id: int = 0


class OwnCopies:
    """Copies by the sources that they stand for; safe to use from several processes."""

    def __init__(self, folder: Path) -> None:
        """Opens nothing and makes nothing before the first copy is attached."""
        self.folder = folder

    def attach(self, copy: OwnCopy, data: bytes) -> OwnCopy:
        """Keep a file; in place of an earlier attachment of the same bytes to the same source.

        Raises:
            ConfigError: the folder cannot be written.
        """
        added = datetime.now(UTC).isoformat(timespec="seconds")
        with self._changing() as db:
            self._write(copy.sha256, data)
            known = _select(db, "WHERE sha256 = ?", (copy.sha256,))
            again = [(c.copy_id,) for c in known if set(c.keys) & set(copy.keys)]
            db.executemany("DELETE FROM copies WHERE id = ?", again)
            first, last = copy.pages or (None, None)
            values = (
                *(copy.ref, copy.name, copy.sha256, copy.n_bytes, first, last, copy.n_pages),
                *(copy.n_words, copy.language, copy.title, added),
            )
            places = ", ".join("?" * len(values))
            key = db.execute(f"INSERT INTO copies VALUES (NULL, {places})", values).lastrowid  # noqa: S608 - our own marks
            db.executemany("INSERT INTO keys VALUES (?, ?)", [(k, key) for k in copy.keys])
        return replace(copy, keys=tuple(sorted(copy.keys)), added=added, copy_id=key or 0)

    def all(self) -> list[OwnCopy]:
        """Every copy, in the order in which they were attached."""
        with self._reading() as db:
            return _select(db) if db else []

    def of(self, keys: Sequence[str]) -> list[OwnCopy]:
        """The copies that stand for one of the keys, in the order of all."""
        with self._reading() as db:
            if not db or not keys:
                return []
            marks = ", ".join("?" * len(keys))
            return _select(
                db,
                f"WHERE id IN (SELECT copy FROM keys WHERE key IN ({marks}))",  # noqa: S608 - ditto
                keys,
            )

    def remove(self, copies: Sequence[OwnCopy]) -> None:
        """Forget copies, and delete the files that no other source has."""
        if not self._exists():
            return
        with self._changing() as db:
            db.executemany("DELETE FROM copies WHERE id = ?", [(c.copy_id,) for c in copies])
        with self._changing():
            pass  # with the rows gone for good, their files are cleared away

    def read(self, copy: OwnCopy) -> bytes | None:
        """The bytes of a copy; None if its file is gone or is not what was attached."""
        path = self.path_of(copy)
        try:  # a link may lead anywhere, so none is followed
            number = os.open(path, os.O_RDONLY | _NO_LINK)
        except OSError:
            return None
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return None
            data = file.read()
        return data if hashlib.sha256(data).hexdigest() == copy.sha256 else None

    def path_of(self, copy: OwnCopy) -> Path:
        """Where its file lies."""
        return self.folder / FILES / copy.sha256

    def fingerprint(self) -> str:
        """16 hex digits over what is attached to what; empty if nothing is."""
        known = sorted((c.sha256, c.pages, c.keys) for c in self.all())
        return hashlib.sha256(repr(known).encode()).hexdigest()[:16] if known else ""

    def faults(self) -> int:
        """How many copies have no file, or one of another size; looks into none."""
        sizes = [(self.path_of(copy), copy.n_bytes) for copy in self.all()]
        return sum(not path.is_file() or path.stat().st_size != size for path, size in sizes)

    @contextmanager
    def still(self) -> Iterator[bytes]:
        """The bytes of the index as a file; inside the block nobody changes what is attached."""
        with self._changing() as db:
            yield db.serialize()

    def _exists(self) -> bool:
        return (self.folder / INDEX).is_file()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """The index; None if nothing was ever attached."""
        if not self._exists():
            yield None
            return
        with self._told(), contextlib.closing(self._connected()) as db:
            yield db

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, alone among all processes; clears away what kills left behind."""
        with self._told():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / FILES).mkdir(mode=0o700, exist_ok=True)
            os.close(os.open(self.folder / INDEX, os.O_CREAT | os.O_RDWR, 0o600))
            with contextlib.closing(self._connected()) as db:
                db.execute("BEGIN IMMEDIATE")
                try:
                    self._clear(db)
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            what = f"{self.folder} cannot be used for your own copies: {error}."
            raise ConfigError(f"{what} Set library.own_copies to another folder.") from error

    def _connected(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.folder / INDEX, isolation_level=None, timeout=30)
        db.execute("PRAGMA foreign_keys=ON")
        db.execute("PRAGMA synchronous=FULL")
        (layout,) = db.execute("PRAGMA user_version").fetchone()
        if layout not in (0, LAYOUT):
            db.close()
            raise ConfigError(f"{self.folder} was made by another version of Pincite.")
        if layout == 0:
            db.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version={LAYOUT}; COMMIT;")
        return db

    def _write(self, digest: str, data: bytes) -> None:
        """The file under its final name, complete and on the disk."""
        files = self.folder / FILES
        number, beside = tempfile.mkstemp(prefix=_PART, dir=files)  # mode 0600
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)
        Path(beside).replace(files / digest)
        sync(files)

    def _clear(self, db: sqlite3.Connection) -> None:
        """Delete the files of ours that the index does not name; no other file, whatever it is."""
        named = {digest for (digest,) in db.execute("SELECT sha256 FROM copies")}
        for path in (self.folder / FILES).iterdir():
            if _OURS.fullmatch(path.name) and path.name not in named:
                path.unlink()


def _select(db: sqlite3.Connection, where: str = "", values: Sequence[str] = ()) -> list[OwnCopy]:
    rows = db.execute(f"SELECT {_FIELDS} FROM copies {where} ORDER BY id", values).fetchall()  # noqa: S608 - our own words
    return [_copy_of(row, db) for row in rows]


def _copy_of(row: Sequence[object], db: sqlite3.Connection) -> OwnCopy:
    key, ref, name, sha256, n_bytes, first, last, n_pages, n_words, language, title, added = row
    keys = db.execute("SELECT key FROM keys WHERE copy = ? ORDER BY key", (key,)).fetchall()
    return OwnCopy(
        ref=str(ref),
        keys=tuple(found for (found,) in keys),
        name=str(name),
        sha256=str(sha256),
        n_bytes=int(str(n_bytes)),
        pages=None if first is None else (int(str(first)), int(str(last))),
        n_pages=int(str(n_pages)),
        n_words=int(str(n_words)),
        language=str(language),
        title=str(title),
        added=str(added),
        copy_id=int(str(key)),
    )
