"""Share links: the result that one opens, and the page where they are made and revoked.

Through a link a result is read only. It quotes its sources; their whole texts, the corpus, forms
and downloads are for those whose job it is.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server.jobs.store import Job
from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.pages.viewer import Look
from pincite.server.people.identity import Guest, Identity, Runner
from pincite.server.problems import Problem, not_found
from pincite.server.requests import IdPath
from pincite.server.routes.job import readable
from pincite.server.routes.jobs import jobs_pages as jobs
from pincite.server.routes.jobs import links as api_links
from pincite.server.routes.jobs.links import LinkRequest
from pincite.server.routes.results import verified
from pincite.server.routes.results.verified import Threshold
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(include_in_schema=False)
Token = Annotated[str, Path(max_length=100)]
READ = ("verify", "check", "ask")  # kinds of jobs whose results are for readers


@dataclass(frozen=True, slots=True)
class SharedJob:
    """What a share link opens: the report, which quotes its sources, and nothing else of them."""

    job: Job
    result: bytes  # the report's JSON


@router.get("/s/{token}")
def shared(token: Token, request: Request, who: Guest, site: Stores) -> HTMLResponse:
    """The result that a link opens."""
    found = _found(site, token)
    look = Look(found.job, who, f"/s/{token}")
    shown = jobs.VIEWS[found.job.kind](request, look, site, found.result)
    if shown is None:
        raise _nothing()
    return _unlisted(shown)


@router.get("/s/{token}/findings/{claim_id}")
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
    return _unlisted(verified.finding_page(request, look, site, claim_id, threshold))


@router.get("/s/{token}/board")
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
    return _unlisted(verified.board_piece(request, look, site, claim, threshold))


@router.get("/jobs/{job_id}/links")
def links(job_id: IdPath, request: Request, who: Runner, site: Stores) -> HTMLResponse:
    """The links to a result, and a form for a new one."""
    return _links(request, who, site, job_id)


@router.post("/jobs/{job_id}/links")
def create_link(
    job_id: IdPath, form: Form, request: Request, who: Runner, site: Stores
) -> HTMLResponse:
    """A new link, whose address this page shows and none after it."""
    asked = forms.checked(LinkRequest, {"days": forms.text(form, "days")})
    _, url = api_links.linked(site, job_id, who, request, asked.days)
    whole = url if "://" in url else f"{str(request.base_url).rstrip('/')}{url}"
    return _links(request, who, site, job_id, whole)


@router.post("/jobs/{job_id}/links/{link_id}/revoke")
def revoke_link(
    job_id: IdPath, link_id: IdPath, who: Runner, site: Stores, _form: Form
) -> RedirectResponse:
    """Have a link open nothing any more."""
    api_links.revoke_link(job_id, link_id, who, site)
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
