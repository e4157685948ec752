"""The server as an ASGI application: what it is made of, and in which order a request meets it."""

from fastapi import FastAPI

from pincite.server import api_jobs, api_meta, problems
from pincite.server.border import LOCAL_NAMES, Border
from pincite.server.described import describe
from pincite.server.identity import identify_local
from pincite.server.metrics import Metrics
from pincite.server.site import Site
from pincite.server.worker import Worker

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
    )
    app.state.site = site
    app.state.worker = worker
    app.state.metrics = metrics = Metrics()
    app.state.identify = identify_local
    problems.install(app)
    app.include_router(api_meta.router)
    app.include_router(api_jobs.router)
    describe(app)
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
