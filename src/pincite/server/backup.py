"""Copies of a running server, and a server made from one: a tar archive with a list of checksums.

The database is copied as of one moment, by its own means: SQLite's online backup, PostgreSQL's
`pg_dump`. The corpora and own copies follow, each while nobody writes it. A copy is restored into
an empty place, or into one whose contents it may replace; never under a server that runs. The list
comes last, so that an archive that was cut short is known as such, and everything is written beside
its place first, so that what is there is whole or not there at all.
"""

import fcntl
import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pincite.corpus.durable import WriterLock
from pincite.errors import ConfigError, InputError, PinciteError
from pincite.library.private_copies import INDEX, OwnCopies
from pincite.server.corpora import CorpusRegister
from pincite.server.database import Database, DatabaseError, made_folder
from pincite.server.private_copies import SHELVES
from pincite.server.settings import ServerSettings
from pincite.server.tables import now

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
        with gzip.open(path) as unpacked, tarfile.open(fileobj=unpacked, mode="r:") as tar:
            for entry, source in _files(tar):
                if entry.name == LIST:
                    listed = json.loads(source.read())
                else:
                    found[entry.name] = _write(source, folder / _inside(entry.name))
            while unpacked.read(PIECE):  # to its checksum, behind the end of the tar
                pass
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there.") from error
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
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


SQLITE, DUMP, FILES = "database.sqlite", "database.dump", "files"
LOCKED = ("corpora", "uploads")  # each folder in these has a writer's lock
KEPT = (*LOCKED, SHELVES)  # of the data folder
IN_USE = "in-use"


class InUse(PinciteError):
    """A server or worker runs over what is to be replaced."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup holds."""

    n_files: int
    n_bytes: int
    elsewhere: tuple[str, ...]  # where linked corpora lie, which are not in it


@contextmanager
def using(folder: Path) -> Iterator[None]:
    """While this lasts, nothing is restored over the folder; the system ends it with the process.

    Raises:
        InUse: something is being restored.
    """
    with _locked(folder, fcntl.LOCK_SH, f"{folder} is being restored. Start again after that."):
        yield


def backup(settings: ServerSettings, path: Path, *, replace: bool = False) -> Copied:
    """Copy everything into one file, which only its owner can read; the server may run.

    Raises:
        InputError: the file is there already, or cannot be written.
        ConfigError: PostgreSQL's client is not installed.
        CorpusError: a corpus is being written.
        DatabaseError: the database does not answer.
    """
    if path.exists() and not replace:
        raise InputError(f"{path} is there already. Name another, or add --force.")
    database = Database(settings.database_url)
    writer = Writer(path)
    try:
        with tempfile.TemporaryDirectory(prefix="pincite-") as temporary:
            revision = database.revision()
            name = SQLITE if database.is_sqlite else DUMP
            _copy(database, Path(temporary) / name)
            writer.add(Path(temporary) / name, name)
            _add_copies(writer, settings.folder, Path(temporary))
        _add_files(writer, settings.folder)
        about = {"pincite": version("pincite"), "created": now(), "revision": revision}
        done = writer.close(about | {"database": name})
        return Copied(len(done.files), done.n_bytes, _elsewhere(database, settings.folder))
    finally:
        writer.discard()
        database.close()


def restore(settings: ServerSettings, path: Path, *, replace: bool = False) -> Contents:
    """Make a server's state what it was.

    Raises:
        InputError: there is no such file, or something is there that it would replace.
        DamagedArchive: nothing was changed.
        InUse: a server or worker runs.
        ConfigError: it is of another kind of database, or PostgreSQL's client is not installed.
        DatabaseError: the database does not answer, or the copy is of a newer Pincite.
    """
    folder = made_folder(settings.folder)
    database = Database(settings.database_url)
    stop = f"A server or worker uses {folder}. Stop it first."
    try:
        with (
            _locked(folder, fcntl.LOCK_EX, stop),
            tempfile.TemporaryDirectory(prefix=".restore-", dir=folder) as temporary,
        ):
            there = Path(temporary)
            contents = unpack(path, there)
            _fitting(database, contents, there)
            if not replace and (full := _full(database, folder)):
                raise InputError(f"{full} is there already. Add --force to replace it.")
            _put(database, there, folder)
            return contents
    finally:
        database.close()


def inspect(path: Path) -> Contents:
    """Compare a copy with its checksums.

    Raises:
        InputError, DamagedArchive
    """
    with tempfile.TemporaryDirectory(prefix="pincite-") as temporary:
        contents = unpack(path, Path(temporary))
        kept = Path(temporary) / SQLITE
        if kept.exists() and (faults := _faults(kept)):
            raise DamagedArchive(f"{path}: its database is damaged: {faults[0]}.")
    return contents


# ── Into the archive ─────────────────────────────────────────────────────────────────────────────


def _copy(database: Database, path: Path) -> None:
    """The database as of now."""
    if not database.is_sqlite:
        _client("pg_dump", database, "--format=custom", "--no-owner", "--no-acl", f"--file={path}")
        return
    source = sqlite3.connect(f"file:{database.url.database}?mode=ro", uri=True)
    target = sqlite3.connect(path)
    try:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
    except sqlite3.Error as error:
        raise DatabaseError(f"{database.shown} cannot be copied: {error}.") from error
    finally:
        target.close()
        source.close()


def _add_files(writer: Writer, folder: Path) -> None:
    for kept in LOCKED:
        for inside in _folders(folder / kept):
            with WriterLock(inside):
                _add_tree(writer, inside, folder, "lock")


def _add_copies(writer: Writer, folder: Path, temporary: Path) -> None:
    """Each shelf while nobody changes it: its index by SQLite's own means, then the files."""
    for inside in _folders(folder / SHELVES):
        with OwnCopies(inside).still() as index:
            (temporary / INDEX).write_bytes(index)
            name = f"{FILES}/{(inside / INDEX).relative_to(folder).as_posix()}"
            writer.add(temporary / INDEX, name)
            _add_tree(writer, inside, folder, INDEX, f"{INDEX}-journal")


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_dir())


def _add_tree(writer: Writer, inside: Path, folder: Path, *without: str) -> None:
    left_out = {inside / name for name in without}
    for path in sorted(inside.rglob("*")):
        if path.is_file() and not path.is_symlink() and path not in left_out:
            writer.add(path, f"{FILES}/{path.relative_to(folder).as_posix()}")


def _elsewhere(database: Database, folder: Path) -> tuple[str, ...]:
    register = CorpusRegister(database, folder / "corpora")
    return tuple(str(each.address) for each in register.listed() if register.is_linked(each))


# ── Out of the archive ───────────────────────────────────────────────────────────────────────────


def _fitting(database: Database, contents: Contents, there: Path) -> None:
    name = contents.about.get("database")
    if name != (SQLITE if database.is_sqlite else DUMP):
        kind = "SQLite" if name == SQLITE else "PostgreSQL"
        raise ConfigError(f"The backup is of {kind}, and server.database is {database.shown}.")
    if name == SQLITE:
        copied = Database(f"sqlite:///{there / SQLITE}")
        copied.revision()  # raises if it is newer
        copied.close()
        if faults := _faults(there / SQLITE):
            raise DamagedArchive(f"The database in the backup is damaged: {faults[0]}.")


def _full(database: Database, folder: Path) -> str:
    """What is there already."""
    if database.is_sqlite:
        if Path(database.url.database or "").exists():
            return database.shown
    elif database.revision():
        return database.shown
    for kept in KEPT:
        if any((folder / kept).glob("*")):
            return str(folder / kept)
    return ""


def _put(database: Database, there: Path, folder: Path) -> None:
    if database.is_sqlite:
        target = Path(database.url.database or "")
        for suffix in ("-wal", "-shm"):  # of what was there
            target.with_name(target.name + suffix).unlink(missing_ok=True)
        (there / SQLITE).chmod(0o600)
        shutil.move(there / SQLITE, target)
    else:
        into = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-acl")
        _client("pg_restore", database, "--clean", "--if-exists", *into, str(there / DUMP))
    for kept in KEPT:
        old = folder / kept
        if old.exists():
            old.rename(there / f"old-{kept}")  # removed with the rest
        if (there / FILES / kept).exists():
            (there / FILES / kept).rename(old)
    database.migrate()


def _faults(path: Path) -> list[str]:
    database = Database(f"sqlite:///{path}")
    try:
        return database.faults()
    finally:
        database.close()


# ── Both ─────────────────────────────────────────────────────────────────────────────────────────


def _client(program: str, database: Database, *arguments: str) -> None:
    """Run a program of PostgreSQL's; the password stands in no list of processes."""
    found = shutil.which(program)
    if found is None:
        raise ConfigError(
            f"{program} is not installed, which copies a PostgreSQL database. Install "
            "PostgreSQL's client, of the server's version or newer: apt-get install "
            "postgresql-client."
        )
    url = database.url
    given = {"HOST": url.host, "PORT": url.port, "USER": url.username, "PASSWORD": url.password}
    given["DATABASE"] = url.database
    known = {f"PG{name}": str(value) for name, value in given.items() if value}
    # pg_restore writes to its output unless it is told of a database by name.
    named = [f"--dbname={url.database}"] if program == "pg_restore" else []
    done = subprocess.run(  # noqa: S603 - found above, and no shell
        [found, *named, *arguments],
        env=os.environ | known,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise DatabaseError(f"{database.shown}: {program} failed: {done.stderr.strip()[:2000]}")


@contextmanager
def _locked(folder: Path, how: int, refusal: str) -> Iterator[None]:
    handle = os.open(made_folder(folder) / IN_USE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUse(refusal) from error
        yield
    finally:
        os.close(handle)
