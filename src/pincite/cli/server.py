"""`pincite serve`, `worker`, `mcp`, and `pincite server`: accounts, copies of its state, checks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli import extras, options
from pincite.errors import ConfigError

if TYPE_CHECKING:
    from pincite.server.accounts import Account
    from pincite.server.site import People


def _placed(function: Callable[..., None]) -> Callable[..., None]:
    """`--data` and `--config`, by which a server's state is found."""
    function = click.option("--config", type=options.FilePath, help="The server's TOML file.")(
        function
    )
    return click.option("--data", help="Folder of the database and the corpora.")(function)


@click.command("serve", short_help="web pages and an HTTP API")
@click.option("--host", help="Address to listen on. [127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0: any that is free. [8765]")
@click.option("--jobs", "jobs_at_once", type=int, help="Jobs at once; 0: none here. [1]")
@click.option("--demo", is_flag=True, help="With shipped documents as corpora, to try it.")
@_placed
def serve(config: Path | None, demo: bool, **given: Any) -> None:
    """Serve the pages and the API; jobs run in processes of their own.

    \b
    pincite serve
    pincite serve --demo
    pincite serve --config pincite.toml --jobs 4

    With --demo there are corpora to search and examples to verify at once; without --data they are
    removed at the end. Everything in them is invented.

    Without more it answers this machine only, and nobody logs in. Ctrl-C ends it; jobs that run
    then go on at the next start.
    """
    from pincite.server import serving

    serving.serve(given, config, options.say, demo=demo)


@click.command("worker", short_help="run a server's jobs")
@click.option("--jobs", "jobs_at_once", type=int, help="Jobs at once. [1]")
@_placed
def worker(config: Path | None, **given: Any) -> None:
    """Take jobs from the server's database and run them, until Ctrl-C.

    \b
    pincite worker --config pincite.toml --jobs 4

    On another machine it needs the same database server and the same folder of corpora.
    """
    from pincite.server import serving

    serving.work(given, config, lambda line: options.say(line))


LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command("mcp", short_help="the verbs as tools for language-model agents")
@options.corpus_option("Corpus that tools may search")
@click.option(
    "--allow",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    metavar="FOLDER",
    help="Folder whose files tools may read; may be given several times. [none]",
)
@click.option("--http", is_flag=True, help="Serve over HTTP instead of stdin and stdout.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8766, show_default=True, help="Port to listen on.")
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Host name in requests, if not this machine's loopback; may be given several times.",
)
@click.option("--jobs", default=2, show_default=True, help="Calls that are worked on at once.")
@options.web_options
@options.judge_options
@options.budget_options
@options.settings_options
def mcp(
    corpus: tuple[Path | str, ...],
    allow: tuple[Path, ...],
    http: bool,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    jobs: int,
    **given: Any,
) -> None:
    """Serve tools by the Model Context Protocol, to a program that starts this command.

    \b
    pincite mcp --corpus kb/ --allow ~/papers
    pincite mcp --corpus kb/ --http --port 8766

    What tools may read and ask is settled here, not by their arguments: corpora by --corpus, files
    by --allow, the web by --online. With --http the address is http://127.0.0.1:8766/mcp; nobody
    logs in, so whoever reaches it can use it.
    """
    extras.require("mcp")
    from pincite import runtime
    from pincite.mcp import server, work

    if http and host not in LOOPBACK and not hosts:
        raise click.UsageError(f"--host {host} is not loopback: it needs --allow-host NAME too.")
    if jobs < 1:
        raise click.UsageError("Expected --jobs of at least 1.")
    settings = options.settings_of(given)
    folders = [*corpus] or settings.library.places
    named = runtime.named(folders) if folders else {}
    corpora = {name: place for name, place in named.items() if isinstance(place, Path | str)}
    served = work.Served(settings, corpora, allow)
    work.list_corpora(served)  # raises CorpusError now, not at the first call
    try:
        server.serve(served, jobs, (host, port) if http else None, hosts)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None


@click.group("server", short_help="accounts, backups and checks of a server")
def server() -> None:
    """Look after what `pincite serve` keeps: jobs, results, corpora, accounts."""


@server.command("backup")
@click.argument("file", type=options.OutFile)
@_placed
@click.option("--force", is_flag=True, help="Replace FILE.")
def backup(file: Path, data: str | None, config: Path | None, force: bool) -> None:
    """Back up the data folder and its SQLite database to FILE; the server may run.

    A PostgreSQL database is not included: dump it with pg_dump first. FILE is readable by you
    alone, because it holds what all users asked.
    """
    from pincite.server import backup as copies
    from pincite.server.settings import load

    done = copies.backup(load({"data": data}, config), file, replace=force)
    options.say(f"{file}: {len(done.files):,} files, {done.n_bytes / 1e6:,.1f} MB uncompressed.")
    if not done.database:
        options.say("It does not include the PostgreSQL database; back that up with pg_dump.")


@server.command("restore")
@click.argument("file", type=options.OutFile)
@_placed
@click.option("--force", is_flag=True, help="Replace what is there.")
def restore(file: Path, data: str | None, config: Path | None, force: bool) -> None:
    """Restore the backup in FILE, while no server runs.

    FILE is compared with its checksums first; a damaged backup changes nothing. Restore a
    PostgreSQL database with pg_restore.
    """
    from pincite.server import backup as copies
    from pincite.server.settings import load

    found = copies.restore(load({"data": data}, config), file, replace=force)
    made = datetime.fromtimestamp(found.created, UTC).isoformat(timespec="seconds")
    options.say(f"Restored the backup that Pincite {found.pincite} made at {made}.")


@server.command("check")
@_placed
@click.option("--backup", "file", type=options.FilePath, help="Check a backup instead.")
def check(data: str | None, config: Path | None, file: Path | None) -> None:
    """Check the database, corpora, queue and disk space; exit code 1 if there is a problem."""
    from pincite.server import backup as copies
    from pincite.server.operation import examined
    from pincite.server.settings import load

    if file:
        found = copies.inspect(file)
        options.say(f"{file}: {len(found.files):,} files, all intact.")
        return
    wrong = False
    for part in examined(load({"data": data}, config)):
        wrong = wrong or not part.well
        click.echo(f"{'ok' if part.well else 'FAULT':<6}{part.name:<10}{part.what}")
    if wrong:
        raise click.exceptions.Exit(1)


PORTION = 200
ROLES = ("rater", "reader", "editor", "admin")


@server.group("user", short_help="accounts: who may come in")
def user() -> None:
    """Accounts of a server that has `mode = "server"`.

    \b
    pincite server user add Ada --role admin
    printf '%s' "$PASSWORD" | pincite server user add Ada --role admin
    """


@user.command("add")
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


@user.command("passwd")
@click.argument("name")
@_placed
def passwd(name: str, **places: Any) -> None:
    """Set a password; the account is logged out everywhere, and its API keys are revoked."""
    with _people(**places) as people:
        account = _named(people, name)
        people.accounts.change(account.account_id, password=_password())
        people.audit.record("", "user passwd", account.account_id)
    options.say(f"{account.name} has a new password.")


@user.command("role")
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


@user.command("disable")
@click.argument("name")
@_placed
def disable(name: str, **places: Any) -> None:
    """Bar an account: it is logged out, and its API keys are revoked. Nothing else is deleted."""
    _set_disabled(name, True, places)


@user.command("enable")
@click.argument("name")
@_placed
def enable(name: str, **places: Any) -> None:
    """Let a disabled account in again."""
    _set_disabled(name, False, places)


@user.command("list")
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
        database.create_tables()
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
