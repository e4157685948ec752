"""Reads RTF files with striprtf, without hidden and deleted text."""

import re

from striprtf.striprtf import rtf_to_text

from pincite.documents.body import Body
from pincite.documents.text import cleaned, one_line
from pincite.types import Document, Reason, Unchecked

_PICTURE = re.compile(rb"[0-9a-fA-F\r\n]{500,}")  # pictures in hexadecimal, often most of a file
_NOT_SHOWN = re.compile(  # a group whose control words include \v (hidden) or \deleted
    r"(\{(?:\\(?!(?:v|deleted)(?![a-z\d]))[a-z]{1,32}-?\d{0,10} ?)*)\\(?:v|deleted)(?![a-z\d])"
)
_FIELD = r"\{{\\{} ((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}"
# A file of these header words states no code page.
_CODE_PAGES = {"mac": "mac_roman", "pca": "cp850", "pc": "cp437"}


def read_rtf(body: Body) -> Document | Unchecked:
    data = _PICTURE.sub(b"\n", body.data)
    if b"\\bin" not in data:  # such data is counted in bytes
        data = re.sub(rb"[\x80-\xff]", lambda match: b"\\'%02x" % match[0][0], data)
    source = data.decode("latin-1")
    source = _NOT_SHOWN.sub(r"\1\\*\\v", source)  # \* begins what striprtf skips
    # The space ends the word as the brace does; with it, striprtf adds no addresses to links.
    source = source.replace("\\field{", "\\field {")
    lines = _plain(source, source).split("\n")
    # striprtf ends each cell by a bar.
    rows = (" | ".join(filter(None, map(str.strip, line.split("|")))) for line in lines)
    shown = (row if line.endswith("|") else line for line, row in zip(lines, rows, strict=True))
    text = cleaned("\n".join(shown))
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the RTF file contains no words")
    found = (re.search(_FIELD.format(name), source) for name in ("title", "author"))
    title, author = (one_line(_plain(source, f"{{\\rtf1 {m[1]}}}")) if m else "" for m in found)
    meta = {"author": author} if author else {}
    return Document(
        url=body.url, title=title, text=text, kind="rtf", fetched=body.fetched, meta=meta
    )


def _plain(source: str, group: str) -> str:
    """Return the text of a group in the encoding of the file."""
    head = source[:1000]
    page = re.search(r"\\ansicpg(\d{3,5})", head)
    word = re.search(r"\\(mac|pca|pc)(?![a-z])", head)
    encoding = f"cp{page[1]}" if page else _CODE_PAGES[word[1]] if word else "cp1252"
    text = rtf_to_text(group, encoding=encoding, errors="replace")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
