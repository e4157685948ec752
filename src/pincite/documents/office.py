"""Reads Word (.docx) as if all changes were accepted, PowerPoint (.pptx), RTF, EPUB and MHTML.

Word's and PowerPoint's by lxml alone: python-docx 1.2 omits inserted text and content controls;
mammoth 1.12 is six times slower. RTF by striprtf, without hidden and deleted text.
"""

import contextlib
import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote

from pincite.documents import tables
from pincite.documents.body import Body
from pincite.documents.html import drop_camouflaged, read_html, visible_text
from pincite.documents.markup import declared_charset, parse_page
from pincite.documents.packed import Parts, Refused, packed_as, resolved
from pincite.documents.tables import Cell
from pincite.documents.text import cleaned, decoded, document_of, joined, one_line
from pincite.text import patterns
from pincite.text.page_numbers import PAGES
from pincite.text.sentences import n_words
from pincite.types import Document, Reason, Unchecked

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
            yield "\n".join(lines[1:] if caption else lines)
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
    ids = (key for each in order for name, key in each.items() if name.endswith("}id"))
    found = [_slide(parts, slides[key][1]) for key in dict.fromkeys(ids) if key in slides]
    text, starts = joined(("\n\n", words) for _, words in found)
    front = properties(parts)
    if found and found[0][0]:
        front["title"] = found[0][0]  # many files state the title of their template
    return document_of(body, "pptx", text, front, **{PAGES: json.dumps(starts)})


def _slide(parts: Parts, name: str) -> tuple[str, str]:
    """The title and the text of a slide; a hidden slide is an empty page."""
    tree, title = parts.tree(name), ""
    if tree is None or tree.get("show") in ("0", "false"):
        return "", ""
    beside = sorted((kind, part) for kind, part in parts.related(name).values() if kind in _BESIDE)
    roots = [tree, *(root for _, part in beside if (root := parts.tree(part)) is not None)]
    for shape in [shape for root in roots for shape in root.iter("sp")]:
        kinds = {mark.get("type") for mark in shape.iter("ph")}
        if not kinds.isdisjoint(_FURNITURE):
            shape.getparent().remove(shape)
        elif not title and not kinds.isdisjoint(("title", "ctrTitle")):
            title = one_line(" ".join(blocks_of(shape)))
            shape.getparent().insert(0, shape)  # the file has the shapes from back to front
    blocks = (block.strip() for root in roots for block in blocks_of(root))
    return title, cleaned("\n\n".join(filter(None, blocks)))


# ── RTF ──────────────────────────────────────────────────────────────────────────────────────────

_PICTURE = re.compile(rb"[0-9a-fA-F\r\n]{500,}")  # pictures in hexadecimal, often most of a file
_P = patterns(__file__, "office")
_NOT_SHOWN = _P["not_shown"]
_FIELD = r"\{{\\{} ((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}"
_HEAD = re.compile(r"\\(?:ansicpg\d{3,5}|(?:mac|pca|pc)(?![a-z]))")
_CODE_PAGES = {r"\mac": "mac_roman", r"\pca": "cp850", r"\pc": "cp437"}


def read_rtf(body: Body) -> Document | Unchecked:
    data = _PICTURE.sub(b"\n", body.data)
    if b"\\bin" not in data:  # such data is counted in bytes
        data = re.sub(rb"[\x80-\xff]", lambda match: b"\\'%02x" % match[0][0], data)
    source = data.decode("latin-1").replace("\\ansicpg10000", "\\mac")  # Python has no such page
    source = _NOT_SHOWN.sub(r"\1\\*\\v", source)  # \* begins what is skipped
    head = match[0] if (match := _HEAD.search(source[:1000])) else ""
    # The space ends the word as the brace does; with it, striprtf adds no addresses to links.
    text = _plain(source.replace("\\field{", "\\field {"), head)
    text = re.sub(r" *\| *", " | ", re.sub(r"\|+$", "", text, flags=re.MULTILINE))
    found = {name: re.search(_FIELD.format(name), source) for name in ("title", "author")}
    front = {name: _plain(f"{{{head} {m[1]}}}", head) for name, m in found.items() if m}
    return document_of(body, "rtf", text, front)


def _plain(group: str, head: str) -> str:
    from striprtf.striprtf import rtf_to_text

    encoding = _CODE_PAGES.get(head, "cp1252")  # striprtf knows \ansicpg itself
    text: str = rtf_to_text(group, encoding=encoding, errors="replace")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ── EPUB ─────────────────────────────────────────────────────────────────────────────────────────

# XHTML closes empty elements in their tag; in HTML, <title/> would begin a title without an end.
_CLOSED = _P["closed"]
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
    names = dict.fromkeys(resolved(folder, unquote(href.partition("#")[0])) for href in hrefs)
    encrypted = parts.elements("META-INF/encryption.xml", "CipherReference")
    if not names.keys().isdisjoint(unquote(e.get("URI", "")) for e in encrypted):  # or only fonts
        raise Refused(Reason.ENCRYPTED, "the EPUB file is protected against copying")
    return [_chapter(data) for name in names if (data := parts.read(name))]


def _chapter(data: bytes) -> str:
    source = decoded(data, declared_charset(data)) or ""
    page = parse_page(_CLOSED.sub(r"<\1\2></\1>", source))
    if page is None:
        return ""
    for mark in page.tree.xpath(_MARKS):
        mark.drop_tree()
    drop_camouflaged(page)
    return visible_text(page, 0)[0]


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
