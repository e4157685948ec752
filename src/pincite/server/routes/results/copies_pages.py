"""Own copies of sources: handed in under a citation, listed, and checked again with."""

from anyio.to_thread import run_sync
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.library.own_copies import OwnCopy
from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.pages.viewer import Look
from pincite.server.paging import Cursor
from pincite.server.people.identity import Reader, Runner
from pincite.server.problems import Problem, not_found
from pincite.server.requests import VerifyFilesRequest
from pincite.server.routes.job import readable, started
from pincite.server.routes.results import copies as api_copies
from pincite.server.routes.results import verified
from pincite.server.routes.results.copies import Sha256
from pincite.server.routes.results.verified import Handed
from pincite.server.routing import Router
from pincite.server.site import Stores

router = Router(include_in_schema=False)
ROWS = 50


@router.post(
    "/jobs/{job_id}/findings/{claim_id}/citations/{citation_id}/copies", response_model=None
)
async def hand_in(
    job_id: str, claim_id: str, citation_id: str, request: Request, who: Runner, site: Stores
) -> Response:
    """Keep a copy, and show the finding with what was read of it, or with what is wrong."""
    try:
        kept = await api_copies.handed_in(site, job_id, who, request, (claim_id, citation_id))
    except Problem as problem:
        if problem.status != 422:
            raise
        failed = Handed(citation_id, wrong=problem.detail)
    else:
        if isinstance(kept, OwnCopy):
            return forms.to(f"/jobs/{job_id}/findings/{claim_id}/copies/{kept.sha256}")
        failed = Handed(citation_id, unchecked=kept)
    look = Look(await run_sync(readable, site, job_id, who), who)
    return await run_sync(verified.finding_page, request, look, site, claim_id, None, failed)


@router.get("/jobs/{job_id}/findings/{claim_id}/copies/{sha256}")
def handed_in(
    job_id: str, claim_id: str, sha256: Sha256, request: Request, who: Reader, site: Stores
) -> HTMLResponse:
    """The finding, with what was read of the copy that was handed in for it."""
    look = Look(readable(site, job_id, who), who)
    copy = api_copies.of_file(site, who, sha256)[-1]
    return verified.finding_page(request, look, site, claim_id, None, Handed(copy=copy))


@router.post("/jobs/{job_id}/again")
def again(job_id: str, who: Runner, site: Stores, _form: Form) -> RedirectResponse:
    """A new job with the same request, which reads what was handed in since; the old one stays."""
    job = readable(site, job_id, who)
    if job.kind != "verify":
        raise not_found()
    body = forms.checked(VerifyFilesRequest, site.jobs.whole_request(job))
    new = started(site, who, "verify", body, Response(), None)
    return forms.to(f"/jobs/{new.job_id}")


@router.get("/copies")
def copies(request: Request, who: Reader, site: Stores, cursor: Cursor = None) -> HTMLResponse:
    """One's own copies, with buttons that remove them."""
    found, following = api_copies.listed(site, who, ROWS, cursor)
    return page(request, "copies.html", who, copies=found, next=following)


@router.post("/copies/{sha256}/remove")
def remove(sha256: Sha256, who: Runner, site: Stores, _form: Form) -> RedirectResponse:
    """Remove a file from all sources that it stands for."""
    api_copies.delete_copy(sha256, who, site)
    return forms.to("/copies")
