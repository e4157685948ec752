"""Corpora that were opened for a reader stay open for the next one, up to a number.

Opening one reads its indexes, which takes longer than a search. Each sees what another process has
committed at its next use. One that is dropped, or that others push out, is closed when its last
reader is done.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pincite.corpus import engines
from pincite.corpus.catalogue import Contents
from pincite.corpus.protocol import Address, Catalogue, Corpus
from pincite.errors import ConfigError, CorpusError, MissingExtra, MissingModel, StaleCorpus
from pincite.protocols import Encoder
from pincite.server.library.linked import without_places

MOST = 8  # open at once: an index of a million vectors takes 0.4 GB
# Another engine's server that hangs may hold up its readers for a minute, but must never hold all
# threads of ours, which are 40: so many read at once, and one that does not answer is left alone.
MOST_ELSEWHERE, ALONE_SECONDS = 16, 30.0
_OTHER = "It was built with another encoder than this server's."


@dataclass(slots=True)
class Opened:
    """An open corpus; `no_meaning` says why it is searched by words only, empty if it is not."""

    corpus: Corpus
    no_meaning: str
    readers: int = 0
    is_dropped: bool = False
    counted: tuple[int, Contents] | None = None  # the batch after which it was counted

    @property
    def catalogue(self) -> Catalogue | None:
        """The corpus, if it can be leafed through."""
        return self.corpus if isinstance(self.corpus, Catalogue) else None

    def contents(self) -> Contents:
        """What its documents are, if it tells; counted anew only when something changed."""
        if self.catalogue is None:
            return Contents({}, {}, None, None, 0)
        sequence = self.corpus.status().sequence
        if self.counted is None or self.counted[0] != sequence:
            self.counted = sequence, self.catalogue.contents()
        return self.counted[1]


class Shelf:
    """The open corpora of one process. Safe to use from several threads."""

    def __init__(self, encoder: Callable[[], Encoder], most: int = MOST) -> None:
        """`encoder`: loads the one that corpora are searched with; called once, when needed."""
        self._load, self._most = encoder, most
        self._encoder: Encoder | None = None
        self._mutex, self._loading = threading.Lock(), threading.Lock()
        self._open: OrderedDict[Address, Opened] = OrderedDict()
        self._failed: dict[Address, tuple[float, str]] = {}  # until when, and why
        self._elsewhere = threading.Semaphore(MOST_ELSEWHERE)

    @contextmanager
    def reading(self, address: Address) -> Iterator[Opened]:
        """The corpus at the address, open for as long as the block lasts.

        Raises:
            CorpusError: it is none, or damaged, or its server does not answer.
        """
        with self._among_few(address):
            opened = self._taken(address) or self._put(address, self._opened(address))
            try:
                yield opened
            except CorpusError:  # what is wrong may be mended by opening it again
                self._drop(address, opened)
                raise
            finally:
                self._give_back(opened)

    def drop(self, address: Address) -> None:
        """Close a corpus as soon as nobody reads it."""
        with self._mutex:
            opened = self._open.get(address)
        if opened:
            self._drop(address, opened)

    def close(self) -> None:
        """Close all that nobody reads."""
        for address in list(self._open):
            self.drop(address)

    @contextmanager
    def _among_few(self, address: Address) -> Iterator[None]:
        counted = isinstance(address, str)
        if counted and not self._elsewhere.acquire(blocking=False):
            raise CorpusError(
                f"{address}: {MOST_ELSEWHERE} requests wait for such corpora already."
            )
        try:
            yield
        finally:
            if counted:
                self._elsewhere.release()

    def _taken(self, address: Address) -> Opened | None:
        with self._mutex:
            opened = self._open.get(address)
            if opened:
                self._open.move_to_end(address)
                opened.readers += 1
            return opened

    def _opened(self, address: Address) -> Opened:
        until, failure = self._failed.get(address, (0.0, ""))
        if time.monotonic() < until:
            raise CorpusError(failure)
        try:
            return self._tried(address)
        except (ConfigError, MissingExtra) as error:  # of its engine, not of who asks
            raise CorpusError(str(error)) from error
        except CorpusError as error:
            if isinstance(address, str):
                self._failed[address] = time.monotonic() + ALONE_SECONDS, str(error)
            raise

    def _tried(self, address: Address) -> Opened:
        try:
            return Opened(engines.open(address, self._the_encoder()), "")
        except StaleCorpus as error:
            corpus = engines.open(address, None)
            why = _OTHER if isinstance(address, str) else without_places(error, [address], "It")
            return Opened(corpus, why)
        except MissingModel as error:
            return Opened(engines.open(address, None), str(error))

    def _the_encoder(self) -> Encoder:
        with self._loading:
            self._encoder = self._encoder or self._load()
            return self._encoder

    def _put(self, address: Address, opened: Opened) -> Opened:
        """Onto the shelf, unless another thread was quicker; the oldest fall off."""
        with self._mutex:
            first = self._open.setdefault(address, opened)
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

    def _drop(self, address: Address, opened: Opened) -> None:
        with self._mutex:
            if self._open.get(address) is opened:
                del self._open[address]
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
