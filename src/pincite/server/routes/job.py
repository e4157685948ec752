"""A job over HTTP: how it is started and shown, and who may read it."""

from typing import Any

from fastapi import Response
from pydantic import BaseModel

from pincite.judgement.own import digest_of
from pincite.server.jobs.store import Job, Status
from pincite.server.people.identity import Identity, owned
from pincite.server.problems import Problem, not_found
from pincite.server.requests import Request, VerifyRequest, corpora_in
from pincite.server.site import Site
from pincite.server.tables import Kind
from pincite.server.texts import iso

OF_STARTING: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is no JSON."},
    409: {"description": "The Idempotency-Key belongs to another request."},
    429: {
        "description": "As many jobs wait as may, in all (`queue_full`) or of yours "
        "(`too_many_of_yours`); `Retry-After` says when to try again."
    },
    507: {"description": "The server's disk is nearly full: nothing new is taken (`disk_full`)."},
}


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


def started(
    site: Site, who: Identity, kind: Kind, body: Request, response: Response, key: str | None
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
    model = body.settings.chat_model
    if model is not None and model not in site.server.models:
        raise Problem(422, "unknown_model", f"The server offers no model {model!r}.")
    for corpus_id in corpora_in(body.corpus):
        entry = site.corpora.get(corpus_id)
        if entry is None or not who.may_read(entry):
            raise Problem(422, "unknown_corpus", "There is no such corpus, or none for you.")
        if site.corpora.is_empty(entry):
            raise Problem(422, "empty_corpus", "The corpus is empty. Add documents to it first.")
    if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
        raise Problem(422, "invalid_key", "Expected a printable Idempotency-Key.")
    subject = " ".join(body.subject.split())
    job, _ = site.jobs.submit(
        who.account_id, kind, subject, body.model_dump(mode="json", exclude_none=True), key
    )
    response.headers["Location"] = f"/api/v1/jobs/{job.job_id}"
    return job_body(job)


def readable(site: Site, job_id: str, who: Identity) -> Job:
    """A job that the one who asks may read.

    Raises:
        Problem: 404
    """
    return owned(site.jobs.get(job_id), who)


def file_of(site: Site, job: Job, name: str, who: Identity) -> dict[str, Any] | None:
    """A file of a job; the text of an own copy is for whose copy it is, and not for admins."""
    found = site.jobs.file(job.job_id, name)
    is_own_copy = found is not None and digest_of(str(found.get("url", ""))) is not None
    return None if is_own_copy and job.owner != who.account_id else found


def own_file(site: Site, job_id: str, name: str, who: Identity) -> dict[str, Any]:
    """A file of a job; whole texts are not for those who got a link.

    Raises:
        Problem: 404
    """
    found = file_of(site, readable(site, job_id, who), name, who)
    if found is None:
        raise not_found()
    return found


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
