"""`pincite watch`: findings for the articles of a wiki that hold while they are edited."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli import options
from pincite.errors import InputError, PinciteError

if TYPE_CHECKING:
    from pincite.wiki.addresses import Site
    from pincite_watch.lists import Watched
    from pincite_watch.store import Watch
    from pincite_watch.watcher import Limits, Plan, Watcher

POLL_SECONDS = 60.0  # between two looks at the recent changes
MOST_LISTED = 500  # rows of a list for a project page
MOST_NAMED = 5  # titles in a message


@click.command(
    "watch",
    cls=options.GroupedCommand,
    short_help="check the articles of a wiki whenever they are edited",
    first="titles category pagepile petscan new_pages online once list_path status data",
)
@click.option("--titles", type=options.FilePath, help="File of titles, one per line.")
@click.option("--category", multiple=True, help="Watch the pages of a category. Repeatable.")
@click.option("--pagepile", type=int, multiple=True, help="Watch the pages of a PagePile.")
@click.option(
    "--petscan", type=int, multiple=True, help="Watch the pages of a saved PetScan query."
)
@click.option("--namespace", type=int, default=0, help="Of --category and --new-pages. [0]")
@click.option(
    "--drafts", type=int, metavar="NAMESPACE", help="Watch all pages of a namespace: 118."
)
@click.option(
    "--new-pages/--no-new-pages",
    default=None,
    help="Also watch pages that are created from now on.",
)
@click.option("--once", is_flag=True, help="Stop when no page is due.")
@click.option("--list", "list_path", type=options.OutFile, help="Only write a list in wikitext.")
@click.option("--status", is_flag=True, help="Only show what was watched, found and used.")
@options.json_option
@click.option("--citations", type=float, help="Citations to judge in a day. [5000]")
@click.option("--cpu-seconds", type=float, help="CPU-seconds to use in a day. [43200]")
@click.option("--requests", type=float, help="Requests to a host in a day. [500]")
@click.option("--settle", type=float, help="Seconds to wait after the last edit. [600]")
@click.option("--expire-days", type=float, help="Days until an unconfirmed finding ends. [30]")
@click.option(
    "--publish", multiple=True, metavar="KIND", help="Also publish a kind of finding: other_number."
)
@click.option("--public/--private", default=None, help="Whether findings are read without a login.")
@click.option("--sources", type=options.FilePath, multiple=True, help="Saved copies of sources.")
@options.corpus_option("Corpus to suggest better sources from.")
@click.option("--data", help="Folder of the server's database.")
@options.quiet_option
@options.setting_options("verify.suggest", "language", "models", "web", "judge", "budget")
def command(
    titles: Path | None,
    new_pages: bool | None,
    once: bool,
    list_path: Path | None,
    status: bool,
    as_json: bool,
    public: bool | None,
    sources: tuple[Path, ...],
    corpus: tuple[Path | str, ...],
    data: str | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Check the articles of a wiki, and again whenever they are edited.

    \b
    pincite watch --titles list.txt --online
    pincite watch --category "Harbours" --new-pages --online --once
    pincite watch --online
    pincite watch --list worklist.wiki

    Findings are stored in the database of `pincite serve`, whose API editors' tools read. What
    is watched is stored there, too: a later start needs to name nothing, and adds what it names. A
    finding moves with its sentence. Only sentences whose text, references or sources changed are
    judged again. Ctrl-C or a crash loses nothing.
    """
    from pincite.verbs.verify import articles
    from pincite_watch import routes, shown
    from pincite_watch.watcher import wiki_name

    config = given["config"]
    limits, plan, named = _limits(given), _plan(given), _additions(given, new_pages)
    settings = options.load_settings(given)
    site = articles.home(settings)
    wiki = wiki_name(site)
    problem = None
    with _open_store(data, config) as store, options.resumable():
        if list_path:
            rows = store.published_rows(wiki, None, None, MOST_LISTED)
            options.write(shown.worklist(rows), list_path)
            return
        if public is not None:
            store.set_note(wiki, routes.PUBLIC, "1" if public else "")
        if not status:
            articles.require_online(settings, "articles", site)
            with _watcher(store, settings, corpus, sources, limits, plan, quiet) as watcher:
                store.publish(wiki, plan.publish)
                if new_pages is False:
                    watcher.ignore_new_pages()
                _add(watcher, titles, named)
                problem = _watch(watcher, once=once)
        if status or as_json or once:
            figures = store.status()
            if as_json:
                options.print_json(figures)
            else:
                click.echo(routes.metrics_text(figures), nl=False)
    if problem:
        raise problem


def _limits(given: dict[str, Any]) -> "Limits":
    from pincite_watch.watcher import Limits

    names = ("citations", "cpu_seconds", "requests")
    return Limits(**{name: n for name in names if (n := given.pop(name)) is not None})


def _plan(given: dict[str, Any]) -> "Plan":
    from pincite_watch.gate import PUBLISHED, Kind
    from pincite_watch.watcher import Plan

    more = given.pop("publish")
    if unknown := [name for name in more if name not in set(Kind)]:
        kinds = ", ".join(Kind)
        raise click.BadParameter(f"{unknown[0]} is none of {kinds}.", param_hint="--publish")
    names = {"expire_days": "expire_days", "settle": "settle_seconds"}
    times = {names[name]: n for name in names if (n := given.pop(name)) is not None}
    return Plan(publish=PUBLISHED | frozenset(map(Kind, more)), **times)


@contextmanager
def _open_store(data: str | None, config: Path | None) -> Iterator["Watch"]:
    from pincite_server.database import Database
    from pincite_server.settings import load
    from pincite_watch.store import Watch

    url = load({"data": data} if data else {}, config).database_url
    with closing(Database(url)) as database:
        database.create_tables()
        yield Watch(database)


@contextmanager
def _watcher(
    store: "Watch",
    settings: Any,
    corpus: tuple[Path | str, ...],
    sources: tuple[Path, ...],
    limits: "Limits",
    plan: "Plan",
    quiet: bool,
) -> Iterator["Watcher"]:
    from pincite.library import web_pages
    from pincite.text.hosts import host_of
    from pincite.verbs.verify import articles, build
    from pincite_watch.watcher import Usage, Watcher

    usage = Usage(host_of(settings.web.wayback_api))
    corpora = [*corpus] or settings.library.places or None

    def tell(line: str) -> None:
        options.say(line, quiet)

    with (
        web_pages.open_web(settings.web) as web,
        build.verifying(settings, corpora, sources or None, fetching=usage.fetching) as run,
    ):
        api = articles.api_of(articles.home(settings), web, settings, tell)
        yield Watcher(store, api, run, limits, plan, usage, tell)


def _additions(given: dict[str, Any], new_pages: bool | None) -> "Watched":
    """What the options add to what is watched."""
    from pincite_watch.lists import Watched

    space, drafts = given.pop("namespace"), given.pop("drafts")
    of_drafts = () if drafts is None else (drafts,)
    return Watched(
        categories=tuple((name, space) for name in given.pop("category")),
        piles=given.pop("pagepile"),
        queries=given.pop("petscan"),
        drafts=of_drafts,
        new_in=(*((space,) if new_pages else ()), *of_drafts),
        namespaces=(space, *of_drafts),
    )


def _add(watcher: "Watcher", titles: Path | None, named: "Watched") -> None:
    """Watch what the options name, and what earlier ones named."""
    watcher.watch(named)
    listed = [*_titles(titles, watcher.api.site), *watcher.watched.titles(watcher.api)]
    if listed:
        added = watcher.store.add(watcher.wiki, [name[:1].upper() + name[1:] for name in listed])
        watcher.tell(f"{len(listed)} pages listed, {added} of them new")


def _titles(path: Path | None, site: "Site") -> list[str]:
    from pincite.wiki.addresses import addresses_in

    pages = addresses_in(options.read_lines(path), site) if path else []
    if others := [str(page) for page in pages if page.site != site or not page.title]:
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        raise InputError(
            f"{path}: no titles of {site.host}: {'; '.join(others[:MOST_NAMED])}{more}. "
            "Watch each wiki by a watcher of its own."
        )
    return [page.title for page in pages if page.title]


def _watch(watcher: "Watcher", *, once: bool) -> PinciteError | None:
    """Check what is due, for ever or `once`; return why changes could not be read the last time."""
    while True:
        problem = watcher.follow()
        watcher.store.expire()
        until = time.monotonic() + POLL_SECONDS
        while (is_due := watcher.step()) and time.monotonic() < until:
            pass
        if is_due:  # changed pages come before the others that wait
            continue
        if once:
            return problem
        time.sleep(POLL_SECONDS)
