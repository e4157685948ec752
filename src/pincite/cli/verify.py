"""`pincite verify`: an article's citations, worst first, with better sources; or many articles.

Of many articles, one is done when --out has its complete report, made with the same settings and
versions, so running the command again resumes an interrupted run.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from pincite import codec, errors
from pincite.cli import options
from pincite.errors import usable
from pincite.models import weights
from pincite.report.cells import one_line
from pincite.settings import Settings
from pincite.text.hosts import host_of, snapshot_at
from pincite.types import Article, Finding, Label
from pincite.verbs.verify import article_files, articles, estimate, render, terminal, worklist
from pincite.verbs.verify.estimate import Estimate
from pincite.verbs.verify.report import Report, could_not_be_checked, to_csv
from pincite.verbs.verify.terminal import REFERENCES
from pincite.verbs.verify.wikitext import to_wikitext
from pincite.wiki.addresses import ArticleAddress
from pincite.wiki.api import Page, article_of
from pincite.wiki.article import PageText, read_pages_of

if TYPE_CHECKING:
    from pincite.verbs.verify.build import Run
    from pincite.web.sources import FetchStep

MOST_WARNINGS = 20
HOST_WIDTH = 40  # characters of status text, which leaves room for the bar
LABELS = ("not_supported", "contradicted", "partly_supported", "disputed", "unchecked")


class LabelChoice(click.Choice[str]):
    """A label as it is printed (`not supported`, `contradicted?`), or by its name in JSON."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        given = str(value).rstrip("?").replace(" ", "_")
        others = {"could_not_check": "unchecked", "refuted": "contradicted"}
        shown = super().convert(others.get(given, given), param, ctx)
        return "refuted" if shown == "contradicted" else shown


def _single_article(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    if len(given) > 1:  # a shell has expanded `--sources pages/*.pdf`
        raise click.UsageError(
            f"Expected one ARTICLE, not {len(given)}. For several articles give --titles FILE; for "
            "several sources give --sources their folder, or repeat it for each file."
        )
    return given[0] if given else None


@dataclass(frozen=True, slots=True)
class ManyArticles:
    """The options that name many articles, and where their reports go."""

    titles: Path | None
    category: str | None
    dump: Path | str | None
    out: Path | None
    on: str
    workers: int | None


@dataclass(frozen=True, slots=True)
class View:
    """The options that choose what of a report is shown."""

    limit: int | None = None
    worst: float | None = None
    only: tuple[str, ...] = ()
    as_draft: bool = False
    show_excluded: bool = False

    def most_rows(self, report: Report) -> int | None:
        """Return how many rows to show: `limit`, or fewer if `worst` says so."""
        if self.worst is None:
            return self.limit
        n_checked = sum(finding.label is not Label.UNCHECKED for finding in report.findings)
        return min(self.limit or n_checked, math.ceil(self.worst * n_checked))


@click.command(
    "verify",
    cls=options.GroupedCommand,
    first="html_path json_path corpus sources online titles out suggest language fail_on",
)
@click.argument("article", metavar="[ARTICLE]", nargs=-1, callback=_single_article)
@options.corpus_option("Corpus to suggest better sources from.")
@click.option(
    "--sources",
    type=options.FilePath,
    multiple=True,
    help="Folder of saved copies of the cited pages, or one copy. Repeatable.",
)
@click.option("--title", help="Page to check in a dump, or the title of a wikitext file's article.")
@click.option("--titles", type=options.FilePath, help="File of titles or files, one per line.")
@click.option("--category", help="Check the articles in this category of the wiki.")
@click.option("--dump", type=options.Address, help="Check every article of a dump; may be s3://…")
@click.option("--out", type=options.OutFolder, help="Folder for the reports of many articles.")
@options.output_options(
    json="Write JSON (- for stdout).",
    csv="Write CSV.",
    html="Write one HTML page.",
    wikitext="Write tags and references to paste into the article.",
)
@click.option("--limit", type=int, help="Maximum rows in the terminal's table.")
@click.option(
    "--worst",
    type=options.Share,
    metavar="PERCENT",
    help="Show only the claims most likely to fail, such as 10%; with --out, also write worst.csv.",
)
@click.option(
    "--only",
    type=LabelChoice([*LABELS, REFERENCES]),
    multiple=True,
    help="Show only claims with this verdict, or with a reference to look at. Repeatable.",
)
@click.option("--draft", "as_draft", is_flag=True, help="Sum up a draft's sources on one screen.")
@click.option("--show-excluded", is_flag=True, help="List pages that were found but left out.")
@click.option(
    "--fail-on",
    type=LabelChoice(LABELS),
    multiple=True,
    help="Exit with code 1 if a claim has this verdict. Repeatable.",
)
@click.option(
    "--estimate",
    "only_estimate",
    is_flag=True,
    help="Only show the plan and how long it would take.",
)
@options.quiet_option
@options.setting_options(
    *("verify.suggest", "verify.uncited", "verify.k", "verify.threshold", "language", "models"),
    *("web", "judge", "budget", "filters"),
)
@options.parallel_options
def command(
    article: str | None,
    corpus: tuple[Path | str, ...],
    sources: tuple[Path, ...],
    title: str | None,
    only_estimate: bool,
    fail_on: tuple[str, ...],
    quiet: bool,
    **given: Any,
) -> None:
    """Check the citations of ARTICLE: a file, or with --online a title or an address.

    A file is wikitext, HTML, a manuscript with marks such as [1] and a list of references, a dump,
    or - for stdin. A title means an article on Wikipedia or on --wiki.

    \b
    pincite verify article.wiki --sources pages/ --corpus corpus/ --html report.html
    pincite verify dump.xml.bz2 --title "Joe Hipp" --corpus corpus/ --json -
    pincite verify "Joe Hipp" --online --html report.html
    pincite verify "Draft:Joe Hipp" --online --draft
    pincite verify --titles list.txt --online --out reports/
    pincite verify --dump dump.xml.bz2 --sources pages/ --out reports/ --on ray

    For many articles (--titles, --category, --dump), --out receives a report on each and a
    work-list, the riskiest article first. Run the same command again to continue after an
    interruption.
    """
    outputs = options.pop_outputs(given)
    many, view = options.pop_record(given, ManyArticles), options.pop_record(given, View)
    given["verify_uncited"] = view.as_draft or given["verify_uncited"]
    settings = options.load_settings(given)
    if given["wayback"] and not settings.web.online:
        raise click.UsageError("--wayback queries archive.org, so it needs --online.")
    corpora = [*corpus] or settings.library.places or None
    _check_dump(many, settings)
    if many.titles or many.category or many.dump:
        if article or only_estimate or not many.out:
            raise click.UsageError(
                "A list of articles needs --out FOLDER, and takes no ARTICLE and no --estimate."
            )
        batch = Batch(settings, corpora, sources, many.out, quiet, view.worst)
        if many.dump:
            batch.check_dump(many.dump, many.on, many.workers)
        else:
            batch.check_list(many.titles, many.category)
        return
    if not article:
        raise click.UsageError("Expected an ARTICLE, --titles FILE or --category NAME.")
    say = partial(options.say, quiet=quiet)
    page = articles.open_article(article, title, settings, say, language=given["language"])
    with _open_run(page, settings, corpora, sources, quiet) as (run, display):
        if only_estimate:
            _write_estimate(run.estimate(page), settings, outputs["json"])
            return
        say_estimate(run, page, quiet)
        report = run.verify(page, display, claim_printer(display))
    deliver(report, outputs, quiet=quiet, view=view, source=page.source)
    if report.stopped:
        n_done = len(report.findings)
        options.stop(
            f"Stopped after {n_done} of {report.n_claims} claims. Run the same command again to "
            "continue."
        )
    if any(finding.label in fail_on for finding in report.findings):
        raise click.exceptions.Exit(1)


def _check_dump(many: ManyArticles, settings: Settings) -> None:
    if many.on != "local" and (not many.dump or settings.web.online or settings.judge.url):
        raise click.UsageError(
            "--on ray needs --dump, and excludes --online and --judge: only one process may "
            "count and pace requests."
        )
    if many.dump and (many.titles or many.category or str(many.dump) == "-"):
        raise click.UsageError(
            "Expected --dump FILE without --titles and --category. The file is read twice, so it "
            "cannot be stdin."
        )


@contextmanager
def _open_run(
    page: Article,
    settings: Settings,
    corpora: Sequence[Path | str] | None,
    sources: Sequence[Path],
    quiet: bool,
) -> Iterator[tuple["Run", options.Display]]:
    """Read the sources of one article, and say which saved file is which source."""
    from pincite.verbs.verify import build

    with options.progress(quiet) as display:
        fetching = partial(show_fetching, display)
        reading = partial(display, "reading sources")
        with build.verifying_one(
            page, settings, corpora, sources, fetching=fetching, reading=reading
        ) as run:
            display.hide("reading sources")
            for line in article_files.describe(run.files) if run.files else ():
                options.say(line, quiet)
            yield run, display


def _write_estimate(plan: Estimate, settings: Settings, to_file: Path | None) -> None:
    """Print what a run would take; as JSON if there is a file for it, or "-"."""
    lines = "".join(f"{line}\n" for line in estimate.describe(plan, settings))
    options.write(codec.to_json(plan) if to_file else lines, to_file)


def claim_printer(display: options.Display) -> Callable[[Finding], None]:
    """Return a function that prints each claim that needs an editor, above the progress bar."""

    def print_claim(finding: Finding) -> None:
        if display.is_shown and (line := terminal.progress_line(finding)):
            display.bars.console.print(line, no_wrap=True, overflow="ellipsis")

    return print_claim


def deliver(
    report: Report,
    outputs: dict[str, Path | None],
    *,
    quiet: bool,
    view: View = View(),
    source: str = "",
) -> None:
    """Write or show a report. `source`: of the article, of which a draft's summary shows traces."""
    today = datetime.now(UTC).date()
    writers = {
        "json": report.to_json,
        "csv": lambda: to_csv(report),
        "html": lambda: render.to_html(report),
        "wikitext": lambda: to_wikitext(report, today),
    }
    show = partial(
        terminal.print_report,
        report,
        Console(),
        view.most_rows(report),
        excluded=view.show_excluded,
        only=view.only,
    )
    if view.as_draft:
        draft = render.draft_of(report, source)
        writers["html"] = partial(render.draft_html, draft)
        show = partial(click.echo, "\n".join(render.draft_lines(draft)))
    options.deliver(writers, outputs, show, quiet)


def show_fetching(display: options.Display, step: "FetchStep") -> None:
    """Show the host that is fetched from, and how many addresses are done."""
    copy = snapshot_at(step.url)
    what = "looking for an archived copy:" if step.state == "archive" else "fetching"
    host = one_line(host_of(copy.page if copy else step.url))
    display("fetching", step.n_done, step.n_urls, f"{what} {host}"[:HOST_WIDTH])
    if step.n_done == step.n_urls:
        display.hide("fetching")


def say_estimate(run: "Run", article: Article, quiet: bool) -> None:
    """Say what the work for an article takes, unless it is too quick for that."""
    if not quiet and estimate.waits_for_servers(run.settings):
        for line in estimate.describe(run.estimate(article), run.settings):
            options.say(f"  {line}")


@dataclass(frozen=True, slots=True)
class Batch:
    """Checks many articles; `out` gets a report of each, and a work-list over them."""

    settings: Settings
    corpora: Sequence[Path | str] | None
    sources: Sequence[Path]
    out: Path
    quiet: bool
    worst: float | None  # share of the claims that also go to worst.csv

    def check_list(self, titles: Path | None, category: str | None) -> None:
        """Check the articles of a file or a category; Ctrl-C still leaves a work-list."""
        from pincite.library.web_pages import open_web

        with open_web(self.settings.web) as web, options.progress(self.quiet) as display:
            wikis = articles.Wikis(web, self.settings, partial(options.say, quiet=self.quiet))
            places = self._list_places(wikis, titles, category)
            with (
                self._open_run(partial(show_fetching, display)) as run,
                self._folder(len(places), run) as folder,
            ):
                checker = _ListChecker(run, folder, display, self.quiet)
                for number, place in enumerate(places, 1):
                    page = articles.page_of(wikis, place, folder.has_revision, self.settings)
                    head = f"{number}/{len(places)}"
                    if isinstance(page, Exception):
                        options.say(f"{head} {page}", self.quiet)
                        folder.add_problem(str(place), str(page))
                    elif page is not None:
                        checker.check(head, place, page)
                    display("articles", number, len(places))

    def _list_places(
        self, wikis: articles.Wikis, titles: Path | None, category: str | None
    ) -> list[Path | ArticleAddress]:
        """Return the files named in `titles`, then the other articles."""
        lines = options.read_lines(titles) if titles else []
        files = [line for line in lines if line != "-" and articles.is_file(line)]
        others = [line for line in lines if line not in files]
        addresses = articles.list_articles(wikis, self.settings, others, category)
        return [*map(Path, dict.fromkeys(files)), *addresses]

    def check_dump(self, dump: Path | str, on: str, workers: int | None) -> None:
        """Check every article of a dump, here or by workers; the reports are the same."""
        from pincite.documents import inputs
        from pincite.verbs.verify import build

        with options.progress(self.quiet) as display:
            cache = weights.cache_folder().parent / "downloads"
            (local,) = inputs.local([dump], cache, display).paths
        total = sum(1 for _ in read_pages_of(local, None))
        with (
            options.parallel(on, workers) as parallel,
            options.progress(self.quiet) as display,
            self._open_run() as run,
            self._folder(total, run) as folder,
        ):
            report_on = run.report_on
            if parallel.is_remote:
                report_on = build.WorkerRun(self.settings, self.corpora, self.sources).report_on
            started = deque[PageText]()  # workers run ahead

            def remaining_pages() -> Iterator[PageText]:
                for page in read_pages_of(local, None):
                    if not folder.has(worklist.name_in_file(local, page)):
                        started.append(page)
                        yield page

            for report in parallel.map(report_on, remaining_pages()):
                page = started.popleft()
                folder.store(page.title, worklist.name_in_file(local, page), report)
                display("articles", folder.n_done, total)

    def _open_run(
        self, fetching: Callable[["FetchStep"], None] = lambda step: None
    ) -> AbstractContextManager["Run"]:
        from pincite.verbs.verify import build

        return build.verifying(
            self.settings, self.corpora, self.sources, own_copies=True, fetching=fetching
        )

    @contextmanager
    def _folder(self, n_articles: int, run: "Run") -> Iterator[worklist.ReportFolder]:
        """Write the work-list when the block ends, even after Ctrl-C."""
        with usable(self.out, "created"):
            self.out.mkdir(parents=True, exist_ok=True)
        options.say(f"{n_articles} articles, reports in {self.out}", self.quiet)
        for warning in run.warnings[:MOST_WARNINGS]:
            options.say(f"warning: {warning}", self.quiet)
        folder = worklist.ReportFolder(self.out, run.wrote, self.worst)
        with options.resumable():
            try:
                yield folder
            finally:
                work_list = folder.write_list(n_articles)
        if not self.quiet:
            terminal.print_list(work_list, Console())
        options.say(f"work-list: {(self.out / 'worklist.html').resolve()}", self.quiet)
        if work_list.n_failed:
            raise click.exceptions.Exit(options.PARTIAL)


@dataclass(slots=True)
class _ListChecker:
    """Checks the articles of a list one after another."""

    run: "Run"
    folder: worklist.ReportFolder
    display: options.Display
    quiet: bool
    is_first: bool = True  # of the articles, which it represents in the estimate

    def check(self, head: str, place: Path | ArticleAddress, page: Page | Article) -> None:
        """Check an article unless its report is there; `head`: its number in the list."""
        if isinstance(page, Article):
            name, title = worklist.name_in_file(Path(str(place)), page), page.title
            if self.folder.has(name):
                return
        else:
            name = worklist.name_of(page.site.host, page.revision_id)
            title = articles.about(page)
        options.say(f"{head} {title}", self.quiet)
        report = errors.attempt(partial(self._report_on, page), could_not_be_checked)
        self.folder.store(str(place), name, report)

    def _report_on(self, page: Page | Article) -> Report | str:
        article = article_of(page) if isinstance(page, Page) else page
        say_estimate(self.run, article, self.quiet or not self.is_first)
        self.is_first = False
        return self.run.verify(article, self.display)
