"""Is it alive, is it ready, what is it, and how is it doing."""

from importlib.metadata import version

from fastapi import Depends, Request, Response
from pydantic import BaseModel

from pincite.server import operation
from pincite.server.identity import PUBLIC, May, needs
from pincite.server.jobs.worker import Worker
from pincite.server.operation import Metrics, Now
from pincite.server.problems import Problem, ProblemBody
from pincite.server.routing import Router
from pincite.server.site import Stores

NOT_READY = {  # for everybody: where they are is not
    "database": "The database does not answer, or is of another version.",
    "folder": "The data folder cannot be written, or has no room: jobs and files are refused.",
    "worker": "No job can be run: a thread of the worker has ended.",
}
router = Router(tags=["operation"])


class Health(BaseModel):
    """An answer that says only that there is one."""

    status: str = "ok"


class Ready(Health):
    """Every part is."""

    parts: dict[str, str]


class Version(BaseModel):
    """What runs here."""

    pincite: str
    api: str = "v1"


@router.get("/healthz", operation_id="healthz", dependencies=[PUBLIC])
async def healthz() -> Health:
    """Whether the process answers: by itself, without waiting for a thread."""
    return Health()


@router.get(
    "/readyz",
    operation_id="readyz",
    responses={503: {"model": ProblemBody}},
    dependencies=[PUBLIC],
)
def readyz(request: Request, site: Stores) -> Ready:
    """Whether it can work, and if not, which part of it: database, folder, worker."""
    worker: Worker | None = request.app.state.worker
    parts = {
        "database": operation.tables(site.database).well,
        "folder": operation.folder(site.server).well,
        "worker": worker is None or worker.works,
    }
    if failing := [name for name, well in parts.items() if not well]:
        errors = [{"where": name, "what": NOT_READY[name]} for name in failing]
        detail = " ".join(NOT_READY[name] for name in failing)
        raise Problem(503, "not_ready", detail, headers={"Retry-After": "10"}, errors=errors)
    return Ready(parts=dict.fromkeys(parts, "ok"))


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
    """For Prometheus: times of answers and of the stages of jobs, the queue, verdicts, reasons.

    No claim, title or name stands in it.
    """
    metrics: Metrics = request.app.state.metrics
    now = Now(
        jobs=site.jobs.counts(),
        oldest_seconds=site.jobs.oldest_seconds(),
        tallies=site.tallies.all(),
        disk_free_bytes=site.quotas.free_bytes(),
        corpora_bytes=site.quotas.corpora_bytes(),
    )
    text, media_type = metrics.text(now)
    return Response(text, media_type=media_type)
