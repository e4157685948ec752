"""SQLite holds the truth: documents, their passages, the passages' vectors, and what changed when.

Everything else in a corpus is derived from this one file. A batch is one transaction with a growing
sequence number; the log of changes says which passage keys came and went with each number, so that
a derived index that stopped at an older number replays just the rest. Keys are never used again.

Decisions: *vectors* stand here too, as float16, in the transaction that adds their passages.
Encoding is what a corpus costs, so a vector must be exactly as durable as its passage, and one file
with one commit gives that without a second protocol (scores change by less than 0.001, the space
halves; 1 million at 384 dimensions take 0.8 GB). *Text* is compressed in blocks, so that showing a
passage of a 600-page report does not mean unpacking the report.
"""

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pincite.errors import CorpusError
from pincite.protocols import Floats
from pincite.types import Document, Passage, Span, about

Keys = npt.NDArray[np.int64]

BLOCK_CHARACTERS = 16_384  # about 25 passages: unpacking one takes 0.1 ms
ROWS_AT_ONCE = 4_096  # of a scan: no statement stays open between two portions
_VECTOR = np.dtype("<f2")

_TABLES = """
CREATE TABLE manifest (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    key INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL, url TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL, kind TEXT NOT NULL, published TEXT, fetched TEXT, language TEXT,
    meta TEXT NOT NULL, content_hash TEXT NOT NULL);
CREATE TABLE blocks (
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, number INTEGER NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (document, number));
CREATE TABLE passages (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE INDEX passages_of_document ON passages (document);
CREATE TABLE vectors (
    passage INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE TABLE changes (
    sequence INTEGER NOT NULL, added INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE INDEX changes_in_order ON changes (sequence);
"""


class Place(NamedTuple):
    """Where a passage stands: enough to rank it, without its text."""

    key: int
    document: int
    doc_id: str
    url: str
    title: str
    span: Span
    about: str

    @property
    def passage_id(self) -> str:
        """The same as `Passage.passage_id`."""
        return f"{self.doc_id}:{self.span.start}-{self.span.end}"


class Changes(NamedTuple):
    """What happened after some sequence number: closed ranges of passage keys, oldest first."""

    added: list[tuple[int, int]]
    deleted: list[tuple[int, int]]


def content_hash(document: Document) -> str:
    """Equal for documents that need no new copy: all fields but the day they were fetched."""
    fields = (document.kind, document.published, document.language, dict(document.meta))
    content = json.dumps((document.doc_id, *fields), sort_keys=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()[:16]


class Store:
    """One open SQLite file. Methods that write must be called inside `batch()`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def create(cls, path: Path, manifest: Mapping[str, str]) -> "Store":
        """A new file with an empty corpus described by `manifest`; replaces an unfinished one."""
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
        store = cls(path, _connect(f"{path.resolve().as_uri()}?mode=rwc"))
        with store._reported():
            store._connection.execute("PRAGMA journal_mode=WAL")
            store._connection.executescript(f"BEGIN; {_TABLES} COMMIT;")
        counters = {"sequence": "0", "digest": f"{0:032x}"}
        with store._transaction():
            for name, value in {**manifest, **counters}.items():
                store._run("INSERT INTO manifest VALUES (?, ?)", (name, value))
        return store

    @classmethod
    def open(cls, path: Path, *, write: bool) -> "Store":
        """The existing file, for reading or for both.

        Raises:
            CorpusError: It is missing, is no SQLite file, or its head is damaged.
        """
        store = cls(path, _connect(f"{path.resolve().as_uri()}?{_mode(path, write)}"))
        try:
            store.manifest()
        except CorpusError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close the file; the last one to close a written file folds its log into it."""
        self._connection.close()

    # ── What stands in it ────────────────────────────────────────────────────────────────────────

    def manifest(self) -> dict[str, str]:
        """What the corpus was built with, its counters and its digest."""
        return dict(self._rows("SELECT name, value FROM manifest ORDER BY name"))

    @property
    def sequence(self) -> int:
        """The number of the last committed batch; 0 at first."""
        return int(self._value("SELECT value FROM manifest WHERE name = 'sequence'"))

    def n_documents(self) -> int:
        """How many documents are stored."""
        return int(self._value("SELECT COUNT(*) FROM documents"))

    def n_passages(self, after: int = 0, up_to: int | None = None) -> int:
        """How many passages are stored with a key above `after`, and at most `up_to` if given."""
        bound = np.iinfo(np.int64).max if up_to is None else up_to
        sql = "SELECT COUNT(*) FROM passages WHERE key > ? AND key <= ?"
        return int(self._value(sql, (after, int(bound))))

    def last_key(self) -> int:
        """The highest passage key ever given; 0 if none was."""
        sql = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'passages'"
        return int(self._value(sql))

    def urls(self) -> Iterator[str]:
        """All addresses, in the order in which their documents were added."""
        for rows in self._scan("SELECT key, url FROM documents"):
            yield from (url for _, url in rows)

    def hash_at(self, url: str) -> str | None:
        """The content hash of the document at `url`; None if there is none."""
        rows = self._rows(
            "SELECT content_hash FROM documents WHERE url = CAST(? AS TEXT)", (_bytes(url),)
        )
        return str(rows[0][0]) if rows else None

    def document(self, url: str) -> Document | None:
        """The document at `url`, equal to the one that was added; None if there is none."""
        sql = (
            "SELECT key, url, title, kind, published, fetched, language, meta"
            " FROM documents WHERE url = CAST(? AS TEXT)"
        )
        for key, at, title, kind, published, fetched, language, meta in self._rows(
            sql, (_bytes(url),)
        ):
            sql = "SELECT data FROM blocks WHERE document = ? ORDER BY number"
            text = "".join(_unpacked(data) for (data,) in self._rows(sql, (key,)))
            more = json.loads(meta)
            return Document(at, title, text, kind, published, fetched, language, more)
        return None

    def places(self, keys: Iterable[int]) -> dict[int, Place]:
        """Where the passages stand; keys of deleted passages are left out."""
        sql = (
            "SELECT p.key, p.document, d.doc_id, d.url, d.title, p.first, p.last,"
            " d.published, d.meta"
            " FROM passages p JOIN documents d ON d.key = p.document"
            " WHERE p.key IN (SELECT value FROM json_each(?))"
        )
        return {row[0]: _place(row) for row in self._rows(sql, (_listed(keys),))}

    def places_between(self, first: int, last: int) -> Iterator[list[Place]]:
        """The places of the stored passages with keys in the closed range, in portions."""
        sql = (
            "SELECT p.key, p.document, d.doc_id, d.url, d.title, p.first, p.last,"
            " d.published, d.meta"
            " FROM passages p JOIN documents d ON d.key = p.document"
        )
        for rows in self._scan(sql, "p.key", first, last):
            yield [_place(row) for row in rows]

    def passages(self, places: Sequence[Place]) -> list[Passage]:
        """The passages at `places`, in their order; only the blocks of text they need are read."""
        wanted = {(p.document, n) for p in places for n in _blocks(p.span)}
        sql = "SELECT data FROM blocks WHERE document = ? AND number = ?"
        blocks = {at: _unpacked(self._value(sql, at)) for at in sorted(wanted)}
        return [
            Passage(p.doc_id, p.url, p.title, _text(p, blocks), p.span, p.about) for p in places
        ]

    def changes(self, after: int) -> Changes:
        """Which passage keys came and went after the sequence number `after`."""
        sql = "SELECT added, first, last FROM changes WHERE sequence > ? ORDER BY sequence, first"
        changes = Changes([], [])
        for added, first, last in self._rows(sql, (after,)):
            (changes.added if added else changes.deleted).append((first, last))
        return changes

    def vectors(self, keys: Iterable[int], dim: int) -> tuple[Keys, Floats]:
        """The stored vectors of those `keys` that have one, in the order of the keys' values."""
        sql = (
            "SELECT passage, vector FROM vectors"
            " WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage"
        )
        return _matrix(self._rows(sql, (_listed(keys),)), dim)

    def vectors_between(self, first: int, last: int, dim: int) -> Iterator[tuple[Keys, Floats]]:
        """The stored vectors with keys in the closed range, ascending, in portions."""
        for rows in self._scan("SELECT passage, vector FROM vectors", "passage", first, last):
            yield _matrix(rows, dim)

    def vectors_of(self, passages: Sequence[Passage], dim: int) -> dict[str, Floats]:
        """The stored vectors of those passages that have one, by passage id."""
        sql = (
            "SELECT d.doc_id, p.first, p.last, v.vector FROM documents d"
            " JOIN passages p ON p.document = d.key JOIN vectors v ON v.passage = p.key"
            " WHERE d.url = CAST(? AS TEXT)"
        )
        rows = [r for u in {p.url for p in passages} for r in self._rows(sql, (_bytes(u),))]
        return {f"{i}:{a}-{b}": _matrix([(0, v)], dim)[1][0] for i, a, b, v in rows}

    def keys(self) -> Keys:
        """The keys of all passages that have a vector, ascending."""
        rows = self._rows("SELECT passage FROM vectors ORDER BY passage")
        return np.array([key for (key,) in rows], dtype=np.int64)

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def batch(self) -> Iterator[None]:
        """One committed batch: on any error, and on a kill, the store stays as it was."""
        with self._transaction():
            before, sequence = self.last_key(), self.sequence + 1
            self._set("sequence", str(sequence))
            yield
            if (last := self.last_key()) > before:
                self._log(sequence, True, before + 1, last)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside belongs to one committed state, whatever a writer does."""
        if self._connection.in_transaction:
            yield
            return
        self._run("BEGIN")
        try:
            yield
        finally:
            self._run("COMMIT")

    def put(self, document: Document, spans: Sequence[Span]) -> range:
        """Store a document whose address is free, with its passages; returns the passages' keys."""
        fields = (document.kind, document.published, document.fetched, document.language)
        sql = (
            "INSERT INTO documents (doc_id, url, title, kind, published, fetched, language, meta,"
            " content_hash) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?, ?, ?)"
        )
        names = (document.doc_id, _bytes(document.url), _bytes(document.title))
        meta = json.dumps(dict(document.meta), sort_keys=True)
        key = self._run(sql, (*names, *fields, meta, content_hash(document))).lastrowid
        self._run_many("INSERT INTO blocks VALUES (?, ?, ?)", _packed(key, document.text))
        first = self.last_key() + 1
        self._run_many(
            "INSERT INTO passages (document, first, last) VALUES (?, ?, ?)",
            ((key, span.start, span.end) for span in spans),
        )
        self._fold_in(document.doc_id, 1)
        return range(first, first + len(spans))

    def put_vectors(self, keys: Sequence[int], vectors: Floats) -> None:
        """Store one vector for each passage key; `vectors` is (n_keys, dim)."""
        rows = zip(keys, (v.tobytes() for v in vectors.astype(_VECTOR)), strict=True)
        self._run_many("INSERT INTO vectors VALUES (?, ?)", rows)

    def remove(self, url: str) -> bool:
        """Remove the document at `url` with all that belongs to it; says whether it was there."""
        sql = "SELECT key, doc_id FROM documents WHERE url = CAST(? AS TEXT)"
        for key, doc_id in self._rows(sql, (_bytes(url),)):
            sql = "SELECT MIN(key), MAX(key) FROM passages WHERE document = ?"
            first, last = self._rows(sql, (key,))[0]
            if first is not None:
                self._log(self.sequence, False, first, last)
            self._run("DELETE FROM documents WHERE key = ?", (key,))
            self._fold_in(doc_id, -1)
            return True
        return False

    def _log(self, sequence: int, added: bool, first: int, last: int) -> None:
        self._run("INSERT INTO changes VALUES (?, ?, ?, ?)", (sequence, added, first, last))

    def _set(self, name: str, value: str) -> None:
        self._run("UPDATE manifest SET value = ? WHERE name = ?", (value, name))

    def _fold_in(self, doc_id: str, sign: int) -> None:
        """The digest is a sum of hashes: the same for the same documents, whatever the history."""
        digest = int(self._value("SELECT value FROM manifest WHERE name = 'digest'"), 16)
        digest += sign * int(hashlib.sha256(doc_id.encode()).hexdigest()[:32], 16)
        self._set("digest", f"{digest % 2**128:032x}")

    # ── SQL goes through here, so that SQLite's errors leave as ours ─────────────────────────────

    def _rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Any]:
        with self._reported():
            return self._connection.execute(sql, arguments).fetchall()

    def _value(self, sql: str, arguments: Sequence[object] = ()) -> Any:
        rows = self._rows(sql, arguments)
        if not rows:
            raise CorpusError(_damaged(self.path, "a row that others refer to is missing"))
        return rows[0][0]

    def _run(self, sql: str, arguments: Sequence[object] = ()) -> sqlite3.Cursor:
        with self._reported():
            return self._connection.execute(sql, arguments)

    def _run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        with self._reported():
            self._connection.executemany(sql, rows)

    def _scan(
        self, sql: str, key: str = "key", first: int = 1, last: int | None = None
    ) -> Iterator[list[Any]]:
        """The rows in portions, by ascending key, which is the first column of `sql`."""
        bound = int(np.iinfo(np.int64).max) if last is None else last
        sql = f"{sql} WHERE {key} BETWEEN ? AND ? ORDER BY {key} LIMIT {ROWS_AT_ONCE}"
        while rows := self._rows(sql, (first, bound)):
            yield rows
            first = rows[-1][0] + 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk has rolled back already
                self._run("ROLLBACK")
            raise

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:  # a closed store: a mistake of ours, not of the file
            raise
        except sqlite3.OperationalError as error:
            raise CorpusError(_failed(self.path, error)) from error
        except sqlite3.DatabaseError as error:
            raise CorpusError(_damaged(self.path, str(error))) from error


def _connect(uri: str) -> sqlite3.Connection:
    try:
        # One connection serves a server's worker threads in turn; the corpus serialises them.
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogatepass")
        # FULL: a batch took minutes to encode, so one flush of the disk is no price for keeping
        # it through a power cut; and no derived index can then be ahead of the truth.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA busy_timeout=10000")
        connection.execute(f"PRAGMA journal_size_limit={64 << 20}")
    except sqlite3.OperationalError as error:
        raise CorpusError(_failed(Path(uri), error)) from error
    except sqlite3.DatabaseError as error:
        raise CorpusError(_damaged(Path(uri), str(error))) from error
    return connection


def _mode(path: Path, write: bool) -> str:
    """A reader needs SQLite's two side files; where it may not make them, the file stands still."""
    if write:
        return "mode=rw"
    log = path.with_name(f"{path.name}-wal")
    if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return "mode=ro"
    return "mode=ro&immutable=1"


def _failed(path: Path, error: sqlite3.OperationalError) -> str:
    return (
        f"{path}: {error}. The corpus is as it was before. Is the disk full, or the file on a "
        "medium that cannot be written or read?"
    )


def _damaged(path: Path, detail: str) -> str:
    return (
        f"{path} is damaged ({detail}). It holds the documents themselves, so it cannot be derived "
        "again: restore it from a copy, or make the corpus anew."
    )


def _bytes(text: str) -> bytes:
    """SQLite keeps any bytes as text; Python's own way refuses half a surrogate pair."""
    return text.encode("utf-8", "surrogatepass")


def _listed(keys: Iterable[int]) -> str:
    return json.dumps([int(key) for key in keys])


def _place(row: Sequence[Any]) -> Place:
    key, document, doc_id, url, title, first, last, published, meta = row
    known = about(title, published, json.loads(meta))
    return Place(key, document, doc_id, url, title, Span(first, last), known)


def _blocks(span: Span) -> range:
    return range(span.start // BLOCK_CHARACTERS, (span.end - 1) // BLOCK_CHARACTERS + 1)


def _text(place: Place, blocks: Mapping[tuple[int, int], str]) -> str:
    numbers = _blocks(place.span)
    offset = numbers.start * BLOCK_CHARACTERS
    text = "".join(blocks[place.document, number] for number in numbers)
    return text[place.span.start - offset : place.span.end - offset]


def _packed(key: int | None, text: str) -> Iterator[tuple[int | None, int, bytes]]:
    for start in range(0, len(text), BLOCK_CHARACTERS):
        block = text[start : start + BLOCK_CHARACTERS]
        yield key, start // BLOCK_CHARACTERS, zlib.compress(_bytes(block), 6)


def _unpacked(data: bytes) -> str:
    try:
        return zlib.decompress(data).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise CorpusError(_damaged(Path("a stored text"), str(error))) from error


def _matrix(rows: Sequence[tuple[int, bytes]], dim: int) -> tuple[Keys, Floats]:
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    values = np.frombuffer(b"".join(vector for _, vector in rows), dtype=_VECTOR)
    return keys, values.reshape(-1, dim).astype(np.float32)
