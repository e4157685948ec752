"""Reads Word (.docx), PowerPoint, spreadsheets, RTF, EPUB and MHTML.

Word's and PowerPoint's by lxml alone, as if all changes were accepted: python-docx 1.2 omits
inserted text and content controls; mammoth 1.12 is six times slower. RTF by striprtf, without
hidden and deleted text.
"""

import contextlib
import io
import json
import posixpath
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from email import message_from_bytes
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote

from pincite.documents import tables
from pincite.documents.body import MAX_RATIO, SMALL, Body, too_large
from pincite.documents.html import read_html
from pincite.documents.html_text import drop_camouflaged, visible_text
from pincite.documents.markup import declared_charset, parse_page, parsed_xml
from pincite.documents.plain import document_of
from pincite.documents.tables import Cell, of_sheet
from pincite.documents.text import clean_text, decode, join_pieces, one_line
from pincite.text import patterns
from pincite.text.page_numbers import PAGES
from pincite.text.sentences import n_words
from pincite.types import Document, Reason, Unchecked

# ── ZIP files ─────────────────────────────────────────────────────────────────────────────────────

MAX_ENTRIES = 10_000  # a report with a picture on each of 1,000 pages has some 1,100
Found = Document | Unchecked


class Refused(Exception):
    """Why the file is not read, as the reason and detail of an `Unchecked`."""


class Parts:
    """The parts of a ZIP; `kind` names the file in messages: "Word file"."""

    def __init__(self, packed: zipfile.ZipFile, limit: int, kind: str) -> None:
        entries = packed.infolist()
        if len(entries) > MAX_ENTRIES:
            detail = f"{len(entries)} files in the {kind}; the limit is {MAX_ENTRIES}"
            raise Refused(Reason.TOO_LARGE, detail)
        self._packed, self._limit, self._left, self._kind = packed, limit, limit, kind
        self._entries = {entry.filename: entry for entry in entries}

    def tree(self, name: str) -> Any:
        """Parse a part, without namespaces of its tags; None if it is missing."""
        if not (data := self.read(name)):
            return None
        root = parsed_xml(data)
        if root is None:
            raise Refused(Reason.UNDECODABLE, f"{name} in the {self._kind} is not XML")
        for element in root.iter():  # Office uses two namespaces, transitional and strict
            element.tag = str(element.tag).rpartition("}")[2]
        return root

    def elements(self, name: str, tag: str = "*") -> list[Any]:
        root = self.tree(name)
        return [] if root is None else list(root.iter(tag))

    def related(self, name: str = "") -> dict[str, tuple[str, str]]:
        """The relationships of an Office part, or of the file, by id: type and the other's name."""
        folder, file = posixpath.split(name)
        return {
            element.get("Id", ""): (
                element.get("Type", "").rpartition("/")[2],
                resolve_part(folder, element.get("Target", "")),
            )
            for element in self.elements(f"{folder}/_rels/{file}.rels".lstrip("/"), "Relationship")
        }

    def main(self, default: str) -> str:
        """The name of the Office part that the file is about."""
        related = self.related().values()
        return next((name for kind, name in related if kind == "officeDocument"), default)

    def read(self, name: str) -> bytes:
        """Unpack a part; empty if it is missing."""
        if (entry := self._entries.get(name)) is None:
            return b""
        if entry.flag_bits & 1:
            raise Refused(Reason.ENCRYPTED, f"{entry.filename} is locked with a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Python decompresses other methods in whole chunks, whatever size is requested.
            detail = f"{entry.filename} is compressed by a method that the format does not allow"
            raise Refused(Reason.UNDECODABLE, detail)
        self._left -= entry.file_size  # as stated; Python unpacks no more than that
        if self._left < 0:
            size = self._limit - self._left
            unpacked = too_large("", size, self._limit, f"what is packed in the {self._kind}")
            raise Refused(Reason.TOO_LARGE, unpacked.detail)
        if entry.file_size > max(SMALL, MAX_RATIO * entry.compress_size):
            detail = f"{entry.filename} compresses {entry.file_size} bytes into"
            detail += f" {entry.compress_size}, which is implausible for a {self._kind}"
            raise Refused(Reason.TOO_LARGE, detail)
        return self._packed.read(entry)

    def copied(self, endings: tuple[str, ...], most_text: int) -> io.BytesIO:
        """Copy the parts with these endings to a ZIP without compression.

        Some libraries unpack without limits. More than `most_text` bytes without a tag are refused.
        """
        copy, half = io.BytesIO(), most_text // 2
        with zipfile.ZipFile(copy, "w") as target:
            for name in filter(lambda name: name.endswith(endings), self._entries):
                data = self.read(name)
                for at in range(0, len(data) - half, half):
                    if data.find(b"<", at, at + half) < 0:
                        detail = f"a text in the {self._kind} has more than {half} bytes"
                        raise Refused(Reason.TOO_LARGE, detail)
                target.writestr(name, data)
        copy.seek(0)
        return copy


def resolve_part(folder: str, target: str) -> str:
    """The name of a part from a path relative to a folder."""
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def packed_as(
    kind: str, factor: int = 1
) -> Callable[[Callable[[Body, Parts], Found]], Callable[[Body], Found]]:
    """Make a reader of parts a reader of ZIPs with at most `factor` times `max_bytes`."""

    def reader_of(read: Callable[[Body, Parts], Found]) -> Callable[[Body], Found]:
        def read_zip(body: Body) -> Found:
            try:
                with zipfile.ZipFile(io.BytesIO(body.data)) as packed:
                    return read(body, Parts(packed, factor * body.limits.max_bytes, kind))
            except Refused as refused:
                return Unchecked(body.url, *refused.args)
            except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError) as e:
                return Unchecked(body.url, Reason.UNDECODABLE, f"not a readable {kind}: {e}")

        return read_zip

    return reader_of


# ── Word ──────────────────────────────────────────────────────────────────────────────────────────

MAX_CAPTION_WORDS = 25  # of the paragraph above a table; a longer one is running text
_MAIN = "word/document.xml"
_SKIPPED = frozenset(
    "del moveFrom instrText delText Fallback pPr sectPr tblPr tblGrid trPr tcPr sdtPr".split()
)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_TITLE = re.compile(r"title|titel|titre", re.IGNORECASE)
_HEADING = re.compile(r"heading ?1|berschrift ?1|titre ?1", re.IGNORECASE)


@packed_as("Word file")
def read_docx(body: Body, parts: Parts) -> Document | Unchecked:
    main = parts.main(_MAIN)  # Word 365 may name it document2.xml
    tree = parts.tree(main)
    if tree is None:
        return Unchecked(body.url, Reason.UNDECODABLE, f"{main} is missing in the Word file")
    folder = posixpath.dirname(main)
    notes = [parts.tree(posixpath.join(folder, f"{n}notes.xml")) for n in ("foot", "end")]
    blocks = [block for root in (tree, *notes) if root is not None for block in blocks_of(root)]
    front = properties(parts)
    front["title"] = _styled_text(tree, _TITLE) or front["title"] or _styled_text(tree, _HEADING)
    text = "\n\n".join(block for block in blocks if block.strip())
    return document_of(body, "docx", text, front)


def properties(parts: Parts) -> dict[str, str]:
    """The title and author that an Office file states, and when the file was created."""
    stated = {child.tag: one_line(child.text) for child in parts.elements("docProps/core.xml")}
    created, author = stated.get("created", "")[:10], stated.get("creator", "")
    return {"title": stated.get("title", ""), "author": author, "created": created}


def blocks_of(element: Any) -> Iterator[str]:
    """Yield paragraphs, each before its text boxes; a table as its rows in words."""
    before = ""
    for child in element:
        name = child.tag
        if name == "p":
            boxes: list[Any] = []
            before = "".join(_inline(child, boxes))
            yield before
            for box in boxes:
                yield from blocks_of(box)
        elif name == "tbl":
            caption = one_line(before) if n_words(before) <= MAX_CAPTION_WORDS else ""
            lines = tables.lines_of(tables.grid_of(_rows(child)), caption)
            is_repeated = bool(lines) and caption.startswith(lines[0])  # "***" is not
            yield "\n".join(lines[1:] if is_repeated else lines)
        elif name not in _SKIPPED:
            yield from blocks_of(child)


def _rows(table: Any) -> Iterator[list[Cell]]:
    for row in _inside(table, "tr"):
        cells, header = list[Cell](), row.find("trPr/tblHeader") is not None
        for cell in _inside(row, "tc"):
            marks = {mark.tag: _value(mark) for mark in cell.iterfind("tcPr/*")}
            columns, merge = tables.span_of(marks.get("gridSpan")), marks.get("vMerge", "restart")
            text = one_line(" ".join(blocks_of(cell)))
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


def _styled_text(tree: Any, style: re.Pattern[str]) -> str:
    marks = (mark for mark in tree.iter("pStyle") if style.fullmatch(_value(mark)))
    texts = (one_line("".join(_inline(mark.getparent().getparent(), []))) for mark in marks)
    return next(filter(None, texts), "")


def _value(element: Any) -> str:
    return next((v for key, v in element.items() if key.endswith("}val") or key == "val"), "")


# ── PowerPoint: each slide is a page, with its tables, diagrams and notes ─────────────────────────

_SLIDES = "ppt/presentation.xml"
_FURNITURE = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})  # kinds of placeholders
_BESIDE = ("diagramData", "notesSlide")  # parts of a slide with words, in the order of reading


@packed_as("PowerPoint file")
def read_slides(body: Body, parts: Parts) -> Document | Unchecked:
    main = parts.main(_SLIDES)
    slides, order = parts.related(main), parts.elements(main, "sldId")
    ids = (key for element in order for name, key in element.items() if name.endswith("}id"))
    contents = [_slide(parts, slides[key][1]) for key in dict.fromkeys(ids) if key in slides]
    text, starts = join_pieces(("\n\n", words) for _, words in contents)
    front = properties(parts)
    if contents and contents[0][0]:
        front["title"] = contents[0][0]  # many files state the title of their template
    return document_of(body, "pptx", text, front, **{PAGES: json.dumps(starts)})


def _slide(parts: Parts, name: str) -> tuple[str, str]:
    """The title and the text of a slide; a hidden slide is an empty page."""
    tree, title = parts.tree(name), ""
    if tree is None or tree.get("show") in ("0", "false"):
        return "", ""
    beside = [(kind, part) for kind, part in parts.related(name).values() if kind in _BESIDE]
    beside.sort(key=lambda related: (related[0], len(related[1]), related[1]))  # data10 after data2
    roots = [tree, *(root for _, part in beside if (root := parts.tree(part)) is not None)]
    for shape in [shape for root in roots for shape in root.iter("sp")]:
        kinds = {mark.get("type") for mark in shape.iter("ph")}
        if not kinds.isdisjoint(_FURNITURE):
            shape.getparent().remove(shape)
        elif not title and not kinds.isdisjoint(("title", "ctrTitle")):
            title = one_line(" ".join(blocks_of(shape)))
            shape.getparent().insert(0, shape)  # the file has the shapes from back to front
    blocks = (block.strip() for root in roots for block in blocks_of(root))
    return title, clean_text("\n\n".join(filter(None, blocks)))


# ── Spreadsheets ──────────────────────────────────────────────────────────────────────────────────

# A spreadsheet has about 4 bytes of XML for a character of text, and more with formulas; a document
# with `max_chars` has 40 MB.
SHEET_FACTOR, SHEET_PARTS = 4, (".xml", ".rels", "mimetype")
CELL_BYTES = 1_000_000  # Excel's cells hold 32,767 characters, of at most 10 bytes each


@packed_as("spreadsheet", SHEET_FACTOR)
def read_sheets(body: Body, parts: Parts) -> Document | Unchecked:
    """Read a spreadsheet of Excel (.xlsx) or OpenDocument (.ods): what its cells show last."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    blocks = list[str]()
    try:
        with CalamineWorkbook.from_filelike(parts.copied(SHEET_PARTS, CELL_BYTES)) as book:
            for meta in book.sheets_metadata:
                if (meta.typ, meta.visible) != (SheetTypeEnum.WorkSheet, SheetVisibleEnum.Visible):
                    continue
                sheet = book.get_sheet_by_name(meta.name)
                rows = [[Cell(_cell_text(value)) for value in row] for row in sheet.to_python()]
                top, left = sheet.start or (0, 0)
                for (a, b), (c, d) in sheet.merged_cell_ranges or ():
                    for row in rows[max(0, a - top) : max(0, c - top + 1)]:
                        place = slice(max(0, b - left), max(0, d - left + 1))
                        row[place] = rows[max(0, a - top)][place][:1] * len(row[place])
                blocks += [] if re.fullmatch(r"\w+ ?\d+", meta.name) else [meta.name]
                blocks.append(of_sheet(rows))
    except CalamineError as error:
        return Unchecked(body.url, Reason.UNDECODABLE, f"not a readable spreadsheet: {error}")
    text = "\n\n".join(filter(None, blocks))
    first = text.partition("\n")[0]
    return document_of(body, "spreadsheet", text, {} if ": " in first else {"title": first})


def _cell_text(value: object) -> str:
    """Write a cell's value; numbers as readers write them, years without a comma."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    value = round(value, 6)
    return (f"{value:,}" if abs(value) >= 10_000 else str(value)).removesuffix(".0")


# ── RTF ──────────────────────────────────────────────────────────────────────────────────────────

_PICTURE = re.compile(rb"[0-9a-fA-F\r\n]{500,}")  # pictures in hexadecimal, often most of a file
_PATTERNS = patterns(__file__, "office")
_FIELD = r"\{{\\{} ((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}"
_HEAD = re.compile(r"\\(?:ansicpg\d{3,5}|(?:mac|pca|pc)(?![a-z]))")
_CODE_PAGES = {r"\mac": "mac_roman", r"\pca": "cp850", r"\pc": "cp437"}


def read_rtf(body: Body) -> Document | Unchecked:
    data = _PICTURE.sub(b"\n", body.data)
    if b"\\bin" not in data:  # such data is counted in bytes
        data = re.sub(rb"[\x80-\xff]", lambda match: b"\\'%02x" % match[0][0], data)
    source = data.decode("latin-1").replace("\\ansicpg10000", "\\mac")  # Python has no such page
    source = _PATTERNS["not_shown"].sub(r"\1\\*\\v", source)  # \* begins what is skipped
    head = match[0] if (match := _HEAD.search(source[:1000])) else ""
    # The space ends the word as the brace does; with it, striprtf adds no addresses to links.
    text = _plain(source.replace("\\field{", "\\field {"), head)
    text = re.sub(r" *\| *", " | ", re.sub(r"\|+$", "", text, flags=re.MULTILINE))
    matches = {name: re.search(_FIELD.format(name), source) for name in ("title", "author")}
    front = {name: _plain(f"{{{head} {m[1]}}}", head) for name, m in matches.items() if m}
    return document_of(body, "rtf", text, front)


def _plain(group: str, head: str) -> str:
    from striprtf.striprtf import rtf_to_text

    encoding = _CODE_PAGES.get(head, "cp1252")  # striprtf knows \ansicpg itself
    text: str = rtf_to_text(group, encoding=encoding, errors="replace")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ── EPUB ─────────────────────────────────────────────────────────────────────────────────────────

# XHTML closes empty elements in their tag; in HTML, <title/> would begin a title without an end.
_MARKS = (  # of notes and pages
    "//*[contains(@*[name()='epub:type'], 'noteref') or @role='doc-noteref']"
    " | //sup[a[@href]] | //a[@href][sup and not(text()[normalize-space()])]"
    " | //*[@*[name()='epub:type']='pagebreak' or @role='doc-pagebreak']"
)


@packed_as("EPUB file")
def read_epub(body: Body, parts: Parts) -> Document | Unchecked:
    roots = parts.elements("META-INF/container.xml", "rootfile")
    path = roots[0].get("full-path", "") if roots else ""
    package = parts.tree(path)
    if package is None:
        raise Refused(Reason.UNDECODABLE, "the EPUB file does not name its package document")
    stated = defaultdict[str, list[str]](list)
    for element in package.iter("title", "creator", "language", "date"):
        if "modification" not in element.attrib.values():
            stated[element.tag].append(one_line(element.text))
    front = {name: texts[0] for name, texts in stated.items()}
    front |= {"lang": front.get("language", ""), "author": ", ".join(stated["creator"])}
    chapters = _chapters(parts, package, posixpath.dirname(path))
    return document_of(body, "epub", "\n\n".join(filter(None, chapters)), front)


def _chapters(parts: Parts, package: Any, folder: str) -> list[str]:
    """The texts of the chapters, without the table of contents."""
    items = {item.get("id"): item for item in package.iter("item")}
    spine = [items[ref] for r in package.iter("itemref") if (ref := r.get("idref")) in items]
    hrefs = [i.get("href", "") for i in spine if "nav" not in i.get("properties", "").split()]
    names = dict.fromkeys(resolve_part(folder, unquote(href.partition("#")[0])) for href in hrefs)
    encrypted = parts.elements("META-INF/encryption.xml", "CipherReference")
    if not names.keys().isdisjoint(unquote(e.get("URI", "")) for e in encrypted):  # or only fonts
        raise Refused(Reason.ENCRYPTED, "the EPUB file is protected against copying")
    return [_chapter(data) for name in names if (data := parts.read(name))]


def _chapter(data: bytes) -> str:
    source = decode(data, declared_charset(data)) or ""
    page = parse_page(_PATTERNS["closed"].sub(r"<\1\2></\1>", source))
    if page is None:
        return ""
    for mark in page.tree.xpath(_MARKS):
        mark.drop_tree()
    drop_camouflaged(page)
    return visible_text(page).text


# ── MHTML ────────────────────────────────────────────────────────────────────────────────────────


def read_mhtml(body: Body) -> Document | Unchecked:
    """Read the page itself, not its frames; the date of saving is when it was fetched."""
    message = message_from_bytes(body.data)
    page = next((part for part in message.walk() if part.get_content_type() == "text/html"), None)
    data = page.get_payload(decode=True) if page is not None else None
    if page is None or not isinstance(data, bytes):
        return Unchecked(body.url, Reason.UNDECODABLE, "no web page in the MHTML file")
    fetched = body.fetched
    with contextlib.suppress(ValueError):
        fetched = fetched or parsedate_to_datetime(str(message["Date"])).date().isoformat()
    content_type = f"text/html; charset={page.get_content_charset('')}"
    return read_html(replace(body, data=data, content_type=content_type, fetched=fetched))
