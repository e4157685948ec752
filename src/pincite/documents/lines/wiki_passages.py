r"""Wikipedia in passages of 100 words as a table (`psgs_w100.tsv`), as DPR and KILT cut it.

The first line is `id\ttext\ttitle`; texts may be quoted as in CSV. Passages end within sentences,
so those of one title are joined with a space, and the corpus cuts sentence by sentence. The address
is the article's on English Wikipedia. A title that comes back is as `pieces` says.

Source: Karpukhin et al. 2020, Dense Passage Retrieval; the files of facebookresearch/DPR.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from pincite.documents.body import DEFAULT_LIMITS, Limits
from pincite.documents.clean import cleaned, one_line
from pincite.documents.lines import jsonl
from pincite.documents.lines.pieces import Piece, joined
from pincite.types import Document, Reason, Unchecked

_COLUMNS = ["id", "text", "title"]


def documents(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Document | Unchecked]:
    """The articles of a file in order, or what is wrong with a line; `meta` is the first row's."""
    return of_lines(jsonl.lines(path, limits), path, limits)


def of_lines(
    lines: Iterable[jsonl.Line], path: Path, limits: Limits
) -> Iterator[Document | Unchecked]:
    """What `documents` gives, of these lines alone."""
    rows = (line for line in lines if not is_header(line.data))
    return joined((_passage(row, path, limits) for row in rows), " ", "tsv", limits)


def address_in(line: jsonl.Line) -> str | None:
    """The address of the article that a row is of; empty for the header, None for a bad row."""
    if is_header(line.data):
        return ""
    try:
        fields = _fields(line.data.decode())
    except (UnicodeDecodeError, csv.Error):
        return None
    good = len(fields) == len(_COLUMNS) and fields[2].strip()
    return url_of(one_line(fields[2])) if good else None


def is_header(data: bytes) -> bool:
    """Whether a line is the table's first one."""
    return data.removeprefix(b"\xef\xbb\xbf").strip().split(b"\t") == [b"id", b"text", b"title"]


def url_of(title: str) -> str:
    """The article's address.

    >>> url_of("Varde Bridge")
    'https://en.wikipedia.org/wiki/Varde_Bridge'
    """
    return "https://en.wikipedia.org/wiki/" + quote(title.replace(" ", "_"), safe="/:(),'!*;@$")


def _passage(line: jsonl.Line, path: Path, limits: Limits) -> Piece | Unchecked:
    if unread := jsonl.unreadable(line, path, limits):
        return unread
    where = jsonl.place(line, path)
    try:
        fields = _fields(line.data.decode())
    except (UnicodeDecodeError, csv.Error) as error:
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: no table row: {error}")
    if len(fields) != len(_COLUMNS) or not fields[2].strip():
        detail = f"{where}: {len(fields)} columns; id, text and title were expected"
        return Unchecked(where, Reason.UNDECODABLE, detail)
    passage_id, text, title = fields[0], cleaned(fields[1]), one_line(fields[2])
    return Piece(where, url_of(title), title, text, {"id": passage_id})


def _fields(row: str) -> list[str]:
    """The row's fields, whether the texts are quoted or only begin with a quotation mark."""
    row = row.rstrip("\r\n")
    fields = next(csv.reader([row], delimiter="\t"), [])
    return fields if len(fields) == len(_COLUMNS) else row.split("\t")
