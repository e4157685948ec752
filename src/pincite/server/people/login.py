"""Who asks, in server mode: by a cookie or a key; cookies, and the tokens that forms carry.

A browser sends its cookies with whatever another site makes it send, so what changes something
needs, besides an own Origin (`border`), a token that only pages of ours can know. Keys are sent by
programs on purpose: they need none.
"""

import hmac
from typing import Literal, cast

from fastapi import Request
from starlette.datastructures import FormData
from starlette.responses import Response

from pincite.server.guard import SAFE
from pincite.server.people.identity import Identify, Identity
from pincite.server.people.sessions import ApiKeys, Sessions, csrf_of
from pincite.server.problems import Problem
from pincite.server.routing import UPLOADS
from pincite.server.settings import ServerSettings

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
