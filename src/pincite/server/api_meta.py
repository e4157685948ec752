"""Is it alive, is it ready, what is it, and how is it doing."""

from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from pincite.server.identity import PUBLIC, May, needs
from pincite.server.metrics import Metrics
from pincite.server.problems import Problem, ProblemBody
from pincite.server.site import Stores

router = APIRouter(tags=["operation"])


class Health(BaseModel):
    """An answer that says only that there is one."""

    status: str = "ok"


class Version(BaseModel):
    """What runs here."""

    pincite: str
    api: str = "v1"


@router.get("/healthz", operation_id="healthz", dependencies=[PUBLIC])
def healthz() -> Health:
    """Whether the process answers."""
    return Health()


@router.get(
    "/readyz",
    operation_id="readyz",
    responses={503: {"model": ProblemBody}},
    dependencies=[PUBLIC],
)
def readyz(site: Stores) -> Health:
    """Whether it can work: the database answers."""
    try:
        site.jobs.counts()
    except Exception as error:
        raise Problem(503, "not_ready", "The database does not answer.") from error
    return Health()


@router.get("/version", operation_id="version", dependencies=[PUBLIC])
def get_version() -> Version:
    """Which Pincite this is."""
    return Version(pincite=version("pincite"))


@router.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, 401: {"model": ProblemBody}},
    dependencies=[Depends(needs(May.ADMIN))],
)
def get_metrics(request: Request, site: Stores) -> Response:
    """For Prometheus: requests, times, jobs by state. No claim, title or name stands in it."""
    metrics: Annotated[Metrics, "set by the app"] = request.app.state.metrics
    text, media_type = metrics.text(site.jobs.counts())
    return Response(text, media_type=media_type)
