"""Reads web archives in the WARC format.

Only the pages are read: responses and resources with a web address; revisits have no body. After a
broken or hostile record, reading goes on where the next one begins.
"""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import DecompressingBufferedReader

from pincite.documents.body import DEFAULT_LIMITS, PACKERS, Limits, is_bomb, too_large, unpacked_as
from pincite.types import Reason, Unchecked

MAX_FAULTS = 50  # per archive, including false record starts
# Blank lines, WARC headers and HTTP headers before a body. Heritrix keeps 64 kB of HTTP headers,
# browsers accept up to 256 kB; Apache accepts 100 lines.
MAX_HEADER_BYTES = 1_000_000
MAX_HEADER_LINES = 10_000
_PAGES = ("response", "resource")  # the types of records
_CHUNK = 1 << 20  # bytes read at once of a file or a body
_LINE_PIECE = 1 << 14  # bytes read at once of a line: warcio's block
_GZIP = b"\x1f\x8b"
_PACKED_RECORD = _GZIP + b"\x08"  # how one begins; 8 is the only method of compression
_PLAIN_RECORD = b"\nWARC/1."

logging.getLogger("warcio").addHandler(logging.NullHandler())  # or its warnings go to stderr


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

    @classmethod
    def of(cls, record: Any, url: str, data: bytes, offset: int) -> Self:
        http = record.http_headers  # None for a resource that was not fetched by HTTP
        code = http.get_statuscode() if http else ""
        return cls(
            url=url,
            data=data,
            offset=offset,
            content_type=(http or record.rec_headers).get_header("Content-Type"),
            status=int(code) if code and code.isascii() and code.isdigit() else None,
            fetched=record.rec_headers.get_header("WARC-Date"),
            location=http.get_header("Location") if http else None,
        )


def records(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Record | Unchecked]:
    """Yield the pages in order, and an `Unchecked` for each broken stretch, up to MAX_FAULTS."""
    with path.open("rb") as file:
        record_start = _PACKED_RECORD if file.read(len(_GZIP)) == _GZIP else _PLAIN_RECORD
        file.seek(0)
        reader = _Reader(file, path, limits)
        for _ in range(MAX_FAULTS):
            yield from reader.pages()
            if reader.fault is None or not _seek_next(file, record_start, reader.fault + 1):
                return


def record_at(path: Path, offset: int, limits: Limits = DEFAULT_LIMITS) -> Record | Unchecked:
    with path.open("rb") as file:
        file.seek(offset)
        missing = Unchecked(path.name, Reason.UNDECODABLE, f"no record at byte {offset}")
        return next(_Reader(file, path, limits).pages(), missing)


class _Bomb(Exception):
    """A record exceeds the limits; its message says by what."""


class _Reader:
    """Reads the records of an archive from where its file stands, up to a fault."""

    def __init__(self, file: BinaryIO, path: Path, limits: Limits) -> None:
        self._file, self._path, self._limits = file, path, limits
        self._n_records = 0
        self._offset = 0  # of the last record
        self.fault: int | None = None  # offset of the fault that ended `pages`
        self._is_reported = False  # whether there was no record since the last fault

    def pages(self) -> Iterator[Record | Unchecked]:
        """Yield the pages up to a fault, and an `Unchecked` for that, unless it was reported."""
        self._offset, self.fault = self._file.tell(), None
        archive: Any = ArchiveIterator(self._file)
        archive.INC_RECORD = ""  # warcio prints this to stderr for a malformed record end
        archive.reader = _BoundedReader(self._file)
        try:
            yield from self._pages_of(archive)
            return
        except _Bomb as bomb:
            reason, what, cause = Reason.TOO_LARGE, str(bomb), ""
        except Exception as error:  # warcio lets zlib, struct, value and its own errors through
            cause = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            reason, what, cause = Reason.UNDECODABLE, "broken", f": {cause}"
        if not self._is_reported:
            place = f"after record {self._n_records} at byte {self._offset}"
            detail = f"{self._path.name}: {what} {place}{cause}"
            yield Unchecked(self._path.resolve().as_uri(), reason, detail)
        self._is_reported = True
        # warcio's own offset is further on if it failed between two records.
        self.fault = max(self._offset, archive.offset)

    def _pages_of(self, archive: Any) -> Iterator[Record | Unchecked]:
        start, n_before = self._offset, self._n_records
        for record in archive:
            if not record.rec_headers.headers:  # warcio treats junk after an empty line as a record
                raise ValueError("no record begins there")
            self._n_records += 1
            self._offset = archive.offset  # `get_record_offset` would read the record to its end
            self._is_reported = False
            archive.reader.begin_record()
            if is_bomb(archive.reader.num_read, self._file.tell(), self._limits):
                raise _Bomb("records without end")
            page = _page(record, self._offset, self._limits)
            self._drain(record)
            if page:
                yield page
        is_empty = self._n_records == n_before  # as warcio reads a file of anything else
        if is_empty and self._file.seek(0, os.SEEK_END) > start:
            raise ValueError("no record begins there")

    def _drain(self, record: Any) -> None:
        """Read to the record's end, to find the next one."""
        n_unpacked = 0
        while part := record.raw_stream.read(_CHUNK):
            n_unpacked += len(part)
            if is_bomb(n_unpacked, self._file.tell() - self._offset, self._limits):
                raise _Bomb("data without end")
        n_missing = getattr(record.raw_stream, "limit", 0)
        if n_missing > 0:
            raise EOFError(f"{n_missing} bytes of the record are missing")


def _seek_next(file: BinaryIO, record_start: bytes, offset: int) -> bool:
    """Go to the next place from `offset` on where a record seems to begin; False if none does."""
    file.seek(offset)
    data = b""
    while part := file.read(_CHUNK):
        data = data[1 - len(record_start) :] + part  # it may stand across two chunks
        if (place := data.find(record_start)) >= 0:
            n_line_breaks = record_start.startswith(b"\n")  # it is of the line before
            file.seek(place + n_line_breaks - len(data), os.SEEK_CUR)
            return True
    return False


class _BoundedReader(DecompressingBufferedReader):  # type: ignore[misc]
    """Reads lines until they exceed the limits for a record's headers."""

    _n_bytes = 0  # of header lines
    _n_lines = 0

    def begin_record(self) -> None:
        self._n_bytes = self._n_lines = 0

    def read(self, length: int | None = None) -> bytes:
        """Read bytes of a body; its lines, such as chunk sizes, do not count as headers."""
        self.begin_record()
        data: bytes = super().read(length)
        return data

    def readline(self, length: int | None = None) -> bytes:
        left = MAX_HEADER_BYTES + 1 - self._n_bytes
        left = left if length is None else min(length, left)
        line = b""
        # In pieces: for a line across several blocks, warcio returns less than requested.
        while not line.endswith(b"\n") and (piece := super().readline(min(left, _LINE_PIECE))):
            line += piece
            left -= len(piece)
        self._n_bytes += len(line)
        self._n_lines += 1
        if self._n_bytes > MAX_HEADER_BYTES or self._n_lines > MAX_HEADER_LINES:
            raise _Bomb("headers without end")
        return line


def _page(record: Any, offset: int, limits: Limits) -> Record | Unchecked | None:
    """The page in a record; None if it holds something else."""
    url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
    if record.rec_type not in _PAGES or not url.lower().startswith(("http:", "https:")):
        return None
    body = _unpacked_body(record, url, limits.max_bytes)
    return body if isinstance(body, Unchecked) else Record.of(record, url, body, offset)


def _unpacked_body(record: Any, url: str, max_bytes: int) -> bytes | Unchecked:
    http = record.http_headers
    encoding = ((http and http.get_header("Content-Encoding")) or "").strip().lower()
    if encoding in PACKERS:  # warcio would unpack Brotli without a limit
        http.remove_header("Content-Encoding")
    stream, stored = record.content_stream(), bytearray()
    most = max_bytes + 1
    while len(stored) < most and (part := stream.read(min(_CHUNK, most - len(stored)))):
        stored += part
    data = bytes(stored)
    if data and len(data) <= max_bytes and encoding in PACKERS:
        unpacked = unpacked_as(encoding, data, max_bytes)
        if unpacked is None:
            detail = f"the archived page is no valid {encoding} data"
            return Unchecked(url, Reason.UNDECODABLE, detail)
        data = unpacked
    if len(data) > max_bytes:
        return too_large(url, len(data), max_bytes, "the archived page")
    return data
