"""The server as an ASGI application: what it is made of, and in which order a request meets it."""

from fastapi import FastAPI

from pincite.server import (
    api_corpora,
    api_documents,
    api_feedback,
    api_jobs,
    api_meta,
    api_rating,
    api_search,
    api_studies,
    problems,
)
from pincite.server.border import LOCAL_NAMES, Border
from pincite.server.identity import identify_local
from pincite.server.metrics import Metrics
from pincite.server.pages import routes as pages
from pincite.server.site import Site

PARTS = (
    api_jobs,
    api_corpora,
    api_documents,
    api_search,
    api_feedback,
    api_studies,
    api_rating,
)
ABOUT = """Does the source bear the statement out, and which would?

Start a job with `POST /api/v1/verify`, `/check` or `/ask`, follow it at its `events`, and take its
`result`, which is what the command line's `--json` gives.
"""


def create_app(site: Site) -> FastAPI:
    """The application over the stores of a site."""
    app = FastAPI(
        title="Pincite",
        description=ABOUT,
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
    )
    app.state.site = site
    app.state.metrics = metrics = Metrics()
    app.state.identify = identify_local
    problems.install(app)
    app.include_router(api_meta.router)
    for api in PARTS:
        app.include_router(api.router)
    pages.install(app)
    app.add_middleware(
        Border,
        hosts=LOCAL_NAMES | set(site.server.hosts),
        body_bytes=lambda path: _limit(site, path),
        observe=metrics.observe,
    )
    return app


def _limit(site: Site, path: str) -> int:
    """Bytes of a request's body: files may be larger than anything else."""
    files = path.endswith(("/documents", "/files"))
    megabytes = site.server.upload_megabytes if files else site.server.body_megabytes
    return int(megabytes * 1e6)
