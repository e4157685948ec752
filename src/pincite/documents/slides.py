"""Reads PowerPoint files (.pptx): each slide is a page, with its tables, diagrams and notes."""

import json

from pincite.documents.body import Body
from pincite.documents.docx import blocks_of, properties
from pincite.documents.packed import Parts, read_packed
from pincite.documents.text import cleaned, document_of, joined, one_line
from pincite.text.page_numbers import PAGES
from pincite.types import Document, Unchecked

_MAIN = "ppt/presentation.xml"
_FURNITURE = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})  # kinds of placeholders
_BESIDE = ("diagramData", "notesSlide")  # parts of a slide with words, in the order of reading


def read_slides(body: Body) -> Document | Unchecked:
    return read_packed(body, "PowerPoint file", _document)


def _document(body: Body, parts: Parts) -> Document | Unchecked:
    main = parts.main(_MAIN)
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
