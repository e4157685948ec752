"""Files that last: atomic replacement, caches, and the lock that lets one writer change a corpus.

Only regular files and folders are replaced. A device or pipe is written through, a link is followed
to its target, and nothing is created in `/dev`, `/proc` or `/sys`.

A *stamp* is a small JSON file with a checksum, written last, that names the current derived files:
after a kill the old stamp still holds. The lock is a file with the writer's process id, which the
system unlocks when the process dies; readers take none. Only the system calls of `filelock` are
used: its lock objects fall back to a file that a killed process leaves behind.
"""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import platformdirs
from filelock import lock_descriptor

from pincite.errors import CorpusError, CorpusInUse, PinciteWarning, usable

Tell: TypeAlias = Callable[[str, int, int], None]  # progress: task, steps done, steps in all

PART = ".pincite.part"  # of the name of an unfinished file or folder; ours to remove
SEAL = "stamp_sha256"  # a stamp's checksum of its other fields
READ_MOMENTS, READ_SECONDS = 20, 0.01  # retries of a refused rename, and the seconds between them
# How long opening for writing waits: a reader that updates a lagging index briefly holds the lock.
PATIENCE_SECONDS = 2.0


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` for a new file or folder, which then replaces `path`.

    It is flushed to disk before the rename. After an error `path` is unchanged and nothing is left
    beside it. A device, a pipe or an open file as `/dev/stdout` gets the content instead.
    """
    if is_special(path):
        with tempfile.TemporaryDirectory() as folder:
            yield (part := Path(folder) / "part")
            handle = os.open(path, os.O_WRONLY | os.O_APPEND)  # creates nothing
            with part.open("rb") as content, os.fdopen(handle, "wb") as device:
                shutil.copyfileobj(content, device)
        return
    path = path.resolve() if path.is_symlink() else path.absolute()  # "." has no name
    part = path.with_name(f"{path.name}{PART}")
    _remove(part)
    try:
        yield part
        if part.is_dir():
            for file in filter(Path.is_file, part.rglob("*")):
                sync(file)
            _remove(path)  # a folder cannot be renamed over another
        else:
            sync(part)
        _replace(part, path)
        sync(path.parent)
    finally:
        _remove(part)


def is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe or the like, or would be among those of the system."""
    at = path.absolute()
    if at.is_relative_to("/dev/shm"):  # noqa: S108 - a folder in memory like any other
        return False
    if any(at.is_relative_to(folder) for folder in ("/dev", "/proc", "/sys")):
        return True
    return path.exists() and not (path.is_file() or path.is_dir())


def write_text(path: Path, text: str) -> None:
    """Replace a file's content; raises OSError with its path."""
    try:
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def without_interrupt() -> Iterator[None]:
    """Delay Ctrl-C, which only the main thread receives, until the body is done."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not in_main or before is not signal.default_int_handler:  # ignored, as for background jobs
        yield
        return
    pressed = list[int]()
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_stamp(path: Path, content: Mapping[str, object]) -> None:
    write_text(path, json.dumps({**content, SEAL: _seal(content)}, indent=1))


def _replace(part: Path, path: Path) -> None:
    """Rename over `path`; retry, because Windows refuses while another process reads it."""
    for _ in range(READ_MOMENTS):
        with contextlib.suppress(PermissionError):
            part.replace(path)
            return
        time.sleep(READ_SECONDS)
    part.replace(path)


def read_stamp(path: Path) -> dict[str, Any] | None:
    """Read the JSON object in `path`; None if it is missing or its checksum is wrong."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict):
        return None
    seal = content.pop(SEAL, None)
    return content if seal == _seal(content) else None


def _seal(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()


def silent(activity: str, n_done: int, n_all: int | None) -> None:
    """Ignore progress."""


def sync(path: Path) -> None:
    """Flush a file or a folder's entries to disk; Windows cannot do the latter."""
    folder = path.is_dir()
    if folder and not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(path: Path) -> str:
    """Return a file's SHA-256 in hex; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def n_bytes(path: Path) -> int:
    """Return the size of a file, or of all files below a folder; 0 if it does not exist."""
    total = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # a writer may remove files meanwhile
            total += file.stat().st_size if file.is_file() else 0
    return total


class WriterLock:
    """The exclusive right to write one corpus; a context manager that raises `CorpusInUse`."""

    def __init__(self, folder: Path, use: str = "written") -> None:
        """`use`: what a folder that cannot be locked cannot be, for the message."""
        self._path, self._use = folder / "lock", use
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def acquire(self) -> None:
        """Take the lock, waiting up to `PATIENCE_SECONDS`.

        Raises:
            CorpusInUse: Another process, or another object in this one, holds it.
            CorpusError: The folder cannot be locked.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        with usable(self._path.parent, self._use, CorpusError):
            while not self._try():
                if time.monotonic() > deadline:
                    raise CorpusInUse(
                        f"{self._path.parent} is being written by process {self._holder()}; a "
                        "corpus allows one writer at a time. Wait until it is done, or stop it."
                    )
                time.sleep(0.02)

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @contextmanager
    def attempt(self) -> Iterator[bool]:
        """Take the lock if it is free and the folder is writable; yields whether it is held."""
        if self.held:
            yield True
            return
        held = False
        with contextlib.suppress(OSError):  # a read-only corpus cannot be locked
            held = self._try()
        try:
            yield held
        finally:
            self.release()

    def _try(self) -> bool:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        taken = False
        try:
            taken = lock_descriptor(handle, blocking=False)
        finally:
            if not taken:
                os.close(handle)
        if not taken:
            return False
        self._handle = handle
        with contextlib.suppress(OSError):  # the lock is held even if the disk is full
            os.ftruncate(handle, 0)
            os.write(handle, f" {os.getpid()}".encode())
        return True

    def _holder(self) -> str:
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(1)  # Windows locks the first byte against readers too
                return file.read(20).decode("ascii", "replace") or "(unknown)"
        except OSError:
            return "(unknown)"

    def __enter__(self) -> "WriterLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


# ── Caches ────────────────────────────────────────────────────────────────────────────────────────

LOOKUP = 500  # keys per SELECT, below SQLite's limit on variables on every platform


def cache_folder() -> Path:
    """Return the user's cache: `PINCITE_CACHE`, or the platform's folder."""
    return Path(os.environ.get("PINCITE_CACHE") or platformdirs.user_cache_dir("pincite"))


def data_path(name: str, chosen: str = "") -> Path:
    """Return the path that a setting chose, else that of `name` in the user's data folder."""
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("pincite") / name


class CacheFile:
    """One table of keys and values; threads and processes may share the file."""

    def __init__(self, path: Path, table: str) -> None:
        """Open or create the file. `table` is the table definition, without CREATE TABLE."""
        self._path, self._lock, self._warned = path, threading.Lock(), False
        self._name = table.partition("(")[0].strip()
        create = f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(create)
        except (OSError, sqlite3.Error) as error:
            self._warn(error)
            self._db = sqlite3.connect(":memory:", check_same_thread=False)
            self._db.execute(create)

    def rows(self, query: str, keys: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a SELECT; returns no rows if the file is damaged."""
        try:
            with self._lock:
                return self._db.execute(query, keys).fetchall()
        except sqlite3.DatabaseError as error:
            self._warn(error)
            return []

    def values(self, column: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        by_key: dict[bytes, bytes] = {}
        for start in range(0, len(keys), LOOKUP):
            some = keys[start : start + LOOKUP]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, {column} FROM {self._name} WHERE key IN ({marks})"  # noqa: S608
            by_key.update(self.rows(query, some))
        return by_key

    def insert(self, rows: Iterable[tuple[object, object]]) -> None:
        self._write(f"INSERT OR REPLACE INTO {self._name} VALUES (?, ?)", rows)  # noqa: S608

    def clear(self) -> int:
        """Remove all rows and free the space; returns the number of rows removed."""
        n = self._write(f"DELETE FROM {self._name} WHERE ?", [(1,)])  # noqa: S608
        with self._lock:
            self._db.execute("VACUUM")
        return n

    def n_rows(self) -> int:
        rows = self.rows(f"SELECT count(*) FROM {self._name}")  # noqa: S608
        return int(rows[0][0]) if rows else 0

    def close(self) -> None:
        self._db.close()

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> int:
        try:
            with self._lock, self._db:
                return self._db.executemany(statement, rows).rowcount
        except sqlite3.Error as error:
            self._warn(error)
            return 0

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            warnings.warn(
                f"The cache {self._path} cannot be used ({error}), so nothing is reused. Free "
                "disk space, delete the file if it is a damaged cache, or choose another "
                "file with web.cache or PINCITE_CACHE.",
                PinciteWarning,
                stacklevel=4,
            )
        self._warned = True
