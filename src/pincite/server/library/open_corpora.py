"""Corpora that were opened for a reader stay open for the next one, up to a number.

Opening one reads its indexes, which takes longer than a search. Each sees what another process has
committed at its next use. One that is dropped, or that others push out, is closed when its last
reader is done.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pincite.corpus.catalogue import Contents
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.errors import CorpusError, MissingModel, StaleCorpus
from pincite.protocols import Encoder

MOST = 8  # open at once: an index of a million vectors takes 0.4 GB


@dataclass(slots=True)
class Opened:
    """An open corpus; `no_meaning` says why it is searched by words only, empty if it is not."""

    corpus: EmbeddedCorpus
    no_meaning: str
    readers: int = 0
    is_dropped: bool = False
    counted: tuple[int, Contents] | None = None  # the batch after which it was counted

    def contents(self) -> Contents:
        """What its documents are; counted anew only when something changed."""
        sequence = self.corpus.status().sequence
        if self.counted is None or self.counted[0] != sequence:
            self.counted = sequence, self.corpus.contents()
        return self.counted[1]


class Shelf:
    """The open corpora of one process. Safe to use from several threads."""

    def __init__(self, encoder: Callable[[], Encoder], most: int = MOST) -> None:
        """`encoder`: loads the one that corpora are searched with; called once, when needed."""
        self._load, self._most = encoder, most
        self._encoder: Encoder | None = None
        self._mutex, self._loading = threading.Lock(), threading.Lock()
        self._open: OrderedDict[Path, Opened] = OrderedDict()

    @contextmanager
    def reading(self, folder: Path) -> Iterator[Opened]:
        """The corpus in the folder, open for as long as the block lasts.

        Raises:
            CorpusError: it is none, or damaged.
        """
        opened = self._taken(folder) or self._put(folder, self._opened(folder))
        try:
            yield opened
        except CorpusError:  # what is wrong may be mended by opening it again
            self._drop(folder, opened)
            raise
        finally:
            self._give_back(opened)

    def drop(self, folder: Path) -> None:
        """Close a corpus as soon as nobody reads it."""
        with self._mutex:
            opened = self._open.get(folder)
        if opened:
            self._drop(folder, opened)

    def close(self) -> None:
        """Close all that nobody reads."""
        for folder in list(self._open):
            self.drop(folder)

    def _taken(self, folder: Path) -> Opened | None:
        with self._mutex:
            opened = self._open.get(folder)
            if opened:
                self._open.move_to_end(folder)
                opened.readers += 1
            return opened

    def _opened(self, folder: Path) -> Opened:
        try:
            return Opened(EmbeddedCorpus.open(folder, self._the_encoder()), "")
        except StaleCorpus as error:
            return Opened(EmbeddedCorpus.open(folder, None), str(error).replace(str(folder), "It"))
        except MissingModel as error:
            return Opened(EmbeddedCorpus.open(folder, None), str(error))

    def _the_encoder(self) -> Encoder:
        with self._loading:
            self._encoder = self._encoder or self._load()
            return self._encoder

    def _put(self, folder: Path, opened: Opened) -> Opened:
        """Onto the shelf, unless another thread was quicker; the oldest fall off."""
        with self._mutex:
            first = self._open.setdefault(folder, opened)
            first.readers += 1
            fallen = [
                self._open.popitem(last=False)[1] for _ in range(len(self._open) - self._most)
            ]
            if first is not opened:
                fallen.append(opened)
            for each in fallen:
                each.is_dropped = True
            unread = [each for each in fallen if not each.readers]
        for each in unread:
            each.corpus.close()
        return first

    def _drop(self, folder: Path, opened: Opened) -> None:
        with self._mutex:
            if self._open.get(folder) is opened:
                del self._open[folder]
            was_dropped, opened.is_dropped = opened.is_dropped, True
            is_unread = not opened.readers and not was_dropped
        if is_unread:
            opened.corpus.close()

    def _give_back(self, opened: Opened) -> None:
        with self._mutex:
            opened.readers -= 1
            is_last = opened.is_dropped and not opened.readers
        if is_last:
            opened.corpus.close()
