"""What every request passes before a route sees it, and every reply on its way out.

Host and Origin are checked (a page of another site, or a name that was made to point here, gets
nothing), an address that no database takes is refused, bodies are limited while they come, and each
reply carries a request id and the headers that keep a browser from executing or leaking untrusted
text. In server mode requests are counted by address and account, and changes are audited.
"""

import ipaddress
import logging
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.server.accounts import AuditLog, key_of
from pincite.server.identity import Identity
from pincite.server.logs import REQUEST_ID
from pincite.server.problems import Problem, response
from pincite.server.settings import ServerSettings

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


class SecurityMiddleware:
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


MAX_BUCKETS = 100_000  # then the one that was not used for longest is forgotten: 20 MB
MINUTE, QUARTER = 60.0, 900.0
NAME_TRIES = 5


@dataclass(frozen=True, slots=True)
class Taken:
    """What a bucket holds after a token was asked of it."""

    allowed: bool
    limit: int
    left: int
    seconds: int  # until there is a token again, or until it is full

    @property
    def headers(self) -> dict[str, str]:
        """As replies tell it (IETF draft-ietf-httpapi-ratelimit-headers-07)."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.left),
            "RateLimit-Reset": str(self.seconds),
        }


class Buckets:
    """Buckets of one size, by key. Safe to use from several threads."""

    def __init__(self, size: int, seconds: float) -> None:
        """`size` tokens, all of which come back in `seconds`; size 0: without end."""
        self._size, self._pace = size, size / seconds
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, at what time
        self._lock = threading.Lock()

    def take(self, key: str) -> Taken | None:
        """Ask for a token; None: there is no limit."""
        if not self._size:
            return None
        with self._lock:
            left = self._left(key)
            allowed = left >= 1
            left -= allowed
            self._keep(key, left)
        missing = self._size - left if allowed else 1 - left
        return Taken(allowed, self._size, int(left), math.ceil(missing / self._pace))

    def give_back(self, key: str) -> None:
        """What was taken did not have to count."""
        with self._lock:
            self._keep(key, min(self._size, self._left(key) + 1))

    def _left(self, key: str) -> float:
        tokens, at = self._held.get(key, (float(self._size), 0.0))
        return min(self._size, tokens + (time.monotonic() - at) * self._pace)

    def _keep(self, key: str, tokens: float) -> None:
        self._held[key] = (tokens, time.monotonic())
        self._held.move_to_end(key)
        if len(self._held) > MAX_BUCKETS:
            self._held.popitem(last=False)


class Limits:
    """All buckets of a server."""

    def __init__(self, settings: ServerSettings) -> None:
        on = settings.mode == "server"  # one's own machine answers as fast as it can
        self._proxies = frozenset(settings.proxies)
        self._addresses = Buckets(on * settings.address_requests_a_minute, MINUTE)
        self._accounts = Buckets(on * settings.requests_a_minute, MINUTE)
        # More for a name: or else anybody could lock its owner out from anywhere.
        self._names = Buckets(NAME_TRIES * settings.login_tries, QUARTER)
        self._doors = Buckets(settings.login_tries, QUARTER)

    def of_address(self, scope: Scope) -> Taken | None:
        """A request has come from an address."""
        return self._addresses.take(address_of(scope, self._proxies))

    def spend(self, request: Request, identity: Identity) -> None:
        """A request of an account or key has come.

        Raises:
            Problem: 429
        """
        taken = self._accounts.take(identity.key_id or identity.account_id)
        if taken:
            request.state.rate = taken.headers
            if not taken.allowed:
                raise too_many("Too many requests.", taken)

    def try_login(self, request: Request, name: str) -> Callable[[], None]:
        """Somebody is about to try a password for a name; to be called back if it was right.

        Raises:
            Problem: 429, whether there is such a name or not.
        """
        tried = (
            (self._doors, address_of(request.scope, self._proxies)),
            (self._names, key_of(name)),
        )
        for buckets, key in tried:
            taken = buckets.take(key)
            if taken and not taken.allowed:
                raise too_many("Too many wrong passwords.", taken)

        def right() -> None:
            for buckets, key in tried:
                buckets.give_back(key)

        return right


class RateLimitMiddleware:
    """An ASGI middleware: limits by address, and what is left in each reply's headers."""

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        taken = self._limits.of_address(scope) if scope["type"] == "http" else None
        if taken is None:
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["rate"] = taken.headers

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(state["rate"])
            await send(message)

        if taken.allowed:
            await self._app(scope, receive, sent)
        else:
            refused = response(Request(scope), too_many("Too many requests.", taken))
            await refused(scope, receive, sent)


def too_many(what: str, taken: Taken) -> Problem:
    """429 for a bucket that is empty."""
    detail = f"{what} Try again in {taken.seconds} s."
    return Problem(429, "too_many_requests", detail, headers={"Retry-After": str(taken.seconds)})


def address_of(scope: Mapping[str, object], proxies: Collection[str]) -> str:
    """Who asks: the connection's address, or what our own proxy says of it.

    Of `X-Forwarded-For` only the last address that is no proxy of ours counts: those before it are
    what the one who asks made up. IPv6 addresses count by their network of 64 bits, which is what
    one customer has.
    """
    client = scope.get("client")
    address = str(client[0]) if isinstance(client, tuple) else ""
    if address in proxies:
        headers = scope["headers"]
        assert isinstance(headers, list)
        told = b",".join(value for name, value in headers if name == b"x-forwarded-for")
        hops = [hop.strip() for hop in told.decode("latin-1").split(",") if hop.strip()]
        address = next((hop for hop in reversed(hops) if hop not in proxies), address)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:50]
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        if mapped:
            return str(mapped)
        return str(ipaddress.IPv6Network((int(parsed), 64), strict=False))
    return str(parsed)


class AuditMiddleware:
    """An ASGI middleware: an entry for each request that changed something, after it did.

    A route adds with `noted` what its address does not tell.
    """

    def __init__(self, app: ASGIApp, *, log: AuditLog) -> None:
        self._app, self._log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        status = 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, sent)
        state = scope.get("state", {})
        changed = scope["type"] == "http" and (scope["method"] not in SAFE or "noted" in state)
        who = state.get("identity")
        if changed and status < 400 and who is not None:
            route = scope["route"]
            note = state.get("noted", {})
            detail = {**note.get("detail", {}), **({"key": who.key_id} if who.key_id else {})}
            target = note.get("target") or ",".join(map(str, scope["path_params"].values()))
            name = getattr(route, "operation_id", None) or route.name
            request_id = state.get("request_id", "")
            write = partial(self._log.record, who.account_id, name, target, detail, request_id)
            await run_sync(write)


def noted(request: Request, target: str = "", detail: Mapping[str, Any] | None = None) -> None:
    """Have this request audited, with what it was done to (an id) and how; no text of anybody."""
    request.state.noted = {"target": target, "detail": dict(detail or {})}
