"""How often somebody may ask: buckets of tokens, in the memory of the server's process.

Each request takes a token; a bucket fills again at its pace. Addresses have buckets, and so have
accounts and keys; tries at passwords have smaller ones, by name and by address, which are the same
whether an account of that name exists. With several server processes each counts for itself.
"""

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.server.people.identity import Identity
from pincite.server.people.names import key_of
from pincite.server.problems import Problem, response
from pincite.server.settings import ServerSettings

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


class RateLimited:
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
