"""Web archives: the pages in a WARC file, one after the other, without unpacking it anywhere.

Decided here: which records are pages (responses and resources with a web address, and the
plain texts that Common Crawl's WET files convert them to; revisits hold no body), and when a broken
or hostile archive is given up. Bodies are not interpreted.
"""

import logging
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from pincite.documents.body import DEFAULT_LIMITS, Limits, is_bomb, too_large
from pincite.types import Reason, Unchecked

_PAGES = ("response", "resource")
_TEXT = "conversion"  # a WET's record; other conversions are pictures and players' formats
MAX_FAULTS = 50  # of an archive; a false beginning of a record counts
_CHUNK, _PIECE = 1 << 20, 1 << 14
# What stands before a body: blank lines, the record's headers and those of HTTP. Heritrix keeps
# 64 kB of HTTP's, browsers take up to 256 kB; Apache takes 100 lines.
MAX_HEADER_BYTES = 1_000_000
MAX_HEADER_LINES = 10_000


@dataclass(frozen=True, slots=True)
class Record:
    """One page of an archive: its body as the server meant it, transfer encodings undone."""

    url: str
    data: bytes
    offset: int  # of the record in the file, for `record_at`
    content_type: str | None = None
    status: int | None = None
    fetched: str | None = None  # WARC-Date
    location: str | None = None  # where a redirect leads
    converted: bool = False  # a text that was extracted elsewhere, its first line the title


class _Bomb(Exception):
    """A record is without end, and says how; nothing after it is worth the wait."""


def records(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Record | Unchecked]:
    """The pages of an archive in order, and an `Unchecked` for each stretch that is broken.

    Reading goes on where the next record seems to begin; after MAX_FAULTS the rest is left.
    """
    with path.open("rb") as file:
        sign = b"\x1f\x8b\x08" if file.read(2) == b"\x1f\x8b" else b"\nWARC/1."
        start = number = 0
        for n_faults in range(MAX_FAULTS):
            file.seek(start)
            known = n_faults > 0  # that it is broken here
            fault, number = yield from _records(file, path, limits, number, known)
            begins = None if fault is None else _next_start(file, sign, fault + 1)
            if begins is None:
                return
            start = begins


def _next_start(file: BinaryIO, sign: bytes, offset: int) -> int | None:
    """Where `sign` stands from `offset` on, behind its line break; None: nowhere."""
    file.seek(offset)
    before = b""
    while part := file.read(_CHUNK):
        at = (before + part).find(sign)
        if at >= 0:
            found = file.tell() - len(part) - len(before) + at
            return found + sign.startswith(b"\n")
        before = part[1 - len(sign) :]
    return None


def record_at(path: Path, offset: int, limits: Limits = DEFAULT_LIMITS) -> Record | Unchecked:
    """The one record that begins at `offset` bytes."""
    with path.open("rb") as file:
        file.seek(offset)
        missing = Unchecked(path.name, Reason.UNDECODABLE, f"no record at byte {offset}")
        return next(_records(file, path, limits, 0), missing)


def _records(
    file: BinaryIO, path: Path, limits: Limits, number: int, known: bool = False
) -> Generator[Record | Unchecked, None, tuple[int | None, int]]:
    """The pages from here on, until something is broken; returns where, and the record's number.

    `known`: the record before the first is broken too, and was reported.
    """
    offset, first = file.tell(), number
    archive = _archive(file)
    try:
        for record in archive:
            if not record.rec_headers.headers:  # junk behind an empty line is a record to warcio
                raise ValueError("no record begins there")
            # Not `get_record_offset`: it reads the record to its end.
            number, offset, known = number + 1, archive.offset, False
            archive.reader.begin()
            if is_bomb(archive.reader.num_read, file.tell(), limits):
                raise _Bomb("records without end after record {} at byte {}")
            page = _page(record, offset, limits) if _is_page(record) else None
            _drain(record, file, offset, limits)
            if page:
                yield page
        if number == first and file.seek(0, os.SEEK_END) > offset:  # warcio takes it for the end
            raise ValueError("no record begins there")
        return None, number
    except _Bomb as bomb:
        detail = f"{path.name}: {str(bomb).format(number, offset)}"
        if not known:
            yield Unchecked(path.resolve().as_uri(), Reason.TOO_LARGE, detail)
    except Exception as error:  # warcio lets zlib, struct, value and its own errors through
        detail = f"{path.name}: broken after record {number} at byte {offset}: {_first_line(error)}"
        if not known:
            yield Unchecked(path.resolve().as_uri(), Reason.UNDECODABLE, detail)
    return max(offset, archive.offset), number


def _archive(file: BinaryIO) -> Any:
    logging.getLogger("warcio").addHandler(logging.NullHandler())
    from warcio.archiveiterator import ArchiveIterator

    archive = ArchiveIterator(file)
    archive.INC_RECORD = ""  # it writes this to standard error where a record ends oddly
    archive.reader = _bounded_reader()(file)
    return archive


@cache
def _bounded_reader() -> Any:
    from warcio.bufferedreaders import DecompressingBufferedReader

    class Bounded(DecompressingBufferedReader):  # type: ignore[misc]
        """Gives lines until these are more than the headers of a record."""

        n_bytes, n_lines = 0, 0

        def begin(self) -> None:
            """A body follows, and then another record."""
            self.n_bytes, self.n_lines = 0, 0

        def read(self, length: int | None = None) -> bytes:
            """Bytes of a body; lines in it, as of chunks, are not those of headers."""
            self.begin()
            data: bytes = super().read(length)
            return data

        def readline(self, length: int | None = None) -> bytes:
            left = MAX_HEADER_BYTES + 1 - self.n_bytes
            left, line = left if length is None else min(length, left), b""
            # In pieces: of a line over several of its blocks, warcio gives less than was asked for.
            while not line.endswith(b"\n") and (piece := super().readline(min(left, _PIECE))):
                line, left = line + piece, left - len(piece)
            self.n_bytes, self.n_lines = self.n_bytes + len(line), self.n_lines + 1
            if self.n_bytes > MAX_HEADER_BYTES or self.n_lines > MAX_HEADER_LINES:
                raise _Bomb("headers without end after record {} at byte {}")
            return line

    return Bounded


def _is_page(record: Any) -> bool:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    kind = record.rec_headers.get_header("Content-Type") or ""
    is_text = record.rec_type == _TEXT and kind.lower().startswith("text/plain")
    return (record.rec_type in _PAGES or is_text) and url.strip("<>").lower().startswith(
        ("http:", "https:")
    )


def _page(record: Any, offset: int, limits: Limits) -> Record | Unchecked:
    url = record.rec_headers.get_header("WARC-Target-URI").strip("<>")
    data = _body(record, limits.max_bytes + 1)
    if len(data) > limits.max_bytes:
        return too_large(url, len(data), limits.max_bytes, "the archived page")
    headers = record.http_headers
    code = headers.get_statuscode() if headers else ""
    return Record(
        url=url,
        data=data,
        offset=offset,
        content_type=(headers or record.rec_headers).get_header("Content-Type"),
        status=int(code) if code and code.isascii() and code.isdigit() else None,
        fetched=record.rec_headers.get_header("WARC-Date"),
        location=headers.get_header("Location") if headers else None,
        converted=record.rec_type == _TEXT,
    )


def _body(record: Any, n_bytes: int) -> bytes:
    stream, parts, length = record.content_stream(), [], 0
    while length < n_bytes and (part := stream.read(min(_CHUNK, n_bytes - length))):
        parts.append(part)
        length += len(part)
    return b"".join(parts)


def _drain(record: Any, file: BinaryIO, offset: int, limits: Limits) -> None:
    """Read to the record's end, which is how the next is found; raises `_Bomb` in a bomb."""
    length = 0
    while part := record.raw_stream.read(_CHUNK):
        length += len(part)
        if is_bomb(length, file.tell() - offset, limits):
            raise _Bomb("record {} at byte {} unpacks without end")
    if getattr(record.raw_stream, "limit", 0) > 0:
        raise EOFError(f"{record.raw_stream.limit} bytes of the record are missing")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
