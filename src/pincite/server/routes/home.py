"""Preferences and help; and the gate: a text to agree to, a password for all, or both.

Two settings, for a server that is shown to a group: `consent`, a text file, and `gate_password`.
Who has passed carries a cookie that says so; another text or password asks everybody again. It
comes before accounts and is none: with `mode = "server"` people log in behind it, and programs
with an API key pass, as that says more.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pincite.errors import ConfigError
from pincite.server import forms, rendering
from pincite.server.accounts import matches
from pincite.server.forms import Form
from pincite.server.identity import PUBLIC, Guest
from pincite.server.problems import Problem, not_found, response
from pincite.server.rendering import page
from pincite.server.routing import Router
from pincite.server.settings import ServerSettings, paragraphs, text_of
from pincite.server.site import Site, Stores

COOKIE = "pincite_welcome"
PAGE = "/welcome"
OPEN = (PAGE, "/preferences", "/healthz", "/readyz", "/version")


@dataclass(frozen=True, slots=True)
class Gate:
    """What is asked for. `token` is what the cookie of those who passed holds."""

    text: str  # to be agreed to, in paragraphs; empty: nothing
    password_hash: str  # argon2id; empty: none
    keys_pass: bool  # requests with an API key

    @property
    def token(self) -> str:
        """Nobody knows it who does not know the hash of the password."""
        said = hashlib.sha256(self.text.encode()).digest()
        return hmac.new(self.password_hash.encode(), b"welcome" + said, "sha256").hexdigest()

    def matches(self, password: str) -> bool:
        """Whether this is the password, if there is one."""
        return not self.password_hash or matches(self.password_hash, password)

    def passed(self, request: Request) -> bool:
        """Whether a request may go on."""
        path = request.url.path
        if path in OPEN or path.startswith("/static/"):
            return True
        if path.startswith("/api/") and not self.password_hash:
            return True  # people agree to a text, not programs
        if self.keys_pass and "authorization" in request.headers:
            return True
        return hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), self.token.encode())


def gate_of(settings: ServerSettings) -> Gate | None:
    """The gate of a server; None: it has none.

    Raises:
        ConfigError: the text cannot be read, or the password is not hashed.
    """
    if not (settings.consent or settings.gate_password):
        return None
    if settings.gate_password and not settings.gate_password.startswith("$argon2id$"):
        raise ConfigError(
            "server.gate_password is not hashed. Expected what `pincite server hash-password` "
            "prints for it."
        )
    text = text_of("consent", settings.consent)
    return Gate(text, settings.gate_password, keys_pass=settings.mode == "server")


class Gated:
    """An ASGI middleware: who has not passed is shown the gate."""

    def __init__(self, app: ASGIApp, *, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if self._gate.passed(request):
            await self._app(scope, receive, send)
        else:
            await _shown(request)(scope, receive, send)


def _shown(request: Request) -> Response:
    if request.url.path.startswith("/api/") or request.method != "GET":
        return response(request, Problem(401, "gate_closed", f"Pass {PAGE} in a browser first."))
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{PAGE}?next={quote(request.url.path + query, safe='')}", 303)


router = Router(include_in_schema=False)
KEPT_SECONDS = 365 * 86400


@router.post("/preferences", dependencies=[PUBLIC])
def preferences(form: Form, site: Stores) -> RedirectResponse:
    """Keep a language or colours in a cookie, and go back."""
    answer = forms.to(forms.local(forms.text(form, "back")))
    if (language := forms.text(form, "language")) in rendering.LANGUAGES:
        keep(answer, site, rendering.LANGUAGE, language)
    if theme := forms.text(form, "theme"):
        keep(answer, site, rendering.THEME, theme if theme in rendering.THEMES else "auto")
    return answer


@router.get("/help")
def help_page(request: Request, who: Guest) -> HTMLResponse:
    """Keys, words, and what the pages keep."""
    return page(request, "help.html", who, keys=_keys(request))


def _keys(request: Request) -> list[tuple[str, str]]:
    _ = rendering.translations(rendering.language_of(request)).gettext
    return [
        ("j", _("next finding")),
        ("k", _("previous finding")),
        ("o", _("open the source in a new tab")),
        ("1", _("this label is right")),
        ("2", _("this label is wrong")),
        ("3", _("say more about this label")),
        ("c", _("copy the wikitext")),
        ("?", _("these keys")),
    ]


def keep(answer: RedirectResponse, site: Site, name: str, value: str) -> None:
    """Set a cookie that no script reads."""
    answer.set_cookie(
        name,
        value,
        max_age=KEPT_SECONDS,
        httponly=True,
        samesite="lax",
        secure=site.server.mode == "server" and site.server.secure_cookies,
    )


NAME = "gate/password"  # no account is called so: what is tried here counts apart


@router.get(PAGE, dependencies=[PUBLIC])
def welcome(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> HTMLResponse:
    """What is asked for."""
    return _page(request, _gate(request), forms.local(next))


@router.post(PAGE, dependencies=[PUBLIC])
def passed(request: Request, form: Form, site: Stores) -> Response:
    """Let somebody in who agrees and knows the password."""
    gate, then = _gate(request), forms.local(forms.text(form, "next"))
    if gate.text and forms.text(form, "agree") != "yes":
        return _page(request, gate, then, "consent")
    password = form.get("password")
    if gate.password_hash:
        try:
            right = request.app.state.limits.try_login(request, NAME)
        except Problem as problem:
            return _page(request, gate, then, "often", problem)
        if not gate.matches(password if isinstance(password, str) else ""):
            return _page(request, gate, then, "password")
        right()
    answer = forms.to(then)
    keep(answer, site, COOKIE, gate.token)
    return answer


def _page(
    request: Request, gate: Gate, then: str, wrong: str = "", problem: Problem | None = None
) -> HTMLResponse:
    return page(
        request,
        "welcome.html",
        None,
        status=problem.status if problem else 403 if wrong else 200,
        headers=problem.headers if problem else None,
        paragraphs=paragraphs(gate.text),
        password=bool(gate.password_hash),
        then=then,
        wrong=wrong,
    )


def _gate(request: Request) -> Gate:
    gate: Gate | None = request.app.state.gate
    if gate is None:
        raise not_found()
    return gate
