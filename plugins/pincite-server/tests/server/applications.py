"""Applications over sites: as `create_app` makes them, with routes that are prepared once."""

from fastapi import FastAPI
from starlette.routing import BaseRoute

from pincite_server.app import create_app
from pincite_server.site import Site

_routes: list[BaseRoute] = []


def app_of(site: Site) -> FastAPI:
    """The application over a site.

    FastAPI prepares each route at its first request, which costs half a second for all of ours, and
    most tests make an application for a request or two. Routes know nothing of a site: that is
    `app.state`'s. So all applications of a process get those of its first one.
    """
    app = create_app(site)
    if not _routes:
        _routes.extend(app.router.routes)
    app.router.routes[:] = _routes
    return app
