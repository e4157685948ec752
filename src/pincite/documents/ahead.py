"""Reading ahead: what comes next is read in threads while somebody works on what came.

Readers of costly formats work in processes of their own (`confined`), so threads that wait for
them read on several cores. What was read and not yet taken is bounded, by its length.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Generic, TypeVar

from pincite.types import Document

T = TypeVar("T")
Item = TypeVar("Item")
Name = TypeVar("Name")
READERS = min(4, os.cpu_count() or 1)  # a worker takes about 150 MB
MOST_CHARS = 400_000  # of documents that wait, from each file that is read
_AT_ONCE = threading.BoundedSemaphore(READERS)


class Ahead(Generic[T]):
    """What an iterable gives, in its order, fetched by a thread from the first moment on.

    The thread ends with the program: who stops it early waits for nothing.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._waiting: deque[tuple[T, int]] = deque()
        self._length = 0
        self._change = threading.Condition()
        self._ended = False
        self._error: BaseException | None = None
        threading.Thread(
            target=self._fetch, args=(items,), name="pincite-reader", daemon=True
        ).start()

    def __iter__(self) -> Iterator[T]:
        """Ends, or raises, as the iterable did."""
        while (found := self._next()) is not None:
            yield found[0]
        if self._error:
            raise self._error

    def stop(self) -> None:
        """Fetch no more."""
        with self._change:
            self._ended = True
            self._change.notify_all()

    def _next(self) -> tuple[T, int] | None:
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                return None
            found = self._waiting.popleft()
            self._length -= found[1]
            self._change.notify_all()
            return found

    def _fetch(self, items: Iterable[T]) -> None:
        try:
            for item in items:
                if not self._kept(item):
                    return
        except BaseException as error:  # raised again where the items are taken
            self._error = error
        finally:
            self.stop()

    def _kept(self, item: T) -> bool:
        """Put it with the others once there is room; False: nobody wants it any more."""
        length = len(item.text) if isinstance(item, Document) else 1
        with self._change:
            self._change.wait_for(lambda: self._length < MOST_CHARS or self._ended)
            self._waiting.append((item, length))
            self._length += length
            self._change.notify_all()
            return not self._ended


def started(
    streams: Iterable[tuple[Name, Iterable[T]]],
) -> Iterator[tuple[Name, Iterable[T]]]:
    """Each named stream in order, `READERS` of them under way; closed, it stops them all.

    A tuple is there already and takes no thread.
    """
    under_way: deque[tuple[Name, Iterable[T]]] = deque()
    try:
        for name, stream in streams:
            under_way.append((name, stream if isinstance(stream, tuple) else Ahead(stream)))
            if len(under_way) == READERS:
                yield under_way[0]
                under_way.popleft()
        while under_way:
            yield under_way[0]
            under_way.popleft()
    finally:
        for _, stream in under_way:
            if isinstance(stream, Ahead):
                stream.stop()


def mapped(read: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """What `read` makes of each item, in order, several at once; `items` come as they are needed.

    However many files are read at once, no more than `READERS` items are.
    """

    def one(item: Item) -> Iterator[T]:
        with _AT_ONCE:
            yield read(item)

    with closing(started((None, one(item)) for item in items)) as streams:
        for _, found in streams:
            yield from found
