"""Requests from wiki pages: the user script in an editor's browser (`server.wikis`).

A user script shares the wiki's origin with other scripts, so it may only start the verification of
an article, follow it, and read its result (`ALLOWED`). It authenticates with a token, never with a
cookie: the one from `browser_token` in local mode, an API key in server mode. Browsers send a CORS
preflight first, which also asks whether a public page may access a private network.
"""

import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.server.database import create_folder
from pincite.server.identity import LOCAL_USER, Identify, Identity, Permission
from pincite.server.middleware import OF_A_WIKI, is_of_a_wiki
from pincite.server.problems import Problem, response
from pincite.server.routing import bearer

_JOB = r"/api/v1/jobs/[A-Za-z0-9_-]{1,64}"
# What a wiki page can request. Everything else is reserved for our own pages and for programs.
ALLOWED: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r"/api/v1/verify"), frozenset({"POST"})),
    (re.compile(r"/api/v1/citations"), frozenset({"GET"})),
    (re.compile(_JOB), frozenset({"GET", "DELETE"})),
    (re.compile(_JOB + r"/(?:events|citations)"), frozenset({"GET"})),
)
HEADERS = "authorization, content-type, accept-language"
PREFLIGHT_SECONDS = "600"
TOKEN_BYTES = 18
FILE = "browser-token"
ITS_EDITOR = replace(LOCAL_USER, may=frozenset({Permission.READ, Permission.RUN}))


class Wikis:
    """Outermost ASGI middleware: answers preflights and marks requests from wikis."""

    def __init__(self, app: ASGIApp, *, origins: Collection[str]) -> None:
        """Accept these `origins`, in the form that browsers send: "https://en.wikipedia.org"."""
        self._app, self._origins = app, frozenset(origin.lower() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if scope["type"] != "http" or not (origin := self._origin(request)):
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        allowed = next((methods for each, methods in ALLOWED if each.fullmatch(path)), frozenset())
        if scope["method"] == "OPTIONS":
            await _preflight(request, allowed)(scope, receive, _answering(send, origin))
        elif scope["method"] not in allowed:
            refused = Problem(403, "not_for_wikis", "Wiki pages may not request this.")
            await response(request, refused)(scope, receive, _answering(send, origin))
        else:
            headers = [each for each in scope["headers"] if each[0] != b"cookie"]
            state = {**scope.get("state", {}), OF_A_WIKI: True}
            scope = {**scope, "headers": headers, "state": state}
            await self._app(scope, receive, _answering(send, origin))

    def _origin(self, request: Request) -> str:
        origins = request.headers.getlist("origin")
        return origins[0] if len(origins) == 1 and origins[0].lower() in self._origins else ""


def with_token(identify: Identify, token: str) -> Identify:
    """Require the token for requests from a wiki, and give them fewer permissions."""

    def identified(request: Request) -> Identity | None:
        if not is_of_a_wiki(request):
            return identify(request)
        sent = bearer(request) or ""
        return ITS_EDITOR if hmac.compare_digest(sent.encode(), token.encode()) else None

    return identified


def browser_token(folder: Path) -> str:
    """The token of a data folder, created if missing; only the owner can read the file."""
    path = folder / FILE
    if not path.exists():
        create_folder(folder)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(TOKEN_BYTES) + "\n", encoding="ascii")
    return path.read_text(encoding="ascii").strip()


def _preflight(request: Request, allowed: frozenset[str]) -> Response:
    if request.headers.get("access-control-request-method", "") not in allowed:
        return Response(status_code=403)
    headers = {
        "Access-Control-Allow-Methods": ", ".join(sorted(allowed)),
        "Access-Control-Allow-Headers": HEADERS,
        "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    }
    if request.headers.get("access-control-request-private-network") == "true":
        headers["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=204, headers=headers)


def _answering(send: Send, origin: str) -> Send:
    """Let only this wiki's page read the response, without credentials."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
            headers["Access-Control-Expose-Headers"] = "Location, Retry-After"
            headers.add_vary_header("Origin")
        await send(message)

    return sent
