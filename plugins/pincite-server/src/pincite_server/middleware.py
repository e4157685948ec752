"""Security headers, Host and Origin checks, and size and rate limits.

Requests from pages of other sites and under unknown host names (DNS rebinding) are refused. Bodies
are limited while they arrive. Each response has a request id and headers that keep a browser from
executing or leaking untrusted text. In server mode, requests are rate-limited by address, and
changes are logged with the account that made them.
"""

import ipaddress
import logging
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite_server.accounts import name_key
from pincite_server.identity import LOCAL, wiki_of
from pincite_server.logs import AUDIT, REQUEST_ID, REQUESTS
from pincite_server.problems import Problem, response
from pincite_server.settings import LOCAL_NAMES, ServerSettings

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HTTPS_REQUIRED = (
    "This page was opened over plain http, but the server sends its login cookie over https only. "
    "Open its https:// address. If it has none, its operator can set secure_cookies = false under "
    "[server] in the configuration; passwords then cross the network unencrypted."
)
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    # "no-referrer" would also remove the Origin of our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
OWN_SITE = ("same-origin", "none")  # Sec-Fetch-Site values; "none" for typed URLs and bookmarks
NAVIGATION = ("navigate", "document")
_HOST = re.compile(r"(\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(:[0-9]{1,5})?")
_NUMBER = re.compile(r"[0-9]{1,15}")
Observe = Callable[[str, int, float], None]  # route, status, seconds
LOG = logging.getLogger("pincite.server")


class SecurityMiddleware:
    """Checks Host, Origin and size of requests; adds security headers and a request id."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        limits: "Limits",
        body_bytes: Callable[[str], int],
        observe: Observe,
    ) -> None:
        """`body_bytes` gives the size limit of a path."""
        self._app, self._limits, self._body_bytes, self._observe = app, limits, body_bytes, observe
        self._hosts = LOCAL_NAMES | {name.lower() for name in settings.names}
        # If cookies require https, an http page is not ours.
        https_only = settings.mode == "server" and settings.secure_cookies
        self._schemes = ("https",) if https_only else ("http", "https")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        REQUEST_ID.set(request_id)  # for logging; this request's threads inherit it
        begin, status, begun = time.perf_counter(), 500, False

        async def reply(message: Message) -> None:
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
            if problem := self._refuse(request):
                await response(request, problem)(scope, receive, reply)
                return
            await self._app(scope, _limit(receive, self._body_bytes(scope["path"])), reply)
        except Exception as error:
            if isinstance(error, HTTPException):  # of `_limit`
                problem = Problem(413, "too_large", error.detail)
            else:
                LOG.exception("error in the program")
                detail = "Internal error; see the server's log under this request's id."
                problem = Problem(500, "internal", detail)
            if not begun:
                await response(request, problem)(scope, receive, reply)
        finally:
            seconds = time.perf_counter() - begin
            self._observe(_pattern(scope), status, seconds)
            _log(scope, status, seconds)

    def _refuse(self, request: Request) -> Problem | None:
        hosts = request.headers.getlist("host")
        host = _name(hosts[0]) if len(hosts) == 1 else ""
        if host not in self._hosts and not request.url.path.startswith("/static/"):
            detail = f"This server does not answer to the name {host!r}"
            return Problem(421, "unknown_host", f"{detail}: it is not in server.hosts.")
        if wait := self._limits.of_address(request.scope):
            return too_many("Too many requests.", wait)
        if "\0" in request.url.path or b"%00" in request.scope["query_string"]:
            return Problem(400, "nul_in_address", "The address contains a NUL.")
        length = request.headers.get("content-length", "0")
        limit = self._body_bytes(request.url.path)
        if not _NUMBER.fullmatch(length) or int(length) > limit:
            return Problem(413, "too_large", f"A request may have at most {limit:,} bytes.")
        if wiki_of(request):
            return None
        safe = request.method in SAFE
        own = _embeds_nothing(request.headers) if safe else self._own_origin(request.headers)
        if own:
            return None
        here = f"http://{request.headers['host']}".lower()
        if "http" not in self._schemes and request.headers.get("origin", "").lower() == here:
            return Problem(403, "https_required", HTTPS_REQUIRED)
        return Problem(403, "foreign_origin", "The request comes from a page on another site.")

    def _own_origin(self, headers: Headers) -> bool:
        """Whether a request that changes something comes from our pages or from a program.

        Programs send no Origin, but browsers do. A browser too old to send one is refused, because
        the request could come from a page of another site.
        """
        site, origins = headers.get("sec-fetch-site"), headers.getlist("origin")
        if site is not None and site not in OWN_SITE:
            return False
        if not origins:
            return site is not None or not headers.get("user-agent", "").startswith("Mozilla/")
        host = headers.get("host", "").lower()
        ours = {f"{scheme}://{host}" for scheme in self._schemes}  # never "null"
        return len(origins) == 1 and origins[0].lower() in ours


def _pattern(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "(none)")


def _log(scope: Scope, status: int, seconds: float) -> None:
    """Log a request and, if it changed something, the account, action and ids; never any text."""
    fields = {"method": scope["method"], "route": _pattern(scope), "status": status}
    extra = fields | {"seconds": round(seconds, 4)}
    REQUESTS.info("%s %s %d in %.0f ms", *fields.values(), seconds * 1000, extra=extra)
    user = scope["state"].get("identity")
    if user is None or user.account_id == LOCAL or scope["method"] in SAFE or status >= 400:
        return
    route = scope["route"]
    fields = {
        "account": user.account_id,
        "action": getattr(route, "operation_id", None) or route.name,
        "target": ",".join(map(str, scope["path_params"].values())),
    }
    done = f"{fields['action']} {fields['target']}".strip()
    AUDIT.info("%s (%s): %s", user.name, user.account_id, done, extra=fields)


def _embeds_nothing(headers: Headers) -> bool:
    """Whether no other site embeds the response. Links from other sites are allowed."""
    if headers.get("sec-fetch-site", "same-origin") in OWN_SITE:
        return True
    return (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == NAVIGATION


def _limit(receive: Receive, limit: int) -> Receive:
    left = limit

    async def receive_limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            # FastAPI replaces any other error that is raised while it reads a body.
            raise HTTPException(413, f"A request may have at most {limit:,} bytes.")
        return message

    return receive_limited


def _name(netloc: str) -> str:
    """The host without its port, in lower case; empty if invalid."""
    match = _HOST.fullmatch(netloc.lower())
    return (match["v6"] or match["name"]) if match else ""


MAX_BUCKETS = 100_000  # 20 MB; the least recently used is dropped
MINUTE, QUARTER = 60.0, 900.0
NAME_TRIES = 5


class Buckets:
    """Token buckets of one size, by key. Thread-safe."""

    def __init__(self, size: int, seconds: float) -> None:
        """Refill `size` tokens in `seconds`; size 0 means no limit."""
        self._size, self._pace = size, size / seconds
        self._state: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, time
        self._lock = threading.Lock()

    def take(self, key: str) -> int:
        """Take a token; return 0, or the seconds until the next token if there is none."""
        if not self._size:
            return 0
        with self._lock:
            tokens = self._tokens(key)
            allowed = tokens >= 1
            self._store(key, tokens - allowed)
        return 0 if allowed else math.ceil((1 - tokens) / self._pace)

    def put_back(self, key: str) -> None:
        with self._lock:
            self._store(key, min(self._size, self._tokens(key) + 1))

    def _tokens(self, key: str) -> float:
        tokens, at = self._state.get(key, (float(self._size), 0.0))
        return min(self._size, tokens + (time.monotonic() - at) * self._pace)

    def _store(self, key: str, tokens: float) -> None:
        self._state[key] = (tokens, time.monotonic())
        self._state.move_to_end(key)
        if len(self._state) > MAX_BUCKETS:
            self._state.popitem(last=False)


class Limits:
    """The rate limits of a server: requests by address in server mode, and login attempts."""

    def __init__(self, settings: ServerSettings) -> None:
        on = settings.mode == "server"
        self._addresses = Buckets(on * settings.requests_a_minute, MINUTE)
        # The limit per name is higher, so that an attacker cannot easily lock its owner out.
        self._names = Buckets(NAME_TRIES * settings.login_tries, QUARTER)
        self._logins = Buckets(settings.login_tries, QUARTER)

    def of_address(self, scope: Scope) -> int:
        """Count a request; return 0, or the seconds to wait if there were too many."""
        return self._addresses.take(address_of(scope))

    def try_login(self, request: Request, name: str) -> Callable[[], None]:
        """Count a login attempt; call what it returns after a right one. Raises Problem: 429."""
        attempts = ((self._logins, address_of(request.scope)), (self._names, name_key(name)))
        for buckets, key in attempts:
            if wait := buckets.take(key):
                raise too_many("Too many failed attempts.", wait)

        def forget_try() -> None:
            for buckets, key in attempts:
                buckets.put_back(key)

        return forget_try


def too_many(reason: str, seconds: int) -> Problem:
    detail = f"{reason} Try again in {seconds} s."
    return Problem(429, "too_many_requests", detail, headers={"Retry-After": str(seconds)})


def address_of(scope: Scope) -> str:
    """The client's address; of an IPv6 address only the /64 network, which one customer gets."""
    client = scope.get("client")  # for a proxy's, uvicorn has put its client's
    address = str(client[0]) if client else ""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:50]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((int(parsed), 64), strict=False))
