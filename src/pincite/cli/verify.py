"""`pincite verify`: an article's citations, worst first, with better sources; or those of many.

Of many articles (--titles, --category, --dump) one is done when its report lies in the folder under
its wiki and revision id, complete, made with the same settings and versions. So the same command
goes on where it was stopped or killed.
"""

import hashlib
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite import containment
from pincite.cli import options
from pincite.errors import InputError
from pincite.settings import Settings
from pincite.types import Article, Finding
from pincite.verbs.verify.records import Report
from pincite.wiki.files import PageText
from pincite.wiki.site.addresses import ArticleAddress, Site

if TYPE_CHECKING:
    from pincite.contract.verify import ReportRecord
    from pincite.library.parallel import Parallel
    from pincite.verbs.verify.articles import Wikis
    from pincite.verbs.verify.build import Run
    from pincite.verbs.verify.estimate import Estimate


@click.command("verify", short_help="check an article's citations, worst first")
@click.argument("article", required=False)
@options.corpus_option("Corpus that better sources come from")
@click.option("--sources", type=options.FilePath, help="Folder with copies of the cited pages.")
@click.option(
    "--suggest",
    type=click.Choice(["failing", "all"]),
    help="Claims that better sources are sought for. [failing]",
)
@click.option(
    "--uncited",
    "verify_uncited",
    is_flag=True,
    default=None,
    help="Also find sentences that need a citation and have none.",
)
@click.option("--title", help="Which page of a dump; the title of a wikitext file.")
@click.option("--language", help="Of the article, if not as it says: en, de, ja, …")
@click.option("--titles", "titles_path", type=options.FilePath, help="Articles, one a line.")
@click.option("--category", help="The articles of this category of the wiki.")
@click.option(
    "--dump",
    type=options.Address,
    help="A dump, every article of which is checked; s3:// and the like too.",
)
@click.option("--out", type=options.OutFolder, help="Folder for the reports of many articles.")
@click.option("--limit", type=int, help="Rows of the table on the terminal.")
@click.option("--show-excluded", is_flag=True, help="Which pages were found and left out, and why.")
@click.option("--json", "json_path", type=options.OutFile, help="Write JSON here (- stdout).")
@click.option("--csv", "csv_path", type=options.OutFile, help="Write CSV here (- stdout).")
@click.option("--html", "html_path", type=options.OutFile, help="Write one HTML page here.")
@click.option("--wikitext", "wikitext_path", type=options.OutFile, help="Write tags and refs.")
@click.option(
    "--fail-on",
    type=click.Choice(["not_supported", "refuted", "partly_supported", "unchecked"]),
    multiple=True,
    help="Exit with 1 if a claim has this verdict; may be given several times.",
)
@click.option("--estimate", is_flag=True, help="Say what would be done and how long; do nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no table.")
@options.web_options
@options.judge_options
@options.budget_options
@options.settings_options
@options.filter_options
@options.parallel_options
def command(
    article: str | None,
    corpus: tuple[Path | str, ...],
    sources: Path | None,
    title: str | None,
    **given: Any,
) -> None:
    """Check the citations of ARTICLE: a file, or with --online a title or address.

    A file is wikitext, an HTML page, a dump, or - for stdin; a title is an article of Wikipedia or
    of the wiki that is set, an address any form of link to it.

    \b
    pincite verify article.wiki --sources pages/ --corpus corpus/ --html report.html
    pincite verify dump.xml.bz2 --title "Joe Hipp" --corpus corpus/ --json -
    pincite verify "Joe Hipp" --online --html report.html
    pincite verify --titles list.txt --online --out reports/
    pincite verify --dump dump.xml.bz2 --sources pages/ --out reports/ --on ray

    Many articles (--titles, --category, --dump) leave a report each and a work-list in --out, the
    riskiest first; the same command goes on where it stopped, after Ctrl-C too.
    """
    from pincite.verbs.verify import articles, build

    outputs = {key: given.pop(f"{key}_path") for key in ("json", "csv", "html", "wikitext")}
    fail_on, quiet, limit = given.pop("fail_on"), given.pop("quiet"), given.pop("limit")
    titles, category, out = (given.pop(key) for key in ("titles_path", "category", "out"))
    excluded, estimate = given.pop("show_excluded"), given.pop("estimate")
    dump, on, workers = (given.pop(key) for key in ("dump", "on", "workers"))
    asked = given["wayback"]
    settings = options.settings_of(given)
    if asked and not settings.web.online:
        raise click.UsageError("--wayback asks archive.org: it needs --online.")
    corpora = [*corpus] or settings.library.places or None
    dump = dump and _here(dump, quiet)
    _check_spreading(on, dump, settings)
    if titles or category or dump:
        if article or not (out or estimate):
            raise click.UsageError("Expected --out FOLDER, and no ARTICLE beside a list of them.")
        batch = Batch(settings, titles, category, corpora, sources, quiet, dump)
        if estimate:
            print_estimate(batch.estimate(), settings, outputs["json"])
        else:
            batch.check(out, on, workers)
        return
    if not article:
        raise click.UsageError("Expected an ARTICLE, --titles FILE or --category NAME.")
    page = articles.opened(
        article,
        title,
        settings,
        lambda line: options.say(line, quiet),
        language=given.get("language"),
    )
    settings = settings.replace(language=page.language)
    with (
        options.progress(quiet) as shown,
        build.verifying(
            settings, corpora, sources, own_copies=True, fetching=fetched(shown)
        ) as run,
    ):
        if estimate:
            print_estimate(run.estimate(page), settings, outputs["json"])
            return
        announce_estimate(run, page, quiet)
        report = run.verify(page, options.teller(shown), in_passing(shown))
    deliver(report, outputs, limit=limit, quiet=quiet, excluded=excluded)
    if report.stopped:
        options.say(
            f"Stopped after {len(report.findings)} of {report.n_claims} claims. What was judged "
            "is kept: the same command goes on from here."
        )
        raise click.exceptions.Exit(130)
    if any(finding.label in fail_on for finding in report.findings):
        raise click.exceptions.Exit(1)


def _here(dump: Path | str, quiet: bool) -> Path:
    """The dump, copied if it lies elsewhere."""
    from pincite.library import download
    from pincite.models import weights

    with options.progress(quiet) as shown:
        folder = weights.cache_folder().parent / "spool"
        return download.local([dump], folder, options.teller(shown)).paths[0]


def _check_spreading(on: str, dump: Path | None, settings: Settings) -> None:
    """Refuse what workers cannot do."""
    if on != "local" and (not dump or settings.web.online or settings.judge.url):
        raise click.UsageError(
            "--on ray is for --dump, without --online and --judge: what is asked of hosts and "
            "servers is paced and counted by one process."
        )


HOST_WIDTH = 40  # characters of the progress line: longer names would push the bar off it


def print_estimate(plan: "Estimate", settings: Settings, json_path: Path | None) -> None:
    """An estimate that was asked for: on stdout, or as JSON where that is wanted."""
    from pincite.verbs.verify import estimate

    if json_path:
        options.write(estimate.to_json(plan, settings), json_path)
        return
    for line in estimate.lines(plan, settings):
        click.echo(line)


def announce_estimate(run: "Run", page: Article, quiet: bool) -> None:
    """An estimate before a run that asks anyone for anything; a quiet one makes none.

    It reads every source, and where all are at hand the first findings come sooner than it would.
    """
    from pincite.verbs.verify import estimate

    asks = run.settings.web.online or estimate.asks_a_server(run.settings)
    if quiet or not asks:
        return
    for line in estimate.lines(run.estimate(page), run.settings):
        options.say(f"  {line}")


def fetched(shown: Any) -> Callable[[Any], None]:
    """Progress of fetching: which host, and how many addresses are left."""
    from pincite.report.cells import one_line
    from pincite.text.hosts import host_of, snapshot_at

    tasks: list[Any] = []

    def step(now: Any) -> None:
        if now.state == "kept" and now.n_urls == 1:  # one page alone was looked at again
            return
        if not tasks:
            tasks.append(shown.add_task("fetching", total=None))
        copy = snapshot_at(now.url)
        what = f"fetching {one_line(host_of(copy.page if copy else now.url))}"[:HOST_WIDTH]
        if now.state == "sought":
            what = what.replace("fetching", "looking for an archived copy:", 1)
        elif copy:
            what += f" (archived copy{f' of {copy.date}' if copy.date else ''})"
        ended = now.n_done == now.n_urls
        shown.update(
            tasks[0],
            completed=now.n_done,
            total=now.n_urls,
            description=what,
            visible=not ended,
        )
        if ended:  # what is fetched next is another article's, or one page that was missing
            shown.reset(tasks[0], visible=False)

    return step


def in_passing(shown: Any) -> Callable[[Finding], None]:
    """Tells of each claim that needs an editor as soon as it is known, above the progress."""
    from pincite.verbs.verify import terminal

    def tell(finding: Finding) -> None:
        if not shown.disable and (line := terminal.in_passing(finding)):
            shown.console.print(line, no_wrap=True, overflow="ellipsis")

    return tell


def deliver(
    report: Report,
    outputs: dict[str, Path | None],
    *,
    limit: int | None,
    quiet: bool,
    excluded: bool = False,
) -> None:
    """As `options.deliver`."""
    from rich.console import Console

    from pincite.verbs.verify import csv, data, html, terminal, wikitext

    today = datetime.now(UTC).date()
    writers = {
        "json": lambda: data.to_json(report),
        "csv": lambda: csv.to_csv(report),
        "html": lambda: html.to_html(report, today),
        "wikitext": lambda: wikitext.to_wikitext(report, today),
    }

    def show() -> None:
        terminal.print_report(report, Console(), limit, excluded=excluded)

    options.deliver(writers, outputs, show, quiet)


SAMPLED = 5  # articles whose text is got for an estimate of many: a wiki is owed a rest too


@dataclass(frozen=True, slots=True)
class Batch:
    """Many articles, and what they are checked with."""

    settings: Settings
    titles: Path | None
    category: str | None
    corpora: Sequence[Path | str] | None
    sources: Path | None
    quiet: bool
    dump: Path | None = None

    def __post_init__(self) -> None:
        """Refuse a dump beside a list, and one that cannot be read twice."""
        if self.dump and (self.titles or self.category or str(self.dump) == "-"):
            raise click.UsageError(
                "Expected --dump FILE without --titles and --category. The file is read twice, "
                "once to count its articles."
            )

    def check(self, out: Path, on: str = "local", workers: int | None = None) -> None:
        """Check every article; the work-list is written even if the run is cut.

        `on`, `workers`: as `options.parallel_options` has them, for a dump.
        """
        with options.parallel(on, workers) as parallel:
            folder = self._check_dump(out, parallel) if self.dump else self._check_list(out)
        folder.show(self.quiet)

    def _check_list(self, out: Path) -> "Folder":
        from pincite.library import web_pages
        from pincite.verbs.verify import build

        with web_pages.open_web(self.settings.web) as web:
            wikis, addresses = self._listed(web)
            with (
                options.progress(self.quiet) as shown,
                build.verifying(
                    self.settings,
                    self.corpora,
                    self.sources,
                    own_copies=True,
                    fetching=fetched(shown),
                ) as run,
            ):
                folder = Folder(out, run, len(addresses))
                options.say(f"{len(addresses)} articles, reports in {out}", self.quiet)
                with folder.listed_at_end():
                    self._through_list(wikis, addresses, run, folder, shown)
        return folder

    def _through_list(
        self,
        wikis: "Wikis",
        addresses: Sequence[ArticleAddress],
        run: "Run",
        folder: "Folder",
        shown: Any,
    ) -> None:
        from pincite.verbs.verify import articles, build
        from pincite.wiki.site.pages import Page, Refused

        def is_done(site: Site, revision_id: str) -> bool:
            return folder.is_done(_name(site.host, revision_id))

        def report(page: Page) -> Report | str:
            article = wikis.article(page)
            announce_estimate(
                run, article, self.quiet or bool(seconds)
            )  # the first stands for the others
            return run.verify(article, tell)

        bar, tell = shown.add_task("articles", total=len(addresses)), options.teller(shown)
        seconds: list[float] = []  # of each article that was checked
        for number, address in enumerate(addresses, 1):
            page = articles.page_of(wikis, address, is_done)
            head = f"{number}/{len(addresses)}"
            if isinstance(page, Refused):
                options.say(f"{head} {page}", self.quiet)
                folder.not_checked(str(address), str(page))
            elif page is not None:
                left = _left(seconds, len(addresses) - number + 1)
                options.say(f"{head} {articles.about(page)}{left}", self.quiet)
                began = time.monotonic()
                found = containment.attempted(partial(report, page), build.could_not_be_checked)
                folder.take(str(address), _name(page.site.host, page.revision_id), found)
                seconds.append(time.monotonic() - began)
            shown.advance(bar)

    def _check_dump(self, out: Path, parallel: "Parallel") -> "Folder":
        """Every article of the dump, here or by Ray's workers; the reports are the same."""
        from pincite.library.parallel import Local
        from pincite.verbs.verify import build

        total = sum(1 for _ in _pages(self.dump))
        places = self.settings, self.corpora, self.sources
        with (
            options.progress(self.quiet) as shown,
            build.verifying(*places, own_copies=True) as run,
        ):
            folder = Folder(out, run, total)
            options.say(f"{total} articles, reports in {out}", self.quiet)
            here = isinstance(parallel, Local)
            report_on = run.report_on if here else build.Elsewhere(*places).report_on
            under_way = deque[PageText]()  # workers are ahead by some

            bar = shown.add_task("articles", total=total)

            def waiting() -> Iterator[PageText]:
                for page in _pages(self.dump):
                    if folder.is_done(_name_in_dump(str(self.dump), page)):
                        shown.advance(bar)
                    else:
                        under_way.append(page)
                        yield page

            with folder.listed_at_end():
                for found in parallel.map(report_on, waiting()):
                    page = under_way.popleft()
                    folder.take(page.title, _name_in_dump(str(self.dump), page), found)
                    shown.advance(bar)
        return folder

    def estimate(self) -> "Estimate":
        """What the whole list needs, judged by a few of its articles, whose text is got for it."""
        from pincite.library import web_pages
        from pincite.verbs.verify import articles, build, estimate
        from pincite.wiki.site.pages import Page

        if self.dump:
            raise click.UsageError("--estimate knows lists and single articles, not --dump.")

        with web_pages.open_web(self.settings.web) as web:
            wikis, addresses = self._listed(web)
            n = min(SAMPLED, len(addresses))
            chosen = [addresses[i * len(addresses) // n] for i in range(n)]
            pages = [articles.page_of(wikis, address, lambda *_: False) for address in chosen]
            found = [wikis.article(page) for page in pages if isinstance(page, Page)]
        if not found:
            why = f": {pages[0]}" if pages else ", since the list names none"
            raise InputError(f"none of {len(chosen)} articles could be read{why}")
        if len(found) < len(addresses):
            options.say(f"From {len(found)} of {len(addresses)} articles:", self.quiet)
        with build.verifying(self.settings, self.corpora, self.sources, own_copies=True) as run:
            return estimate.together([run.estimate(article) for article in found], len(addresses))

    def _listed(self, web: Any) -> tuple["Wikis", Sequence[ArticleAddress]]:
        from pincite.verbs.verify import articles

        lines = options.lines_of(self.titles) if self.titles else []
        wikis = articles.wikis_of(web, self.settings, lambda line: options.say(line, self.quiet))
        return wikis, articles.listed(wikis, self.settings, lines, self.category)


def _pages(dump: Path | None) -> Iterator[PageText]:
    from pincite.wiki.files import read_pages_of

    return read_pages_of(dump or "-", None)


def _left(seconds: Sequence[float], n_articles: int) -> str:
    """How long so many articles will take, by what the ones before took."""
    from pincite.verbs.verify.estimate import length

    rest = sum(seconds) / len(seconds) * n_articles if seconds else 0.0
    return f"; {length((rest, rest))} left for all" if rest >= 10 else ""


class Folder:
    """Where the reports of many articles lie, and the list over them."""

    def __init__(self, path: Path, run: "Run", n_articles: int) -> None:
        """Raises InputError if the folder cannot be made."""
        from pincite.verbs.verify.build import report_settings
        from pincite.verbs.verify.worklist import Row

        self._path, self._n_articles = path, n_articles
        self._settings, self._versions = report_settings(run.settings), run.versions
        self._rows: list[Row] = []
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path} cannot be made a folder: {error.strerror}.") from error

    def is_done(self, name: str) -> bool:
        """Whether a complete report, made as this run would, is there; then it is listed."""
        from pincite.contract import codec
        from pincite.contract.verify import ReportRecord
        from pincite.verbs.verify.build import decisive

        try:
            found = codec.from_file(ReportRecord, self._path / f"{name}.json")
        except InputError:
            return False  # not there, cut, of another version
        same = decisive(found.settings) == decisive(self._settings)
        if not (found.complete and same and found.versions == self._versions):
            return False
        self._add(found, name)
        return True

    def take(self, title: str, name: str, found: Report | str) -> None:
        """List an article with its report, which is kept, or with the reason why there is none.

        Raises:
            KeyboardInterrupt: Ctrl-C had cut the report short; what it holds is kept.
        """
        from pincite.verbs.verify.build import could_not_be_checked

        if isinstance(found, str):
            self.not_checked(title, found)
            return
        if found.findings or not found.stopped:
            with options.held_back():
                containment.attempted(
                    partial(self._keep, name, found),
                    lambda why: self.not_checked(title, could_not_be_checked(why)),
                )
        if found.stopped:
            raise KeyboardInterrupt

    def _keep(self, name: str, report: Report) -> None:
        """Write an article's report, its page first: the JSON says that it is done."""
        from pincite.contract import codec
        from pincite.verbs.verify import data, html

        options.write(html.to_html(report, datetime.now(UTC).date()), self._path / f"{name}.html")
        record = data.record_of(report)
        options.write(codec.to_json(record), self._path / f"{name}.json")
        self._add(record, name)

    def not_checked(self, title: str, why: str) -> None:
        """List an article that could not be read, with the reason."""
        from pincite.verbs.verify.worklist import Row

        self._rows.append(Row(title, problem=why))

    @contextmanager
    def listed_at_end(self) -> Iterator[None]:
        """Inside, articles are checked; the list is written even if that is cut by Ctrl-C."""
        try:
            yield
        except KeyboardInterrupt:
            with options.held_back():
                self.write_list()
            options.say("Stopped. The same command goes on from here.")
            raise click.exceptions.Exit(130) from None

    def show(self, quiet: bool) -> None:
        """Write the list of a run that came to its end, and print it."""
        with options.held_back():
            found = self.write_list()
        if not quiet:
            from rich.console import Console

            from pincite.verbs.verify import terminal

            terminal.print_list(found, Console())
        options.say(f"work-list: {(self._path / 'worklist.html').resolve()}", quiet)

    def write_list(self) -> Any:
        """The work-list in three forms; returns it."""
        from pincite.verbs.verify import worklist

        found = worklist.worklist(self._rows, self._n_articles)
        options.write(worklist.to_json(found), self._path / "worklist.json")
        options.write(worklist.to_csv(found), self._path / "worklist.csv")
        options.write(worklist.to_html(found), self._path / "worklist.html")
        return found

    def _add(self, report: "ReportRecord", name: str) -> None:
        from pincite.verbs.verify.worklist import row_of

        self._rows.append(row_of(report, f"{name}.html"))


def _name(host: str, revision_id: str) -> str:
    """A file's name: a revision id is one page's alone, on its wiki."""
    return re.sub(r"[^a-z0-9.-]", "_", f"{host}.{revision_id}".lower())


def _name_in_dump(dump: str, page: PageText) -> str:
    """The same of a page of a dump, whose name stands for the wiki; without a revision, by text."""
    text = f"{page.title}\0{page.source}".encode("utf-8", "surrogatepass")
    revision = page.revision_id or hashlib.sha256(text).hexdigest()[:16]
    return _name(Path(dump).name.partition(".")[0], revision)
