"""Logging in by somebody else's accounts: OAuth 2 with PKCE, at a wiki or at any OpenID provider.

Providers stand in a TOML file of their own, since it holds secrets:

    [wikimedia]
    kind = "mediawiki"
    client_id = "…"
    client_secret = "…"
    role = "reader"       # of those who come for the first time; without it nobody new comes in

Authlib speaks through httpx2. Nothing is taken from a provider but who somebody is there; its token
is thrown away.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import OAuth2Client

from pincite.errors import ConfigError, PinciteError
from pincite.server.identity import Role
from pincite.settings import schema

SECONDS = 10.0  # for each of the two requests to a provider
AGENT = "pincite (https://pypi.org/project/pincite/)"
Kind = Literal["mediawiki", "oidc", "oauth2"]
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class LoginFailed(PinciteError):
    """The provider did not say who somebody is, or says that they may not."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Where people can have an account; addresses of a `mediawiki` follow from `wiki`."""

    kind: Kind = "oidc"
    title: str = ""  # on the button; empty: the provider's name
    client_id: str = ""
    client_secret: str = ""
    wiki: str = "https://meta.wikimedia.org/w"  # of a mediawiki: where its rest.php is
    authorize_url: str = ""
    token_url: str = ""
    profile_url: str = ""
    scope: str = ""
    subject: str = "sub"  # field of the profile that never changes
    username: str = ""  # field of the profile that people call themselves by
    role: str = ""  # of new accounts; empty: only accounts that were linked come in

    @property
    def endpoints(self) -> tuple[str, str, str]:
        """Where to send people, to ask for a token, and to ask who they are."""
        if self.kind != "mediawiki":
            return self.authorize_url, self.token_url, self.profile_url
        base = f"{self.wiki.rstrip('/')}/rest.php/oauth2"
        return f"{base}/authorize", f"{base}/access_token", f"{base}/resource/profile"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at a provider."""

    subject: str
    name: str


def providers(path: Path | None) -> dict[str, Provider]:
    """The providers of a file, by name; None: none.

    Raises:
        ConfigError: it cannot be read, or a provider is not complete.
    """
    if path is None:
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"server.oauth: {path} cannot be read as TOML: {error}") from error
    return {name: _provider(name, values, path) for name, values in tables.items()}


def begun(provider: Provider, callback: str) -> tuple[str, str, str]:
    """Where to send a browser, and what must be known when it comes back: state and verifier."""
    verifier = generate_token(64)
    with _client(provider, callback) as client:
        url, state = client.create_authorization_url(
            provider.endpoints[0], state=generate_token(43), code_verifier=verifier
        )
    return url, state, verifier


def person(provider: Provider, callback: str, code: str, verifier: str) -> Person:
    """Who came back with this code.

    Raises:
        LoginFailed
    """
    _, token_url, profile_url = provider.endpoints
    try:
        with _client(provider, callback) as client:
            client.fetch_token(
                token_url, grant_type="authorization_code", code=code, code_verifier=verifier
            )
            reply = client.get(profile_url)
            reply.raise_for_status()
            profile = reply.json()
    except OAuthError as error:
        raise LoginFailed(f"The provider refused ({error.error}). Try again.") from error
    except Exception as error:  # whatever a foreign server may answer
        name = type(error).__name__
        raise LoginFailed(f"The provider did not answer as expected ({name}).") from error
    if not isinstance(profile, dict):
        raise LoginFailed("The provider did not say who somebody is.")
    return _person(provider, profile)


def _person(provider: Provider, profile: Mapping[str, Any]) -> Person:
    subject = profile.get(provider.subject)
    if (
        not isinstance(subject, str | int)
        or isinstance(subject, bool)
        or not 1 <= len(str(subject)) <= 200
    ):
        raise LoginFailed(f"The provider gave no {provider.subject!r}, which tells people apart.")
    if profile.get("blocked") is True:  # MediaWiki says so
        raise LoginFailed("This account is blocked at the provider.")
    fields = [provider.username] if provider.username else ["username", "preferred_username"]
    names = [profile[field] for field in fields if isinstance(profile.get(field), str)]
    return Person(str(subject), names[0] if names else "")


def _client(provider: Provider, callback: str) -> OAuth2Client:
    return OAuth2Client(
        client_id=provider.client_id,
        client_secret=provider.client_secret or None,
        token_endpoint_auth_method="client_secret_post" if provider.client_secret else "none",
        scope=provider.scope or ("openid profile" if provider.kind == "oidc" else None),
        redirect_uri=callback,
        code_challenge_method="S256",
        timeout=SECONDS,
        trust_env=False,
        follow_redirects=False,
        headers={"User-Agent": AGENT},
    )


def _provider(name: str, values: object, path: Path) -> Provider:
    place = f"{path}, [{name}]"
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: {name} is {values!r}; expected a table, [{name}].")
    if not (name.isascii() and name.replace("-", "").isalnum() and len(name) <= 30):
        raise ConfigError(f"{place}: expected a name of letters, digits and -.")
    provider = Provider(**schema.checked(Provider, values, place))
    if not provider.client_id:
        raise ConfigError(f"{place}: client_id is missing.")
    for url in provider.endpoints:
        parts = urlsplit(url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        if not (safe and parts.hostname):
            raise ConfigError(f"{place}: {url!r} is no address that begins with https://.")
    if provider.role and provider.role not in [role.value for role in Role]:
        expected = ", ".join(role.value for role in Role if role is not Role.ADMIN)
        raise ConfigError(f"{place}: role is {provider.role!r}; expected one of {expected}.")
    if provider.role == Role.ADMIN.value:
        raise ConfigError(f"{place}: nobody becomes an admin by coming. Expected another role.")
    return provider
