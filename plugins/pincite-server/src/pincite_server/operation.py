"""Health checks of a server (`pincite server check`, `/readyz`) and its `/metrics`."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest

from pincite.errors import PinciteError
from pincite_server.corpora import CorpusRegister, fault
from pincite_server.database import VERSION, Database
from pincite_server.jobs import JobStore, Status
from pincite_server.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class Part:
    """The health of one part of the server."""

    name: str
    well: bool
    what: str


def examine(settings: ServerSettings) -> Iterator[Part]:
    """Check every part; if the database is unusable, only the folder and the database."""
    yield folder(settings)
    database = Database(settings.database_url)
    try:
        part = tables(database)
        yield part
        if part.well:
            yield _jobs(JobStore(database), settings.queue)
            yield workers(JobStore(database))
            yield _corpora(CorpusRegister(database, settings.folder / "corpora"))
    finally:
        database.close()


def folder(settings: ServerSettings) -> Part:
    path = settings.folder
    if not (path.is_dir() and os.access(path, os.W_OK)):
        return Part("folder", False, f"{path} does not exist, or cannot be written")
    free = shutil.disk_usage(path).free
    well = free >= settings.disk_free_megabytes * 1e6
    return Part("folder", well, f"{path}: {free / 1e9:,.1f} GB free")


def tables(database: Database) -> Part:
    try:
        version = database.version()
    except PinciteError as error:
        return Part("database", False, str(error))
    if version == VERSION:
        return Part("database", True, database.shown)
    what = f"its tables have version {version}, expected {VERSION}" if version else "no tables yet"
    return Part("database", False, f"{database.shown}: {what}")


def _jobs(store: JobStore, queue: int) -> Part:
    counts, lost = store.counts(), store.count_abandoned()
    what = [f"{n} {status.value}" for status, n in counts.items() if n] or ["none"]
    if lost:
        what.append(f"the workers of {lost} are gone: run `pincite worker`")
    is_full = counts[Status.QUEUED] >= queue
    return Part("jobs", not is_full and not lost, ", ".join(what) + "; the queue is full" * is_full)


def workers(store: JobStore) -> Part:
    n = store.count_ignored()
    what = f"jobs wait ({n}) and no worker takes them: run `pincite worker`"
    return Part("workers", not n, what if n else "no job waits for a worker")


def _corpora(register: CorpusRegister) -> Part:
    entries = register.entries()
    if faults := [*filter(None, map(fault, filter(register.is_linked, entries)))]:
        return Part("corpora", False, "; ".join(faults))
    return Part("corpora", True, f"{len(entries)}; `pincite corpus verify FOLDER` examines one")


# ── Metrics ──────────────────────────────────────────────────────────────────────────────────────


class Metrics:
    """Prometheus metrics of this process's requests and of the queue."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        what, labels = "Seconds to answer, by route and status.", ("route", "status")
        self._seconds = Histogram("pincite_request_seconds", what, labels, registry=own)
        self._jobs = Gauge("pincite_jobs", "Stored jobs by state.", ("status",), registry=own)

    def observe(self, route: str, status: int, seconds: float) -> None:
        """`route` is the route's pattern, never the URL."""
        self._seconds.labels(route, str(status)).observe(seconds)

    def text(self, jobs: JobStore) -> bytes:
        for status, n in jobs.counts().items():
            self._jobs.labels(status.value).set(n)
        return generate_latest(self._registry)
