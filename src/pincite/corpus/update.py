"""Add files to a corpus in batches, and bring a corpus up to date with files.

Each batch is committed before its files are recorded as read. So an interrupted run loses at most
the current batch, and the same command resumes there.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pincite.corpus.protocol import Comparison, Corpus
from pincite.corpus.store import raw
from pincite.documents.collection import Collection, Found, Piece, collect, edition, version
from pincite.documents.inputs import Parallel
from pincite.documents.tables import name_in_words
from pincite.errors import CorpusError, InputError
from pincite.types import Document, Reason, Unchecked

MAX_REFUSALS = 100  # listed refusals; further ones are only counted
BATCH_CHARS = 400_000  # about 700 passages: some seconds of encoding, and all that a kill can cost


@dataclass(frozen=True, slots=True)
class How:
    """What an update may do."""

    reread: bool = False  # include files that look unchanged
    prune: bool = False  # delete what is no longer there
    dry: bool = False  # only report
    # Files whose names on disk differ from those in the manifests.
    called: Mapping[str, Path] = field(default_factory=dict)
    # Converts a `file:` address to the one the user knows, for a downloaded copy.
    named: Callable[[str], str] = str


@dataclass(slots=True)
class Outcome:
    """Counts and addresses of the documents so far; `gone` ones are still in the corpus."""

    unread: list[Unchecked] = field(default_factory=list)  # the first MAX_REFUSALS
    n_unread: int = 0
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    n_unchanged: int = 0
    n_superseded: int = 0  # older versions of documents that a later file replaced
    passed_over: dict[str, int] = field(default_factory=dict)  # non-source records, by reason
    n_files: int = 0
    n_files_done: int = 0
    n_found: int = 0  # documents and refusals so far; grows while a long file is read

    def refuse(self, source: Unchecked) -> None:
        self.n_unread += 1
        if len(self.unread) < MAX_REFUSALS:
            self.unread.append(source)


Progress = Callable[[Outcome], None]


# ── Origins ──────────────────────────────────────────────────────────────────────────────────────

# Which files a corpus's documents came from. Searches do not depend on it. It is written after the
# documents are committed, so a kill between the two means reading one file again. Without it, the
# next update reads all files.
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
_SAID_BY = "SELECT path FROM documents WHERE url = ? UNION SELECT path FROM withdrawn WHERE url = ?"
_LOSE = "INSERT OR REPLACE INTO gone SELECT url, path FROM documents WHERE path = ?"


class Origins:
    """The source files by full path, each with a signature and the addresses of its documents."""

    def __init__(self, corpus: Path | None, *, write: bool = True) -> None:
        """Open or create the file in the corpus folder; without `write`, work on a copy.

        Raises CorpusError if it cannot be opened.
        """
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
        return self._paths(_SAID_BY, (raw(url), raw(url)))

    def all_files(self) -> list[Path]:
        """Return all known files, including those that withdrew documents."""
        return self._paths("SELECT path FROM files UNION SELECT path FROM withdrawn", ())

    def below(self, paths: Iterable[Path]) -> list[Path]:
        """Return the known files that are among `paths` or below them."""
        return [file for path in paths for file in self._paths(_FILES_BELOW, _range(path))]

    def gone(self, paths: Iterable[Path]) -> list[str]:
        """Return addresses that files below `paths` once had and that no known file has now."""
        urls = {url for path in paths for (url,) in self._rows(_GONE_BELOW, _range(path))}
        held = "SELECT 1 FROM documents WHERE url = ? LIMIT 1"
        return sorted(_text(url) for url in urls if not self._rows(held, (url,)))

    def record(self, read: Sequence[tuple[Path, str, Sequence[str]]]) -> None:
        """Record files with their signatures and addresses, in one transaction.

        Addresses that a file no longer has become `gone`.
        """
        with self._report_errors(), self._connection:
            for path, signature, urls in read:
                key = _key(path)
                self._lose(key)
                self._connection.execute("INSERT INTO files VALUES (?, ?)", (key, signature))
                rows = [(raw(url), key) for url in urls]
                self._connection.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?)", rows)
                for table in ("gone", "withdrawn"):
                    statement = f"DELETE FROM {table} WHERE url = ? AND path = ?"  # noqa: S608
                    self._connection.executemany(statement, rows)

    def withdraw(self, withdrawn: Sequence[tuple[str, Path]]) -> None:
        """Record documents that a file withdraws: earlier files must not restore them."""
        rows = [(raw(url), _key(path)) for url, path in withdrawn]
        with self._report_errors(), self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO withdrawn VALUES (?, ?)", rows)

    def lose(self, paths: Iterable[Path]) -> None:
        """Forget deleted files; their addresses become `gone`."""
        with self._report_errors(), self._connection:
            for path in paths:
                self._lose(_key(path))

    def _lose(self, key: bytes) -> None:
        self._connection.execute(_LOSE, (key,))
        self._connection.execute("DELETE FROM files WHERE path = ?", (key,))

    def forget(self, urls: Iterable[str]) -> None:
        """Forget addresses that were also deleted from the corpus."""
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


# ── Updates ──────────────────────────────────────────────────────────────────────────────────────


def update(
    corpus: Corpus | None,
    origins: Origins,
    paths: Sequence[Path],
    how: How,
    progress: Progress | None = None,
    parallel: Parallel | None = None,
) -> Outcome:
    """Add what is new or changed under `paths`, and find what is no longer there.

    Gone are documents of deleted files, and those that a file contained before but no longer does.
    A file that can no longer be read keeps its documents.

    In a collection of numbered files (see `edition`) the last file with a record wins, in whatever
    order they are read. A record that a file withdraws is removed, with or without `prune`.

    A dry run needs no corpus. `progress` is called after each file and batch, and within long
    files. `parallel` reads the files; None: threads of this process.

    Raises InputError: A path does not exist; nothing has been changed.
    """
    collection = collect(paths, called=how.called)
    run = _Run(corpus, origins, how, progress or (lambda outcome: None))
    run.outcome.n_files = len(collection.pieces)
    read = partial(_contents, replace(collection, pieces=[]), how)
    files = [run.sign(piece, collection) for piece in collection.pieces]
    for signed in (file for file in files if file.is_same):
        run.take(signed, (), collection)
    changed = [file for file in files if not file.is_same]
    with closing((parallel or Parallel()).streams(read, changed)) as streams:
        for signed, contents in streams:
            run.take(signed, contents, collection)
    run.commit()
    for missing in collection.missing():
        run.outcome.refuse(missing)
    run.find_gone(paths)
    return run.outcome


def ingest(corpus: Corpus, paths: Sequence[Path], progress: Progress | None = None) -> Outcome:
    """Add every document under `paths`, without remembering the files; raises as `update`."""
    with Origins(None) as origins:
        return update(corpus, origins, paths, How(reread=True), progress)


# ── One run ──────────────────────────────────────────────────────────────────────────────────────

FOUND_A_STEP = 1_000  # documents and refusals between two calls of `progress`
WITHDRAWN_AT_ONCE = 1_000  # withdrawn addresses looked up together
# Reasons of records with no text, or no longer any.
_NO_SOURCE = frozenset({Reason.TITLE_ONLY, Reason.WITHDRAWN})


class _Signed(NamedTuple):
    piece: Piece
    signature: str  # empty if the file cannot be accessed
    is_same: bool  # unchanged since it was last read


def _contents(collection: Collection, how: How, signed: _Signed) -> Iterator[Found]:
    if not signed.signature:
        signed.piece.path.stat()  # raises with the reason
    for record in collection.read(signed.piece):
        url, title = how.named(record.url), name_in_words(record.url)
        if isinstance(record, Document) and record.title == title != "":
            record = replace(record, title=name_in_words(url))
        yield record if url == record.url else replace(record, url=url)


class _Run:
    def __init__(
        self, corpus: Corpus | None, origins: Origins, how: How, progress: Progress
    ) -> None:
        self.outcome = Outcome()
        self._corpus, self._origins, self._how, self._progress = corpus, origins, how, progress
        self._batch: dict[str, Document] = {}  # by address
        self._n_chars = 0
        self._read: list[tuple[Path, str, list[str]]] = []  # since the last commit
        # Addresses withdrawn since then: the file, and whether to remember it even if the corpus
        # has no such document, because an earlier file that has it may be read later.
        self._withdrawn: dict[str, tuple[Path, bool]] = {}
        self._seen: set[Path] = set()

    def sign(self, piece: Piece, collection: Collection) -> _Signed:
        try:
            signature = collection.signature(piece)
        except OSError:
            return _Signed(piece, "", False)
        is_same = signature == self._origins.signature(piece.path.resolve())
        return _Signed(piece, signature, is_same and not self._how.reread)

    def take(self, signed: _Signed, contents: Iterable[Found], collection: Collection) -> None:
        path = signed.piece.path.resolve()
        self._seen.add(path)
        try:
            if signed.is_same:
                urls = self._origins.addresses(path)
                self.outcome.n_unchanged += len(urls)
                for url in urls:
                    collection.known_as(url)
            else:
                self._read_file(signed, path, contents, collection)
        except (InputError, OSError) as error:  # one unreadable file does not end the run
            url = self._how.named(path.as_uri())
            self.outcome.refuse(Unchecked(url, Reason.REFUSED, str(error)))
        self.outcome.n_files_done += 1
        self._progress(self.outcome)

    def _read_file(
        self, signed: _Signed, path: Path, contents: Iterable[Found], collection: Collection
    ) -> None:
        urls, whole = dict[str, None](), True
        # Known later files of its collection: none, unless it is reread.
        this = edition(path)
        known = self._origins.all_files() if this else ()
        later = {file for file in known if this and (edition(file) or this) > this}
        for record in contents:
            self.outcome.n_found += 1
            if self.outcome.n_found % FOUND_A_STEP == 0:
                self._progress(self.outcome)
            collection.known_as(record.url)
            if later and not later.isdisjoint(self._origins.said_by(record.url)):
                self.outcome.n_superseded += 1
                urls[record.url] = None
            elif isinstance(record, Document):
                urls[record.url] = None
                self._add_to_batch(record)
            elif record.reason in _NO_SOURCE:
                self._withdraw(record, path)
            else:
                self.outcome.refuse(record)
                whole = False
        if not whole:  # its earlier documents may be in the unreadable part
            urls |= dict.fromkeys(self._origins.addresses(path))
        self._read.append((path, signed.signature if whole else "", list(urls)))

    def _add_to_batch(self, document: Document) -> None:
        """Add a document to the batch, unless that has a later version of it."""
        known = self._batch.get(document.url)
        if known and version(known.meta) > version(document.meta):
            self.outcome.n_superseded += 1
            return
        self._withdrawn.pop(document.url, None)
        self._batch[document.url] = document
        self._n_chars += len(document.text)
        if self._n_chars >= BATCH_CHARS:
            self.commit()

    def _withdraw(self, record: Unchecked, path: Path) -> None:
        """Handle a record that is not a source, or no longer: remove an earlier file's document."""
        if record.reason is not Reason.WITHDRAWN:
            counts = self.outcome.passed_over
            counts[record.reason.value] = counts.get(record.reason.value, 0) + 1
        was_in_batch = self._batch.pop(record.url, None) is not None
        is_last_word = record.reason is Reason.WITHDRAWN or edition(path) is not None
        self._withdrawn[record.url] = path, was_in_batch or is_last_word
        if len(self._withdrawn) >= WITHDRAWN_AT_ONCE:
            self.commit()

    def _stored_urls(self, urls: Iterable[str]) -> list[str]:
        asked = list(urls)
        documents = self._corpus.get(asked) if self._corpus is not None else [None] * len(asked)
        return [url for url, document in zip(asked, documents, strict=True) if document is not None]

    def commit(self) -> None:
        """Commit the batch, then record the completely read files."""
        latest = self._new_or_changed(list(self._batch.values()))
        stale = self._stored_urls(self._withdrawn)
        remembered = {url for url, (_, always) in self._withdrawn.items() if always} | set(stale)
        self.outcome.removed += stale
        if self._corpus is not None and not self._how.dry:
            self._corpus.add(latest)
            if stale:
                self._corpus.delete(stale)
        self._origins.record(self._read)
        self._origins.withdraw([(url, self._withdrawn[url][0]) for url in sorted(remembered)])
        self._batch, self._n_chars, self._read, self._withdrawn = {}, 0, [], {}
        self._progress(self.outcome)

    def _new_or_changed(self, documents: list[Document]) -> list[Document]:
        fresh, states = list[Document](), list[Comparison](["new"] * len(documents))
        if self._corpus is not None:
            states = self._corpus.compare(documents)
        for document, state in zip(documents, states, strict=True):
            if state == "same":
                self.outcome.n_unchanged += 1
            elif state == "changed" and self._is_older(document):
                self.outcome.n_superseded += 1
            else:
                where = self.outcome.added if state == "new" else self.outcome.changed
                where.append(document.url)
                fresh.append(document)
        return fresh

    def _is_older(self, document: Document) -> bool:
        (stored,) = self._corpus.get([document.url]) if self._corpus is not None else [None]
        return stored is not None and version(stored.meta) > version(document.meta)

    def find_gone(self, paths: Sequence[Path]) -> None:
        lost = [path for path in self._origins.below(paths) if path not in self._seen]
        self._origins.lose(lost)
        gone = self._origins.gone(paths)
        stored = self._stored_urls(gone)
        if not self._how.prune:
            self.outcome.gone = stored
            return
        if self._corpus is not None and stored and not self._how.dry:
            self._corpus.delete(stored)
        self._origins.forget(gone)
        self.outcome.removed += stored
