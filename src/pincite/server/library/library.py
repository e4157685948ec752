"""The register of corpora and their folders, kept in step, whatever process is killed when.

A corpus is deleted in three steps: the register forgets it for everybody; its folder is removed as
soon as nobody writes it; then its entry goes. What a kill leaves between two of them is finished at
the next start, or by whoever tidies up next. A folder that the register never knew is left alone:
an older copy of the database may have been restored.
"""

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pincite.corpus.lock import WriterLock
from pincite.server.library.open_corpora import Shelf
from pincite.server.library.register import CorpusEntry, CorpusRegister
from pincite.server.library.uploads import Uploads

LOG = logging.getLogger("pincite.server.library.library")


class Jobs(Protocol):
    """What a library asks of the queue, see `jobs.store.JobStore`."""

    def open_requests(self, kind: Literal["ingest"]) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Ids and requests of the jobs that are still to add files to corpora."""

    def sent_files(self, owner: str | None = None) -> Mapping[str, int]:
        """Uploads that jobs name, and their bytes."""

    def cancel(self, job_id: str) -> object:
        """Ask for a job's end."""


@dataclass(frozen=True, slots=True)
class Library:
    """All that belongs to the corpora of a server."""

    register: CorpusRegister
    uploads: Uploads
    jobs: Jobs
    shelf: Shelf

    def delete(self, entry: CorpusEntry) -> None:
        """Remove a corpus for good; the folder of a linked one stays where its owner keeps it."""
        self.register.mark_deleted(entry.corpus_id)
        for job_id, request in self.jobs.open_requests("ingest"):
            if request["corpus"] == entry.corpus_id:
                self.jobs.cancel(job_id)
        self.shelf.drop(entry.address)
        self.tidy()

    def tidy(self) -> None:
        """Finish what was begun: remove what was deleted, and uploads that no job names."""
        for entry in self.register.deleted():
            folder = self.register.folder_of(entry.corpus_id)
            if self.register.is_linked(entry) or removed(folder):
                self.register.remove(entry.corpus_id)
        waiting = {request["upload"] for _, request in self.jobs.open_requests("ingest")}
        if n_swept := self.uploads.sweep(waiting | self.jobs.sent_files().keys()):
            LOG.warning("%s uploads were left behind and are removed", n_swept)


def removed(folder: Path) -> bool:
    """Whether the folder of a corpus is gone now; one that is being written stays for later."""
    if not folder.is_dir():
        return True
    with WriterLock(folder).attempt() as is_free:
        if is_free:
            shutil.rmtree(folder)
    return is_free
