"""Reads EPUB books: the chapters in the order of the spine, with printed page numbers if stated."""

import json
import posixpath
import re
from typing import Any
from urllib.parse import unquote

from pincite.documents.body import Body
from pincite.documents.html import declared_charset, drop_camouflaged, parse_page, visible_text
from pincite.documents.packed import Parts, Refused, read_packed, resolved
from pincite.documents.text import cleaned, code_of, decoded, joined, one_line
from pincite.text.page_numbers import LABELS, PAGES
from pincite.types import Document, Reason, Unchecked

# XHTML closes empty elements in their tag; in HTML, <title/> would begin a title without an end.
_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|hr|img|input|link|meta|source|wbr)\b)([a-zA-Z][\w:-]*)([^<>]*)/>"
)
_NOTE_MARKS = (
    "//*[contains(@*[name()='epub:type'], 'noteref') or @role='doc-noteref']"
    " | //sup[a[@href]] | //a[@href][sup and not(text()[normalize-space()])]"
)
_PAGE_BREAKS = "//*[@*[name()='epub:type']='pagebreak' or @role='doc-pagebreak']"
# Page breaks pass through the extraction of text between two private characters.
_BREAK = re.compile("(\\s*)\ue000([^\ue000\ue001]*)\ue001(\\s*)")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


def read_epub(body: Body) -> Document | Unchecked:
    return read_packed(body, "EPUB file", _document)


def _document(body: Body, parts: Parts) -> Document | Unchecked:
    roots = parts.elements("META-INF/container.xml", "rootfile")
    path = roots[0].get("full-path", "") if roots else ""
    package = parts.tree(path)
    if package is None:
        raise Refused(Reason.UNDECODABLE, "the EPUB file does not name its package document")
    text, pages = _paged(_chapters(parts, package, posixpath.dirname(path)))
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the EPUB file contains no words")
    stated: dict[str, list[str]] = {"title": [""], "date": [""], "language": [""]}
    for element in reversed(list(package.iter("title", "creator", "language", "date"))):
        if "modification" not in element.attrib.values():
            stated.setdefault(element.tag, []).insert(0, one_line(element.text))
    date = _DATE.match(stated["date"][0])
    return Document(
        url=body.url,
        title=stated["title"][0],
        text=text,
        kind="epub",
        published=date[0] if date else None,
        fetched=body.fetched,
        language=code_of(stated["language"][0]),
        meta={"author": ", ".join(stated["creator"])} | pages if "creator" in stated else pages,
    )


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
    for mark in page.tree.xpath(_NOTE_MARKS):
        mark.drop_tree()
    for mark in page.tree.xpath(_PAGE_BREAKS):
        label = mark.get("aria-label") or mark.get("title") or mark.text_content()
        mark.text = f"\ue000{one_line(label).rstrip('.').rpartition(' ')[2]}\ue001"
        del mark[:]
    drop_camouflaged(page)
    return visible_text(page, 0)[0]


def _paged(chapters: list[str]) -> tuple[str, dict[str, str]]:
    """Take the page breaks out of the text; returns the pages as metadata."""
    first, *rest = _BREAK.split(cleaned("\n\n".join(filter(None, chapters))))
    breaks = list(zip(*(rest[n::4] for n in range(4)), strict=True))
    between = [(max(before, after, key=len), piece) for before, _, after, piece in breaks]
    text, starts = joined([("", first), *between])
    pages = {start: each[1] for start, each in zip(starts[1:], breaks, strict=True) if each[1]}
    return text, {
        PAGES: json.dumps([*pages]),
        LABELS: json.dumps([*pages.values()]),
    } if pages else {}
