"""Documents that somebody else has extracted: one JSON object a line, packed with gzip or not.

`{"url": …, "title": …, "text": …}`; `url` (or `id`, or BEIR's `_id`) and `text` must be there.
Files of any length are read line by line, and a bad line costs only itself.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from pincite.documents.body import DEFAULT_LIMITS, Limits, too_large
from pincite.documents.clean import cleaned, one_line
from pincite.documents.language import code_of, language_of
from pincite.types import Document, Reason, Unchecked

_OWN = frozenset(
    {"url", "text", "title", "published", "date", "language", "lang", "kind", "fetched"}
)


class Line(NamedTuple):
    """A line of a file; `data` is cut off at the limit, `broken` says why there is no more."""

    number: int
    offset: int  # in the unpacked file, for `document_at`
    data: bytes
    broken: str = ""


def documents(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Document | Unchecked]:
    """A document a line, or what is wrong with the line; blank lines are passed over."""
    for line in lines(path, limits):
        yield document_of(line, path, limits)


def lines(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Line]:
    """The lines that are not blank, with offsets; a last broken one if the file breaks off."""
    number, offset = 0, 0
    with _opened(path) as file:
        try:
            while data := file.readline(limits.line_bytes + 1):
                number += 1
                length = len(data)
                if length > limits.line_bytes:
                    length += _skip_line(file, data)
                if data.strip():
                    yield Line(number, offset, data)
                offset += length
        except (EOFError, OSError, zlib.error) as error:
            yield Line(number + 1, offset, b"", f"the file breaks off: {error}")


def document_at(path: Path, offset: int, number: int, limits: Limits) -> Document | Unchecked:
    """The document of the one line that begins at `offset` of the unpacked file."""
    with _opened(path) as file:
        file.seek(offset)
        return document_of(Line(number, offset, file.readline(limits.line_bytes + 1)), path, limits)


def document_of(line: Line, path: Path, limits: Limits) -> Document | Unchecked:
    """The document of a line, or what is wrong with it."""
    where = f"{path.name} line {line.number}"
    if len(line.data) > limits.line_bytes:
        return too_large(where, len(line.data), limits.line_bytes, f"{where}: it")
    if line.broken:
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: {line.broken}")
    try:
        record = json.loads(line.data)
    except (ValueError, RecursionError) as error:
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: no JSON: {error}")
    return _document(record, where, limits)


def url_of(line: Line) -> str | None:
    """The address in a line, if it has one; for an index of a file whose texts are not needed."""
    try:
        record = json.loads(line.data)
    except (ValueError, RecursionError):
        return None
    return _url(record) if isinstance(record, dict) else None


def _document(record: Any, where: str, limits: Limits) -> Document | Unchecked:
    if not isinstance(record, dict):
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: an object was expected")
    url, text = _url(record), record.get("text")
    if not url or not isinstance(text, str):
        missing = "text" if url else "url (or id)"
        return Unchecked(url or where, Reason.UNDECODABLE, f"{where}: no {missing}")
    text = cleaned(text)
    if not text:
        return Unchecked(url, Reason.EMPTY, f"{where}: the text has no words")
    if len(text) > limits.max_chars:
        detail = f"{where}: {len(text)} characters, the limit is {limits.max_chars}"
        return Unchecked(url, Reason.TOO_LARGE, detail)
    return Document(
        url=url,
        title=one_line(_field(record, "title")),
        text=text,
        kind=_field(record, "kind") or "jsonl",
        published=_field(record, "published", "date"),
        fetched=_field(record, "fetched"),
        # Whoever wrote the record knew more than the words say.
        language=code_of(_field(record, "language", "lang")) or language_of(text),
        meta=_meta(record),
    )


def _url(record: Mapping[str, Any]) -> str:
    return one_line(_field(record, "url", "id", "_id"))


def _field(record: Mapping[str, Any], *names: str) -> str | None:
    """The first of the fields that holds a string with something in it, or a number."""
    values = (record.get(name) for name in names)
    usable = (v for v in values if (isinstance(v, str) and v.strip()) or type(v) is int)
    value = next(usable, None)
    return None if value is None else str(value)


def _meta(record: Mapping[str, Any]) -> dict[str, str]:
    used = _OWN if _field(record, "url") else _OWN | {"id", "_id"}
    return {
        key: one_line(value)
        for key, value in record.items()
        if isinstance(value, str) and key not in used
    }


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _skip_line(file: IO[bytes], data: bytes) -> int:
    """Read on to the end of a line that is too long; the number of bytes passed over."""
    length = 0
    while data and not data.endswith(b"\n"):
        data = file.readline(1 << 20)
        length += len(data)
    return length
