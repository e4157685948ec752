"""The server as an ASGI application: what it is made of, and in which order a request meets it."""

from fastapi import Depends, FastAPI

from pincite.server import problems
from pincite.server.branding import branding_of
from pincite.server.guard import LOCAL_NAMES, Border
from pincite.server.jobs.store import KeyReused, QueueFull, TooManyOfYours
from pincite.server.jobs.worker import Worker
from pincite.server.library.quotas import AccountFull, DiskFull
from pincite.server.openapi import describe
from pincite.server.operation.metrics import Metrics
from pincite.server.pages import home, problem, static, welcome
from pincite.server.people.audited import Audited
from pincite.server.people.gate import Gated, gate_of
from pincite.server.people.identity import Identify, identify_local
from pincite.server.people.login import csrf_checked, identifier
from pincite.server.people.rate_limit import Limits, RateLimited
from pincite.server.routes import meta
from pincite.server.routes.accounts import (
    account_pages,
    accounts,
    admin_pages,
    audit,
    groups,
    login_pages,
    me,
    session,
)
from pincite.server.routes.corpora import corpora, corpora_pages, documents, search
from pincite.server.routes.jobs import citations, jobs, jobs_pages, links, shared
from pincite.server.routes.results import (
    ask,
    check,
    copies,
    copies_pages,
    feedback,
    feedback_pages,
    verified,
    verify,
)
from pincite.server.routes.results.verify_view import Results
from pincite.server.routes.studies import rating, rating_pages, studies, studies_pages
from pincite.server.settings import ServerSettings
from pincite.server.site import Site
from pincite.server.wikis import Wikis, browser_token, with_token

API = (
    *(meta, jobs, citations, links, copies, corpora, documents, search, feedback, studies, rating),
    *(session, me, accounts, groups, audit),
)
PAGES = (
    *(static, home, welcome, verify, verified, copies_pages, check, ask, corpora_pages),
    *(feedback_pages, jobs_pages, shared, studies_pages, rating_pages),
    *(login_pages, account_pages, admin_pages),
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
    app.state.gate = gate = gate_of(site.server)
    app.state.branding = branding_of(site.server)
    app.state.problem_page = problem.problem_page
    app.state.results = Results()
    problems.install(app, REFUSALS)
    for part in (*API, *PAGES):
        app.include_router(part.router)
    describe(app)
    if gate:
        app.add_middleware(Gated, gate=gate)
    if site.server.mode == "server":
        app.add_middleware(Audited, log=site.people.audit)
        app.add_middleware(RateLimited, limits=limits)
    app.add_middleware(
        Border,
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
    files = path.endswith(("/documents", "/files", "/copies"))
    megabytes = site.server.upload_megabytes if files else site.server.body_megabytes
    return int(megabytes * 1e6)
