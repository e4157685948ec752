"""Reads PowerPoint files (.pptx): each slide is a page, with its tables, diagrams and notes."""

import json
from typing import Any

from pincite.documents.body import Body
from pincite.documents.docx import blocks_of
from pincite.documents.packed import Parts, Refused, read_packed
from pincite.documents.text import cleaned, joined, one_line
from pincite.text.page_numbers import PAGES
from pincite.types import Document, Reason, Unchecked

_MAIN = "ppt/presentation.xml"
_FURNITURE = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})  # kinds of placeholders
_BESIDE = ("diagramData", "notesSlide")  # parts of a slide with words, in the order of reading


def read_slides(body: Body) -> Document | Unchecked:
    return read_packed(body, "PowerPoint file", _document)


def _document(body: Body, parts: Parts) -> Document | Unchecked:
    mains = (name for kind, name in parts.related("").values() if kind == "officeDocument")
    main = next(mains, _MAIN)
    tree, slides = parts.tree(main), parts.related(main)
    if tree is None:
        raise Refused(Reason.UNDECODABLE, f"{main} is missing in the PowerPoint file")
    ids = (key for each in tree.iter("sldId") for name, key in each.items() if name[-3:] == "}id")
    found = [_slide(parts, slides[key][1]) for key in dict.fromkeys(ids) if key in slides]
    text, starts = joined(("\n\n", words) for _, words in found)
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the PowerPoint file contains no words")
    stated = {child.tag: one_line(child.text) for child in parts.children("docProps/core.xml")}
    meta = {
        PAGES: json.dumps(starts),
        "author": stated.get("creator", ""),
        "created": stated.get("created", "")[:10],
    }
    return Document(
        url=body.url,
        title=found[0][0] or stated.get("title", ""),  # many files state their template's title
        text=text,
        kind="pptx",
        fetched=body.fetched,
        meta={name: value for name, value in meta.items() if value},
    )


def _slide(parts: Parts, name: str) -> tuple[str, str]:
    """The title and the text of a slide; a hidden slide is an empty page."""
    tree, title = parts.tree(name), ""
    if tree is None or tree.get("show") in ("0", "false"):
        return "", ""
    roots = [_without_furniture(tree)]
    for shape in tree.iter("sp"):
        if any(mark.get("type") in ("title", "ctrTitle") for mark in shape.iter("ph")):
            title = one_line(" ".join(blocks_of(shape)))
            shape.getparent().insert(0, shape)  # the file has the shapes from back to front
            break
    beside = sorted((kind, part) for kind, part in parts.related(name).values() if kind in _BESIDE)
    trees = (parts.tree(part) for _, part in beside)
    roots += [_without_furniture(root) for root in trees if root is not None]
    blocks = (block.strip() for root in roots for block in blocks_of(root))
    return title, cleaned("\n\n".join(filter(None, blocks)))


def _without_furniture(tree: Any) -> Any:
    """Remove a slide's number, date, header and footer."""
    for shape in list(tree.iter("sp")):
        if any(mark.get("type") in _FURNITURE for mark in shape.iter("ph")):
            shape.getparent().remove(shape)
    return tree
