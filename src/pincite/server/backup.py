"""Backups: a gzipped tar archive of the SQLite database and the data folder.

SQLite's online backup takes a consistent snapshot, so the server can keep running. Corpora and
private copies follow, each locked while it is read. PostgreSQL has its own tools: dump it with
`pg_dump` before the backup and restore it with `pg_restore`; the archive then contains only the
folder. The manifest comes last, and gzip's checksum after it, so damage is detected.
"""

import fcntl
import gzip
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from pincite.durable import WriterLock, replacing
from pincite.errors import ConfigError, InputError, PinciteError, usable
from pincite.library.private_copies import INDEX, OF_ACCOUNTS, OwnCopies
from pincite.server.database import VERSION, Database, DatabaseError, create_folder
from pincite.server.settings import ServerSettings
from pincite.server.tables import now

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "database.sqlite"
LOCKED = ("corpora", "uploads")  # folders whose subfolders are protected by a writer's lock
FOLDERS = (*LOCKED, OF_ACCOUNTS)  # subfolders of the data folder
IN_USE = "in-use"


class DamagedArchive(PinciteError):
    """The file is not a backup, or it is incomplete, modified or from another version."""

    exit_code = 3


class InUse(PinciteError):
    """A server or worker is using the data folder, or a backup is being restored into it."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a backup."""

    pincite: str  # the version that created it
    created: float
    database: bool  # whether it contains an SQLite database
    n_files: int
    n_bytes: int


@contextmanager
def using(folder: Path) -> Iterator[None]:
    """Prevent a restore over the folder; the lock ends with the process.

    Raises InUse: a backup is being restored.
    """
    with _locked(folder, fcntl.LOCK_SH, f"{folder} is being restored. Try again later."):
        yield


def backup(settings: ServerSettings, path: Path, *, replace: bool = False) -> Contents:
    """Write a backup that only its owner can read. The server can keep running.

    Raises:
        InputError: the file exists or cannot be written, or a stored file cannot be read.
        CorpusError: a process is writing to a corpus, or it cannot be locked.
        DatabaseError: the database cannot be read.
    """
    if path.exists() and not replace:
        raise InputError(f"{path} already exists. Choose another name, or add --force.")
    with closing(Database(settings.database_url)) as database, replacing(path) as part:
        with usable(path, "written"):
            handle = os.open(part, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        n_files = n_bytes = 0
        with (
            os.fdopen(handle, "wb") as raw,
            tarfile.open(fileobj=raw, mode="w:gz", compresslevel=3) as tar,
        ):
            for source, name in _sources(database, settings.folder):
                with usable(source, "read"):
                    file = source.open("rb")
                with file:
                    entry = tar.gettarinfo(arcname=name, fileobj=file)
                    tar.addfile(entry, file)
                n_files += 1
                n_bytes += entry.size
            has_database = database.is_sqlite
            contents = Contents(version("pincite"), now(), has_database, n_files, n_bytes)
            manifest = {"format": FORMAT, "tables": VERSION, **asdict(contents)}
            data = json.dumps(manifest).encode()
            entry = tarfile.TarInfo(MANIFEST)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return contents


def restore(settings: ServerSettings, path: Path, *, replace: bool = False) -> Contents:
    """Replace a server's state with the contents of a backup.

    Raises:
        InputError: the file does not exist, or the restore would replace something.
        DamagedArchive: nothing was changed.
        InUse: a server or worker is running.
        ConfigError: the backup has an SQLite database and the server uses another, or vice versa.
    """
    folder = create_folder(settings.folder)
    database = Database(settings.database_url)
    with (
        closing(database),
        _locked(folder, fcntl.LOCK_EX, f"A server or worker is using {folder}. Stop it first."),
        tempfile.TemporaryDirectory(prefix=".restore-", dir=folder) as temporary,
    ):
        unpacked = Path(temporary)
        contents = _unpack(path, unpacked)
        if contents.database != database.is_sqlite:
            holds = "an SQLite database" if contents.database else "no database"
            raise ConfigError(f"{path} contains {holds}, but server.database is {database.shown}.")
        target = Path(database.url.database or "")
        present = [target] if database.is_sqlite and target.exists() else []
        present += [folder / name for name in FOLDERS if any((folder / name).glob("*"))]
        if present and not replace:
            raise InputError(f"{present[0]} exists. Add --force to replace it.")
        if database.is_sqlite:
            for suffix in ("-wal", "-shm"):  # of the replaced database
                target.with_name(target.name + suffix).unlink(missing_ok=True)
            (unpacked / DATABASE).replace(target)
        for name in FOLDERS:
            old, new = folder / name, unpacked / "files" / name
            if old.exists():
                old.rename(unpacked / f"old-{name}")  # removed with the temporary folder
            if new.exists():
                new.rename(old)
    return contents


def inspect(path: Path) -> Contents:
    """Verify that a backup is complete and undamaged. Raises InputError, DamagedArchive."""
    with tempfile.TemporaryDirectory(prefix="pincite-") as temporary:
        return _unpack(path, Path(temporary))


def _sources(database: Database, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield a backup's files and their names in it; each folder is locked while it is read."""
    with tempfile.TemporaryDirectory(prefix="pincite-") as temporary:
        if database.is_sqlite:
            copy = Path(temporary) / DATABASE
            source = f"file:{database.url.database}?mode=ro"
            try:
                with (
                    closing(sqlite3.connect(source, uri=True)) as db,
                    closing(sqlite3.connect(copy)) as to,
                ):
                    db.backup(to)
                    to.execute("PRAGMA journal_mode=DELETE")  # a single file without a separate log
            except sqlite3.Error as error:
                raise DatabaseError(f"{database.shown} cannot be copied: {error}.") from error
            yield copy, DATABASE
        for each in _folders(folder / OF_ACCOUNTS):
            with OwnCopies(each).locked() as index:
                copy = Path(temporary) / INDEX
                copy.write_bytes(index)
                yield copy, f"files/{OF_ACCOUNTS}/{each.name}/{INDEX}"
                yield from _files(each, folder, {INDEX, f"{INDEX}-journal"})
    for locked in LOCKED:
        for inside in _folders(folder / locked):
            with WriterLock(inside, "locked"):
                yield from _files(inside, folder, {"lock"})


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_dir())


def _files(inside: Path, folder: Path, without: set[str]) -> Iterator[tuple[Path, str]]:
    for path in sorted(inside.rglob("*")):
        left_out = path.parent == inside and path.name in without
        if path.is_file() and not path.is_symlink() and not left_out:
            yield path, f"files/{path.relative_to(folder).as_posix()}"


def _unpack(path: Path, folder: Path) -> Contents:
    """Unpack an archive into an empty folder.

    Raises:
        InputError: the archive does not exist.
        DamagedArchive: part of it may have been unpacked.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    try:
        with gzip.open(path) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for entry in tar:
                source = tar.extractfile(entry) if entry.isreg() else None
                inside = PurePosixPath(entry.name)
                if source is None or inside.is_absolute() or ".." in inside.parts:
                    raise ValueError(f"{entry.name!r} is not a file inside the archive")
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, target.open("xb") as file:
                    shutil.copyfileobj(source, file)
                    os.fsync(file.fileno())
            while stream.read(1 << 20):  # up to gzip's checksum, which follows the tar's end
                pass
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest.pop("format") != FORMAT or manifest.pop("tables") != VERSION:
            raise ValueError("it was made by another version of Pincite")
        contents = Contents(**manifest)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, LookupError) as error:
        raise DamagedArchive(f"{path} is not a complete backup: {error}.") from error
    except (TypeError, AttributeError, RecursionError) as error:
        raise DamagedArchive(f"{path} is not a backup: its manifest is malformed.") from error
    for each in folder.rglob("*"):
        if each.is_dir():
            each.chmod(0o700)
    return contents


@contextmanager
def _locked(folder: Path, how: int, refusal: str) -> Iterator[None]:
    handle = os.open(create_folder(folder) / IN_USE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUse(refusal) from error
        yield
    finally:
        os.close(handle)
