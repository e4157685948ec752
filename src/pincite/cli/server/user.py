"""`pincite server user`: the accounts of a server, from the machine that it runs on."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli import options
from pincite.errors import ConfigError

if TYPE_CHECKING:
    from pincite.server.accounts import Account
    from pincite.server.site import People

PORTION = 200
ROLES = ("rater", "reader", "editor", "admin")


@click.group("user", short_help="accounts: who may come in")
def command() -> None:
    """Accounts of a server that has `mode = "server"`.

    \b
    pincite server user add Ada --role admin
    printf '%s' "$PASSWORD" | pincite server user add Ada --role admin
    """


def _placed(function: Callable[..., None]) -> Callable[..., None]:
    function = click.option("--data", help="Folder of the database and the corpora.")(function)
    return click.option("--config", type=options.FilePath, help="The server's TOML file.")(function)


@command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="reader", show_default=True)
@_placed
def add(name: str, role: str, **places: Any) -> None:
    """Make an account; its password is asked for, or read from stdin."""
    from pincite.server.identity import Role

    with _people(**places) as people:
        account = people.accounts.add(name, Role(role), _password())
        people.audit.record("", "user add", account.account_id, {"role": role})
    options.say(f"{account.name} may come in as {account.role.value}.")


@command.command("passwd")
@click.argument("name")
@_placed
def passwd(name: str, **places: Any) -> None:
    """Set a password; the account is logged out everywhere, and its API keys are revoked."""
    with _people(**places) as people:
        account = _named(people, name)
        people.accounts.change(account.account_id, password=_password())
        people.audit.record("", "user passwd", account.account_id)
    options.say(f"{account.name} has a new password.")


@command.command("role")
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
@_placed
def set_role(name: str, role: str, **places: Any) -> None:
    """Say what an account may do; it is logged out everywhere."""
    from pincite.server.identity import Role

    with _people(**places) as people:
        account = _named(people, name)
        people.accounts.change(account.account_id, role=Role(role))
        people.audit.record("", "user role", account.account_id, {"role": role})
    options.say(f"{account.name} is {role} now.")


@command.command("disable")
@click.argument("name")
@_placed
def disable(name: str, **places: Any) -> None:
    """Bar an account: it is logged out, and its API keys are revoked. Nothing else is deleted."""
    _set_disabled(name, True, places)


@command.command("enable")
@click.argument("name")
@_placed
def enable(name: str, **places: Any) -> None:
    """Let a disabled account in again."""
    _set_disabled(name, False, places)


@command.command("list")
@_placed
def listed(**places: Any) -> None:
    """Print all accounts: name, role, last login."""
    from pincite.server.accounts import key_of

    with _people(**places) as people:
        found = people.accounts.listed(PORTION)
        while found:
            click.echo("\n".join(map(_line, found)))
            found = people.accounts.listed(PORTION, (key_of(found[-1].name),))


def _line(account: "Account") -> str:
    from datetime import UTC, datetime

    last = account.last_login
    seen = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%d") if last else "never"
    return "\t".join((account.name, account.role.value, seen, "disabled" * account.disabled))


def _set_disabled(name: str, disabled: bool, places: dict[str, Any]) -> None:
    with _people(**places) as people:
        account = _named(people, name)
        people.accounts.change(account.account_id, disabled=disabled)
        done = "disable" if disabled else "enable"
        people.audit.record("", f"user {done}", account.account_id)
    options.say(f"{account.name} may {'not ' * disabled}come in.")


@contextmanager
def _people(config: Path | None, data: str | None) -> Iterator["People"]:
    from pincite.server.database import Database
    from pincite.server.settings import load
    from pincite.server.site import people_of

    settings = load({"data": data}, config)
    if settings.mode == "local":
        options.say('Note: server.mode is "local", where nobody logs in. See docs/accounts.md.')
    database = Database(settings.database_url)
    try:
        database.migrate()
        yield people_of(database, settings)
    finally:
        database.close()


def _named(people: "People", name: str) -> "Account":
    account = people.accounts.named(name)
    if account is None:
        raise ConfigError(f"There is no account called {name!r}. See: pincite server user list")
    return account


def _password() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")
