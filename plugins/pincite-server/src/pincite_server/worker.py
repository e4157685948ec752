"""Runs queued jobs in separate processes, with limits on time and memory.

A `Worker` has one thread per slot. Each slot has a process, which is reused for the next job and
replaced when it dies. The worker renews the lease of each running job, ends jobs that were
cancelled or exceed a limit, and requeues those whose process died. If the worker is killed, its
leases expire, its processes end with it, and other workers take over the jobs.

The process (`python -m pincite_server.worker NAME [CONFIG]`) reads job ids from stdin and prints a
line for each finished job. SIGINT ends a job early with a partial result; end of file on stdin ends
the process. If the database is unavailable, it waits and writes the result later.
"""

import contextlib
import logging
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pincite import settings as pipeline_settings
from pincite.corpus.protocol import Address
from pincite.errors import InputError, PinciteError
from pincite.models.session import cores
from pincite.settings import Settings
from pincite_server import work
from pincite_server.corpora import CorpusRegister, hide_places, removed
from pincite_server.database import Database, DatabaseError
from pincite_server.identity import DAY
from pincite_server.jobs import Job, JobStore, Status
from pincite_server.middleware import configure_logs
from pincite_server.requests import corpora_in
from pincite_server.settings import ServerSettings
from pincite_server.settings import load as load_server_settings
from pincite_server.site import account_copies
from pincite_server.tables import new_id, now
from pincite_server.uploads import Uploads

IDLE_SECONDS = 0.5  # between polls of an empty queue
WATCH_SECONDS = 1.0
GRACE_SECONDS = 10.0  # between interrupting a job and killing its process
TIDY_SECONDS = 10.0
DONE = b"done\n"
LOG = logging.getLogger("pincite.server.worker")
T = TypeVar("T")


# ── In the server or `pincite worker` ────────────────────────────────────────────────────────────


class Worker:
    """Runs up to `slots` jobs at once, until it is stopped."""

    def __init__(
        self,
        store: JobStore,
        settings: ServerSettings,
        *,
        slots: int,
        config: Path | None = None,
        tidy: Callable[[], None] = lambda: None,
    ) -> None:
        """Pass the settings file `config` to the processes; call `tidy` every few seconds."""
        self._store, self._settings, self._config, self._tidy = store, settings, config, tidy
        self._stop = threading.Event()
        name = f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()[:6]}"
        self.slots = slots
        self._threads = [
            threading.Thread(target=self._work, args=(f"{name}-{n}",), daemon=True)
            for n in range(slots)
        ]
        self._threads.append(threading.Thread(target=self._keep_tidy, daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Take no more jobs, requeue running ones, and wait for the threads."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(GRACE_SECONDS)

    @property
    def works(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def _work(self, name: str) -> None:
        process: _Process | None = None
        while not self._stop.is_set():
            try:
                job = self._store.take(name)
            except Exception as error:
                _log_bug(error, "the queue cannot be read; trying again")
                self._stop.wait(5)
                continue
            if job is None:
                self._stop.wait(IDLE_SECONDS)
                continue
            try:
                # A process rarely releases memory, which must not count against the next job.
                if process and process.megabytes > self._settings.job_megabytes / 2:
                    process.kill()
                if process and not process.alive:
                    process.kill()  # closes its pipes
                    process = None
                process = process or _Process(name, self._settings, self._config)
                self._watch(job, process, name)
            except Exception as error:  # the lease expires, and the job returns to the queue
                _log_bug(error, f"job {job.job_id}: its process could not be watched")
                if process:
                    process.kill()
                self._stop.wait(IDLE_SECONDS)
        if process:
            process.kill()

    def _watch(self, job: Job, process: "_Process", name: str) -> None:
        """Watch a job until it ends, exceeds a limit or is cancelled, or its process dies."""
        begin = time.monotonic()
        process.begin(job.job_id)
        interrupted: float | None = None
        while not process.is_done(WATCH_SECONDS):
            if not process.alive:
                LOG.warning("job %s: its process died (%s)", job.job_id, process.code)
                break
            if self._stop.is_set():
                process.kill()
                self._store.requeue(job.job_id, name, died=False)
                return
            if problem := self._exceeded_limit(begin, process):
                process.kill()
                self._store.finish(job.job_id, name, Status.FAILED, problem=problem)
                return
            try:
                is_wanted = self._store.renew(job.job_id, name)
            except DatabaseError:  # another worker may take over the job
                is_wanted = True
            if interrupted is None and not is_wanted:
                process.interrupt()
                interrupted = time.monotonic()
            elif interrupted and time.monotonic() - interrupted > GRACE_SECONDS:
                process.kill()
                self._store.finish(job.job_id, name, Status.CANCELLED)
                return
        # Has no effect if the process has already finished the job.
        self._store.requeue(job.job_id, name, died=True)

    def _exceeded_limit(self, begin: float, process: "_Process") -> dict[str, Any] | None:
        limit, most = self._settings.job_seconds, self._settings.job_megabytes
        if time.monotonic() - begin > limit:
            detail = f"It took longer than {limit:g} s, the server's limit for a job."
            return {"code": "job_too_long", "detail": detail}
        if (megabytes := process.megabytes) > most:
            detail = f"It used {megabytes} MB of memory; the server's limit for a job is {most}."
            return {"code": "job_too_large", "detail": detail}
        return None

    def _keep_tidy(self) -> None:
        while not self._stop.wait(TIDY_SECONDS):
            try:
                for job_id in self._store.requeue_abandoned():
                    LOG.warning("job %s: its worker is gone", job_id)
                if self._settings.keep_days:
                    self._store.delete_older(now() - self._settings.keep_days * DAY)
                self._tidy()
            except Exception as error:
                _log_bug(error, "tidying up failed; trying again")


def _log_bug(error: Exception, message: str) -> None:
    """Log an error with its traceback, unless it is an outage, which `Database` logs once."""
    if not isinstance(error, DatabaseError):
        LOG.error(message, exc_info=error)


class _Process:
    """A job process, as seen by the worker."""

    def __init__(self, name: str, settings: ServerSettings, config: Path | None) -> None:
        # It reads the settings file itself, but does not get this process's command-line options.
        options = {
            "DATA": str(settings.folder),
            "DATABASE": settings.database_url,
            "JOBS_AT_ONCE": str(settings.jobs_at_once),
        }
        command = [sys.executable, "-m", "pincite_server.worker", name]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [*command, str(config)] if config else command,
            env=os.environ | {f"PINCITE_SERVER_{key}": value for key, value in options.items()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # the worker handles Ctrl-C in the terminal
        )

    @property
    def alive(self) -> bool:
        return self.code is None

    @property
    def code(self) -> int | None:
        """Exit code; negative if a signal ended the process."""
        return self._process.poll()

    @property
    def megabytes(self) -> int:
        """Resident memory; 0 where /proc is missing."""
        try:
            fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 1_000_000

    def begin(self, job_id: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(f"{job_id}\n".encode())
        except OSError:  # it died; `alive` is now False
            LOG.warning("job %s could not be handed over", job_id)

    def is_done(self, seconds: float) -> bool:
        """Wait up to `seconds` for the process to report that the job has ended."""
        assert self._process.stdout
        readable, _, _ = select.select([self._process.stdout], [], [], seconds)
        if readable and self._process.stdout.read(len(DONE)):
            return True
        if readable:  # closed: the process is exiting
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        return False

    def interrupt(self) -> None:
        if self.alive:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        if self.alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()


# ── In the process ───────────────────────────────────────────────────────────────────────────────

PROGRESS = frozenset({"fetching", "reading", "draft"})  # events of which only the newest matters
WRITE_SECONDS = 0.3  # between transactions that write events
PATIENCE_SECONDS = 900.0  # while the database is unavailable; then the job is requeued
RETRY_SECONDS = 2.0
NICENESS = 10  # the server shares these cores and has priority
INTERNAL = {
    "code": "internal",
    "detail": "A bug in Pincite: see the server's log under this job's id.",
}


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
        """Run a job and store its result or its problem.

        Raises DatabaseError: the database was unavailable for too long.
        """
        job = _patiently(lambda: self._store.get(job_id))
        if job is None:
            return
        progress = Progress(self._store, job, self._worker)
        done: work.Done | None = None
        problem: Mapping[str, Any] | None = None
        try:
            done = self._work(job, progress)
        except KeyboardInterrupt:
            pass
        except PinciteError as error:
            detail = hide_places(error, (self._addresses(job) or {}).values())
            problem = {"code": _code(error), "detail": detail}
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
        self,
        job: Job,
        progress: "Progress",
        problem: Mapping[str, Any] | None,
        done: work.Done | None,
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

    def _work(self, job: Job, progress: Progress) -> work.Done:
        corpora = self._addresses(job)
        if job.kind == "ingest":
            if corpora is None:
                raise InputError("The corpus no longer exists.")
            folder = self._corpora.folder_of(job.request["corpus"])
            files = self._uploads.at(job.request["upload"])
            events = _patiently(lambda: self._store.events(job.job_id, limit=job.n_events))
            restarted = any(each.data.get("again") for each in events if each.kind == "queued")
            ingest = partial(work.ingest, restarted=restarted)
            return ingest(job.request, folder, files, self._settings, progress)
        request = _patiently(lambda: self._store.full_request(job))
        # The copies of the job's owner, not those of the user who runs the server.
        settings = self._settings.replace(own_copies=str(self._copies.folder(job.owner)))
        run = partial(work.run, job.kind, request, corpora, settings, progress)
        if upload := request.get("upload"):
            with self._uploads.unpacking(upload) as sent:
                return run(sent)
        return run()

    def _clear_away(self, job: Job) -> None:
        """Remove the uploaded files, and the folder of a corpus that was deleted meanwhile."""
        ended = self._store.get(job.job_id)
        if ended is None or ended.ended:
            self._uploads.remove(job.request["upload"])
        if self._corpora.get(job.request["corpus"]) is None:
            removed(self._corpora.folder_of(job.request["corpus"]))

    def _addresses(self, job: Job) -> dict[str, Address] | None:
        """The request's corpora by name; None if it has none or one no longer exists."""
        found = dict[str, Address]()
        for corpus_id in corpora_in(job.request.get("corpus")):
            entry = self._corpora.get(corpus_id)
            if entry is None:
                return None
            name = f"{entry.name} ({corpus_id})" if entry.name in found else entry.name
            found[name] = entry.address
        return found or None


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


def _code(error: PinciteError) -> str:
    name = type(error).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


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
