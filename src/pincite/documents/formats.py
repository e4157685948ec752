"""Which reader a body needs: what its first bytes are, then what its server or its name says.

Bytes do not lie, labels do: servers send error pages as `application/pdf` and PDFs as text. Only
where the bytes leave it open does the label decide, then the ending of the address.
"""

import re
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit


class Format(StrEnum):
    """The readers there are, and two for what has none."""

    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    TEXT = "text"
    MARKDOWN = "markdown"
    JATS = "jats"
    GZIP = "gzip"  # to be unpacked and looked at again
    UNSUPPORTED = "unsupported"
    MISLABELLED = "mislabelled"  # said to be a PDF, but is none


class Verdict(NamedTuple):
    """A format and what to call it in a message to the user."""

    format: Format
    name: str = ""


_MAGIC = (
    (b"\x1f\x8b", Verdict(Format.GZIP)),
    *(
        (magic, Verdict(Format.UNSUPPORTED, name))
        for magic, name in (
            (b"\x89PNG", "a PNG image"),
            (b"\xff\xd8\xff", "a JPEG image"),
            (b"GIF8", "a GIF image"),
            (b"RIFF", "a WebP image, sound or film"),
            (b"II*\0", "a TIFF image"),
            (b"MM\0*", "a TIFF image"),
            (b"\0\0\1\0", "an icon"),
            (b"PK\3\4", "a ZIP file (also Excel, EPUB, OpenDocument)"),
            (b"\xd0\xcf\x11\xe0", "an old Office file, or one with a password"),
            (b"{\\rtf", "an RTF file"),
            (b"%!PS", "a PostScript file"),
            (b"AT&TFORM", "a DjVu file"),
            (b"ID3", "a sound file"),
            (b"OggS", "a sound or film"),
            (b"fLaC", "a sound file"),
            (b"\x1aE\xdf\xa3", "a film"),
            (b"7z\xbc\xaf", "a 7z archive"),
            (b"Rar!", "a RAR archive"),
            (b"BZh", "a bzip2 file"),
            (b"\xfd7zXZ", "an xz file"),
            (b"(\xb5/\xfd", "a Zstandard file"),
            (b"wOF", "a font"),
            (b"OTTO", "a font"),
            (b"\0\1\0\0\0", "a font"),
            (b"\x7fELF", "a program"),
        )
    ),
)
_TYPES = {
    "text/html": Format.HTML,
    "application/xhtml+xml": Format.HTML,
    "application/pdf": Format.PDF,
    "application/x-pdf": Format.PDF,
    "text/plain": Format.TEXT,
    "text/markdown": Format.MARKDOWN,
    "text/x-markdown": Format.MARKDOWN,
    "text/csv": Format.UNSUPPORTED,
    "text/css": Format.UNSUPPORTED,
    "text/javascript": Format.UNSUPPORTED,
    "text/calendar": Format.UNSUPPORTED,
    "text/xml": Format.UNSUPPORTED,  # XHTML and SVG are told by their bytes
}
_NO_LABEL = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"})
_ENDINGS = {
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xhtml": Format.HTML,
    ".pdf": Format.PDF,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".txt": Format.TEXT,
    **dict.fromkeys((".csv", ".tsv", ".json", ".xml", ".css", ".js", ".svg"), Format.UNSUPPORTED),
}
# A comment is matched in one way only: a row of 400 of them took exponential time otherwise.
_HTML_START = re.compile(
    rb"\s*(<\?xml[^>]{0,200}>\s*)?(?>(?><!--.{0,2000}?-->)\s*)*+<(!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML_INSIDE = re.compile(rb"<(html|head|body|title|div|p|h1|table|br|span|a\s)\b", re.IGNORECASE)
_SVG_START = re.compile(
    rb"\s*(<\?xml[^>]{0,200}>\s*)?(?>(?><!--.{0,2000}?-->)\s*)*+<svg\b", re.IGNORECASE
)
_ARTICLE_START = re.compile(
    rb"\s*(<\?xml[^>]{0,200}>\s*)?(<!doctype\s+article\b[^>\[]{0,500}>\s*)?<article[\s>]",
    re.IGNORECASE,
)
_ARTICLE_INSIDE = re.compile(rb"//NLM//DTD|<(journal-meta|article-meta)[\s>]")
HEAD_BYTES = 4096


def format_of(data: bytes, url: str, content_type: str | None) -> Verdict:
    """The format to read `data` as.

    >>> format_of(b"%PDF-1.7", "https://example.org/a", "text/html").format
    <Format.PDF: 'pdf'>
    """
    head = _ascii_head(data)
    if data[:4] == b"PK\3\4" and b"word/document" in data:  # its list of contents ends a ZIP
        return Verdict(Format.DOCX)
    return _by_bytes(data[:HEAD_BYTES], head) or _by_label(head, url, content_type)


def _ascii_head(data: bytes) -> bytes:
    """The first bytes as the patterns here expect them: without mark, UTF-16 made single bytes."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data[2:HEAD_BYTES].replace(b"\0", b"")
    return data[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")


def _by_bytes(start: bytes, head: bytes) -> Verdict | None:
    if b"%PDF-" in start[:1024]:  # the standard allows rubbish before the header
        return Verdict(Format.PDF)
    for magic, verdict in _MAGIC:
        if start.startswith(magic):
            return verdict
    if start[4:8] == b"ftyp":
        return Verdict(Format.UNSUPPORTED, "a film or an image")
    if _HTML_START.match(head):
        return Verdict(Format.HTML)
    if _ARTICLE_START.match(head) and _ARTICLE_INSIDE.search(head):
        return Verdict(Format.JATS)
    return Verdict(Format.UNSUPPORTED, "an SVG image") if _SVG_START.match(head) else None


def _by_label(head: bytes, url: str, content_type: str | None) -> Verdict:
    label = (content_type or "").split(";")[0].strip().lower()
    ending = _ending(url)
    if label in _NO_LABEL:
        found = _ENDINGS.get(ending) or (Format.HTML if _HTML_INSIDE.search(head) else Format.TEXT)
        label = ending
    elif label.startswith("text/"):
        found = _TYPES.get(label, Format.TEXT)
    else:
        found = _TYPES.get(label, Format.UNSUPPORTED)
    if found is Format.TEXT and _ENDINGS.get(ending) is Format.MARKDOWN:
        found = Format.MARKDOWN
    if found is Format.PDF:  # real ones were told by their bytes
        return Verdict(
            Format.MISLABELLED, f"said to be a PDF ({label}), but it does not begin as one"
        )
    return Verdict(found, label)


def _ending(url: str) -> str:
    try:
        path = urlsplit(url).path.lower().removesuffix(".gz")
    except ValueError:
        return ""
    name = path.rsplit("/", 1)[-1]
    return f".{name.rsplit('.', 1)[-1]}" if "." in name else ""
