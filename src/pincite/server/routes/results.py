"""A job's page: how far it is, then its result; the list of one's jobs; share links.

Through a link a result is read only. It quotes its sources; their whole texts, the corpus, forms
and downloads are for those whose job it is.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from pincite.server import forms
from pincite.server.forms import Form
from pincite.server.identity import Guest, Identity, Reader, Runner
from pincite.server.jobs.store import Event, Job, ShareLink, Status
from pincite.server.middleware import noted
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.rendering import Look, language_of, page, translations
from pincite.server.requests import Body, Cursor, IdPath, Moment, Shown, page_of, read_cursor
from pincite.server.routes import ask, check, corpora, verify
from pincite.server.routes.jobs import cancel_job, readable
from pincite.server.routes.verify import Threshold
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.tables import Kind
from pincite.types import Label
from pincite.verbs.verify.coverage import FLAGS

router = Router(
    prefix="/api/v1/jobs/{job_id}/links",
    tags=["jobs"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422, 429)},
)


class LinkRequest(Body):
    """A link to be made."""

    days: Annotated[int, Field(ge=1, le=366)] = 30


class LinkBody(Shown):
    """A share link; its address is shown once, when it is made."""

    link_id: str
    created: Moment
    expires: Moment


class NewLinkBody(LinkBody):
    """A share link that was just made."""

    url: str  # whole where server.address is set, else a path


class LinkList(BaseModel):
    """The links to a job, the newest first."""

    links: list[LinkBody]


@router.post("", operation_id="create_link", status_code=201)
def create_link(
    job_id: IdPath, body: LinkRequest, who: Runner, request: Request, site: Stores
) -> NewLinkBody:
    """Share a result with whoever gets the address: read only, without whole source texts."""
    link, url = linked(site, job_id, who, request, body.days)
    return NewLinkBody.model_validate({**asdict(link), "url": url})


@router.get("", operation_id="list_links")
def list_links(job_id: IdPath, who: Runner, site: Stores) -> LinkList:
    """The links that open a job's result."""
    readable(site, job_id, who)
    return LinkList(links=[LinkBody.model_validate(link) for link in site.people.links.of(job_id)])


@router.delete("/{link_id}", operation_id="revoke_link", status_code=204)
def revoke_link(job_id: IdPath, link_id: IdPath, who: Runner, site: Stores) -> None:
    """Revoke a link: its address shows nothing from now on."""
    readable(site, job_id, who)
    if not site.people.links.revoke(job_id, link_id):
        raise not_found()


def linked(
    site: Site, job_id: str, who: Runner, request: Request, days: float
) -> tuple[ShareLink, str]:
    """A new link to a job's result, and its address.

    Raises:
        Problem: 404; 409, there is no result to be shared.
    """
    job = readable(site, job_id, who)
    if not job.ended:
        raise Problem(409, "no_result", f"There is no result: the job is {job.status.value}.")
    link, token = site.people.links.add(job_id, days)
    noted(request, job_id, {"link": link.link_id})
    return link, f"{site.server.address.rstrip('/')}/s/{token}"


# Makes the page of a result: the request, who looks at which job, the stores, the report's JSON.
# None if another version of Pincite wrote it.
View = Callable[[Request, Look, Site, bytes], HTMLResponse | None]
VIEWS: dict[Kind, View] = {
    "verify": verify.result_page,
    "check": check.result_page,
    "ask": ask.result_page,
    "ingest": corpora.result_page,
}
ROWS = 50
MAX_STEPS = 8  # of those that were last; the rest would scroll away what matters
MAX_EVENTS = 500  # of a job, the newest, that its page is made of while it runs
FAILING = (*FLAGS, Label.PARTLY_SUPPORTED)

pages = Router(include_in_schema=False)


@pages.get("/jobs/{job_id}")
def job_page(job_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """A job: its result if there is one."""
    job = readable(site, job_id, who)
    result = site.jobs.result(job_id) if job.ended else None
    view = VIEWS.get(job.kind)
    if result is not None and view and (shown := view(request, Look(job, who), site, result)):
        return shown
    return page(request, "job.html", who, **_progress(request, site, job))


@pages.get("/jobs/{job_id}/progress")
def progress(job_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """The piece of its page that says how far it is; when it has ended: load the page anew."""
    job = readable(site, job_id, who)
    headers = {"HX-Refresh": "true"} if job.ended else None
    return page(request, "progress.html", who, headers=headers, **_progress(request, site, job))


@pages.post("/jobs/{job_id}/cancel")
def cancel(job_id: str, who: Runner, site: Stores, _form: Form) -> RedirectResponse:
    """Stop a job."""
    cancel_job(job_id, who, site)
    return forms.to(f"/jobs/{job_id}")


@pages.get("/history")
def history(
    request: Request,
    who: Reader,
    site: Stores,
    cursor: Cursor = None,
    kind: Annotated[list[Kind] | None, Query()] = None,
) -> HTMLResponse:
    """One's own jobs, the newest first."""
    before = read_cursor(cursor, (float, str))
    found = site.jobs.listed(who.account_id, ROWS + 1, before, kind or ())
    jobs_shown, following = page_of(found, ROWS, lambda job: (job.created, job.job_id))
    return page(
        request,
        "history.html",
        who,
        jobs=jobs_shown,
        cursor=cursor,
        next=following,
        **_words(request),
    )


def _words(request: Request) -> dict[str, Any]:
    _ = translations(language_of(request)).gettext
    return {
        "kinds": {
            "verify": _("Verify"),
            "check": _("Check"),
            "ask": _("Ask"),
            "ingest": _("Files for a corpus"),
        },
        "statuses": {
            Status.QUEUED: _("waiting"),
            Status.RUNNING: _("running"),
            Status.DONE: _("done"),
            Status.FAILED: _("failed"),
            Status.CANCELLED: _("stopped"),
        },
    }


def _progress(request: Request, site: Site, job: Job) -> dict[str, Any]:
    """What the progress says: the last event in words, how many are done, and the last steps."""
    events = site.jobs.events(job.job_id, max(0, job.n_events - MAX_EVENTS))
    counted = next((e.data for e in reversed(events) if e.data.get("total")), {})
    steps = _steps(request, events)
    return {
        "job": job,
        "now": steps[-1] if steps else "",
        "done": counted.get("done", 0),
        "total": counted.get("total", 0),
        "steps": steps[-MAX_STEPS - 1 : -1],
        **(ask.so_far(events) if job.kind == "ask" else {}),
        **_judged(events if job.kind == "verify" else ()),
        **_words(request),
    }


def _judged(events: Sequence[Event]) -> dict[str, Any]:
    """How many claims have which label so far, and the last that need an editor, newest first."""
    told = [event.data for event in events if event.kind == "judged" and event.data.get("text")]
    failing = [each for each in reversed(told) if each["label"] in FAILING]
    return {"labels": Counter(each["label"] for each in told), "failing": failing[:MAX_STEPS]}


def _steps(request: Request, events: Sequence[Event]) -> list[str]:
    """The events in words. Of many of one kind in a row the last one speaks."""
    found: list[tuple[str, str]] = []
    for event in events:
        said = _said(request, event)
        if said and found and found[-1][0] == event.kind:
            found[-1] = (event.kind, said)
        elif said:
            found.append((event.kind, said))
    return [said for _, said in found]


def _said(request: Request, event: Event) -> str:
    texts = translations(language_of(request))
    _, data = texts.gettext, dict(event.data)
    told = {
        "queued": _("Accepted"),
        "started": _("Started"),
        "article": texts.ngettext(
            "Read “%(title)s”: %(claims)s claim with references",
            "Read “%(title)s”: %(claims)s claims with references",
            data.get("claims", 0),
        ),
        "fetching": _("Fetching sources: %(done)s of %(total)s (%(host)s)"),
        "judged": _("Claims judged: %(done)s of %(total)s"),
        "asking": _("Requests to the model: %(done)s of %(total)s"),
        "readings": _("Found the readings"),
        "sentence": _("Wrote and verified a sentence"),
        "draft": _("Comparing sentences with their references"),
        "reading": _("Files read: %(done)s of %(total)s; documents: %(documents)s"),
        "unread": _("Could not read %(file)s"),
        "waiting": _("Waiting: another job writes this corpus"),
        "note": "%(text)s",
    }.get(event.kind, "")
    try:
        return told % data
    except (KeyError, TypeError):
        return ""


Token = Annotated[str, Path(max_length=100)]
READ = ("verify", "check", "ask")  # kinds of jobs whose results are for readers


@dataclass(frozen=True, slots=True)
class SharedJob:
    """What a share link opens: the report, which quotes its sources, and nothing else of them."""

    job: Job
    result: bytes  # the report's JSON


@pages.get("/s/{token}")
def shared(token: Token, request: Request, who: Guest, site: Stores) -> HTMLResponse:
    """The result that a link opens."""
    found = _found(site, token)
    look = Look(found.job, who, f"/s/{token}")
    shown = VIEWS[found.job.kind](request, look, site, found.result)
    if shown is None:
        raise _nothing()
    return _unlisted(shown)


@pages.get("/s/{token}/findings/{claim_id}")
def finding(
    token: Token,
    claim_id: str,
    request: Request,
    who: Guest,
    site: Stores,
    threshold: Threshold = None,
) -> HTMLResponse:
    """The same with this finding open."""
    look = Look(_found(site, token).job, who, f"/s/{token}")
    return _unlisted(verify.finding_page(request, look, site, claim_id, threshold))


@pages.get("/s/{token}/board")
def board(
    token: Token,
    request: Request,
    who: Guest,
    site: Stores,
    threshold: Threshold = None,
    claim: str = "",
) -> HTMLResponse:
    """List, article and source at a threshold: a piece of the page."""
    look = Look(_found(site, token).job, who, f"/s/{token}")
    return _unlisted(verify.board_piece(request, look, site, claim, threshold))


@pages.get("/jobs/{job_id}/links")
def links_page(job_id: IdPath, request: Request, who: Runner, site: Stores) -> HTMLResponse:
    """The links to a result, and a form for a new one."""
    return _links(request, who, site, job_id)


@pages.post("/jobs/{job_id}/links")
def create_link_page(
    job_id: IdPath, form: Form, request: Request, who: Runner, site: Stores
) -> HTMLResponse:
    """A new link, whose address this page shows and none after it."""
    asked = forms.checked(LinkRequest, {"days": forms.text(form, "days")})
    _, url = linked(site, job_id, who, request, asked.days)
    whole = url if "://" in url else f"{str(request.base_url).rstrip('/')}{url}"
    return _links(request, who, site, job_id, whole)


@pages.post("/jobs/{job_id}/links/{link_id}/revoke")
def revoke_link_page(
    job_id: IdPath, link_id: IdPath, who: Runner, site: Stores, _form: Form
) -> RedirectResponse:
    """Have a link open nothing any more."""
    revoke_link(job_id, link_id, who, site)
    return forms.to(f"/jobs/{job_id}/links")


def _links(request: Request, who: Identity, site: Site, job_id: str, new: str = "") -> HTMLResponse:
    job = readable(site, job_id, who)
    if job.kind not in READ or not job.ended:
        raise not_found()
    listed = site.people.links.of(job_id)
    return page(request, "links.html", who, job=job, links=listed, new=new)


def shared_job(site: Site, token: str) -> SharedJob | None:
    """What a share link's token opens; None: nothing (any more)."""
    job_id = site.people.links.job_of(token)
    job = site.jobs.get(job_id) if job_id else None
    result = site.jobs.result(job.job_id) if job else None
    return SharedJob(job, result) if job and result is not None else None


def _found(site: Site, token: str) -> SharedJob:
    found = shared_job(site, token)
    if found is None or found.job.kind not in READ:
        raise _nothing()
    return found


def _nothing() -> Problem:
    return not_found("This link opens nothing: it has expired, was revoked, or is not complete.")


def _unlisted(shown: HTMLResponse) -> HTMLResponse:
    """Whoever publishes the address by mistake need not have it found by search engines too."""
    shown.headers["X-Robots-Tag"] = "noindex"
    return shown
