"""Files that were sent: for a corpus, until their job has ended, or with an article, its sources.

Each upload has a folder. While it is filled the folder is locked, and afterwards a job names it: a
folder that is neither was left behind by a process that was killed, and is swept away.
"""

import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pincite.corpus.lock import WriterLock
from pincite.server.tables import new_id

ID_LETTERS = 22
_UPLOAD_ID = re.compile(rf"[A-Za-z0-9_-]{{{ID_LETTERS}}}")


_UNPACKED = "unpacked"  # beside the folder of all uploads: a backup has no use for it


class Sources(NamedTuple):
    """Two folders: of the files as they were received, and an empty one to lay them out in."""

    stored: Path
    laid_out: Path


class Uploads:
    """The folder of all of them."""

    def __init__(self, folder: Path) -> None:
        """`folder`: made with the first upload."""
        self._folder = folder
        self._unpacked = folder.parent / _UNPACKED

    def at(self, upload_id: str) -> Path:
        """Where the files of an upload lie."""
        if not _UPLOAD_ID.fullmatch(upload_id):
            raise ValueError(f"{upload_id!r} is no id of an upload")
        return self._folder / upload_id / "files"

    @contextmanager
    def filling(self) -> Iterator[str]:
        """The id of a new one, safe from `sweep` inside the block; removed if that fails."""
        upload_id = new_id()
        files = self.at(upload_id)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.parent.mkdir(mode=0o700)
        try:
            with WriterLock(files.parent):
                files.mkdir(mode=0o700)
                yield upload_id
        except BaseException:
            self.remove(upload_id)
            raise

    @contextmanager
    def unpacking(self, upload_id: str) -> Iterator[Sources]:
        """An upload, and a folder for what is in its zip files; removed after the block."""
        stored = self.at(upload_id)
        self._unpacked.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryDirectory(prefix=upload_id, dir=self._unpacked) as folder:
            yield Sources(stored, Path(folder))

    def remove(self, upload_id: str) -> None:
        """Remove an upload with its files; nothing happens if it is not there."""
        shutil.rmtree(self.at(upload_id).parent, ignore_errors=True)

    def sweep(self, named: Collection[str]) -> int:
        """Remove those that no job in `named` names and nobody fills; returns how many."""
        swept = 0
        for folder in self._unpacked.glob("*"):  # of jobs that were killed
            if folder.name[:ID_LETTERS] not in named:
                shutil.rmtree(folder, ignore_errors=True)
        for folder in sorted(self._folder.glob("*")) if self._folder.is_dir() else ():
            if folder.name in named or not _UPLOAD_ID.fullmatch(folder.name):
                continue
            with WriterLock(folder).attempt() as is_free:
                if is_free:
                    self.remove(folder.name)
                    swept += 1
        return swept
