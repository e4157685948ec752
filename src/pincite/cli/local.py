"""The local machine: `pincite config`, `models`, `cache` and `doctor`."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pincite import SILENCED
from pincite.cli import options, shell
from pincite.errors import MissingModel, install_command

if TYPE_CHECKING:
    from pincite.durable import CacheFile
    from pincite.settings import Settings

GROUP = "pincite.commands.config"  # entry points of subcommands in other distributions
NEEDED_FREE = 500_000_000  # bytes: models, a corpus of some thousand pages, judged pairs
MEGABYTE = 1e6


class _Config(click.Group):
    """Finds the commands of plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *entry_points(group=GROUP).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for point in entry_points(group=GROUP, name=cmd_name):
            return shell.with_texts(point.load())
        if cmd_name == "import":
            shell.require("evidenceseeker")
        return super().get_command(ctx, cmd_name)


@click.group("config", cls=_Config)
def config() -> None:
    """Show and import settings.

    An option overrides a PINCITE_… variable, which overrides pincite.toml in this folder, which
    overrides the user's file.
    """


@config.command("show")
@options.json_option
@options.config_option
def show_settings(as_json: bool, config: Path | None) -> None:
    """Print every setting, its value and its origin; for secrets, only whether they are set."""
    from pincite.llm.client import EMBEDDINGS_KEY_VARIABLE, JUDGE_KEY_VARIABLE, KEY_VARIABLE
    from pincite.settings import SHORT, Settings, schema
    from pincite.wiki import api as wiki

    stated = schema.load_values(Settings, {}, config, short=SHORT)
    settings = schema.build(Settings, {name: one.value for name, one in stated.items()})
    values = schema.flat(settings)
    origins = {name: one.origin for name, one in stated.items()}
    secrets = [KEY_VARIABLE, *settings.chat.servers.values(), JUDGE_KEY_VARIABLE]
    secrets += [EMBEDDINGS_KEY_VARIABLE, wiki.KEY_VARIABLE]
    states = {name: "set" if os.environ.get(name, "").strip() else "not set" for name in secrets}
    if as_json:
        rows = {n: {"value": v, "origin": origins.get(n, "default")} for n, v in values.items()}
        rows |= {n: {"value": state, "origin": f"variable {n}"} for n, state in states.items()}
        options.print_json(rows)
        return
    notes = "".join(f"\n# {variable} is {state}" for variable, state in states.items())
    click.echo(f"{to_toml(values, origins)}{notes}")


def to_toml(values: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    """Format settings as TOML: strings, numbers and lists are as in JSON, except DEL."""
    tables: dict[str, str] = {"": ""}
    for name, value in values.items():
        table, _, leaf = name.rpartition(".")
        comment = f"  # {origins[name]}" if name in origins else ""
        line = f"{leaf} = {json.dumps(value, ensure_ascii=False)}{comment}\n"
        tables[table] = tables.get(table, f"\n[{table}]\n") + line
    return "".join(tables.values()).lstrip("\n").replace("\x7f", "\\u007f")


@click.command("doctor")
def doctor() -> None:
    """Check Python, models, disk, settings and web access. Exit code 6: something is missing."""
    from pincite.library.feedback import file_of
    from pincite.library.private_copies import folder_of
    from pincite.models import weights
    from pincite.models.session import cores, products_saturate
    from pincite.settings.schema import usual_files

    settings = options.load_settings({})
    click.echo(f"pincite   {version('pincite')}, Python {sys.version.split()[0]}")
    for file in usual_files():
        click.echo(f"settings  {file.resolve()}{'' if file.is_file() else ' (does not exist)'}")
    is_missing = False
    models = settings.models
    for role, name in weights.in_use(models.encoder, models.encoders, models.verifier):
        try:
            click.echo(f"{role:9} {weights.describe(name)}")
        except MissingModel as error:
            is_missing = True
            click.echo(f"{role:9} MISSING: {error}")
    products = "fast exact int8 products"
    speed = f"no {products} (VNNI): models run slower" if products_saturate() else products
    click.echo(f"processor {cores()} cores, {speed}")
    cache = existing = weights.cache_folder()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    low = " (LOW)" if free < NEEDED_FREE else ""
    click.echo(f"cache     {cache}, {free / 1e9:.1f} GB free{low}")
    click.echo(f"feedback  {file_of(settings.library.feedback_file)} (stays here)")
    click.echo(f"copies    {folder_of(settings.library.own_copies)} (your own; they stay here)")
    click.echo("network   nothing leaves this machine, except with: pincite models fetch ID")
    click.echo(f"          usage reports are off: {', '.join(SILENCED)}")
    for line in _sent_data(settings):
        click.echo(f"          {line}")
    for extra, libraries in shell.LIBRARIES.items():
        if not all(map(find_spec, libraries)):
            click.echo(f"extra     {extra} is not installed: {install_command(extra)}")
    if is_missing:
        raise click.exceptions.Exit(6)


def _sent_data(settings: "Settings") -> Iterator[str]:
    from pincite.models.weights import server_of
    from pincite.web.fetch import user_agent

    web, chat = settings.web, " and ".join((settings.chat.url, *settings.chat.servers))
    if web.online:
        yield "and requests for articles, which go to their wikis: the title,"
        yield "and requests for cited pages, which go to their hosts: the address,"
        if web.wayback:
            yield f"and cited addresses with dates, which go to {web.wayback_api},"
        if web.search_url:
            yield f"and failing claims and readings of statements, which go to {web.search_url},"
        yield f"{user_agent(web.contact)!r} and your IP address"
        if not web.contact:
            yield "(set contact, so that a host can write to you)"
        yield f"fetched pages are kept in {web.cache_file}"
    if settings.check.asks_a_model:
        yield f"and statements with passages, which go to {chat}"
    if settings.ask.answer == "model":
        yield f"and questions with abstracts, which go to {chat}"
    if settings.judge.url:
        yield f"and claims with their sources, which go to {settings.judge.url}"
    if verifier := server_of(settings.models.verifier):
        yield f"and claims with passages, which go to {verifier.url}"
    for name in (settings.models.encoder, *settings.models.encoders):
        if encoder := server_of(name):
            yield f"and documents of corpora, claims and questions, which go to {encoder.url}"


@click.group("models")
def models() -> None:
    """Download models; `pincite doctor` lists those in use."""


@models.command("fetch")
@click.argument("model")
def fetch(model: str) -> None:
    """Download MODEL, a Hugging Face id (ORGANISATION/NAME), into the cache."""
    from pincite.models import weights

    click.echo(weights.fetch(model))


@click.group("judges", invoke_without_command=True)
@options.config_option
@options.json_option
@click.pass_context
def judges(context: click.Context, config: Path | None, as_json: bool) -> None:
    """List the language models that were examined as judges, and what their opinions change.

    A model is examined before its first opinion; `pincite judges examine` does so again.
    """
    from pincite.llm.judge import describe, judges_file, read_judges

    if context.invoked_subcommand:
        return
    settings = options.load_settings({"config": config})
    known = read_judges(judges_file(settings.library.judges))
    if as_json:
        options.print_json(known)
        return
    for model, judge in known.judges.items():
        for pool, result in judge.examinations.items():
            click.echo(describe(pool, result))
        if judge.measured:
            right, said = judge.measured.confirmed
            click.echo(f"{model}: on your rows, {right} of {said} that only it supports are right")
    if not known.judges:
        options.say("No model was examined yet. Use one with --judge URL --judge-model NAME.")


@judges.command("examine")
@options.quiet_option
@options.setting_options("judge", "budget")
def examine_judge(quiet: bool, **given: Any) -> None:
    """Examine a model again: pincite judges examine --judge URL --judge-model NAME."""
    from pincite import runtime
    from pincite.llm.judge import describe

    settings = options.load_settings(given)
    if not settings.judge.url:
        raise click.UsageError("Expected --judge URL and --judge-model.")
    with runtime.judge(settings) as judge, options.progress(quiet) as display:
        examiner = runtime.examiner(settings, judge)
        examiner.on_progress = partial(display, "questions")
        results = {pool: examiner.examine(pool) for pool in ("en", "other")}
    for pool, result in results.items():
        click.echo(describe(pool, result))


@click.group("cache")
def cache() -> None:
    """Show or clear the cache, which saves fetching and judging anything twice.

    These commands are safe while another run is fetching.
    """


class _Cache(NamedTuple):
    """A cache other than that of pages: its name, its file, and what opens it."""

    name: str
    file: Path
    open: Callable[[Path], "CacheFile"]

    def count(self, act: Callable[["CacheFile"], int]) -> int:
        """Return what `act` counts in the cache; 0 if there is none."""
        if not self.file.exists():
            return 0
        with closing(self.open(self.file)) as opened:
            return act(opened)


def _caches() -> list[_Cache]:
    from pincite.documents import read
    from pincite.llm.calls import ReplyCache
    from pincite.models.session import LogitCache
    from pincite.runtime import judgements_file, replies_file

    return [
        _Cache("judged pairs", judgements_file(), LogitCache),
        _Cache("replies of language models", replies_file(), ReplyCache),
        _Cache("recognised scans", read.scans_file(), read.open_cache),
    ]


@cache.command("show")
@options.config_option
def show_cache(config: Path | None) -> None:
    """Print how much is kept, and where."""
    from pincite.durable import CacheFile, n_bytes
    from pincite.web.fetch import holdings

    pages = options.load_settings({"config": config}).web.cache_file
    size, n_pages = holdings(pages)
    click.echo(f"{n_pages:,} fetched pages and failures, {size / MEGABYTE:.1f} MB in {pages}")
    for kept in _caches():
        n_rows, size = kept.count(CacheFile.n_rows), n_bytes(kept.file)
        click.echo(f"{n_rows:,} {kept.name}, {size / MEGABYTE:.1f} MB in {kept.file}")


@cache.command("clear")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Remove only pages fetched more than DAYS ago.",
)
@click.option("--judgements", is_flag=True, help="Remove judged pairs, replies and scans instead.")
@options.config_option
def clear(older_than: float | None, judgements: bool, config: Path | None) -> None:
    """Remove fetched pages; with --judgements, judged pairs, replies and scans instead.

    Reports stay. The next run fetches or judges again.
    """
    from pincite.durable import CacheFile
    from pincite.web.fetch import FetchCache, holdings

    if judgements and older_than is not None:
        raise click.UsageError("--older-than is for pages only; --judgements removes everything.")
    if judgements:
        for kept in _caches():
            options.say(f"{kept.count(CacheFile.clear)} {kept.name} removed from {kept.file}")
        return
    pages = options.load_settings({"config": config}).web.cache_file
    before, _ = holdings(pages)
    days = -1 if older_than is None else older_than
    n_removed = 0
    if pages.exists():
        with closing(FetchCache(pages)) as opened:
            n_removed = opened.prune(days)
    freed = max(0, before - holdings(pages)[0]) / MEGABYTE
    options.say(f"{n_removed} addresses removed, {freed:.1f} MB freed")
