"""`pincite cache`: what was fetched and judged is kept; seeing it, and making it smaller."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pincite.cli import options

MEGABYTE = 1e6


@click.group("cache", short_help="fetched pages and judged pairs that are kept")
def command() -> None:
    """What `verify` keeps so that nothing is fetched or judged twice.

    Every command here may be given while another run fetches.
    """


_config = click.option("--config", type=options.FilePath, help="A TOML file with settings.")


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_config
def show(as_json: bool, config: Path | None) -> None:
    """How much is kept, where, and since when."""
    from pincite.llm.reply_cache import KeptReplies
    from pincite.models.logit_cache import LogitCache
    from pincite.runtime import replies_file
    from pincite.web.cache_size import holdings

    pages, judged = _files(config)
    held, n_pairs = holdings(pages), _of(LogitCache, judged, len)
    n_replies = _of(KeptReplies, replies_file(), len)
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


@command.command("prune")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Fetched longer ago than that. [web.cache_days of the settings, 30]",
)
@_config
def prune(older_than: float | None, config: Path | None) -> None:
    """Remove pages and failures that were fetched long ago."""
    from pincite.web import cache_size

    pages, _ = _files(config)
    days = options.settings_of({"config": config}).web.cache_days
    days = days if older_than is None else older_than
    before = cache_size.holdings(pages).n_bytes
    n = cache_size.prune(pages, days)
    _tell_removed(f"{n} fetched more than {days:g} days ago", before, pages)


@command.command("clear")
@click.option("--judgements", is_flag=True, help="Judged pairs and replies, not the pages.")
@_config
def clear(judgements: bool, config: Path | None) -> None:
    """Remove all fetched pages; with --judgements all judged pairs and second opinions instead.

    Reports stay. The next run fetches, or judges, anew.
    """
    from pincite.llm.reply_cache import KeptReplies
    from pincite.models.logit_cache import LogitCache
    from pincite.runtime import replies_file
    from pincite.web import cache_size

    pages, judged = _files(config)
    if judgements:
        n_pairs = _of(LogitCache, judged, lambda kept: kept.forget())
        n_replies = _of(KeptReplies, replies_file(), lambda kept: kept.forget())
        options.say(f"{n_pairs} judged pairs removed from {judged}")
        options.say(f"{n_replies} replies of language models removed")
        return
    before = cache_size.holdings(pages).n_bytes
    _tell_removed(f"{cache_size.prune(pages, -1)}", before, pages)


def _of(kind: Callable[[Path], Any], file: Path, act: Callable[[Any], int]) -> int:
    """What is done with a cache; 0 where there is none."""
    if not file.exists():
        return 0
    with closing(kind(file)) as kept:
        return act(kept)


def _tell_removed(what: str, before: int, pages: Path) -> None:
    from pincite.web.cache_size import holdings

    freed = max(0, before - holdings(pages).n_bytes) / MEGABYTE
    options.say(f"addresses: {what} removed, {freed:.1f} MB given back")


def _files(config: Path | None) -> tuple[Path, Path]:
    """The file of fetched pages and that of judged pairs."""
    from pincite.runtime import judgements_file

    return options.settings_of({"config": config}).web.cache_file, judgements_file()


def _day(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat() if seconds else None
