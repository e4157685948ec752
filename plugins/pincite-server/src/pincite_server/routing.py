"""Routes that authenticate before they read a body, with size limits; cookies and CSRF checks.

FastAPI reads and parses a body before it runs the dependencies that authenticate the sender. So
each route here first runs the checks that it declares (`identity.needs`, …) and then reads. It
limits bodies on public routes, the depth and size of JSON, and the number of large bodies in
memory.

A browser sends its cookies even with requests that another site triggers. So besides an Origin of
ours (`middleware`), a request that changes something needs a token that only our pages know. API
keys need no token.
"""

import hmac
import json
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any, Literal, cast

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect

from pincite_server.identity import (
    LOCAL_USER,
    ApiKeys,
    Consent,
    Identify,
    Identity,
    Permission,
    Role,
    Sessions,
    csrf_of,
    declares,
    is_public,
    permissions_of,
    wiki_of,
)
from pincite_server.middleware import SAFE
from pincite_server.problems import Problem
from pincite_server.settings import ServerSettings

PUBLIC_BYTES = 64_000  # of an unauthenticated body: a name and a password
URLENCODED_BYTES = 1_000_000  # of a form without files; long texts are sent as multipart
MAX_DEPTH, MAX_ITEMS = 20, 10_000  # of JSON; our own bodies have at most about 1,000 values
LARGE_BYTES = 1_000_000
LARGE_AT_ONCE = 4  # larger bodies in memory; others wait unread
# Their files are written to disk as they arrive, see `routes.jobs.upload_form`.
UPLOADS = re.compile(
    r"(/api/v1)?/corpora/[^/]+/documents|/verify|/api/v1/verify/files|(/api/v1)?/jobs/[^/]+/copies"
)
_large = anyio.Semaphore(LARGE_AT_ONCE)
_BRACKET = re.compile(rb"[\[\]{}]")


def check_json(body: bytes) -> None:
    """Reject JSON that is nested too deeply or has too many values, before parsing it.

    It takes a tenth of a second for 20 MB. A regular expression would hold the interpreter's lock
    for half a second, and with it every other request.

    Raises Problem: 422.
    """
    most = 4 * MAX_ITEMS + 1  # a value has four quotation marks at most: its own, and its name's
    # Without escapes, every other piece between quotation marks is outside of strings.
    pieces = body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"', most)
    outside = b"".join(pieces[::2])
    too_many = len(pieces) > most or sum(map(outside.count, (b"[", b"{", b","))) > MAX_ITEMS
    brackets = () if too_many else _BRACKET.findall(outside)
    depths = accumulate(1 if bracket in b"[{" else -1 for bracket in brackets)
    if too_many or max(depths, default=0) > MAX_DEPTH:
        what = f"JSON may have at most {MAX_DEPTH} levels and {MAX_ITEMS:,} values."
        raise Problem(422, "json_too_complex", what)


def _parse(body: bytes) -> Any:
    """JSON values; raises `json.JSONDecodeError`. Five times as fast as `json` for long texts."""
    try:
        return from_json(body)
    except ValueError:
        return json.loads(body)


class _JsonRequest(Request):
    """A request whose JSON is parsed in a thread."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = await run_sync(_parse, await self.body())
        return self._json


class GuardedRoute(APIRoute):
    """A route that authenticates before it reads the body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        checks = list(_dependencies(self.dependant))
        public = all(map(is_public, checks))
        takes_json = self.body_field is not None

        async def check_and_handle(request: Request) -> Response:
            if request.method in SAFE:
                return await handle(request)
            for check in checks:
                if not is_public(check):
                    await run_sync(check, request)
            in_chunks = "transfer-encoding" in request.headers
            length = request.headers.get("content-length", "0")  # checked by SecurityMiddleware
            n_bytes = None if in_chunks else int(length)
            kind = media_type(request)
            most = PUBLIC_BYTES if public else URLENCODED_BYTES if kind == FORMS[0] else None
            if most and n_bytes is None:
                raise Problem(411, "length_required", "A Content-Length header is required.")
            if most and n_bytes and n_bytes > most:
                detail = f"A request to this address may have at most {most:,} bytes."
                raise Problem(413, "too_large", detail)
            is_large = n_bytes is None or n_bytes > LARGE_BYTES
            waits = is_large and not UPLOADS.fullmatch(request.url.path)
            async with _large if waits else nullcontext():
                try:
                    if takes_json and kind.endswith("json"):
                        request = _JsonRequest(request.scope, request.receive)
                        await run_sync(check_json, await request.body())
                    return await handle(request)
                except ClientDisconnect as error:
                    raise Problem(400, "incomplete", "The body ended too early.") from error

        return check_and_handle


def media_type(request: Request) -> str:
    """The content type without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def form_of(request: Request, **limits: int) -> FormData:
    """Parse a form, with the limits of Starlette's parser. Raises Problem: 400."""
    try:
        form: FormData = await request.form(**limits)
    except ValueError as error:  # also of the codec that the sender names
        raise Problem(400, "bad_request", "The form is malformed.") from error
    return form


Router = partial(APIRouter, route_class=GuardedRoute)


def _dependencies(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    for dependency in dependant.dependencies:
        if dependency.call and declares(dependency.call):
            yield dependency.call
        else:
            yield from _dependencies(dependency)


CSRF_FIELD, CSRF_HEADER = "csrf", "X-CSRF-Token"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
Cookie = Literal["session", "login", "consent"]
WIKI_USER = replace(LOCAL_USER, may=frozenset({Permission.READ, Permission.RUN}))


def identifier(sessions: Sessions, keys: ApiKeys, settings: ServerSettings, terms: str) -> Identify:
    """Identify senders by API key or cookie; any key, even an invalid one, takes precedence.

    `terms` is the text that a session has to accept, if any.
    """

    def identify(request: Request) -> Identity | None:
        if "authorization" in request.headers:
            key = bearer(request)
            return keys.identity(key) if key is not None else None
        token = request.cookies.get(cookie_name(settings))
        identity = sessions.identity(token) if token else None
        if identity is None or not terms:
            return identity
        mark = request.cookies.get(cookie_name(settings, "consent"), "")
        choices = (choice for choice in Consent if consent_mark(token or "", terms, choice) == mark)
        return replace(identity, consent=next(choices, Consent.MISSING))

    return identify


def local_identifier(token: str) -> Identify:
    """Identify every sender as the local user; from a wiki, only with the token, and with less."""

    def identify(request: Request) -> Identity | None:
        if not wiki_of(request):
            return replace(LOCAL_USER, may=permissions_of(Role.ADMIN))
        sent = bearer(request) or ""
        return WIKI_USER if hmac.compare_digest(sent.encode(), token.encode()) else None

    return identify


def consent_mark(token: str, terms: str, choice: Consent) -> str:
    """The cookie's value for a choice, which is worth nothing for another session or text."""
    return csrf_of(token, f"{choice} {terms}")


def bearer(request: Request) -> str | None:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


def cookie_name(settings: ServerSettings, cookie: Cookie = "session") -> str:
    """The name of a cookie. Only this host can set `__Host-` cookies, over https."""
    return f"__Host-pincite-{cookie}" if settings.secure_cookies else f"pincite-{cookie}"


def set_cookie(
    response: Response, settings: ServerSettings, cookie: Cookie, value: str, seconds: float
) -> None:
    """Set a cookie for some time; 0 removes it."""
    # SameSite is "lax", Starlette's default: a provider returns the browser through a link.
    name, secure = cookie_name(settings, cookie), settings.secure_cookies
    response.set_cookie(name, value, int(seconds), secure=secure, httponly=True)


async def check_csrf(request: Request) -> None:
    """Dependency of all routes: a change in a session needs its CSRF token. Raises Problem: 403."""
    if request.method in SAFE or "authorization" in request.headers:
        return
    # At a login there is no valid session yet; `routes.jobs.upload_form` checks the token itself.
    path = request.url.path
    if request.method == "POST" and (path == "/login" or UPLOADS.fullmatch(path)):
        return
    expected = csrf_for(request)
    if not expected:
        return  # no login, or local mode: SecurityMiddleware has checked the Origin
    token_sent = request.headers.get(CSRF_HEADER)
    if token_sent is None and media_type(request) in FORMS:
        token_sent = cast(str | None, (await form_of(request)).get(CSRF_FIELD))
    check_token(token_sent, expected)


def check_token(token_sent: object, expected: str) -> None:
    """Check the CSRF token of a form or header. Raises Problem: 403."""
    sent = token_sent.encode("utf-8", "surrogatepass") if isinstance(token_sent, str) else b""
    if not hmac.compare_digest(sent, expected.encode()):
        what = f"field {CSRF_FIELD!r} or header {CSRF_HEADER}"
        detail = f"The request lacks this session's token ({what}). Load the page again."
        raise Problem(403, "csrf", detail)


def csrf_for(request: Request) -> str:
    """The CSRF token for a page's forms; empty without a session."""
    token = request.cookies.get(cookie_name(request.app.state.site.server))
    return csrf_of(token) if token else ""
