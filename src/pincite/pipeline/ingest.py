"""Files into a corpus, batch by batch: what was committed stays, whatever happens next."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pincite.documents.read import read_path
from pincite.errors import InputError
from pincite.types import Document, Unchecked

BATCH_CHARS = 400_000  # about 700 passages: some seconds of encoding, and what a kill costs


class _Adds(Protocol):
    def add(self, documents: Sequence[Document]) -> int: ...


@dataclass(slots=True)
class Intake:
    """What became of the files so far."""

    n_read: int = 0  # documents with text
    n_added: int = 0  # of these new or changed
    unread: list[Unchecked] = field(default_factory=list)


def ingest(
    corpus: _Adds,
    paths: Sequence[Path],
    progress: Callable[[Intake], None] | None = None,
    read: Callable[[Path], Iterable[Document | Unchecked]] = read_path,
) -> Intake:
    """Add every document under `paths`; unreadable ones are listed with the reason.

    Args:
        corpus: open for writing.
        paths: files, and folders with all that is in them.
        progress: is told after each batch.
        read: gives the documents of a file; another one may name them otherwise.

    Raises:
        InputError: a path does not exist, before anything is added.
    """
    files = list(_files(paths))
    intake, batch = Intake(), list[Document]()

    def commit() -> None:
        intake.n_added += corpus.add(batch)
        intake.n_read += len(batch)
        batch.clear()
        if progress:
            progress(intake)

    n_chars = 0
    for file in files:
        for found in read(file):
            if isinstance(found, Unchecked):
                intake.unread.append(found)
                continue
            batch.append(found)
            n_chars += len(found.text)
            if n_chars >= BATCH_CHARS:
                commit()
                n_chars = 0
    commit()
    return intake


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Files in a fixed order; of a folder all below it but hidden ones."""
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file())
            yield from (p for p in inside if not _hidden(p.relative_to(path)))
        elif path.is_file():
            yield path
        else:
            raise InputError(f"{path} does not exist; expected a file or a folder to add.")


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
