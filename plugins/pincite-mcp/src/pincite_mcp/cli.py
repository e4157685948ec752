"""`pincite mcp`: tools for language-model agents."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import options, shell
from pincite.corpora import name_corpora


@click.command("mcp")
@options.corpus_option("Corpus that tools may search.")
@click.option(
    "--allow",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    metavar="FOLDER",
    help="Folder whose files tools may read. Repeatable. [none]",
)
@click.option(
    "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Calls at the same time."
)
@options.setting_options("verify.k", "verify.threshold", "models", "web", "judge", "budget")
def command(
    corpus: tuple[Path | str, ...], allow: tuple[Path, ...], jobs: int, **given: Any
) -> None:
    """Serve tools over the Model Context Protocol to the program that starts this command.

    \b
    pincite mcp --corpus kb/ --allow ~/papers

    These options decide what tools may read, not the tools' arguments: --corpus for corpora,
    --allow for files, --online for the web.
    """
    shell.require("mcp")
    from pincite_mcp import server, work

    settings = options.load_settings(given)
    folders = [*corpus] or settings.library.places
    named = name_corpora(folders) if folders else {}
    corpora = {name: place for name, place in named.items() if isinstance(place, Path | str)}
    served = work.Served(settings, corpora, allow)
    work.list_corpora(served)  # raises CorpusError now, not at the first call
    try:
        server.serve(served, jobs)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(options.STOPPED) from None
