"""Runs queued jobs in separate processes, with limits on time and memory.

A `Worker` has one thread per slot. Each slot has a process (`job_process`), which is reused for the
next job and replaced when it dies. The worker renews the lease of each running job, ends jobs that
were cancelled or exceed a limit, and requeues those whose process died. If the worker is killed,
its leases expire, its processes end with it, and other workers take over the jobs.
"""

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pincite_server.database import DatabaseError
from pincite_server.identity import DAY
from pincite_server.jobs import Job, JobStore, Status
from pincite_server.settings import ServerSettings
from pincite_server.tables import new_id, now

DONE = b"done\n"  # what a process writes to stdout when a job has ended
IDLE_SECONDS = 0.5  # between polls of an empty queue
WATCH_SECONDS = 1.0
GRACE_SECONDS = 10.0  # between interrupting a job and killing its process
TIDY_SECONDS = 10.0
LOG = logging.getLogger("pincite.server.worker")


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
                most = self._settings.job_megabytes / 2
                if process and (process.megabytes > most or not process.alive):
                    process.kill()  # also closes its pipes
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
        options = {"DATA": str(settings.folder), "DATABASE": settings.database_url}
        options["JOBS_AT_ONCE"] = str(settings.jobs_at_once)
        command = [sys.executable, "-m", "pincite_server.job_process", name]
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
