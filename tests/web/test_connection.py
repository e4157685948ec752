"""Decompression of bodies, under a limit."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web.zoo import bomb

from pincite.errors import FetchError
from pincite.types import Reason
from pincite.web.connection import decompress_body

LIMIT = 1_000_000
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "x-gzip": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
    "deflate": zlib.compress,
    "Deflate": lambda data: zlib.compress(data)[2:-4],
    "identity": lambda data: data,
    "": lambda data: data,
}


@settings(max_examples=50)
@given(st.sampled_from(sorted(PACKERS)), st.binary(max_size=400).map(lambda data: data * 100))
def test_packed_bodies_are_unpacked(encoding: str, data: bytes) -> None:
    assert decompress_body(PACKERS[encoding](data), encoding, "u", LIMIT) == data


@settings(max_examples=50)
@given(st.sampled_from(["gzip", "deflate"]), st.binary(min_size=1, max_size=200))
def test_any_bytes_unpack_or_are_refused(encoding: str, data: bytes) -> None:
    try:
        assert isinstance(decompress_body(data, encoding, "u", LIMIT), bytes)
    except FetchError as error:
        if error.reason not in (Reason.UNDECODABLE, Reason.TRUNCATED):
            raise


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_stops_early(encoding: str) -> None:
    packed = bomb(50, "gzip" if encoding == "gzip" else "zlib")
    tracemalloc.start()
    with pytest.raises(FetchError, check=lambda error: error.reason is Reason.TOO_LARGE):
        decompress_body(packed, encoding, "u", LIMIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * LIMIT


def test_members_without_end_are_refused() -> None:
    with pytest.raises(FetchError, check=lambda error: error.reason is Reason.UNDECODABLE):
        decompress_body(gzip.compress(b"") * 50_000, "gzip", "u", LIMIT)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip, br", "compress", "ä"])
def test_encodings_that_were_not_requested_are_refused(encoding: str) -> None:
    with pytest.raises(FetchError, check=lambda error: error.reason is Reason.UNDECODABLE):
        decompress_body(b"x", encoding, "u", LIMIT)
