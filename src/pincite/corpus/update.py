"""Add files to a corpus in batches, and bring a corpus up to date with files.

Each batch is committed before its files are recorded as read. So an interrupted run loses at most
the current batch, and the same command resumes there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pincite.corpus.origins import Origins
from pincite.corpus.protocol import Comparison, Corpus
from pincite.documents.collection import (
    Collection,
    Found,
    Piece,
    collected,
    edition,
    version,
)
from pincite.documents.prefetch import Parallel
from pincite.documents.tables import name_in_words
from pincite.errors import InputError
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

    def refuse(self, found: Unchecked) -> None:
        self.n_unread += 1
        if len(self.unread) < MAX_REFUSALS:
            self.unread.append(found)


Progress = Callable[[Outcome], None]


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

    Raises:
        InputError: A path does not exist; nothing has been changed.
    """
    collection = collected(paths, called=how.called)
    run = _Run(corpus, origins, how, progress or (lambda outcome: None))
    run.outcome.n_files = len(collection.pieces)
    read = partial(_contents, replace(collection, pieces=[]), how)
    files = [run.signed(piece, collection) for piece in collection.pieces]
    for signed in (file for file in files if file.is_same):
        run.take(signed, (), collection)
    changed = [file for file in files if not file.is_same]
    with closing((parallel or Parallel()).streams(read, changed)) as streams:
        for signed, found in streams:
            run.take(signed, found, collection)
    run.commit()
    for missing in collection.missing():
        run.outcome.refuse(missing)
    run.find_gone(paths)
    return run.outcome


def ingest(
    corpus: Corpus,
    paths: Sequence[Path],
    progress: Progress | None = None,
) -> Outcome:
    """Add every document under `paths`, without remembering the files; raises as `update`."""
    with Origins(None) as origins:
        return update(corpus, origins, paths, How(reread=True), progress)


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
    for found in collection.read(signed.piece):
        url, title = how.named(found.url), name_in_words(found.url)
        if isinstance(found, Document) and found.title == title != "":
            found = replace(found, title=name_in_words(url))
        yield found if url == found.url else replace(found, url=url)


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

    def signed(self, piece: Piece, collection: Collection) -> _Signed:
        try:
            signature = collection.signature(piece)
        except OSError:
            return _Signed(piece, "", False)
        is_same = signature == self._origins.signature(piece.path.resolve())
        return _Signed(piece, signature, is_same and not self._how.reread)

    def take(self, signed: _Signed, found: Iterable[Found], collection: Collection) -> None:
        path = signed.piece.path.resolve()
        self._seen.add(path)
        try:
            if signed.is_same:
                urls = self._origins.addresses(path)
                self.outcome.n_unchanged += len(urls)
                for url in urls:
                    collection.known_as(url)
            else:
                self._read_file(signed, path, found, collection)
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
        for found in contents:
            self.outcome.n_found += 1
            if self.outcome.n_found % FOUND_A_STEP == 0:
                self._progress(self.outcome)
            collection.known_as(found.url)
            if later and not later.isdisjoint(self._origins.said_by(found.url)):
                self.outcome.n_superseded += 1
                urls[found.url] = None
            elif isinstance(found, Document):
                urls[found.url] = None
                self._add_to_batch(found)
            elif found.reason in _NO_SOURCE:
                self._withdraw(found, path)
            else:
                self.outcome.refuse(found)
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

    def _withdraw(self, found: Unchecked, path: Path) -> None:
        """Handle a record that is not a source, or no longer: remove an earlier file's document."""
        if found.reason is not Reason.WITHDRAWN:
            counts = self.outcome.passed_over
            counts[found.reason.value] = counts.get(found.reason.value, 0) + 1
        was_in_batch = self._batch.pop(found.url, None) is not None
        is_last_word = found.reason is Reason.WITHDRAWN or edition(path) is not None
        self._withdrawn[found.url] = path, was_in_batch or is_last_word
        if len(self._withdrawn) >= WITHDRAWN_AT_ONCE:
            self.commit()

    def _stored(self, urls: Iterable[str]) -> list[str]:
        asked = list(urls)
        found = self._corpus.get(asked) if self._corpus is not None else [None] * len(asked)
        return [url for url, document in zip(asked, found, strict=True) if document is not None]

    def commit(self) -> None:
        """Commit the batch, then record the completely read files."""
        latest = self._new_or_changed(list(self._batch.values()))
        stale = self._stored(self._withdrawn)
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
        found, states = list[Document](), list[Comparison](["new"] * len(documents))
        if self._corpus is not None:
            states = self._corpus.compared(documents)
        for document, state in zip(documents, states, strict=True):
            if state == "same":
                self.outcome.n_unchanged += 1
            elif state == "changed" and self._is_older(document):
                self.outcome.n_superseded += 1
            else:
                where = self.outcome.added if state == "new" else self.outcome.changed
                where.append(document.url)
                found.append(document)
        return found

    def _is_older(self, document: Document) -> bool:
        (stored,) = self._corpus.get([document.url]) if self._corpus is not None else [None]
        return stored is not None and version(stored.meta) > version(document.meta)

    def find_gone(self, paths: Sequence[Path]) -> None:
        lost = [path for path in self._origins.below(paths) if path not in self._seen]
        self._origins.lose(lost)
        gone = self._origins.gone(paths)
        stored = self._stored(gone)
        if not self._how.prune:
            self.outcome.gone = stored
            return
        if self._corpus is not None and stored and not self._how.dry:
            self._corpus.delete(stored)
        self._origins.forget(gone)
        self.outcome.removed += stored
