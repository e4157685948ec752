"""Manifests: which file is the copy of which address, and what is known of it besides its words.

A row, of `manifest.jsonl` or of a CSV file with a header, is `url`, `file` (below the manifest's
own folder), `status`, `content_type`, `fetched`, `title`, `date`, `language`; every other column is
kept as metadata (author, publisher, licence, …). A `.json` file with one object by file name, as
EvidenceSeeker has, is a manifest too; its names mean the files that are read with it. A bad row is
a `Problem`, not an end, and a file outside the folder is never opened, whatever the manifest says.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pincite.documents.body import DEFAULT_LIMITS, MAX_REFUSED_IN_A_ROW, Limits, too_large
from pincite.documents.clean import decoded, one_line
from pincite.documents.jsonl import field_of, first_records, lines
from pincite.documents.language import code_of
from pincite.documents.read import read_bytes, read_file
from pincite.text.page_numbers import LABELS, PAGES
from pincite.types import Document, Reason, Unchecked

NAME = "manifest.jsonl"
NAMES = (NAME, "manifest.csv")
_OWN = frozenset(
    "url file status content_type fetched title date published language lang kind text".split()
)
NOTHING: Mapping[str, Path] = {}
MAX_ROWS = 500_000  # they are all held, 500 bytes each and more
# A CSV file without any of these columns holds no documents.
_NEEDED = ("url", "file", "text")
_SEPARATORS = ",;\t"  # spreadsheets write semicolons where the comma is decimal
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?(?=$|T| )")

Record = tuple[int, Any, str]  # number, content and fault of a row


class Problem(NamedTuple):
    """Something in a folder that could not be used; `line` is 0 if it concerns the whole file."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """`manifest.jsonl line 3: no url`."""
        return f"{self.file}{f' line {self.line}' if self.line else ''}: {self.message}"


@dataclass(frozen=True, slots=True)
class Known:
    """What a row says of a document besides its words; it counts before what the file says."""

    title: str = ""
    published: str | None = None
    language: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)

    def told_of(self, found: Document | Unchecked) -> Document | Unchecked:
        """The document with what is known of it."""
        if isinstance(found, Unchecked):
            return found
        meta = {**found.meta, **self.meta}
        # Of a PDF: where each page starts, not how many there are.
        meta |= {key: found.meta[key] for key in (PAGES, LABELS) if key in found.meta}
        return replace(
            found,
            title=self.title or found.title,
            published=self.published or found.published,
            language=self.language or found.language,
            meta=meta,
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: an address and what is stored for it; `fault` if its file may not be opened."""

    url: str  # empty: the one that the file states for itself
    file: Path | None = None
    status: int | None = None
    content_type: str | None = None
    fetched: str | None = None
    fault: str = ""
    known: Known = field(default_factory=Known)
    line: int = 0
    record: Mapping[str, Any] = field(default_factory=dict)  # the row itself, if it holds a text
    remarks: tuple[str, ...] = ()  # values of the row that could not be used; the rest is

    def read(self, limits: Limits = DEFAULT_LIMITS) -> Document | Unchecked:
        """The document in the entry's file, or why there is none."""
        if self.fault:
            return Unchecked(self.url, Reason.NOT_SUPPLIED, self.fault)
        try:
            return self.known.told_of(self._read(limits))
        except OSError as error:
            detail = f"the stored copy cannot be opened: {error.strerror}"
            return Unchecked(self.url, Reason.NOT_SUPPLIED, detail)

    def _read(self, limits: Limits) -> Document | Unchecked:
        if self.file and not self.url:
            return read_file(self.file, limits)
        n_bytes = self.file.stat().st_size if self.file else 0
        if n_bytes > limits.max_bytes:
            return too_large(self.url, n_bytes, limits.max_bytes)
        return read_bytes(
            self.file.read_bytes() if self.file else b"",
            # A saved file's name may say more than its address: report.pdf for /download?id=7.
            url=self.url,
            content_type=self.content_type or _type_by_name(self.file),
            fetched=self.fetched,
            status=self.status,
            limits=limits,
        )


def is_manifest(path: Path) -> bool:
    """Whether a file's rows describe other files: by its name, as every CSV, or by its fields."""
    if path.name in NAMES or path.name.lower().endswith(".csv") or _by_file_name(path):
        return True
    first = first_records(path) if path.name.lower().endswith(".jsonl") else []
    return bool(first) and all("file" in one and "text" not in one for one in first)


def entries(path: Path) -> Iterator[Entry | Problem]:
    """The rows for `--sources`; a faulty file gives its entry and, before it, a problem.

    There a row needs an address, and a file or the status of a failure.
    """
    for row in rows(path):
        if isinstance(row, Problem):
            yield row
        elif not row.url:
            yield Problem(path.name, row.line, "no url")
        elif not row.file and (row.status is None or row.status < 300):
            yield Problem(path.name, row.line, "neither a file nor the status of a failure")
        else:
            for message in (*row.remarks, *([row.fault] if row.fault else ())):
                yield Problem(path.name, row.line, message)
            yield row


def rows(
    path: Path, limits: Limits = DEFAULT_LIMITS, called: Mapping[str, Path] = NOTHING
) -> Iterator[Entry | Problem]:
    """All rows of a manifest in order, those too that only describe an address or hold a text.

    `called`: files that lie under other names than the manifest has for them.
    """
    in_a_row = 0
    for n, (number, record, broken) in enumerate(_records(path, limits)):
        if n == MAX_ROWS or in_a_row == MAX_REFUSED_IN_A_ROW:
            why = f"{n:,} rows" if n == MAX_ROWS else f"{in_a_row:,} bad rows in a row"
            yield Problem(path.name, number, f"{why}; the rest is not read")
            return
        in_a_row += 1
        try:
            if broken:
                raise ValueError(broken)
            yield _entry(record, (path.parent, called), number)
            in_a_row = 0
        except ValueError as error:
            yield Problem(path.name, number, str(error))


def is_inside(folder: Path, path: Path) -> bool:
    """Whether `path`, with every symbolic link followed, lies in `folder`."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # loops of links, NUL in a name
        return False


def outside(name: str) -> str:
    """Why a file is never opened that a folder's manifest or link leads to."""
    return f"the file {name!r} is outside the folder, which is not allowed"


def _records(path: Path, limits: Limits) -> Iterator[Record]:
    if path.suffix == ".json":
        named = _by_file_name(path)
        yield from ((n, {**row, "file": name}, "") for n, (name, row) in enumerate(named.items()))
        return
    if path.name.lower().endswith(".csv"):
        yield from _csv_records(path, limits)
        return
    for line in lines(path, limits):
        try:
            record = None if line.broken else json.loads(line.data)
            yield line.number, record, line.broken
        except (ValueError, RecursionError) as error:
            yield line.number, None, str(error)


def _csv_records(path: Path, limits: Limits) -> Iterator[Record]:
    """The rows of a CSV file with a header, whatever its separator and encoding are.

    Column names are lower case; empty cells and rows are left out. What concerns the whole file has
    the number 0.
    """
    size = path.stat().st_size
    if size > limits.max_bytes:
        yield 0, None, too_large("", size, limits.max_bytes).detail
        return
    text = decoded(path.read_bytes())
    if text is None:
        yield 0, None, "the bytes are no text in any encoding"
        return
    # Its own limit of 131,072 characters a cell is for all of the program; one cell may be a text.
    csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes))
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator)
    try:
        names = [name.strip().lower() for name in next(rows, [])]
        if not set(names) & set(_NEEDED):
            yield 0, None, f"no column is named {', '.join(_NEEDED[:-1])} or {_NEEDED[-1]}"
            return
        for cells in rows:
            if len(cells) > len(names):
                yield rows.line_num, None, f"{len(cells)} cells, the header names {len(names)}"
            elif any(cell.strip() for cell in cells):
                pairs = zip(names, cells, strict=False)
                yield rows.line_num, {n: c for n, c in pairs if n and c.strip()}, ""
    except csv.Error as error:
        yield rows.line_num, None, str(error)


def _by_file_name(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """What a `.json` file says of each file by its name; empty if it is something else."""
    if path.suffix != ".json" or path.stat().st_size > DEFAULT_LIMITS.max_bytes:
        return {}
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return {}
    is_manifest = isinstance(found, dict) and all(isinstance(row, dict) for row in found.values())
    return found if is_manifest else {}


def _entry(record: Any, where: tuple[Path, Mapping[str, Path]], line: int) -> Entry:
    """The entry in a row; a `ValueError` says what is wrong with the row."""
    folder, called = where
    if not isinstance(record, dict):
        raise ValueError("an object was expected")
    url, name, status = (_field(record, key) for key in ("url", "file", "status"))
    if status and not (status.isascii() and status.isdigit()):
        raise ValueError(f"status {status!r} is no number")
    holds_text = bool(field_of(record, "text")) and not name
    if not (url or name or holds_text):
        raise ValueError("no url")
    known, remarks = _known(record)
    file = called.get(name) or called.get(name.rpartition("/")[2]) if name else None
    fault = ""
    if name and not file:
        if Path(name).is_absolute() or not is_inside(folder, folder / name):
            fault = outside(name)
        elif not (folder / name).is_file():
            fault = f"the file {name!r} is not there"
    return Entry(
        url=url or "",
        file=file or (folder / name if name else None),
        status=int(status) if status else None,
        content_type=_field(record, "content_type"),
        fetched=_field(record, "fetched"),
        fault=fault,
        known=known,
        remarks=remarks,
        line=line,
        record=record if holds_text else {},
    )


def _known(record: Mapping[str, Any]) -> tuple[Known, tuple[str, ...]]:
    """What the row says, and what of it could not be used; an odd date stays as metadata."""
    meta = {key: _text(value) for key, value in record.items() if key not in _OWN}
    remarks = [
        f"{key} should be a text, a number or a list of texts; it is left out"
        for key, value in meta.items()
        if value is None
    ]
    date = (field_of(record, "published", "date") or "").strip()
    stated = _DATE.match(date)
    if date and not stated:
        meta["date"] = one_line(date)
        remarks.append(f"date {date!r} is not like 2019-05-14, 2019-05 or 2019; it counts as none")
    language = field_of(record, "language", "lang")
    if language and not code_of(language):
        remarks.append(f"language {language!r} is no ISO 639-1 code like en; it is left out")
    known = Known(
        title=one_line(field_of(record, "title")),
        published=stated[0] if stated else None,
        language=code_of(language),
        meta={key: value for key, value in meta.items() if value},
    )
    return known, tuple(remarks)


def _text(value: Any) -> str | None:
    """Metadata is always text, a list of authors their names with commas; None of other values."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return one_line(", ".join(value))
    if value is None or isinstance(value, (str, int, float)):
        return "" if value is None else one_line(str(value))
    return None


def _field(record: Mapping[str, Any], key: str) -> str | None:
    """A string or a whole number as a string; `None` if it is not there."""
    value = record.get(key)
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return None if value in (None, "") else str(value).strip()
    raise ValueError(f"{key} should be a string, it is {json.dumps(value)[:60]}")


def _type_by_name(file: Path | None) -> str | None:
    name = file.name.lower().removesuffix(".gz") if file else ""
    return {".md": "text/markdown", ".txt": "text/plain"}.get(Path(name).suffix)
