"""Multipart forms with files, which are written to the disk as they arrive and kept for a job.

Each upload has a folder, which is locked while it is filled and named by a job afterwards; a folder
that is neither was left by a killed process and is removed. On the disk a file is called by a
number and the ending of its sender's name, if that has letters and digits only.

Starlette's form parser, which uses the same library, will not do: it accepts a body that was cut
short without its last file, keeps files up to 1 MB in memory (1 GB for 1,000 files), and has one
size limit for all fields.
"""

import re
import shutil
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, NamedTuple

from anyio.to_thread import run_sync
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from pincite.corpus.durable import WriterLock
from pincite.server.tables import new_id

if TYPE_CHECKING:  # the library has no such name while it runs
    from python_multipart.multipart import MultipartCallbacks

MAX_FILES = 1_000
MAX_FIELDS = 20
MAX_FIELD_BYTES = 10_000
MAX_NAME = 300
SEVERAL = "corpus"  # a field that may be repeated; its values are joined by spaces
_ENDING = re.compile(r"(\.[a-z0-9]{1,8}){1,2}$")


class BadForm(ValueError):
    """The body is not a valid form; the message says why."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that was sent."""

    path: Path
    name: str  # the sender's: a text, never a path
    n_bytes: int
    field: str = ""  # of the form


@dataclass(slots=True)
class Form:
    """The fields and files of a form."""

    files: list[Sent] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)


async def received(
    content_type: str,
    body: AsyncIterator[bytes],
    folder: Path,
    long: Mapping[str, int],
) -> Form:
    """Read a form; its files are written to `folder`.

    Args:
        content_type: of the body, with its boundary.
        body: its chunks.
        folder: an existing folder.
        long: limits in bytes of fields that may exceed `MAX_FIELD_BYTES`.

    Raises:
        BadForm: it is not a multipart form, is cut short, or has too many parts.
        OSError: the disk is full.
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise BadForm("Expected files as multipart/form-data.")
    reader = _Reader(folder, long)
    parser = MultipartParser(boundary, reader.callbacks())
    try:
        async for chunk in body:
            await run_sync(parser.write, chunk)  # it writes to the disk
        parser.finalize()
    except FormParserError as error:
        raise BadForm("The multipart body is malformed.") from error
    finally:
        reader.close()
    if not reader.ended:
        raise BadForm("The multipart body ends too early.")
    return reader.form


class _Reader:
    """Callbacks of the parser, which calls them for each piece of a part or header."""

    def __init__(self, folder: Path, long: Mapping[str, int]) -> None:
        self.form, self.ended = Form(), False
        self._folder, self._long = folder, long
        self._file: IO[bytes] | None = None
        self._name, self._field, self._n_bytes = "", "", 0
        self._header, self._value, self._disposition = b"", b"", b""
        self._data = bytearray()

    def callbacks(self) -> "MultipartCallbacks":
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _begin(self) -> None:
        self._disposition, self._data, self._n_bytes = b"", bytearray(), 0

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._field = _text(options.get(b"name", b""))
        if b"filename" not in options:
            if len(self.form.fields) >= MAX_FIELDS:
                raise BadForm(f"A form may have {MAX_FIELDS} fields.")
            return
        if len(self.form.files) >= MAX_FILES:
            raise BadForm(f"At most {MAX_FILES:,} files may be sent at once.")
        self._name = _text(options[b"filename"])[:MAX_NAME]
        path = self._folder / f"{len(self.form.files) + 1:05d}{_ending(self._name)}"
        self._file = path.open("xb")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file:
            self._file.write(data[start:end])
            self._n_bytes += end - start
        elif len(self._data) + end - start > self._room:
            raise BadForm(f"{self._field or 'A field'} may have {self._room:,} bytes.")
        else:
            self._data += data[start:end]

    @property
    def _room(self) -> int:
        return self._long.get(self._field, MAX_FIELD_BYTES)

    def _part_end(self) -> None:
        if self._file is None:
            said = _text(self._data)
            if self._field == SEVERAL:
                said = f"{self.form.fields.get(SEVERAL, '')} {said}".strip()[:MAX_FIELD_BYTES]
            self.form.fields[self._field] = said
            return
        path = Path(self._file.name)
        self._file.close()
        self._file = None
        if self._name or self._n_bytes:
            name = self._name or path.name
            self.form.files.append(Sent(path, name, self._n_bytes, self._field))
        else:  # what a browser sends if no file was chosen
            path.unlink()

    def _end(self) -> None:
        self.ended = True


def _text(data: bytes | bytearray) -> str:
    """Decode UTF-8, replacing invalid bytes and NULs, which databases refuse."""
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")


def _ending(name: str) -> str:
    match = _ENDING.search(name.lower())
    return match[0] if match else ""


ID_LETTERS = 22
_UPLOAD_ID = re.compile(rf"[A-Za-z0-9_-]{{{ID_LETTERS}}}")


_UNPACKED = "unpacked"  # beside the folder of uploads, outside of backups


class Sources(NamedTuple):
    """The folder of the received files, and an empty one to unpack them into."""

    stored: Path
    laid_out: Path


class Uploads:
    """The folder of a server's uploads."""

    def __init__(self, folder: Path) -> None:
        """`folder`: created with the first upload."""
        self._folder = folder
        self._unpacked = folder.parent / _UNPACKED

    def at(self, upload_id: str) -> Path:
        """The folder with the files of an upload."""
        if not _UPLOAD_ID.fullmatch(upload_id):
            raise ValueError(f"{upload_id!r} is not the id of an upload")
        return self._folder / upload_id / "files"

    @contextmanager
    def filling(self) -> Iterator[str]:
        """The id of a new upload, which `sweep` spares during the block; removed if that fails."""
        upload_id = new_id()
        files = self.at(upload_id)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.parent.mkdir(mode=0o700)
        try:
            with WriterLock(files.parent):
                files.mkdir(mode=0o700)
                yield upload_id
        except BaseException:
            self.remove(upload_id)
            raise

    @contextmanager
    def unpacking(self, upload_id: str) -> Iterator[Sources]:
        """An upload and a folder to unpack it into, which is removed after the block."""
        stored = self.at(upload_id)
        self._unpacked.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryDirectory(prefix=upload_id, dir=self._unpacked) as folder:
            yield Sources(stored, Path(folder))

    def remove(self, upload_id: str) -> None:
        """Remove an upload with its files, if it exists."""
        shutil.rmtree(self.at(upload_id).parent, ignore_errors=True)

    def sweep(self, named: Collection[str]) -> int:
        """Remove uploads that are not in `named` and not being filled; returns how many."""
        swept = 0
        for folder in self._unpacked.glob("*"):  # left by killed jobs
            if folder.name[:ID_LETTERS] not in named:
                shutil.rmtree(folder, ignore_errors=True)
        for folder in sorted(self._folder.glob("*")) if self._folder.is_dir() else ():
            if folder.name in named or not _UPLOAD_ID.fullmatch(folder.name):
                continue
            with WriterLock(folder).attempt() as is_free:
                if is_free:
                    self.remove(folder.name)
                    swept += 1
        return swept
