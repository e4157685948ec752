"""What every request passes before anything of ours sees it, and every reply on its way out.

Host and Origin are checked (a page of another site, or a name that was made to point here, gets
nothing), an address that no database takes is refused, bodies are limited while they come, and each
reply carries a request id and the headers that keep a browser from executing or leaking what
strangers wrote.
"""

import logging
import re
import secrets
import time
from collections.abc import Callable, Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.server.logs import REQUEST_ID
from pincite.server.problems import Problem, response

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    # Other sites learn nothing; our own forms tell their Origin, which "no-referrer" would hide.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
OF_A_WIKI = "of_a_wiki"  # in the state of a request
OWN_SITE = ("same-origin", "none")  # of Sec-Fetch-Site; none: typed, a bookmark
NAVIGATION = ("navigate", "document")
_HOST = re.compile(r"(\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(:[0-9]{1,5})?")
_NUMBER = re.compile(r"[0-9]{1,15}")
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
Observe = Callable[[str, str, int, float], None]  # method, route, status, seconds
LOG = logging.getLogger("pincite.server")
REQUESTS = logging.getLogger("pincite.requests")


class Border:
    """An ASGI middleware."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        schemes: Collection[str] = ("http", "https"),
        body_bytes: Callable[[str], int],
        observe: Observe = lambda *_: None,
    ) -> None:
        """`hosts`: names that are answered to; `schemes`: of our pages; `body_bytes`: by path."""
        self._app, self._hosts = app, frozenset(host.lower() for host in hosts)
        self._schemes = frozenset(schemes)
        self._body_bytes, self._observe = body_bytes, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        REQUEST_ID.set(request_id)  # for the log; threads that work for this request inherit it
        begin, status = time.perf_counter(), 500
        begun = False

        async def sent(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        request = Request(scope)
        try:
            if problem := self._refused(request):
                await response(request, problem)(scope, receive, sent)
                return
            limit = self._body_bytes(scope["path"])
            await self._app(scope, _limited(receive, limit), sent)
        except _TooLarge as error:
            if not begun:
                await response(request, Problem(413, "too_large", error.detail))(
                    scope, receive, sent
                )
        except Exception:
            LOG.exception("a fault of the program")
            if not begun:
                detail = "A fault of the program; the server's log has it under this request's id."
                await response(request, Problem(500, "internal", detail))(scope, receive, sent)
        finally:
            route = getattr(scope.get("route"), "path", "(none)")
            seconds = time.perf_counter() - begin
            self._observe(scope["method"], route, status, seconds)
            said = {"method": scope["method"], "route": route, "status": status}
            REQUESTS.info(
                "%s %s %d in %.0f ms",
                *said.values(),
                seconds * 1000,
                extra=said | {"seconds": round(seconds, 4)},
            )

    def _refused(self, request: Request) -> Problem | None:
        given = request.headers.getlist("host")
        host = _name(given[0]) if len(given) == 1 else ""
        if host not in self._hosts:
            return Problem(421, "unknown_host", "This server does not answer to this name.")
        if "\0" in request.url.path or b"%00" in request.scope["query_string"]:
            return Problem(400, "nul_in_address", "The address holds a NUL; expected text.")
        length = request.headers.get("content-length", "0")
        limit = self._body_bytes(request.url.path)
        if not _NUMBER.fullmatch(length) or int(length) > limit:
            return Problem(413, "too_large", f"A request may have {limit:,} bytes.")
        if is_of_a_wiki(request):
            return None
        safe = request.method in SAFE
        own = _embeds_nothing(request.headers) if safe else self._own_origin(request.headers)
        if not own:
            return Problem(403, "foreign_origin", "The request comes from a page of another site.")
        return None

    def _own_origin(self, headers: Headers) -> bool:
        """Whether a program asks, or a page of ours.

        Programs send no Origin. Browsers do with every request that changes something; one that
        does not is too old to be told from another site's page.
        """
        site, origins = headers.get("sec-fetch-site"), headers.getlist("origin")
        if site is not None and site not in OWN_SITE:
            return False
        if not origins:
            return site is not None or not headers.get("user-agent", "").startswith("Mozilla/")
        host = headers.get("host", "").lower()
        ours = {f"{scheme}://{host}" for scheme in self._schemes}  # "null" is a page that hides
        return len(origins) == 1 and origins[0].lower() in ours


class _TooLarge(HTTPException):
    """Of this kind because the framework takes any other error while a body is read for its own."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, f"A request may have {limit:,} bytes.")


def is_of_a_wiki(request: Request) -> bool:
    """Whether a script of a wiki asks that may; `server.wikis` marks such requests."""
    return bool(request.scope.get("state", {}).get(OF_A_WIKI))


def _embeds_nothing(headers: Headers) -> bool:
    """Whether no other site reads through a page of its own: people may follow its links to us."""
    if headers.get("sec-fetch-site", "same-origin") in OWN_SITE:
        return True
    return (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == NAVIGATION


def _limited(receive: Receive, limit: int) -> Receive:
    left = limit

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise _TooLarge(limit)
        return message

    return limited


def _name(netloc: str) -> str:
    """The host without its port, lower case; empty if it is none."""
    found = _HOST.fullmatch(netloc.lower())
    return (found["v6"] or found["name"]) if found else ""
