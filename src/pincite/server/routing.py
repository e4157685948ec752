"""Routes that know who is asking before they read a body, and that bound what they read.

The framework reads and parses a body first and asks who sent it afterwards. So each route here runs
the checks that it declares (`identity.needs`, …) as soon as the headers are there, and then reads:
a public route little; JSON with a limit on depth and items, which are counted as the bytes arrive;
few large bodies at a time. JSON is parsed in a thread.

A browser sends its cookies with whatever another site makes it send, so what changes something
needs, besides an own Origin (`middleware`), a token that only pages of ours can know. Keys are sent
by programs on purpose: they need none.
"""

import hmac
import json
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any, Literal, cast

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect

from pincite.server.identity import (
    ApiKeys,
    Identify,
    Identity,
    Sessions,
    csrf_of,
    declares,
    is_public,
)
from pincite.server.middleware import SAFE
from pincite.server.problems import Problem
from pincite.server.settings import ServerSettings

PUBLIC_BYTES = 64_000  # of a body that anybody may send: a name and a password
URLENCODED_BYTES = 1_000_000  # of a form without files; long texts come as multipart
MAX_DEPTH, MAX_ITEMS = 20, 10_000  # of JSON; no body of ours has more than some 1,000 values
LARGE_BYTES = 1_000_000
LARGE_AT_ONCE = 4  # bodies above that in memory; others wait, unread
# Their files go to the disk as they come, see `receiving.form_of`.
UPLOADS = re.compile(
    r"(/api/v1)?/corpora/[^/]+/documents|/verify/files"
    r"|/api/v1/jobs/[^/]+/copies|/jobs/[^/]+/findings/[^/]+/citations/[^/]+/copies"
)
_large = anyio.Semaphore(LARGE_AT_ONCE)
_MARK = re.compile(rb'["\[\]{},]')
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class JsonLimits:
    """Counts depth and items of JSON that arrives in pieces, without parsing it."""

    def __init__(self) -> None:
        self._depth = self._items = 0
        self._in_string = self._escaped = self._ended = False

    def feed(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            Problem: 422, it is nested too deeply or has too many items.
        """
        at = int(self._escaped)  # the byte after a backslash that ended the piece before
        self._escaped = self._escaped and not data
        while at < len(data) and not self._ended:
            at = self._string(data, at) if self._in_string else self._marks(data, at)

    def _string(self, data: bytes, at: int) -> int:
        """Skip to behind the string's end, or to the end of the data."""
        found = _IN_STRING.match(data, at)
        assert found
        end = found.end()
        self._in_string = data[end : end + 1] != b'"'
        self._escaped = data[end : end + 1] == b"\\"  # its last byte
        return end + 1

    def _marks(self, data: bytes, at: int) -> int:
        """Count up to behind the next string's beginning, or to the end of the data."""
        for found in _MARK.finditer(data, at):
            mark = found[0]
            if mark in b"]}":
                self._depth -= 1
                if self._depth < 0:  # no JSON, as the parser will say at this place
                    self._ended = True
                    return len(data)
                continue
            self._items += 1
            self._depth += mark in b"[{"
            if self._depth > MAX_DEPTH or self._items > MAX_ITEMS:
                what = f"JSON may be nested {MAX_DEPTH} deep and hold {MAX_ITEMS:,} values."
                raise Problem(422, "json_too_complex", what)
            if mark == b'"':
                self._in_string = True
                return found.end()
        return len(data)


class _BoundedRequest(Request):
    """A request whose JSON is counted while it arrives and parsed off the event loop."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            limits, pieces = JsonLimits(), []
            async for piece in self.stream():
                limits.feed(piece)
                pieces.append(piece)
            self._body = b"".join(pieces)
        return self._body

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = await run_sync(json.loads, await self.body())
        return self._json


class GuardedRoute(APIRoute):
    """A route that checks who is asking before it reads what was sent."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler behind the checks."""
        handle = super().get_route_handler()
        checks = list(_declared(self.dependant))
        public = all(map(is_public, checks))
        takes_json = self.body_field is not None

        async def guarded(request: Request) -> Response:
            if request.method in SAFE:
                return await handle(request)
            for check in checks:
                if not is_public(check):
                    await run_sync(check, request)
            n_bytes = _length(request)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            is_form = kind == "application/x-www-form-urlencoded"
            most = PUBLIC_BYTES if public else URLENCODED_BYTES if is_form else None
            if most and n_bytes is None:
                raise Problem(411, "length_required", "Send a Content-Length.")
            if most and n_bytes and n_bytes > most:
                raise Problem(
                    413, "too_large", f"A request to this address may have {most:,} bytes."
                )
            async with AsyncExitStack() as stack:
                is_large = n_bytes is None or n_bytes > LARGE_BYTES
                if is_large and not UPLOADS.fullmatch(request.url.path):
                    await stack.enter_async_context(_large)
                try:
                    if takes_json and kind.endswith("json"):
                        request = _BoundedRequest(request.scope, request.receive)
                        await request.body()
                    return await handle(request)
                except ClientDisconnect as error:
                    raise Problem(400, "incomplete", "The body ended too early.") from error

        return guarded


class Router(APIRouter):
    """A router whose routes are guarded."""

    def __init__(self, **given: Any) -> None:
        super().__init__(route_class=GuardedRoute, **given)


def _declared(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    """The dependencies that say who may use a route."""
    for each in dependant.dependencies:
        if each.call and declares(each.call):
            yield each.call
        else:
            yield from _declared(each)


def _length(request: Request) -> int | None:
    """Bytes of the body; None where that is not said: it comes in chunks."""
    if "transfer-encoding" in request.headers:
        return None
    return int(request.headers.get("content-length", "0"))  # `guard` lets numbers pass only


CSRF_FIELD, CSRF_HEADER = "csrf", "X-CSRF-Token"
# Whoever logs in has no session yet, or one that ended; `border` has looked at the Origin.
LOGINS = frozenset({"/api/v1/session", "/login"})
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def identifier(sessions: Sessions, keys: ApiKeys, settings: ServerSettings) -> Identify:
    """Who asks by which cookie or key; a key that is sent is what counts, also a wrong one."""
    name = cookie_name(settings)

    def identify(request: Request) -> Identity | None:
        if "authorization" in request.headers:
            key = bearer(request)
            return keys.identity(key) if key is not None else None
        token = request.cookies.get(name)
        return sessions.identity(token) if token else None

    return identify


def bearer(request: Request) -> str | None:
    """What is sent as `Authorization: Bearer …`; None if nothing is, or in another way."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


def cookie_name(settings: ServerSettings, what: Literal["session", "login"] = "session") -> str:
    """`__Host-` cookies can be set by this very host only, over https, for the whole of it."""
    return f"__Host-pincite-{what}" if settings.secure_cookies else f"pincite-{what}"


def set_cookie(response: Response, settings: ServerSettings, token: str) -> None:
    """Log the browser in that gets this response."""
    response.set_cookie(
        cookie_name(settings),
        token,
        max_age=int(settings.session_days * 86_400),
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def clear_cookie(response: Response, settings: ServerSettings) -> None:
    """Have the browser forget who it was."""
    response.delete_cookie(
        cookie_name(settings),
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


async def csrf_checked(request: Request) -> None:
    """A dependency of all routes: what a browser's cookie would change needs the session's token.

    Raises:
        Problem: 403
    """
    if request.method in SAFE or "authorization" in request.headers:
        return
    if request.method == "POST" and request.url.path in LOGINS:
        return
    if request.method == "POST" and UPLOADS.fullmatch(request.url.path):
        return  # `receiving.form_of` looks at the token itself
    token = request.cookies.get(cookie_name(request.app.state.site.server))
    if not token:
        return  # nobody, or local mode: `border` has looked where the request comes from
    given = request.headers.get(CSRF_HEADER)
    if given is None and _is_form(request):
        form: FormData = await request.form()
        given = cast(str | None, form.get(CSRF_FIELD))
    check_token(given, csrf_of(token))


def check_token(given: object, expected: str) -> None:
    """Whether a form or a header carries the token of the session that sent it.

    Raises:
        Problem: 403
    """
    if not isinstance(given, str) or not hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), expected.encode()
    ):
        raise Problem(
            403,
            "csrf",
            f"The request lacks this session's token (field {CSRF_FIELD!r} or header "
            f"{CSRF_HEADER}). Load the page again.",
        )


def csrf_for(request: Request) -> str:
    """What forms of a page carry that is shown to this browser; empty where it has no session."""
    token = request.cookies.get(cookie_name(request.app.state.site.server))
    return csrf_of(token) if token else ""


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() in FORMS
