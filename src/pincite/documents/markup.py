"""Parses untrusted markup: records of large XML files, each alone, and web pages.

A file is cut at the tags of its records, so a broken record affects only itself, an oversized one
is never held in memory, and a DTD never reaches a parser. `text_of` and `line_of` give the words of
an element: superscripts after a digit get a caret (10<sup>6</sup> is 10^6, not 106), and formulas
become one line.
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

from pincite.documents.body import FIRST_BYTES, GZIP, Limits, head_of, too_large
from pincite.documents.text import codec_of, one_line
from pincite.text import patterns, tables_beside
from pincite.types import Reason

# ── Parsing XML ──────────────────────────────────────────────────────────────────────────────────

# Elements take some 150 bytes each, however short their names: a million tags are half as many
# elements, 75 MB. The largest records, of 3,000 authors with their addresses, have 100,000.
MAX_TAGS = 1_000_000
_NAMESPACES = (
    b'<r xmlns:mml="http://www.w3.org/1998/Math/MathML" '
    b'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:ali="http://www.niso.org/schemas/ali/1.0/" '
    b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
)
# HTML's named characters, which older journal DTDs declare; XML itself has five.
_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)(?P<name>[A-Za-z][A-Za-z0-9]*);")


class Broken(Exception):
    """A record is not well-formed XML within the limits."""


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
    characters = html.entities.html5.get(match["name"].decode("ascii") + ";")
    if characters is None:  # "&nosuch;" is what the reader sees
        return b"&amp;" + match[0][1:]
    return "".join(f"&#{ord(character)};" for character in characters).encode("ascii")


# ── Records of a file ────────────────────────────────────────────────────────────────────────────

CHUNK_BYTES = 1 << 20
TAG_BYTES = 64  # longer than the beginning of any tag that is searched for
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["'](?P<label>[\w.:-]+)""")
# Each part before the root is matched without backtracking: otherwise a row of comments takes
# exponential time.
_ROOT = re.compile(
    rb"(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*+"
    rb"<(?P<name>[A-Za-z][\w.-]*)(?=[\s/>])",
    re.DOTALL,
)
_COMMENT_END = re.compile(b"-->")
_EMPTY = re.compile(rb"\s*/>")  # what follows the name in "<PMID />"


class Record(NamedTuple):
    """The bytes of a record's element, or why it cannot be read (`broken`)."""

    number: int  # counted from 1; 0 if the file itself is broken
    data: bytes
    broken: str = ""
    reason: Reason = Reason.UNDECODABLE


def root_of(head: bytes) -> str:
    """The root element's name, from the beginning of an XML file; empty if it is not XML."""
    if head.startswith(_UTF16_MARKS):
        head = head[2:].replace(b"\0", b"")
    match = _ROOT.match(head.removeprefix(codecs.BOM_UTF8))
    return match["name"].decode("ascii") if match else ""


def records(source: Path | bytes, names: Sequence[str], limits: Limits) -> Iterator[Record]:
    """Yield the elements with these names in order, including broken ones and file errors.

    The elements must not nest. `source` is a file, gzipped or not, or uncompressed bytes.
    """
    head = source[:FIRST_BYTES] if isinstance(source, bytes) else head_of(source)
    cutter = _Cutter(root_of(head), names, limits.line_bytes)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        read, fault = _utf8_reader(file, head), ""
        while True:
            try:
                chunk = read(CHUNK_BYTES)
            except (EOFError, OSError, zlib.error) as error:
                chunk, fault = b"", f"the file breaks off: {error}"
            yield from cutter.feed(chunk)
            if not chunk:
                break
        yield from cutter.finish(fault)


def _utf8_reader(file: IO[bytes], head: bytes) -> Callable[[int], bytes]:
    """A function that reads from a file, unpacked and as UTF-8."""
    is_gzip = file.read(2) == GZIP
    file.seek(0)
    unpacked_file: Any = gzip.GzipFile(fileobj=file) if is_gzip else file
    declared = _ENCODING.match(head)
    encoding = codec_of(declared["label"].decode("ascii")) if declared else None
    if head.startswith(_UTF16_MARKS):
        encoding = "utf-16"
    if encoding and encoding != "utf-8":
        return codecs.EncodedFile(unpacked_file, "utf-8", encoding, "replace").read
    # The parser rejects records that are not UTF-8. `read1` returns what precedes a truncation in a
    # gzip file; `read` loses it.
    return unpacked_file.read1 if is_gzip else unpacked_file.read  # type: ignore[no-any-return]


class _Cutter:
    """Cuts records out of a file that it gets in chunks; holds at most one record in memory."""

    def __init__(self, root: str, names: Sequence[str], limit: int) -> None:
        alternatives = "|".join(map(re.escape, {root, *names}))
        self._tag = re.compile(
            rf"<(?:(?P<comment>!--)|(?P<end>/?)(?P<name>{alternatives})(?=[\s/>]))".encode()
        )
        self._root, self._names, self._limit = root, names, limit
        self._root_ended = root in names
        self._sought = self._tag  # or the end of a comment
        self._buffer = b""
        self._searched = 0  # bytes of the buffer
        self._number = 0  # of the record that is open, or was last
        self._name = ""  # of the record that is open; empty if none is
        self._start = 0  # of the record in the buffer
        self._n_dropped = 0  # bytes of a too large record that have left the buffer

    def feed(self, chunk: bytes) -> Iterator[Record]:
        """Yield the records that end in a chunk of the file; an empty one is the file's end."""
        self._buffer += chunk
        # What begins at the end of the chunk may continue in the next one.
        certain = len(self._buffer) - (TAG_BYTES if chunk else 0)
        while match := self._sought.search(self._buffer, self._searched):
            if match.end() > certain:
                break
            self._searched = match.end()
            if record := self._pass(match):
                yield record
        if not match:
            self._searched = max(self._searched, len(self._buffer) - TAG_BYTES)
        self._drop()

    def finish(self, fault: str) -> Iterator[Record]:
        """Yield what is wrong with the file; `fault` is why it could not be read on."""
        if self._name and not fault:
            yield Record(self._number, b"", "the file ends within it")
        if not self._root_ended:
            fault = fault or f"the file ends without </{self._root}>: it may be cut off"
        if fault:
            yield Record(0, b"", fault)

    def _pass(self, match: re.Match[bytes]) -> Record | None:
        """Go past a tag or the beginning or end of a comment; return the record that it ends."""
        if self._sought is _COMMENT_END or match["comment"]:
            self._sought = self._tag if self._sought is _COMMENT_END else _COMMENT_END
            return None
        name = match["name"].decode()
        if match["end"]:
            self._root_ended |= name == self._root
            return self._end(match.end()) if name == self._name else None
        if name not in self._names or _EMPTY.match(self._buffer, match.end()):
            return None
        return self._begin(name, match.start())

    def _begin(self, name: str, start: int) -> Record | None:
        """Open a record; return the one before if it is still open, as its end tag is missing."""
        missing = f"</{self._name}> is missing after {self._size_at(start)} bytes"
        before = Record(self._number, b"", missing) if self._name else None
        self._number, self._name, self._start, self._n_dropped = self._number + 1, name, start, 0
        return before

    def _end(self, after_name: int) -> Record:
        end = self._buffer.find(b">", after_name) + 1 or after_name
        self._name, self._searched, size = "", end, self._size_at(end)
        if size > self._limit:
            detail = too_large("", size, self._limit, "it").detail
            return Record(self._number, b"", detail, Reason.TOO_LARGE)
        return Record(self._number, self._buffer[self._start : end])

    def _size_at(self, end: int) -> int:
        """The size of the record if it ended there."""
        return self._n_dropped + end - self._start

    def _drop(self) -> None:
        """Drop what was searched, except a record within the limit."""
        if not self._name or self._size_at(self._searched) > self._limit:
            self._n_dropped = self._size_at(self._searched)
            self._start = self._searched
        self._buffer = self._buffer[self._start :]
        self._searched -= self._start
        self._start = 0


# ── The words of an XML element ──────────────────────────────────────────────────────────────────

PICTURE = "[formula]"  # placeholder for a formula that is only a picture
_SUPERSCRIPTS = frozenset({"sup", "superscript"})
_FORMULAS = frozenset({"inline-formula", "disp-formula", "DispFormula", "chem-struct"})
_PICTURES = frozenset({"graphic", "inline-graphic", "media"})
_UNREAD = _PICTURES | {"object-id", "alt-text", "long-desc", "annotation"}

IsAside = Callable[[Any], bool]  # whether an element stands beside the text, as a footnote does


def line_of(element: Any) -> str:
    """The text in a title, a name or a cell, cleaned and in one line; empty for None."""
    if element is None:
        return ""
    return one_line(element.text if not len(element) else text_of(element))


def text_of(element: Any, is_aside: IsAside = lambda element: False) -> str:
    """The text in an element as it stands, for a caller that leaves something out or cleans it."""
    parts = list[str]()
    _collect(element, parts, is_aside)
    return "".join(parts)


def _collect(element: Any, parts: list[str], is_aside: IsAside) -> None:
    parts.append(element.text or "")
    for child in element:
        if is_aside(child):
            parts.append(" ")
        elif child.tag in _SUPERSCRIPTS:
            before = next(filter(None, reversed(parts)), "")
            parts.append(_superscript(child, text_of(child, is_aside), before))
        elif _is_raised_citation(child):
            parts.append(f"[{one_line(text_of(child, is_aside))}]")
        elif render := _RENDERERS.get(child.tag):
            parts.append(render(child, is_aside))
        elif child.tag not in _UNREAD:
            _collect(child, parts, is_aside)
        parts.append(child.tail or "")


def _is_raised_citation(element: Any) -> bool:
    """Whether it is `<xref ref-type="bibr"><sup>3</sup></xref>`."""
    if element.tag != "xref" or element.get("ref-type") != "bibr" or element.text:
        return False
    return len(element) == 1 and element[0].tag in _SUPERSCRIPTS


def _superscript(element: Any, text: str, before: str) -> str:
    """Render a superscript; reference numbers must not merge with the word before."""
    if any(e.get("ref-type") == "bibr" for e in element.iter("xref")):
        return f"[{one_line(text)}]"
    power = text.strip()
    unsigned = power.lstrip("+-−–")
    # 10<sup>-6</sup> and 2<sup>n</sup>, but not 5<sup>th</sup>.
    is_power = unsigned[:1].isdecimal() or (len(unsigned) == 1 and unsigned.isalpha())
    return f"^{power}" if before[-1:].isdecimal() and is_power else text


def _formula(element: Any, is_aside: IsAside) -> str:
    label = element.find("label")  # its number: "(3)"
    words = text_of(element, lambda child: child is label or is_aside(child))
    if not words.strip() and any(child.tag in _PICTURES for child in element.iter()):
        words = PICTURE
    return f" {line_of(label)} {words} " if element.tag == "disp-formula" else words


def _alternatives(element: Any, is_aside: IsAside) -> str:
    """Choose among forms of a formula: MathML, else TeX, else the first with letters."""
    for tag in ("math", "tex-math"):
        if (form := element.find(tag)) is not None:
            return formula_of(form) if tag == "math" else _tex(form)
    words = (text_of(form, is_aside) for form in element if form.tag not in _UNREAD)
    return next(filter(str.strip, words), "")


def _tex(element: Any) -> str:
    tex = "".join(element.itertext())  # journals wrap a formula in a whole document
    inside = tex.partition("\\begin{document}")[2].partition("\\end{document}")[0]
    return one_line((inside or tex).strip().strip("$"))


_RENDERERS: dict[str, Callable[[Any, IsAside], str]] = {
    **dict.fromkeys(_FORMULAS, _formula),
    "alternatives": _alternatives,
    "math": lambda element, is_aside: formula_of(element) or PICTURE,
    "tex-math": lambda element, is_aside: _tex(element),
    "break": lambda element, is_aside: " ",
}


# ── MathML ───────────────────────────────────────────────────────────────────────────────────────


def formula_of(math: Any) -> str:
    """Render a MathML formula as one line, with the parentheses that it needs: (a+b)/c, √(x)."""
    return one_line(_mathml(math))


def _mathml(element: Any) -> str:
    tag = element.tag
    if not len(element):
        text = element.text or ""
        return " " if tag == "mspace" else text if tag == "mtext" else text.strip()
    parts = [_mathml(child) for child in element]
    if tag in _WRITTEN:
        return _WRITTEN[tag](parts)
    if tag == "mmultiscripts":  # the base, what follows it, <mprescripts/>, what precedes it
        tags = [child.tag for child in element]
        middle = tags.index("mprescripts") if "mprescripts" in tags else len(tags)
        return "".join((*parts[middle + 1 :], *parts[:middle]))
    if tag == "mfenced":
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
