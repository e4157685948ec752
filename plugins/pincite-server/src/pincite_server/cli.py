"""`pincite init`, `serve`, `worker`, and `pincite server`: accounts and checks."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli import options
from pincite.errors import ConfigError, usable
from pincite_server.settings import ServerSettings, load

if TYPE_CHECKING:
    from pincite_server.accounts import Account
    from pincite_server.site import People

_of_server = partial(options.setting_options, record=ServerSettings)
PROJECT = Path(__file__).parent / "project"
MOST_LISTED = 100_000  # accounts
ROLES = ("rater", "reader", "editor", "admin")


@click.command("init")
@click.argument("folder", type=options.OutFolder, default=".")
def init(folder: Path) -> None:
    """Make a FOLDER with what a server needs: settings, page texts, terms, examples, a corpus.

    \b
    pincite init bridges/
    pincite corpus add bridges/corpus documents/
    pincite server user add visitors --config bridges/pincite.toml
    pincite serve --config bridges/pincite.toml

    The texts are there to be edited. Visitors start at /check, with one password. Nothing is
    overwritten. The folder can be copied to another machine.
    """
    if existing := [path.name for path in PROJECT.iterdir() if (folder / path.name).exists()]:
        raise click.UsageError(f"{folder} already has {', '.join(sorted(existing))}.")
    with usable(folder, "created"):
        (folder / "corpus").mkdir(parents=True, exist_ok=True)
        shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    config = shlex.quote(str(folder / "pincite.toml"))
    options.say(f"Created {folder.resolve()}. Edit the texts in it, then:")
    options.say(f"  pincite corpus add {shlex.quote(str(folder / 'corpus'))} DOCUMENTS")
    add = f"pincite server user add visitors --config {config}"
    options.say(f"  {add}   (the password of visitors)")
    options.say(f"  pincite serve --config {config}")


@click.command("serve")
@click.option("--demo", is_flag=True, help="Add bundled corpora and examples to try out.")
@_of_server("host", "port", "jobs_at_once", "data")
def serve(config: Path | None, demo: bool, **given: Any) -> None:
    """Serve web pages and the API; jobs run in separate processes.

    \b
    pincite serve
    pincite serve --demo
    pincite serve --config pincite.toml --jobs 4

    By default only this machine can connect, without a login. Ctrl-C stops it; unfinished
    jobs continue at the next start.

    --demo adds fictional corpora to search and examples to verify. They are deleted on exit
    unless --data is given.
    """
    from pincite_server import serving

    serving.serve(given, config, options.say, demo=demo)


@click.command("worker")
@_of_server("jobs_at_once", "data")
def worker(config: Path | None, **given: Any) -> None:
    """Run jobs from the server's database until Ctrl-C.

    \b
    pincite worker --config pincite.toml --jobs 4

    On another machine, it needs access to the same database server and folder of corpora.
    """
    from pincite_server import serving

    serving.work(given, config, lambda line: options.say(line))


@click.group("server")
def server() -> None:
    """Manage the state of `pincite serve`: jobs, results, corpora, accounts."""


@server.command("check")
@_of_server("data")
def check(data: str | None, config: Path | None) -> None:
    """Check the database, corpora, queue and disk space. Exit code 1: there is a problem."""
    from pincite_server.operation import examine

    parts = list(examine(load({"data": data}, config)))
    for part in parts:
        click.echo(f"{'ok' if part.well else 'FAIL':<6}{part.name:<10}{part.what}")
    if not all(part.well for part in parts):
        raise click.exceptions.Exit(1)


@server.group("user")
def user() -> None:
    """Manage the accounts of a server with `mode = "server"`.

    \b
    pincite server user add Ada --role admin
    pincite server user add Grace --invite
    """


@user.command("add")
@click.argument("name")
@click.option(
    "--role", type=click.Choice(ROLES), default="editor", show_default=True, help="Its permissions."
)
@click.option("--invite", is_flag=True, help="Print a link with which the user sets a password.")
@_of_server("data")
def add(name: str, role: str, invite: bool, **places: Any) -> None:
    """Create an account; prompts for its password, or reads stdin."""
    from pincite_server.identity import Role

    with _people(**places) as people:
        account = people.accounts.add(name, Role(role), None if invite else _password())
        options.say(f"Account {account.name} created ({account.role.value}).")
        if invite:
            _print_link(people, account)


@user.command("link")
@click.argument("name")
@_of_server("data")
def link(name: str, **places: Any) -> None:
    """Print a one-time link with which a user sets a forgotten or first password.

    It replaces the account's earlier link. It works for 7 days, or 1 day if the account has a
    password, which stays valid until the link is used.
    """
    with _people(**places) as people:
        _print_link(people, _find_account(people, name))


def _print_link(people: "People", account: "Account") -> None:
    from pincite_server.accounts import LINK_PATH

    where = people.settings.public_address
    if not people.settings.names:
        options.say(f"Warning: set server.address in --config FILE; until then links have {where}.")
    token, expires = people.accounts.new_link(account)
    click.echo(f"{where}{LINK_PATH}/{token}")
    shown = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%d %H:%M UTC")
    options.say(f"Send it to {account.name}. It works once, until {shown}.")


def _find_account(people: "People", name: str) -> "Account":
    account = people.accounts.by_name(name)
    if account is None:
        raise ConfigError(f"No account is called {name!r}. See: pincite server user list")
    return account


@user.command("set")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), help="New role.")
@click.option("--password", is_flag=True, help="Set a password, from a prompt or stdin.")
@click.option("--enable/--disable", "enabled", default=None, help="Allow or block logging in.")
@_of_server("data")
def set_account(
    name: str, role: str | None, password: bool, enabled: bool | None, **places: Any
) -> None:
    """Change an account; this logs it out everywhere.

    A new password and --disable also revoke its API keys. The data of a disabled account stays.
    """
    from pincite_server.identity import Role

    if not (role or password or enabled is not None):
        raise click.UsageError("Expected --role, --password, --enable or --disable.")
    with _people(**places) as people:
        account = _find_account(people, name)
        people.accounts.change(
            account.account_id,
            role=Role(role) if role else None,
            disabled=None if enabled is None else not enabled,
            password=_password() if password else None,
        )
    changed = {"role": role, "password": password, "enabled": enabled, "disabled": enabled is False}
    options.say(f"{account.name} was changed: {', '.join(filter(changed.get, changed))}.")


@user.command("list")
@_of_server("data")
def list_accounts(**places: Any) -> None:
    """Print all accounts: name, role, last login, state, id (as in the log)."""
    with _people(**places) as people:
        for account in people.accounts.list_accounts(MOST_LISTED):
            last = account.last_login
            seen = datetime.fromtimestamp(last, UTC).date().isoformat() if last else "never"
            state = "disabled" if account.disabled else "enabled"
            row = account.name, account.role.value, seen, state, account.account_id
            click.echo("\t".join(row))


@contextmanager
def _people(config: Path | None, data: str | None) -> Iterator["People"]:
    from pincite_server.database import Database
    from pincite_server.site import open_people

    settings = load({"data": data}, config)
    if settings.mode == "local":
        options.say('Note: server.mode is "local", so there is no login. See docs/accounts.md.')
    database = Database(settings.database_url)
    try:
        database.create_tables()
        yield open_people(database, settings)
    finally:
        database.close()


def _password() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")
