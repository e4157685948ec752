"""The private copies of a server's accounts, each in a folder of its own."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pincite.library.private_copies import OwnCopies

OF_ACCOUNTS = "own"  # in the data folder: a folder of copies for each account
_DELETED = "deleted"  # marks the folder of an account that is being deleted
_ACCOUNT = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class AccountCopies:
    """The private copies of a server's accounts, in a folder per account id.

    A folder is deleted in steps, so that a killed process or a restored database loses nothing: it
    is marked, the account is deleted, and `tidy` removes marked folders without an account.
    """

    root: Path
    local: Path | None = None  # local mode: the only folder, that of `pincite source`

    def folder(self, account_id: str) -> Path:
        """Return the folder of an account's copies; it may not exist yet."""
        if self.local:
            return self.local
        if not _ACCOUNT.fullmatch(account_id):
            raise ValueError(f"{account_id!r} is not an account id")
        return self.root / account_id

    def of(self, account_id: str) -> OwnCopies:
        return OwnCopies(self.folder(account_id))

    def mark_deleted(self, account_id: str) -> None:
        """Mark the folder for removal by `tidy` once the account is deleted."""
        folder = self.folder(account_id)
        if folder.is_dir():
            (folder / _DELETED).touch()

    def tidy(self, is_account: Callable[[str], bool]) -> None:
        """Remove the marked folders whose account no longer exists."""
        for mark in self.root.glob(f"*/{_DELETED}"):
            if not is_account(mark.parent.name):
                shutil.rmtree(mark.parent, ignore_errors=True)
