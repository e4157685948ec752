"""The job queue in the database: order, events and results.

The queue is a table. A worker that takes a job holds a lease and renews it. When a lease expires,
the job returns to the queue, so killing a worker loses no job. A running job adds numbered events,
and a client that lost its connection resumes after the last number it received.

Accounts take turns. The next job is the oldest one of the account whose last job started longest
ago, so a user who queues ten articles delays other users by at most one of them.
"""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from pincite_server.database import Database, Lock
from pincite_server.problems import Problem
from pincite_server.tables import Kind, job_events, job_files, jobs, new_id, now

LEASE_SECONDS = 20.0  # a worker renews a lease every few seconds
MAX_ATTEMPTS = 3  # for a job whose process dies each time
MAX_TITLE = 300
TEXT = "text"  # a key of the request; can be megabytes, so it is stored separately


class Status(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"  # possibly with a partial result


ENDED = frozenset({Status.DONE, Status.FAILED, Status.CANCELLED})


@dataclass(frozen=True, slots=True)
class Job:
    """A job, without its result."""

    job_id: str
    owner: str
    kind: Kind
    title: str
    request: Mapping[str, Any]  # without its text, see `full_request`
    status: Status
    created: float
    started: float | None
    finished: float | None
    attempts: int
    cancelled: bool  # requested; the job may still be running
    problem: Mapping[str, Any] | None
    n_events: int

    @property
    def ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a job; `number` counts from 1 within each job."""

    number: int
    kind: str
    data: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Done:
    """What the work on a job returns."""

    result: str  # JSON, as printed by `--json` on the command line
    complete: bool  # False if the job was stopped early
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


Emit = Callable[[str, Mapping[str, Any]], None]  # called with the kind of an event and its data
_RETRY = {"Retry-After": "30"}
_COLUMNS = [jobs.c[name] for name in Job.__slots__]
_EARLIER = jobs.alias("earlier")
# When the last job of a job's owner started; an account's jobs start in order.
_LAST_START = (
    sa.select(_EARLIER.c.started)
    .where(_EARLIER.c.owner == jobs.c.owner, _EARLIER.c.started.is_not(None))
    .order_by(_EARLIER.c.created.desc(), _EARLIER.c.job_id.desc())
    .limit(1)
    .scalar_subquery()
)
_TURN = (sa.func.coalesce(_LAST_START, 0.0), jobs.c.created, jobs.c.job_id)
_WAITING = sa.select(jobs.c.job_id).where(jobs.c.status == Status.QUEUED)


class JobStore:
    """The job queue and the results. Every method is one transaction."""

    def __init__(self, database: Database, *, queue: int = 100, per_owner: int = 0) -> None:
        """Allow `queue` waiting jobs, and `per_owner` unended ones of each owner (0: no limit)."""
        self._db, self._queue, self._per_owner = database, queue, per_owner

    # ── For requests ─────────────────────────────────────────────────────────────────────────────

    def submit(self, owner: str, kind: Kind, title: str, request: Mapping[str, Any]) -> Job:
        """Queue a job. Raises Problem: 429, the queue is full, or has enough jobs of the owner."""
        short = dict(request)
        text = short.pop(TEXT, None)
        job_id = new_id()
        with self._db.writing() as db:
            self._db.one_at_a_time(db, Lock.QUEUE)  # requests may compete for the last slot
            self._check_limits(db, owner)
            row = {"job_id": job_id, "owner": owner, "kind": kind, "request": short}
            row |= {"title": " ".join(title.split())[:MAX_TITLE], "status": Status.QUEUED}
            db.execute(jobs.insert().values(**row, created=now()))
            if text is not None:
                packed = _pack(json.dumps({TEXT: text}))
                db.execute(job_files.insert().values(job_id=job_id, name=TEXT, data=packed))
            self._add_event(db, job_id, "queued", {})
            return self._get(db, job_id)

    def get(self, job_id: str) -> Job | None:
        row = self._db.first(sa.select(*_COLUMNS).where(jobs.c.job_id == job_id))
        return _job(row) if row else None

    def list_jobs(
        self,
        owner: str | None,
        limit: int,
        before: tuple[float, str] | None = None,
        kinds: Sequence[str] = (),
        *,
        once: bool = False,
    ) -> list[Job]:
        """List at most `limit` jobs, newest first; None as `owner` or no `kinds` means all.

        `before` has the creation time and id of the last job on the previous page. `once`: without
        jobs that found the readings of a listed check.
        """
        created, key = jobs.c.created, jobs.c.job_id
        wanted = sa.select(*_COLUMNS).order_by(created.desc(), key.desc())
        if before:
            at, last = before
            wanted = wanted.where((created < at) | (created == at) & (key < last))
        if owner is not None:
            wanted = wanted.where(jobs.c.owner == owner)
        if kinds:
            wanted = wanted.where(jobs.c.kind.in_(kinds))
        if once:
            later = jobs.alias()
            before_it = later.c.request["readings_of"].as_string()
            followed = sa.select(before_it).where(later.c.kind == "check", before_it.is_not(None))
            if owner is not None:
                followed = followed.where(later.c.owner == owner)
            wanted = wanted.where(jobs.c.job_id.not_in(followed))
        return [_job(row) for row in self._db.rows(wanted.limit(limit))]

    def n_ahead(self, job_id: str) -> int:
        """How many waiting jobs start before this one, if no others come; 0 if it does not wait."""
        last, *by_age = _TURN
        turn = sa.func.row_number().over(partition_by=jobs.c.owner, order_by=by_age)
        oldest = sa.func.min(jobs.c.created).over(partition_by=jobs.c.owner)
        waiting = [other_id for (other_id,) in self._db.rows(_WAITING.order_by(turn, last, oldest))]
        return waiting.index(job_id) if job_id in waiting else 0

    def result(self, job_id: str) -> bytes | None:
        """The report's JSON in UTF-8; None if the job has no result (yet)."""
        packed = self._db.scalar(sa.select(jobs.c.result).where(jobs.c.job_id == job_id))
        return gzip.decompress(packed) if packed is not None else None

    def file(self, job_id: str, name: str) -> dict[str, Any] | None:
        """A job's file: the submitted "text", the "article", or a document by its id."""
        named = (job_files.c.job_id == job_id) & (job_files.c.name == name)
        packed = self._db.scalar(sa.select(job_files.c.data).where(named))
        return dict(json.loads(gzip.decompress(packed))) if packed is not None else None

    def full_request(self, job: Job) -> dict[str, Any]:
        return {**job.request, **(self.file(job.job_id, TEXT) or {})}

    def events(self, job_id: str, after: int = 0, limit: int = 500) -> list[Event]:
        wanted = sa.select(*(job_events.c[name] for name in Event.__slots__)).where(
            job_events.c.job_id == job_id, job_events.c.number > after
        )
        rows = self._db.rows(wanted.order_by(job_events.c.number).limit(limit))
        return [Event(*row) for row in rows]

    def cancel(self, job_id: str) -> Job | None:
        """Cancel a job: a waiting one at once, a running one as soon as it can stop."""
        with self._db.writing() as db:
            wanted = sa.select(jobs.c.status).where(jobs.c.job_id == job_id).with_for_update()
            status = db.execute(wanted).scalar()
            if status is None:
                return None
            if status == Status.QUEUED:
                self._end(db, job_id, Status.CANCELLED)
            elif status == Status.RUNNING:
                self._set(db, job_id, cancelled=True)
            return self._get(db, job_id)

    def delete_older(self, before: float) -> int:
        """Delete jobs that ended before a time, with their files; return their number."""
        old = jobs.c.status.in_(ENDED) & (jobs.c.finished < before)
        return self._db.write(jobs.delete().where(old))

    def open_requests(self, kind: Kind) -> list[tuple[str, Mapping[str, Any]]]:
        wanted = sa.select(jobs.c.job_id, jobs.c.request).where(jobs.c.kind == kind)
        return [(*row,) for row in self._db.rows(wanted.where(jobs.c.status.not_in(ENDED)))]

    def upload_sizes(self, owner: str | None = None) -> dict[str, int]:
        """Bytes of each upload of sources, which is kept as long as its job; None: all owners."""
        named = jobs.c.request["upload"].as_string().is_not(None)
        wanted = sa.select(jobs.c.request).where(jobs.c.kind == "verify", named)
        if owner is not None:
            wanted = wanted.where(jobs.c.owner == owner)
        bodies = [body for (body,) in self._db.rows(wanted)]
        return {body["upload"]: sum(f["n_bytes"] for f in body["files"]) for body in bodies}

    def counts(self) -> dict[Status, int]:
        wanted = sa.select(jobs.c.status, sa.func.count()).group_by(jobs.c.status)
        by_status = {Status(status): n for status, n in self._db.rows(wanted)}
        return {status: by_status.get(status, 0) for status in Status}

    def count_abandoned(self) -> int:
        return int(self._db.scalar(sa.select(sa.func.count()).where(_is_abandoned())))

    def count_ignored(self) -> int:
        """Jobs that have waited longer than a lease, if no worker runs or has ended any since."""
        since = now() - LEASE_SECONDS
        ended = jobs.c.started.is_not(None) & (jobs.c.finished >= since)
        alive = ended | (jobs.c.status == Status.RUNNING) & (jobs.c.lease >= now())
        old = (jobs.c.status == Status.QUEUED) & (jobs.c.created < since)
        if self._db.first(sa.select(jobs.c.job_id).where(alive).limit(1)):
            return 0
        return int(self._db.scalar(sa.select(sa.func.count()).where(old)))

    # ── For workers ──────────────────────────────────────────────────────────────────────────────

    def take(self, worker: str) -> Job | None:
        """Assign the next job to this worker; None if none is waiting."""
        with self._db.writing() as db:
            wanted = _WAITING.order_by(*_TURN).limit(1)
            # SQLite has a single writer anyway.
            job_id = db.execute(wanted.with_for_update(of=jobs, skip_locked=True)).scalar()
            if job_id is None:
                return None
            at = now()
            first, n = sa.func.coalesce(jobs.c.started, at), jobs.c.attempts + 1
            held = {"status": Status.RUNNING, "worker": worker, "lease": at + LEASE_SECONDS}
            self._set(db, job_id, **held, started=first, attempts=n)
            self._add_event(db, job_id, "started", {})
            return self._get(db, job_id)

    def renew(self, job_id: str, worker: str) -> bool:
        """Renew the lease; False if the job was cancelled or is no longer held by this worker."""
        held = (jobs.c.job_id == job_id) & (jobs.c.worker == worker)
        with self._db.writing() as db:
            alive = held & (jobs.c.status == Status.RUNNING)
            n = db.execute(jobs.update().where(alive).values(lease=now() + LEASE_SECONDS)).rowcount
            cancelled = db.execute(sa.select(jobs.c.cancelled).where(held)).scalar()
            return n == 1 and not cancelled

    def add_events(
        self, job_id: str, worker: str, events: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> None:
        """Add events if this worker still holds the job."""
        with self._db.writing() as db:
            if self._holds(db, job_id, worker):
                for kind, data in events:
                    self._add_event(db, job_id, kind, data)

    def finish(
        self,
        job_id: str,
        worker: str,
        status: Status,
        *,
        result: str | None = None,
        files: Mapping[str, Mapping[str, Any]] | None = None,
        problem: Mapping[str, Any] | None = None,
    ) -> bool:
        """End a job; return False and change nothing if this worker no longer holds it.

        An article's title replaces the job's, which is only what the user called it.
        """
        packed = _pack(result) if result is not None else None
        rows = [
            {"job_id": job_id, "name": name, "data": _pack(json.dumps(data))}
            for name, data in (files or {}).items()
        ]
        with self._db.writing() as db:
            if not self._holds(db, job_id, worker):
                return False
            if rows:
                db.execute(job_files.insert(), rows)
            if title := (files or {}).get("article", {}).get("title"):
                self._set(db, job_id, title=title[:MAX_TITLE])
            self._end(db, job_id, status, packed, problem)
            return True

    def requeue_abandoned(self) -> list[str]:
        """Requeue jobs whose lease expired, or fail them after `MAX_ATTEMPTS`; return their ids."""
        with self._db.writing() as db:
            lost = sa.select(*_COLUMNS).where(_is_abandoned()).with_for_update(skip_locked=True)
            lost_jobs = [_job(row) for row in db.execute(lost).all()]
            for job in lost_jobs:
                self._put_back(db, job)
        return [job.job_id for job in lost_jobs]

    def requeue(self, job_id: str, worker: str, *, died: bool) -> None:
        """Requeue a job. It counts as an attempt if the process died."""
        with self._db.writing() as db:
            if self._holds(db, job_id, worker):
                if not died:
                    self._set(db, job_id, attempts=jobs.c.attempts - 1)
                self._put_back(db, self._get(db, job_id))

    # ── Inside a transaction ─────────────────────────────────────────────────────────────────────

    def _check_limits(self, db: sa.Connection, owner: str) -> None:
        count = sa.select(sa.func.count()).select_from(jobs)
        own = count.where(jobs.c.status.not_in(ENDED), jobs.c.owner == owner)
        if self._per_owner and (n_own := db.execute(own).scalar_one()) >= self._per_owner:
            detail = f"You already have {n_own} waiting or running jobs, the limit for an account."
            detail += " Try again when one has ended, or cancel one."
            raise Problem(429, "too_many_of_yours", detail, headers=_RETRY)
        waiting = db.execute(count.where(jobs.c.status == Status.QUEUED)).scalar_one()
        if waiting >= self._queue:
            detail = f"The queue is full: {waiting} jobs are waiting. Try again later."
            raise Problem(429, "queue_full", detail, headers=_RETRY)

    def _put_back(self, db: sa.Connection, job: Job) -> None:
        if job.cancelled:
            self._end(db, job.job_id, Status.CANCELLED)
        elif job.attempts >= MAX_ATTEMPTS:
            detail = f"Its process died {job.attempts} times. It may have run out of memory."
            problem = {"code": "worker_died", "detail": detail}
            self._end(db, job.job_id, Status.FAILED, problem=problem)
        else:
            self._set(db, job.job_id, status=Status.QUEUED, worker=None, lease=None)
            self._add_event(db, job.job_id, "queued", {"again": True})

    def _end(
        self,
        db: sa.Connection,
        job_id: str,
        status: Status,
        packed: bytes | None = None,
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        values = {"result": packed, "problem": dict(problem) if problem else None}
        self._set(db, job_id, status=status, finished=now(), worker=None, lease=None, **values)
        self._add_event(db, job_id, "ended", {"status": status, **(problem or {})})

    def _set(self, db: sa.Connection, job_id: str, **values: Any) -> None:
        db.execute(jobs.update().where(jobs.c.job_id == job_id).values(values))

    def _add_event(
        self, db: sa.Connection, job_id: str, kind: str, data: Mapping[str, Any]
    ) -> None:
        self._set(db, job_id, n_events=jobs.c.n_events + 1)
        number = db.execute(sa.select(jobs.c.n_events).where(jobs.c.job_id == job_id)).scalar_one()
        row = {"job_id": job_id, "number": number, "kind": kind, "data": dict(data), "at": now()}
        db.execute(job_events.insert().values(row))

    def _holds(self, db: sa.Connection, job_id: str, worker: str) -> bool:
        held = (jobs.c.job_id == job_id) & (jobs.c.worker == worker)
        wanted = sa.select(jobs.c.job_id).where(held & (jobs.c.status == Status.RUNNING))
        return db.execute(wanted.with_for_update()).first() is not None

    def _get(self, db: sa.Connection, job_id: str) -> Job:
        return _job(db.execute(sa.select(*_COLUMNS).where(jobs.c.job_id == job_id)).one())


def _is_abandoned() -> sa.ColumnElement[bool]:
    """Whether the lease of a running job has expired."""
    return (jobs.c.status == Status.RUNNING) & (jobs.c.lease < now())


def _job(row: sa.Row[Any]) -> Job:
    return Job(**{**row._mapping, "status": Status(row.status)})


def _pack(text: str) -> bytes:
    return gzip.compress(text.encode("utf-8", "surrogatepass"), 6, mtime=0)
