"""Reads JSON lines: documents, and claims with evidence and a label.

A line has `url` (or `id`), `text`, `title` and so on, as in BEIR's `corpus.jsonl`, or a labelled
claim; a bad line affects only itself.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, cast

from pincite.documents.body import (
    DEFAULT_LIMITS,
    MAX_REFUSED_IN_A_ROW,
    Limits,
    is_bomb,
    too_large,
    unusable,
)
from pincite.documents.text import clean_text, code_of, language_of, one_line
from pincite.errors import InputError, usable
from pincite.types import Document, Reason, Unchecked

Found = Document | Unchecked
JsonRecord = Mapping[str, Any]
T = TypeVar("T")
ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
FIRST_LINES = 20
_IDS = ("id", "_id")
_NOT_META = frozenset("url text title published date language lang kind fetched id _id".split())
QUERIES = "these are the queries of a BEIR collection, not documents. Add its corpus.jsonl"


class Line(NamedTuple):
    """A line of a file, cut at the limit; `broken` is what is wrong with the file."""

    path: Path
    number: int
    offset: int  # in the unpacked file, for `document_at`
    data: bytes
    length: int  # before it was cut
    broken: str = ""

    @property
    def place(self) -> str:
        return f"{self.path.name} line {self.number}"


def unpacked_stream(raw: IO[bytes], path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if path.suffix.lower() == ".gz" else raw


def lines(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Line]:
    """Yield non-blank lines with offsets; the last is broken if the file is cut off or a bomb."""
    number, offset, n_blank = 0, 0, 0
    with path.open("rb") as raw:
        file = unpacked_stream(raw, path)
        try:
            while data := file.readline(limits.line_bytes + 1):
                number += 1
                length, rest = len(data), data
                while length > limits.line_bytes and rest and not rest.endswith(b"\n"):
                    rest = file.readline(1 << 20)
                    length += len(rest)
                n_blank = 0 if data.strip() else n_blank + 1
                if not n_blank:
                    yield Line(path, number, offset, data, length)
                offset += length
                if n_blank == MAX_REFUSED_IN_A_ROW:
                    raise OSError(f"{n_blank:,} blank lines in a row")
                if is_bomb(offset, raw.tell(), limits):
                    raise OSError(f"it decompresses endlessly from byte {offset:,} on")
        except (EOFError, OSError, zlib.error) as error:
            yield Line(path, number + 1, offset, b"", 0, f"the file breaks off: {error}")


def record_of(line: Line, limits: Limits) -> dict[str, Any] | Unchecked:
    """Parse the JSON object in a line, or return what is wrong with the line."""
    where = line.place
    if len(line.data) > limits.line_bytes:
        return too_large(where, line.length, limits.line_bytes, f"{where}: it")
    fault, record = line.broken, None
    if not fault:
        try:
            record = json.loads(line.data)
        except (ValueError, RecursionError) as error:
            fault = f"not valid JSON: {error}"
    if isinstance(record, dict):
        return record
    return Unchecked(where, Reason.UNDECODABLE, f"{where}: {fault or 'expected an object'}")


def read_rows(
    path: Path,
    parse: Callable[[bytes], T],
    expected: str,
    on_bad: Callable[[InputError], None] | None = None,
) -> Iterator[T]:
    """Yield what `parse` makes of each line of a file, plain or .gz, in order.

    A line is bad if `parse` cannot read it. `on_bad` is called with an InputError for each bad
    line, which is skipped; None raises it. It names the line, and what is wrong and `expected`.
    """
    with usable(path):
        for line in lines(path):
            if line.broken:
                raise OSError(line.broken)
            try:
                row = parse(line.data)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                what = f"no {error}" if isinstance(error, KeyError) else str(error)
                bad = InputError(f"{path} line {line.number}: {what}; expected {expected}.")
                if on_bad is None:
                    raise bad from error
                on_bad(bad)
            else:
                yield row


def field_of(record: JsonRecord, *names: str) -> str | None:
    """The first of the fields with a non-blank string or an integer."""
    for name in names:
        value = record.get(name)
        if (isinstance(value, str) and value.strip()) or type(value) is int:
            return str(value)
    return None


# ── Documents ────────────────────────────────────────────────────────────────────────────────────


def find(folder: Path, *names: str) -> Path | None:
    """The first file with one of these names, plain or gzipped."""
    paths = (folder / f"{name}.jsonl{end}" for name in names for end in ("", ".gz"))
    return next(filter(Path.is_file, paths), None)


def has_documents(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def first_records(path: Path) -> list[dict[str, Any]]:
    """The objects in the first lines of a file, without bad lines."""
    try:
        some = islice(lines(path), FIRST_LINES)
        records = [record_of(line, DEFAULT_LIMITS) for line in some]
    except OSError:
        return []  # reading the file reports the error
    return [record for record in records if not isinstance(record, Unchecked)]


def has_queries(path: Path) -> bool:
    """Whether a file has BEIR's queries, which look like documents without a title."""
    records = first_records(path) if "queries" in path.name.lower() else []
    titled = any("title" in record or "url" in record for record in records)
    return not titled and any("_id" in record for record in records)


def documents(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Found]:
    if has_queries(path):
        yield Unchecked(path.resolve().as_uri(), Reason.UNSUPPORTED_TYPE, f"{path.name}: {QUERIES}")
        return
    yield from (_document(line, limits) for line in lines(path, limits))


def document_at(path: Path, number: int, offset: int, limits: Limits) -> Found:
    """Read the document in one line, given its number and its offset in the unpacked file."""
    with path.open("rb") as raw:
        file = unpacked_stream(raw, path)
        file.seek(offset)
        data = file.readline(limits.line_bytes + 1)
        return _document(Line(path, number, offset, data, len(data)), limits)


def _document(line: Line, limits: Limits) -> Found:
    record = record_of(line, limits)
    if isinstance(record, Unchecked):
        return record
    return document_in(record, line.place, limits)


def addressed_records(path: Path, limits: Limits) -> Iterator[tuple[Line, JsonRecord]]:
    """Yield each line with its record, empty if it has no address; thousands of those end it."""
    in_a_row = 0
    for line in lines(path, limits):
        record = record_of(line, limits)
        fields = {} if isinstance(record, Unchecked) or not address_of(record) else record
        yield line, fields
        in_a_row = 0 if fields else in_a_row + 1
        if in_a_row == MAX_REFUSED_IN_A_ROW:
            fault = f"{in_a_row:,} lines in a row have no address; the rest was not read"
            yield line._replace(broken=fault), {}
            return


def document_in(record: JsonRecord, where: str, limits: Limits, kind: str = "jsonl") -> Found:
    """Convert a record to a document; `where` is file and line, `kind` the default kind."""
    url, text = address_of(record), record.get("text")
    if not url or not isinstance(text, str):
        missing = "text" if url else "url (or id)"
        return Unchecked(url or where, Reason.UNDECODABLE, f"{where}: no {missing}")
    title = one_line(field_of(record, "title"))
    text = clean_text(text) or (title if "_id" in record else "")  # BEIR has such articles
    if fault := unusable(text, url, where, limits):
        return fault
    meta = {
        key: one_line(value)
        for key, value in record.items()
        if isinstance(value, str) and key not in _NOT_META
    }
    if _stated_url(record):
        meta |= {name: one_line(value) for name in _IDS if (value := field_of(record, name))}
    return Document(
        url=url,
        title=title,
        text=text,
        kind=field_of(record, "kind") or kind,
        published=field_of(record, "published", "date"),
        fetched=field_of(record, "fetched"),
        language=code_of(field_of(record, "language", "lang")) or language_of(text),
        meta=meta,
    )


def address_of(record: JsonRecord) -> str:
    return one_line(_stated_url(record) or field_of(record, *_IDS))


def _stated_url(record: JsonRecord) -> str | None:
    metadata = record.get("metadata")
    inner = field_of(metadata, "url") if isinstance(metadata, dict) else None
    return field_of(record, "url") or inner


# ── Claims with evidence and a label: what verifiers are trained on and measured with ────────────

LABELS = ("support", "refute", "nei", "partial", "not_support")  # not_support: refute or nei


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim, its evidence as one text, and the annotators' label."""

    row_id: str
    claim: str
    evidence: str
    label: str
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def document(self) -> str:
        """The address of its document; the evidence if it has none."""
        return str(self.meta.get("url") or self.evidence)


def read_labelled(
    path: Path, on_bad: Callable[[InputError], None] | None = None
) -> Iterator[LabelledClaim]:
    """Yield the rows of a file (id, evidence, claim, label, maybe meta) as `read_rows` does."""
    return read_rows(path, _labelled_claim, "an object with id, evidence, claim and label", on_bad)


def _labelled_claim(line: bytes) -> LabelledClaim:
    value = json.loads(line)
    fields = (value["claim"], value["evidence"], value["label"], value.get("meta") or {})
    row = LabelledClaim(str(value["id"]), *fields)
    if not isinstance(row.claim, str) or not isinstance(row.evidence, str):
        raise ValueError("claim and evidence must be strings")
    f"{row.claim}{row.evidence}".encode()  # a lone surrogate such as "\ud800" raises ValueError
    if not row.claim.strip():
        raise ValueError("the claim is empty")
    if row.label not in LABELS:
        raise ValueError(f"label is {row.label!r}, none of {', '.join(LABELS)}")
    if not isinstance(row.meta, dict):
        raise ValueError("meta must be an object")
    return row
