"""Items read ahead come in order, bounded, with their errors."""

import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest

from pincite.documents import inputs
from pincite.documents.inputs import MOST_STREAMS, PART_CHARS, WAITING_PARTS, mapped, read_ahead
from pincite.types import Document

LONG = 60.0  # seconds: only a fault makes a test wait for them


def long_document(number: int) -> Document:
    return Document(f"https://e.example/{number}", "", "x" * PART_CHARS)


@pytest.mark.parametrize("n_readers", [1, 3])
def test_order_is_kept(n_readers: int) -> None:
    streams = ((n, range(n, n + 50)) for n in range(200))
    found = [(name, list(items)) for name, items in read_ahead(streams, n_readers)]
    assert found == [(n, list(range(n, n + 50))) for n in range(200)]
    assert list(read_ahead([])) == []


def test_an_error_comes_after_the_items_of_its_stream() -> None:
    def breaking() -> Iterator[int]:
        yield 1
        raise OSError("the disk")

    found: list[object] = []
    for _, items in read_ahead([("a", breaking()), ("b", iter([2]))]):
        try:
            found.extend(items)
        except OSError as error:
            found.append(str(error))
    assert found == [1, "the disk", 2]


def test_an_error_between_streams_comes_last() -> None:
    def streams() -> Iterator[tuple[str, list[int]]]:
        yield "a", [1]
        raise OSError("the archive")

    found = read_ahead(streams())
    assert [list(items) for _, items in [next(found)]] == [[1]]
    with pytest.raises(OSError, match="the archive"):
        next(found)


def test_the_backlog_is_bounded() -> None:
    numbers, enough, ended = count(1), threading.Event(), threading.Event()
    most = WAITING_PARTS + 1  # and one in hand

    def long_ones() -> Iterator[Document]:
        try:
            for _ in range(100):
                number = next(numbers)
                if number == most:
                    enough.set()
                yield long_document(number)
        finally:
            ended.set()

    with closing(read_ahead([("a", long_ones())], 1)) as streams:
        next(streams)
        assert enough.wait(LONG)
    assert ended.wait(LONG)
    assert next(numbers) == most + 1


def test_a_stream_that_is_not_exhausted_is_passed_over() -> None:
    streams = ((n, map(long_document, range(n + 5))) for n in range(2 * MOST_STREAMS))
    assert [number for number, _ in read_ahead(streams, 2)] == list(range(2 * MOST_STREAMS))


def test_stopping_early_stops_the_readers() -> None:
    ended = threading.Event()

    def endless() -> Iterator[int]:
        try:
            yield from count()
        finally:
            ended.set()

    with closing(read_ahead([("a", endless())], 1)) as streams:
        _, items = next(streams)
        assert next(items) == 0
    assert ended.wait(LONG)


@pytest.mark.parametrize("n_readers", [1, 2])
def test_items_are_read_in_order_and_few_at_once(
    n_readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "READERS", n_readers)
    monkeypatch.setattr(inputs, "_AT_ONCE", threading.BoundedSemaphore(n_readers))
    lock, under_way, most = threading.Lock(), 0, 0

    def read(number: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        with lock:
            under_way -= 1
        return number

    streams = ((n, mapped(read, range(n, n + 20))) for n in range(8))
    found = [list(items) for _, items in read_ahead(streams, 4)]
    assert found == [list(range(n, n + 20)) for n in range(8)]
    assert 1 <= most <= n_readers
