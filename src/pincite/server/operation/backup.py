"""Copies of a running server, and a server made from one.

The database is copied as of one moment, by its own means: SQLite's online backup, PostgreSQL's
`pg_dump`. The corpora and own copies follow, each while nobody writes it. A copy is restored into
an empty place, or into one whose contents it may replace; never under a server that runs.
"""

import fcntl
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pincite.corpus.lock import WriterLock
from pincite.errors import ConfigError, InputError, PinciteError
from pincite.library.own_copies import INDEX, OwnCopies
from pincite.server.database import Database, DatabaseError, made_folder
from pincite.server.library.own import SHELVES
from pincite.server.library.register import CorpusRegister
from pincite.server.operation.archive import Contents, DamagedArchive, Writer, unpack
from pincite.server.settings import ServerSettings
from pincite.server.tables import now

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
