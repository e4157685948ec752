"""`manifest.jsonl`: which file in a folder is the stored copy of which address.

A line is `{"url": …, "file": …, "status": …, "content_type": …, "fetched": …}`; all but `url` may
be left out, but a line without a file needs a status. A bad line is a `Problem`, not an end, and a
file outside the folder is never opened, whatever the manifest says.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pincite.documents.body import DEFAULT_LIMITS, Limits, too_large
from pincite.documents.jsonl import lines
from pincite.documents.read import read_bytes
from pincite.types import Document, Reason, Unchecked

NAME = "manifest.jsonl"


class Problem(NamedTuple):
    """Something in a folder that could not be used; `line` is 0 if it concerns the whole file."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """`manifest.jsonl line 3: no url`."""
        return f"{self.file}{f' line {self.line}' if self.line else ''}: {self.message}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: an address and what is stored for it; `fault` if its file may not be opened."""

    url: str
    file: Path | None = None
    status: int | None = None
    content_type: str | None = None
    fetched: str | None = None
    fault: str = ""

    def read(self, limits: Limits = DEFAULT_LIMITS) -> Document | Unchecked:
        """The document in the entry's file, or why there is none."""
        if self.fault:
            return Unchecked(self.url, Reason.NOT_SUPPLIED, self.fault)
        try:
            n_bytes = self.file.stat().st_size if self.file else 0
            if n_bytes > limits.max_bytes:
                return too_large(self.url, n_bytes, limits.max_bytes)
            data = self.file.read_bytes() if self.file else b""
        except OSError as error:
            detail = f"the stored copy cannot be opened: {error.strerror}"
            return Unchecked(self.url, Reason.NOT_SUPPLIED, detail)
        return read_bytes(
            data,
            # A saved file's name may say more than its address: report.pdf for /download?id=7.
            url=self.url,
            content_type=self.content_type or _type_by_name(self.file),
            fetched=self.fetched,
            status=self.status,
            limits=limits,
        )


def entries(path: Path) -> Iterator[Entry | Problem]:
    """The lines of a manifest in order; a faulty file gives its entry and, before it, a problem."""
    for line in lines(path):
        try:
            if line.broken:
                raise ValueError(line.broken)
            entry = _entry(json.loads(line.data), path.parent)
        except (ValueError, RecursionError) as error:
            yield Problem(path.name, line.number, str(error))
            continue
        if entry.fault:
            yield Problem(path.name, line.number, entry.fault)
        yield entry


def is_inside(folder: Path, path: Path) -> bool:
    """Whether `path`, with every symbolic link followed, lies in `folder`."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # loops of links, NUL in a name
        return False


def _entry(record: Any, folder: Path) -> Entry:
    """The entry in a line; a `ValueError` says what is wrong with the line."""
    if not isinstance(record, dict):
        raise ValueError("an object was expected")
    url, name, status = (_field(record, key) for key in ("url", "file", "status"))
    if not url:
        raise ValueError("no url")
    if status and not (status.isascii() and status.isdigit()):
        raise ValueError(f"status {status!r} is no number")
    if not name and (not status or int(status) < 300):
        raise ValueError("neither a file nor the status of a failure")
    return Entry(
        url=url,
        file=folder / name if name else None,
        status=int(status) if status else None,
        content_type=_field(record, "content_type"),
        fetched=_field(record, "fetched"),
        fault=_fault(folder, name) if name else "",
    )


def _field(record: Mapping[str, Any], key: str) -> str | None:
    """A string or a whole number as a string; `None` if it is not there."""
    value = record.get(key)
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return None if value in (None, "") else str(value).strip()
    raise ValueError(f"{key} should be a string, it is {json.dumps(value)[:60]}")


def _fault(folder: Path, name: str) -> str:
    if Path(name).is_absolute() or not is_inside(folder, folder / name):
        return f"the file {name!r} is outside the folder, which is not allowed"
    return "" if (folder / name).is_file() else f"the file {name!r} is not there"


def _type_by_name(file: Path | None) -> str | None:
    name = file.name.lower().removesuffix(".gz") if file else ""
    return {".md": "text/markdown", ".txt": "text/plain"}.get(Path(name).suffix)
