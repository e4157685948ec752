"""A corpus brought up to date with files: what is new, changed, unchanged, gone or unreadable.

Each batch is committed before its files are noted as read, so a run that is stopped loses at most
the batch at hand, and the same command goes on from there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pincite.documents.collection import Collection, Piece, collected
from pincite.errors import InputError
from pincite.index.corpus import Comparison
from pincite.index.origins import Origins
from pincite.pipeline.ingest import BATCH_CHARS
from pincite.types import Document, Reason, Unchecked


class Updatable(Protocol):
    """What is asked of a corpus."""

    def add(self, documents: Sequence[Document]) -> int:
        """Commit the documents."""
        ...

    def delete(self, urls: Sequence[str]) -> int:
        """Remove those at `urls`."""
        ...

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """The documents at `urls`."""
        ...

    def compared(self, documents: Sequence[Document]) -> list[Comparison]:
        """What `add` would do with each."""
        ...


class NoCorpus:
    """What an update that only says what it would do finds where there is no corpus yet."""

    def add(self, documents: Sequence[Document]) -> int:
        """None of them."""
        return 0

    def delete(self, urls: Sequence[str]) -> int:
        """None of them."""
        return 0

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """None of them."""
        return [None for _ in urls]

    def compared(self, documents: Sequence[Document]) -> list[Comparison]:
        """All are new."""
        return ["new" for _ in documents]


@dataclass(frozen=True, slots=True)
class How:
    """What an update may do."""

    reread: bool = False  # also files that look as they did when they were last read
    prune: bool = False  # delete what is no longer there
    dry: bool = False  # only say what would be done


@dataclass(slots=True)
class Outcome:
    """What became of the documents so far, by address; `gone` still stand in the corpus."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    n_unchanged: int = 0
    unread: list[Unchecked] = field(default_factory=list)
    n_files: int = 0
    n_files_done: int = 0


Progress = Callable[[Outcome], None]


def update(
    corpus: Updatable,
    origins: Origins,
    paths: Sequence[Path],
    how: How,
    progress: Progress | None = None,
) -> Outcome:
    """Add what is new or changed under `paths`, and find what is no longer there.

    Gone are documents of files that are no longer there, and those that a file gave before and
    gives no more. A file that cannot be read now keeps the documents it gave.

    Args:
        corpus: open for writing, unless it is only asked what would be done.
        origins: which files its documents came from.
        paths: files, and folders with all that is in them.
        how: what may be done.
        progress: is told after each file and batch.

    Raises:
        InputError: a path does not exist, before anything is changed.
    """
    collection = collected(paths)
    run = _Run(corpus, origins, how, progress or (lambda outcome: None))
    run.outcome.n_files = len(collection.pieces)
    for piece in collection.pieces:
        run.take(piece, collection)
    run.commit()
    run.outcome.unread += collection.unmet()
    run.clear_away(paths)
    return run.outcome


class _Run:
    """One update under way."""

    def __init__(self, corpus: Updatable, origins: Origins, how: How, progress: Progress) -> None:
        self.outcome = Outcome()
        self._corpus, self._origins, self._how, self._progress = corpus, origins, how, progress
        self._batch: list[Document] = []
        self._n_chars = 0
        self._read: list[tuple[Path, str, list[str]]] = []  # since the last commit
        self._there: set[Path] = set()

    def take(self, piece: Piece, collection: Collection) -> None:
        """Read a file, unless it is as it was."""
        path = piece.path.resolve()
        self._there.add(path)
        try:
            signature = collection.signature(piece)
            if signature == self._origins.signature(path) and not self._how.reread:
                self._unchanged(path, collection)
            else:
                self._take_in(piece, collection, signature)
        except (InputError, OSError) as error:  # one file that may not be opened, not the run
            self.outcome.unread.append(Unchecked(path.as_uri(), Reason.REFUSED, str(error)))
        self.outcome.n_files_done += 1
        self._progress(self.outcome)

    def _unchanged(self, path: Path, collection: Collection) -> None:
        urls = self._origins.addresses(path)
        self.outcome.n_unchanged += len(urls)
        for url in urls:
            collection.known_as(url)

    def _take_in(self, piece: Piece, collection: Collection, signature: str) -> None:
        path, urls, whole = piece.path.resolve(), dict[str, None](), True
        for found in collection.read(piece):
            if isinstance(found, Unchecked):
                self.outcome.unread.append(found)
                whole = False
                continue
            urls[found.url] = None
            self._batch.append(found)
            self._n_chars += len(found.text)
            if self._n_chars >= BATCH_CHARS:
                self.commit()
        if not whole:  # what it gave before may be what cannot be read now
            urls |= dict.fromkeys(self._origins.addresses(path))
        self._read.append((path, signature if whole else "", list(urls)))

    def commit(self) -> None:
        """Keep what was read; the files that were read to their ends are then known."""
        latest = list({document.url: document for document in self._batch}.values())
        for document, state in zip(latest, self._corpus.compared(latest), strict=True):
            if state == "same":
                self.outcome.n_unchanged += 1
            else:
                where = self.outcome.added if state == "new" else self.outcome.changed
                where.append(document.url)
        if not self._how.dry:
            self._corpus.add(latest)
        self._origins.record(self._read)
        self._batch, self._n_chars, self._read = [], 0, []
        self._progress(self.outcome)

    def clear_away(self, paths: Sequence[Path]) -> None:
        """Delete what is gone, or list it."""
        lost = [path for path in self._origins.below(paths) if path not in self._there]
        self._origins.lose(lost)
        gone = self._origins.gone(paths)
        stored = [url for url in gone if self._corpus.get([url])[0] is not None]
        if not self._how.prune:
            self.outcome.gone = stored
            return
        if stored and not self._how.dry:
            self._corpus.delete(stored)
        self._origins.forget(gone)
        self.outcome.removed = stored
