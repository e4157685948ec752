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
from pathlib import Path
from typing import IO, Any, NamedTuple

from lxml import etree

from pincite.documents.body import Limits, too_large, unpacked
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
_COMMENT_END = re.compile(b"(-)(-)>")  # with as many groups as the pattern for tags
_EMPTY = re.compile(rb"\s*/>")


class Broken(Exception):
    """A record that is no well-formed XML within the limits; says why."""


class Record(NamedTuple):
    """A record's element as it stands in the file; `broken` says why there is none."""

    number: int  # from 1
    name: str  # of the element; empty if what is broken is the file
    data: bytes
    broken: str = ""
    is_large: bool = False  # broken by being over the limit


# ── Parsing ──────────────────────────────────────────────────────────────────────────────────────


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
    """Raise MemoryError where libxml2 had none left, which it reports as a syntax error."""
    if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:  # the stubs lack `code`
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
        return etree.fromstring(_NAMESPACES + data + b"</r>", xml_parser("utf-8"))[0]
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        raise Broken(f"it is no well-formed XML: {error.msg}") from error


def _as_number(match: re.Match[bytes]) -> bytes:
    signs = html.entities.html5.get(match[1].decode("ascii") + ";")
    if signs is None:
        return b"&amp;" + match[0][1:]
    return "".join(f"&#{ord(sign)};" for sign in signs).encode("ascii")


# ── Records of a file ────────────────────────────────────────────────────────────────────────────


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
    return unpacked(head, HEAD_BYTES) if head[:2] == b"\x1f\x8b" else head


def records(source: Path | bytes, names: Sequence[str], limits: Limits) -> Iterator[Record]:
    """The elements with these names, in order; broken ones, and a break of the file, in place.

    Elements with one of the names must not stand in each other. `source` is a file, packed or not,
    or bytes that are not. Raises OSError if the file cannot be opened.
    """
    head = source[:HEAD_BYTES] if isinstance(source, bytes) else head_of(source)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        yield from _cut(_utf8(file, head), root_of(head), names, limits.line_bytes)


def _utf8(file: IO[bytes], head: bytes) -> Callable[[int], bytes]:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    # `read1` gives what there is before it finds that a packed file is cut off; `read` loses it.
    plain: Callable[[int], bytes] = gzip.GzipFile(fileobj=file).read1 if packed else file.read
    match = _ENCODING.match(head)
    encoding = match[1].decode("ascii") if match else ""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif not _KNOWN_ENCODING.fullmatch(encoding):
        return plain  # the parser refuses a record whose bytes are no UTF-8
    decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(n: int) -> bytes:
        data = plain(n)
        return decoder.decode(data, final=not data).encode("utf-8", "replace")

    return read


def _cut(
    read: Callable[[int], bytes], root: str, names: Sequence[str], limit: int
) -> Iterator[Record]:
    """The records in bytes that come chunk by chunk; no more than one of them is held."""
    alternatives = "|".join(map(re.escape, {root, *names}))
    tag = re.compile(rf"<(?:!--|(/?)({alternatives})(?=[\s/>]))".encode())
    buffer, at, faults = b"", 0, list[str]()
    number, closed = 0, root in names  # whether the root's end tag came
    name, size = "", 0  # of the record that we are in; the buffer holds what follows `size` bytes
    in_comment = False
    for chunk in _chunks(read, faults):
        buffer += chunk
        while match := (_COMMENT_END if in_comment else tag).search(buffer, at):
            if chunk and match.end() + _TAG > len(buffer):
                break  # the tag may go on behind the chunk
            begin, at, in_comment = match.start(), match.end(), match[0] == b"<!--" and not name
            is_end, found = match[1] == b"/", (match[2] or b"").decode()
            closed |= is_end and found == root
            if is_end and found == name:
                at = buffer.find(b">", at) + 1 or at
                yield _record(number, name, buffer[:at], size + at, limit)
                name, buffer, at = "", buffer[at:], 0
            elif not is_end and found in names and not _EMPTY.match(buffer, at):
                if name:
                    detail = f"</{name}> is missing after {size + begin} bytes"
                    yield Record(number, name, b"", detail)
                number, name, size = number + 1, found, 0
                buffer, at = buffer[begin:], at - begin
        else:
            at = max(at, len(buffer) - _TAG)
        if not name or size + len(buffer) > limit:
            size += at
            buffer, at = buffer[at:], 0
    if name and not faults:
        yield Record(number, name, b"", "the file ends within it")
    if faults or not closed:
        detail = faults[0] if faults else f"the file ends without </{root}>: it may be cut off"
        yield Record(number + 1, "", b"", detail)


def _chunks(read: Callable[[int], bytes], faults: list[str]) -> Iterator[bytes]:
    try:
        while chunk := read(_CHUNK):
            yield chunk
    except (EOFError, OSError, zlib.error) as error:
        faults.append(f"the file breaks off: {error}")
    yield b""


def _record(number: int, name: str, data: bytes, size: int, limit: int) -> Record:
    if size <= limit:
        return Record(number, name, data)
    return Record(number, name, b"", too_large("", size, limit, "it").detail, True)


# ── The words of an element ──────────────────────────────────────────────────────────────────────

PICTURE = "[formula]"  # stands for a formula of which there is only a picture
_RAISED = frozenset({"sup", "superscript"})
_FORMULAS = frozenset({"inline-formula", "disp-formula", "DispFormula", "chem-struct"})
_PICTURES = frozenset({"graphic", "inline-graphic", "media"})
_UNREAD = _PICTURES | {"object-id", "alt-text", "long-desc", "annotation"}
_TEX = ("\\begin{document}", "\\end{document}")

Aside = Callable[[Any], bool]


def line_of(element: Any) -> str:
    """The element's words as one line; empty for None."""
    if element is None:
        return ""
    return one_line(element.text if not len(element) else flat(element))


def flat(element: Any, aside: Aside = lambda element: False) -> str:
    """The words in an element as they follow each other, white space as it stands.

    Elements within for which `aside` is true are left out.
    """
    parts: list[str] = []
    _collect(element, parts, aside)
    return "".join(parts)


def _collect(element: Any, parts: list[str], aside: Aside) -> None:
    parts.append(element.text or "")
    for child in element:
        name = child.tag
        cites = name == "xref" and child.get("ref-type") == "bibr"
        if aside(child):
            parts.append(" ")
        elif name in _RAISED:
            parts.append(_raised(child, flat(child, aside), parts))
        elif cites and len(child) == 1 and child[0].tag in _RAISED and not child.text:
            parts.append(f"[{one_line(flat(child, aside))}]")
        elif name in _FORMULAS:
            parts.append(_formula(child, aside))
        elif name == "alternatives":
            parts.append(_chosen(child, aside))
        elif name == "math":
            parts.append(math(child) or PICTURE)
        elif name == "tex-math":
            parts.append(_tex(child))
        elif name == "break":
            parts.append(" ")
        elif name not in _UNREAD:
            _collect(child, parts, aside)
        parts.append(child.tail or "")


def _raised(element: Any, text: str, parts: list[str]) -> str:
    """What is raised, made plain; the number of a reference must not become part of a word."""
    if any(e.get("ref-type") == "bibr" for e in element.iter("xref")):
        return f"[{one_line(text)}]"
    before = next((part for part in reversed(parts) if part), "")
    signs = text.strip().lstrip("+-−–")
    is_power = signs[:1].isdecimal() or (len(signs) == 1 and signs.isalpha())  # not 5<sup>th
    return f"^{text.strip()}" if before[-1:].isdecimal() and is_power else text


def _formula(element: Any, aside: Aside) -> str:
    label = element.find("label")
    words = flat(element, lambda e: e is label or aside(e))
    if not words.strip() and any(e.tag in _PICTURES for e in element.iter()):
        words = PICTURE
    return f" {line_of(label)} {words} " if element.tag == "disp-formula" else words


def _chosen(alternatives: Any, aside: Aside) -> str:
    """Of several forms of the same MathML, else TeX, else the first that is written in letters."""
    forms = {e.tag: e for e in reversed(list(alternatives))}
    if "math" in forms:
        return math(forms["math"])
    if "tex-math" in forms:
        return _tex(forms["tex-math"])
    words = (flat(e, aside) for e in alternatives if e.tag not in _UNREAD)
    return next(filter(str.strip, words), "")


def _tex(element: Any) -> str:
    tex = "".join(element.itertext())
    body = tex.partition(_TEX[0])[2].partition(_TEX[1])[0] or tex
    return one_line(body.strip().strip("$"))


def math(element: Any) -> str:
    r"""A MathML formula as one line: x^2, (a+b)/c, √(x).

    An expression of several signs stands in parentheses where its place would else be unclear.
    """
    return one_line(_math(element))


def _math(element: Any) -> str:
    name = element.tag
    if not len(element):
        text = element.text or ""
        return " " if name == "mspace" else text if name == "mtext" else text.strip()
    parts = [_math(child) for child in element]
    if name in _WRITTEN:
        return _WRITTEN[name](parts)
    if name == "mmultiscripts":
        names = [child.tag for child in element]
        at = names.index("mprescripts") if "mprescripts" in names else len(names)
        return "".join((*parts[at + 1 :], *parts[:at]))
    if name == "mfenced":
        inside = (element.get("separators") or ",")[:1].join(parts)
        return f"{element.get('open', '(')}{inside}{element.get('close', ')')}"
    return "".join(parts)


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
