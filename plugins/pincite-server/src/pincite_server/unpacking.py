"""Unpack the uploaded copies of an article's sources.

They keep their original names and folders, because a manifest may refer to them. Names and zip
files are untrusted: no name can escape the folder, no link is created, and the unpacked size is
limited.
"""

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path

from pincite.documents.body import MAX_RATIO, SMALL
from pincite.verbs.verify.article_files import Unused
from pincite_server.requests import SentFile

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
    """Copy the files of an upload to the empty folder `into`, unpacking zip files.

    Returns the refused files. Files outside zip archives become hard links to those in `stored`.
    """
    folder = _Folder(into)
    for number, file in enumerate(files):
        try:
            if file.name.lower().endswith(ZIP):
                folder.unpack(stored / file.stored, file.name)
            else:
                folder.add(file.name, parts_of(file.name), partial(os.link, stored / file.stored))
        except _Full as full:
            folder.unused += [Unused(each.name, full.args[0]) for each in files[number:]]
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
    encoded = b""
    with suppress(UnicodeEncodeError):
        encoded = part.encode()
    return part != ".." and part.isprintable() and 0 < len(encoded) <= MAX_NAME_BYTES


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
