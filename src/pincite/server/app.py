"""The server as an ASGI application, in which order a request meets its parts, and OpenAPI.

Errors are `application/problem+json` everywhere, whichever part of the server answers.
"""

from collections.abc import Callable
from typing import Any

from fastapi import Depends, FastAPI

from pincite.contract import codec
from pincite.server import plugins, problems, rendering
from pincite.server.corpora import AccountFull, DiskFull
from pincite.server.identity import Identify, identify_local
from pincite.server.jobs import KeyReused, QueueFull, TooManyOfYours
from pincite.server.middleware import (
    LOCAL_NAMES,
    AuditMiddleware,
    Limits,
    RateLimitMiddleware,
    SecurityMiddleware,
)
from pincite.server.operation import Metrics
from pincite.server.problems import MEDIA_TYPE, ProblemBody
from pincite.server.routes import (
    accounts,
    admin,
    ask,
    check,
    copies,
    corpora,
    feedback,
    jobs,
    meta,
    results,
    verify,
)
from pincite.server.routing import csrf_checked, identifier
from pincite.server.settings import ServerSettings, examples_of
from pincite.server.site import Site
from pincite.server.wikis import Wikis, browser_token, with_token
from pincite.server.work import Ingested
from pincite.server.worker import Worker
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.check.report import CheckReport, Interpretation
from pincite.verbs.verify.report import Report

SCHEMAS = "#/components/schemas/"
PROBLEM = {"$ref": f"{SCHEMAS}ProblemBody"}
RESULT = "/api/v1/jobs/{job_id}/result"
# A check that is to find readings only ends with these; files that were sent, with `Ingested`.
RESULTS = (Report, CheckReport, Interpretation, AnswerReport, Ingested)
EVERYWHERE = {
    "421": "This server does not answer to the name in `Host`.",
    "503": "The database does not answer; `Retry-After` says when to try again.",
    "default": "Any other error.",
}
OF_BODIES = {"413": "More bytes than the server's limit.", "422": "Not understood, or not allowed."}
METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


def describe(app: FastAPI) -> None:
    """Let the application describe itself so, the first time somebody asks."""
    plain: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _complete(plain())
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as the framework's manual has it


def _complete(document: dict[str, Any]) -> None:
    for path in document["paths"].values():
        for method in METHODS:
            if operation := path.get(method):
                _of_operation(operation, changes=method not in ("get", "head", "options"))
    schemas = document.get("components", {}).get("schemas", {})
    document["paths"][RESULT]["get"]["responses"]["200"]["content"]["application/json"] = {
        "schema": {"oneOf": [_added(kind, schemas) for kind in RESULTS]}
    }
    schemas["ProblemBody"] = ProblemBody.model_json_schema(ref_template=SCHEMAS + "{model}")
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)


def _added(kind: type[Any], schemas: dict[str, Any]) -> dict[str, str]:
    """A reference to the schema of a result, which is added with all that it refers to."""
    found = codec.described(kind, SCHEMAS)
    for name, schema in [*found.pop("$defs", {}).items(), (kind.__name__, found)]:
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas have the name {name}")
    return {"$ref": SCHEMAS + kind.__name__}


def _of_operation(operation: dict[str, Any], *, changes: bool) -> None:
    answers: dict[str, Any] = operation["responses"]
    added = dict(EVERYWHERE)
    if changes:
        added |= {"403": "Not allowed, or it comes from a page of another site."}
    if "requestBody" in operation:
        added |= OF_BODIES
    for status, description in added.items():
        answers.setdefault(status, {"description": description})
    for status, answer in answers.items():
        if status == "default" or status >= "400":
            answer["content"] = {MEDIA_TYPE: {"schema": PROBLEM}}
            if answer.get("description") == "Validation Error":
                answer["description"] = OF_BODIES["422"]
            if status in ("429", "503"):
                answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}


ROUTERS = (
    *(meta.api, jobs.api, verify.api, results.api, copies.api, corpora.api, feedback.api),
    *(accounts.session, accounts.me, admin.api, admin.audit),
    *(rendering.router, meta.pages, verify.pages, copies.pages, check.pages, ask.pages),
    *(corpora.pages, feedback.pages, results.pages, accounts.pages, admin.pages),
)
REFUSALS: problems.Refusals = {
    QueueFull: (429, "queue_full", {"Retry-After": "30"}),
    TooManyOfYours: (429, "too_many_of_yours", {"Retry-After": "30"}),
    KeyReused: (409, "idempotency_key_reused", {}),
    DiskFull: (507, "disk_full", {}),
    AccountFull: (422, "account_full", {}),
}
ABOUT = """Does the source support the statement, and if not, which one would?

Start a job with `POST /api/v1/verify`, `/check` or `/ask`, follow it at its `events`, and take its
`result`, which is what the command line's `--json` gives.
"""


def create_app(site: Site, worker: Worker | None = None) -> FastAPI:
    """The application over the stores of a site.

    Args:
        site: its stores.
        worker: the one in this process, if there is one: `/readyz` looks at it.
    """
    app = FastAPI(
        title="Pincite",
        description=ABOUT,
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        dependencies=[Depends(csrf_checked)],
    )
    app.state.site = site
    app.state.worker = worker
    app.state.metrics = metrics = Metrics()
    app.state.limits = limits = Limits(site.server)
    app.state.identify = _identify(site)
    app.state.spend = limits.spend
    app.state.examples = examples_of(site.server)
    app.state.problem_page = rendering.problem_page
    app.state.results = verify.Results()
    problems.install(app, REFUSALS)
    added = (router for plugin in plugins.loaded() for router in plugin.routers)
    for router in (*ROUTERS, *added):
        app.include_router(router)
    describe(app)
    if site.server.mode == "server":
        app.add_middleware(AuditMiddleware, log=site.people.audit)
        app.add_middleware(RateLimitMiddleware, limits=limits)
    app.add_middleware(
        SecurityMiddleware,
        hosts=LOCAL_NAMES | set(site.server.names),
        schemes=_schemes(site.server),
        body_bytes=lambda path: _limit(site, path),
        observe=metrics.observe,
    )
    if site.server.wikis:
        app.add_middleware(Wikis, origins=site.server.wikis)
    return app


def _identify(site: Site) -> Identify:
    if site.server.mode == "local" and site.server.wikis:
        return with_token(identify_local, browser_token(site.server.folder))
    if site.server.mode == "local":
        return identify_local
    return identifier(site.people.sessions, site.people.keys, site.server)


def _schemes(server: ServerSettings) -> tuple[str, ...]:
    """Of our pages' Origin: where cookies go over https only, a page without it is not ours."""
    secure = server.mode == "server" and server.secure_cookies
    return ("https",) if secure else ("http", "https")


def _limit(site: Site, path: str) -> int:
    """Bytes of a request's body: files may be larger than anything else."""
    files = path == "/verify" or path.endswith(("/documents", "/copies"))
    megabytes = site.server.upload_megabytes if files else site.server.body_megabytes
    return int(megabytes * 1e6)
