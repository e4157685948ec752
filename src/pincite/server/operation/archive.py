"""A server's whole state as one file: a tar archive with a list of what is in it and its checksums.

The list comes last, so that an archive that was cut short is known as such, and everything is
written beside its place first, so that what is there is whole or not there at all.
"""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pincite.errors import InputError, PinciteError

FORMAT = 1
LIST = "manifest.json"
PIECE = 1 << 20


class DamagedArchive(PinciteError):
    """A backup that is none, was cut short or was changed."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive says it holds."""

    about: dict[str, Any]  # of whoever made it
    files: dict[str, str]  # name in the archive → SHA-256
    n_bytes: int


class Writer:
    """Writes an archive; it appears under its name when it is complete."""

    def __init__(self, path: Path) -> None:
        """Raises InputError where it cannot be written."""
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        try:
            handle = os.open(self._part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        except OSError as error:
            raise InputError(f"{self._part} cannot be written: {error.strerror}.") from error
        self._raw = os.fdopen(handle, "wb")
        self._tar = tarfile.open(fileobj=self._raw, mode="w:gz", compresslevel=3)  # noqa: SIM115
        self._files: dict[str, str] = {}
        self._n_bytes = 0

    def add(self, path: Path, name: str) -> None:
        """A file, as it is now."""
        with path.open("rb") as source:
            status = os.fstat(source.fileno())
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = status.st_size, int(status.st_mtime), 0o600
            hashed = _Hashed(source)
            self._tar.addfile(entry, hashed)
        self._files[name] = hashed.digest
        self._n_bytes += entry.size

    def close(self, about: dict[str, Any]) -> Contents:
        """Write the list, and give the file its name."""
        listed = {"format": FORMAT, "about": about, "files": self._files, "bytes": self._n_bytes}
        data = json.dumps(listed, indent=1).encode()
        entry = tarfile.TarInfo(LIST)
        entry.size, entry.mode = len(data), 0o600
        self._tar.addfile(entry, io.BytesIO(data))
        self._tar.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()
        self._part.replace(self._path)
        return Contents(about, dict(self._files), self._n_bytes)

    def discard(self) -> None:
        """Leave nothing behind, unless it was completed."""
        self._raw.close()
        self._part.unlink(missing_ok=True)


class _Hashed(io.RawIOBase):
    """A file that notes what was read of it."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source, self._sum = source, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._sum.update(data)
        return data

    @property
    def digest(self) -> str:
        return self._sum.hexdigest()


def unpack(path: Path, folder: Path) -> Contents:
    """Write an archive's files into an empty folder, each compared with its checksum.

    Raises:
        InputError: there is no such file.
        DamagedArchive: it is none, incomplete or changed; the folder may hold a part of it.
    """
    found: dict[str, str] = {}
    listed: dict[str, Any] | None = None
    try:
        with tarfile.open(path, "r:gz") as tar:
            for entry, source in _files(tar):
                if entry.name == LIST:
                    listed = json.loads(source.read())
                else:
                    found[entry.name] = _write(source, folder / _inside(entry.name))
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there.") from error
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise DamagedArchive(f"{path} is no whole backup: {error}.") from error
    return _compared(path, listed, found)


def _files(tar: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    for entry in tar:
        source = tar.extractfile(entry) if entry.isreg() else None
        if source is None:
            raise ValueError(f"{entry.name!r} is no file")
        yield entry, source


def _inside(name: str) -> Path:
    """A name that leads nowhere else."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in name:
        raise ValueError(f"{name!r} leads out of the archive")
    return Path(*path.parts)


def _write(source: IO[bytes], path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = hashlib.sha256()
    with path.open("xb") as target:
        while data := source.read(PIECE):
            digest.update(data)
            target.write(data)
        target.flush()
        os.fsync(target.fileno())
    return digest.hexdigest()


def _compared(path: Path, listed: dict[str, Any] | None, found: dict[str, str]) -> Contents:
    if listed is None:
        raise DamagedArchive(f"{path} is no whole backup: its list of files is missing.")
    if listed.get("format") != FORMAT:
        was = listed.get("format")
        raise DamagedArchive(f"{path} is of format {was}; this Pincite reads {FORMAT}. Update it.")
    wrong = sorted(
        name for name in {*listed["files"], *found} if listed["files"].get(name) != found.get(name)
    )
    if wrong:
        shown = ", ".join(wrong[:5])
        raise DamagedArchive(f"{path} was changed or damaged: {len(wrong)} files ({shown}).")
    return Contents(listed["about"], found, listed["bytes"])
