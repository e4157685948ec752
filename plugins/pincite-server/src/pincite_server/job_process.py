"""The process in which jobs run, one after the other: `python -m pincite_server.job_process`.

It reads job ids from stdin and prints a line for each finished job. SIGINT ends a job early with a
partial result; end of file on stdin ends the process. If the database is unavailable, it waits and
writes the result later.
"""

import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

from pincite import settings as pipeline_settings
from pincite.corpus.protocol import Address
from pincite.errors import InputError, PinciteError
from pincite.models.session import cores
from pincite.settings import Settings
from pincite_server import ingesting, work
from pincite_server.corpora import CorpusRegister, hide_places, remove_folder
from pincite_server.database import Database, DatabaseError
from pincite_server.jobs import Done, Job, JobStore, Status
from pincite_server.logs import configure_logs
from pincite_server.requests import corpora_in
from pincite_server.settings import ServerSettings
from pincite_server.settings import load as load_server_settings
from pincite_server.site import account_copies
from pincite_server.uploads import Uploads
from pincite_server.worker import DONE

T = TypeVar("T")
LOG = logging.getLogger("pincite.server.worker")
PROGRESS = frozenset({"fetching", "reading", "draft"})  # events of which only the newest matters
WRITE_SECONDS = 0.3  # between transactions that write events
PATIENCE_SECONDS = 900.0  # while the database is unavailable; then the job is requeued
RETRY_SECONDS = 2.0
NICENESS = 10  # the server shares these cores and has priority
BUG = "A bug in Pincite: see the server's log under this job's id."
INTERNAL = {"code": "internal", "detail": BUG}


class Progress:
    """Writes a job's events to the database in batches."""

    def __init__(self, store: JobStore, job: Job, worker: str) -> None:
        self._store, self._job, self._worker = store, job, worker
        self._pending: list[tuple[str, Mapping[str, Any]]] = []
        self._written = 0.0

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None:
        """Queue an event to be written soon; a database failure delays it but not the job."""
        if kind in PROGRESS and self._pending and self._pending[-1][0] == kind:
            self._pending.pop()
        self._pending.append((kind, data))
        if time.monotonic() - self._written >= WRITE_SECONDS:
            with contextlib.suppress(DatabaseError):
                self.write()

    def write(self) -> None:
        """Write the pending events. Raises DatabaseError: the events stay pending."""
        self._written = time.monotonic()
        if self._pending:
            self._store.add_events(self._job.job_id, self._worker, self._pending)
        self._pending = []


class Runner:
    """Runs the jobs of one worker, one after the other."""

    def __init__(self, worker: str, server: ServerSettings, settings: Settings) -> None:
        self._worker, self._settings = worker, settings
        database = Database(server.database_url)
        self._store = JobStore(database)
        self._corpora = CorpusRegister(database, server.folder / "corpora")
        self._uploads = Uploads(server.folder / "uploads")
        self._copies = account_copies(server, settings)

    def run(self, job_id: str) -> None:
        """Run a job and store its outcome. Raises DatabaseError: unavailable for too long."""
        job = _patiently(lambda: self._store.get(job_id))
        if job is None:
            return
        progress = Progress(self._store, job, self._worker)
        done: Done | None = None
        problem: Mapping[str, Any] | None = None
        try:
            done = self._work(job, progress)
        except KeyboardInterrupt:
            pass
        except PinciteError as error:
            name = type(error).__name__
            code = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
            detail = hide_places(error, (self._addresses(job) or {}).values())
            problem = {"code": code, "detail": detail}
        except (Exception, SystemExit):  # a library may call sys.exit
            LOG.exception("job %s", job.job_id)
            problem = INTERNAL
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing may interrupt writing the result
        try:
            _patiently(lambda: self._finish(job, progress, problem, done))
        except DatabaseError:
            raise
        except Exception:  # the database rejects the text, so a retry would not help
            LOG.exception("job %s cannot be written", job_id)
            _patiently(lambda: self._finish(job, progress, INTERNAL, None))
        if job.kind == "ingest":
            _patiently(lambda: self._clear_away(job))

    def _finish(
        self, job: Job, progress: Progress, problem: Mapping[str, Any] | None, done: Done | None
    ) -> None:
        if done is None:
            status = Status.FAILED if problem else Status.CANCELLED
            self._store.finish(job.job_id, self._worker, status, problem=problem)
            return
        progress.write()
        # Results of checks and answers report their own failed parts.
        is_done = done.complete or job.kind in ("check", "ask")
        status = Status.DONE if is_done else Status.CANCELLED
        self._store.finish(job.job_id, self._worker, status, result=done.result, files=done.files)

    def _work(self, job: Job, progress: Progress) -> Done:
        corpora = self._addresses(job)
        if job.kind == "ingest":
            if corpora is None:
                raise InputError("The corpus no longer exists.")
            folder = self._corpora.folder_of(job.request["corpus"])
            files = self._uploads.at(job.request["upload"])
            events = _patiently(lambda: self._store.events(job.job_id, limit=job.n_events))
            again = any(event.data.get("again") for event in events if event.kind == "queued")
            settings = self._settings
            return ingesting.ingest(job.request, folder, files, settings, progress, restarted=again)
        request = _patiently(lambda: self._store.full_request(job))
        # The copies of the job's owner, not those of the user who runs the server.
        settings = self._settings.replace(own_copies=str(self._copies.folder(job.owner)))
        upload = request.get("upload")
        with self._uploads.unpacking(upload) if upload else nullcontext() as sent:
            return work.run(job.kind, request, corpora, settings, progress, sent)

    def _clear_away(self, job: Job) -> None:
        """Remove the uploaded files, and the folder of a corpus that was deleted meanwhile."""
        ended = self._store.get(job.job_id)
        if ended is None or ended.ended:
            self._uploads.remove(job.request["upload"])
        if self._corpora.get(job.request["corpus"]) is None:
            remove_folder(self._corpora.folder_of(job.request["corpus"]))

    def _addresses(self, job: Job) -> dict[str, Address] | None:
        """The request's corpora by name; None if it has none or one no longer exists."""
        addresses = dict[str, Address]()
        for corpus_id in corpora_in(job.request.get("corpus")):
            entry = self._corpora.get(corpus_id)
            if entry is None:
                return None
            name = f"{entry.name} ({corpus_id})" if entry.name in addresses else entry.name
            addresses[name] = entry.address
        return addresses or None


def _patiently(act: Callable[[], T]) -> T:
    """Call `act`, retrying while the database is unavailable."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return act()
        except DatabaseError:
            if time.monotonic() > end:
                raise
            time.sleep(RETRY_SECONDS)


def main() -> None:
    """Read job ids from stdin, one per line; write `DONE` to stdout when each is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # there is nothing to interrupt between jobs
    reports = os.dup(1)
    os.dup2(2, 1)  # libraries print to stdout
    name, config = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None
    server, settings = load_server_settings({}, config), pipeline_settings.load({}, config)
    configure_logs(server.log)
    os.nice(NICENESS)
    if not settings.models.threads:  # its share of the cores
        settings = settings.replace(threads=max(1, cores() // max(1, server.jobs_at_once)))
    runner = Runner(name, server, settings)
    job_ids: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            job_ids.put(line.strip())
        # The worker is gone and another may take this job, so kill this job and its children.
        os.killpg(0, signal.SIGKILL)  # this process leads its group: `start_new_session`

    threading.Thread(target=read, daemon=True).start()
    while True:
        job_id = job_ids.get()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            runner.run(job_id)
        except KeyboardInterrupt:
            LOG.warning("job %s was interrupted while its result was written", job_id)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.write(reports, DONE)


if __name__ == "__main__":
    main()
