"""Private copies of sources, a folder for each account, and the process that reads a file into it.

In local mode it is the very folder of `pincite source`; in server mode one of its own, named by the
account's id. Like a corpus it is deleted in steps: a mark, the account, and, when both are seen to
have happened, the folder. A folder without a mark is left alone whatever the database says.

Readers of HTML, Word and XML run in the process that calls them, and an untrusted file may hang
them or take all memory. So they run here as `python -m pincite.server.private_copies`, under
limits. A job would be as safe, but whoever hands a file in wants to hear at once whether it can be
read, and not wait behind an hour of others' jobs.
"""

import dataclasses
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.documents.sandbox import limit
from pincite.errors import ConfigError, InputError
from pincite.library import private_copies
from pincite.library.private_copies import Named, OwnCopies, OwnCopy
from pincite.server.settings import ServerSettings
from pincite.settings import Settings
from pincite.types import Reason, Unchecked

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
            return private_copies.folder_of(self.settings.library.own_copies)
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


SECONDS = 60.0  # twice what a PDF may take, which has limits of its own within these
MEMORY = 2_500_000_000  # address space, code and libraries included; half a gigabyte over a PDF's
NICENESS = 10  # people who read pages come first


@dataclass(frozen=True, slots=True)
class Given:
    """A file as it came."""

    path: Path
    name: str  # as its sender calls it; only its ending says something
    pages: tuple[int, int] | None  # printed on its first and last page


def attached(
    copies: OwnCopies, source: Named, given: Given, seconds: float = SECONDS
) -> OwnCopy | Unchecked:
    """The copy of a source that a file became, or why it is of no use.

    Raises:
        InputError: it has another number of pages.
        ConfigError: it cannot be kept.
    """
    asked = {
        "folder": str(copies.folder),
        "ref": source.ref,
        "keys": source.keys,
        "path": str(given.path),
        "name": given.name,
        "pages": given.pages,
    }
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        # -P: no module of the current folder may stand in for one of ours.
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # one group with the reader of PDFs that it starts
    )
    try:
        said, complaint = process.communicate(json.dumps(asked).encode(), seconds)
    except subprocess.TimeoutExpired:
        return Unchecked("", Reason.TIMED_OUT, f"the file was not read in {seconds:g} s")
    finally:
        _ended(process)
    if process.returncode:
        last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:]
        how = f"the reader ended with status {process.returncode}: {''.join(last)[:200]}"
        return Unchecked("", Reason.UNDECODABLE, how.rstrip(": "))
    return _answer(json.loads(said))


def _ended(process: "subprocess.Popen[bytes]") -> None:
    """Nothing of it runs on, whatever happened."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _answer(said: dict[str, Any]) -> OwnCopy | Unchecked:
    if "wrong" in said:
        raise InputError(said["wrong"])
    if "kept" in said:
        raise ConfigError(said["kept"])
    if "reason" in said:
        return Unchecked("", Reason(said["reason"]), said["detail"])
    pages, keys = said.pop("pages"), tuple(said.pop("keys"))
    return OwnCopy(**said, keys=keys, pages=tuple(pages) if pages else None)


def main() -> None:
    """Read what is asked from stdin, attach it, and answer on stdout."""
    limit(resource.RLIMIT_AS, MEMORY)
    limit(resource.RLIMIT_CORE, 0)
    os.nice(NICENESS)
    asked = json.load(sys.stdin)
    copies, source = OwnCopies(Path(asked["folder"])), Named(asked["ref"], tuple(asked["keys"]))
    pages = tuple(asked["pages"]) if asked["pages"] else None
    path = Path(asked["path"])
    try:
        found = private_copies.attach(copies, source, path, pages, name=asked["name"])
    except InputError as error:
        answer = {"wrong": str(error)}
    except ConfigError as error:
        answer = {"kept": str(error)}
    else:
        answer = dataclasses.asdict(found)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
