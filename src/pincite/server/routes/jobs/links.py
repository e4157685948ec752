"""`/api/v1/jobs/{job_id}/links`: a result for whoever has the address, until it is revoked."""

from typing import Annotated

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from pincite.server.people.audited import noted
from pincite.server.people.identity import Runner
from pincite.server.people.links import ShareLink
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import IdPath
from pincite.server.routes.job import readable
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.texts import iso

router = Router(
    prefix="/api/v1/jobs/{job_id}/links",
    tags=["jobs"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422, 429)},
)


class LinkRequest(BaseModel):
    """A link to be made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    days: Annotated[int, Field(ge=1, le=366)] = 30


class LinkBody(BaseModel):
    """A share link; its address is shown once, when it is made."""

    link_id: str
    created: str
    expires: str


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
    return NewLinkBody(**_shown(link), url=url)


@router.get("", operation_id="list_links")
def list_links(job_id: IdPath, who: Runner, site: Stores) -> LinkList:
    """The links that open a job's result."""
    readable(site, job_id, who)
    return LinkList(links=[LinkBody(**_shown(link)) for link in site.people.links.of(job_id)])


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


def _shown(link: ShareLink) -> dict[str, str]:
    return {"link_id": link.link_id, "created": iso(link.created), "expires": iso(link.expires)}
