"""What every request passes before anything of ours sees it, and every reply on its way out.

Host and Origin are checked (a page of another site, or a name that was made to point here, gets
nothing), an address that no database takes is refused, bodies are limited while they come, and each
reply carries a request id and the headers that keep a browser from executing or leaking what
strangers wrote.
"""

import logging
import secrets
import time
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

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
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
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
        body_bytes: Callable[[str], int],
        observe: Observe = lambda *_: None,
    ) -> None:
        """`hosts`: names that are answered to; `body_bytes`: the limit, by path."""
        self._app, self._hosts = app, frozenset(host.lower() for host in hosts)
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
        host = _name(request.headers.get("host", ""))
        if host not in self._hosts:
            return Problem(421, "unknown_host", "This server does not answer to this name.")
        if "\0" in request.url.path or b"%00" in request.scope["query_string"]:
            return Problem(400, "nul_in_address", "The address holds a NUL; expected text.")
        length = request.headers.get("content-length", "0")
        limit = self._body_bytes(request.url.path)
        if not (length.isascii() and length.isdigit()) or int(length) > limit:
            return Problem(413, "too_large", f"A request may have {limit:,} bytes.")
        if request.method not in SAFE and not _own_origin(request.headers):
            return Problem(403, "foreign_origin", "The request comes from a page of another site.")
        return None


class _TooLarge(HTTPException):
    """Of this kind because the framework takes any other error while a body is read for its own."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, f"A request may have {limit:,} bytes.")


def _own_origin(headers: Headers) -> bool:
    """Programs send no Origin; browsers do, with every request that changes something."""
    site = headers.get("sec-fetch-site", "same-origin")
    if site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


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
    try:
        return (urlsplit(f"//{netloc}").hostname or "").lower()
    except ValueError:
        return ""
