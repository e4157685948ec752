"""Files into a corpus, batch by batch: what was committed stays, whatever happens next."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol

from pincite.documents.collection import Collection, collected, files
from pincite.types import Document, Unchecked

MAX_REFUSALS = 100  # that are listed; the others are only counted
BATCH_CHARS = 400_000  # about 700 passages: some seconds of encoding, and what a kill costs


class _Adds(Protocol):
    def add(self, documents: Sequence[Document]) -> int: ...


@dataclass(slots=True)
class Intake:
    """What became of the files so far."""

    n_read: int = 0  # documents with text
    n_added: int = 0  # of these new or changed
    unread: list[Unchecked] = field(default_factory=list)  # the first MAX_REFUSALS
    n_unread: int = 0

    def refuse(self, found: Unchecked) -> None:
        """Count a refusal, and list it if it is among the first."""
        self.n_unread += 1
        if len(self.unread) < MAX_REFUSALS:
            self.unread.append(found)


def ingest(
    corpus: _Adds,
    paths: Sequence[Path],
    progress: Callable[[Intake], None] | None = None,
    read: Callable[[Path], Iterable[Document | Unchecked]] | None = None,
) -> Intake:
    """Add every document under `paths`; unreadable ones are listed with the reason.

    Args:
        corpus: open for writing.
        paths: files, and folders with all that is in them.
        progress: is told after each batch.
        read: gives the documents of a file, to name them otherwise; manifests then say nothing.

    Raises:
        InputError: a path does not exist, before anything is added.
    """
    intake, batch = Intake(), list[Document]()

    def commit() -> None:
        intake.n_added += corpus.add(batch)
        intake.n_read += len(batch)
        batch.clear()
        if progress:
            progress(intake)

    n_chars = 0
    for found in _all_of(paths, read):
        if isinstance(found, Unchecked):
            intake.refuse(found)
            continue
        batch.append(found)
        n_chars += len(found.text)
        if n_chars >= BATCH_CHARS:
            commit()
            n_chars = 0
    commit()
    return intake


def _all_of(
    paths: Sequence[Path], read: Callable[[Path], Iterable[Document | Unchecked]] | None
) -> Iterable[Document | Unchecked]:
    if read:
        return chain.from_iterable(map(read, list(files(paths))))
    return _with_manifests(collected(paths))


def _with_manifests(collection: Collection) -> Iterator[Document | Unchecked]:
    for piece in collection.pieces:
        yield from collection.read(piece)
    yield from collection.unmet()
