"""The server as an ASGI application: what it is made of, and in which order a request meets it."""

from fastapi import Depends, FastAPI

from pincite.server import problems
from pincite.server.guard import LOCAL_NAMES, Border
from pincite.server.jobs.worker import Worker
from pincite.server.openapi import describe
from pincite.server.operation.metrics import Metrics
from pincite.server.pages import routes as pages
from pincite.server.people.audited import Audited
from pincite.server.people.gate import Gated, gate_of
from pincite.server.people.identity import Identify, identify_local
from pincite.server.people.login import csrf_checked, identifier
from pincite.server.people.rate_limit import Limits, RateLimited
from pincite.server.routes import meta as api_meta
from pincite.server.routes.accounts import accounts as api_accounts
from pincite.server.routes.accounts import audit as api_audit
from pincite.server.routes.accounts import groups as api_groups
from pincite.server.routes.accounts import me as api_me
from pincite.server.routes.accounts import session as api_session
from pincite.server.routes.corpora import corpora as api_corpora
from pincite.server.routes.corpora import documents as api_documents
from pincite.server.routes.corpora import search as api_search
from pincite.server.routes.jobs import jobs as api_jobs
from pincite.server.routes.jobs import links as api_links
from pincite.server.routes.results import copies as api_copies
from pincite.server.routes.results import feedback as api_feedback
from pincite.server.routes.studies import rating as api_rating
from pincite.server.routes.studies import studies as api_studies
from pincite.server.settings import ServerSettings
from pincite.server.site import Site

PARTS = (
    api_meta,
    api_jobs,
    api_links,
    api_copies,
    api_corpora,
    api_documents,
    api_search,
    api_feedback,
    api_studies,
    api_rating,
    api_session,
    api_me,
    api_accounts,
    api_groups,
    api_audit,
)
ABOUT = """Does the source bear the statement out, and which would?

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
    problems.install(app)
    for part in PARTS:
        app.include_router(part.router)
    pages.install(app)
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
    return app


def _identify(site: Site) -> Identify:
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
