"""Sessions of browsers, API keys, logins begun at a provider, and share links.

Their tokens are known by their hashes only.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.server.database import Database
from pincite.server.identity import Identity, Role, allowed
from pincite.server.tables import (
    accounts,
    api_keys,
    jobs,
    login_attempts,
    new_id,
    now,
    sessions,
    share_links,
)

KEY_MARK = "pincite_"  # what keys begin with, so that programs that look for lost secrets find them
SEEN_SECONDS = 60.0  # a session's or key's last use is known this exactly: writing costs more
DAY, HOUR = 86_400.0, 3_600.0


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that is logged in."""

    session_id: str
    created: float
    seen: float
    agent: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A program's way in; the key itself is not kept."""

    key_id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created: float
    expires: float
    used: float | None


class Sessions:
    """Browsers that are logged in. Every method is one transaction."""

    def __init__(self, database: Database, *, idle_hours: float, days: float) -> None:
        """`idle_hours`: without a request; `days`: in all."""
        self._db, self._idle, self._whole = database, idle_hours * HOUR, days * DAY

    def begin(self, account_id: str, agent: str, earlier: str | None = None) -> str:
        """A new session's token, 43 characters; the browser's earlier one ends.

        Never the token that a browser came with: what somebody else put there opens nothing.
        """
        token, at = secrets.token_urlsafe(32), now()
        row = {
            "token_hash": hash_of(token),
            "session_id": new_id(),
            "account_id": account_id,
            "created": at,
            "proved": at,
            "seen": at,
            "agent": agent[:200],
        }
        with self._db.writing() as db:
            if earlier:
                db.execute(sessions.delete().where(sessions.c.token_hash == hash_of(earlier)))
            db.execute(sessions.insert().values(row))
        return token

    def identity(self, token: str) -> Identity | None:
        """Who this token stands for; None: nobody (any more)."""
        at = now()
        wanted = sa.select(
            sessions.c.session_id, sessions.c.proved, sessions.c.seen, *_WHO
        ).join_from(sessions, accounts)
        held = sessions.c.token_hash == hash_of(token)
        alive = self._alive(at) & accounts.c.disabled.is_(False)
        with self._db.reading() as db:
            row = db.execute(wanted.where(held, alive)).first()
            if row is None:
                return None
        if at - row.seen > SEEN_SECONDS:
            with self._db.writing() as db:
                db.execute(sessions.update().where(held).values(seen=at))
        return Identity(
            row.account_id,
            row.name,
            Role(row.role),
            allowed(Role(row.role)),
            csrf=csrf_of(token),
            session_id=row.session_id,
            proved=row.proved,
        )

    def of(self, account_id: str) -> list[Session]:
        """Where an account is logged in, the latest first."""
        shown = [sessions.c[name] for name in Session.__slots__]
        wanted = sa.select(*shown).order_by(sessions.c.seen.desc(), sessions.c.session_id)
        mine = sessions.c.account_id == account_id
        with self._db.reading() as db:
            return [Session(*row) for row in db.execute(wanted.where(mine, self._alive(now())))]

    def end(self, account_id: str, session_ids: Collection[str] | None = None) -> int:
        """Log out: these sessions of an account, None: all; returns how many there were."""
        which = sessions.c.account_id == account_id
        if session_ids is not None:
            which &= sessions.c.session_id.in_(session_ids)
        with self._db.writing() as db:
            return db.execute(sessions.delete().where(which)).rowcount

    def delete_ended(self) -> int:
        """Remove what is too old; returns how many."""
        with self._db.writing() as db:
            return db.execute(sessions.delete().where(~self._alive(now()))).rowcount

    def _alive(self, at: float) -> sa.ColumnElement[bool]:
        return (sessions.c.seen > at - self._idle) & (sessions.c.created > at - self._whole)


class ApiKeys:
    """Programs that may come in. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(
        self, account_id: str, name: str, scopes: Sequence[str], days: float
    ) -> tuple[ApiKey, str]:
        """A new key, and its text, which nobody can see again."""
        text = KEY_MARK + secrets.token_urlsafe(32)
        at = now()
        key = ApiKey(
            new_id(), name, text[: len(KEY_MARK) + 6], tuple(scopes), at, at + days * DAY, None
        )
        row = {
            "key_id": key.key_id,
            "account_id": account_id,
            "name": name,
            "prefix": key.prefix,
            "key_hash": hash_of(text),
            "scopes": [str(scope) for scope in scopes],
            "created": key.created,
            "expires": key.expires,
        }
        with self._db.writing() as db:
            db.execute(api_keys.insert().values(row))
        return key, text

    def identity(self, text: str) -> Identity | None:
        """Who this key stands for: what its account may, as far as its scopes go; None: nobody."""
        at = now()
        wanted = sa.select(api_keys.c.key_id, api_keys.c.scopes, api_keys.c.used, *_WHO)
        held = api_keys.c.key_hash == hash_of(text)
        alive = (api_keys.c.expires > at) & accounts.c.disabled.is_(False)
        with self._db.reading() as db:
            row = db.execute(wanted.join_from(api_keys, accounts).where(held, alive)).first()
            if row is None:
                return None
        if row.used is None or at - row.used > SEEN_SECONDS:
            with self._db.writing() as db:
                db.execute(api_keys.update().where(held).values(used=at))
        role = Role(row.role)
        may = allowed(role) & set(row.scopes)
        return Identity(row.account_id, row.name, role, may, key_id=row.key_id)

    def of(self, account_id: str) -> list[ApiKey]:
        """An account's keys, the newest first; also those that have expired."""
        wanted = sa.select(*(api_keys.c[name] for name in ApiKey.__slots__))
        mine = wanted.where(api_keys.c.account_id == account_id)
        with self._db.reading() as db:
            found = db.execute(mine.order_by(api_keys.c.created.desc(), api_keys.c.key_id))
            return [_key(dict(row._mapping)) for row in found]

    def revoke(self, account_id: str, key_id: str) -> bool:
        """Delete an account's key; False if it has none of this id."""
        this = (api_keys.c.account_id == account_id) & (api_keys.c.key_id == key_id)
        with self._db.writing() as db:
            return db.execute(api_keys.delete().where(this)).rowcount == 1

    def delete_expired(self, before: float) -> int:
        """Remove keys that expired before a time; returns how many."""
        with self._db.writing() as db:
            return db.execute(api_keys.delete().where(api_keys.c.expires < before)).rowcount


def hash_of(secret: str) -> str:
    """What is kept of a secret with enough random bits that nobody can try them all."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def csrf_of(token: str) -> str:
    """What forms of a session carry: only who has the session's cookie can compute it."""
    digest = hmac.digest(token.encode("utf-8", "surrogatepass"), b"csrf", "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


_WHO = (accounts.c.account_id, accounts.c.name, accounts.c.role)


def _key(values: dict[str, Any]) -> ApiKey:
    return ApiKey(**values | {"scopes": tuple(values["scopes"])})


ATTEMPT_SECONDS = 600.0  # for a person to log in at the provider


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was begun."""

    verifier: str  # PKCE
    account_id: str | None  # to link the login with; None: to log in
    next: str  # a path of ours


class LoginAttempts:
    """Begun logins. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def begin(self, provider: str, state: str, attempt: Attempt) -> str:
        """Keep what was begun; gives the browser's secret, for a cookie."""
        browser = secrets.token_urlsafe(32)
        row = {
            "state_hash": hash_of(state),
            "provider": provider,
            "browser_hash": hash_of(browser),
            "verifier": attempt.verifier,
            "account_id": attempt.account_id,
            "next": attempt.next,
            "expires": now() + ATTEMPT_SECONDS,
        }
        with self._db.writing() as db:
            db.execute(login_attempts.insert().values(row))
        return browser

    def end(self, provider: str, state: str, browser: str) -> Attempt | None:
        """What was begun so; None: nothing, or long ago, or it came back already."""
        begun = login_attempts.c.state_hash == hash_of(state)
        whole = (
            begun
            & (login_attempts.c.provider == provider)
            & (login_attempts.c.browser_hash == hash_of(browser))
            & (login_attempts.c.expires > now())
        )
        wanted = sa.select(*(login_attempts.c[name] for name in Attempt.__slots__))
        with self._db.writing() as db:
            row = db.execute(wanted.where(whole)).first()
            db.execute(login_attempts.delete().where(begun))  # a state is good for one try
            return Attempt(*row) if row else None

    def delete_expired(self) -> int:
        """Remove what was begun long ago; returns how many."""
        old = login_attempts.c.expires < now()
        with self._db.writing() as db:
            return db.execute(login_attempts.delete().where(old)).rowcount


@dataclass(frozen=True, slots=True)
class ShareLink:
    """A link to a job's result; its token is not kept."""

    link_id: str
    job_id: str
    created: float
    expires: float


_LINK = [share_links.c[name] for name in ShareLink.__slots__]


class ShareLinks:
    """The links of a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, job_id: str, days: float) -> tuple[ShareLink, str]:
        """A new link and its token, 43 characters of 256 random bits, which is not shown again."""
        token, at = secrets.token_urlsafe(32), now()
        link = ShareLink(new_id(), job_id, at, at + days * DAY)
        row = {"link_id": link.link_id, "job_id": job_id, "created": at, "expires": link.expires}
        with self._db.writing() as db:
            db.execute(share_links.insert().values(**row, token_hash=hash_of(token)))
        return link, token

    def job_of(self, token: str) -> str | None:
        """The id of the job that a token opens; None: it opens none (any more).

        Links to jobs of a disabled account open nothing.
        """
        owners = sa.outerjoin(jobs, accounts, jobs.c.owner == accounts.c.account_id)
        wanted = (
            sa.select(share_links.c.job_id)
            .join_from(share_links, owners, share_links.c.job_id == jobs.c.job_id)
            .where(share_links.c.token_hash == hash_of(token), share_links.c.expires > now())
            .where(accounts.c.disabled.is_not(True))  # in local mode there is no account
        )
        with self._db.reading() as db:
            return db.execute(wanted).scalar()

    def of(self, job_id: str) -> list[ShareLink]:
        """The links to a job that open it, the newest first."""
        wanted = sa.select(*_LINK).where(
            share_links.c.job_id == job_id, share_links.c.expires > now()
        )
        ordered = wanted.order_by(share_links.c.created.desc(), share_links.c.link_id)
        with self._db.reading() as db:
            return [ShareLink(*row) for row in db.execute(ordered)]

    def revoke(self, job_id: str, link_id: str) -> bool:
        """Delete a job's link; False if it has none of this id."""
        this = (share_links.c.job_id == job_id) & (share_links.c.link_id == link_id)
        with self._db.writing() as db:
            return db.execute(share_links.delete().where(this)).rowcount == 1

    def delete_expired(self) -> int:
        """Remove what opens nothing any more; returns how many."""
        with self._db.writing() as db:
            return db.execute(share_links.delete().where(share_links.c.expires < now())).rowcount
