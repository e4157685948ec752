"""Reads Word files (.docx) as if all changes were accepted, with tables, text boxes and notes.

Uses lxml alone: python-docx 1.2 omits inserted text and content controls; mammoth 1.12 is six times
slower.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from pincite.documents import tables
from pincite.documents.body import Body
from pincite.documents.packed import Parts, read_packed
from pincite.documents.tables import Cell
from pincite.documents.text import document_of, one_line
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


def read_docx(body: Body) -> Document | Unchecked:
    return read_packed(body, "Word file", _document)


def _document(body: Body, parts: Parts) -> Document | Unchecked:
    main = parts.main(_MAIN)  # Word 365 may name it document2.xml
    tree = parts.tree(main)
    if tree is None:
        return Unchecked(body.url, Reason.UNDECODABLE, f"{main} is missing in the Word file")
    folder = posixpath.dirname(main)
    notes = [parts.tree(posixpath.join(folder, f"{n}notes.xml")) for n in ("foot", "end")]
    blocks = [block for root in (tree, *notes) if root is not None for block in blocks_of(root)]
    front = properties(parts)
    front["title"] = _styled(tree, _TITLE) or front["title"] or _styled(tree, _HEADING)
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
        if name in _SKIPPED:
            continue
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
        else:
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


def _styled(tree: Any, style: re.Pattern[str]) -> str:
    for mark in tree.iter():
        if mark.tag == "pStyle" and style.fullmatch(_value(mark)):
            found = one_line("".join(_inline(mark.getparent().getparent(), [])))
            if found:
                return found
    return ""


def _value(element: Any) -> str:
    return next((v for key, v in element.items() if key.endswith("}val") or key == "val"), "")
