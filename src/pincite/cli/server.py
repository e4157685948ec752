"""`pincite server`: looks after what `pincite serve` keeps."""

import click

from pincite.cli import server_user


@click.group("server", short_help="look after a server")
def command() -> None:
    """What whoever runs a server does from its command line."""


command.add_command(server_user.command)
