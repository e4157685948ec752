"""Bodies are unpacked while they come, under a limit: a few kilobytes may stand for gigabytes.

Only what Python unpacks itself, gzip and deflate, is asked for. Libraries for br and zstd hand out
whatever one piece unpacks to, and that is where bombs go off.
"""

import zlib

from pincite.errors import BadEncoding, BodyTooLarge
from pincite.web.rules import WebRules

ACCEPTED = "gzip, deflate"
RATIO_FROM = 1_000_000  # unpacked bytes below which the ratio means nothing: a page of blanks
_PIECE = 1 << 16
_GZIP = b"\x1f\x8b"


class Unpacker:
    """Takes a body piece by piece as sent, gives it unpacked; raises at the first byte too many."""

    def __init__(self, encoding: str, url: str, rules: WebRules) -> None:
        names = [name.strip().lower() for name in encoding.split(",")]
        self._names = [name for name in names if name and name != "identity"]
        if len(self._names) > 1 or any(n not in ("gzip", "x-gzip", "deflate") for n in self._names):
            raise BadEncoding(f"{url} is packed as {encoding!r}, which was not asked for.", url)
        self._url, self._rules = url, rules
        gzip = self._names and self._names != ["deflate"]
        self._zlib = zlib.decompressobj(wbits=31) if gzip else None
        self._n_packed = self._n_unpacked = 0

    def take(self, data: bytes) -> bytes:
        """The next piece, unpacked."""
        self._n_packed += len(data)
        if not self._names or not data:
            self._count(len(data))
            return data
        parts = []
        while True:
            unpacker = self._unpacker(data)
            try:
                part = unpacker.decompress(data, _PIECE)
            except zlib.error as error:
                what = f"{self._url} does not unpack as {self._names[0]}: {error}."
                raise BadEncoding(what, self._url) from error
            data = unpacker.unconsumed_tail
            self._count(len(part), waiting=len(data))
            parts.append(part)
            if unpacker.eof and unpacker.unused_data.startswith(_GZIP):  # one more member
                data, self._zlib = unpacker.unused_data, zlib.decompressobj(wbits=31)
            elif unpacker.eof or not (data or len(part) == _PIECE):
                return b"".join(parts)

    @property
    def complete(self) -> bool:
        """Whether the packed data came to its own end."""
        return not self._n_packed or not self._names or bool(self._zlib and self._zlib.eof)

    def _unpacker(self, data: bytes) -> "zlib._Decompress":
        if self._zlib is None:  # of deflate, some send it bare: the first byte tells
            self._zlib = zlib.decompressobj(wbits=15 if data[0] & 0x0F == 8 else -15)
        return self._zlib

    def _count(self, size: int, waiting: int = 0) -> None:
        self._n_unpacked += size
        rules = self._rules
        if self._n_unpacked > rules.body_bytes:
            limit = f"{rules.body_bytes / 1e6:g} MB"
            raise BodyTooLarge(f"{self._url} has more than {limit}, the limit.", self._url)
        bomb = self._n_unpacked > rules.ratio * (self._n_packed - waiting)
        if bomb and self._n_unpacked > RATIO_FROM:
            what = f"{self._url} unpacks to more than {rules.ratio} times what was sent"
            raise BodyTooLarge(f"{what}: a bomb, no page.", self._url)
