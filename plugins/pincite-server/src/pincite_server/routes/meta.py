"""Health, version and metrics for operators; language, help and static files for visitors."""

from importlib.metadata import version

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from pincite_server import forms, languages, operation
from pincite_server.forms import Form
from pincite_server.identity import PUBLIC, Guest, Permission, needs
from pincite_server.operation import Metrics
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import page, static_address, static_files
from pincite_server.routing import Router
from pincite_server.site import Stores
from pincite_server.worker import Worker

NOT_READY = {  # public, so without URLs and paths
    "database": "The database does not answer, or has the tables of another version.",
    "folder": "The data folder is not writable or has no room: jobs and files are refused.",
    "worker": "No worker takes jobs: start `pincite serve` with --jobs, or `pincite worker`.",
}
KEPT_SECONDS = 365 * 86400
IMMUTABLE = f"public, max-age={KEPT_SECONDS}, immutable"
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
api = Router(tags=["operation"])
pages = Router(include_in_schema=False)


class Health(BaseModel):
    """The process answers."""

    status: str = "ok"


class Ready(Health):
    """All parts work."""

    parts: dict[str, str]


class Version(BaseModel):
    """The version of the program and of the API."""

    pincite: str
    api: str = "v1"


@api.get("/healthz", operation_id="healthz", dependencies=[PUBLIC])
async def healthz() -> Health:
    """Liveness: answers without waiting for a thread."""
    return Health()


@api.get("/readyz", operation_id="readyz", dependencies=[PUBLIC])
def readyz(request: Request, site: Stores) -> Ready:
    """Readiness: whether database, data folder and worker can work."""
    worker: Worker | None = request.app.state.worker
    has_tables, has_room = operation.tables(site.database).well, operation.folder(site.server).well
    if worker and worker.slots:
        works = worker.works
    else:  # other processes run the jobs
        works = not has_tables or operation.workers(site.jobs).well
    parts = {"database": has_tables, "folder": has_room, "worker": works}
    if failing := [name for name, well in parts.items() if not well]:
        errors = [{"where": name, "what": NOT_READY[name]} for name in failing]
        detail = " ".join(NOT_READY[name] for name in failing)
        raise Problem(503, "not_ready", detail, headers={"Retry-After": "10"}, errors=errors)
    return Ready(parts=dict.fromkeys(parts, "ok"))


@api.get("/version", operation_id="version", dependencies=[PUBLIC])
def get_version() -> Version:
    """The version of Pincite."""
    return Version(pincite=version("pincite"))


@api.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}},
    dependencies=[Depends(needs(Permission.ADMIN))],
)
def get_metrics(request: Request, site: Stores) -> Response:
    """Prometheus metrics: requests by route and status, and jobs by state; no text of users."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.text(site.jobs), media_type=CONTENT_TYPE_LATEST)


@pages.post("/preferences", dependencies=[PUBLIC])
def preferences(form: Form, site: Stores) -> RedirectResponse:
    answer = forms.redirect(forms.local(forms.text(form, "back")))
    if (language := forms.text(form, "language")) in languages.LANGUAGES:
        secure = site.server.mode == "server" and site.server.secure_cookies
        answer.set_cookie(languages.LANGUAGE, language, KEPT_SECONDS, secure=secure, httponly=True)
    return answer


@pages.get("/static/{digest}/{name}", dependencies=[PUBLIC])
def static(digest: str, name: str) -> Response:
    """A static file, which browsers keep for good: its address has a hash of its content."""
    files = static_files()
    if name not in files or static_address(name) != f"/static/{digest}/{name}":
        raise not_found()
    media_type = MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(files[name], media_type=media_type, headers={"Cache-Control": IMMUTABLE})


@pages.get("/help")
def help_page(request: Request, who: Guest) -> HTMLResponse:
    return page(request, "help.html", who)
