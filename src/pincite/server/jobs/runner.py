"""The process in which jobs run, one after the other: `python -m pincite.server.jobs.runner NAME`.

Started and watched by `worker`, which hands it job ids on stdin and ends it where a job
takes too long or too much memory: whatever a job does, the server goes on. SIGINT ends a job early,
with what there is; the end of stdin (the worker is gone) ends the process and those that it started
at once, and the job goes back to the queue when its lease runs out. A database that is away for a
while costs nothing but the while: what a job found is written when it is back.
"""

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pincite import settings as pipeline_settings
from pincite.contract import codec
from pincite.corpus.protocol import Address
from pincite.errors import InputError, PinciteError
from pincite.models.session import cores
from pincite.server import logs
from pincite.server.corpora import CorpusRegister, removed, without_places
from pincite.server.database import Database, DatabaseError
from pincite.server.jobs import ingesting, work
from pincite.server.jobs.store import Job, JobStore, Status
from pincite.server.jobs.tallies import Key, Stopwatch, Tallies, of_result
from pincite.server.requests import corpora_in
from pincite.server.settings import ServerSettings
from pincite.server.settings import load as load_server_settings
from pincite.server.site import copies_of
from pincite.server.uploads import Uploads
from pincite.settings import Settings

PROGRESS = frozenset({"fetching", "reading", "draft"})  # events of which only the newest counts
TELL_SECONDS = 0.3  # events are written together at most so often: each writing is a transaction
PATIENCE_SECONDS = 900.0  # with a database that is away; then the job goes back to the queue
RETRY_SECONDS = 2.0
NICENESS = 10  # on the cores that it shares with the server, people who read come first
INTERNAL = {
    "code": "internal",
    "detail": "A fault of the program; the server's log has it under this job's id.",
}
LOG = logging.getLogger("pincite.server.jobs.runner")
T = TypeVar("T")


class Teller:
    """Writes what a job tells into the database, not more often than people can read."""

    def __init__(self, store: JobStore, job_id: str, worker: str) -> None:
        self._store, self._job_id, self._worker = store, job_id, worker
        self._waiting: list[tuple[str, Mapping[str, Any]]] = []
        self._last = 0.0

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None:
        """One event; of progress that nobody has read yet only the newest is kept."""
        if kind in PROGRESS and self._waiting and self._waiting[-1][0] == kind:
            self._waiting.pop()
        self._waiting.append((kind, data))
        if time.monotonic() - self._last >= TELL_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits; where the database is away it waits on, but the job does not."""
        try:
            self.write()
        except DatabaseError as error:
            LOG.warning("job %s: events wait: %s", self._job_id, error)

    def write(self) -> None:
        """Write what waits.

        Raises:
            DatabaseError: it waits on.
        """
        self._last = time.monotonic()
        if self._waiting:
            self._store.tell(self._job_id, self._worker, self._waiting)
        self._waiting = []


class Runner:
    """Runs jobs of one worker."""

    def __init__(self, worker: str, server: ServerSettings, settings: Settings) -> None:
        self._worker, self._settings = worker, settings
        database = Database(server.database_url)
        self._store = JobStore(database)
        self._tallies = Tallies(database)
        self._corpora = CorpusRegister(database, server.folder / "corpora")
        self._uploads = Uploads(server.folder / "uploads")
        self._own = copies_of(server, settings)

    def run(self, job_id: str) -> None:
        """Do a job and keep its result; what goes wrong is kept as its problem.

        Raises:
            DatabaseError: it was away for too long.
        """
        job = _patiently(lambda: self._store.get(job_id))
        if job is None:
            return
        ended = self._done(job)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was found is written, come what may
        try:
            _patiently(ended)
        except DatabaseError:
            raise
        except Exception:  # a text that the database refuses: trying again would not help
            LOG.exception("job %s cannot be written", job_id)
            _patiently(self._ending(job, Status.FAILED, INTERNAL))
        if job.kind == "ingest":
            _patiently(lambda: self._clear_away(job))

    def _done(self, job: Job) -> Callable[[], object]:
        """The work; comes back with what writes its end."""
        tell, watch = Teller(self._store, job.job_id, self._worker), Stopwatch(job.kind)

        def heard(kind: str, data: Mapping[str, Any]) -> None:
            watch.hear(kind)
            tell(kind, data)

        try:
            found = self._work(job, heard)
        except KeyboardInterrupt:
            return self._ending(job, Status.CANCELLED)
        except PinciteError as error:
            detail = without_places(error, (self._places(job) or {}).values())
            problem = {"code": _code(error), "detail": detail}
            return self._ending(job, Status.FAILED, problem)
        except (Exception, SystemExit):  # a library may call sys.exit
            LOG.exception("job %s", job.job_id)
            return self._ending(job, Status.FAILED, INTERNAL)
        spent = watch.ended()
        return lambda: self._keep(job, found, tell, spent)

    def _keep(self, job: Job, found: work.Done, tell: Teller, spent: Mapping[Key, float]) -> None:
        tell.write()  # at the end nothing more will come that could take it along
        if found.title:
            self._store.entitle(job.job_id, self._worker, found.title)
        # A part of a check or an answer that failed is told in its result.
        done = found.complete or job.kind in ("check", "ask")
        status = Status.DONE if done else Status.CANCELLED
        if self._store.finish(
            job.job_id, self._worker, status, result=found.result, files=found.files
        ):
            self._tallies.add({**of_result(job.kind, found.result), **spent})

    def _work(self, job: Job, tell: work.Tell) -> work.Done:
        places = self._places(job)
        if job.kind != "ingest":
            request = _patiently(lambda: self._store.whole_request(job))
            # What whoever runs the server has attached is not for the jobs of others.
            own = str(self._own.folder(job.owner))
            settings = self._settings.replace(own_copies=own)
            asked = (job.kind, request, places, settings, tell)
            if upload := request.get("upload"):
                with self._uploads.unpacking(upload) as sent:
                    return work.done(*asked, sent)
            return work.done(*asked)
        if places is None:
            raise InputError("The corpus is not there any more.")
        folder = self._corpora.folder_of(job.request["corpus"])
        files = self._uploads.at(job.request["upload"])
        found = ingesting.done(job.request, folder, files, self._settings, tell)
        problems = codec.from_json(ingesting.Ingested, found.result).problems
        names = [each["name"] for each in job.request["files"]]
        self._corpora.note_problems(job.request["corpus"], names, codec.values_of(problems))
        return found

    def _clear_away(self, job: Job) -> None:
        """The files that were sent, and a corpus that was deleted while they were read."""
        ended = self._store.get(job.job_id)
        if ended is None or ended.ended:
            self._uploads.remove(job.request["upload"])
        if self._corpora.get(job.request["corpus"]) is None:
            removed(self._corpora.folder_of(job.request["corpus"]))

    def _places(self, job: Job) -> dict[str, Address] | None:
        """Where the corpora lie that it names, by name; None if it names none, or one is gone."""
        found = dict[str, Address]()
        for corpus_id in corpora_in(job.request.get("corpus")):
            entry = self._corpora.get(corpus_id)
            if entry is None:
                return None
            found[f"{entry.name} ({corpus_id})" if entry.name in found else entry.name] = (
                entry.address
            )
        return found or None

    def _ending(
        self, job: Job, status: Status, problem: Mapping[str, Any] | None = None
    ) -> Callable[[], object]:
        return lambda: self._store.finish(job.job_id, self._worker, status, problem=problem)


def _patiently(act: Callable[[], T]) -> T:
    """What `act` gives, as soon as the database is there."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return act()
        except DatabaseError as error:
            if time.monotonic() > end:
                raise
            LOG.warning("trying again: %s", error)
            time.sleep(RETRY_SECONDS)


def _sharing(settings: Settings, n_processes: int) -> Settings:
    """With threads for this process's share of the cores, unless somebody chose a number."""
    if settings.models.threads:
        return settings
    return settings.replace(threads=max(1, cores() // max(1, n_processes)))


def _code(error: PinciteError) -> str:
    """MissingModel → missing_model."""
    name = type(error).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def main() -> None:
    """Read job ids from stdin, one a line; answer each with a line when it is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # between jobs there is nothing to end
    worker, config = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None
    server, settings = load_server_settings({}, config), pipeline_settings.load({}, config)
    logs.configure(server.log)
    os.nice(NICENESS)
    runner = Runner(worker, server, _sharing(settings, server.jobs_at_once))
    lines: list[str] = []
    arrived = threading.Condition()

    def read() -> None:
        for line in sys.stdin:
            with arrived:
                lines.append(line.strip())
                arrived.notify()
        # The worker is gone: nobody may run this job beside whoever takes it next.
        os.killpg(0, signal.SIGKILL)  # this process leads its group: `start_new_session`

    threading.Thread(target=read, daemon=True).start()
    while True:
        with arrived:
            while not lines:
                arrived.wait()
            job_id = lines.pop(0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            runner.run(job_id)
        except KeyboardInterrupt:
            LOG.warning("job %s was ended while its end was written", job_id)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stdout.write(json.dumps({"done": job_id}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
