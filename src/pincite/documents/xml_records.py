"""Large XML files as a row of records, each parsed by itself, and the words of their elements.

A file is never parsed as a whole. It is cut at the tags of its records, so a broken record costs
only itself, one that is too large is never held, and what stands before the first record (a DTD
that declares entities or names a file) never reaches a parser.

Of marks in the text, raised figures behind a figure get a caret (10<sup>6</sup> is 10^6, not 106);
others stand as they are written (Ca2+, 3H, CO2). A formula is a line of signs; one that is only a
picture is named as such, so that a gap shows.
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
from pincite.documents.text import one_line

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


def xml_parser(encoding: str | None = None) -> etree.XMLParser:
    """A parser for XML of others; `encoding` overrides what a file says of itself.

    No network, no entities, no depth beyond 256: libxml2's own limits stay on.
    """
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding=encoding,
    )


def no_fault_of_memory(error: etree.XMLSyntaxError) -> None:
    """Raise MemoryError where libxml2 had none left, which it tells as a fault of the text."""
    code = getattr(error, "code", None)  # the stubs do not know it
    if code == etree.ErrorTypes.ERR_NO_MEMORY:
        raise MemoryError from error


def parsed_xml(data: bytes) -> Any:
    """The root of an XML file that has no DTD, for readers of formats made of XML; else None."""
    try:
        root = etree.fromstring(data, xml_parser())
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        return None
    docinfo: Any = root.getroottree().docinfo
    return None if docinfo.doctype else root


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


def records(source: Path | bytes, names: Sequence[str], limits: Limits) -> Iterator[Record]:
    """The elements with these names, in order; broken ones, and a break of the file, in place.

    Elements with one of the names must not stand in each other. `source` is a file, packed or not,
    or bytes that are not. Raises OSError if the file cannot be opened.
    """
    head = source[:HEAD_BYTES] if isinstance(source, bytes) else head_of(source)
    root = root_of(head)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        cutter = _Cutter(_reading(file, head), root, names, limits.line_bytes)
        try:
            yield from cutter.records()
        except (EOFError, OSError, zlib.error) as error:
            yield Record(cutter.number + 1, "", b"", f"the file breaks off: {error}")
            return
    if not cutter.closed:
        detail = f"the file ends without </{root}>: it may be cut off"
        yield Record(cutter.number + 1, "", b"", detail)


def parsed(record: Record) -> Any:
    """The record's element, without namespaces, comments and processing instructions.

    Raises:
        Broken: It is not well-formed, or has too many tags; libxml2's own limits of depth and of
            the size of a text stay on.
    """
    if record.broken:
        raise Broken(record.broken)
    if (n_tags := record.data.count(b"<")) > MAX_TAGS:
        raise Broken(f"it has {n_tags:,} tags, the limit is {MAX_TAGS:,}")
    try:
        root = _element(record.data)
    except Broken:
        root = _element(_NAMED.sub(_as_number, record.data))
    for element in root.iter():
        if element.tag[0] == "{":
            element.tag = element.tag.rpartition("}")[2]
    return root


def _element(data: bytes) -> Any:
    try:
        return etree.fromstring(_NAMESPACES + data + b"</r>", _parser())[0]
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        raise Broken(f"it is no well-formed XML: {error.msg}") from error


@cache
def _parser() -> etree.XMLParser:
    return xml_parser("utf-8")


def _as_number(match: re.Match[bytes]) -> bytes:
    """A named sign by its number; a name that nobody knows as it is written."""
    signs = html.entities.html5.get(match[1].decode("ascii") + ";")
    if signs is None:
        return b"&amp;" + match[0][1:]
    return "".join(f"&#{ord(sign)};" for sign in signs).encode("ascii")


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


PICTURE = "[formula]"  # stands for a formula of which there is only a picture
_RAISED = frozenset({"sup", "superscript"})
_FORMULAS = frozenset({"inline-formula", "disp-formula", "DispFormula", "chem-struct"})
_UNREAD = frozenset(
    {"graphic", "inline-graphic", "media", "object-id", "alt-text", "long-desc", "annotation"}
)
_TEX = ("\\begin{document}", "\\end{document}")

Aside = Callable[[Any], bool]


def line_of(element: Any) -> str:
    """The element's words as one line; empty for None."""
    if element is None:
        return ""
    return one_line(element.text if not len(element) else flat(element))


def flat(element: Any, aside: Aside | None = None) -> str:
    """The words in an element as they follow each other, white space as it stands.

    `aside` is shown each element within, and takes those for which it says so: their words are then
    not among these.
    """
    parts: list[str] = []
    _collect(element, parts, aside)
    return "".join(parts)


def _collect(element: Any, parts: list[str], aside: Aside | None) -> None:
    parts.append(element.text or "")
    for child in element:
        name = child.tag
        if aside and aside(child):
            parts.append(" ")
        elif name in _RAISED:
            refs = (e for e in child.iter("xref") if e.get("ref-type") == "bibr")
            parts.append(_raised(flat(child, aside), parts, next(refs, None) is not None))
        elif name == "xref" and child.get("ref-type") == "bibr" and _is_raised(child):
            parts.append(f"[{one_line(flat(child, aside))}]")
        elif name in _FORMS:
            parts.append(_FORMS[name](child, aside))
        elif name not in _UNREAD:
            _collect(child, parts, aside)
        parts.append(child.tail or "")


def _raised(text: str, parts: list[str], cites: bool) -> str:
    """What is raised, made plain; the number of a reference must not become part of a word."""
    if cites:
        return f"[{one_line(text)}]"
    before = next((part for part in reversed(parts) if part), "")
    signs = text.strip().lstrip("+-−–")
    is_power = signs[:1].isdecimal() or (len(signs) == 1 and signs.isalpha())  # not 5<sup>th
    return f"^{text.strip()}" if before[-1:].isdecimal() and is_power else text


def _is_raised(reference: Any) -> bool:
    """Whether a reference holds its number as a raised one, and nothing else."""
    return len(reference) == 1 and reference[0].tag in _RAISED and not reference.text


def _formula(element: Any, aside: Aside | None) -> str:
    """A formula, one that stands in its own line with its number and spaces around it."""
    label = next((child for child in element if child.tag == "label"), None)
    words = flat(element, lambda e: e is label or (aside is not None and aside(e)))
    if not words.strip() and _has_picture(element):
        words = PICTURE
    return f" {line_of(label)} {words} " if element.tag == "disp-formula" else words


def _chosen(alternatives: Any, aside: Aside | None) -> str:
    """Of several forms of the same MathML, else the first that is written in letters."""
    forms = {e.tag: e for e in reversed(list(alternatives))}
    if "math" in forms:
        return math(forms["math"])
    if "tex-math" in forms:
        return _tex(forms["tex-math"])
    words = (flat(e, aside) for e in alternatives if e.tag not in _UNREAD)
    return next(filter(str.strip, words), "")


def _tex(element: Any) -> str:
    """TeX as it is written, without the document around it."""
    tex = "".join(element.itertext())
    body = tex.partition(_TEX[0])[2].partition(_TEX[1])[0] or tex
    return one_line(body.strip().strip("$"))


def _has_picture(element: Any) -> bool:
    return any(e.tag in ("graphic", "inline-graphic", "media") for e in element.iter())


_FORMS: dict[str, Callable[[Any, Aside | None], str]] = {
    **dict.fromkeys(_FORMULAS, _formula),
    "alternatives": _chosen,
    "math": lambda element, aside: math(element) or PICTURE,
    "tex-math": lambda element, aside: _tex(element),
    "break": lambda element, aside: " ",
}


# ── MathML ───────────────────────────────────────────────────────────────────────────────────────


def math(element: Any) -> str:
    r"""A formula as one line: x^2, (a+b)/c, √(x).

    Nothing is lost but what cannot be read aloud; an expression of several signs stands in
    parentheses where its place would else be unclear.
    """
    return one_line(_math(element))


def _math(element: Any) -> str:
    name = element.tag
    if not len(element):
        text = element.text or ""
        return " " if name == "mspace" else text if name == "mtext" else text.strip()
    parts = [_math(child) for child in element]
    write = _WRITTEN.get(name)
    return write(parts) if write else "".join(_with_marks(element, name, parts))


def _with_marks(element: Any, name: str, parts: list[str]) -> Iterator[str]:
    if name == "mmultiscripts":
        names = [child.tag for child in element]
        at = names.index("mprescripts") if "mprescripts" in names else len(names)
        yield from (*parts[at + 1 :], *parts[:at])
    elif name == "mfenced":
        sign = (element.get("separators") or ",")[:1]
        yield f"{element.get('open', '(')}{sign.join(parts)}{element.get('close', ')')}"
    else:
        yield from parts


def _grouped(text: str) -> str:
    return text if len(text) <= 1 or text.isalpha() or text.isdecimal() else f"({text})"


def _power(base: str, raised: str) -> str:
    return f"{base}^{_grouped(raised)}" if raised.strip("+-−")[:1].isalnum() else base + raised


_WRITTEN: dict[str, Callable[[list[str]], str]] = {
    "mfrac": lambda parts: "/".join(map(_grouped, parts)),
    "msup": lambda parts: _power(parts[0], "".join(parts[1:])),
    "msubsup": lambda parts: _power("".join(parts[:2]), "".join(parts[2:])),
    "msqrt": lambda parts: f"√({''.join(parts)})",
    "mroot": lambda parts: f"{_grouped(parts[0])}^(1/{''.join(parts[1:])})",
    "mtable": "; ".join,
    "mtr": " ".join,
    "mlabeledtr": " ".join,
    "semantics": lambda parts: parts[0],
}
