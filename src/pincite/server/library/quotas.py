"""How much room there is: on the disk, for everybody, and for what each account keeps."""

import shutil
import threading
import time

from pincite.corpus.durable import n_bytes
from pincite.errors import PinciteError
from pincite.server.library.library import Library
from pincite.server.library.own import OwnShelves
from pincite.server.library.register import CorpusEntry
from pincite.server.settings import ServerSettings

COUNTED_SECONDS = 60.0  # for which the size of all corpora is believed: it is read off each file


class DiskFull(PinciteError):
    """The disk has less room than it is to have; what came in was not kept."""


class AccountFull(PinciteError):
    """What an account keeps is as large as it may be, or would be."""


class Room:
    """Of one server's data folder. Safe to use from several threads."""

    def __init__(self, server: ServerSettings, library: Library, own: OwnShelves) -> None:
        """`server`: how much is to stay free, and how much an account may take."""
        self._folder, self._library, self._own = server.folder, library, own
        self._spare = server.disk_free_megabytes * 1e6
        self._each = server.account_megabytes * 1e6 if server.mode == "server" else 0.0
        self._mutex = threading.Lock()
        self._counted: tuple[float, int] | None = None  # when, and how many bytes

    def free_bytes(self) -> int:
        """Of the data folder's file system."""
        return shutil.disk_usage(self._folder).free

    def corpora_bytes(self) -> int:
        """Of all corpora that were made here, as of a minute ago at most."""
        with self._mutex:
            if self._counted is None or time.monotonic() - self._counted[0] > COUNTED_SECONDS:
                total = sum(map(self._bytes_of, self._library.register.listed()))
                self._counted = time.monotonic(), total
            return self._counted[1]

    def check_disk(self) -> None:
        """Refuse what would take up more of a disk that is nearly full.

        Raises:
            DiskFull
        """
        if self.free_bytes() < self._spare:
            raise DiskFull(
                "The server's disk is nearly full, so nothing new is taken. Try again later, or "
                "tell whoever runs the server."
            )

    def check_account(self, owner: str, n_more: int = 0) -> None:
        """Refuse files for corpora or own copies of an account that has no room for them.

        Args:
            owner: the account.
            n_more: bytes of the files; how large they are in a corpus shows only afterwards.

        Raises:
            AccountFull
        """
        if not self._each:
            return
        listed = self._library.register.listed()
        mine = {each: self._bytes_of(each) for each in listed if each.owner == owner}
        copies = sum(copy.n_bytes for copy in self._own.of(owner).all())
        sent = sum(self._library.jobs.sent_files(owner).values())
        kept = sum(mine.values()) + copies + sent
        coming = n_more + self._waiting({each.corpus_id for each in mine})
        if kept + coming <= self._each:
            return
        of_corpora = "none"
        if mine:
            largest = max(mine, key=lambda entry: mine[entry])
            of_corpora = f"the largest is “{largest.name}” with {_mb(mine[largest])}"
        raise AccountFull(
            f"What one account keeps may take {_mb(self._each)}. Its files take {_mb(kept)}: own "
            f"copies {_mb(copies)}, sources of articles {_mb(sent)}, corpora "
            f"{_mb(sum(mine.values()))}, {of_corpora}; "
            f"files that are to be added have {_mb(coming)}. Delete something, or send less."
        )

    def _waiting(self, corpus_ids: set[str]) -> int:
        """Bytes of files that jobs are still to add to corpora."""
        return sum(
            file["n_bytes"]
            for _, request in self._library.jobs.open_requests("ingest")
            if request["corpus"] in corpus_ids
            for file in request["files"]
        )

    def _bytes_of(self, entry: CorpusEntry) -> int:
        register = self._library.register
        return 0 if register.is_linked(entry) else n_bytes(register.folder_of(entry.corpus_id))


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"
