"""Authentication and authorization: roles, browser sessions, and API keys.

Local mode has a single user with all permissions, because the server is reachable from this machine
only. In server mode a user is an account, identified by a session cookie or an API key; only their
hashes are stored. Other users' objects are reported as missing.

Every route must declare who can use it, with one of the dependencies at the end of this module. A
test checks all routes.
"""

import base64
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Annotated, Final

import sqlalchemy as sa
from fastapi import Depends, Request

from pincite_server import plugins
from pincite_server.corpora import CorpusEntry, Shared
from pincite_server.database import Database
from pincite_server.problems import Problem
from pincite_server.tables import accounts, api_keys, hash_secret, new_id, now, sessions

LOCAL = "local"  # owner of everything in local mode
KEY_MARK = "pincite_"  # prefix of keys, so that scanners for leaked secrets find them
SEEN_SECONDS = 60.0  # precision of the time of last use, because each update is a write
DAY, HOUR = 86_400.0, 3_600.0


class Permission(StrEnum):
    """Permissions; also the scopes of API keys."""

    READ = "read"  # own results, readable corpora, searching them
    RUN = "run"  # start and cancel jobs, give feedback
    CORPORA = "corpora"  # create, fill and delete corpora
    ADMIN = "admin"  # accounts, all users' jobs, metrics


class Role(StrEnum):
    """The role of an account; each includes the permissions of the roles before it."""

    RATER = "rater"
    READER = "reader"
    EDITOR = "editor"
    ADMIN = "admin"


DEFAULT_ROLE = Role.EDITOR  # of new accounts
REGISTERED_ROLE: Final = Role.READER  # of those that their users create
ALLOWED: dict[Role, frozenset[Permission]] = {
    Role.RATER: frozenset(),  # only what plugins add
    Role.READER: frozenset({Permission.READ}),
    Role.EDITOR: frozenset({Permission.READ, Permission.RUN, Permission.CORPORA}),
    Role.ADMIN: frozenset(Permission),
}


def permissions_of(role: Role) -> frozenset[str]:
    """The permissions of a role, including those added by plugins; an admin has all."""
    added = {
        permission
        for plugin in plugins.load_all()
        for permission, roles in plugin.permissions.items()
        if role is Role.ADMIN or role in roles
    }
    return ALLOWED[role] | added


# All that a shared account allows, whatever its role.
SHARED = frozenset({Permission.READ, Permission.RUN})


class Consent(StrEnum):
    """What a visitor chose on the consent page."""

    MISSING = "missing"  # nothing yet
    LOGGED = "logged"  # accepted; also where there is no such page
    UNLOGGED = "unlogged"  # accepted, but checks stay out of the result log


@dataclass(frozen=True, slots=True)
class Identity:
    """The sender of a request; `account_id` owns what they create."""

    account_id: str
    name: str
    role: Role
    may: frozenset[str]  # of the role, limited to the scopes of the key if there is one
    csrf: str = ""  # token for forms; empty without a session
    key_id: str = ""  # of the API key in the request
    logged_in: float = 0.0  # when this session began
    wiki: str = ""  # origin of the wiki whose script sent the request; others get no findings of it
    consent: Consent = Consent.LOGGED
    shared: bool = False  # several people use the account

    @property
    def is_admin(self) -> bool:
        return Permission.ADMIN in self.may

    @property
    def listed_owner(self) -> str:
        """Whose jobs are listed: no one's if others use the account, who get theirs by address."""
        return "" if self.shared else self.account_id

    def owns(self, owner: str) -> bool:
        return self.is_admin or owner == self.account_id

    def may_read(self, corpus: CorpusEntry) -> bool:
        return self.owns(corpus.owner) or corpus.shared is Shared.EVERYBODY


LOCAL_USER = Identity(LOCAL, "you", Role.ADMIN, frozenset(Permission))
Identify = Callable[[Request], Identity | None]
OF_WIKI = "of_wiki"  # a key in the request's state: the origin of a wiki


# ── Sessions and API keys ────────────────────────────────────────────────────────────────────────


def csrf_of(token: str, purpose: str = "csrf") -> str:
    """The CSRF token of a session, or another value that is derived from its cookie."""
    digest = hmac.digest(token.encode("utf-8", "surrogatepass"), purpose.encode(), "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret."""

    key_id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created: float
    expires: float
    used: float | None


class Sessions:
    """Logged-in browsers. Every method is one transaction."""

    def __init__(self, database: Database, idle: float, lifetime: float, shared: str = "") -> None:
        """End a session after `idle` seconds without a request, and after `lifetime` in any case.

        `shared` is the `name_key` of the shared account.
        """
        self._db, self._idle, self._lifetime, self._shared = database, idle, lifetime, shared

    def begin(self, account_id: str, earlier: str = "") -> str:
        """Start a session and end the browser's earlier one; return a token of 43 characters.

        The token is always new, so a token planted by an attacker never becomes valid.
        """
        token, at = secrets.token_urlsafe(32), now()
        row = {"token_hash": hash_secret(token), "account_id": account_id}
        with self._db.writing() as db:
            db.execute(sessions.delete().where(sessions.c.token_hash == hash_secret(earlier)))
            db.execute(sessions.insert().values(**row, created=at, seen=at))
            this = accounts.c.account_id == account_id
            db.execute(accounts.update().where(this).values(last_login=at))
        return token

    def identity(self, token: str) -> Identity | None:
        """The user with this session token; None if it is invalid or has expired."""
        at, held = now(), sessions.c.token_hash == hash_secret(token)
        wanted = (
            sa.select(sessions, accounts.c.name, accounts.c.name_key, accounts.c.role)
            .join_from(sessions, accounts)
            .where(held, self.alive(at), accounts.c.disabled.is_(False))
        )
        row = self._db.first(wanted)
        if row is None:
            return None
        if at - row.seen > SEEN_SECONDS:
            self._db.write(sessions.update().where(held).values(seen=at))
        role, shared = Role(row.role), row.name_key == self._shared
        may = permissions_of(role) & SHARED if shared else permissions_of(role)
        begun = {"csrf": csrf_of(token), "logged_in": row.created, "shared": shared}
        return Identity(row.account_id, row.name, role, may, **begun)

    def end(self, token: str) -> None:
        self._db.write(sessions.delete().where(sessions.c.token_hash == hash_secret(token)))

    def alive(self, at: float) -> sa.ColumnElement[bool]:
        return (sessions.c.seen > at - self._idle) & (sessions.c.created > at - self._lifetime)


class ApiKeys:
    """API keys for programs. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(
        self, account_id: str, name: str, scopes: Sequence[str], days: float
    ) -> tuple[ApiKey, str]:
        """Create a key; return it and its secret, which is not stored."""
        text, at = KEY_MARK + secrets.token_urlsafe(32), now()
        prefix, granted = text[: len(KEY_MARK) + 6], tuple(map(str, scopes))
        key = ApiKey(new_id(), name, prefix, granted, at, at + days * DAY, None)
        row = asdict(key) | {"account_id": account_id, "key_hash": hash_secret(text)}
        self._db.write(api_keys.insert().values(row))
        return key, text

    def identity(self, text: str) -> Identity | None:
        """The key's account, limited to the key's scopes; None if the key is invalid."""
        at, held = now(), api_keys.c.key_hash == hash_secret(text)
        wanted = (
            sa.select(api_keys, accounts.c.name.label("account"), accounts.c.role)
            .join_from(api_keys, accounts)
            .where(held, api_keys.c.expires > at, accounts.c.disabled.is_(False))
        )
        row = self._db.first(wanted)
        if row is None:
            return None
        if at - (row.used or 0.0) > SEEN_SECONDS:
            self._db.write(api_keys.update().where(held).values(used=at))
        may = permissions_of(Role(row.role)) & set(row.scopes)
        return Identity(row.account_id, row.account, Role(row.role), may, key_id=row.key_id)

    def of(self, account_id: str) -> list[ApiKey]:
        """An account's keys, newest first, including expired ones."""
        wanted = sa.select(*(api_keys.c[name] for name in ApiKey.__slots__))
        query = wanted.where(api_keys.c.account_id == account_id)
        keys = self._db.rows(query.order_by(api_keys.c.created.desc(), api_keys.c.key_id))
        return [ApiKey(**{**row._mapping, "scopes": tuple(row.scopes)}) for row in keys]

    def revoke(self, account_id: str, key_id: str) -> bool:
        this = (api_keys.c.account_id == account_id) & (api_keys.c.key_id == key_id)
        return self._db.write(api_keys.delete().where(this)) == 1


# ── Dependencies of routes ───────────────────────────────────────────────────────────────────────


async def public() -> None:
    """Dependency: no login required. Asynchronous, so that `/healthz` needs no thread."""


def wiki_of(request: Request) -> str:
    """Origin of the wiki in `server.wikis` whose script sent the request; empty for others."""
    return str(request.scope.get("state", {}).get(OF_WIKI, ""))


def guest(request: Request) -> Identity | None:
    """Dependency: no login required; returns the sender if they are logged in."""
    if not hasattr(request.state, "identity"):  # it may have been set before the body was read
        identify: Identify = request.app.state.identify
        known = identify(request)
        request.state.identity = known and replace(known, wiki=wiki_of(request))
    identity: Identity | None = request.state.identity
    return identity


def any_user(request: Request) -> Identity:
    """Dependency: any user with a login or an API key. Raises Problem: 401."""
    identity = guest(request)
    if identity is None:
        detail = "Log in, or send an API key as `Authorization: Bearer …`."
        if "authorization" in request.headers:
            detail = "This key is invalid, expired or revoked."
        raise Problem(401, "not_logged_in", detail, headers={"WWW-Authenticate": "Bearer"})
    return identity


def session_user(request: Request) -> Identity:
    """Dependency: any logged-in user. Raises Problem: 401; 403, an API key was sent."""
    identity = any_user(request)  # a leaked key does less damage without these routes
    if identity.key_id:
        raise Problem(403, "not_by_key", "This needs a logged-in user; an API key is not enough.")
    return identity


def account_owner(request: Request) -> Identity:
    """Dependency: a logged-in user whose account is not shared. Raises Problem: 401, 403."""
    identity = session_user(request)
    if identity.shared:
        raise Problem(403, "shared_account", "Several people use this account: ask its operator.")
    return identity


def needs(may: str) -> Callable[[Request], Identity]:
    """Dependency: a user with this permission. Raises Problem: 401; 403, also without consent."""

    def permitted_user(request: Request) -> Identity:
        identity = any_user(request)
        if identity.consent is Consent.MISSING:
            raise Problem(403, "consent_required", "Accept the terms at /consent first.")
        if may not in identity.may:
            detail = f"This needs the permission {str(may)!r}, which your role or API key lacks."
            if may == Permission.ADMIN:
                detail = "Only administrators can open this page."
            raise Problem(403, "not_allowed", detail)
        return identity

    permitted_user.declares = str(may)  # type: ignore[attr-defined]
    return permitted_user


def declares(dependency: object) -> str | None:
    """The access that a dependency declares for its route; None if it declares none."""
    if dependency in (any_user, session_user, account_owner):
        return getattr(dependency, "__name__", None)
    return "public" if is_public(dependency) else getattr(dependency, "declares", None)


def is_public(dependency: object) -> bool:
    return dependency in (public, guest)


Reader = Annotated[Identity, Depends(needs(Permission.READ))]
Runner = Annotated[Identity, Depends(needs(Permission.RUN))]
CorpusEditor = Annotated[Identity, Depends(needs(Permission.CORPORA))]
Admin = Annotated[Identity, Depends(needs(Permission.ADMIN))]
AnyUser = Annotated[Identity, Depends(any_user)]
SessionUser = Annotated[Identity, Depends(session_user)]
AccountOwner = Annotated[Identity, Depends(account_owner)]
Guest = Annotated[Identity | None, Depends(guest)]
PUBLIC = Depends(public)
