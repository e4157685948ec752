"""`pincite worker`: runs a server's jobs, beside it or on another machine."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import options


@click.command("worker", short_help="run a server's jobs")
@click.option("--jobs", "jobs_at_once", type=int, help="Jobs at once. [1]")
@click.option("--data", type=str, help="Folder of the database and the corpora.")
@click.option("--config", type=options.FilePath, help="The server's TOML file.")
def command(config: Path | None, **given: Any) -> None:
    """Take jobs from the server's database and run them, until Ctrl-C.

    \b
    pincite worker --config pincite.toml --jobs 4

    On another machine it needs the same database server and the same folder of corpora.
    """
    from pincite.server import serving

    serving.work(given, config, lambda line: options.say(line))
