"""Reads RTF files with striprtf, without hidden and deleted text."""

import re

from striprtf.striprtf import rtf_to_text

from pincite.documents.body import Body
from pincite.documents.text import document_of
from pincite.types import Document, Unchecked

_PICTURE = re.compile(rb"[0-9a-fA-F\r\n]{500,}")  # pictures in hexadecimal, often most of a file
_NOT_SHOWN = re.compile(  # a group whose control words include \v (hidden) or \deleted
    r"(\{(?:\\(?!(?:v|deleted)(?![a-z\d]))[a-z]{1,32}-?\d{0,10} ?)*)\\(?:v|deleted)(?![a-z\d])"
)
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
    encoding = _CODE_PAGES.get(head, "cp1252")  # striprtf knows \ansicpg itself
    text: str = rtf_to_text(group, encoding=encoding, errors="replace")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
