"""Who is logged in: sessions of browsers and API keys of programs, known by their hashes only."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.server.database import Database
from pincite.server.people.identity import ALLOWED, Identity, May, Role
from pincite.server.tables import accounts, api_keys, group_members, new_id, now, sessions

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
    scopes: tuple[May, ...]
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
            groups = _groups(db, row.account_id)
        if at - row.seen > SEEN_SECONDS:
            with self._db.writing() as db:
                db.execute(sessions.update().where(held).values(seen=at))
        return Identity(
            row.account_id,
            row.name,
            Role(row.role),
            ALLOWED[Role(row.role)],
            groups,
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
        self, account_id: str, name: str, scopes: Sequence[May], days: float
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
            "scopes": [scope.value for scope in scopes],
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
            groups = _groups(db, row.account_id)
        if row.used is None or at - row.used > SEEN_SECONDS:
            with self._db.writing() as db:
                db.execute(api_keys.update().where(held).values(used=at))
        role = Role(row.role)
        may = ALLOWED[role] & set(row.scopes)
        return Identity(row.account_id, row.name, role, may, groups, key_id=row.key_id)

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


def _groups(db: sa.Connection, account_id: str) -> frozenset[str]:
    mine = group_members.c.account_id == account_id
    return frozenset(db.execute(sa.select(group_members.c.group_id).where(mine)).scalars())


def _key(values: dict[str, Any]) -> ApiKey:
    return ApiKey(**values | {"scopes": tuple(May(scope) for scope in values["scopes"])})
