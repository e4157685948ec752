"""`pincite server`: accounts, copies of a server's state, and whether all is well with it."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from pincite.cli import options
from pincite.cli.server import user

config_option = click.option("--config", type=options.FilePath, help="The server's TOML file.")
data_option = click.option("--data", type=str, help="Folder of the database and the corpora.")


@click.group("server", short_help="accounts, backups and checks of a server")
def command() -> None:
    """Look after what `pincite serve` keeps: jobs, results, corpora, accounts."""


@command.command("backup")
@click.argument("file", type=options.OutFile)
@data_option
@config_option
@click.option("--force", is_flag=True, help="Replace FILE.")
def backup(file: Path, data: str | None, config: Path | None, force: bool) -> None:
    """Copy everything into FILE; the server may run.

    Of PostgreSQL, its client has to be installed (pg_dump). FILE is readable for you alone: it
    holds what everybody asked.
    """
    from pincite.server import backup as copies
    from pincite.server.settings import load

    done = copies.backup(load({"data": data}, config), file, replace=force)
    options.say(f"{file}: {done.n_files:,} files, {done.n_bytes / 1e6:,.1f} MB before packing.")
    for folder in done.elsewhere:
        options.say(f"Not in it, because its owner keeps it elsewhere: {folder}")


@command.command("restore")
@click.argument("file", type=options.OutFile)
@data_option
@config_option
@click.option("--force", is_flag=True, help="Replace what is there.")
def restore(file: Path, data: str | None, config: Path | None, force: bool) -> None:
    """Make a server's state what it was when FILE was made.

    Into an empty place, unless told to replace; of the same kind of database; while no server
    runs. FILE is compared with its checksums first: of a damaged one nothing is taken.
    """
    from pincite.server import backup as copies
    from pincite.server.settings import load

    about = copies.restore(load({"data": data}, config), file, replace=force).about
    made = datetime.fromtimestamp(about["created"], UTC).isoformat(timespec="seconds")
    options.say(f"Restored what Pincite {about['pincite']} kept at {made}.")


@command.command("check")
@data_option
@config_option
@click.option("--backup", "file", type=options.FilePath, help="Check a backup instead.")
def check(data: str | None, config: Path | None, file: Path | None) -> None:
    """Whether all is well: database, corpora, queue, room; exit code 1 if something is not."""
    from pincite.server import backup as copies
    from pincite.server.operation import examined
    from pincite.server.settings import load

    if file:
        found = copies.inspect(file)
        options.say(f"{file}: {len(found.files):,} files, all as they were written.")
        return
    wrong = False
    for part in examined(load({"data": data}, config)):
        wrong = wrong or not part.well
        click.echo(f"{'ok' if part.well else 'FAULT':<6}{part.name:<10}{part.what}")
    if wrong:
        raise click.exceptions.Exit(1)


@command.command("hash-password")
def hash_password() -> None:
    """Hash a password for the setting `gate_password`; it is asked for, or read from a pipe."""
    from pincite.server.accounts import hashed

    password = (
        click.prompt("Password", hide_input=True, err=True, confirmation_prompt=True)
        if (sys.stdin.isatty())
        else sys.stdin.readline().rstrip("\n")
    )
    click.echo(hashed(password))


command.add_command(user.command)
