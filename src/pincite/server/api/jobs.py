"""`/api/v1`: start a verb, look how far it is, take its result, end it."""

import gzip
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from pincite.corpus.embedded import is_corpus
from pincite.judgement.own import digest_of
from pincite.server.jobs.store import Event, Job, JobStore, Kind, Status
from pincite.server.paging import Cursor, Limit, cursor_of, read_cursor
from pincite.server.people.identity import Identity, Reader, Runner, owned
from pincite.server.people.sharing import may_read
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import AskRequest, CheckRequest, VerifyRequest
from pincite.server.requests import Request as Asked
from pincite.server.site import Site, Stores

router = APIRouter(
    prefix="/api/v1",
    tags=["jobs"],
    responses={n: {"model": ProblemBody} for n in (401, 403, 422)},
)
OF_ONE: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is no such job, or none that you may see."}
}
OF_STARTING: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is no JSON."},
    409: {"description": "The Idempotency-Key belongs to another request."},
    429: {
        "description": "As many jobs wait as may, in all (`queue_full`) or of yours "
        "(`too_many_of_yours`); `Retry-After` says when to try again."
    },
    507: {"description": "The server's disk is nearly full: nothing new is taken (`disk_full`)."},
}
POLL_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0
Key = Annotated[
    str | None,
    Header(max_length=200, description="The same key and body give the same job again."),
]


class JobBody(BaseModel):
    """A job and where it stands."""

    job_id: str
    kind: Kind
    title: str
    status: Status
    ahead: int  # jobs whose turn is before its; accounts take turns
    created: str  # ISO timestamps, UTC
    started: str | None
    finished: str | None
    cancelled: bool
    attempts: int
    problem: dict[str, Any] | None
    n_events: int
    request: dict[str, Any]  # without a text that was sent: that is the file "text"
    links: dict[str, str]


class JobList(BaseModel):
    """A page of jobs, the newest first."""

    jobs: list[JobBody]
    next: str | None  # cursor of the next page; null: this is the last


class EventBody(BaseModel):
    """One thing that happened in a job."""

    number: int
    kind: str
    data: dict[str, Any]
    at: str


class EventList(BaseModel):
    """What happened after the event that was named."""

    events: list[EventBody]
    ended: bool  # whether nothing more will happen


@router.post("/verify", status_code=202, operation_id="verify", responses=OF_STARTING)
def verify(
    body: VerifyRequest, response: Response, who: Runner, site: Stores, idempotency_key: Key = None
) -> JobBody:
    """Check an article's citations, worst first, and find better sources."""
    return started(site, who, "verify", body, response, idempotency_key)


@router.post("/check", status_code=202, operation_id="check", responses=OF_STARTING)
def check(
    body: CheckRequest, response: Response, who: Runner, site: Stores, idempotency_key: Key = None
) -> JobBody:
    """What a knowledge base says for and against each reading of a statement."""
    return started(site, who, "check", body, response, idempotency_key)


@router.post("/ask", status_code=202, operation_id="ask", responses=OF_STARTING)
def ask(
    body: AskRequest, response: Response, who: Runner, site: Stores, idempotency_key: Key = None
) -> JobBody:
    """Answer a question from a corpus, every sentence verified."""
    return started(site, who, "ask", body, response, idempotency_key)


@router.get("/jobs", operation_id="list_jobs")
def list_jobs(
    who: Reader,
    site: Stores,
    limit: Limit = 50,
    cursor: Cursor = None,
    kind: Annotated[list[Kind] | None, Query()] = None,
) -> JobList:
    """One's own jobs, the newest first."""
    before = read_cursor(cursor, (float, str))
    found = site.jobs.listed(who.account_id, limit + 1, before, kind or ())
    more = len(found) > limit
    found = found[:limit]
    after = cursor_of(found[-1].created, found[-1].job_id) if more else None
    return JobList(jobs=[job_body(job) for job in found], next=after)


@router.get("/jobs/{job_id}", operation_id="get_job", responses=OF_ONE)
def get_job(job_id: str, who: Reader, site: Stores) -> JobBody:
    """Where a job stands."""
    return job_body(readable(site, job_id, who))


@router.get(
    "/jobs/{job_id}/result",
    operation_id="get_result",
    response_class=Response,
    responses={
        200: {"content": {"application/json": {}}, "description": "As `--json` gives it."},
        409: {"description": "There is no result, or not yet."},
        **OF_ONE,
    },
)
def get_result(job_id: str, request: Request, who: Reader, site: Stores) -> Response:
    """The report, as the command line's `--json` gives it."""
    job = readable(site, job_id, who)
    packed = site.jobs.packed_result(job_id)
    if packed is None:
        why = (job.problem or {}).get("detail") or f"The job is {job.status.value}."
        raise Problem(409, "no_result", f"There is no result: {why}")
    headers = {"Vary": "Accept-Encoding"}
    if takes_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
    else:
        packed = gzip.decompress(packed)
    return Response(packed, media_type="application/json", headers=headers)


@router.get("/jobs/{job_id}/files/{name}", operation_id="get_job_file", responses=OF_ONE)
def get_file(job_id: str, name: str, who: Reader, site: Stores) -> dict[str, Any]:
    """A file of a job.

    The article that was checked ("article"), a source that was read, by its document id, or the
    text that was sent ("text").
    """
    job = readable(site, job_id, who)
    owned(job.owner, who)  # whole texts are not for those who got a link
    found = file_of(site, job, name, who)
    if found is None:
        raise not_found()
    return found


@router.delete("/jobs/{job_id}", status_code=202, operation_id="cancel_job", responses=OF_ONE)
def cancel_job(job_id: str, who: Runner, site: Stores) -> JobBody:
    """End a job that waits or runs; of one that has ended nothing changes."""
    job = site.jobs.get(job_id)
    owned(job.owner if job else None, who)
    found = site.jobs.cancel(job_id)
    if found is None:
        raise not_found()
    return job_body(found)


@router.get(
    "/jobs/{job_id}/events",
    operation_id="get_events",
    responses={200: {"model": EventList, "content": {"text/event-stream": {}}}, **OF_ONE},
)
async def get_events(
    job_id: str,
    request: Request,
    who: Reader,
    site: Stores,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> Response:
    """What happened so far: as JSON, or, where `Accept` asks for it, live as server-sent events.

    An event's `id` is its number; a reader that comes again with `Last-Event-ID` goes on from
    there. Asking for JSON again with `after` is always enough.
    """
    job = await run_sync(readable, site, job_id, who)
    if last_event_id and last_event_id.isascii() and last_event_id.isdigit():
        after = min(int(last_event_id), 2**31 - 1)
    if "text/event-stream" not in request.headers.get("accept", ""):
        events = await run_sync(site.jobs.events, job_id, after)
        last = events[-1].number if events else after
        body = EventList(
            events=[event_body(event) for event in events],
            ended=job.ended and last >= job.n_events,
        )
        return Response(body.model_dump_json(), media_type="application/json")
    stream = _stream(site.jobs, job_id, after, request)
    return StreamingResponse(stream, media_type="text/event-stream")


def started(
    site: Site, who: Identity, kind: Kind, body: Asked, response: Response, key: str | None
) -> JobBody:
    """The job that a request made, or made before."""
    site.room.check_disk()
    if isinstance(body, VerifyRequest) and body.article and not site.settings.web.online:
        raise Problem(
            422,
            "offline",
            "Titles and addresses are asked of a wiki, and this server fetches nothing from the "
            "web (online = false). Send the article as text.",
        )
    if body.corpus:
        entry = site.corpora.get(body.corpus)
        if entry is None or not may_read(entry, who):
            raise Problem(422, "unknown_corpus", "There is no such corpus, or none for you.")
        if not is_corpus(entry.folder):
            raise Problem(422, "empty_corpus", "The corpus is empty. Add documents to it first.")
    if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
        raise Problem(422, "invalid_key", "Expected a printable Idempotency-Key.")
    subject = " ".join(body.subject.split())
    job, _ = site.jobs.submit(
        who.account_id, kind, subject, body.model_dump(mode="json", exclude_none=True), key
    )
    response.headers["Location"] = f"/api/v1/jobs/{job.job_id}"
    return job_body(job)


def takes_gzip(accept: str) -> bool:
    """Whether an Accept-Encoding names gzip, and not to refuse it.

    >>> [takes_gzip(each) for each in ("br, GZip;q=0.5", "gzip;q=0", "identity", "")]
    [True, False, False, False]
    """
    for each in accept.lower().split(","):
        name, _, weight = each.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def readable(site: Site, job_id: str, who: Identity) -> Job:
    """A job that the one who asks may read.

    Raises:
        Problem: 404
    """
    job = site.jobs.get(job_id)
    owned(job.owner if job else None, who)
    assert job
    return job


def file_of(site: Site, job: Job, name: str, who: Identity) -> dict[str, Any] | None:
    """A file of a job; the text of an own copy is for whose copy it is, and not for admins."""
    found = site.jobs.file(job.job_id, name)
    is_own_copy = found is not None and digest_of(str(found.get("url", ""))) is not None
    return None if is_own_copy and job.owner != who.account_id else found


def job_body(job: Job) -> JobBody:
    """A job as the API shows it."""
    here = f"/api/v1/jobs/{job.job_id}"
    links = {"self": here, "events": f"{here}/events", "result": f"{here}/result"}
    return JobBody(
        job_id=job.job_id,
        kind=job.kind,
        title=job.title,
        status=job.status,
        ahead=job.ahead,
        created=iso(job.created),
        started=iso(job.started) if job.started else None,
        finished=iso(job.finished) if job.finished else None,
        cancelled=job.cancelled,
        attempts=job.attempts,
        problem=dict(job.problem) if job.problem else None,
        n_events=job.n_events,
        request=dict(job.request),
        links=links,
    )


def event_body(event: Event) -> EventBody:
    """An event as the API shows it."""
    return EventBody(number=event.number, kind=event.kind, data=dict(event.data), at=iso(event.at))


def iso(at: float) -> str:
    """A time for people and programs: UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


async def _stream(jobs: JobStore, job_id: str, after: int, request: Request) -> AsyncIterator[str]:
    """Events as they come, until the job has ended or the reader has gone."""
    quiet_since = anyio.current_time()
    yield "retry: 2000\n\n"
    while not await request.is_disconnected():
        job = await run_sync(jobs.get, job_id)
        events = await run_sync(jobs.events, job_id, after)
        for event in events:
            after = event.number
            data = json.dumps(event_body(event).model_dump())
            yield f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n"
        if job is None or (job.ended and after >= job.n_events):
            return
        if events:
            quiet_since = anyio.current_time()
        elif anyio.current_time() - quiet_since > HEARTBEAT_SECONDS:
            quiet_since = anyio.current_time()
            yield ": still here\n\n"
        await anyio.sleep(POLL_SECONDS)
