"""The ASGI application: its routers, middleware and settings.

All parts of the server return errors as `application/problem+json`.
"""

from fastapi import Depends, FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pincite_server import openapi, operator_texts, plugins, problems, rendering
from pincite_server.identity import Identify, identify_local
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
from pincite_server.routing import UPLOADS, csrf_checked, identifier
from pincite_server.settings import LOCAL_NAMES, read_examples
from pincite_server.site import Site
from pincite_server.wikis import Wikis, browser_token, with_token
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
        dependencies=[Depends(csrf_checked)],
    )
    app.state.site = site
    app.state.worker = worker
    app.state.metrics = metrics = Metrics()
    app.state.limits = limits = Limits(server)
    app.state.texts = operator_texts.read_texts(server.texts)
    app.state.terms = terms = operator_texts.read_terms(server.consent)
    app.state.identify = _identify(site, "\0".join(terms.values()))
    app.state.examples = {
        "check": read_examples(server.examples),
        "ask": read_examples(server.questions),
    }
    app.state.problem_page = rendering.problem_page
    problems.install(app)
    added = (router for plugin in plugins.loaded() for router in plugin.routers)
    for router in (*ROUTERS, *added):
        app.include_router(router)
    openapi.describe(app)

    def body_bytes(path: str) -> int:
        megabytes = server.upload_megabytes if UPLOADS.fullmatch(path) else server.body_megabytes
        return int(megabytes * 1e6)

    # If cookies require https, an http page is not ours.
    https_only = server.mode == "server" and server.secure_cookies
    app.add_middleware(
        SecurityMiddleware,
        hosts=LOCAL_NAMES | set(server.names),
        schemes=("https",) if https_only else ("http", "https"),
        body_bytes=body_bytes,
        limits=limits,
        observe=metrics.observe,
    )
    if server.wikis:
        app.add_middleware(Wikis, origins=server.wikis)
    if server.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=[*server.proxies])
    return app


def _identify(site: Site, terms: str) -> Identify:
    if site.server.mode == "local" and site.server.wikis:
        return with_token(identify_local, browser_token(site.server.folder))
    if site.server.mode == "local":
        return identify_local
    return identifier(site.people.sessions, site.people.keys, site.server, terms)
