"""The ASGI application: its routers, middleware and OpenAPI document.

All parts of the server return errors as `application/problem+json`.
"""

from collections.abc import Callable
from typing import Any

from fastapi import Depends, FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pincite import codec
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.check.report import CheckReport, Interpretation
from pincite.verbs.verify.report import Report
from pincite_server import languages, plugins, problems, rendering
from pincite_server.ingesting import Ingested
from pincite_server.middleware import Limits, SecurityMiddleware
from pincite_server.operation import Metrics
from pincite_server.routes import (
    accounts,
    check_ask,
    citations,
    copies,
    corpora,
    feedback,
    jobs,
    login,
    meta,
    results,
    verify,
)
from pincite_server.routing import UPLOADS, check_csrf, identifier, local_identifier
from pincite_server.settings import read_examples
from pincite_server.site import Site
from pincite_server.wikis import Wikis, browser_token
from pincite_server.worker import Worker

ROUTERS = (
    *(meta.api, jobs.api, verify.api, citations.api, copies.api, corpora.api, feedback.api),
    accounts.api,
    *(meta.pages, verify.pages, copies.pages, check_ask.pages, corpora.pages, feedback.pages),
    *(results.pages, login.pages, accounts.pages, accounts.admin),
)
ABOUT = """Does the source support the statement, and if not, which one would?

Start a job with `POST /api/v1/verify`, `/check` or `/ask`, follow its `events`, and get its
`result`, which is the JSON that the command line prints with `--json`.
"""


def create_app(site: Site, worker: Worker | None = None) -> FastAPI:
    """Create the application; `worker` is the worker in this process, if any, for `/readyz`."""
    server = site.server
    app = FastAPI(
        title="Pincite",
        description=ABOUT,
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # the page would load scripts from other sites
        redoc_url=None,
        dependencies=[Depends(check_csrf)],
    )
    app.state.site = site
    app.state.worker = worker
    app.state.texts = languages.read_texts(server.texts)
    app.state.metrics = metrics = Metrics()
    app.state.limits = limits = Limits(server)
    app.state.terms = terms = languages.read_terms(server.consent)
    if server.mode == "local":
        token = browser_token(server.folder) if server.wikis else ""
        app.state.identify = local_identifier(token)
    else:
        people, text = site.people, "\0".join(terms.values())
        app.state.identify = identifier(people.sessions, people.keys, server, text)
    files = {"check": server.examples, "ask": server.questions}
    app.state.examples = {kind: read_examples(path) for kind, path in files.items()}
    app.state.problem_page = rendering.problem_page
    problems.install(app)
    added = (router for plugin in plugins.load_all() for router in plugin.routers)
    for router in (*ROUTERS, *added):
        app.include_router(router)
    _describe(app)

    def body_bytes(path: str) -> int:
        megabytes = server.upload_megabytes if UPLOADS.fullmatch(path) else server.body_megabytes
        return int(megabytes * 1e6)

    app.add_middleware(SecurityMiddleware, server, limits, body_bytes, metrics.observe)
    if server.wikis:
        app.add_middleware(Wikis, origins=server.wikis)
    if server.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=[*server.proxies])
    return app


# ── OpenAPI: what FastAPI makes, with the schemas of results and the errors ─────────────────────

SCHEMAS = "#/components/schemas/"
RESULT = "/api/v1/jobs/{job_id}/result"
# `Interpretation` is the result of a check for readings only, `Ingested` that of a file upload.
RESULTS = (Report, CheckReport, Interpretation, AnswerReport, Ingested)
ERRORS = {
    "403": "Not allowed, or the request comes from a page on another site.",
    "413": "The body exceeds the server's limit.",
    "421": "This server does not answer to the name in `Host`.",
    "422": "The request is not valid.",
    "503": "The database does not answer; `Retry-After` says when to try again.",
    "default": "Any other error.",
}


def _describe(app: FastAPI) -> None:
    plain: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            for path in document["paths"].values():
                for operation in path.values():
                    _add_errors(operation["responses"])
            schemas = document["components"]["schemas"]
            document["paths"][RESULT]["get"]["responses"]["200"]["content"]["application/json"] = {
                "schema": {"oneOf": [_add_schema(kind, schemas) for kind in RESULTS]}
            }
            schemas["ProblemBody"] = problems.ProblemBody.model_json_schema(
                ref_template=SCHEMAS + "{model}"
            )
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _add_errors(answers: dict[str, Any]) -> None:
    answers.pop("422", None)  # FastAPI's own description
    for status, description in ERRORS.items():
        answers.setdefault(status, {"description": description})
    for status, answer in answers.items():
        if status == "default" or status >= "400":
            answer["content"] = {problems.MEDIA_TYPE: {"schema": {"$ref": f"{SCHEMAS}ProblemBody"}}}
            if status in ("429", "503"):
                answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}


def _add_schema(kind: type[Any], schemas: dict[str, Any]) -> dict[str, str]:
    """Add the schema of a result with its definitions; return a reference to it."""
    own_schema = codec.schema_within(kind, SCHEMAS)
    for name, schema in [*own_schema.pop("$defs", {}).items(), (kind.__name__, own_schema)]:
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas have the name {name}")
    return {"$ref": SCHEMAS + kind.__name__}
