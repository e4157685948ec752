"""What is on this machine: `pincite models`, `pincite cache` and `pincite doctor`."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.errors import MissingModel

NEEDED_FREE = 500_000_000  # bytes: models, a corpus of some thousand pages, judged pairs


@click.command("doctor", short_help="is everything there, and what may leave this machine")
def doctor() -> None:
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


@click.group("models", short_help="where the models are, and fetching others")
def models() -> None:
    """Models are looked for in the package, as a folder, and in the user's cache."""


@models.command("list")
def list_models() -> None:
    """The models in force, their folders and fingerprints."""
    from pincite.models import weights

    models = options.settings_of({}).models
    for role, name in weights.in_use(models.encoder, models.encoders, models.verifier):
        place = "" if weights.served(name) else f"  {weights.locate(name)}"
        click.echo(f"{role:9} {weights.described(name)}{place}")


@models.command("fetch")
@click.argument("model")
def fetch(model: str) -> None:
    """Download MODEL (a Hugging Face id, ORGANISATION/NAME) into the cache. Uses the network."""
    from pincite.models import weights

    click.echo(weights.fetch(model))


MEGABYTE = 1e6


@click.group("cache", short_help="fetched pages and judged pairs that are kept")
def cache() -> None:
    """What `verify` keeps so that nothing is fetched or judged twice.

    Every command here may be given while another run fetches.
    """


@cache.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.config_option
def show(as_json: bool, config: Path | None) -> None:
    """How much is kept, where, and since when."""
    from pincite.llm.calls import ReplyCache
    from pincite.models.logit_cache import LogitCache
    from pincite.runtime import replies_file
    from pincite.web.cache import holdings

    pages, judged = _files(config)
    held, n_pairs = holdings(pages), _of(LogitCache, judged, lambda kept: kept.n_kept())
    n_replies = _of(ReplyCache, replies_file(), len)
    judged_bytes = judged.stat().st_size if judged.exists() else 0
    if as_json:
        values: dict[str, Any] = {
            "pages": {
                "file": str(pages),
                "bytes": held.n_bytes,
                "pages": held.n_pages,
                "failures": held.n_failures,
                "robots": held.n_robots,
                "expired": held.n_expired,
                "oldest": _day(held.oldest),
                "newest": _day(held.newest),
            },
            "judgements": {"file": str(judged), "bytes": judged_bytes, "pairs": n_pairs},
            "replies": {"file": str(replies_file()), "replies": n_replies},
        }
        options.print_json(values)
        return
    click.echo(f"fetched pages  {held.n_bytes / MEGABYTE:.1f} MB in {pages}")
    click.echo(
        f"               pages: {held.n_pages} · failures: {held.n_failures} · "
        f"robots.txt: {held.n_robots} · out of date: {held.n_expired}"
    )
    if held.oldest:
        click.echo(f"               from {_day(held.oldest)} to {_day(held.newest)}")
    click.echo(f"judged pairs   {judged_bytes / MEGABYTE:.1f} MB in {judged}")
    click.echo(f"               pairs of claim and passage: {n_pairs}")
    click.echo(f"second opinions {n_replies} replies in {replies_file()}")


@cache.command("prune")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Fetched longer ago than that. [web.cache_days of the settings, 30]",
)
@options.config_option
def prune(older_than: float | None, config: Path | None) -> None:
    """Remove pages and failures that were fetched long ago."""
    from pincite.web import cache

    pages, _ = _files(config)
    days = options.settings_of({"config": config}).web.cache_days
    days = days if older_than is None else older_than
    before = cache.holdings(pages).n_bytes
    n = cache.prune(pages, days)
    _tell_removed(f"{n} fetched more than {days:g} days ago", before, pages)


@cache.command("clear")
@click.option("--judgements", is_flag=True, help="Judged pairs and replies, not the pages.")
@options.config_option
def clear(judgements: bool, config: Path | None) -> None:
    """Remove all fetched pages; with --judgements all judged pairs and second opinions instead.

    Reports stay. The next run fetches, or judges, again.
    """
    from pincite.llm.calls import ReplyCache
    from pincite.models.logit_cache import LogitCache
    from pincite.runtime import replies_file
    from pincite.web import cache

    pages, judged = _files(config)
    if judgements:
        n_pairs = _of(LogitCache, judged, lambda kept: kept.forget())
        n_replies = _of(ReplyCache, replies_file(), lambda kept: kept.forget())
        options.say(f"{n_pairs} judged pairs removed from {judged}")
        options.say(f"{n_replies} replies of language models removed")
        return
    before = cache.holdings(pages).n_bytes
    _tell_removed(f"{cache.prune(pages, -1)}", before, pages)


def _of(kind: Callable[[Path], Any], file: Path, act: Callable[[Any], int]) -> int:
    """What is done with a cache; 0 where there is none."""
    if not file.exists():
        return 0
    with closing(kind(file)) as kept:
        return act(kept)


def _tell_removed(what: str, before: int, pages: Path) -> None:
    from pincite.web.cache import holdings

    freed = max(0, before - holdings(pages).n_bytes) / MEGABYTE
    options.say(f"addresses: {what} removed, {freed:.1f} MB given back")


def _files(config: Path | None) -> tuple[Path, Path]:
    """The file of fetched pages and that of judged pairs."""
    from pincite.runtime import judgements_file

    return options.settings_of({"config": config}).web.cache_file, judgements_file()


def _day(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat() if seconds else None
