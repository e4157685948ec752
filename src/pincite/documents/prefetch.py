"""Reads items ahead in threads while the caller processes the current one.

Costly formats are read in subprocesses (`sandbox`), so threads waiting for them use several cores.
The backlog is bounded in number and length.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice
from queue import Queue, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pincite.protocols import Encoder

T = TypeVar("T")
Item = TypeVar("Item")
Name = TypeVar("Name")
# The caller needs a core too; a worker process takes 150 MB, and a second to start.
READERS = max(1, min(4, (os.cpu_count() or 1) // 2))
MOST_STREAMS = 16  # waiting or being read; each file of a folder is one
# Items travel in parts of so many characters or items.
PART_CHARS, PART_ITEMS = 100_000, 64
WAITING_PARTS = 2  # of a stream at which its reader pauses
_AT_ONCE = threading.BoundedSemaphore(READERS)


def in_parts(items: Iterable[T]) -> Iterator[list[T]]:
    """Group items; if reading them fails, the error comes after the items before it."""
    part, n_chars = list[T](), 0
    try:
        for item in items:
            part.append(item)
            n_chars += len(getattr(item, "text", ""))
            if n_chars >= PART_CHARS or len(part) >= PART_ITEMS:
                yield part
                part, n_chars = [], 0
    except Exception:
        yield part
        raise
    yield part


class _Stream(Generic[T]):
    """A stream that a thread reads and the caller iterates over."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items, self._abandoned = items, threading.Event()
        self._parts: Queue[list[T] | BaseException | None] = Queue(WAITING_PARTS)

    def read(self) -> None:
        end = None
        parts = in_parts(self._items)
        try:
            while not self._abandoned.is_set() and (part := next(parts, None)) is not None:
                self._parts.put(part)
        except BaseException as error:  # re-raised after the last item
            end = error
        if isinstance(self._items, Generator):  # closes its file
            self._items.close()
        self._parts.put(end)

    def __iter__(self) -> Iterator[T]:
        while isinstance(part := self._parts.get(), list):
            yield from part
        if part is not None:
            raise part

    def abandon(self) -> None:
        """Stop reading; removing parts wakes a reader that waits for room."""
        self._abandoned.set()
        while not self._parts.empty():
            self._parts.get()


def read_ahead(
    streams: Iterable[tuple[Name, Iterable[T]]], n_readers: int = READERS
) -> Generator[tuple[Name, Iterator[T]], None, None]:
    """Yield named streams in order, read by daemon threads; closing stops the reading.

    An error of a stream comes after its items, and one between streams after the last of them.
    """
    jobs: SimpleQueue[_Stream[T] | None] = SimpleQueue()
    errors = list[Exception]()

    def work() -> None:
        while (stream := jobs.get()) is not None:
            stream.read()

    def submit() -> Iterator[tuple[Name, _Stream[T]]]:
        try:
            for name, items in streams:
                stream = _Stream(items)
                jobs.put(stream)
                yield name, stream
        except Exception as error:
            errors.append(error)

    for _ in range(n_readers):
        threading.Thread(target=work, name="pincite-reader", daemon=True).start()
    submitted = submit()
    waiting = deque(islice(submitted, MOST_STREAMS))
    try:
        while waiting:
            name, stream = waiting[0]
            yield name, iter(stream)
            stream.abandon()  # the caller may not have exhausted it
            waiting.popleft()
            waiting.extend(islice(submitted, 1))
    finally:
        for _, stream in waiting:
            stream.abandon()
        for _ in range(n_readers):
            jobs.put(None)
    if errors:
        raise errors[0]


def mapped(read: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """Map `read` over items concurrently, in order; `items` is consumed lazily.

    At most `READERS` items are read at once across all callers.
    """

    def read_one(item: Item) -> T:
        with _AT_ONCE:
            return read(item)

    with closing(read_ahead((None, map(read_one, (item,))) for item in items)) as streams:
        for _, results in streams:
            yield from results


class Parallel:
    """Bulk work in this process, with streams read ahead by threads; plugins add other workers.

    Results come in the order of the items; only a few are started ahead.
    """

    is_remote = False  # whether functions run in other processes, on copies of their arguments

    def map(self, function: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
        """Apply a module-level `function` to each item; raises what it raises."""
        return map(function, items)

    def streams(
        self, function: Callable[[Item], Iterable[T]], items: Iterable[Item]
    ) -> Generator[tuple[Item, Iterator[T]], None, None]:
        """Yield each item with the iterator of `function`, which ends or raises as it does here."""
        return read_ahead((item, function(item)) for item in items)

    def encoder(self, encoder: "Encoder", load: Callable[[], "Encoder"]) -> "Encoder":
        """Return one that spreads passages; a worker gets the same encoder from `load`."""
        return encoder
