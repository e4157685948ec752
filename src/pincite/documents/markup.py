"""Parses untrusted markup: records of large XML files, each alone, and web pages.

A file is cut at the tags of its records, so a broken record affects only itself, an oversized one
is never held in memory, and a DTD never reaches a parser. Superscripts after a digit get a caret
(10<sup>6</sup> is 10^6, not 106); formulas become one line.
"""

import codecs
import gzip
import html.entities
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from lxml import etree
from lxml import html as lxml_html

from pincite.documents.body import FIRST_BYTES, Limits, head_of, too_large
from pincite.documents.text import codec_of, one_line
from pincite.text import patterns, tables_beside
from pincite.types import Reason

# Elements take some 150 bytes each, however short their names: a million tags are half as many
# elements, 75 MB. The largest records, of 3,000 authors with their addresses, have 100,000.
MAX_TAGS = 1_000_000
_CHUNK = 1 << 20
_TAG = 64  # bytes: longer than any tag that is searched for
_NAMESPACES = (
    b'<r xmlns:mml="http://www.w3.org/1998/Math/MathML" '
    b'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:ali="http://www.niso.org/schemas/ali/1.0/" '
    b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
)
# HTML's named characters, which older journal DTDs declare; XML itself has five.
_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]*);")
_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)""")
# Each part before the root is matched without backtracking: otherwise a row of comments takes
# exponential time.
_ROOT = re.compile(
    rb"(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+<([A-Za-z][\w.-]*)(?=[\s/>])",
    re.DOTALL,
)
_COMMENT_END = re.compile(b"(-)(-)>")  # as many groups as the pattern for tags
_EMPTY = re.compile(rb"\s*/>")


class Broken(Exception):
    """A record is not well-formed XML within the limits."""


class Record(NamedTuple):
    """The bytes of a record's element, or why it cannot be read (`broken`)."""

    number: int  # counted from 1; 0 if the file itself is broken
    data: bytes
    broken: str = ""
    reason: Reason = Reason.UNDECODABLE


# ── Parsing ──────────────────────────────────────────────────────────────────────────────────────


def xml_parser(encoding: str | None = None) -> etree.XMLParser:
    """A parser for untrusted XML; `encoding` overrides the declared one."""
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,  # libxml2's own limits stay on, such as 256 levels
        remove_comments=True,
        remove_pis=True,
        encoding=encoding,
    )


def no_fault_of_memory(error: etree.XMLSyntaxError) -> None:
    """Raise MemoryError where libxml2 ran out of memory, which it reports as a syntax error."""
    if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:  # the stubs lack `code`
        raise MemoryError from error


def parsed_xml(data: bytes) -> Any:
    """Parse an XML file without a DTD, for XML-based formats; None if it is invalid."""
    try:
        root = etree.fromstring(data, xml_parser())
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        return None
    docinfo: Any = root.getroottree().docinfo
    return None if docinfo.doctype else root


def parse_record(data: bytes) -> Any:
    """Parse a record, without namespaces; raises Broken if it is ill-formed or over a limit."""
    if (n_tags := data.count(b"<")) > MAX_TAGS:
        raise Broken(f"it has {n_tags:,} tags; the limit is {MAX_TAGS:,}")
    try:
        root = _element(data)
    except Broken:
        root = _element(_NAMED.sub(_as_number, data))
    for element in root.iter():
        if element.tag[0] == "{":
            element.tag = element.tag.rpartition("}")[2]
    return root


def _element(data: bytes) -> Any:
    try:
        return etree.fromstring(_NAMESPACES + data + b"</r>", xml_parser("utf-8"))[0]
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        raise Broken(f"it is not well-formed XML: {error.msg}") from error


def _as_number(match: re.Match[bytes]) -> bytes:
    signs = html.entities.html5.get(match[1].decode("ascii") + ";")
    if signs is None:
        return b"&amp;" + match[0][1:]
    return "".join(f"&#{ord(sign)};" for sign in signs).encode("ascii")


# ── Records of a file ────────────────────────────────────────────────────────────────────────────


def root_of(head: bytes) -> str:
    """The root element's name, from the beginning of an XML file; empty if it is not XML."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        head = head[2:].replace(b"\0", b"")
    match = _ROOT.match(head.removeprefix(b"\xef\xbb\xbf"))
    return match[1].decode("ascii") if match else ""


def records(source: Path | bytes, names: Sequence[str], limits: Limits) -> Iterator[Record]:
    """Yield the elements with these names in order, including broken ones and file errors.

    The elements must not nest. `source` is a file, gzipped or not, or uncompressed bytes.
    """
    head = source[:FIRST_BYTES] if isinstance(source, bytes) else head_of(source)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        yield from _cut_records(_utf8(file, head), root_of(head), names, limits.line_bytes)


def _utf8(file: IO[bytes], head: bytes) -> Callable[[int], bytes]:
    is_gzip = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    unpacked_file: Any = gzip.GzipFile(fileobj=file) if is_gzip else file
    match = _ENCODING.match(head)
    encoding = codec_of(match[1].decode("ascii")) if match else None
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    if encoding and encoding != "utf-8":
        return codecs.EncodedFile(unpacked_file, "utf-8", encoding, "replace").read
    # The parser rejects records that are not UTF-8. `read1` returns what precedes a truncation in a
    # gzip file; `read` loses it.
    return unpacked_file.read1 if is_gzip else unpacked_file.read  # type: ignore[no-any-return]


def _cut_records(
    read: Callable[[int], bytes], root: str, names: Sequence[str], limit: int
) -> Iterator[Record]:
    """Cut records from chunks of bytes; holds at most one record in memory."""
    alternatives = "|".join(map(re.escape, {root, *names}))
    tag = re.compile(rf"<(?:!--|(/?)({alternatives})(?=[\s/>]))".encode())
    buffer, at, fault = b"", 0, ""
    number, closed = 0, root in names  # whether the root's end tag was seen
    name, size = "", 0  # bytes of the current record already dropped from the buffer
    in_comment, chunk = False, b"-"
    while chunk:
        try:
            chunk = read(_CHUNK)
        except (EOFError, OSError, zlib.error) as error:
            chunk, fault = b"", f"the file breaks off: {error}"
        buffer += chunk
        while match := (_COMMENT_END if in_comment else tag).search(buffer, at):
            if chunk and match.end() + _TAG > len(buffer):
                break  # the tag may continue in the next chunk
            begin, at, in_comment = match.start(), match.end(), match[0] == b"<!--" and not name
            is_end, local = match[1] == b"/", (match[2] or b"").decode()
            closed |= is_end and local == root
            if is_end and local == name:
                at = buffer.find(b">", at) + 1 or at
                if size + at <= limit:
                    yield Record(number, buffer[:at])
                else:
                    detail = too_large("", size + at, limit, "it").detail
                    yield Record(number, b"", detail, Reason.TOO_LARGE)
                name, buffer, at = "", buffer[at:], 0
            elif not is_end and local in names and not _EMPTY.match(buffer, at):
                if name:
                    yield Record(number, b"", f"</{name}> is missing after {size + begin} bytes")
                number, name, size = number + 1, local, 0
                buffer, at = buffer[begin:], at - begin
        else:
            at = max(at, len(buffer) - _TAG)
        if not name or size + len(buffer) > limit:
            size += at
            buffer, at = buffer[at:], 0
    if name and not fault:
        yield Record(number, b"", "the file ends within it")
    if fault or not closed:
        yield Record(0, b"", fault or f"the file ends without </{root}>: it may be cut off")


# ── The words of an element ──────────────────────────────────────────────────────────────────────

PICTURE = "[formula]"  # placeholder for a formula that is only a picture
_RAISED = frozenset({"sup", "superscript"})
_FORMULAS = frozenset({"inline-formula", "disp-formula", "DispFormula", "chem-struct"})
_PICTURES = frozenset({"graphic", "inline-graphic", "media"})
_UNREAD = _PICTURES | {"object-id", "alt-text", "long-desc", "annotation"}
_TEX = ("\\begin{document}", "\\end{document}")

Aside = Callable[[Any], bool]


def line_of(element: Any) -> str:
    if element is None:
        return ""
    return one_line(element.text if not len(element) else flat(element))


def flat(element: Any, aside: Aside = lambda element: False) -> str:
    """Concatenate the text in an element, without descendants for which `aside` is true."""
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
            parts.append(_superscript(child, flat(child, aside), parts))
        elif cites and len(child) == 1 and child[0].tag in _RAISED and not child.text:
            parts.append(f"[{one_line(flat(child, aside))}]")
        elif name in _FORMULAS:
            parts.append(_formula(child, aside))
        elif name == "alternatives":
            parts.append(_choose(child, aside))
        elif name == "math":
            parts.append(math(child) or PICTURE)
        elif name == "tex-math":
            parts.append(_tex(child))
        elif name == "break":
            parts.append(" ")
        elif name not in _UNREAD:
            _collect(child, parts, aside)
        parts.append(child.tail or "")


def _superscript(element: Any, text: str, parts: list[str]) -> str:
    """Render a superscript; reference numbers must not merge with the word before."""
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


def _choose(alternatives: Any, aside: Aside) -> str:
    """Choose among alternatives of a formula: MathML, else TeX, else the first with letters."""
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
    """Render a MathML formula as one line, with the parentheses that it needs: (a+b)/c, √(x)."""
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


def _group(text: str) -> str:
    return text if len(text) <= 1 or text.isalpha() or text.isdecimal() else f"({text})"


def _power(base: str, raised: str) -> str:
    return f"{base}^{_group(raised)}" if raised.strip("+-−")[:1].isalnum() else base + raised


_WRITTEN: dict[str, Callable[[list[str]], str]] = {
    "mfrac": lambda parts: "/".join(map(_group, parts)),
    "msup": lambda parts: _power(parts[0], "".join(parts[1:])),
    "msubsup": lambda parts: _power("".join(parts[:2]), "".join(parts[2:])),
    "msqrt": lambda parts: f"√({''.join(parts)})",
    "mroot": lambda parts: f"{_group(parts[0])}^(1/{''.join(parts[1:])})",
    "mtable": "; ".join,
    "mtr": " ".join,
    "mlabeledtr": " ".join,
    "semantics": lambda parts: parts[0],
}


# ── Web pages ─────────────────────────────────────────────────────────────────────────────────────

CANONICAL = "//link[contains(concat(' ', @rel, ' '), ' canonical ')]/@href"
OG_URL = "//meta[@property='og:url']/@content"
_SAVED_FROM = patterns(__file__, "markup")["saved_from"]
# Comments around what the Wayback Machine inserts, whatever its ids are.
_WAYBACK_INSERT = ("<!-- BEGIN WAYBACK TOOLBAR INSERT -->", "<!-- END WAYBACK TOOLBAR INSERT -->")
_ARCHIVE_BARS: str = tables_beside(__file__)["xpaths"]["archive_bars"]
_STRUCK_OUT = "//body//*[self::del or self::s or self::strike]"  # withdrawn by the author
_META_CHARSET = re.compile(
    rb"<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,200}?encoding)\s*=\s*[\"']?\s*([\w.:-]+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page; `cut_short` if the parser hit its limit of depth or size."""

    tree: Any
    source: str
    cut_short: bool = False


def parse_page(source: str) -> Page | None:
    """Parse a page; None if it has no elements."""
    parser = lxml_html.HTMLParser(
        huge_tree=False, no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8"
    )
    begin = source.find(_WAYBACK_INSERT[0])
    if 0 <= begin < (end := source.find(_WAYBACK_INSERT[1], begin)):
        source = source[:begin] + source[end:]
    try:
        # The parser stops at NUL and rejects lone surrogates.
        data = source.replace("\0", "").encode("utf-8", "replace") or b" "
        tree: Any = lxml_html.document_fromstring(data, parser=parser)
    except etree.ParserError:
        return None
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        return None
    for bar in tree.xpath(f"{_ARCHIVE_BARS} | {_STRUCK_OUT}"):
        if bar.getparent() is not None:
            bar.drop_tree()
    limits = parser.error_log.filter_types([etree.ErrorTypes.ERR_RESOURCE_LIMIT])
    return Page(tree, source, cut_short=bool(len(limits)))


def declared_charset(data: bytes) -> str | None:
    match = _META_CHARSET.search(data[:4096])
    return match[1].decode("ascii", "replace") if match else None


def addresses_in(source: str) -> list[str]:
    """The addresses a saved page states: canonical link, `og:url`, then the browser's comment."""
    page = parse_page(source)
    if page is None:
        return []
    urls = page.tree.xpath(CANONICAL) + page.tree.xpath(OG_URL)
    urls += [match[1] or match[2] for match in _SAVED_FROM.finditer(source[:5_000])]
    return list(dict.fromkeys(url for url in map(one_line, urls) if is_web_address(url)))


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in url
