"""Reads files that hold web pages: EPUB books, and pages that a browser saved (.mhtml, .mht)."""

import contextlib
import posixpath
import re
from collections import defaultdict
from dataclasses import replace
from email import message_from_bytes
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote

from pincite.documents.body import Body
from pincite.documents.html import (
    declared_charset,
    drop_camouflaged,
    parse_page,
    read_html,
    visible_text,
)
from pincite.documents.packed import Parts, Refused, read_packed, resolved
from pincite.documents.text import decoded, document_of, one_line
from pincite.types import Document, Reason, Unchecked

# XHTML closes empty elements in their tag; in HTML, <title/> would begin a title without an end.
_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|hr|img|input|link|meta|source|wbr)\b)([a-zA-Z][\w:-]*)([^<>]*)/>"
)
_MARKS = (  # of notes and pages
    "//*[contains(@*[name()='epub:type'], 'noteref') or @role='doc-noteref']"
    " | //sup[a[@href]] | //a[@href][sup and not(text()[normalize-space()])]"
    " | //*[@*[name()='epub:type']='pagebreak' or @role='doc-pagebreak']"
)


def read_epub(body: Body) -> Document | Unchecked:
    return read_packed(body, "EPUB file", _document)


def _document(body: Body, parts: Parts) -> Document | Unchecked:
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


# MHTML

_LOCATION = re.compile(
    rb"^(?:snapshot-)?content-location:\s*(https?://[!-~]+)", re.IGNORECASE | re.MULTILINE
)


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


def address_in(head: bytes) -> str:
    """The address that the file states: of the snapshot (Chrome), or of its first part."""
    found = _LOCATION.search(head)
    return found[1].decode("ascii", "replace") if found else ""
