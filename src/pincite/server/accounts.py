"""Accounts of server mode, groups of them, their passwords, and the audit log.

A password is asked for in one place, `Accounts.proved`, which answers alike and as slowly for a
wrong password, a disabled account and a name that nobody has. Each hashing takes 64 MiB and some
50 ms of a core (RFC 9106's second choice, the library's default), so only a few run at once. The
audit log holds ids only: no title, no claim and no text of a user.
"""

import secrets
import threading
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import AfterValidator, Field

from pincite.errors import ConfigError, PinciteError
from pincite.server.database import Database
from pincite.server.identity import Role
from pincite.server.tables import (
    accounts,
    api_keys,
    audit,
    logins,
    new_id,
    now,
    sessions,
)

MAX_NAME = 60
MAX_KEY = 240  # a few signs stand for a dozen letters


def key_of(name: str) -> str:
    """By which names are told apart: `Ada` and `ADA` are one, so are wide and narrow letters.

    >>> key_of("Ａda")
    'ada'
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def checked(name: str) -> str:
    """The name, composed (NFC).

    Raises:
        ConfigError: nobody could read or type it: signs without a shape, blanks at its ends.
    """
    composed = unicodedata.normalize("NFC", name)
    if (
        not composed.isprintable()  # also what turns text around, and half a surrogate pair
        or " ".join(composed.split()) != composed
        or not 1 <= len(composed) <= MAX_NAME
        or not 1 <= len(key_of(composed).strip()) <= MAX_KEY
    ):
        raise ConfigError(
            f"{name!a} is no name. Expected 1 to {MAX_NAME} visible characters, words parted by "
            "single blanks."
        )
    return composed


def _of_request(name: str) -> str:
    try:
        return checked(name)
    except ConfigError as error:
        raise ValueError(str(error)) from error


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_of_request)]


MIN_LENGTH, MAX_LENGTH = 10, 1000  # characters; the limit above keeps hashing cheap
AT_ONCE = 2
_HASHER = PasswordHasher()
_SLOTS = threading.BoundedSemaphore(AT_ONCE)


def hashed(password: str, name: str = "") -> str:
    """What is kept of a password.

    Raises:
        ConfigError: it is too short or too long, or the account's `name`.
    """
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise ConfigError(f"A password has {MIN_LENGTH} to {MAX_LENGTH} characters.")
    if password.casefold() == name.casefold():
        raise ConfigError("The password is the account's name. Expected another one.")
    with _SLOTS:
        return _HASHER.hash(_bytes(password))


def matches(kept: str | None, password: str) -> bool:
    """Whether this is the password; takes as long if there is none."""
    to_match = kept or _nobodys()
    with _SLOTS:
        try:
            _HASHER.verify(to_match, _bytes(password[: MAX_LENGTH + 1]))
        except (VerificationError, InvalidHashError):
            return False
    return kept is not None


def outdated(kept: str) -> bool:
    """Whether it was hashed with less care than passwords are now."""
    return _HASHER.check_needs_rehash(kept)


@cache
def _nobodys() -> str:
    """Of no password that anybody has: comparing with it takes as long as with another."""
    return _HASHER.hash(secrets.token_bytes(32))


def _bytes(password: str) -> bytes:
    """The same for all keyboards (RFC 8265: composed)."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


class AccountExists(PinciteError):
    """Somebody has this name, or one that looks the same."""

    exit_code = 2


class LastAdmin(PinciteError):
    """Without this account nobody could look after the server."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may come in."""

    account_id: str
    name: str
    role: Role
    disabled: bool
    has_password: bool
    created: float
    last_login: float | None


_SHOWN = [
    accounts.c.account_id,
    accounts.c.name,
    accounts.c.role,
    accounts.c.disabled,
    accounts.c.password.is_not(None).label("has_password"),
    accounts.c.created,
    accounts.c.last_login,
]


class Accounts:
    """The accounts of a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, name: str, role: Role, password: str | None = None) -> Account:
        """A new account; without a password somebody must be sent by a provider.

        Raises:
            ConfigError: the name or the password will not do.
            AccountExists
        """
        name = checked(name)
        account_id = new_id()
        values = {
            "account_id": account_id,
            "name": name,
            "name_key": key_of(name),
            "role": role.value,
            "password": hashed(password, name) if password is not None else None,
            "disabled": False,
            "created": now(),
        }
        try:
            with self._db.writing() as db:
                db.execute(accounts.insert().values(values))
                return _found(db, account_id)
        except sa.exc.IntegrityError as error:
            raise AccountExists(f"There is an account called {name!r} already.") from error

    def get(self, account_id: str) -> Account | None:
        """An account, or None."""
        with self._db.reading() as db:
            return _first(db, accounts.c.account_id == account_id)

    def named(self, name: str) -> Account | None:
        """The account of this name, or None."""
        with self._db.reading() as db:
            return _first(db, accounts.c.name_key == key_of(name))

    def listed(self, limit: int, after: tuple[str] | None = None) -> list[Account]:
        """At most `limit` accounts, by name.

        Args:
            limit: how many.
            after: `key_of` the last name that was seen.
        """
        wanted = sa.select(*_SHOWN).order_by(accounts.c.name_key).limit(limit)
        if after:
            wanted = wanted.where(accounts.c.name_key > after[0])
        with self._db.reading() as db:
            return [_account(row) for row in db.execute(wanted)]

    def proved(self, name: str, password: str) -> Account | None:
        """The account that this name and password open; None: they open none."""
        named = accounts.c.name_key == key_of(name)
        with self._db.reading() as db:
            row = db.execute(sa.select(accounts.c.account_id, accounts.c.password).where(named))
            account_id, kept = row.first() or ("", None)
        if not matches(kept, password):
            return None
        assert kept
        again = hashed(password) if outdated(kept) else kept
        with self._db.writing() as db:
            this = (accounts.c.account_id == account_id) & (accounts.c.password == kept)
            enabled = this & accounts.c.disabled.is_(False)
            changed = {"password": again, "last_login": now()}
            if db.execute(accounts.update().where(enabled).values(changed)).rowcount != 1:
                return None
            return _found(db, account_id)

    def change(
        self,
        account_id: str,
        *,
        role: Role | None = None,
        disabled: bool | None = None,
        password: str | None = None,
    ) -> Account | None:
        """Set what is given; whoever is logged in with the account is logged out.

        A disabled account's keys and one whose password is set anew are revoked too: who resets a
        password suspects that somebody else knows it.

        Raises:
            ConfigError: the password will not do.
            LastAdmin
        """
        account = self.get(account_id)
        if account is None:
            return None
        values: dict[str, object] = {}
        if role is not None:
            values["role"] = role.value
        if disabled is not None:
            values["disabled"] = disabled
        if password is not None:
            values["password"] = hashed(password, account.name)
        with self._db.writing() as db:
            if disabled or (role is not None and role is not Role.ADMIN):
                spare_last_admin(db, account_id)
            if values:
                this = accounts.c.account_id == account_id
                db.execute(accounts.update().where(this).values(values))
                db.execute(sessions.delete().where(sessions.c.account_id == account_id))
            if disabled or password is not None:
                db.execute(api_keys.delete().where(api_keys.c.account_id == account_id))
            return _first(db, accounts.c.account_id == account_id)


class Logins:
    """Which accounts the people of a provider have. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def account_of(self, provider: str, subject: str) -> Account | None:
        """The enabled account that somebody has here; None: none, or a disabled one."""
        with self._db.writing() as db:
            this = (logins.c.provider == provider) & (logins.c.subject == subject)
            account_id = db.execute(sa.select(logins.c.account_id).where(this)).scalar()
            enabled = (accounts.c.account_id == account_id) & accounts.c.disabled.is_(False)
            db.execute(accounts.update().where(enabled).values(last_login=now()))
            return _first(db, enabled)

    def known(self, provider: str, subject: str) -> bool:
        """Whether somebody has an account here, disabled or not."""
        this = (logins.c.provider == provider) & (logins.c.subject == subject)
        with self._db.reading() as db:
            return db.execute(sa.select(logins.c.account_id).where(this)).first() is not None

    def arrive(self, provider: str, subject: str, name: str, role: Role) -> Account:
        """A new account for somebody whom a provider sent, by their name there if it is free.

        An account that has this name already is somebody else's: names prove nothing.

        Raises:
            AccountExists: they came twice at once.
        """
        account_id = new_id()
        try:
            with self._db.writing() as db:
                chosen = _free_name(db, name, provider, account_id)
                values = {
                    "account_id": account_id,
                    "name": chosen,
                    "name_key": key_of(chosen),
                    "role": role.value,
                    "disabled": False,
                    "created": now(),
                    "last_login": now(),
                }
                db.execute(accounts.insert().values(values))
                row = {"provider": provider, "subject": subject, "account_id": account_id}
                db.execute(logins.insert().values(**row, name=name[:200], created=now()))
                return _found(db, account_id)
        except sa.exc.IntegrityError as error:
            raise AccountExists("This login has an account by now. Log in again.") from error

    def link(self, provider: str, subject: str, account_id: str, name: str) -> None:
        """From now on the provider's person comes in with this account.

        Raises:
            AccountExists: they come in with another one.
        """
        row = {"provider": provider, "subject": subject, "account_id": account_id}
        try:
            with self._db.writing() as db:
                db.execute(logins.insert().values(**row, name=name[:200], created=now()))
        except sa.exc.IntegrityError as error:
            raise AccountExists("This login belongs to an account already.") from error

    def of(self, account_id: str) -> list[tuple[str, str]]:
        """Provider and name there, of all that an account is linked with."""
        wanted = sa.select(logins.c.provider, logins.c.name).order_by(logins.c.provider)
        with self._db.reading() as db:
            found = db.execute(wanted.where(logins.c.account_id == account_id))
            return [(provider, name) for provider, name in found]

    def unlink(self, account_id: str, provider: str) -> bool:
        """Cut a link; False if there was none.

        Raises:
            ConfigError: nothing would open the account any more.
        """
        mine = logins.c.account_id == account_id
        with self._db.writing() as db:
            others = sa.select(sa.func.count()).where(mine, logins.c.provider != provider)
            this = accounts.c.account_id == account_id
            password = db.execute(sa.select(accounts.c.password).where(this)).scalar()
            if password is None and not db.execute(others).scalar():
                raise ConfigError("Nothing else opens the account. Set a password first.")
            gone = db.execute(logins.delete().where(mine & (logins.c.provider == provider)))
            return gone.rowcount > 0


def _free_name(db: sa.Connection, name: str, provider: str, account_id: str) -> str:
    try:
        wanted = checked(" ".join(name.split())[: MAX_NAME - 40])
    except ConfigError:
        wanted = "somebody"
    for chosen in (wanted, f"{wanted} ({provider})"):
        if _first(db, accounts.c.name_key == key_of(chosen)) is None:
            return chosen
    return f"{wanted} {account_id[:8]}"


def spare_last_admin(db: sa.Connection, account_id: str) -> None:
    """Refuse if no other admin is left. Locks them: two must not each remove the other.

    Raises:
        LastAdmin
    """
    admins = sa.select(accounts.c.account_id).where(
        accounts.c.role == Role.ADMIN.value, accounts.c.disabled.is_(False)
    )
    found = list(db.execute(admins.with_for_update()).scalars())
    if found == [account_id]:
        raise LastAdmin("This is the only admin. Make another one first.")


def _first(db: sa.Connection, which: sa.ColumnElement[bool]) -> Account | None:
    row = db.execute(sa.select(*_SHOWN).where(which)).first()
    return _account(row) if row else None


def _found(db: sa.Connection, account_id: str) -> Account:
    found = _first(db, accounts.c.account_id == account_id)
    assert found
    return found


def _account(row: sa.Row[tuple[object, ...]]) -> Account:
    values = dict(row._mapping)
    values |= {"role": Role(values["role"]), "has_password": bool(values["has_password"])}
    return Account(**values)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that somebody did."""

    audit_id: str
    at: float
    account_id: str  # "": the account was deleted since, or nobody was logged in
    action: str  # the API's name of the operation: "create_key"
    target: str
    detail: Mapping[str, Any]
    request_id: str  # as in the server's log


class AuditLog:
    """What was done on a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def record(
        self,
        account_id: str,
        action: str,
        target: str = "",
        detail: Mapping[str, Any] | None = None,
        request_id: str = "",
    ) -> None:
        """Write down what was done."""
        row = {
            "audit_id": new_id(),
            "at": now(),
            "account_id": account_id,
            "action": action[:60],
            "target": target[:200],
            "detail": dict(detail or {}),
            "request_id": request_id,
        }
        with self._db.writing() as db:
            db.execute(audit.insert().values(row))

    def listed(
        self,
        limit: int,
        before: tuple[float, str] | None = None,
        *,
        account_id: str | None = None,
        action: str | None = None,
    ) -> list[AuditEntry]:
        """At most `limit` entries, the newest first.

        Args:
            limit: how many.
            before: time and id of the last one that was seen.
            account_id: only what this account did.
            action: only these.
        """
        wanted = sa.select(*(audit.c[name] for name in AuditEntry.__slots__))
        if account_id is not None:
            wanted = wanted.where(audit.c.account_id == account_id)
        if action is not None:
            wanted = wanted.where(audit.c.action == action)
        if before:
            at, audit_id = before
            earlier = (audit.c.at == at) & (audit.c.audit_id < audit_id)
            wanted = wanted.where((audit.c.at < at) | earlier)
        ordered = wanted.order_by(audit.c.at.desc(), audit.c.audit_id.desc()).limit(limit)
        with self._db.reading() as db:
            return [AuditEntry(*row) for row in db.execute(ordered)]

    def delete_older(self, before: float) -> int:
        """Remove entries from before a time; returns how many."""
        with self._db.writing() as db:
            return db.execute(audit.delete().where(audit.c.at < before)).rowcount
