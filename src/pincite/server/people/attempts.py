"""Logins at a provider that were begun here: each comes back once, in the browser that began it."""

import secrets
from dataclasses import dataclass

import sqlalchemy as sa

from pincite.server.database import Database
from pincite.server.people.sessions import hash_of
from pincite.server.tables import login_attempts, now

SECONDS = 600.0  # for a person to log in at the provider


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
            "expires": now() + SECONDS,
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
