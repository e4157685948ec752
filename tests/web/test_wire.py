"""Bodies unpack to what was packed, however they are cut, and never to more than is allowed."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web.zoo import bomb

from pincite.errors import BadEncoding, BodyTooLarge
from pincite.web.addresses import WebRules
from pincite.web.wire import RATIO_FROM, Unpacker

RULES = WebRules()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "x-gzip": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
    "deflate": zlib.compress,
    "Deflate": lambda data: zlib.compress(data)[2:-4],
    "identity": lambda data: data,
    "": lambda data: data,
}


@settings(max_examples=50)
@given(
    st.sampled_from(sorted(PACKERS)),
    st.binary(max_size=400).map(lambda data: data * 100),
    st.integers(1, 5000),
)
def test_round_trip(encoding: str, data: bytes, size: int) -> None:
    packed = PACKERS[encoding](data)
    unpacker = Unpacker(encoding, "u", RULES)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    assert b"".join(map(unpacker.take, pieces)) == data
    assert unpacker.complete


@settings(max_examples=50)
@given(st.sampled_from(["gzip", "deflate"]), st.binary(min_size=1, max_size=200))
def test_any_bytes(encoding: str, data: bytes) -> None:
    unpacker = Unpacker(encoding, "u", RULES)
    try:
        unpacker.take(data)
    except BadEncoding:
        return
    assert not unpacker.complete or data[:1] in b"\x1f\x78" or encoding == "deflate"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_stops_early(encoding: str) -> None:
    packed = bomb(50, "gzip" if encoding == "gzip" else "zlib")
    unpacker = Unpacker(encoding, "u", RULES)
    tracemalloc.start()
    with pytest.raises(BodyTooLarge, match="200 times"):
        unpacker.take(packed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * RATIO_FROM


def test_bytes_are_counted_unpacked() -> None:
    unpacker = Unpacker("", "u", replace(RULES, body_bytes=10))
    assert unpacker.take(b"0123456789") == b"0123456789"
    with pytest.raises(BodyTooLarge, match="limit"):
        unpacker.take(b"x")


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip, br", "compress", "ä"])
def test_what_was_not_asked_for(encoding: str) -> None:
    with pytest.raises(BadEncoding):
        Unpacker(encoding, "u", RULES)
