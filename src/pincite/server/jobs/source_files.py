"""Sources that somebody sends with an article, as the folder that `verify --sources` reads.

Files keep the names and folders that their sender has for them, since a manifest names them by
these; zip files are unpacked. Strangers choose the names and pack the files, so no name leads out
of the folder, nothing becomes a link, and what a zip may unpack to is bounded.
"""

import os
import stat
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, NamedTuple

from pincite.documents.docx import MAX_RATIO, SMALL
from pincite.server.requests import SentFile

MAX_FILES = 2_000  # unpacked ones too; a long article cites a few hundred sources
MAX_BYTES = 1_000_000_000  # of what zip files unpack to, together: ten times a usual upload
MAX_DIRECTORY = 1_000_000  # bytes of a zip's list of files: some 10,000 names
MAX_DEPTH = 20  # folders in folders
MAX_NAME = 200  # bytes; file systems take 255
_CHUNK = 1 << 20
ZIP = ".zip"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError)
_CLUTTER = frozenset({"__macosx", "thumbs.db", "desktop.ini"})
_END, _END64 = b"PK\x05\x06", b"PK\x06\x07"
_END_BYTES = 65_557  # of a zip's last record with the longest comment


class Why(StrEnum):
    """Why a file that was sent is of no use."""

    NO_ZIP = "no_zip"
    ENCRYPTED = "encrypted"
    UNSAFE = "unsafe"
    LINK = "link"
    NESTED = "nested"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    TWICE = "twice"
    UNREADABLE = "unreadable"
    NO_ADDRESS = "no_address"
    NO_MATCH = "no_match"


class Unused(NamedTuple):
    """A file that was sent and cannot be used; `file` as its sender calls it."""

    file: str
    why: Why
    detail: str = ""


class _Full(Exception):
    """No more files or bytes may come."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


def laid_out(stored: Path, files: Sequence[SentFile], into: Path) -> list[Unused]:
    """Put the files of an upload into a folder, zip files unpacked; comes back with the rest.

    Args:
        stored: the folder that they were received in.
        files: their names there and at their sender's.
        into: an empty folder.
    """
    folder = _Folder(into)
    for number, file in enumerate(files):
        try:
            if file.name.lower().endswith(ZIP):
                folder.unpack(stored / file.stored, file.name)
            else:
                folder.link(stored / file.stored, file.name)
        except _Full as full:
            folder.unused += [Unused(each.name, full.why) for each in files[number:]]
            break
    return folder.unused


class _Folder:
    """A folder that fills, and what could not be put into it."""

    def __init__(self, folder: Path) -> None:
        self.unused: list[Unused] = []
        self._folder, self._n_files, self._n_bytes = folder, 0, 0

    def link(self, path: Path, name: str) -> None:
        """Take a file that was sent as it is."""
        parts = parts_of(name)
        if parts is None:
            self._refuse(name, Why.UNSAFE)
        elif parts:
            self._count()
            try:
                os.link(path, self._place(parts))
            except FileExistsError:
                self._refuse(name, Why.TWICE)

    def unpack(self, path: Path, name: str) -> None:
        """Take what is in a zip file, into a folder of its name."""
        inside = parts_of(name)
        if not inside:
            self._refuse(name, Why.UNSAFE)
        elif _directory_bytes(path) > MAX_DIRECTORY:
            self._refuse(name, Why.TOO_MANY)
        else:
            try:
                with zipfile.ZipFile(path) as packed:
                    for entry in packed.infolist():
                        self._take(packed, entry, inside)
            except _DAMAGED as error:
                self._refuse(name, Why.NO_ZIP, str(error))

    def _take(
        self, packed: zipfile.ZipFile, entry: zipfile.ZipInfo, inside: tuple[str, ...]
    ) -> None:
        name = "/".join((*inside, entry.filename))
        parts = parts_of(entry.filename)
        if why := _refused(entry, parts):
            self._refuse(name, why)
        elif parts and not entry.is_dir():
            self._count()
            try:
                path = self._place((*inside, *parts))
                with packed.open(entry) as source, path.open("xb") as to:
                    fits = self._copied(source, to, max(SMALL, MAX_RATIO * entry.compress_size))
            except FileExistsError:
                self._refuse(name, Why.TWICE)
            except _DAMAGED as error:
                path.unlink(missing_ok=True)
                self._refuse(name, Why.NO_ZIP, str(error))
            else:
                if not fits:
                    path.unlink()
                    self._refuse(name, Why.TOO_LARGE)

    def _copied(self, source: IO[bytes], to: IO[bytes], most: int) -> bool:
        """Whether a file unpacks to so many bytes at most, whatever size the zip states for it."""
        n_bytes = 0
        while chunk := source.read(_CHUNK):
            n_bytes += len(chunk)
            self._n_bytes += len(chunk)
            if self._n_bytes > MAX_BYTES:
                Path(to.name).unlink()
                raise _Full(Why.TOO_LARGE)
            if n_bytes > most:
                return False
            to.write(chunk)
        return True

    def _refuse(self, name: str, why: Why, detail: str = "") -> None:
        self.unused.append(Unused(name, why, detail[:200]))

    def _count(self) -> None:
        self._n_files += 1
        if self._n_files > MAX_FILES:
            raise _Full(Why.TOO_MANY)

    def _place(self, parts: Sequence[str]) -> Path:
        """Where a file is to lie; its folders are made.

        Raises:
            FileExistsError: one of these is a file already.
        """
        path = self._folder.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except NotADirectoryError as error:
            raise FileExistsError(str(path)) from error
        return path


def parts_of(name: str) -> tuple[str, ...] | None:
    r"""A name's folders and file; empty for what nobody meant to send; None if it is unsafe.

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
    encoded = b""
    with suppress(UnicodeEncodeError):
        encoded = part.encode()
    return part != ".." and part.isprintable() and 0 < len(encoded) <= MAX_NAME


def _refused(entry: zipfile.ZipInfo, parts: tuple[str, ...] | None) -> Why | None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if parts is None:
        return Why.UNSAFE
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return Why.LINK
    if entry.flag_bits & 1:
        return Why.ENCRYPTED
    if parts and parts[-1].lower().endswith(ZIP):
        return Why.NESTED
    # Python unpacks the other methods by whole chunks, however little is asked for.
    common = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return None if common else Why.NO_ZIP


def _directory_bytes(path: Path) -> int:
    """How long a zip's list of files is, before anything reads it; 0 if it is no zip."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_BYTES))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0:
        return 0
    if tail[max(0, at - 20) :].startswith(_END64):  # for more than 65,535 files or 4 GB
        return MAX_DIRECTORY + 1
    return int.from_bytes(tail[at + 12 : at + 16], "little")
