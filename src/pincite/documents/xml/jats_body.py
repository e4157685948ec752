"""The body of a JATS article as blocks of text: headings, paragraphs, captions, tables, lists.

What floats (figures, tables, lists, notes within a paragraph) follows the paragraph in which it
stands, so that sentences stay whole. Tables are lines of `cell | cell`. Nothing of the body is left
out but pictures and references.
"""

from collections.abc import Iterator
from typing import Any

from pincite.documents.clean import one_line
from pincite.documents.xml.records import local
from pincite.documents.xml.text import flat, line_of

# Elements that stand beside the paragraph that holds them.
_BLOCKS = frozenset(
    "boxed-text bibr def-list disp-quote disp-formula-group fig fig-group fn fn-group list p "
    "preformat sec speech statement supplementary-material table-wrap table-wrap-group table "
    "verse-group chem-struct-wrap array question answer floats-group".split()
)
_UNREAD = frozenset(
    "ref-list ref bio graphic media object-id sub-article response xref-group sec-meta "
    "alt-text long-desc permissions kwd-group subj-group related-article related-object "
    "processing-meta contrib-group aff author-notes".split()
)
_LABELLED = frozenset(
    "fig table-wrap boxed-text supplementary-material statement fn chem-struct-wrap".split()
)


def text_blocks(element: Any) -> Iterator[str]:
    """The blocks of an element that may be missing."""
    if element is not None:
        yield from blocks(element)


def blocks(element: Any) -> Iterator[str]:
    """The text of an element, block by block; blocks that say nothing are left out."""
    yield from filter(None, _children(element))


def _children(element: Any) -> Iterator[str]:
    label = ""
    loose: list[str] = [element.text or ""]
    for child in element:
        name = local(child)
        if name == "label":
            label = line_of(child)
        elif name == "title":
            yield _headed(label, _line(child))
            yield from _asides(child)
            label = ""
        elif name and name not in _UNREAD:
            if name not in _BLOCKS and not _holds_blocks(child):
                loose.append(one_line(flat(child, _is_aside)))
                loose.append(child.tail or "")
                continue
            yield one_line(" ".join(loose))
            loose.clear()
            yield from _block(child, label)
            label = ""
        loose.append(child.tail or "")
    yield _headed(label, one_line(" ".join(loose)))


def _block(element: Any, label: str) -> Iterator[str]:
    name = local(element)
    if name == "p":
        yield _headed(label, _line(element))
        yield from _asides(element)
    elif name in ("list", "def-list"):
        yield from _list(element)
    elif name in ("table", "array"):
        yield "\n".join(_rows(element))
    elif name in _LABELLED:
        yield from _labelled(element)
    else:
        if label:
            yield label
        yield from _children(element)


def _line(paragraph: Any) -> str:
    return one_line(flat(paragraph, _is_aside))


def _is_aside(element: Any) -> bool:
    return local(element) in _BLOCKS


def _asides(element: Any) -> Iterator[str]:
    """The blocks that stand within a paragraph, outermost ones only."""
    for child in element:
        if local(child) in _BLOCKS:
            yield from _block(child, "")
        elif local(child) not in _UNREAD:
            yield from _asides(child)


def _holds_blocks(element: Any) -> bool:
    return any(local(inner) in _BLOCKS for inner in element.iter())


def _labelled(element: Any) -> Iterator[str]:
    """A figure, a table, a note: its label and title in one line, then all that it holds."""
    label = next((line_of(child) for child in element if local(child) == "label"), "")
    title = next((_line(e) for e in element.iter() if _is_title_of(e, element)), "")
    inside = [block for block in _inside(element) if block]
    if not title and inside and "\n" not in inside[0] and label:
        title = inside.pop(0)
    yield _headed(label, title)
    yield from inside


def _is_title_of(found: Any, element: Any) -> bool:
    parent = found.getparent()
    return local(found) == "title" and (
        parent is element or (local(parent) == "caption" and parent.getparent() is element)
    )


def _inside(element: Any) -> Iterator[str]:
    """What a labelled block holds beside its label and its title."""
    for child in element:
        name = local(child)
        if name == "caption":
            for part in child:
                if local(part) != "title":
                    yield from _block(part, "")
                else:
                    yield from _asides(part)
        elif name in _BLOCKS:
            yield from _block(child, "")
        elif name and name not in _UNREAD and name not in ("label", "title"):
            yield from _children(child)
        elif name == "title":
            yield from _asides(child)


def _headed(label: str, text: str) -> str:
    """`Figure 1. What it shows`; one of the two alone where the other is missing."""
    if not (label and text):
        return label or text
    return (
        f"{label} {text}"
        if label[-1:] in ".:)" or not label[-1:].isalnum()
        else (f"{label}. {text}")
    )


def _list(element: Any) -> Iterator[str]:
    """The items as lines, each with its label or a dash; lists within follow as lines too."""
    lines = []
    for item in element:
        name = local(item)
        if name == "title":
            yield _line(item)
        elif name == "list-item":
            label = next((line_of(child) for child in item if local(child) == "label"), "-")
            parts = [part for part in _without_label(item) if part]
            lines.append(f"{label} {' '.join(parts)}" if parts else "")
        elif name == "def-item":
            lines.append(_definition(item))
        elif name and name not in ("term-head", "def-head", "label"):
            lines += _children(item)
    yield "\n".join(line for line in lines if line)


def _without_label(item: Any) -> Iterator[str]:
    for child in item:
        if local(child) in _BLOCKS:
            yield from _block(child, "")
        elif local(child) and local(child) != "label":
            yield from _children(child)


def _definition(item: Any) -> str:
    """`term: what it means`."""
    terms = (_line(child) for child in item if local(child) == "term")
    meanings = (b for child in item if local(child) == "def" for b in blocks(child))
    return ": ".join(part for part in (", ".join(terms), " ".join(meanings)) if part)


def _rows(table: Any) -> Iterator[str]:
    """The rows of a table; of one within a cell the rows follow in the cell."""
    for row in table.iter():
        if local(row).lower() != "tr" or _table_of(row) is not table:
            continue
        cells = (_cell(cell) for cell in row if local(cell).lower() in ("td", "th"))
        if line := " | ".join(cell for cell in cells if cell):
            yield line


def _table_of(row: Any) -> Any:
    return next((e for e in row.iterancestors() if local(e) in ("table", "array")), None)


def _cell(cell: Any) -> str:
    return one_line(" ".join([_line(cell), *_asides(cell)]))
