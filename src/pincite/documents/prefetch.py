"""Reads items ahead in threads while the caller processes the current one.

Costly formats are read in subprocesses (`sandbox`), so threads waiting for them use several cores.
The backlog is bounded in number and length.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pincite.types import Document

T = TypeVar("T")
Item = TypeVar("Item")
Name = TypeVar("Name")
# The caller needs a core too; a worker process takes 150 MB, and a second to start.
READERS = max(1, min(4, (os.cpu_count() or 1) // 2))
MOST_STREAMS = 64  # waiting or being read; each file of a folder is one
MOST_CHARS = 400_000  # of waiting documents, before another is read
CHARS_OF_REFUSAL = 500  # memory per refusal, including objects
_AT_ONCE = threading.BoundedSemaphore(READERS)


@dataclass(slots=True, eq=False)
class _Stream(Generic[Name, T]):
    name: Name
    items: Iterable[T]
    waiting: deque[tuple[T, int]] = field(default_factory=deque)
    ended: bool = False
    error: BaseException | None = None


class Ahead(Generic[Name, T]):
    """Reads named streams in order, in threads that start at once.

    The threads are daemons, so stopping early does not block.
    """

    def __init__(
        self, streams: Iterable[tuple[Name, Iterable[T]]], n_readers: int = READERS
    ) -> None:
        self._streams = iter(streams)
        self._taking = threading.Lock()
        self._under_way: deque[_Stream[Name, T]] = deque()
        self._n_chars = 0  # of waiting documents
        self._change = threading.Condition()
        self._n_readers = n_readers
        self._stopped = False
        self._error: BaseException | None = None
        for _ in range(n_readers):
            threading.Thread(target=self._read, name="pincite-reader", daemon=True).start()

    def __iter__(self) -> Generator[tuple[Name, Iterator[T]], None, None]:
        """Yield the streams, each with its original errors; closing stops the reading."""
        try:
            while True:
                with self._change:
                    self._change.wait_for(lambda: self._under_way or not self._n_readers)
                    if not self._under_way:
                        break
                    stream = self._under_way[0]
                yield stream.name, self._items(stream)
                with self._change:
                    stream.ended = True  # even if it was not exhausted
                    self._under_way.popleft()
                    self._n_chars -= sum(n_chars for _, n_chars in stream.waiting)
                    self._change.notify_all()
        finally:
            with self._change:
                self._stopped = True
                self._change.notify_all()
        if self._error:
            raise self._error

    def _items(self, stream: _Stream[Name, T]) -> Iterator[T]:
        while True:
            with self._change:
                self._change.wait_for(lambda: stream.waiting or stream.ended)
                if not stream.waiting:
                    break
                item, n_chars = stream.waiting.popleft()
                self._n_chars -= n_chars
                self._change.notify_all()
            yield item
        if stream.error:
            raise stream.error

    # ── In the threads ───────────────────────────────────────────────────────────────────────────

    def _read(self) -> None:
        try:
            while (stream := self._next_stream()) is not None:
                self._read_stream(stream)
        except BaseException as error:  # raised between streams: re-raised after the last one
            self._error = error
        finally:
            with self._change:
                self._n_readers -= 1
                self._change.notify_all()

    def _next_stream(self) -> _Stream[Name, T] | None:
        with self._taking:
            with self._change:
                self._change.wait_for(
                    lambda: (
                        self._stopped
                        or (len(self._under_way) < MOST_STREAMS and self._n_chars < MOST_CHARS)
                    )
                )
            found = None if self._stopped or self._error else next(self._streams, None)
            if found is None:
                return None
            stream = _Stream(*found)
            with self._change:
                self._under_way.append(stream)
                self._change.notify_all()
            return stream

    def _read_stream(self, stream: _Stream[Name, T]) -> None:
        try:
            for item in stream.items:
                n_chars = len(item.text) if isinstance(item, Document) else CHARS_OF_REFUSAL
                with self._change:
                    # The stream being consumed must proceed, however large the backlog of others.
                    self._change.wait_for(
                        lambda: (
                            self._stopped
                            or stream.ended
                            or self._n_chars < MOST_CHARS
                            or (stream is self._under_way[0] and not stream.waiting)
                        )
                    )
                    if self._stopped or stream.ended:
                        return
                    stream.waiting.append((item, n_chars))
                    self._n_chars += n_chars
                    self._change.notify_all()
        except BaseException as error:  # re-raised after the last item
            stream.error = error
        finally:
            if isinstance(stream.items, Generator):  # closes its file
                stream.items.close()
            with self._change:
                stream.ended = True
                self._change.notify_all()


def mapped(read: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """Map `read` over items concurrently, in order; `items` is consumed lazily.

    At most `READERS` items are read at once across all callers.
    """

    def found_in(item: Item) -> T:
        with _AT_ONCE:
            return read(item)

    if READERS == 1:
        yield from map(found_in, items)
        return
    with closing(iter(Ahead((None, map(found_in, (item,))) for item in items))) as streams:
        for _, found in streams:
            yield from found
