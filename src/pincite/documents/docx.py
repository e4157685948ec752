"""Reads Word files (.docx) as if all changes were accepted, with tables, text boxes and notes.

Uses lxml alone: python-docx 1.2 omits inserted text and content controls; mammoth 1.12 is six times
slower. The ZIP is untrusted, so every part is bounded.
"""

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from pincite.documents import tables
from pincite.documents.body import Body, too_large
from pincite.documents.tables import Cell
from pincite.documents.text import cleaned, one_line
from pincite.documents.xml_records import parsed_xml
from pincite.text.sentences import n_words
from pincite.types import Document, Reason, Unchecked

MAX_ENTRIES = 10_000  # a report with a picture on each of 1,000 pages has some 1,100
# The XML of real files compresses at most 30 times; deflate can reach 1,032.
MAX_RATIO = 200
MAX_CAPTION_WORDS = 25  # of the paragraph above a table; a longer one is running text
SMALL = 1_000_000  # bytes: parts up to this size are exempt from MAX_RATIO
_MAIN = "word/document.xml"
_SKIPPED = frozenset(
    "del moveFrom instrText delText Fallback pPr sectPr tblPr tblGrid trPr tcPr sdtPr".split()
)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_TITLE = re.compile(r"title|titel|titre", re.IGNORECASE)
_HEADING = re.compile(r"heading ?1|berschrift ?1|titre ?1", re.IGNORECASE)


class _Refused(Exception):
    """The file is invalid; converted to an `Unchecked` in this module."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def read_docx(body: Body) -> Document | Unchecked:
    try:
        with zipfile.ZipFile(io.BytesIO(body.data)) as packed:
            return _document(body, _Parts(packed, body.limits.max_bytes))
    except _Refused as refused:
        return Unchecked(body.url, refused.reason, str(refused))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, KeyError) as error:
        return Unchecked(body.url, Reason.UNDECODABLE, f"not a readable Word file: {error}")


class _Parts:
    """Reads the XML parts of a ZIP within the limits."""

    def __init__(self, packed: zipfile.ZipFile, limit: int) -> None:
        entries = packed.infolist()
        if len(entries) > MAX_ENTRIES:
            detail = f"{len(entries)} files in the Word file; the limit is {MAX_ENTRIES}"
            raise _Refused(Reason.TOO_LARGE, detail)
        self._packed, self._limit, self._left = packed, limit, limit
        self._entries = {entry.filename: entry for entry in entries}

    def tree(self, name: str) -> Any:
        if name not in self._entries:
            return None
        root = parsed_xml(self._read(self._entries[name]))
        if root is None:
            raise _Refused(Reason.UNDECODABLE, f"{name} is not XML as Word writes it")
        for element in root.iter():  # Word uses two namespaces, transitional and strict
            element.tag = str(element.tag).rpartition("}")[2]
        return root

    def children(self, name: str) -> list[Any]:
        root = self.tree(name)
        return [] if root is None else list(root)

    def _read(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.flag_bits & 1:
            raise _Refused(Reason.ENCRYPTED, f"{entry.filename} is locked with a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Python decompresses other methods in whole chunks, whatever size is requested.
            detail = f"{entry.filename} is compressed by a method that Word does not use"
            raise _Refused(Reason.UNDECODABLE, detail)
        with self._packed.open(entry) as part:
            data = part.read(self._left + 1)  # the file's stated size is not trusted
        self._left -= len(data)
        if self._left < 0:
            size = self._limit - self._left
            unpacked = too_large("", size, self._limit, "what is packed in the Word file")
            raise _Refused(Reason.TOO_LARGE, unpacked.detail)
        if len(data) > max(SMALL, MAX_RATIO * entry.compress_size):
            detail = f"{entry.filename} compresses {len(data)} bytes into {entry.compress_size}"
            raise _Refused(Reason.TOO_LARGE, f"{detail}, as no Word file does")
        return data


def _document(body: Body, parts: _Parts) -> Document | Unchecked:
    main = _MAIN  # Word 365 may name it document2.xml
    for relation in parts.children("_rels/.rels"):
        if relation.get("Type", "").endswith("/officeDocument"):
            main = str(relation.get("Target", _MAIN)).lstrip("/")
            break
    tree = parts.tree(main)
    if tree is None:
        return Unchecked(body.url, Reason.UNDECODABLE, f"{main} is missing in the Word file")
    folder = posixpath.dirname(main)
    notes = [parts.tree(posixpath.join(folder, f"{n}notes.xml")) for n in ("foot", "end")]
    blocks = [block for root in (tree, *notes) if root is not None for block in _blocks(root)]
    text = cleaned("\n\n".join(block for block in blocks if block.strip()))
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the Word file contains no words")
    stated = {child.tag: one_line(child.text) for child in parts.children("docProps/core.xml")}
    # The creation date is not the publication date.
    meta = {"author": stated.get("creator", ""), "created": stated.get("created", "")[:10]}
    return Document(
        url=body.url,
        title=_styled(tree, _TITLE) or stated.get("title", "") or _styled(tree, _HEADING),
        text=text,
        kind="docx",
        fetched=body.fetched,
        meta={name: value for name, value in meta.items() if value},
    )


def _blocks(element: Any) -> Iterator[str]:
    """Yield paragraphs, each before its text boxes; a table as its rows in words."""
    before = ""
    for child in element:
        name = child.tag
        if name in _SKIPPED:
            continue
        if name == "p":
            boxes: list[Any] = []
            before = "".join(_inline(child, boxes))
            yield before
            for box in boxes:
                yield from _blocks(box)
        elif name == "tbl":
            caption = one_line(before) if n_words(before) <= MAX_CAPTION_WORDS else ""
            lines = tables.lines_of(tables.grid_of(_rows(child)), caption)
            yield "\n".join(lines[1:] if caption else lines)
        else:
            yield from _blocks(child)


def _rows(table: Any) -> Iterator[list[Cell]]:
    for row in _inside(table, "tr"):
        cells, header = list[Cell](), row.find("trPr/tblHeader") is not None
        for cell in _inside(row, "tc"):
            marks = {mark.tag: _value(mark) for mark in cell.iterfind("tcPr/*")}
            wide, merge = marks.get("gridSpan", ""), marks.get("vMerge", "restart")
            columns = int(wide) if wide.isdecimal() and len(wide) < 6 else 1
            text = one_line(" ".join(_blocks(cell)))
            cells.append(Cell(text, columns, header=header, above=merge != "restart"))
        yield cells


def _inside(element: Any, wanted: str) -> Iterator[Any]:
    for child in element:
        if child.tag == wanted:
            yield child
        elif child.tag not in _SKIPPED:
            yield from _inside(child, wanted)


def _inline(element: Any, boxes: list[Any]) -> Iterator[str]:
    for child in element:
        name = child.tag
        if name == "txbxContent":
            boxes.append(child)
        elif name == "t":
            yield child.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name not in _SKIPPED:
            properties = (p for p in child if name == "r" and p.tag == "rPr")
            hides = (_value(c) for p in properties for c in p if c.tag == "vanish")
            if next(hides, "off") in ("0", "false", "off"):
                yield from _inline(child, boxes)


def _styled(tree: Any, style: re.Pattern[str]) -> str:
    for mark in tree.iter():
        if mark.tag == "pStyle" and style.fullmatch(_value(mark)):
            found = one_line("".join(_inline(mark.getparent().getparent(), [])))
            if found:
                return found
    return ""


def _value(element: Any) -> str:
    return next((v for key, v in element.items() if key.endswith("}val") or key == "val"), "")
