"""Own copies of sources, a shelf for each account: nobody else's jobs read it.

In local mode it is the very shelf of `pincite source`; in server mode a folder of its own, named by
the account's id. Like a corpus it is deleted in steps: a mark, the account, and, when both are seen
to have happened, the folder. A folder without a mark is left alone whatever the database says: it
may be another one, or an older copy.
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pincite.library import own_sources
from pincite.library.own_copies import OwnCopies
from pincite.server.settings import ServerSettings
from pincite.settings import Settings

SHELVES = "own"  # in the server's data folder
DELETED = "deleted"  # a file in a shelf whose account is being deleted
_OWNER = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class OwnShelves:
    """The shelves of a server."""

    server: ServerSettings
    settings: Settings

    def folder(self, owner: str) -> Path:
        """Where the copies of an account lie; it may not be there yet."""
        if self.server.mode == "local":
            return own_sources.folder_of(self.settings.library.own_copies)
        if not _OWNER.fullmatch(owner):
            raise ValueError(f"{owner!r} is no id of an account")
        return self.server.folder / SHELVES / owner

    def of(self, owner: str) -> OwnCopies:
        """The copies of an account."""
        return OwnCopies(self.folder(owner))

    def mark_deleted(self, owner: str) -> None:
        """Have `tidy` remove a shelf as soon as its account is gone."""
        folder = self.folder(owner)
        if folder.is_dir():
            (folder / DELETED).touch()

    def tidy(self, is_account: Callable[[str], bool]) -> None:
        """Remove the shelves of accounts that were deleted."""
        if self.server.mode == "local":
            return
        for mark in (self.server.folder / SHELVES).glob(f"*/{DELETED}"):
            if not is_account(mark.parent.name):
                shutil.rmtree(mark.parent, ignore_errors=True)
