"""`pincite verify`: an article's citations, worst first, with better sources; or many articles.

With many articles (--titles, --category, --dump), an article is done when --out contains its
complete report, made with the same settings and versions, so running the command again resumes an
interrupted run.
"""

import math
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from pincite import codec, errors
from pincite.cli import options, shell
from pincite.errors import usable
from pincite.library import web_pages
from pincite.models import weights
from pincite.report.cells import one_line
from pincite.settings import Settings
from pincite.text.hosts import host_of, snapshot_at
from pincite.types import Article, Finding, Label
from pincite.verbs.verify import articles, cited_copies, render, terminal, worklist
from pincite.verbs.verify.report import Report, could_not_be_checked
from pincite.wiki.addresses import ArticleAddress
from pincite.wiki.api import Page, article_of
from pincite.wiki.article import PageText, read_pages_of

if TYPE_CHECKING:
    from pincite.verbs.verify.build import Estimate, Run

HOST_WIDTH = 40  # characters of status text, which leaves room for the bar
MOST_WARNINGS = 20
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
    type=LabelChoice([*LABELS, "references"]),
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
    titles: Path | None,
    category: str | None,
    dump: Path | str | None,
    out: Path | None,
    limit: int | None,
    worst: float | None,
    only: tuple[str, ...],
    as_draft: bool,
    show_excluded: bool,
    fail_on: tuple[str, ...],
    only_estimate: bool,
    quiet: bool,
    on: str,
    workers: int | None,
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
    given["verify_uncited"] = as_draft or given["verify_uncited"]
    settings = options.load_settings(given)
    if given["wayback"] and not settings.web.online:
        raise click.UsageError("--wayback queries archive.org, so it needs --online.")
    _check_dump(dump, titles or category, on, settings)
    corpora = [*corpus] or settings.library.places or None
    if titles or category or dump:
        if article or only_estimate or not out:
            raise click.UsageError(
                "A list of articles needs --out FOLDER, and takes no ARTICLE and no --estimate."
            )
        batch = Batch(settings, corpora, sources, out, quiet, worst)
        if dump:
            batch.check_dump(dump, on, workers)
        else:
            batch.check_list(titles, category)
        return
    if not article:
        raise click.UsageError("Expected an ARTICLE, --titles FILE or --category NAME.")
    say = partial(options.say, quiet=quiet)
    page = articles.open_article(article, title, settings, say, language=given["language"])
    with _open_run(page, settings, corpora, sources, quiet) as (run, display):
        if only_estimate:
            plan, to_file = run.estimate(page), outputs["json"]
            text = "\n".join((*terminal.estimate_lines(plan, run.settings), ""))
            options.write(codec.to_json(plan) if to_file else text, to_file)
            return
        if not quiet and terminal.asks_others(settings):
            _say_estimate(run.estimate(page), run.settings)
        report = run.verify(page, display, claim_printer(display))
    deliver(
        *(report, outputs),
        limit=_lower_limit(report, worst, limit) if worst else limit,
        quiet=quiet, excluded=show_excluded, only=only, draft=page if as_draft else None,
    )  # fmt: skip
    if report.stopped:
        n_done = len(report.findings)
        options.stop(
            f"Stopped after {n_done} of {report.n_claims} claims. Run the same command again to "
            "continue."
        )
    if any(finding.label in fail_on for finding in report.findings):
        raise click.exceptions.Exit(1)


def _check_dump(dump: Path | str | None, others: object, on: str, settings: Settings) -> None:
    if on != "local" and (not dump or settings.web.online or settings.judge.url):
        raise click.UsageError(
            "--on ray needs --dump, and excludes --online and --judge: only one process may "
            "count and pace requests."
        )
    if dump and (others or str(dump) == "-"):
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

    with (
        options.progress(quiet) as display,
        build.verifying_one(
            *(page, settings, corpora, sources),
            fetching=fetch_display(display),
            reading=partial(display, "reading sources"),
        ) as run,
    ):
        display.hide("reading sources")
        for line in cited_copies.lines(run.files) if run.files else ():
            options.say(line, quiet)
        yield run, display


def _lower_limit(report: Report, worst: float, limit: int | None) -> int:
    """Return how many rows are the `worst` share of the checked claims, at most `limit`."""
    n_checked = sum(finding.label is not Label.UNCHECKED for finding in report.findings)
    return min(limit or n_checked, math.ceil(worst * n_checked))


def _say_estimate(plan: "Estimate", settings: Settings) -> None:
    for line in terminal.estimate_lines(plan, settings):
        options.say(f"  {line}")


def fetch_display(display: options.Display) -> Callable[[Any], None]:
    """Return a function that shows the progress of fetching: host, and addresses left."""

    def step(now: Any) -> None:
        copy = snapshot_at(now.url)
        what = "looking for an archived copy:" if now.state == "archive" else "fetching"
        host = one_line(host_of(copy.page if copy else now.url))
        display("fetching", now.n_done, now.n_urls, f"{what} {host}"[:HOST_WIDTH])
        if now.n_done == now.n_urls:
            display.hide("fetching")

    return step


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
    limit: int | None,
    quiet: bool,
    excluded: bool = False,
    only: Collection[str] = (),
    draft: Article | None = None,
) -> None:
    """Write or show a report; of a `draft`, its article, only the sums."""
    today = datetime.now(UTC).date()
    writers = {
        "json": report.to_json,
        "csv": lambda: render.to_csv(report),
        "html": lambda: render.to_html(report),
        "wikitext": lambda: render.to_wikitext(report, today),
    }
    show = partial(terminal.print_report, report, Console(), limit, excluded=excluded, only=only)
    if draft:
        summary = render.draft_of(report, draft.source)
        writers["html"] = partial(render.draft_html, summary)
        show = partial(click.echo, "\n".join(render.draft_lines(summary)))
    options.deliver(writers, outputs, show, quiet)


@dataclass(frozen=True, slots=True)
class Batch:
    """Checks many articles; `out` gets a report of each, and a work-list over them."""

    settings: Settings
    corpora: Sequence[Path | str] | None
    sources: Sequence[Path]
    out: Path
    quiet: bool
    worst: float | None

    def check_list(self, titles: Path | None, category: str | None) -> None:
        """Check the articles of a file or a category; Ctrl-C still leaves a work-list."""
        with web_pages.open_web(self.settings.web) as web, options.progress(self.quiet) as display:
            wikis = articles.Wikis(web, self.settings, partial(options.say, quiet=self.quiet))
            places = self._list_places(wikis, titles, category)
            with (
                self._open_run(fetch_display(display)) as run,
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
                report_on = build.Elsewhere(self.settings, self.corpora, self.sources).report_on
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
        self, fetching: Callable[[Any], None] = lambda _: None
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
            raise click.exceptions.Exit(shell.PARTIAL)


@dataclass(slots=True)
class _ListChecker:
    run: "Run"
    folder: worklist.ReportFolder
    display: options.Display
    quiet: bool
    is_first: bool = True  # of the articles, which it represents in the estimate

    def check(self, head: str, place: Path | ArticleAddress, page: Page | Article) -> None:
        if isinstance(page, Article):
            name, title = worklist.name_in_file(Path(str(place)), page), page.title
            if self.folder.has(name):
                return
        else:
            name = worklist.name_of(page.site.host, page.revision_id)
            title = articles.about(page)
        options.say(f"{head} {title}", self.quiet)
        report = errors.attempted(partial(self._report_on, page), could_not_be_checked)
        self.folder.store(str(place), name, report)

    def _report_on(self, page: Page | Article) -> Report | str:
        article = article_of(page) if isinstance(page, Page) else page
        if self.is_first and not self.quiet and terminal.asks_others(self.run.settings):
            _say_estimate(self.run.estimate(article), self.run.settings)
        self.is_first = False
        return self.run.verify(article, self.display)
