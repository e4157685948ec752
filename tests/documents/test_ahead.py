"""What is read ahead comes in order, is bounded, and ends as it would have ended."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest

from pincite.documents.ahead import MOST_CHARS, READERS, Ahead, mapped, started
from pincite.types import Document


def test_order_is_kept() -> None:
    assert list(Ahead(range(1000))) == list(range(1000))
    assert list(mapped(str, range(50))) == [str(n) for n in range(50)]


def test_an_error_comes_after_what_was_read() -> None:
    def breaking() -> Iterator[int]:
        yield 1
        raise OSError("the disk")

    stream = iter(Ahead(breaking()))
    assert next(stream) == 1
    with pytest.raises(OSError, match="the disk"):
        next(stream)


def test_no_more_than_it_may_hold() -> None:
    n_read, second, ended = 0, threading.Event(), threading.Event()

    def long_ones() -> Iterator[Document]:
        nonlocal n_read
        try:
            while n_read < 100:
                n_read += 1
                if n_read == 2:
                    second.set()
                yield Document(f"https://e.example/{n_read}", "", "x" * MOST_CHARS)
        finally:
            ended.set()

    stream = Ahead(long_ones())
    assert second.wait(60)  # the first is held, and the second in hand
    stream.stop()
    assert ended.wait(60)
    assert n_read == 2


def test_no_more_at_once_than_there_are_readers() -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    def read(number: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        with lock:
            under_way -= 1
        return number

    streams: Iterable[tuple[int, Iterable[int]]] = (
        (n, mapped(read, range(n, n + 20))) for n in range(8)
    )
    found = [(n, list(numbers)) for n, numbers in started(streams)]
    assert found == [(n, list(range(n, n + 20))) for n in range(8)]
    assert 1 <= most <= READERS


def test_who_stops_early_stops_the_readers() -> None:
    ended = [threading.Event() for _ in range(READERS)]

    def endless(number: int) -> Iterator[Document]:
        try:
            while True:
                yield Document("https://e.example/", "", "x" * MOST_CHARS)
        finally:
            ended[number].set()

    with closing(started((n, endless(n)) for n in range(READERS))) as streams:
        next(iter(next(streams)[1]))
    assert all(event.wait(60) for event in ended)


def test_a_tuple_is_handed_on() -> None:
    there = (1, 2)
    [(name, found)] = started([("a", there)])
    assert (name, found) == ("a", there)
