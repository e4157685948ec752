"""Files that are whole or not there: written beside, flushed to the disk, then renamed.

FAISS files saved in place were unreadable after a kill, so nothing here is ever written in place.
A *stamp* is a small JSON file that names what stands next to it and is written last: what no stamp
names does not count, so a kill before the stamp leaves what was there before. It carries a checksum
of itself: one changed digit could make an index skip passages, or a corpus look into another build.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Tell: TypeAlias = Callable[[str, int, int], None]  # progress: what, how much is done, of how much

SEAL = "stamp_sha256"  # a stamp's checksum of its other fields
# Reading a million passages' indexes through takes seconds, and opening should not. A file this
# large is believed as long as nobody touched it since it was checked; a smaller one is always read.
BELIEVED_BYTES = 1 << 20
READ_MOMENTS, READ_SECONDS = 20, 0.01  # how often, and after what time, a refused rename is tried


def write_stamp(path: Path, content: Mapping[str, object]) -> None:
    """Put the JSON object `content` in the place of `path`, at once and lastingly."""
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        json.dump({**content, SEAL: _seal(content)}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    _replace(part, path)
    sync(path.parent)


def _replace(part: Path, path: Path) -> None:
    """Rename over `path`, which Windows refuses while somebody reads it: a stamp takes moments."""
    for _ in range(READ_MOMENTS):
        with contextlib.suppress(PermissionError):
            part.replace(path)
            return
        time.sleep(READ_SECONDS)
    part.replace(path)


def read_stamp(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`; None if there is none or it is not what was written.

    A stamp of an earlier Pincite has no checksum and is believed. One whose checksum's name was
    damaged has a field that nobody knows, so callers must accept exactly the fields they write.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict):
        return None
    seal = content.pop(SEAL, None)
    return content if seal in (None, _seal(content)) else None


def _seal(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()


def silent(what: str, n_done: int, n_all: int) -> None:
    """No progress is shown."""


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk; Windows opens no folder for that."""
    folder = path.is_dir()
    if folder and not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(path: Path) -> str:
    """SHA-256 of a file in hex; empty if the file cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def witness(path: Path) -> list[int]:
    """Inode, size and time of the last change of any kind: other once a program touched the file.

    Unlike the time that `ls` shows, no program can set it. Empty if there is no such file.
    """
    try:
        found = path.stat()
    except OSError:
        return []
    return [found.st_ino, found.st_size, found.st_ctime_ns]


def noted(path: Path) -> tuple[str, list[int]]:
    """Checksum and witness of a file just written, for a stamp.

    The witness is taken first: what changes while the file is read makes the two differ later.
    """
    seen = witness(path)
    return checksum(path), seen


def is_as_written(path: Path, known: str, seen: Sequence[int]) -> bool:
    """Whether the file has the checksum `known`, given its witness from when it was written.

    A bit that the medium itself lost in a large file shows only when `checksum` reads it.
    """
    if seen and seen[1] >= BELIEVED_BYTES and list(seen) == witness(path):
        return True
    return checksum(path) == known


def n_bytes(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; 0 for what is not there (any more)."""
    total = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # a writer may tidy up while we count
            total += file.stat().st_size if file.is_file() else 0
    return total
