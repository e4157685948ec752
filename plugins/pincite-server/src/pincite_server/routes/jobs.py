"""Jobs over HTTP: start, follow and stop them, and get their results; forms with files.

Files are written to disk as they arrive, so the CSRF token of such a form is checked here.
"""

import errno
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, computed_field

from pincite.codec import JsonReport
from pincite.errors import InputError
from pincite.types import own_digest
from pincite_server.corpora import UNREADABLE, CorpusEntry
from pincite_server.identity import Consent, Identity, Reader, Runner
from pincite_server.jobs import Job, JobStore, Status
from pincite_server.problems import Problem, not_found
from pincite_server.requests import (
    AskRequest,
    CheckRequest,
    Cursor,
    Limit,
    Moment,
    Shown,
    VerifyRequest,
    corpora_in,
    page_of,
    read_cursor,
)
from pincite_server.requests import Request as VerbRequest
from pincite_server.routing import CSRF_FIELD, CSRF_HEADER, Router, check_token
from pincite_server.site import Site, Stores
from pincite_server.tables import Kind
from pincite_server.uploads import BadForm, Form, receive_form

OF_STARTING: dict[int | str, dict[str, Any]] = {
    429: {
        "description": "The queue is full (`queue_full`), or you have as many jobs as one account "
        "may (`too_many_of_yours`); `Retry-After` says when to try again."
    },
    507: {"description": "The server's disk is nearly full (`disk_full`)."},
}
OFFLINE = (
    "This server does not fetch pages from the web (online = false), so it cannot look up a title "
    "or an address. Send the article as text."
)
ReportT = TypeVar("ReportT", bound=JsonReport)
POLL_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0

api = Router(prefix="/api/v1", tags=["jobs"])


class JobBody(Shown):
    """A job and its state."""

    job_id: str
    kind: Kind
    title: str
    status: Status
    created: Moment
    started: Moment | None
    finished: Moment | None
    cancelled: bool
    attempts: int
    problem: dict[str, Any] | None
    n_events: int
    request: dict[str, Any]  # without its text, which is the file "text"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def links(self) -> dict[str, str]:
        """Addresses of the job, its events and its result."""
        here = f"/api/v1/jobs/{self.job_id}"
        return {"self": here, "events": f"{here}/events", "result": f"{here}/result"}


class JobList(BaseModel):
    """A page of jobs, the newest first."""

    jobs: list[JobBody]
    next: str | None  # cursor of the next page; null on the last page


class EventBody(Shown):
    """Something that happened in a job."""

    number: int
    kind: str
    data: dict[str, Any]
    at: Moment


class EventList(BaseModel):
    """What happened after the given event."""

    events: list[EventBody]
    ended: bool  # no more events will follow


def start_job(site: Site, who: Identity, kind: Kind, body: VerbRequest) -> Job:
    """Queue a job. Raises Problem: 422, the server cannot fulfil the request; 429; 507."""
    site.check_disk()
    if isinstance(body, VerifyRequest) and body.article and not site.settings.web.online:
        raise Problem(422, "offline", OFFLINE)
    model = body.settings.chat_model
    if model is not None and model not in site.server.models:
        raise Problem(422, "unknown_model", f"The server offers no model {model!r}.")
    for corpus_id in corpora_in(body.corpus):
        entry = site.corpora.get(corpus_id)
        if entry is None or not who.may_read(entry):
            detail = "There is no such corpus, or you may not read it."
            for corpus in site.corpora_for(who):
                if corpus.name == corpus_id:
                    detail = f"{corpus_id!r} is a name; expected the id, {corpus.corpus_id!r}."
            raise Problem(422, "unknown_corpus", detail)
        if site.corpora.is_empty(entry):
            raise Problem(422, "empty_corpus", "The corpus is empty. Add documents to it first.")
        if entry.is_missing:
            raise Problem(503, "corpus_unreadable", UNREADABLE)
    values = body.model_dump(mode="json", exclude_none=True)
    if kind == "check" and who.consent is Consent.UNLOGGED:
        values["unlogged"] = True
    return site.jobs.submit(who.account_id, kind, body.subject, values)


def filled_corpora(
    site: Site, who: Identity, last: Job | None, example: str | None = None
) -> list[CorpusEntry]:
    """The corpora with documents that the user may read; first of the `last` job or `example`."""
    likely = corpora_in((last.request.get("corpus") if last else None) or example)
    filled = [entry for entry in site.corpora_for(who) if not site.corpora.is_empty(entry)]
    return sorted(filled, key=lambda entry: (entry.is_missing, entry.corpus_id not in likely))


def last_job(site: Site, who: Identity, kind: Kind) -> Job | None:
    return next(iter(site.jobs.list_jobs(who.listed_owner, 1, None, (kind,))), None)


def accepted_job(job: Job, response: Response) -> JobBody:
    response.headers["Location"] = f"/api/v1/jobs/{job.job_id}"
    return JobBody.model_validate(job)


def readable(site: Site, job_id: str, who: Identity) -> Job:
    """A job that the user can read. Raises Problem: 404."""
    job = site.jobs.get(job_id)
    of_other_wiki = job and who.wiki and job.request.get("wiki") != who.wiki
    if job is None or not who.owns(job.owner) or of_other_wiki:
        raise not_found()
    return job


def find_file(site: Site, job: Job, name: str, who: Identity) -> dict[str, Any] | None:
    """A file of a job. Only its owner, not an admin, can read the text of a private copy."""
    file = site.jobs.file(job.job_id, name)
    is_private = file is not None and own_digest(str(file.get("url", ""))) is not None
    return None if is_private and job.owner != who.account_id else file


def parse_report(kind: type[ReportT], result: bytes | None) -> ReportT | None:
    """The report of a job; None if there is none, or another version of Pincite wrote it."""
    try:
        return kind.from_json(result) if result else None
    except InputError:
        return None


FILE = {"type": "string", "format": "binary"}


def form_schema(
    fields: Mapping[str, object], required: Sequence[str], description: str = ""
) -> dict[str, Any]:
    """The OpenAPI description (`openapi_extra`) of a route that parses its form itself."""
    schema = {"type": "object", "required": [*required], "properties": {**fields}}
    if description:
        schema["description"] = description
    content = {"multipart/form-data": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


@asynccontextmanager
async def upload_form(
    request: Request,
    who: Identity,
    site: Site,
    known: Collection[str],
    long: Mapping[str, int] | None = None,
) -> AsyncIterator[tuple[str, Form]]:
    """Receive a form; yield its upload id and the form. The upload is removed if the block raises.

    `known` has its fields, and `long` gives the limits in bytes of long fields. Raises Problem: the
    form belongs to another session, or is not a form; 507.
    """
    token = request.headers.get(CSRF_HEADER)
    if token is not None and who.csrf:
        check_token(token, who.csrf)  # before anything is stored
    await run_sync(site.check_disk)
    try:
        with site.uploads.filling() as upload_id:
            folder, fields = site.uploads.at(upload_id), {*known, CSRF_FIELD}
            form = await receive_form(request, folder, fields, long or {})
            if token is None and who.csrf:
                check_token(form.fields.get(CSRF_FIELD), who.csrf)
            yield upload_id, form
    except BadForm as error:
        raise Problem(422, "invalid_form", str(error)) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            detail = "The server's disk is full; nothing was stored."
            raise Problem(507, "disk_full", detail) from error
        raise


@api.post("/verify", status_code=202, operation_id="verify", responses=OF_STARTING)
def verify(body: VerifyRequest, response: Response, who: Runner, site: Stores) -> JobBody:
    """Check whether the sources of an article support it, and find better ones in `corpus`.

    A request from a wiki page cannot list the corpora: it gets the one that the form would offer.
    """
    body = body.model_copy(update={"wiki": who.wiki or body.wiki})
    if body.corpus is None and who.wiki:
        for entry in filled_corpora(site, who, last_job(site, who, "verify"))[:1]:
            if not entry.is_missing:
                body = body.model_copy(update={"corpus": entry.corpus_id})
    return accepted_job(start_job(site, who, "verify", body), response)


@api.post("/check", status_code=202, operation_id="check", responses=OF_STARTING)
def check(body: CheckRequest, response: Response, who: Runner, site: Stores) -> JobBody:
    """Find evidence for and against each reading of a statement in a corpus."""
    return accepted_job(start_job(site, who, "check", body), response)


@api.post("/ask", status_code=202, operation_id="ask", responses=OF_STARTING)
def ask(body: AskRequest, response: Response, who: Runner, site: Stores) -> JobBody:
    """Answer a question from a corpus, and verify every sentence of the answer."""
    return accepted_job(start_job(site, who, "ask", body), response)


@api.get("/jobs", operation_id="list_jobs")
def list_jobs(
    who: Reader,
    site: Stores,
    limit: Limit = 50,
    cursor: Cursor = None,
    kind: Annotated[list[Kind] | None, Query()] = None,
) -> JobList:
    """Your own jobs, the newest first; none for a shared account."""
    jobs, after = page_of_jobs(site, who.listed_owner, limit, cursor, kind or ())
    return JobList(jobs=[JobBody.model_validate(job) for job in jobs], next=after)


def page_of_jobs(
    site: Site,
    owner: str | None,
    limit: int,
    cursor: str | None,
    kinds: Sequence[Kind],
    *,
    once: bool = False,
) -> tuple[list[Job], str | None]:
    before = read_cursor(cursor, (float, str))
    jobs = site.jobs.list_jobs(owner, limit + 1, before, kinds, once=once)
    return page_of(jobs, limit, lambda job: (job.created, job.job_id))


@api.get("/jobs/{job_id}", operation_id="get_job")
def get_job(job_id: str, who: Reader, site: Stores) -> JobBody:
    """The state of a job."""
    return JobBody.model_validate(readable(site, job_id, who))


@api.get(
    "/jobs/{job_id}/result",
    operation_id="get_result",
    response_class=Response,
    responses={
        200: {"content": {"application/json": {}}, "description": "The report."},
        409: {"description": "There is no result, or not yet."},
    },
)
def get_result(job_id: str, who: Reader, site: Stores) -> Response:
    """The report, as the command line's `--json` gives it."""
    job = readable(site, job_id, who)
    result = site.jobs.result(job_id)
    if result is None and not job.ended:
        detail = f"There is no result yet: the job is {job.status.value}."
        raise Problem(409, "no_result", detail, headers={"Retry-After": "5"})
    if result is None:
        why = (job.problem or {}).get("detail") or f"The job is {job.status.value}."
        raise Problem(409, "no_result", f"There is no result: {why}")
    return Response(result, media_type="application/json")


@api.get("/jobs/{job_id}/files/{name}", operation_id="get_job_file")
def get_file(job_id: str, name: str, who: Reader, site: Stores) -> dict[str, Any]:
    """A file of a job: "article" as checked, "text" as sent, or a source by its document id."""
    file = find_file(site, readable(site, job_id, who), name, who)
    if file is None:
        raise not_found()
    return file


@api.delete("/jobs/{job_id}", status_code=202, operation_id="cancel_job")
def cancel_job(job_id: str, who: Runner, site: Stores) -> JobBody:
    """Stop a job that waits or runs; a finished one stays as it is."""
    job = site.jobs.cancel(readable(site, job_id, who).job_id)
    if job is None:
        raise not_found()
    return JobBody.model_validate(job)


@api.get(
    "/jobs/{job_id}/events",
    operation_id="get_events",
    responses={200: {"model": EventList, "content": {"text/event-stream": {}}}},
)
async def get_events(
    job_id: str,
    request: Request,
    who: Reader,
    site: Stores,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> Response:
    """What happened so far, as JSON, or live as server-sent events if `Accept` asks for them.

    The `id` of an event is its number. After a broken connection, `Last-Event-ID` resumes the
    stream; polling the JSON with `after` gives the same events.
    """
    job = await run_sync(readable, site, job_id, who)
    if last_event_id and last_event_id.isascii() and last_event_id.isdigit():
        after = min(int(last_event_id), 2**31 - 1)
    if "text/event-stream" not in request.headers.get("accept", ""):
        events = await run_sync(site.jobs.events, job_id, after)
        last = events[-1].number if events else after
        shown = [EventBody.model_validate(event) for event in events]
        body = EventList(events=shown, ended=job.ended and last >= job.n_events)
        return Response(body.model_dump_json(), media_type="application/json")
    stream = _stream(site.jobs, job_id, after, request)
    return StreamingResponse(stream, media_type="text/event-stream")


async def _stream(jobs: JobStore, job_id: str, after: int, request: Request) -> AsyncIterator[str]:
    quiet_since = anyio.current_time()
    yield "retry: 2000\n\n"
    while not await request.is_disconnected():
        job = await run_sync(jobs.get, job_id)
        events = await run_sync(jobs.events, job_id, after)
        for event in events:
            after = event.number
            data = EventBody.model_validate(event).model_dump_json()
            yield f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n"
        if job is None or (job.ended and after >= job.n_events):
            return
        if events:
            quiet_since = anyio.current_time()
        elif anyio.current_time() - quiet_since > HEARTBEAT_SECONDS:
            quiet_since = anyio.current_time()
            yield ": ping\n\n"
        await anyio.sleep(POLL_SECONDS)
