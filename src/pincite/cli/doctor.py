"""`pincite doctor`: is everything there, and what may leave this machine."""

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.errors import MissingModel

NEEDED_FREE = 500_000_000  # bytes: models, a corpus of some thousand pages, judged pairs


@click.command("doctor", short_help="is everything there, and what may leave this machine")
def command() -> None:
    """Check Python, models, disk and settings. Exits with 6 if something is missing."""
    from pincite.library.feedback import file_of
    from pincite.library.private_copies import folder_of
    from pincite.models import weights

    settings = options.settings_of({})
    models = settings.models
    click.echo(f"pincite   {version('pincite')}, Python {sys.version.split()[0]}")
    missing = 0
    for role, name in weights.in_use(models.encoder, models.encoders, models.verifier):
        try:
            click.echo(f"{role:9} {weights.described(name)}")
        except MissingModel as error:
            missing += 1
            click.echo(f"{role:9} MISSING: {error}")
    click.echo(f"processor {_processor()}")
    cache = weights.cache_folder()
    free = shutil.disk_usage(_existing(cache)).free
    low = " (LOW)" if free < NEEDED_FREE else ""
    click.echo(f"cache     {cache}, {free / 1e9:.1f} GB free{low}")
    click.echo(f"feedback  {file_of(settings.library.feedback_file)} (stays here)")
    click.echo(f"copies    {folder_of(settings.library.own_copies)} (your own; stay here)")
    click.echo("network   nothing leaves this machine, except by: pincite models fetch ID")
    for line in _leaving(settings):
        click.echo(f"          {line}")
    if missing:
        raise click.exceptions.Exit(6)


def _processor() -> str:
    from pincite.models.session import cores, products_saturate

    fast = "no fast exact int8 products (VNNI): networks take longer"
    return f"{cores()} cores, {fast if products_saturate() else 'fast exact int8 products'}"


def _leaving(settings: Any) -> Iterator[str]:
    """What the settings allow to be sent, and to whom."""
    from pincite.models.weights import served

    yield from _to_the_web(settings.web)
    chat = settings.chat.url
    if settings.check.asks_a_model:
        yield f"and statements with passages, which go to {chat}"
    if settings.ask.answer == "model":
        yield f"and questions with abstracts, which go to {chat}"
    if settings.judge.url:
        yield f"and claims with their sources, which go to {settings.judge.url}"
    if found := served(settings.models.verifier):
        yield f"and claims with passages, which go to {found.url}"
    for found in filter(None, map(served, (settings.models.encoder, *settings.models.encoders))):
        yield f"and documents of corpora, claims and questions, which go to {found.url}"


def _to_the_web(web: Any) -> Iterator[str]:
    from pincite.web.fetch import user_agent

    if not web.online:
        return
    yield "and requests for articles, which go to their wikis: the title,"
    yield "and requests for cited pages, which go to their hosts: the address,"
    if web.wayback:
        yield f"and cited addresses with dates, which go to {web.wayback_api},"
    if web.search_url:
        yield f"and claims that their sources fail and readings of statements, to {web.search_url},"
    yield f"{user_agent(web.contact)!r} and your IP address"
    if not web.contact:
        yield "(set contact, so that a host can write to you)"
    yield f"fetched pages are kept in {web.cache_file}"


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)
