"""`pincite serve`: the web pages and the HTTP API on this machine or for a group."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import options


@click.command("serve", short_help="web pages and an HTTP API")
@click.option("--host", help="Address to listen on. [127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0: any that is free. [8765]")
@click.option("--data", type=str, help="Folder of the database and the corpora.")
@click.option("--jobs", "jobs_at_once", type=int, help="Jobs at once; 0: none here. [1]")
@click.option("--demo", is_flag=True, help="With shipped documents as corpora, to try it.")
@click.option("--config", type=options.FilePath, help="A TOML file with settings.")
def command(config: Path | None, demo: bool, **given: Any) -> None:
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
