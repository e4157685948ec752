"""Accounts, passwords, logins through providers, and the deletion of personal data.

Passwords are checked only in `Accounts.log_in`, which gives the same answer in the same time for a
wrong password, a disabled account and an unknown name. Hashing takes 64 MiB and about 50 ms of a
core (RFC 9106's second choice, the library's default), so few hashes run at once.
"""

import secrets
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pincite.errors import ConfigError
from pincite_server import plugins, tables
from pincite_server.corpora import Shared
from pincite_server.database import Database
from pincite_server.identity import DAY, Role
from pincite_server.private_copies import AccountCopies
from pincite_server.problems import Problem
from pincite_server.tables import (
    accounts,
    corpora,
    hash_secret,
    invitations,
    logins,
    new_id,
    now,
    password_links,
)

MAX_NAME = 60
MAX_KEY = 240  # NFKC expands a few characters into a dozen letters
MIN_LENGTH, MAX_LENGTH = 10, 1000  # characters of a password; the limit keeps hashing cheap
AT_ONCE = 2
LINK_PATH = "/password"  # of the page that a password link opens
REGISTER_PATH = "/register"  # of the form for a new account
INVITATION_DAYS, RESET_DAYS = 7, 1  # that a password link works, by whether there is a password
NAME_TAKEN = "There is already an account called %r."
ENABLED = accounts.c.disabled.is_(False)
_HASHER = PasswordHasher()
_SLOTS = threading.BoundedSemaphore(AT_ONCE)


# ── Names and passwords ──────────────────────────────────────────────────────────────────────────


def name_key(name: str) -> str:
    """The key under which names are unique: it ignores case and letter width.

    >>> name_key("Ａda")
    'ada'
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def valid_name(name: str) -> str:
    """The name in composed form (NFC). Raises ConfigError: too long, or invisible characters."""
    composed = unicodedata.normalize("NFC", name)
    if (
        not composed.isprintable()  # also excludes characters that change the text direction
        or " ".join(composed.split()) != composed
        or not 1 <= len(composed) <= MAX_NAME
        or not 1 <= len(name_key(composed).strip()) <= MAX_KEY
    ):
        raise ConfigError(
            f"{name!a} is not a valid name. Expected 1 to {MAX_NAME} visible characters, with "
            "single spaces between words."
        )
    return composed


def hash_password(password: str, name: str = "") -> str:
    """Hash a password. Raises ConfigError: too short, too long, or the account's `name`."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise ConfigError(f"A password has {MIN_LENGTH} to {MAX_LENGTH} characters.")
    if password.casefold() == name.casefold():
        raise ConfigError("The password must differ from the account's name.")
    with _SLOTS:
        return _HASHER.hash(_bytes(password))


def verify_password(stored: str | None, password: str) -> bool:
    """Check a password; takes the same time if the account has none."""
    with _SLOTS:
        try:
            _HASHER.verify(stored or _no_password(), _bytes(password[: MAX_LENGTH + 1]))
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None


@cache
def _no_password() -> str:
    return _HASHER.hash(secrets.token_bytes(32))


def _bytes(password: str) -> bytes:
    """Encode a password identically for all keyboards (RFC 8265: composed)."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


# ── Accounts ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the server."""

    account_id: str
    name: str
    role: Role
    disabled: bool
    has_password: bool
    created: float
    last_login: float | None


_SHOWN = [
    accounts.c.password.is_not(None).label(name) if name == "has_password" else accounts.c[name]
    for name in Account.__slots__
]


class Accounts:
    """The accounts of a server, and their logins through providers."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, name: str, role: Role, password: str | None = None) -> Account:
        """Create an account; without a password, it needs a login through a provider.

        Raises ConfigError: the name or the password is not valid. Problem: 409, the name is taken.
        """
        name = valid_name(name)
        stored = hash_password(password, name) if password is not None else None
        with _unique(NAME_TAKEN % name), self._db.writing() as db:
            return _add(db, new_id(), name, role, stored)

    def get(self, account_id: str) -> Account | None:
        return self._one(accounts.c.account_id == account_id)

    def by_name(self, name: str) -> Account | None:
        return self._one(accounts.c.name_key == name_key(name))

    def _one(self, *which: sa.ColumnElement[bool]) -> Account | None:
        with self._db.reading() as db:
            return _first(db, *which)

    def list_accounts(self, limit: int, after: tuple[str] | None = None) -> list[Account]:
        """List at most `limit` accounts by name, after the one with the `name_key` `after`."""
        wanted = sa.select(*_SHOWN).order_by(accounts.c.name_key).limit(limit)
        if after:
            wanted = wanted.where(accounts.c.name_key > after[0])
        return [_account(row) for row in self._db.rows(wanted)]

    def log_in(self, name: str, password: str) -> Account | None:
        """Log in: return the enabled account with this name and password, or None."""
        named = accounts.c.name_key == name_key(name)
        wanted = sa.select(accounts.c.account_id, accounts.c.password).where(named)
        account_id, stored = self._db.first(wanted) or ("", None)
        if not verify_password(stored, password):
            return None
        assert stored
        if _HASHER.check_needs_rehash(stored):
            this = (accounts.c.account_id == account_id) & (accounts.c.password == stored)
            with _SLOTS:  # without today's limits: the password may be older
                renewed = _HASHER.hash(_bytes(password))
            self._db.write(accounts.update().where(this).values(password=renewed))
        return self._one(accounts.c.account_id == account_id, ENABLED)

    def change(
        self,
        account_id: str,
        *,
        role: Role | None = None,
        disabled: bool | None = None,
        password: str | None = None,
    ) -> Account | None:
        """Change the given fields and end the account's sessions; None if there is no such account.

        API keys and password links are revoked when the account is disabled, and when its password
        changes because someone else may have known it.

        Raises ConfigError: the password is not valid. Problem: 409, it is the last admin.
        """
        account = self.get(account_id)
        if account is None:
            return None
        stored = None if password is None else hash_password(password, account.name)
        given = {"role": role and role.value, "disabled": disabled, "password": stored}
        values = {name: value for name, value in given.items() if value is not None}
        with self._db.writing() as db:
            if disabled or role not in (None, Role.ADMIN):
                _spare_last_admin(db, account_id)
            revoke = bool(disabled or stored)
            return _change(db, account_id, values, revoke=revoke) if values else account

    # ── Password links ───────────────────────────────────────────────────────────────────────────

    def new_link(self, account: Account) -> tuple[str, float]:
        """Create a token with which its user sets the account's password once, and its expiry.

        It replaces the account's earlier one. Only its hash is stored, and a database looks up
        hashes, so the time of a look-up does not reveal a token.
        """
        token = secrets.token_urlsafe(32)
        expires = now() + (RESET_DAYS if account.has_password else INVITATION_DAYS) * DAY
        row = {"token_hash": hash_secret(token), "account_id": account.account_id}
        earlier = password_links.c.account_id == account.account_id
        with self._db.writing() as db:
            db.execute(password_links.delete().where(earlier))
            db.execute(password_links.insert().values(**row, expires=expires))
        return token, expires

    def by_link(self, token: str) -> Account | None:
        """The enabled account whose password the token may set; None if it is not valid."""
        owner = sa.select(password_links.c.account_id).where(_valid(password_links, token))
        return self._one(accounts.c.account_id.in_(owner), ENABLED)

    def use_link(self, token: str, password: str) -> Account | None:
        """Set the password of the token's account; None if the token is not valid, or was used.

        Raises ConfigError: the password is not valid; the token stays so.
        """
        account = self.by_link(token)
        if account is None:
            return None
        values = {"password": hash_password(password, account.name)}
        with self._db.writing() as db:
            used = password_links.delete().where(_valid(password_links, token))
            if db.execute(used).rowcount != 1:
                return None
            return _change(db, account.account_id, values, revoke=True)

    # ── Invitations ──────────────────────────────────────────────────────────────────────────────

    def invite(self, role: Role, uses: int, days: float) -> str:
        """Create a token with which `uses` users can create an account of this role each."""
        token = secrets.token_urlsafe(32)
        row: dict[str, object] = {"invitation_id": new_id(), "token_hash": hash_secret(token)}
        row |= {"role": role.value, "uses": uses, "expires": now() + days * DAY}
        self._db.write(invitations.insert().values(row))
        return token

    def register(self, name: str, password: str, token: str) -> Account | None:
        """Create an invited user's account; None if the token is not valid. Raises like `add`."""
        name, stored = valid_name(name), hash_password(password, name)
        used = invitations.update().where(_invites(token)).values(uses=invitations.c.uses - 1)
        with _unique(NAME_TAKEN % name), self._db.writing() as db:
            role = db.scalar(sa.select(invitations.c.role).where(_invites(token)))
            if role is None or not db.execute(used).rowcount:
                return None
            return _add(db, new_id(), name, Role(role), stored)

    def is_invited(self, token: str) -> bool:
        return self._db.first(sa.select(invitations).where(_invites(token))) is not None

    def invitations(self) -> Sequence[Any]:
        """The valid invitations, by expiry."""
        valid = (invitations.c.uses > 0) & (invitations.c.expires > now())
        return self._db.rows(sa.select(invitations).where(valid).order_by(invitations.c.expires))

    def revoke_invitation(self, invitation_id: str) -> bool:
        this = invitations.c.invitation_id == invitation_id
        return self._db.write(invitations.delete().where(this)) == 1

    # ── Logins through a provider ────────────────────────────────────────────────────────────────

    def by_login(self, provider: str, subject: str) -> Account | None:
        this = (logins.c.provider == provider) & (logins.c.subject == subject)
        return self._one(accounts.c.account_id.in_(sa.select(logins.c.account_id).where(this)))

    def add_by_login(self, provider: str, subject: str, name: str, role: Role) -> Account:
        """Create an account for a provider's user, with the same name if it is free.

        An existing account with this name is never linked, because a name does not prove identity.

        Raises Problem: 409, the user logged in twice at once.
        """
        account_id = new_id()
        with _unique("This login now has an account. Log in again."), self._db.writing() as db:
            account = _add(db, account_id, _free_name(db, name, provider, account_id), role)
            _link(db, provider, subject, account_id, name)
            return account

    def link(self, provider: str, subject: str, account_id: str, name: str) -> None:
        """Link an account to a provider's user. Raises Problem: 409, the user has another one."""
        with _unique("This login already belongs to an account."), self._db.writing() as db:
            _link(db, provider, subject, account_id, name)

    def logins(self, account_id: str) -> list[tuple[str, str]]:
        """Provider and name there of each login."""
        wanted = sa.select(logins.c.provider, logins.c.name).order_by(logins.c.provider)
        return [(*row,) for row in self._db.rows(wanted.where(logins.c.account_id == account_id))]

    def unlink(self, account_id: str, provider: str) -> bool:
        """Remove a login; False if there was none. Raises Problem: 409, no other way in is left."""
        is_own = logins.c.account_id == account_id
        with self._db.writing() as db:
            others = sa.select(sa.func.count()).where(is_own, logins.c.provider != provider)
            this = accounts.c.account_id == account_id
            password = db.execute(sa.select(accounts.c.password).where(this)).scalar()
            if password is None and not db.execute(others).scalar():
                detail = "There is no other way into the account. Set a password first."
                raise Problem(409, "last_way_in", detail)
            gone = db.execute(logins.delete().where(is_own & (logins.c.provider == provider)))
            return gone.rowcount > 0


@contextmanager
def _unique(detail: str) -> Iterator[None]:
    """Raise Problem (409) with this detail if the name or the login has another account."""
    try:
        yield
    except sa.exc.IntegrityError as error:
        raise Problem(409, "name_taken", detail) from error


def _link(db: sa.Connection, provider: str, subject: str, account_id: str, name: str) -> None:
    row = {"provider": provider, "subject": subject, "account_id": account_id}
    db.execute(logins.insert().values(**row, name=name[:200], created=now()))


def _free_name(db: sa.Connection, name: str, provider: str, account_id: str) -> str:
    try:
        wanted = valid_name(" ".join(name.split())[: MAX_NAME - 40].strip())
    except ConfigError:
        wanted = "user"
    for chosen in (wanted, f"{wanted} ({provider})"):
        if _first(db, accounts.c.name_key == name_key(chosen)) is None:
            return chosen
    return f"{wanted} {account_id[:8]}"


def _add(
    db: sa.Connection, account_id: str, name: str, role: Role, password: str | None = None
) -> Account:
    account = Account(account_id, name, role, False, password is not None, now(), None)
    row = {"account_id": account_id, "name": name, "name_key": name_key(name), "role": role.value}
    db.execute(accounts.insert().values(**row, password=password, created=account.created))
    return account


def _change(
    db: sa.Connection, account_id: str, values: Mapping[str, object], *, revoke: bool
) -> Account | None:
    """Change an account and end its sessions; `revoke` its API keys and password links, too."""
    db.execute(accounts.update().where(accounts.c.account_id == account_id).values(values))
    for table in (tables.sessions, *((tables.api_keys, password_links) if revoke else ())):
        db.execute(table.delete().where(table.c.account_id == account_id))
    return _first(db, accounts.c.account_id == account_id)


def _invites(token: str) -> sa.ColumnElement[bool]:
    return _valid(invitations, token) & (invitations.c.uses > 0)


def _valid(links: sa.Table, token: str) -> sa.ColumnElement[bool]:
    return (links.c.token_hash == hash_secret(token)) & (links.c.expires > now())


def _spare_last_admin(db: sa.Connection, account_id: str) -> None:
    """Raise Problem (409) for the only admin. Locks the rows, so that two cannot both go."""
    is_admin = accounts.c.role == Role.ADMIN.value
    admins = sa.select(accounts.c.account_id).where(is_admin, ENABLED)
    if list(db.execute(admins.with_for_update()).scalars()) == [account_id]:
        detail = "This is the only admin. Make someone else an admin first."
        raise Problem(409, "last_admin", detail)


def _first(db: sa.Connection, *which: sa.ColumnElement[bool]) -> Account | None:
    row = db.execute(sa.select(*_SHOWN).where(*which)).first()
    return _account(row) if row else None


def _account(row: sa.Row[tuple[object, ...]]) -> Account:
    values = dict(row._mapping)
    values |= {"role": Role(values["role"]), "has_password": bool(values["has_password"])}
    return Account(**values)


# ── Deletion ──────────────────────────────────────────────────────────────────────────────────────

# The columns that hold an account's id, in tables whose rows are not deleted with the account's.
OWNERS = (tables.jobs.c.owner, tables.feedback.c.owner)


def forget(database: Database, account_id: str, copies: AccountCopies) -> bool:
    """Delete an account and its data; False if there is none. Raises Problem: 409, the last admin.

    Shared corpora stay without an owner. Private corpora and copies are marked as deleted;
    `Site.tidy` removes their folders.
    """
    is_own = corpora.c.owner == account_id
    private = is_own & (corpora.c.shared == Shared.PRIVATE.value)
    with database.writing() as db:
        _spare_last_admin(db, account_id)
        this = accounts.c.account_id == account_id
        if db.execute(accounts.delete().where(this)).rowcount != 1:
            return False
        copies.mark_deleted(account_id)
        gone = {"deleted": now(), "name": sa.literal("deleted ") + corpora.c.corpus_id}
        db.execute(corpora.update().where(private, corpora.c.deleted.is_(None)).values(gone))
        for corpus_id in db.execute(sa.select(corpora.c.corpus_id).where(is_own)).scalars().all():
            entry = corpora.update().where(corpora.c.corpus_id == corpus_id)
            db.execute(entry.values(owner=new_id()))  # no account has this id
        of_plugins = (owner for plugin in plugins.load_all() for owner in plugin.owners)
        for owner in (*OWNERS, *of_plugins):
            db.execute(sa.delete(owner.table).where(owner == account_id))
    return True
