"""The local machine: `pincite config`, `models`, `cache` and `doctor`."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.errors import MissingModel

NEEDED_FREE = 500_000_000  # bytes: models, a corpus of some thousand pages, judged pairs
MEGABYTE = 1e6


@click.group("config")
def config() -> None:
    """Show and import settings.

    An option overrides a PINCITE_… variable, which overrides pincite.toml in this folder, which
    overrides the user's file.
    """


@config.command("show")
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
@options.json_option
@options.config_option
def show_settings(origin: bool, as_json: bool, config: Path | None) -> None:
    """Print every setting with its value; for secrets, only whether they are set."""
    from pincite.llm.chat import EMBEDDINGS_KEY_VARIABLE, JUDGE_KEY_VARIABLE, KEY_VARIABLE
    from pincite.settings import SHORT, Settings, schema

    found = schema.placed(Settings, {}, config, short=SHORT)
    given = schema.flat(schema.made(Settings, {name: each.value for name, each in found.items()}))
    origins = {name: found[name].origin if name in found else schema.DEFAULT for name in given}
    keys = {
        variable: "set" if os.environ.get(variable, "").strip() else "not set"
        for variable in (KEY_VARIABLE, JUDGE_KEY_VARIABLE, EMBEDDINGS_KEY_VARIABLE)
    }
    if as_json:
        rows = {name: {"value": value, "origin": origins[name]} for name, value in given.items()}
        for name, key in keys.items():
            rows[name] = {"value": key, "origin": f"variable {name}"}
        options.print_json(rows)
    else:
        secrets = "".join(f"\n# {name} is {key}" for name, key in keys.items())
        click.echo(f"{_toml(given, origins if origin else {})}{secrets}")


def _toml(given: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    """Format settings as TOML: strings, numbers and lists are as in JSON, except DEL."""
    from pincite.settings import Settings, schema

    lines, table = "", ""
    known = [name for name in schema.declared(Settings) if name in given]
    for name in dict.fromkeys((*known, *given)):  # then those of other tables
        at, _, leaf = name.rpartition(".")
        lines += f"\n[{at}]\n" if at != table else ""
        lines += f"{leaf} = {json.dumps(given[name], ensure_ascii=False)}"
        lines += f"  # {origins[name]}\n" if name in origins else "\n"
        table = at
    return lines.lstrip("\n").replace("\x7f", "\\u007f")


@config.command("path")
def path() -> None:
    """Print the files that settings are read from; the last one wins."""
    from pincite.settings.schema import usual_files

    for file in usual_files():
        click.echo(f"{file.resolve()}{'' if file.is_file() else '  (does not exist)'}")


@config.command("import")
@click.argument("files", type=options.FilePath, nargs=-1, required=True)
@click.option("-o", "--output", type=options.OutFile, help="Write to this file. [stdout]")
@click.option("--prompts", type=options.OutFolder, help="Write the prompts to this folder.")
@click.option("--texts", type=options.OutFolder, help="Write the application's texts there.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def import_settings(
    files: tuple[Path, ...],
    output: Path | None,
    prompts: Path | None,
    texts: Path | None,
    force: bool,
) -> None:
    """Convert EvidenceSeeker's YAML FILES (preprocessing, confirmation, retrieval).

    The file of its demo application is enough: it names the other three.

    Options without a counterpart are listed with the reason. Keys are never copied: the list says
    which variable to set instead.
    """
    from pincite.settings.evidenceseeker import imported

    result = imported(files)
    values, written = {**result.values}, dict[Path, str]()
    if prompts:
        # EvidenceSeeker names the language in English ("German") in every prompt.
        values["chat.prompts"] = str(prompts.resolve())
        values |= {"chat.prompt_language": "en", "check.passage_source": False}
        written |= {prompts / name: text for name, text in result.prompts.items()}
    for name, file in result.values.items():
        if isinstance(file, str) and file in result.texts:
            values.pop(name)
            if texts:
                values[name] = str((texts / file).resolve())
                written[texts / file] = result.texts[file]
    for path in (*([output] if output else ()), *written):
        if path.exists() and not force:
            raise click.UsageError(f"{path} exists; expected a new name, or --force.")
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        options.write(text, path)
    options.write(_toml(values, {}), output)
    if result.prompts and not prompts:
        options.say(f"{len(result.prompts)} prompts were left out: --prompts FOLDER keeps them.")
    if result.texts and not texts:
        options.say(f"{', '.join(result.texts)} were left out: --texts FOLDER keeps them.")
    for note in result.notes:
        options.say(": ".join(part for part in note if part))
    for path in (*([output] if output else ()), *written):
        options.say(f"written: {path.resolve()}", str(path) == "-")


@click.command("doctor")
def doctor() -> None:
    """Check Python, models, disk and settings. Exit code 6: something is missing."""
    from pincite.library.feedback import file_of
    from pincite.library.private_copies import folder_of
    from pincite.models import weights
    from pincite.models.session import cores, products_saturate

    settings = options.load_settings({})
    click.echo(f"pincite   {version('pincite')}, Python {sys.version.split()[0]}")
    missing = False
    for role, name in _models(settings.models):
        try:
            click.echo(f"{role:9} {weights.described(name)}")
        except MissingModel as error:
            missing = True
            click.echo(f"{role:9} MISSING: {error}")
    fast = "fast exact int8 products"
    if products_saturate():
        fast = f"no {fast} (VNNI): networks take longer"
    click.echo(f"processor {cores()} cores, {fast}")
    cache = existing = weights.cache_folder()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    low = " (LOW)" if free < NEEDED_FREE else ""
    click.echo(f"cache     {cache}, {free / 1e9:.1f} GB free{low}")
    click.echo(f"feedback  {file_of(settings.library.feedback_file)} (stays here)")
    click.echo(f"copies    {folder_of(settings.library.own_copies)} (your own; stay here)")
    click.echo("network   nothing leaves this machine, except by: pincite models fetch ID")
    for line in _leaving(settings):
        click.echo(f"          {line}")
    if missing:
        raise click.exceptions.Exit(6)


def _leaving(settings: Any) -> Iterator[str]:
    """Yield what the settings allow to be sent, and to whom."""
    from pincite.models.weights import served
    from pincite.web.fetch import user_agent

    web, chat = settings.web, settings.chat.url
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
    if found := served(settings.models.verifier):
        yield f"and claims with passages, which go to {found.url}"
    for found in filter(None, map(served, (settings.models.encoder, *settings.models.encoders))):
        yield f"and documents of corpora, claims and questions, which go to {found.url}"


def _models(models: Any) -> Any:
    from pincite.models import weights

    return weights.in_use(models.encoder, models.encoders, models.verifier)


@click.group("models")
def models() -> None:
    """List or fetch models. A name is looked up in the package, as a folder, and in the cache."""


@models.command("list")
def list_models() -> None:
    """Print the models in use, with their folders and fingerprints."""
    from pincite.models import weights

    for role, name in _models(options.load_settings({}).models):
        place = "" if weights.served(name) else f"  {weights.locate(name)}"
        click.echo(f"{role:9} {weights.described(name)}{place}")


@models.command("fetch")
@click.argument("model")
def fetch(model: str) -> None:
    """Download MODEL, a Hugging Face id (ORGANISATION/NAME), into the cache."""
    from pincite.models import weights

    click.echo(weights.fetch(model))


@click.group("cache")
def cache() -> None:
    """What is kept so that nothing is fetched or judged twice.

    These commands are safe while another run is fetching.
    """


@cache.command("show")
@options.json_option
@options.config_option
def show_cache(as_json: bool, config: Path | None) -> None:
    """Print how much is kept, where, and since when."""
    from pincite.llm.calls import ReplyCache
    from pincite.models.verifier import LogitCache
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
    click.echo(f"fetched pages   {held.n_bytes / MEGABYTE:.1f} MB in {pages}")
    click.echo(
        f"                pages: {held.n_pages} · failures: {held.n_failures} · "
        f"robots.txt: {held.n_robots} · out of date: {held.n_expired}"
    )
    if held.oldest:
        click.echo(f"                from {_day(held.oldest)} to {_day(held.newest)}")
    click.echo(f"judged pairs    {judged_bytes / MEGABYTE:.1f} MB in {judged}")
    click.echo(f"                pairs of claim and passage: {n_pairs}")
    click.echo(f"second opinions {n_replies} replies in {replies_file()}")


@cache.command("prune")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Age of the pages to remove. [web.cache_days of the settings, 30]",
)
@options.config_option
def prune(older_than: float | None, config: Path | None) -> None:
    """Remove pages and failures that were fetched long ago."""
    pages, _ = _files(config)
    days = options.load_settings({"config": config}).web.cache_days
    days = days if older_than is None else older_than
    _prune(pages, days, f" fetched more than {days:g} days ago")


@cache.command("clear")
@click.option("--judgements", is_flag=True, help="Remove judged pairs and replies instead.")
@options.config_option
def clear(judgements: bool, config: Path | None) -> None:
    """Remove all fetched pages; with --judgements, all judged pairs and second opinions instead.

    Reports stay. The next run fetches or judges again.
    """
    from pincite.llm.calls import ReplyCache
    from pincite.models.verifier import LogitCache
    from pincite.runtime import replies_file

    pages, judged = _files(config)
    if not judgements:
        _prune(pages, -1, "")
        return
    n_pairs = _of(LogitCache, judged, lambda kept: kept.forget())
    n_replies = _of(ReplyCache, replies_file(), lambda kept: kept.forget())
    options.say(f"{n_pairs} judged pairs removed from {judged}")
    options.say(f"{n_replies} replies of language models removed")


def _prune(pages: Path, days: float, which: str) -> None:
    from pincite.web import cache

    before = cache.holdings(pages).n_bytes
    n = cache.prune(pages, days)
    freed = max(0, before - cache.holdings(pages).n_bytes) / MEGABYTE
    options.say(f"{n} addresses{which} removed, {freed:.1f} MB freed")


def _of(kind: Callable[[Path], Any], file: Path, act: Callable[[Any], int]) -> int:
    if not file.exists():
        return 0
    with closing(kind(file)) as kept:
        return act(kept)


def _files(config: Path | None) -> tuple[Path, Path]:
    """Return the file of fetched pages and that of judged pairs."""
    from pincite.runtime import judgements_file

    return options.load_settings({"config": config}).web.cache_file, judgements_file()


def _day(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat() if seconds else None
