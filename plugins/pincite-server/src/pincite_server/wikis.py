"""Requests from wiki pages: the user script in an editor's browser (`server.wikis`).

A user script shares the wiki's origin with other scripts, so it may only start the verification of
an article, follow it, and read its result (`ALLOWED`). It authenticates with a token, never with a
cookie: the one from `browser_token` in local mode, an API key in server mode. Browsers send a CORS
preflight first, which also asks whether a public page may access a private network.
"""

import re
import secrets
from collections.abc import Collection
from pathlib import Path

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pincite_server.database import create_folder
from pincite_server.identity import OF_WIKI
from pincite_server.problems import Problem, response

_JOB = r"/api/v1/jobs/[A-Za-z0-9_-]{1,64}"
# What a wiki page can request. Everything else is reserved for our own pages and for programs.
ALLOWED: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r"/api/v1/verify"), frozenset({"POST"})),
    (re.compile(_JOB), frozenset({"GET", "DELETE"})),
    (re.compile(_JOB + r"/(?:events|citations)"), frozenset({"GET"})),
    # Findings are of plugins/pincite-watch.
    (re.compile(r"/api/v1/(?:citations|findings)"), frozenset({"GET"})),
    (re.compile(r"/api/v1/findings/[A-Za-z0-9_-]{1,40}/feedback"), frozenset({"POST"})),
)
TOKEN_BYTES = 18
FILE = "browser-token"


class Wikis:
    """Outermost ASGI middleware: answers preflights and marks requests from wikis."""

    def __init__(self, app: ASGIApp, *, origins: Collection[str]) -> None:
        """Accept these `origins`, in the form that browsers send: "https://en.wikipedia.org"."""
        self._app, self._origins = app, frozenset(origins)
        self._cors = CORSMiddleware(
            self._forward,
            allow_origins=[*origins],
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "accept-language"],
            allow_private_network=True,
            expose_headers=["Location", "Retry-After"],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origins = headers.getlist("origin")
        if len(origins) != 1 or origins[0] not in self._origins:
            await self._app(scope, receive, send)
            return
        wanted = headers.get("access-control-request-method", "")
        if scope["method"] == "OPTIONS" and not _is_allowed(scope["path"], wanted):
            await Response(status_code=403)(scope, receive, send)
        else:
            await self._cors(scope, receive, send)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_allowed(scope["path"], scope["method"]):
            refused = Problem(403, "not_for_wikis", "Wiki pages may not request this.")
            await response(Request(scope), refused)(scope, receive, send)
            return
        headers = [header for header in scope["headers"] if header[0] != b"cookie"]
        state = {**scope.get("state", {}), OF_WIKI: Headers(scope=scope)["origin"]}
        await self._app({**scope, "headers": headers, "state": state}, receive, send)


def _is_allowed(path: str, method: str) -> bool:
    return any(pattern.fullmatch(path) and method in methods for pattern, methods in ALLOWED)


def browser_token(folder: Path) -> str:
    """The token of a data folder, created if missing; only the owner can read the file."""
    path = folder / FILE
    if not path.exists():
        create_folder(folder)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(TOKEN_BYTES) + "\n", encoding="ascii")
    return path.read_text(encoding="ascii").strip()
