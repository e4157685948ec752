"""The SQLite file that holds documents, passages, vectors, and a log of changes.

Everything else in a corpus is derived from it. A batch is one transaction with an increasing
sequence number; the log has the passage keys that each batch added and deleted, so that an older
index replays only the rest. Keys are never reused. Vectors are stored as float16 (scores change by
less than 0.001), in the transaction of their passages. Text is compressed in blocks, so that
showing a passage does not require unpacking its whole document.
"""

import hashlib
import json
import os
import re
import sqlite3
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pincite.corpus.protocol import After, Contents, ListedDocument, Order, Selection
from pincite.durable import replacing
from pincite.errors import CorpusError
from pincite.protocols import Floats
from pincite.text.context import about_passage
from pincite.text.languages import identify
from pincite.text.page_numbers import confidence_in
from pincite.types import Document, Passage, Span, Voice, about

Keys = npt.NDArray[np.int64]

# Characters that are compressed together: about six passages. Unpacking takes 0.02 ms, a quarter
# of the time of a block four times the size, and each shown passage needs one or two.
BLOCK_CHARACTERS = 4_096
_BLOCK_BYTES = 4 * BLOCK_CHARACTERS  # of UTF-8: the longest possible block
HASH_DIGITS = 16  # of a content hash
_VECTOR = np.dtype("<f2")
UNIT_TOLERANCE = 2e-3  # float16 changes a unit vector's length by at most 0.0005


class Place(NamedTuple):
    """A passage without its text: enough to rank it."""

    key: int
    document: int
    doc_id: str
    url: str
    title: str
    span: Span
    published: str | None
    language: str | None  # of the document
    meta: str  # JSON, parsed only for shown passages

    @property
    def about(self) -> str:
        """The same as `Passage.about`; raises ValueError or TypeError if metadata is damaged."""
        return about(self.title, self.published, json.loads(self.meta))

    @property
    def passage_id(self) -> str:
        return f"{self.doc_id}:{self.span.start}-{self.span.end}"


def content_hash(document: Document) -> str:
    """Hash all fields except the fetch date: equal documents need no new copy."""
    fields = (document.kind, document.published, document.language, dict(document.meta))
    content = json.dumps((document.doc_id, *fields), sort_keys=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()[:HASH_DIGITS]


def share_of_digest(doc_id: str) -> int:
    """Return one document's term in the corpus digest, which is a sum modulo 2**128."""
    return int(hashlib.sha256(doc_id.encode()).hexdigest()[:32], 16)


def damage_error(path: Path, detail: str) -> CorpusError:
    return CorpusError(
        f"{path} is damaged ({detail}). It holds the documents themselves and cannot be rebuilt. "
        f"To see what is affected, run: pincite corpus verify {path.parent.parent}"
    )


def fold_case(text: str) -> str:
    """Normalise and case-fold a text, for comparing searched and stored words."""
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return composed.replace("i\u0307", "i")  # from a Turkish capital I


def _folded_bytes(text: bytes) -> bytes:
    return raw(fold_case(text.decode("utf-8", "replace")))


def raw(text: str) -> bytes:
    """Encode text that may hold lone surrogates, which Python's sqlite3 refuses."""
    return text.encode("utf-8", "surrogatepass")


def json_keys(keys: Iterable[int]) -> str:
    """Encode keys as JSON for SQLite's `json_each`."""
    return json.dumps([int(key) for key in keys])


def place(row: Sequence[Any]) -> Place:
    key, document, doc_id, url, title, first, last, *stated = row
    if not 0 <= first < last:
        raise ValueError(f"passage {key} spans {first} to {last}")
    return Place(key, document, doc_id, url, title, Span(first, last), *stated)


def blocks_of(span: Span) -> range:
    return range(span.start // BLOCK_CHARACTERS, (span.end - 1) // BLOCK_CHARACTERS + 1)


def text_of(place: Place, blocks: Mapping[tuple[int, int], str]) -> str:
    numbers = blocks_of(place.span)
    offset = numbers.start * BLOCK_CHARACTERS
    text = "".join(blocks[place.document, number] for number in numbers)
    return text[place.span.start - offset : place.span.end - offset]


def _passage(place: Place, text: str) -> Passage:
    meta = json.loads(place.meta)
    return Passage(
        *(place.doc_id, place.url, place.title, text, place.span),
        about_passage(place.about, text, place.published),
        language=identify(text, place.language),
        recognised=confidence_in(meta, place.span),
        published=place.published or "",
        voice=Voice.of(meta),
    )


def pack_blocks(key: int | None, text: str) -> Iterator[tuple[int | None, int, bytes]]:
    for start in range(0, len(text), BLOCK_CHARACTERS):
        block = text[start : start + BLOCK_CHARACTERS]
        yield key, start // BLOCK_CHARACTERS, zlib.compress(raw(block), 6)


def unpack_block(data: bytes) -> str:
    """Decompress a block of text; raises ValueError or `zlib.error` if it is damaged."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(data, _BLOCK_BYTES)
    if not unpacking.eof:
        raise ValueError("a block of text is truncated, or longer than any ever written")
    return text.decode("utf-8", "surrogatepass")


def unsound(rows: Sequence[tuple[int, bytes]], dim: int) -> list[int]:
    """Return the keys of stored vectors that are not unit vectors of `dim` numbers."""
    n_bytes = dim * _VECTOR.itemsize
    whole = [(k, data) for k, data in rows if isinstance(data, bytes) and len(data) == n_bytes]
    keys, vectors = matrix(whole, dim)
    unit = np.abs(np.linalg.norm(vectors, axis=1) - 1) <= UNIT_TOLERANCE
    sound = set(keys[unit].tolist())
    return [key for key, _ in rows if key not in sound]


def matrix(rows: Sequence[tuple[int, bytes]], dim: int) -> tuple[Keys, Floats]:
    """Return keys and vectors (n_rows, dim); raises ValueError for one of another length."""
    n_bytes = dim * _VECTOR.itemsize
    for key, data in rows:
        if not isinstance(data, bytes) or len(data) != n_bytes:
            raise ValueError(f"that of passage {key} is not {n_bytes} bytes long")
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    values = np.frombuffer(b"".join(data for _, data in rows), dtype=_VECTOR)
    return keys, values.reshape(len(rows), dim).astype(np.float32)


def miscounts(indexed: Counter[int], stored: set[int]) -> Iterator[str]:
    """Describe how an index's keys, with their counts, differ from the store's."""
    for problem, keys in (
        ("lacks", stored - indexed.keys()),
        ("holds, though they were deleted,", indexed.keys() - stored),
        ("holds more than once", {key for key, n in indexed.items() if n > 1}),
    ):
        if keys:
            yield f"{problem} {len(keys)} passages, the first with key {min(keys)}"


@contextmanager
def report_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as ours."""
    try:
        yield
    except sqlite3.ProgrammingError:  # a closed store: our bug, not the file's fault
        raise
    except UnicodeDecodeError as error:
        why = f"a text in it cannot be decoded: {error}"
        raise damage_error(path, why) from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:  # Ctrl-C while `tick` ran
            raise KeyboardInterrupt from error
        raise CorpusError(
            f"{path}: {error}. What was committed before stays, and nothing else was written. Is "
            "the disk full, or the file on a medium that cannot be written or read?"
        ) from error
    except sqlite3.DatabaseError as error:
        raise damage_error(path, str(error)) from error


def connect(uri: str) -> sqlite3.Connection:
    """Open a connection with the store's settings; raises CorpusError."""
    with report_errors(Path(uri)):
        # Worker threads share one connection; the corpus serialises them.
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        # FULL: a batch takes minutes to encode, so a disk flush to survive a power cut costs
        # little, and no derived index can get ahead of the store.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.create_function("folded", 1, _folded_bytes, deterministic=True)
        connection.execute("PRAGMA busy_timeout=10000")
        connection.execute(f"PRAGMA journal_size_limit={64 << 20}")
    return connection


Arguments: TypeAlias = Sequence[object] | Mapping[str, object]  # of a statement


def select_rows(connection: sqlite3.Connection, sql: str, arguments: Arguments) -> list[Any]:
    """Return the rows of a statement; texts may hold lone surrogates left by broken pages.

    SQLite's own decoder rejects those but makes a search a tenth faster, so it is used until
    the first such text.
    """
    try:
        return connection.execute(sql, arguments).fetchall()
    except sqlite3.OperationalError as error:
        if connection.text_factory is not str or "decode" not in str(error):
            raise
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogatepass")
    return connection.execute(sql, arguments).fetchall()


def mode(path: Path, write: bool) -> str:
    """Return the open mode: immutable if a reader cannot create SQLite's side files."""
    if write:
        return "mode=rw"
    log = path.with_name(f"{path.name}-wal")
    if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return "mode=ro"
    return "mode=ro&immutable=1"


TICK_STEPS = 100_000  # SQLite virtual-machine steps between two ticks: some milliseconds
ROWS_AT_ONCE = 4_096  # of a scan: no statement stays open between portions
TABLES = """
CREATE TABLE manifest (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    key INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL, url TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL, kind TEXT NOT NULL, published TEXT, fetched TEXT, language TEXT,
    meta TEXT NOT NULL, content_hash TEXT NOT NULL);
CREATE INDEX documents_by_id ON documents (doc_id);
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
_PLACES = (
    "SELECT p.key, p.document, d.doc_id, d.url, d.title, p.first, p.last, d.published,"
    " d.language, d.meta FROM passages p JOIN documents d ON d.key = p.document"
)
# SQLite folds the case of ASCII only.
_CONTAINS = (
    "(title LIKE CAST(:pattern AS TEXT) ESCAPE '!' OR url LIKE CAST(:pattern AS TEXT) ESCAPE '!'"
    " OR length(CAST(title AS BLOB)) > length(title)"
    " AND instr(folded(CAST(title AS BLOB)), :text))"
)


def _listing(value: str, follows: str, order: str) -> str:
    """Return the statement of a page of documents; `follows`: whether a row is on a later one."""
    return (
        f"SELECT key, {value}, doc_id, url, title, kind, published, language,"  # noqa: S608
        " (SELECT COUNT(*) FROM passages WHERE document = documents.key) FROM documents"
        f" WHERE (length(:text) = 0 OR {_CONTAINS}) AND (:kind = '' OR kind = :kind)"
        " AND (:language = '' OR language = :language)"
        f" AND (:after_key IS NULL OR {follows}) ORDER BY {order} LIMIT :limit"
    )


_TITLE, _DATE = "substr(title, 1, 200) COLLATE NOCASE", "COALESCE(published, '')"
_AFTER = "(CAST(:after_value AS TEXT), :after_key)"
# The most recently added comes first; undated documents come last.
_LISTINGS: Mapping[Order, str] = {
    "added": _listing("''", "key < :after_key", "key DESC"),
    "title": _listing(_TITLE, f"({_TITLE}, key) > {_AFTER}", f"{_TITLE}, key"),
    "date": _listing(_DATE, f"({_DATE}, key) < {_AFTER}", f"{_DATE} DESC, key DESC"),
}


class Changes(NamedTuple):
    """Changes after a sequence number: closed ranges of passage keys, oldest first."""

    added: list[tuple[int, int]]
    deleted: list[tuple[int, int]]


class Store:
    """One open SQLite file. Call `put`, `put_vectors` and `remove` inside `batch()`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.corpus = path, path.parent.parent  # its file, and the corpus folder
        self._connection = connection

    @classmethod
    def create(cls, path: Path, manifest: Mapping[str, str]) -> "Store":
        """Create an empty store with this `manifest`; replaces an unfinished one."""
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
        store = cls(path, connect(f"{path.resolve().as_uri()}?mode=rwc"))
        with report_errors(path):
            store._connection.execute("PRAGMA journal_mode=WAL")
            store._connection.executescript(f"BEGIN; {TABLES} COMMIT;")
        counters = {"sequence": "0", "digest": f"{0:032x}"}
        with store._transaction():
            for name, value in {**manifest, **counters}.items():
                store._run("INSERT INTO manifest VALUES (?, ?)", (name, value))
        return store

    @classmethod
    def open(cls, path: Path, *, write: bool) -> "Store":
        """Open an existing store; raises CorpusError if it is missing or damaged."""
        store = cls(path, connect(f"{path.resolve().as_uri()}?{mode(path, write)}"))
        try:
            store.manifest()
        except CorpusError:
            store.close()
            raise
        return store

    def close(self) -> None:
        self._connection.close()

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────

    def manifest(self) -> dict[str, str]:
        """Return what the corpus was built with, its counters and its digest."""
        return dict(self.rows("SELECT name, value FROM manifest ORDER BY name"))

    @property
    def sequence(self) -> int:
        """The number of the last committed batch; 0 at first."""
        with self._readable("the number of its last batch"):
            return int(self._value("SELECT value FROM manifest WHERE name = 'sequence'"))

    def n_documents(self) -> int:
        return int(self._value("SELECT COUNT(*) FROM documents"))

    def n_passages(self, up_to: int | None = None) -> int:
        bound = np.iinfo(np.int64).max if up_to is None else up_to
        return int(self._value("SELECT COUNT(*) FROM passages WHERE key <= ?", (int(bound),)))

    def last_key(self) -> int:
        """Return the highest passage key ever used; 0 if none was."""
        sql = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'passages'"
        return int(self._value(sql))

    def urls(self) -> Iterator[str]:
        """Yield all addresses in the order in which their documents were added."""
        for rows in self.scan("SELECT key, url FROM documents"):
            yield from (url for _, url in rows)

    def hash_at(self, url: str) -> str | None:
        row = self._row_at(url, "content_hash")
        return str(row[0]) if row else None

    def _row_at(self, url: str, columns: str) -> Any:
        """Return these columns of the document at `url`; None if there is none."""
        sql = f"SELECT {columns} FROM documents WHERE url = CAST(? AS TEXT)"  # noqa: S608
        return next(iter(self.rows(sql, (raw(url),))), None)

    def _passages_at(self, url: str, columns: str) -> list[Any]:
        """Return these columns of the passages (`p`) of the document (`d`) at `url`."""
        tables = "documents d JOIN passages p ON p.document = d.key WHERE d.url = CAST(? AS TEXT)"
        sql = f"SELECT {columns} FROM {tables} ORDER BY p.first, p.last"  # noqa: S608
        return self.rows(sql, (raw(url),))

    def document(self, url: str) -> Document | None:
        """Return the document at `url`, equal to the one that was added; None if there is none."""
        columns = "key, content_hash, meta, url, title, kind, published, fetched, language"
        if (row := self._row_at(url, columns)) is None:
            return None
        key, digest, meta, at, title, kind, published, fetched, language = row
        sql = "SELECT data FROM blocks WHERE document = ? ORDER BY number"
        with self._readable(f"the document at {url}"):
            text = "".join(unpack_block(data) for (data,) in self.rows(sql, (key,)))
            more = json.loads(meta)
            document = Document(at, title, text, kind, published, fetched, language, more)
            if content_hash(document) != digest:
                raise ValueError("its content is not what was added")
        return document

    def places(self, keys: Iterable[int]) -> dict[int, Place]:
        """Return the places of the passages; deleted ones are omitted."""
        sql = f"{_PLACES} WHERE p.key IN (SELECT value FROM json_each(?))"  # noqa: S608
        with self._readable("a passage"):
            return {row[0]: place(row) for row in self.rows(sql, (json_keys(keys),))}

    def places_between(self, first: int, last: int) -> Iterator[list[Place]]:
        """Yield the places of the stored passages with keys in the closed range, in portions."""
        for rows in self.scan(_PLACES, "p.key", first, last):
            with self._readable("a passage"):
                portion = [place(row) for row in rows]
            yield portion

    def passages(self, places: Sequence[Place]) -> list[Passage]:
        """Return the passages at `places`, in order; reads only the blocks of text they need."""
        with self._readable("a passage"):
            blocks = self._blocks({(p.document, n) for p in places for n in blocks_of(p.span)})
            return [_passage(place, text_of(place, blocks)) for place in places]

    def list_documents(
        self, selection: Selection, limit: int, after: After | None = None
    ) -> list[ListedDocument]:
        text, (after_value, after_key) = fold_case(selection.text), after or ("", None)
        escaped = re.sub("[!%_]", r"!\g<0>", text)
        arguments = asdict(selection) | {"text": raw(text), "pattern": raw(f"%{escaped}%")}
        arguments |= {"after_value": raw(after_value), "after_key": after_key, "limit": limit}
        return [ListedDocument(*row) for row in self.rows(_LISTINGS[selection.order], arguments)]

    def contents(self) -> Contents:
        """Count the documents by kind, language and date; reads every document's row."""
        sql = "SELECT COALESCE({}, ''), COUNT(*) FROM documents GROUP BY 1 ORDER BY 2 DESC, 1"
        kinds, languages = (self.rows(sql.format(column)) for column in ("kind", "language"))
        sql = "SELECT MIN(published), MAX(published), COUNT(*) - COUNT(published) FROM documents"
        [[first, last, n_undated]] = self.rows(sql)
        return Contents(dict(kinds), dict(languages), first, last, n_undated)

    def url_of(self, doc_id: str) -> str | None:
        rows = self.rows("SELECT url FROM documents WHERE doc_id = ?", (doc_id,))
        return str(rows[0][0]) if rows else None

    def id_at(self, url: str) -> str | None:
        row = self._row_at(url, "doc_id")
        return str(row[0]) if row else None

    def spans_at(self, url: str) -> list[Span]:
        """Return the spans of the passages of the document at `url`, in text order."""
        return [Span(first, last) for first, last in self._passages_at(url, "p.first, p.last")]

    def nearest_at(self, url: str, question: Floats, k: int) -> list[Passage]:
        """Return the `k` passages of the document at `url` nearest to the vector (dim,)."""
        of_document = [int(key) for (key,) in self._passages_at(url, "p.key")]
        keys, vectors = self.vectors(of_document, len(question))
        best = np.lexsort((keys, -(vectors @ question)))[:k]
        places = self.places(keys[best])
        return self.passages([places[int(key)] for key in keys[best]])

    def changes(self, after: int) -> Changes:
        """Return the passage keys added and deleted after the sequence number `after`."""
        sql = "SELECT added, first, last FROM changes WHERE sequence > ? ORDER BY sequence, first"
        changes = Changes([], [])
        for added, first, last in self.rows(sql, (after,)):
            (changes.added if added else changes.deleted).append((first, last))
        return changes

    def vectors(self, keys: Iterable[int], dim: int) -> tuple[Keys, Floats]:
        """Return the stored vectors of `keys`, by ascending key; keys without one are omitted."""
        sql = (
            "SELECT passage, vector FROM vectors"
            " WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage"
        )
        with self._readable("a vector"):
            return matrix(self.rows(sql, (json_keys(keys),)), dim)

    def vectors_between(self, first: int, last: int, dim: int) -> Iterator[tuple[Keys, Floats]]:
        """Yield the stored vectors with keys in the closed range, ascending, in portions."""
        for rows in self.scan("SELECT passage, vector FROM vectors", "passage", first, last):
            with self._readable("a vector"):
                portion = matrix(rows, dim)
            yield portion

    def vectors_of(self, passages: Sequence[Passage], dim: int) -> dict[str, Floats]:
        """Return the sound stored vectors of the passages by passage id; others are omitted."""
        sql = (
            "SELECT d.doc_id, p.first, p.last, v.passage, v.vector FROM documents d"
            " JOIN passages p ON p.document = d.key JOIN vectors v ON v.passage = p.key"
            " WHERE d.url = CAST(? AS TEXT)"
        )
        rows = [r for u in {p.url for p in passages} for r in self.rows(sql, (raw(u),))]
        bad = set(unsound([(key, vector) for *_, key, vector in rows], dim))
        sound = [row for row in rows if row[3] not in bad]
        _, vectors = matrix([(key, vector) for *_, key, vector in sound], dim)
        return {f"{i}:{a}-{b}": v for (i, a, b, *_), v in zip(sound, vectors, strict=True)}

    def keys_in(self, first: int, last: int) -> set[int]:
        rows = self.rows("SELECT key FROM passages WHERE key BETWEEN ? AND ?", (first, last))
        return {int(key) for (key,) in rows}

    def keys(self) -> Keys:
        """Return the keys of all passages that have a vector, ascending."""
        rows = self.rows("SELECT passage FROM vectors ORDER BY passage")
        return np.array([key for (key,) in rows], dtype=np.int64)

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Commit everything inside as one batch; on an error or a kill the store is unchanged."""
        with self._transaction():
            before, sequence = self.last_key(), self.sequence + 1
            self._set("sequence", str(sequence))
            yield
            if (last := self.last_key()) > before:
                self._log(sequence, True, before + 1, last)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside belongs to one committed state."""
        if self._connection.in_transaction:
            yield
            return
        self._run("BEGIN")
        try:
            yield
        finally:
            self._roll_back()  # a damaged file refuses even an empty COMMIT

    def put(self, document: Document, spans: Sequence[Span]) -> range:
        """Store a document at an unused address with its passages; returns the passages' keys."""
        first = self.last_key() + 1
        keys = range(first, first + len(spans))
        fields = (document.kind, document.published, document.fetched, document.language)
        sql = (
            "INSERT INTO documents (doc_id, url, title, kind, published, fetched, language, meta,"
            " content_hash) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?, ?, ?)"
        )
        meta = json.dumps(dict(document.meta), sort_keys=True)
        names = (document.doc_id, raw(document.url), raw(document.title))
        key = self._run(sql, (*names, *fields, meta, content_hash(document))).lastrowid
        self._run_many("INSERT INTO blocks VALUES (?, ?, ?)", pack_blocks(key, document.text))
        self._run_many(
            "INSERT INTO passages (document, first, last) VALUES (?, ?, ?)",
            ((key, span.start, span.end) for span in spans),
        )
        self._fold_in(document.doc_id, 1)
        return keys

    def put_vectors(self, keys: Sequence[int], vectors: Floats) -> None:
        """Store one vector per passage key; `vectors` is (n_keys, dim)."""
        stored = vectors.astype(_VECTOR)
        rows = ((key, vector.tobytes()) for key, vector in zip(keys, stored, strict=True))
        self._run_many("INSERT INTO vectors VALUES (?, ?)", rows)

    def note(self, name: str, value: str) -> None:
        """Set a manifest value in a separate transaction."""
        with self._transaction():
            self._run("INSERT OR REPLACE INTO manifest VALUES (?, ?)", (name, value))

    def remove(self, url: str) -> bool:
        if (row := self._row_at(url, "key, doc_id")) is None:
            return False
        key, doc_id = row
        sql = "SELECT MIN(key), MAX(key) FROM passages WHERE document = ?"
        ((first, last),) = self.rows(sql, (key,))
        if first is not None:
            self._log(self.sequence, False, first, last)
        self._run("DELETE FROM documents WHERE key = ?", (key,))
        self._fold_in(doc_id, -1)
        return True

    def compact_into(self, path: Path, tick: Callable[[], None]) -> None:
        """Write a copy without the free space; `tick` is called now and then.

        The copy's log of changes says that all passages were added: a derived index can be built
        from it, and one that is behind can catch up.
        """
        self._connection.set_progress_handler(tick, TICK_STEPS)
        try:
            with replacing(path) as part:
                self._run("VACUUM INTO ?", (str(part),))
        finally:
            self._connection.set_progress_handler(None, 0)
        with closing(Store.open(path, write=True)) as copy:
            copy.rows("PRAGMA journal_mode=WAL")
            with copy._transaction():
                copy._run("DELETE FROM changes")
                if copy.last_key():
                    copy._log(copy.sequence, True, 1, copy.last_key())

    def n_live_bytes(self) -> int:
        """Estimate the size of a compact copy in bytes."""
        names = ("page_count", "freelist_count", "page_size")
        n_pages, n_free, size = (int(self._value(f"PRAGMA {name}")) for name in names)
        return (n_pages - n_free) * size

    def _blocks(self, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
        sql = (
            "SELECT b.document, b.number, b.data FROM json_each(?) w JOIN blocks b"
            " ON b.document = json_extract(w.value, '$[0]')"
            " AND b.number = json_extract(w.value, '$[1]')"
        )
        rows = self.rows(sql, (json.dumps(sorted(wanted)),))
        if len(rows) < len(wanted):
            raise ValueError("a block of text is missing")
        return {(document, number): unpack_block(data) for document, number, data in rows}

    def _log(self, sequence: int, added: bool, first: int, last: int) -> None:
        self._run("INSERT INTO changes VALUES (?, ?, ?, ?)", (sequence, added, first, last))

    def _set(self, name: str, value: str) -> None:
        self._run("UPDATE manifest SET value = ? WHERE name = ?", (value, name))

    def _fold_in(self, doc_id: str, sign: int) -> None:
        """Update the digest, a sum of hashes that does not depend on the corpus's history."""
        with self._readable("the digest"):
            digest = int(self._value("SELECT value FROM manifest WHERE name = 'digest'"), 16)
        digest += sign * share_of_digest(doc_id)
        self._set("digest", f"{digest % 2**128:032x}")

    # ── All SQL goes through here, so that SQLite's errors become ours ───────────────────────────

    def rows(self, sql: str, arguments: Arguments = ()) -> list[Any]:
        with report_errors(self.path):
            return select_rows(self._connection, sql, arguments)

    def _value(self, sql: str, arguments: Sequence[object] = ()) -> Any:
        rows = self.rows(sql, arguments)
        if not rows:
            raise damage_error(self.path, "a row that others refer to is missing")
        return rows[0][0]

    def _run(self, sql: str, arguments: Sequence[object] = ()) -> sqlite3.Cursor:
        with report_errors(self.path):
            return self._connection.execute(sql, arguments)

    def _run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        with report_errors(self.path):
            self._connection.executemany(sql, rows)

    def scan(
        self, sql: str, key: str = "key", first: int = 1, last: int | None = None
    ) -> Iterator[list[Any]]:
        """Yield the rows in portions by ascending key, the first column of `sql`.

        `sql` must not have a WHERE clause.
        """
        bound = int(np.iinfo(np.int64).max) if last is None else last
        sql = f"{sql} WHERE {key} BETWEEN ? AND ? ORDER BY {key} LIMIT {ROWS_AT_ONCE}"
        while rows := self.rows(sql, (first, bound)):
            yield rows
            first = rows[-1][0] + 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # a full disk or a damaged file has ended it already
            self._run("ROLLBACK")

    @contextmanager
    def _readable(self, part: str) -> Iterator[None]:
        """Report rows that this class cannot have written as damage."""
        try:
            yield
        except (ValueError, TypeError, KeyError, zlib.error) as error:
            raise damage_error(self.path, f"{part}: {error}") from error
