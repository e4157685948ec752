"""One writer at a time: a lock on a file, which the system drops when its holder dies.

The file carries the holder's process id, so that who is refused learns whom to wait for. Readers
take no lock: SQLite gives them a snapshot, and derived files are replaced, never changed.

`filelock` knows each system's lock (flock, LockFileEx) and is asked for that alone, on a file that
is opened here: its own lock objects fall back to a file that a killed process leaves behind.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from filelock import lock_descriptor

from pincite.errors import CorpusError, CorpusInUse

# A reader that brings a lagging index up to date holds the lock for a moment; who opens a corpus
# for writing waits as long before it is refused.
PATIENCE_SECONDS = 2.0


class WriterLock:
    """The right to write one corpus; a context manager that raises `CorpusInUse` if it is taken."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._handle is not None

    def acquire(self) -> None:
        """Take the lock, waiting a little.

        Raises:
            CorpusInUse: Another process (or another object in this one) goes on holding it.
            CorpusError: The folder cannot be written.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        try:
            while not self._try():
                if time.monotonic() > deadline:
                    raise CorpusInUse(
                        f"{self._path.parent} is being written by process {self._holder()}, and a "
                        "corpus has one writer at a time. Wait until it is done, or stop it."
                    )
                time.sleep(0.02)
        except OSError as error:
            raise CorpusError(
                f"{self._path.parent} cannot be written: {error.strerror}. Open it for reading, "
                "or copy it to where it can be written."
            ) from error

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @contextmanager
    def attempt(self) -> Iterator[bool]:
        """Hold the lock if it is free and the folder can be written; says whether it is held."""
        if self.held:
            yield True
            return
        try:
            yield self._try_quietly()
        finally:
            self.release()

    def _try_quietly(self) -> bool:
        try:
            return self._try()
        except OSError:  # a corpus that may only be read: nobody's lock, but not ours either
            return False

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
        with contextlib.suppress(OSError):  # the lock is held, even where a full disk has no room
            os.ftruncate(handle, 0)
            os.write(handle, f" {os.getpid()}".encode())
        return True

    def _holder(self) -> str:
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(1)  # Windows lets nobody read the first byte, which is what is locked
                return file.read(20).decode("ascii", "replace") or "(unknown)"
        except OSError:
            return "(unknown)"

    def __enter__(self) -> "WriterLock":
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
