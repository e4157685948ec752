"""What somebody meets before anything else: a text to agree to, a password for all, or both.

Two settings, for a server that is shown to a group: `consent`, a text file, and `gate_password`.
Who has passed carries a cookie that says so; another text or password asks everybody again. It
comes before accounts and is none: with `mode = "server"` people log in behind it, and programs
with an API key pass, as that says more.
"""

import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pincite.errors import ConfigError
from pincite.server.branding import text_of
from pincite.server.people import passwords
from pincite.server.problems import Problem, response
from pincite.server.settings import ServerSettings

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
        return not self.password_hash or passwords.matches(self.password_hash, password)

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
