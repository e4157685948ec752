"""Login through a wiki or an OpenID provider: OAuth 2 with PKCE.

Providers are declared in a separate TOML file, because it contains secrets:

    [wikimedia]
    kind = "mediawiki"
    client_id = "…"
    client_secret = "…"
    role = "editor"       # of new accounts; without it, only linked logins are accepted

The server takes only the user's identity from a provider and discards the access token.
"""

import base64
import json
import logging
import secrets
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import anyio
import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.discovery import get_well_known_url

from pincite.errors import ConfigError
from pincite.settings import schema
from pincite_server.identity import Role
from pincite_server.problems import Problem
from pincite_server.settings import LOCAL_NAMES
from pincite_server.tables import whole

SECONDS = 10.0  # for discovery, and for token and profile; they hold a thread of the server
MAX_BYTES = 2**20  # of a reply; real ones have a few kilobytes
ATTEMPT_SECONDS = 600.0  # for a user to log in at the provider
USERNAMES = ["username", "preferred_username", "name"]  # fields of MediaWiki and OpenID profiles
AGENT = "pincite (https://pypi.org/project/pincite/)"
Kind = Literal["mediawiki", "oidc"]
LOG = logging.getLogger("pincite.server")


def refusal(detail: str) -> Problem:
    """The provider did not identify the user, or has blocked them."""
    return Problem(403, "login_refused", detail)


class Endpoints(NamedTuple):
    """The addresses of a provider, and how it authenticates its clients."""

    authorize: str
    token: str
    profile: str
    client_auth: str = "client_secret_post"


@cache
def discover_endpoints(issuer: str) -> Endpoints:
    """What an issuer publishes (OpenID Connect Discovery 1.0). Raises Problem, never cached."""

    async def fetch() -> Any:
        async with httpx2.AsyncClient(**_options()) as client:
            reply = await client.get(get_well_known_url(issuer, external=True))
            return reply.raise_for_status().json()

    try:
        stated = _within_time(fetch)
        names = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint")
        authorize, token, profile = urls = [str(stated[name]) for name in names]
        if stated["issuer"].rstrip("/") != issuer.rstrip("/") or not all(map(_is_safe, urls)):
            raise ValueError("another issuer, or an address without https")
        methods = stated.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    except Exception as error:  # a remote server may respond with anything
        LOG.warning("OpenID discovery at %s failed: %r", issuer, error)
        what = "The login service does not answer as expected. Try again later, or ask the operator"
        raise refusal(f"{what} of this server.") from error
    post = "client_secret_post"
    return Endpoints(authorize, token, profile, post if post in methods else "client_secret_basic")


@dataclass(frozen=True, slots=True)
class Provider:
    """A login provider; for `mediawiki`, the URLs are derived from `wiki`."""

    kind: Kind = "oidc"
    title: str = ""  # on the button; defaults to the provider's name
    client_id: str = ""
    client_secret: str = ""
    wiki: str = "https://meta.wikimedia.org/w"  # for mediawiki: the folder of its rest.php
    issuer: str = ""  # for oidc; it states the three addresses, which others need here
    authorize_url: str = ""
    token_url: str = ""
    profile_url: str = ""
    scope: str = "openid profile"  # not for mediawiki
    subject: str = "sub"  # profile field with a permanent id
    username: str = ""  # profile field with the user's name
    role: str = ""  # of new accounts; if empty, only linked logins are accepted

    @property
    def endpoints(self) -> Endpoints:
        """Raises Problem: 403, the issuer does not state them."""
        if self.kind == "mediawiki":
            base = f"{self.wiki.rstrip('/')}/rest.php/oauth2"
            urls = f"{base}/authorize", f"{base}/access_token", f"{base}/resource/profile"
            return Endpoints(*urls)
        if self.issuer:
            return discover_endpoints(self.issuer)
        return Endpoints(self.authorize_url, self.token_url, self.profile_url)


class Person(NamedTuple):
    """A user of a provider."""

    subject: str
    name: str


def providers(path: Path | None) -> dict[str, Provider]:
    """The providers in a file, by name. Raises ConfigError: it is not valid, or incomplete."""
    if path is None:
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"server.oauth: {path} cannot be read as TOML: {error}") from error
    return {name: _provider(name, values, path) for name, values in tables.items()}


def begin_login(provider: Provider, callback: str) -> tuple[str, str, str]:
    """Start a login: return the URL for the browser, and the state and verifier to store."""
    verifier = secrets.token_urlsafe(48)
    url, state = _client(provider, callback).create_authorization_url(
        provider.endpoints.authorize, state=secrets.token_urlsafe(32), code_verifier=verifier
    )
    return url, state, verifier


def fetch_person(provider: Provider, callback: str, code: str, verifier: str) -> Person:
    """Exchange the code for the user's identity. Raises Problem: 403."""
    _, token_url, profile_url, _ = provider.endpoints

    async def fetch() -> Any:
        async with _client(provider, callback) as client:
            await client.fetch_token(
                token_url, grant_type="authorization_code", code=code, code_verifier=verifier
            )
            # Given `auth`, the library does not refuse tokens that live less than its leeway.
            reply = await client.get(profile_url, auth=client.token_auth)
            return reply.raise_for_status().json()

    try:
        profile = _within_time(fetch)
    except OAuthError as error:
        reason = whole(str(error.error))[:100]
        raise refusal(f"The provider refused ({reason}). Try again.") from error
    except Exception as error:  # a remote server may respond with anything
        name = type(error).__name__
        raise refusal(f"The provider did not answer as expected ({name}).") from error
    if not isinstance(profile, dict):
        raise refusal("The provider did not identify the user.")
    return _person(provider, profile)


def _person(provider: Provider, profile: Mapping[str, Any]) -> Person:
    subject = profile.get(provider.subject)
    stated = str(subject) if type(subject) in (str, int) else ""
    if not 1 <= len(stated) <= 200 or not stated.isprintable():  # half a surrogate pair
        raise refusal(f"The provider sent no {provider.subject!r}, which identifies a user.")
    if profile.get("blocked") is True:  # a field of MediaWiki profiles
        raise refusal("This account is blocked at the provider.")
    fields = [provider.username] if provider.username else USERNAMES
    names = [profile[field] for field in fields if isinstance(profile.get(field), str)]
    return Person(stated, whole(names[0]) if names else "")


class _Transport(httpx2.AsyncHTTPTransport):
    """Reads replies up to a limit, and none that are compressed."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = await super().handle_async_request(request)
        content = bytearray()
        async with aclosing(reply):
            async for part in reply.aiter_raw():
                content += part
                if len(content) > MAX_BYTES or "content-encoding" in reply.headers:
                    raise httpx2.DecodingError("too large or compressed", request=request)
        return httpx2.Response(reply.status_code, headers=reply.headers, content=bytes(content))


def _options() -> dict[str, Any]:
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
    return {"transport": _Transport(), "trust_env": False, "headers": headers}


def _within_time(fetch: Callable[[], Awaitable[Any]]) -> Any:
    """Run `fetch`; raises TimeoutError if it takes longer than `SECONDS`."""

    async def run() -> Any:
        with anyio.fail_after(SECONDS):
            return await fetch()

    return anyio.run(run)


def _client(provider: Provider, callback: str) -> AsyncOAuth2Client:
    auth = provider.endpoints.client_auth if provider.client_secret else "none"
    return AsyncOAuth2Client(
        client_id=provider.client_id,
        client_secret=provider.client_secret or None,
        token_endpoint_auth_method=auth,
        scope=provider.scope if provider.kind == "oidc" else None,
        redirect_uri=callback,
        code_challenge_method="S256",
        follow_redirects=False,
        **_options(),
    )


def _provider(name: str, values: object, path: Path) -> Provider:
    place = f"{path}, [{name}]"
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: {name} is {values!r}; expected a table, [{name}].")
    if not (name.isascii() and name.replace("-", "").isalnum() and len(name) <= 30):
        raise ConfigError(f"{place}: expected a name of letters, digits and -.")
    provider = Provider(**schema.convert(Provider, values, place))
    if not provider.client_id:
        raise ConfigError(f"{place}: client_id is missing.")
    for url in [provider.issuer] if provider.issuer else provider.endpoints[:3]:
        if not _is_safe(url):
            raise ConfigError(f"{place}: {url!r} is not an https:// address.")
    roles = [role.value for role in Role if role is not Role.ADMIN]
    if provider.role not in ("", *roles):
        expected = ", ".join(roles)
        raise ConfigError(f"{place}: role is {provider.role!r}; expected one of {expected}.")
    return provider


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    is_loopback = parts.scheme == "http" and parts.hostname in LOCAL_NAMES
    return bool(parts.hostname) and (parts.scheme == "https" or is_loopback)


class Attempt(NamedTuple):
    """A login in progress, stored in a cookie of the browser that began it."""

    provider: str
    state: str
    verifier: str  # PKCE
    account_id: str  # the account to link the login to; empty to log in
    next: str  # path on this site to return to

    def cookie(self) -> str:
        return base64.urlsafe_b64encode(json.dumps(self).encode()).decode()


def read_attempt(cookie: str, provider: str, state: str) -> Attempt | None:
    """The login that a browser began at this provider with this state; None if it began none."""
    try:
        attempt = Attempt(*json.loads(base64.urlsafe_b64decode(cookie)))
    except (ValueError, TypeError, RecursionError):
        return None
    is_same = all(isinstance(value, str) for value in attempt)
    return attempt if is_same and attempt[:2] == (provider, state) else None
