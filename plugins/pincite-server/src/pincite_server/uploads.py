"""Uploaded files: receive them, and unpack the copies of an article's sources.

Files are written to disk as they arrive. Each upload has a folder. It is locked while it is being
filled, and referenced by a job afterwards. A folder that is neither was left by a killed process
and is removed. A file is stored under a number, plus the extension of its original name if that is
alphanumeric. Starlette's form parser uses the same library but is unsuitable: it accepts a
truncated body without its last file, keeps files of up to 1 MB in memory (1 GB for 1,000 files),
and has one size limit for all fields.

Unpacked files keep their original names and folders, because a manifest may refer to them. Names
and zip files are untrusted: no name can escape the folder, no link is created, and the unpacked
size is limited.
"""

import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

from anyio.to_thread import run_sync
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from pincite.documents.body import MAX_RATIO, SMALL
from pincite.durable import WriterLock
from pincite.verbs.verify.article_files import Unused
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
    request: Request, folder: Path, known: Collection[str], long: Mapping[str, int]
) -> Form:
    """Parse a multipart form with the `known` fields, writing its files to the existing `folder`.

    `long` gives the limits in bytes of fields that may exceed `MAX_FIELD_BYTES`.

    Raises BadForm: not a multipart form, truncated, or unknown or too many parts. OSError: no room.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise BadForm("Expected files as multipart/form-data.")
    reader = _Reader(folder, known, long)
    names = (name for name in dir(reader) if name.startswith("on_"))
    callbacks: Any = {name: getattr(reader, name) for name in names}
    try:
        parser = MultipartParser(boundary, callbacks)
        async for chunk in request.stream():
            await run_sync(parser.write, chunk)  # writes to disk
        parser.finalize()
    except ClientDisconnect as error:
        raise BadForm("The connection was closed before the end of the form.") from error
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
        """Create an upload and yield its id; it is removed if the block raises."""
        upload_id = new_id()
        files = self.at(upload_id)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.parent.mkdir(mode=0o700)
        try:
            with WriterLock(files.parent):  # `sweep` skips it meanwhile
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
        for folder in sorted(self._folder.glob("*")):
            if folder.name in named or not _UPLOAD_ID.fullmatch(folder.name):
                continue
            with WriterLock(folder).attempt() as is_free:
                if is_free:
                    self.remove(folder.name)
                    swept += 1
        return swept


# ── Unpacking ────────────────────────────────────────────────────────────────────────────────────

MAX_UNPACKED_FILES = 2_000  # after unpacking; a long article cites a few hundred sources
MAX_BYTES = 1_000_000_000  # of all unpacked files: ten times a typical upload
MAX_DIRECTORY = 1_000_000  # bytes of a zip's central directory: some 10,000 names
MAX_DEPTH = 20  # nested folders
MAX_NAME_BYTES = 200  # file systems allow 255
_CHUNK = 1 << 20
ZIP = ".zip"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError)
_CLUTTER = frozenset({"__macosx", "thumbs.db", "desktop.ini"})
_END, _END64 = b"PK\x05\x06", b"PK\x06\x07"
_END_BYTES = 65_557  # a zip's end record with the longest comment


class Why(StrEnum):
    """Why an uploaded file is not unpacked."""

    NO_ZIP = "no_zip"
    ENCRYPTED = "encrypted"
    UNSAFE = "unsafe"
    LINK = "link"
    NESTED = "nested"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    TWICE = "twice"


class _Full(Exception):
    """The limit on files or bytes has been reached; the argument is the reason."""


def unpack_files(stored: Path, files: Sequence[SentFile], into: Path) -> list[Unused]:
    """Link files of an upload into an empty folder, unpacking zip files; return those refused."""
    folder = _Folder(into)
    for number, file in enumerate(files):
        try:
            if file.name.lower().endswith(ZIP):
                folder.unpack(stored / file.stored, file.name)
            else:
                folder.add(file.name, parts_of(file.name), partial(os.link, stored / file.stored))
        except _Full as full:
            folder.unused += [Unused(file.name, full.args[0]) for file in files[number:]]
            break
    return folder.unused


class _Folder:
    """The target folder and the refused files."""

    def __init__(self, folder: Path) -> None:
        self.unused: list[Unused] = []
        self._folder, self._n_files, self._n_bytes = folder, 0, 0

    def add(
        self, name: str, parts: tuple[str, ...] | None, write: Callable[[Path], object]
    ) -> None:
        """Create a file with `write`, unless it is clutter or refused."""
        if parts is None:
            self.refuse(name, Why.UNSAFE)
        if not parts:
            return
        self._n_files += 1
        if self._n_files > MAX_UNPACKED_FILES:
            raise _Full(Why.TOO_MANY)
        path = self._folder.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)
        except (FileExistsError, NotADirectoryError):
            self.refuse(name, Why.TWICE)

    def refuse(self, name: str, why: Why, detail: str = "") -> None:
        self.unused.append(Unused(name, why, detail[:200]))

    def unpack(self, path: Path, name: str) -> None:
        inside = parts_of(name)
        if not inside or _directory_bytes(path) > MAX_DIRECTORY:
            self.refuse(name, Why.TOO_MANY if inside else Why.UNSAFE)
            return
        try:
            with zipfile.ZipFile(path) as packed:
                for entry in packed.infolist():
                    entry_name = "/".join((*inside, entry.filename))
                    parts = parts_of(entry.filename)
                    if why := _why_refused(entry, parts):
                        self.refuse(entry_name, why)
                    elif parts and not entry.is_dir():
                        write = partial(self._extract, packed, entry, entry_name)
                        self.add(entry_name, (*inside, *parts), write)
        except _DAMAGED as error:
            self.refuse(name, Why.NO_ZIP, str(error))

    def _extract(
        self, packed: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, path: Path
    ) -> None:
        """Extract a file, unless it exceeds the limits, whatever size the zip declares."""
        left = max(SMALL, MAX_RATIO * entry.compress_size)
        try:
            with packed.open(entry) as source, path.open("xb") as target:
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    self._n_bytes += len(chunk)
                    if self._n_bytes > MAX_BYTES:
                        path.unlink()
                        raise _Full(Why.TOO_LARGE)
                    if left < 0:
                        path.unlink()
                        self.refuse(name, Why.TOO_LARGE)
                        return
                    target.write(chunk)
        except _DAMAGED as error:
            path.unlink(missing_ok=True)
            self.refuse(name, Why.NO_ZIP, str(error))


def parts_of(name: str) -> tuple[str, ...] | None:
    r"""The path components of a name; empty for system clutter; None if it is unsafe.

    >>> parts_of("pages/town.html"), parts_of("__MACOSX/._town.html"), parts_of("..\\town.html")
    (('pages', 'town.html'), (), None)
    """
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    absolute = name.startswith(("/", "\\")) or (parts and parts[0].endswith(":"))
    if absolute or len(parts) > MAX_DEPTH or not all(map(_is_safe, parts)):
        return None
    if any(part.startswith(".") or part.lower() in _CLUTTER for part in parts):
        return ()
    return tuple(parts)


def _is_safe(part: str) -> bool:
    # A lone surrogate cannot be encoded, and is not printable.
    return part != ".." and part.isprintable() and len(part.encode()) <= MAX_NAME_BYTES


def _why_refused(entry: zipfile.ZipInfo, parts: tuple[str, ...] | None) -> Why | None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if parts is None:
        return Why.UNSAFE
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return Why.LINK
    if entry.flag_bits & 1:
        return Why.ENCRYPTED
    if parts and parts[-1].lower().endswith(ZIP):
        return Why.NESTED
    # Python decompresses other methods in whole chunks, however few bytes are requested.
    common = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return None if common else Why.NO_ZIP


def _directory_bytes(path: Path) -> int:
    """The size that a zip declares for its central directory; 0 if the file is not a zip."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_BYTES))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0:
        return 0
    if tail[max(0, at - 20) :].startswith(_END64):  # zip64: for more than 65,535 files or 4 GB
        return MAX_DIRECTORY + 1
    return int.from_bytes(tail[at + 12 : at + 16], "little")
