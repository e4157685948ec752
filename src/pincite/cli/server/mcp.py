"""`pincite mcp`: the verbs as tools for language-model agents."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import extras, options

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
def command(
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
