"""Health checks of a server (`pincite server check`, `/readyz`) and its `/metrics`."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from sqlalchemy.dialects import postgresql, sqlite

from pincite.errors import PinciteError
from pincite.library.private_copies import OF_ACCOUNTS, OwnCopies
from pincite.server.corpora import CorpusRegister, fault
from pincite.server.database import VERSION, Database
from pincite.server.jobs import JobStore, Status
from pincite.server.settings import ServerSettings
from pincite.server.tables import tallies


@dataclass(frozen=True, slots=True)
class Part:
    """The health of one part of the server."""

    name: str
    well: bool
    what: str


def examined(settings: ServerSettings) -> Iterator[Part]:
    """Check every part; if the database is unusable, only the folder and the database."""
    yield folder(settings)
    database = Database(settings.database_url)
    try:
        found = tables(database)
        yield found
        if found.well:
            faults = database.faults()
            yield Part("rows", not faults, "; ".join(faults) or "consistent")
            yield _jobs(JobStore(database), settings.queue)
            yield _corpora(CorpusRegister(database, settings.folder / "corpora"))
            yield _copies(settings.folder / OF_ACCOUNTS)
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
        found = database.version()
    except PinciteError as error:
        return Part("database", False, str(error))
    if found != VERSION:
        what = f"its tables have version {found}, expected {VERSION}" if found else "no tables yet"
        return Part("database", False, f"{database.shown}: {what}")
    return Part("database", True, database.shown)


def _jobs(store: JobStore, queue: int) -> Part:
    counts, lost = store.counts(), store.abandoned()
    what = [f"{n} {status.value}" for status, n in counts.items() if n] or ["none"]
    if lost:
        what.append(f"the workers of {lost} are gone: run `pincite worker`")
    is_full = counts[Status.QUEUED] >= queue
    return Part("jobs", not is_full and not lost, ", ".join(what) + "; the queue is full" * is_full)


def _corpora(register: CorpusRegister) -> Part:
    every = register.listed()
    if faults := list(filter(None, (fault(each) for each in every if register.is_linked(each)))):
        return Part("corpora", False, "; ".join(faults))
    what = f"{len(every)}; `pincite corpus verify FOLDER` examines one"
    if empty := [each.corpus_id for each in every if register.is_empty(each)]:
        what += f"; without documents: {', '.join(empty)}"
    return Part("corpora", True, what)


def _copies(root: Path) -> Part:
    """Check the private copies of accounts, but not those of local mode."""
    folders = [path for path in sorted(root.glob("*")) if path.is_dir()]
    damaged = []
    for each in folders:
        try:
            if n_lost := OwnCopies(each).faults():
                damaged.append(f"{each} ({n_lost} files)")
        except PinciteError as error:
            damaged.append(str(error))
    what = f"damaged: {'; '.join(damaged)}" if damaged else f"of {len(folders)} accounts"
    return Part("copies", not damaged, what)


# ── Metrics ──────────────────────────────────────────────────────────────────────────────────────

Key = tuple[str, str]  # name of the counter, and its label
VERDICTS, UNCHECKED = "verdicts", "unchecked"


class Tallies:
    """Counters across all jobs, kept in the database: workers share them, and they outlive jobs.

    Every method is one transaction.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, found: Mapping[Key, float]) -> None:
        if not found:
            return
        insert = sqlite.insert if self._db.is_sqlite else postgresql.insert
        # A fixed order prevents deadlocks between concurrent updates.
        rows = [{"name": n, "label": lb, "value": v} for (n, lb), v in sorted(found.items())]
        new = insert(tallies)
        added = new.on_conflict_do_update(
            index_elements=["name", "label"],
            set_={"value": tallies.c.value + new.excluded.value},
        )
        with self._db.writing() as db:
            db.execute(added, rows)

    def all(self) -> dict[Key, float]:
        return {(row.name, row.label): row.value for row in self._db.rows(sa.select(tallies))}


BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 10.0)  # seconds; the target is 0.2


@dataclass(frozen=True, slots=True)
class Now:
    """Current values from the database and the disk."""

    jobs: Mapping[Status, int] = field(default_factory=dict)
    oldest_seconds: float = 0.0  # of the oldest waiting job
    tallies: Mapping[Key, float] = field(default_factory=dict)
    disk_free_bytes: int = 0


class Metrics:
    """Metrics of this process's requests and of all workers' jobs."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "pincite_request_seconds",
            "Time to answer, by route and status.",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=BUCKETS,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """`route` is the route's pattern, never the URL."""
        known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") else "other"
        self._seconds.labels(known, route, str(status)).observe(seconds)

    def text(self, now: Now) -> tuple[bytes, str]:
        registry = CollectorRegistry()

        def gauge(name: str, what: str, value: float) -> None:
            Gauge(f"pincite_{name}", what, registry=registry).set(value)

        gauge(
            "queue_oldest_seconds",
            "Seconds that the oldest waiting job has waited.",
            now.oldest_seconds,
        )
        gauge("disk_free_bytes", "Free bytes on the disk of the data folder.", now.disk_free_bytes)
        gauge(
            "resident_bytes", "Memory of the server's process, without its jobs.", _resident_bytes()
        )
        jobs = Gauge("pincite_jobs", "Stored jobs by state.", ["status"], registry=registry)
        for status, n in now.jobs.items():
            jobs.labels(status.value).set(n)
        verdicts = Counter(
            "pincite_verdicts", "Verdicts by verb.", ["verb", "verdict"], registry=registry
        )
        unchecked = Counter(
            "pincite_unchecked",
            "Citations that could not be checked.",
            ["reason"],
            registry=registry,
        )
        for (kind, label), value in sorted(now.tallies.items()):
            (verdicts if kind == VERDICTS else unchecked).labels(*label.split(" ")).inc(value)
        return generate_latest(self._registry) + generate_latest(registry), CONTENT_TYPE_LATEST


def _resident_bytes() -> int:
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:  # not Linux
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
