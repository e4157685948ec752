"""Reads web archives in the WARC format.

Only the pages are read: responses and resources with a web address; revisits have no body. A broken
or hostile archive is given up.
"""

import logging
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from pincite.documents.body import DEFAULT_LIMITS, PACKERS, Limits, is_bomb, too_large, unpacked_as
from pincite.types import Reason, Unchecked

_PAGES = ("response", "resource")
MAX_FAULTS = 50  # per archive, including false record starts
_CHUNK, _PIECE = 1 << 20, 1 << 14
# Blank lines, WARC headers and HTTP headers before a body. Heritrix keeps 64 kB of HTTP headers,
# browsers accept up to 256 kB; Apache accepts 100 lines.
MAX_HEADER_BYTES = 1_000_000
MAX_HEADER_LINES = 10_000


@dataclass(frozen=True, slots=True)
class Record:
    """One page of an archive, with transfer encodings removed from its body."""

    url: str
    data: bytes
    offset: int  # of the record in the file, for `record_at`
    content_type: str | None = None
    status: int | None = None
    fetched: str | None = None  # WARC-Date
    location: str | None = None  # target of a redirect


class _Bomb(Exception):
    """A record exceeds the limits; the rest of the archive is not read."""


def records(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Record | Unchecked]:
    """Yield the pages in order, and an `Unchecked` for each broken stretch, up to MAX_FAULTS."""
    with path.open("rb") as file:
        sign = b"\x1f\x8b\x08" if file.read(2) == b"\x1f\x8b" else b"\nWARC/1."
        start = number = 0
        for n_faults in range(MAX_FAULTS):
            file.seek(start)
            fault, number = yield from _records(file, path, limits, number, n_faults > 0)
            if fault is None or (next_start := _next_start(file, sign, fault + 1)) is None:
                return
            start = next_start


def _next_start(file: BinaryIO, sign: bytes, offset: int) -> int | None:
    """The next offset of `sign`, behind its line break; None if there is none."""
    file.seek(offset)
    data = b""
    while part := file.read(_CHUNK):
        data = data[1 - len(sign) :] + part
        if (at := data.find(sign)) >= 0:
            return file.tell() - len(data) + at + sign.startswith(b"\n")
    return None


def record_at(path: Path, offset: int, limits: Limits = DEFAULT_LIMITS) -> Record | Unchecked:
    with path.open("rb") as file:
        file.seek(offset)
        missing = Unchecked(path.name, Reason.UNDECODABLE, f"no record at byte {offset}")
        return next(_records(file, path, limits, 0), missing)


def _records(
    file: BinaryIO, path: Path, limits: Limits, number: int, is_reported: bool = False
) -> Generator[Record | Unchecked, None, tuple[int | None, int]]:
    """Yield pages up to a fault; returns the fault's offset, or None, and the record number."""
    offset, first = file.tell(), number
    logging.getLogger("warcio").addHandler(logging.NullHandler())
    from warcio.archiveiterator import ArchiveIterator

    archive: Any = ArchiveIterator(file)
    archive.INC_RECORD = ""  # warcio prints this to stderr for a malformed record end
    archive.reader = _bounded_reader()(file)
    try:
        for record in archive:
            if not record.rec_headers.headers:  # warcio treats junk after an empty line as a record
                raise ValueError("no record begins there")
            # Not `get_record_offset`, which reads the record to its end.
            number, offset, is_reported = number + 1, archive.offset, False
            archive.reader.begin()
            if is_bomb(archive.reader.num_read, file.tell(), limits):
                raise _Bomb("records without end")
            page = _page(record, offset, limits)
            _drain(record, file, offset, limits)
            if page:
                yield page
        if number == first and file.seek(0, os.SEEK_END) > offset:  # warcio reads it as the end
            raise ValueError("no record begins there")
        return None, number
    except _Bomb as bomb:
        reason, why = Reason.TOO_LARGE, f"{bomb} after record {number} at byte {offset}"
    except Exception as error:  # warcio lets zlib, struct, value and its own errors through
        what = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        reason, why = Reason.UNDECODABLE, f"broken after record {number} at byte {offset}: {what}"
    if not is_reported:
        yield Unchecked(path.resolve().as_uri(), reason, f"{path.name}: {why}")
    return max(offset, archive.offset), number


@cache
def _bounded_reader() -> Any:
    from warcio.bufferedreaders import DecompressingBufferedReader

    class Bounded(DecompressingBufferedReader):  # type: ignore[misc]
        """Reads lines until they exceed the limits for a record's headers."""

        n_bytes, n_lines = 0, 0

        def begin(self) -> None:
            self.n_bytes, self.n_lines = 0, 0

        def read(self, length: int | None = None) -> bytes:
            """Read bytes of a body; its lines, such as chunk sizes, do not count as headers."""
            self.begin()
            data: bytes = super().read(length)
            return data

        def readline(self, length: int | None = None) -> bytes:
            left = MAX_HEADER_BYTES + 1 - self.n_bytes
            left, line = left if length is None else min(length, left), b""
            # In pieces: for a line across several blocks, warcio returns less than requested.
            while not line.endswith(b"\n") and (piece := super().readline(min(left, _PIECE))):
                line, left = line + piece, left - len(piece)
            self.n_bytes, self.n_lines = self.n_bytes + len(line), self.n_lines + 1
            if self.n_bytes > MAX_HEADER_BYTES or self.n_lines > MAX_HEADER_LINES:
                raise _Bomb("headers without end")
            return line

    return Bounded


def _page(record: Any, offset: int, limits: Limits) -> Record | Unchecked | None:
    """The page in a record; None if it holds something else."""
    url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
    if record.rec_type not in _PAGES or not url.lower().startswith(("http:", "https:")):
        return None
    headers = record.http_headers
    encoding = ((headers and headers.get_header("Content-Encoding")) or "").strip().lower()
    if encoding in PACKERS:  # warcio would unpack Brotli without a limit
        headers.remove_header("Content-Encoding")
    data: bytes | None = _body(record, limits.max_bytes + 1)
    if data and len(data) <= limits.max_bytes and encoding in PACKERS:
        data = unpacked_as(encoding, data, limits.max_bytes)
    if data is None:
        return Unchecked(url, Reason.UNDECODABLE, f"the archived page is no valid {encoding} data")
    if len(data) > limits.max_bytes:
        return too_large(url, len(data), limits.max_bytes, "the archived page")
    code = headers.get_statuscode() if headers else ""
    return Record(
        url=url,
        data=data,
        offset=offset,
        content_type=(headers or record.rec_headers).get_header("Content-Type"),
        status=int(code) if code and code.isascii() and code.isdigit() else None,
        fetched=record.rec_headers.get_header("WARC-Date"),
        location=headers.get_header("Location") if headers else None,
    )


def _body(record: Any, n_bytes: int) -> bytes:
    stream, parts, length = record.content_stream(), [], 0
    while length < n_bytes and (part := stream.read(min(_CHUNK, n_bytes - length))):
        parts.append(part)
        length += len(part)
    return b"".join(parts)


def _drain(record: Any, file: BinaryIO, offset: int, limits: Limits) -> None:
    """Read to the record's end, to find the next one; raises _Bomb if it unpacks without end."""
    length = 0
    while part := record.raw_stream.read(_CHUNK):
        length += len(part)
        if is_bomb(length, file.tell() - offset, limits):
            raise _Bomb("data without end")
    if getattr(record.raw_stream, "limit", 0) > 0:
        raise EOFError(f"{record.raw_stream.limit} bytes of the record are missing")
