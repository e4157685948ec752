"""Adds files to a corpus, batch by batch, and brings a corpus up to date with files.

Each batch is committed before its files are noted as read, so a run that is stopped loses at most
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
    files,
    version,
)
from pincite.errors import InputError
from pincite.library.parallel import Parallel
from pincite.types import Document, Reason, Unchecked

MAX_REFUSALS = 100  # that are listed; the others are only counted
BATCH_CHARS = 400_000  # about 700 passages: some seconds of encoding, and what a kill costs


@dataclass(slots=True)
class Refusals:
    """The files that could not be read."""

    unread: list[Unchecked] = field(default_factory=list)  # the first MAX_REFUSALS
    n_unread: int = 0

    def refuse(self, found: Unchecked) -> None:
        """Count a refusal, and list it if it is among the first."""
        self.n_unread += 1
        if len(self.unread) < MAX_REFUSALS:
            self.unread.append(found)


@dataclass(slots=True)
class Ingested(Refusals):
    """What became of the files so far."""

    n_read: int = 0  # documents with text
    n_added: int = 0  # of these new or changed


def ingest(
    corpus: Corpus,
    paths: Sequence[Path],
    progress: Callable[[Ingested], object] = lambda done: None,
    read: Callable[[Path], Iterable[Found]] | None = None,
) -> Ingested:
    """Add every document under `paths`; unreadable ones are listed with the reason.

    Args:
        corpus: open for writing.
        paths: files, and folders with all that is in them.
        progress: called after each batch.
        read: gives the documents of a file, to name them otherwise; manifests then say nothing.

    Raises:
        InputError: a path does not exist, before anything is added.
    """
    done, batch, n_chars = Ingested(), list[Document](), 0

    def commit() -> None:
        done.n_added += corpus.add(batch)
        done.n_read += len(batch)
        batch.clear()
        progress(done)

    for found in _read(paths, read):
        if isinstance(found, Unchecked):
            done.refuse(found)
            continue
        batch.append(found)
        n_chars += len(found.text)
        if n_chars >= BATCH_CHARS:
            commit()
            n_chars = 0
    commit()
    return done


def _read(paths: Sequence[Path], read: Callable[[Path], Iterable[Found]] | None) -> Iterator[Found]:
    if read:
        for path in list(files(paths)):
            yield from read(path)
        return
    collection = collected(paths)
    for piece in collection.pieces:
        yield from collection.read(piece)
    yield from collection.unmet()


@dataclass(frozen=True, slots=True)
class How:
    """What an update may do."""

    reread: bool = False  # also files that look as they did when they were last read
    prune: bool = False  # delete what is no longer there
    dry: bool = False  # only say what would be done
    # Files that have other names on the disk than in the manifests among them.
    called: Mapping[str, Path] = field(default_factory=dict)
    # Gives the address by which the user knows a `file:` address, as of a downloaded copy.
    named: Callable[[str], str] = str


@dataclass(slots=True)
class Outcome(Refusals):
    """What became of the documents so far, by address; `gone` still stand in the corpus."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    n_unchanged: int = 0
    n_superseded: int = 0  # older states of documents that a later file of the collection gave
    passed_over: dict[str, int] = field(default_factory=dict)  # records that are no source, by why
    n_files: int = 0
    n_files_done: int = 0
    n_found: int = 0  # documents and refusals in files so far: moves while a long file is read


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

    Gone are documents of files that are no longer there, and those that a file gave before and
    gives no more. A file that cannot be read now keeps the documents it gave.

    Of a collection in numbered files (see `edition`) the last file that has a record counts,
    whatever order they are read in; what a file says was deleted is removed, `prune` or not.

    Args:
        corpus: open for writing, unless it is only asked what would be done; None: an empty one,
            which only a dry run takes.
        origins: which files its documents came from.
        paths: files, and folders with all that is in them.
        how: what may be done.
        progress: called after each file and batch, and within long files.
        parallel: who reads the files; None: threads of this process. The outcome is the same.

    Raises:
        InputError: a path does not exist, before anything is changed.
    """
    collection = collected(paths, called=how.called)
    run = _Run(corpus, origins, how, progress or (lambda outcome: None))
    run.outcome.n_files = len(collection.pieces)
    read = partial(_contents, replace(collection, pieces=[]), how.named)
    files = [run.signed(piece, collection) for piece in collection.pieces]
    for signed in (file for file in files if file.is_same):
        run.take(signed, (), collection)
    changed = [file for file in files if not file.is_same]
    with closing((parallel or Parallel()).streams(read, changed)) as streams:
        for signed, found in streams:
            run.take(signed, found, collection)
    run.commit()
    for unmet in collection.unmet():
        run.outcome.refuse(unmet)
    run.clear_away(paths)
    return run.outcome


FOUND_A_STEP = 1_000  # documents and refusals between two calls of `progress`
LEAVING_AT_ONCE = 1_000  # withdrawn addresses that are looked up together
# Records that say of themselves that there is nothing to read, or nothing any more.
_NO_SOURCE = frozenset({Reason.TITLE_ONLY, Reason.WITHDRAWN})


class _Signed(NamedTuple):
    piece: Piece
    signature: str  # empty if it cannot be looked at
    is_same: bool  # as when it was last read


def _contents(
    collection: Collection, named: Callable[[str], str], signed: _Signed
) -> Iterator[Found]:
    if not signed.signature:
        signed.piece.path.stat()  # says why
    for found in collection.read(signed.piece):
        url = named(found.url)
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
        # Addresses withdrawn since then: by which file, and whether to remember it although the
        # corpus has no such document: an earlier file that has one may come later.
        self._leaving: dict[str, tuple[Path, bool]] = {}
        self._there: set[Path] = set()

    def signed(self, piece: Piece, collection: Collection) -> _Signed:
        """The file as it is before it is read."""
        try:
            signature = collection.signature(piece)
        except OSError:
            return _Signed(piece, "", False)
        is_same = signature == self._origins.signature(piece.path.resolve())
        return _Signed(piece, signature, is_same and not self._how.reread)

    def take(self, signed: _Signed, found: Iterable[Found], collection: Collection) -> None:
        """What is in a file, unless it is as it was."""
        path = signed.piece.path.resolve()
        self._there.add(path)
        try:
            if signed.is_same:
                urls = self._origins.addresses(path)
                self.outcome.n_unchanged += len(urls)
                for url in urls:
                    collection.known_as(url)
            else:
                self._take_in(signed, path, found, collection)
        except (InputError, OSError) as error:  # one file that may not be opened, not the run
            url = self._how.named(path.as_uri())
            self.outcome.refuse(Unchecked(url, Reason.REFUSED, str(error)))
        self.outcome.n_files_done += 1
        self._progress(self.outcome)

    def _take_in(
        self, signed: _Signed, path: Path, contents: Iterable[Found], collection: Collection
    ) -> None:
        urls, whole = dict[str, None](), True
        later = self._later_files(path)
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
                self._hold(found)
            elif found.reason in _NO_SOURCE:
                self._withdraw(found, path)
            else:
                self.outcome.refuse(found)
                whole = False
        if not whole:  # what it gave before may be what cannot be read now
            urls |= dict.fromkeys(self._origins.addresses(path))
        self._read.append((path, signed.signature if whole else "", list(urls)))

    def _later_files(self, path: Path) -> set[Path]:
        """Known files of its collection that come after this one: none, unless it is reread."""
        this = edition(path)
        if this is None:
            return set()
        known = ((file, edition(file)) for file in self._origins.all_files())
        return {file for file, other in known if other and other > this}

    def _hold(self, document: Document) -> None:
        """Keep a document for the next batch, unless a later version of it is in it already."""
        held = self._batch.get(document.url)
        if held and version(held.meta) > version(document.meta):
            self.outcome.n_superseded += 1
            return
        self._leaving.pop(document.url, None)
        self._batch[document.url] = document
        self._n_chars += len(document.text)
        if self._n_chars >= BATCH_CHARS:
            self.commit()

    def _withdraw(self, found: Unchecked, path: Path) -> None:
        """A record that is no source, or no longer: what an earlier file gave of it goes."""
        if found.reason is not Reason.WITHDRAWN:
            counts = self.outcome.passed_over
            counts[found.reason.value] = counts.get(found.reason.value, 0) + 1
        is_held = self._batch.pop(found.url, None) is not None
        is_last_word = found.reason is Reason.WITHDRAWN or edition(path) is not None
        self._leaving[found.url] = path, is_held or is_last_word
        if len(self._leaving) >= LEAVING_AT_ONCE:
            self.commit()

    def _stored(self, urls: Iterable[str]) -> list[str]:
        asked = list(urls)
        found = self._corpus.get(asked) if self._corpus is not None else [None] * len(asked)
        return [url for url, document in zip(asked, found, strict=True) if document is not None]

    def commit(self) -> None:
        """Keep what was read; the files that were read to their ends are then known."""
        latest = self._news(list(self._batch.values()))
        leaving = self._stored(self._leaving)
        remembered = {url for url, (_, always) in self._leaving.items() if always} | set(leaving)
        self.outcome.removed += leaving
        if self._corpus is not None and not self._how.dry:
            self._corpus.add(latest)
            if leaving:
                self._corpus.delete(leaving)
        self._origins.record(self._read)
        self._origins.withdraw([(url, self._leaving[url][0]) for url in sorted(remembered)])
        self._batch, self._n_chars, self._read, self._leaving = {}, 0, [], {}
        self._progress(self.outcome)

    def _news(self, documents: list[Document]) -> list[Document]:
        news, states = list[Document](), list[Comparison](["new"] * len(documents))
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
                news.append(document)
        return news

    def _is_older(self, document: Document) -> bool:
        (stored,) = self._corpus.get([document.url]) if self._corpus is not None else [None]
        return stored is not None and version(stored.meta) > version(document.meta)

    def clear_away(self, paths: Sequence[Path]) -> None:
        """Delete what is gone, or list it."""
        lost = [path for path in self._origins.below(paths) if path not in self._there]
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
