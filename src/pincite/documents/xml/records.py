"""Large XML files as a row of records, each parsed by itself.

Decision hidden here: a file is never parsed as a whole. It is cut at the tags of its records, so a
broken record costs only itself, one that is too large is never held, and what stands before the
first record (a DTD that declares entities or names a file) never reaches a parser. With `markup`,
which parses whole pages, the only file of this room that knows lxml; elements stay `Any` elsewhere.
"""

import codecs
import gzip
import html.entities
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from lxml import etree

from pincite.documents.body import Limits, too_large
from pincite.documents.html.markup import no_fault_of_memory, xml_parser

# Elements take some 150 bytes each, however short their names: a million tags are half as many
# elements, 75 MB. The largest records, of 3,000 authors with their addresses, have 100,000.
MAX_TAGS = 1_000_000
HEAD_BYTES = 65_536
_CHUNK = 1 << 20
_TAG = 64  # bytes: no tag that is looked for is longer
_NAMESPACES = (
    b'<r xmlns:mml="http://www.w3.org/1998/Math/MathML" '
    b'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:ali="http://www.niso.org/schemas/ali/1.0/" '
    b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
)
# HTML's names for signs, which older journals' DTDs declare; XML itself has five.
_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]*);")
_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)""")
_KNOWN_ENCODING = re.compile(
    r"utf-?(16|32)([bl]e)?|iso-?8859-\d+|latin-?1|windows-125\d|cp125\d|gb2312|gbk|gb18030|big5|"
    r"shift_jis|euc-(jp|kr)|koi8-r",
    re.IGNORECASE,
)
# Each part of what may precede the root is matched once and never tried otherwise: without that, a
# row of comments takes exponential time.
_ROOT = re.compile(
    rb"(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+<([A-Za-z][\w.-]*)(?=[\s/>])",
    re.DOTALL,
)


class Broken(Exception):
    """A record that is no well-formed XML within the limits; says why."""


class Record(NamedTuple):
    """A record's element as it stands in the file; `broken` says why there is none."""

    number: int  # from 1
    name: str  # of the element; empty if what is broken is the file
    data: bytes
    broken: str = ""
    is_large: bool = False  # broken by being over the limit


def root_of(head: bytes) -> str:
    r"""The name of the root element of an XML file that begins like this; empty if it is none.

    >>> root_of(b"<?xml version='1.0'?><!DOCTYPE a SYSTEM 'a.dtd'>\n<a>")
    'a'
    """
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        head = head[2:].replace(b"\0", b"")
    match = _ROOT.match(head.removeprefix(b"\xef\xbb\xbf"))
    return match[1].decode("ascii") if match else ""


def head_of(path: Path) -> bytes:
    """The first bytes of a file, unpacked if gzip packed it; fewer if it is broken."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head[:2] != b"\x1f\x8b":
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


def records(path: Path, names: Sequence[str], limits: Limits) -> Iterator[Record]:
    """The elements with these names, in order; broken ones, and a break of the file, in place.

    Elements with one of the names must not stand in each other. Raises OSError if the file cannot
    be opened.
    """
    with path.open("rb") as file:
        yield from _records(file, head_of(path), names, limits)


def records_in(data: bytes, names: Sequence[str], limits: Limits) -> Iterator[Record]:
    """The same of bytes at hand, which are not packed."""
    yield from _records(io.BytesIO(data), data[:HEAD_BYTES], names, limits)


def parsed(record: Record) -> Any:
    """The record's element, without comments and processing instructions.

    Raises:
        Broken: It is not well-formed, or has too many tags; libxml2's own limits of depth and of
            the size of a text stay on.
    """
    if record.broken:
        raise Broken(record.broken)
    if (n_tags := record.data.count(b"<")) > MAX_TAGS:
        raise Broken(f"it has {n_tags:,} tags, the limit is {MAX_TAGS:,}")
    try:
        return _element(record.data)
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        named = _NAMED.sub(_as_number, record.data)
        if named == record.data:
            raise Broken(f"it is no well-formed XML: {error.msg}") from error
    try:
        return _element(named)
    except etree.XMLSyntaxError as error:
        raise Broken(f"it is no well-formed XML: {error.msg}") from error


def _element(data: bytes) -> Any:
    return etree.fromstring(_NAMESPACES + data + b"</r>", _parser())[0]


def local(element: Any) -> str:
    """An element's name without its namespace; empty for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


@cache
def _parser() -> etree.XMLParser:
    return xml_parser("utf-8")


def _as_number(match: re.Match[bytes]) -> bytes:
    """A named sign by its number; a name that nobody knows as it is written."""
    signs = html.entities.html5.get(match[1].decode("ascii") + ";")
    if signs is None:
        return b"&amp;" + match[0][1:]
    return "".join(f"&#{ord(sign)};" for sign in signs).encode("ascii")


def _records(
    file: IO[bytes], head: bytes, names: Sequence[str], limits: Limits
) -> Iterator[Record]:
    root = root_of(head)
    cutter = _Cutter(_reading(file, head), root, names, limits.line_bytes)
    try:
        yield from cutter.records()
    except (EOFError, OSError, zlib.error) as error:
        yield Record(cutter.number + 1, "", b"", f"the file breaks off: {error}")
        return
    if not cutter.closed:
        detail = f"the file ends without </{root}>: it may be cut off"
        yield Record(cutter.number + 1, "", b"", detail)


def _reading(file: IO[bytes], head: bytes) -> Callable[[int], bytes]:
    """Reads the file as UTF-8, whatever it is packed or written in."""
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    # `read1` gives what there is before it finds that a packed file is cut off; `read` loses it.
    unpacked: Callable[[int], bytes] = gzip.GzipFile(fileobj=file).read1 if packed else file.read
    encoding = _encoding(head)
    if encoding is None:
        return unpacked
    decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(n: int) -> bytes:
        data = unpacked(n)
        return decoder.decode(data, final=not data).encode("utf-8", "replace")

    return read


def _encoding(head: bytes) -> str | None:
    """What the file is written in, where that is not UTF-8; one that is not known is taken for it.

    A record whose bytes are no UTF-8 is then refused by the parser.
    """
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    match = _ENCODING.match(head)
    name = match[1].decode("ascii") if match else ""
    return name if _KNOWN_ENCODING.fullmatch(name) else None


class _Cutter:
    """Finds records in bytes that come chunk by chunk, and holds no more than one of them."""

    def __init__(
        self, read: Callable[[int], bytes], root: str, names: Sequence[str], limit: int
    ) -> None:
        self.number = 0
        self.closed = root in names  # whether the root's end tag came
        self._read, self._limit = read, limit
        self._buffer, self._at = b"", 0
        joined = b"|".join(re.escape(name.encode()) for name in names)
        end = re.escape(root.encode())
        self._mark = re.compile(
            rb"<!--|</" + end + rb"\s*>|<(" + joined + rb")(?:\s*(/>)|(?=[\s>]))"
        )

    def records(self) -> Iterator[Record]:
        """The records and what is broken of them."""
        while match := self._next():
            self._at = match.end()
            if match[0] == b"<!--":
                self._skip(b"-->")
            elif match[1] is None:
                self.closed = True
            elif not match[2]:  # else it is empty: <DeleteCitation/>
                self.number += 1
                self._at = match.start()
                yield self._record(match[1])

    def _next(self) -> re.Match[bytes] | None:
        """The next comment, or tag of a record or the root, from where we are."""
        while True:
            match = self._mark.search(self._buffer, self._at)
            if match and match.end() + _TAG < len(self._buffer):  # it may go on behind the chunk
                return match
            if not match:
                self._at = max(self._at, len(self._buffer) - _TAG)
            if not self._fill():
                return match

    def _fill(self) -> bool:
        """Read on, letting go of what lies behind us; whether there was more."""
        chunk = self._read(_CHUNK)
        if chunk:  # else every place that somebody holds stays where it is
            self._buffer, self._at = self._buffer[self._at :] + chunk, 0
        return bool(chunk)

    def _record(self, name: bytes) -> Record:
        closing, searched = b"</" + name + b">", 1
        while True:
            end = self._buffer.find(closing, self._at + searched)
            inner = self._opened_again(name, searched, len(self._buffer) if end < 0 else end)
            if inner:
                n_bytes, self._at = inner - self._at, inner
                detail = f"</{name.decode()}> is missing after {n_bytes} bytes"
                return Record(self.number, name.decode(), b"", detail)
            if end >= 0:
                end += len(closing)
                data, self._at = self._buffer[self._at : end], end
                return self._limited(name, data)
            searched = max(searched, len(self._buffer) - self._at - _TAG)
            if searched > self._limit:
                data = self._buffer[self._at : self._at + searched]
                self._skip(closing)
                return self._limited(name, data)
            if not self._fill():
                self._at = len(self._buffer)
                return Record(self.number, name.decode(), b"", "the file ends within it")

    def _limited(self, name: bytes, data: bytes) -> Record:
        if len(data) <= self._limit:
            return Record(self.number, name.decode(), data)
        detail = too_large("", len(data), self._limit, "it").detail
        return Record(self.number, name.decode(), b"", detail, True)

    def _opened_again(self, name: bytes, first: int, end: int) -> int:
        """Where, between `first` bytes from here and `end`, such a record begins; else 0."""
        at = self._at + first
        while (at := self._buffer.find(b"<" + name, at, end)) >= 0:
            behind = at + len(name) + 1
            if self._buffer[behind : behind + 1] in (b">", b" ", b"\n"):
                return at
            at = behind
        return 0

    def _skip(self, closing: bytes) -> None:
        """Go on behind the next `closing`, or to the end of the file."""
        while (end := self._buffer.find(closing, self._at)) < 0:
            self._at = max(self._at, len(self._buffer) - _TAG)
            if not self._fill():
                self._at = len(self._buffer)
                return
        self._at = end + len(closing)
