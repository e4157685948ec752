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
    source = _NOT_SHOWN.sub(r"\1\\*\\v", data.decode("latin-1"))  # \* begins what is skipped
    # The space ends the word as the brace does; with it, striprtf adds no addresses to links.
    text = _plain(source, source.replace("\\field{", "\\field {"))
    text = cleaned(re.sub(r" *\| *", " | ", re.sub(r"\|+$", "", text, flags=re.MULTILINE)))
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the RTF file contains no words")
    found = (re.search(_FIELD.format(name), source) for name in ("title", "author"))
    title, author = (one_line(_plain(source, f"{{\\rtf1 {m[1]}}}")) if m else "" for m in found)
    meta = {"author": author} if author else {}
    return Document(body.url, title, text, "rtf", fetched=body.fetched, meta=meta)


def _plain(source: str, group: str) -> str:
    """Return the text of a group in the encoding of the file."""
    word = re.search(r"\\(?:ansicpg(\d{3,5})|(mac|pca|pc)(?![a-z]))", source[:1000])
    encoding = "cp1252" if word is None else _CODE_PAGES.get(word[2], f"cp{word[1]}")
    text: str = rtf_to_text(group, encoding=encoding, errors="replace")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
