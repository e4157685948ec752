"""Receive uploaded files.

Files are written to disk as they arrive. Each upload has a folder. It is locked while it is being
filled, and referenced by a job afterwards. A folder that is neither was left by a killed process
and is removed. A file is stored under a number, plus the extension of its original name if that is
alphanumeric. Starlette's form parser uses the same library but is unsuitable: it accepts a
truncated body without its last file, keeps files of up to 1 MB in memory (1 GB for 1,000 files),
and has one size limit for all fields.
"""

import re
import shutil
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

from anyio.to_thread import run_sync
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from pincite.durable import WriterLock
from pincite_server.problems import unknown_field
from pincite_server.requests import SentFile
from pincite_server.tables import new_id

MAX_FILES = 1_000
MAX_FIELD_BYTES = 10_000
MAX_NAME = 300
SEVERAL = "corpus"  # a field that may be repeated; its values are joined by spaces
_ENDING = re.compile(r"(\.[a-z0-9]{1,8}){1,2}$")


class BadForm(ValueError):
    """The body is not a valid form; the message says why."""


@dataclass(slots=True)
class Form:
    """The fields and files of a form; each file with the field that it was sent in."""

    files: list[tuple[str, SentFile]] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)


async def receive_form(
    content_type: str,
    body: AsyncIterator[bytes],
    folder: Path,
    known: Collection[str],
    long: Mapping[str, int],
) -> Form:
    """Parse a multipart form with the `known` fields, writing its files to the existing `folder`.

    `long` gives the limits in bytes of fields that may exceed `MAX_FIELD_BYTES`.

    Raises:
        BadForm: the body is not a multipart form, is truncated, or has unknown or too many parts.
        OSError: the disk is full.
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise BadForm("Expected files as multipart/form-data.")
    reader = _Reader(folder, known, long)
    names = (name for name in dir(reader) if name.startswith("on_"))
    callbacks: Any = {name: getattr(reader, name) for name in names}
    try:
        parser = MultipartParser(boundary, callbacks)
        async for chunk in body:
            await run_sync(parser.write, chunk)  # writes to disk
        parser.finalize()
    except FormParserError as error:
        raise BadForm("The multipart body is malformed.") from error
    finally:
        reader.close()
    if not reader.ended:
        raise BadForm("The multipart body ends too early.")
    return reader.form


class _Reader:
    """The parser's callbacks, by its names; it calls them for each fragment of a part or header."""

    def __init__(self, folder: Path, known: Collection[str], long: Mapping[str, int]) -> None:
        self.form, self.ended = Form(), False
        self._folder, self._known, self._long = folder, known, long
        self._file: IO[bytes] | None = None
        self._name, self._field, self._n_bytes = "", "", 0
        self._header, self._value, self._disposition = b"", b"", b""
        self._data = bytearray()

    def close(self) -> None:
        if self._file:
            self._file.close()

    def on_part_begin(self) -> None:
        self._disposition, self._data, self._n_bytes = b"", bytearray(), 0

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def on_headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._field = _text(options.get(b"name", b""))
        if self._field not in self._known:
            raise BadForm(f"{self._field or 'A part'}: {unknown_field(self._field, self._known)}.")
        if b"filename" not in options:
            return
        if len(self.form.files) >= MAX_FILES:
            raise BadForm(f"At most {MAX_FILES:,} files may be uploaded at once.")
        self._name = _text(options[b"filename"])[:MAX_NAME]
        path = self._folder / f"{len(self.form.files) + 1:05d}{_ending(self._name)}"
        self._file = path.open("xb")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file:
            self._file.write(data[start:end])
            self._n_bytes += end - start
            return
        limit = self._long.get(self._field, MAX_FIELD_BYTES)
        if len(self._data) + end - start > limit:
            raise BadForm(f"{self._field or 'A field'} may have at most {limit:,} bytes.")
        self._data += data[start:end]

    def on_part_end(self) -> None:
        if self._file is None:
            value = _text(self._data)
            if self._field == SEVERAL:
                value = f"{self.form.fields.get(SEVERAL, '')} {value}".strip()[:MAX_FIELD_BYTES]
            self.form.fields[self._field] = value
            return
        path = Path(self._file.name)
        self._file.close()
        self._file = None
        if self._name or self._n_bytes:
            name = self._name or path.name
            file = SentFile(stored=path.name, name=name, n_bytes=self._n_bytes)
            self.form.files.append((self._field, file))
        else:  # browsers send an empty part if no file was chosen
            path.unlink()

    def on_end(self) -> None:
        self.ended = True


def _text(data: bytes | bytearray) -> str:
    """Decode UTF-8, replacing invalid bytes and NULs, which databases refuse."""
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")


def _ending(name: str) -> str:
    match = _ENDING.search(name.lower())
    return match[0] if match else ""


ID_LETTERS = 22
_UPLOAD_ID = re.compile(rf"[A-Za-z0-9_-]{{{ID_LETTERS}}}")
_UNPACKED = "unpacked"  # next to the folder of uploads, excluded from backups


class Sources(NamedTuple):
    """The folder of the received files, and an empty folder to unpack them into."""

    stored: Path
    unpacked: Path


class Uploads:
    """The folder of a server's uploads."""

    def __init__(self, folder: Path) -> None:
        """Create `folder` with the first upload."""
        self._folder = folder
        self._unpacked = folder.parent / _UNPACKED

    def at(self, upload_id: str) -> Path:
        """Return the folder with the files of an upload. Raises ValueError: the id is malformed."""
        if not _UPLOAD_ID.fullmatch(upload_id):
            raise ValueError(f"{upload_id!r} is not the id of an upload")
        return self._folder / upload_id / "files"

    @contextmanager
    def filling(self) -> Iterator[str]:
        """Create an upload and yield its id; `sweep` skips it during the block.

        The upload is removed if the block raises.
        """
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
        stored = self.at(upload_id)
        self._unpacked.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryDirectory(prefix=upload_id, dir=self._unpacked) as folder:
            yield Sources(stored, Path(folder))

    def remove(self, upload_id: str) -> None:
        shutil.rmtree(self.at(upload_id).parent, ignore_errors=True)

    def sweep(self, named: Collection[str]) -> int:
        """Remove uploads that are neither in `named` nor being filled; return their number."""
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
