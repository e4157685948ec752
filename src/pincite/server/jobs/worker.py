"""Takes jobs from the queue and has them run in processes of their own, under limits.

Each slot has one process (`runner`), which is kept from job to job and made anew when it
died. The worker renews the lease of what runs, ends what was cancelled, what takes too long and
what takes too much memory, and puts back what died. Killed itself, it loses nothing: its leases run
out, and its processes end with it.
"""

import json
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

from pincite.server.database import DatabaseError
from pincite.server.jobs.store import Job, JobStore, Status
from pincite.server.settings import ServerSettings
from pincite.server.tables import new_id, now

IDLE_SECONDS = 0.5  # between looks into an empty queue
WATCH_SECONDS = 1.0
GRACE_SECONDS = 10.0  # from the request to end to the end by force
TIDY_SECONDS = 10.0
DAY = 86_400.0
LOG = logging.getLogger("pincite.server.jobs.worker")


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
        """`config`: the settings file that the processes read too; `tidy`: called now and then."""
        self._store, self._settings, self._config = store, settings, config
        self._tidy_up = tidy
        self._stop = threading.Event()
        self._name = f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()[:6]}"
        self._threads = [
            threading.Thread(target=self._slot, args=(n,), name=f"slot-{n}", daemon=True)
            for n in range(slots)
        ]
        self._tidy = threading.Thread(target=self._keep_tidy, name="tidy", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        for thread in (*self._threads, self._tidy):
            thread.start()

    def stop(self) -> None:
        """Take no more jobs; what runs goes back to the queue. Returns when all has ended."""
        self._stop.set()
        for thread in (*self._threads, self._tidy):
            if thread.is_alive():
                thread.join(GRACE_SECONDS)

    @property
    def works(self) -> bool:
        """Whether all its threads live."""
        return all(thread.is_alive() for thread in (*self._threads, self._tidy))

    def _slot(self, number: int) -> None:
        name = f"{self._name}-{number}"
        process: _Process | None = None
        while not self._stop.is_set():
            try:
                job = self._store.take(name)
            except Exception:
                LOG.exception("the queue cannot be read; trying again")
                job = None
                self._stop.wait(5)
            if job is None:
                self._stop.wait(IDLE_SECONDS)
                continue
            try:
                if process is None or not process.alive or self._is_fat(process):
                    process = self._fresh(name, process)
                self._watch(job, process, name)
            except Exception:  # the job's lease runs out, and it goes back to the queue
                LOG.exception("job %s: lost sight of it", job.job_id)
                if process:
                    process.kill()
                self._stop.wait(IDLE_SECONDS)
        if process:
            process.kill()

    def _fresh(self, name: str, old: "_Process | None") -> "_Process":
        if old:
            old.kill()
        return _Process(name, self._settings, self._config)

    def _is_fat(self, process: "_Process") -> bool:
        """What a job took, the system seldom gets back: it must not count against the next."""
        return process.megabytes > self._settings.job_megabytes / 2

    def _watch(self, job: Job, process: "_Process", name: str) -> None:
        """Until the job has ended, one way or another."""
        begin = time.monotonic()
        process.begin(job.job_id)
        asked_at: float | None = None
        while not process.done(WATCH_SECONDS):
            if not process.alive:
                LOG.warning("job %s: its process died (%s)", job.job_id, process.code)
                self._store.give_back(job.job_id, name, died=True)
                return
            if self._stop.is_set():
                process.kill()
                self._store.give_back(job.job_id, name, died=False)
                return
            if problem := self._over(begin, process):
                process.kill()
                self._store.finish(job.job_id, name, Status.FAILED, problem=problem)
                return
            wanted = self._wanted(job, name)
            if asked_at is None and not wanted:
                process.interrupt()
                asked_at = time.monotonic()
            elif asked_at and time.monotonic() - asked_at > GRACE_SECONDS:
                process.kill()
                self._store.finish(job.job_id, name, Status.CANCELLED)
                return
        # Where it could not write the job's end, somebody has to try again.
        self._store.give_back(job.job_id, name, died=True)

    def _wanted(self, job: Job, name: str) -> bool:
        """A sign of life; False if the job is to end."""
        try:
            return self._store.renew(job.job_id, name)
        except DatabaseError as error:
            # Whoever takes the job meanwhile, if anybody can, is the one whose result counts.
            LOG.warning("job %s: no sign of life could be given: %s", job.job_id, error)
            return True

    def _over(self, begin: float, process: "_Process") -> dict[str, Any] | None:
        """Which limit a job has passed."""
        limit = self._settings.job_seconds
        if time.monotonic() - begin > limit:
            detail = f"It took longer than {limit:g} s, the server's limit for a job."
            return {"code": "job_too_long", "detail": detail}
        megabytes = process.megabytes
        if megabytes > self._settings.job_megabytes:
            most = self._settings.job_megabytes
            detail = f"It took {megabytes} MB of memory; the server's limit for a job is {most}."
            return {"code": "job_too_large", "detail": detail}
        return None

    def _keep_tidy(self) -> None:
        """Free what dead workers held, and forget what is too old to keep."""
        while not self._stop.wait(TIDY_SECONDS):
            try:
                for job_id in self._store.free_abandoned():
                    LOG.warning("job %s: its worker gave no sign of life", job_id)
                if self._settings.keep_days:
                    self._store.delete_older(now() - self._settings.keep_days * DAY)
                self._tidy_up()
            except Exception:
                LOG.exception("tidying up failed; trying again")


class _Process:
    """A runner, seen from outside."""

    def __init__(self, name: str, settings: ServerSettings, config: Path | None) -> None:
        given = [name, *([str(config)] if config else [])]
        # It reads the settings itself, but not the options that this process was started with.
        places = {"DATA": str(settings.folder), "DATABASE": settings.database_url}
        places["JOBS_AT_ONCE"] = str(settings.jobs_at_once)
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "pincite.server.jobs.runner", *given],
            env=os.environ | {f"PINCITE_SERVER_{key}": value for key, value in places.items()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is the worker's to handle
        )
        self._buffer, self._job_id = b"", ""

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """Of its exit; negative: the signal that ended it."""
        return self._process.poll()

    @property
    def megabytes(self) -> int:
        """Resident memory; 0 where the system does not say."""
        try:
            fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 1_000_000

    def begin(self, job_id: str) -> None:
        """Hand it a job."""
        assert self._process.stdin
        self._job_id = job_id
        try:
            self._process.stdin.write(f"{job_id}\n".encode())
            self._process.stdin.flush()
        except OSError:  # it died; `alive` says so
            LOG.warning("job %s could not be handed over", job_id)

    def done(self, seconds: float) -> bool:
        """Whether it says, within the time, that the job has ended."""
        assert self._process.stdout
        out = self._process.stdout.fileno()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([out], [], [], left)
            if not readable:
                return False
            data = os.read(out, 65536)
            if not data:
                time.sleep(min(left, 0.05))  # closed: it is ending
                return False
            self._buffer += data
            *lines, self._buffer = self._buffer.split(b"\n")
            if any(_says_done(line, self._job_id) for line in lines):
                return True
        return False

    def interrupt(self) -> None:
        """Ask it to end the job early."""
        if self.alive:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it now, and what it started."""
        if self.alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:  # what it was to read is nobody's now
                    continue


def _says_done(line: bytes, job_id: str) -> bool:
    try:
        said = json.loads(line)
    except ValueError:  # a library printed something
        return False
    return isinstance(said, dict) and said.get("done") == job_id
