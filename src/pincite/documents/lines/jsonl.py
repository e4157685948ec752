"""Documents that somebody else has extracted: one JSON object a line, packed with gzip or not.

`{"url": …, "title": …, "text": …}`; `url` (or `id`) and `text` must be there. BEIR's `corpus.jsonl`
is such a file: its address is `metadata.url`, or `_id` where there is none, and of an article that
has a title only the title is the text. CCNet's files (Wenzek et al. 2020) are such ones too: their
text is `raw_content`, fetched on `date_download`. Files of any length are read line by line, and a
bad line costs only itself.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from pincite.documents.body import (
    DEFAULT_LIMITS,
    MAX_REFUSED_IN_A_ROW,
    Limits,
    is_bomb,
    too_large,
    unusable,
)
from pincite.documents.clean import cleaned, one_line
from pincite.documents.language import code_of, language_of
from pincite.types import Document, Reason, Unchecked

_CCNET_TEXT, _CCNET_DATE = "raw_content", "date_download"
_OWN = frozenset(
    {"url", "text", "title", "published", "date", "language", "lang", "kind", "fetched"}
    | {_CCNET_TEXT, _CCNET_DATE}
)
_IDS = ("id", "_id")


class Line(NamedTuple):
    """A line of a file; `data` is cut off at the limit, `broken` says why there is no more."""

    number: int
    offset: int  # in the unpacked file, for `lines_at`
    data: bytes
    broken: str = ""


def documents(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Document | Unchecked]:
    """A document a line, or what is wrong with the line; blank lines are passed over."""
    return of_lines(lines(path, limits), path, limits)


def pages(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Document | Unchecked]:
    """The same of CCNet's: a reader of its own, since these are known by their fields alone."""
    return documents(path, limits)


def of_lines(chosen: Iterable[Line], path: Path, limits: Limits) -> Iterator[Document | Unchecked]:
    """What `documents` gives, of these lines alone."""
    return (document_of(line, path, limits) for line in chosen)


def lines(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Line]:
    """The lines that are not blank, with offsets; a last broken one if the file breaks off.

    Packed files that unpack without end are given up like those that break off.
    """
    number, offset, n_blank = 0, 0, 0
    with path.open("rb") as raw, _unpacked(raw, path) as file:
        try:
            while data := file.readline(limits.line_bytes + 1):
                number += 1
                length = len(data)
                if length > limits.line_bytes:
                    length += _skip_line(file, data)
                n_blank += 1
                if data.strip():
                    n_blank = 0
                    yield Line(number, offset, data)
                offset += length
                if n_blank == MAX_REFUSED_IN_A_ROW:
                    raise OSError(f"{n_blank:,} blank lines in a row")
                if is_bomb(offset, raw.tell(), limits):
                    raise OSError(f"it unpacks without end from byte {offset:,} on")
        except (EOFError, OSError, zlib.error) as error:
            yield Line(number + 1, offset, b"", f"the file breaks off: {error}")


def lines_at(path: Path, places: Iterable[tuple[int, int]], limits: Limits) -> Iterator[Line]:
    """The lines with these numbers, each beginning at its offset of the unpacked file."""
    with opened(path) as file:
        for number, offset in places:
            file.seek(offset)
            yield Line(number, offset, file.readline(limits.line_bytes + 1))


def document_of(line: Line, path: Path, limits: Limits) -> Document | Unchecked:
    """The document of a line, or what is wrong with it."""
    record = record_of(line, path, limits)
    if isinstance(record, Unchecked):
        return record
    return document_in(record, place(line, path), limits)


def record_of(line: Line, path: Path, limits: Limits) -> dict[str, Any] | Unchecked:
    """The JSON object in a line, whatever its fields are, or what is wrong with the line."""
    where = place(line, path)
    if unread := unreadable(line, path, limits):
        return unread
    try:
        record = json.loads(line.data)
    except (ValueError, RecursionError) as error:
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: no JSON: {error}")
    if not isinstance(record, dict):
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: an object was expected")
    return record


def unreadable(line: Line, path: Path, limits: Limits) -> Unchecked | None:
    """What is wrong with a line before anybody looks into it: too long, or cut off by the file."""
    where = place(line, path)
    if len(line.data) > limits.line_bytes:
        return too_large(where, len(line.data), limits.line_bytes, f"{where}: it")
    return Unchecked(where, Reason.UNDECODABLE, f"{where}: {line.broken}") if line.broken else None


def place(line: Line, path: Path) -> str:
    """`corpus.jsonl line 3`, with which every message about a line begins."""
    return f"{path.name} line {line.number}"


def is_document(record: Mapping[str, Any]) -> bool:
    """Whether the fields are there that `documents` needs."""
    return bool(_url(record)) and isinstance(_text(record), str)


def is_ccnet(record: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a page of CCNet, whose files are called .json.gz."""
    return all(isinstance(record.get(name), str) for name in ("url", _CCNET_TEXT))


def field_of(record: Mapping[str, Any], *names: str) -> str | None:
    """The first of the fields that holds a string with something in it, or a number."""
    values = (record.get(name) for name in names)
    usable = (v for v in values if (isinstance(v, str) and v.strip()) or type(v) is int)
    value = next(usable, None)
    return None if value is None else str(value)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if its name ends in .gz."""
    with path.open("rb") as raw, _unpacked(raw, path) as file:
        yield file


def _unpacked(raw: IO[bytes], path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if path.suffix.lower() == ".gz" else raw


def url_of(record: Mapping[str, Any]) -> str:
    """The address of a record; empty if it has none."""
    return _url(record)


def document_in(
    record: Mapping[str, Any], where: str, limits: Limits, kind: str = "jsonl"
) -> Document | Unchecked:
    """The document that a record holds; `where` is its file and line, `kind` if it names none."""
    url, text = _url(record), _text(record)
    if not url or not isinstance(text, str):
        missing = "text" if url else "url (or id)"
        return Unchecked(url or where, Reason.UNDECODABLE, f"{where}: no {missing}")
    title = one_line(field_of(record, "title"))
    text = cleaned(text) or (title if "_id" in record else "")
    if fault := unusable(text, url, where, limits):
        return fault
    return Document(
        url=url,
        title=title,
        text=text,
        kind=field_of(record, "kind") or kind,
        published=field_of(record, "published", "date"),
        fetched=field_of(record, "fetched", _CCNET_DATE),
        # Whoever wrote the record knew more than the words say.
        language=code_of(field_of(record, "language", "lang")) or language_of(text),
        meta=_meta(record),
    )


def _url(record: Mapping[str, Any]) -> str:
    return one_line(_stated_url(record) or field_of(record, "id", "_id"))


def _text(record: Mapping[str, Any]) -> Any:
    return record.get("text", record.get(_CCNET_TEXT))


def _stated_url(record: Mapping[str, Any]) -> str | None:
    metadata = record.get("metadata")
    inner = field_of(metadata, "url") if isinstance(metadata, dict) else None
    return field_of(record, "url") or inner


def _meta(record: Mapping[str, Any]) -> dict[str, str]:
    """The other fields that are strings; an id too, unless it stands in for the address."""
    others = {
        key: one_line(value)
        for key, value in record.items()
        if isinstance(value, str) and key not in _OWN
    }
    ids = {name: one_line(value) for name in _IDS if (value := field_of(record, name))}
    kept = ids if _stated_url(record) else {}
    return {key: value for key, value in others.items() if key not in _IDS} | kept


def _skip_line(file: IO[bytes], data: bytes) -> int:
    """Read on to the end of a line that is too long; the number of bytes passed over."""
    length = 0
    while data and not data.endswith(b"\n"):
        data = file.readline(1 << 20)
        length += len(data)
    return length
