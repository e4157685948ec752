"""Add files to a corpus in batches, and bring a corpus up to date with files.

Each batch is committed before its files are recorded as read. So an interrupted run loses at most
the current batch, and the same command resumes there.

A document is *gone* if the file that had it was deleted or no longer has it: it is deleted only on
request. It is *withdrawn* if a file says that it is no longer a source: it is removed. A version of
it is *superseded* if a later file of the same numbered collection, or a higher version, has it too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pincite.corpus.origins import Origins, ReadFile
from pincite.corpus.protocol import Comparison, Corpus
from pincite.documents.collection import Collection, Found, Piece, collect, edition, version
from pincite.documents.inputs import Parallel
from pincite.documents.tables import name_in_words
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

MAX_REFUSALS = 100  # listed refusals; further ones are only counted
BATCH_CHARS = 400_000  # about 700 passages: some seconds of encoding, and all that a kill can cost


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """What an update may do."""

    reread: bool = False  # include files that look unchanged
    prune: bool = False  # delete gone documents
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


def update(
    corpus: Corpus | None,
    origins: Origins,
    paths: Sequence[Path],
    options: UpdateOptions,
    progress: Progress | None = None,
    parallel: Parallel | None = None,
) -> Outcome:
    """Add what is new or changed under `paths`, and find what is gone.

    A file that can no longer be read keeps its documents. In a collection of numbered files (see
    `edition`) the last file with a record wins, in whatever order they are read. A record that a
    file withdraws is removed, with or without `prune`.

    A dry run needs no corpus and leaves `origins` unchanged. `progress` is called after each file
    and batch, and within long files. `parallel` reads the files; None: threads of this process.

    Raises InputError: A path does not exist; nothing has been changed.
    """
    collection = collect(paths, called=options.called)
    with origins.in_memory() if options.dry else nullcontext(origins) as known:
        run = _Run(corpus, known, options, progress or (lambda outcome: None), collection)
        run.outcome.n_files = len(collection.pieces)
        files = [run.sign(piece) for piece in collection.pieces]
        for file in files:
            if file.is_same:
                run.process(file, ())
        changed = [file for file in files if not file.is_same]
        read = partial(_contents, replace(collection, pieces=[]), options)
        with closing((parallel or Parallel()).streams(read, changed)) as streams:
            for file, contents in streams:
                run.process(file, contents)
        run.commit()
        for missing in collection.missing():
            run.outcome.refuse(missing)
        run.find_gone(paths)
    return run.outcome


def ingest(corpus: Corpus, paths: Sequence[Path], progress: Progress | None = None) -> Outcome:
    """Add every document under `paths`, without remembering the files; raises as `update`."""
    with Origins(None) as origins:
        return update(corpus, origins, paths, UpdateOptions(reread=True), progress)


# ── One run ──────────────────────────────────────────────────────────────────────────────────────

FOUND_A_STEP = 1_000  # documents and refusals between two calls of `progress`
WITHDRAWN_AT_ONCE = 1_000  # withdrawn addresses looked up together
# Reasons of records without text.
_NO_SOURCE = frozenset({Reason.TITLE_ONLY, Reason.WITHDRAWN})


class _SignedFile(NamedTuple):
    piece: Piece
    signature: str  # empty if the file cannot be accessed
    is_same: bool  # unchanged since it was last read


@dataclass(frozen=True, slots=True)
class _Withdrawal:
    file: Path  # that withdraws the document
    is_final: bool  # remembered without such a document: an earlier file may be read later


def _contents(collection: Collection, options: UpdateOptions, file: _SignedFile) -> Iterator[Found]:
    """Yield a file's records, with the addresses that the user knows."""
    if not file.signature:
        file.piece.path.stat()  # raises with the reason
    for record in collection.read(file.piece):
        url, title = options.named(record.url), name_in_words(record.url)
        if isinstance(record, Document) and record.title == title != "":
            record = replace(record, title=name_in_words(url))
        yield record if url == record.url else replace(record, url=url)


@dataclass
class _Run:
    """One update: its batch, what was read since the last commit, and the outcome so far."""

    corpus: Corpus | None
    origins: Origins
    options: UpdateOptions
    progress: Progress
    collection: Collection
    outcome: Outcome = field(default_factory=Outcome)
    processed: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._start_batch()

    def _start_batch(self) -> None:
        self._batch: dict[str, Document] = {}  # by address
        self._n_chars = 0
        self._read: list[ReadFile] = []
        self._withdrawn: dict[str, _Withdrawal] = {}  # by address

    def sign(self, piece: Piece) -> _SignedFile:
        try:
            signature = self.collection.signature(piece)
        except OSError:
            return _SignedFile(piece, "", False)
        is_same = signature == self.origins.signature(piece.path.resolve())
        return _SignedFile(piece, signature, is_same and not self.options.reread)

    def process(self, file: _SignedFile, contents: Iterable[Found]) -> None:
        """Take in the records of a file; one that is unchanged is not read."""
        path = file.piece.path.resolve()
        self.processed.add(path)
        try:
            if file.is_same:
                urls = self.origins.urls_in(path)
                self.outcome.n_unchanged += len(urls)
                for url in urls:
                    self.collection.known_as(url)
            else:
                self._read_file(path, file.signature, contents)
        except (InputError, OSError) as error:  # one unreadable file does not end the run
            url = self.options.named(path.as_uri())
            self.outcome.refuse(Unchecked(url, Reason.REFUSED, str(error)))
        self.outcome.n_files_done += 1
        self.progress(self.outcome)

    def _read_file(self, path: Path, signature: str, contents: Iterable[Found]) -> None:
        later, urls, is_whole = self._later_files(path), dict[str, None](), True
        for record in contents:
            self.outcome.n_found += 1
            if self.outcome.n_found % FOUND_A_STEP == 0:
                self.progress(self.outcome)
            self.collection.known_as(record.url)
            if later and not later.isdisjoint(self.origins.files_naming(record.url)):
                self.outcome.n_superseded += 1
                urls[record.url] = None
            elif isinstance(record, Document):
                urls[record.url] = None
                self._add_to_batch(record)
            elif record.reason in _NO_SOURCE:
                self._withdraw(record, path)
            else:
                self.outcome.refuse(record)
                is_whole = False
        if not is_whole:  # its earlier documents may be in the unreadable part
            urls |= dict.fromkeys(self.origins.urls_in(path))
        self._read.append(ReadFile(path, signature if is_whole else "", list(urls)))

    def _later_files(self, path: Path) -> set[Path]:
        """Return the known later files of the same collection: none, unless `path` comes late."""
        if (this := edition(path)) is None:
            return set()
        return {file for file in self.origins.files() if (edition(file) or this) > this}

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
        is_explicit = record.reason is Reason.WITHDRAWN or edition(path) is not None
        self._withdrawn[record.url] = _Withdrawal(path, was_in_batch or is_explicit)
        if len(self._withdrawn) >= WITHDRAWN_AT_ONCE:
            self.commit()

    def commit(self) -> None:
        """Commit the batch, then record the files that were read."""
        fresh = self._new_or_changed(list(self._batch.values()))
        stale = self._stored(list(self._withdrawn))
        self.outcome.removed += stale
        if self.corpus is not None and not self.options.dry:
            self.corpus.add(fresh)
            if stale:
                self.corpus.delete(stale)
        self.origins.record(self._read)
        remembered = {url for url, one in self._withdrawn.items() if one.is_final}.union(stale)
        self.origins.withdraw({url: self._withdrawn[url].file for url in remembered})
        self._start_batch()
        self.progress(self.outcome)

    def _new_or_changed(self, documents: list[Document]) -> list[Document]:
        fresh, states = list[Document](), list[Comparison](["new"] * len(documents))
        if self.corpus is not None:
            states = self.corpus.compare(documents)
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
        (stored,) = self.corpus.get([document.url]) if self.corpus is not None else [None]
        return stored is not None and version(stored.meta) > version(document.meta)

    def _stored(self, urls: Sequence[str]) -> list[str]:
        documents = self.corpus.get(urls) if self.corpus is not None else [None] * len(urls)
        return [url for url, document in zip(urls, documents, strict=True) if document is not None]

    def find_gone(self, paths: Sequence[Path]) -> None:
        """List the documents that are gone or, with `prune`, delete them."""
        known = self.origins.files_below(paths)
        self.origins.forget_files([path for path in known if path not in self.processed])
        gone = self.origins.gone_below(paths)
        stored = self._stored(gone)
        if not self.options.prune:
            self.outcome.gone = stored
            return
        if self.corpus is not None and stored and not self.options.dry:
            self.corpus.delete(stored)
        self.origins.forget_gone(gone)
        self.outcome.removed += stored
