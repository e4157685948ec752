"""`pincite verify`: an article's citations, worst first, with better sources; or many articles."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from pincite import codec
from pincite.cli import options
from pincite.errors import usable
from pincite.models import weights
from pincite.report.cells import one_line
from pincite.settings import Settings
from pincite.text.hosts import host_of, snapshot_at
from pincite.types import Article, Finding, Label
from pincite.verbs.verify import article_files, articles, estimate, render, terminal
from pincite.verbs.verify.report import Report
from pincite.verbs.verify.terminal import REFERENCES
from pincite.verbs.verify.wikitext import to_wikitext
from pincite.wiki.article import read_pages_of

if TYPE_CHECKING:
    from pincite.verbs.verify.batch import ReportFolder
    from pincite.verbs.verify.build import Run
    from pincite.web.sources import FetchStep

MOST_WARNINGS = 20  # of a batch
HOST_WIDTH = 40  # characters of status text, which leaves room for the bar
LABELS = ("not_supported", "contradicted", "partly_supported", "disputed", "unchecked")
# Parameters of the report on one article, which a list of articles has no use for.
ONE_ARTICLE_ONLY = frozenset(
    "article title limit only as_draft show_excluded only_estimate fail_on json_path csv_path "
    "html_path wikitext_path".split()
)
_OTHER_NAMES = {"could_not_check": "unchecked", "refuted": "contradicted"}


class LabelChoice(click.Choice[str]):
    """A label as it is printed (`not supported`, `contradicted?`), or by its name in JSON."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        name = str(value).rstrip("?").replace(" ", "_")
        chosen = super().convert(_OTHER_NAMES.get(name, name), param, ctx)
        return Label.REFUTED if chosen == "contradicted" else chosen


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

    def check(self, settings: Settings, context: click.Context) -> None:
        """Raise UsageError if these options contradict each other, the settings, or others."""
        is_list = bool(self.titles or self.category or self.dump)
        if self.out and not is_list:
            raise click.UsageError("--out needs --titles, --category or --dump.")
        if is_list and not self.out:
            raise click.UsageError("A list of articles needs --out FOLDER.")
        if is_list and (wrong := _given_for_one(context)):
            raise click.UsageError(f"A list of articles takes no {' and no '.join(wrong)}.")
        if self.on != "local" and (not self.dump or settings.web.online or settings.judge.url):
            raise click.UsageError(
                "--on ray needs --dump, and excludes --online and --judge: only one process may "
                "count and pace requests."
            )
        if self.dump and (self.titles or self.category or str(self.dump) == "-"):
            raise click.UsageError(
                "Expected --dump FILE without --titles and --category. The file is read twice, so "
                "it cannot be stdin."
            )


def _given_for_one(context: click.Context) -> list[str]:
    """Return the parameters of one article that were given, as they are typed."""
    given = [
        param
        for param in context.command.params
        if param.name in ONE_ARTICLE_ONLY
        and not any(context.params[param.name] is none for none in (None, False, ()))
    ]
    return [p.opts[0] if isinstance(p, click.Option) else str(p.name).upper() for p in given]


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
        worst = math.ceil(round(self.worst * n_checked, 6))  # 7 % of 100 are 7
        return worst if self.limit is None else min(self.limit, worst)


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
@click.option("--limit", type=click.IntRange(0), help="Maximum rows in the terminal's table.")
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
    many = ManyArticles(**_take(given, "titles", "category", "dump", "out", "on", "workers"))
    view = View(**_take(given, "limit", "worst", "only", "as_draft", "show_excluded"))
    given["verify_uncited"] = view.as_draft or given["verify_uncited"]
    settings = options.load_settings(given)  # what remains are settings
    if given["wayback"] and not settings.web.online:
        raise click.UsageError("--wayback queries archive.org, so it needs --online.")
    many.check(settings, click.get_current_context())
    checker = _Checker(settings, corpus or tuple(settings.library.places) or None, sources, quiet)
    if many.out:
        batch = _Batch(checker, many.out, view.worst)
        if many.dump:
            batch.check_dump(many.dump, many.on, many.workers)
        else:
            batch.check_list(many.titles, many.category)
        return
    if not article:
        raise click.UsageError("Expected an ARTICLE, --titles FILE, --category NAME or --dump.")
    page = articles.open_article(article, title, settings, checker.say, language=given["language"])
    if only_estimate:
        checker.estimate(page, outputs["json"])
        return
    report = checker.check(page)
    deliver(report, outputs, quiet=quiet, view=view, source=page.source)
    if report.stopped:
        n_done = len(report.findings)
        options.stop(
            f"Stopped after {n_done} of {report.n_claims} claims. Run the same command again to "
            "continue."
        )
    if any(finding.label in fail_on for finding in report.findings):
        raise click.exceptions.Exit(1)


def _take(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """Remove these options, and return them by name."""
    return {name: given.pop(name) for name in names}


@dataclass(frozen=True, slots=True)
class _Checker:
    """What articles are checked with, one or many."""

    settings: Settings
    corpora: tuple[Path | str, ...] | None
    sources: tuple[Path, ...]
    quiet: bool

    @property
    def inputs(self) -> tuple[Settings, tuple[Path | str, ...] | None, tuple[Path, ...]]:
        return self.settings, self.corpora, self.sources

    def say(self, line: str) -> None:
        options.say(line, self.quiet)

    def estimate(self, page: Article, to_file: Path | None) -> None:
        """Print what a check of the article would do and take, or write it as JSON."""
        with options.progress(self.quiet) as display, self._open(page, display) as run:
            plan = run.estimate(page)
        lines = "".join(f"{line}\n" for line in estimate.describe(plan, self.settings))
        options.write(codec.to_json(plan) if to_file else lines, to_file)

    def check(self, page: Article) -> Report:
        with options.progress(self.quiet) as display, self._open(page, display) as run:
            run.say_estimate(page, self.say)
            return run.verify(page, display, claim_printer(display))

    @contextmanager
    def _open(self, page: Article, display: options.Display) -> Iterator["Run"]:
        from pincite.verbs.verify import build

        fetching, reading = partial(show_fetching, display), partial(display, "reading sources")
        opened = build.verifying_one(page, *self.inputs, fetching=fetching, reading=reading)
        with opened as run:
            display.hide("reading sources")
            for line in article_files.describe(run.files) if run.files else ():
                self.say(line)
            yield run


def claim_printer(display: options.Display) -> Callable[[Finding], None]:
    """Return a function that prints each claim that needs an editor, above the progress bar."""

    def print_claim(finding: Finding) -> None:
        if display.is_shown and (line := terminal.progress_line(finding)):
            display.bars.console.print(line, no_wrap=True, overflow="ellipsis")

    return print_claim


def deliver(
    report: Report,
    outputs: Mapping[str, Path | None],
    *,
    quiet: bool,
    view: View = View(),
    source: str = "",
) -> None:
    """Write or show a report. `source`: of the article, of which a draft's summary shows traces."""
    today = datetime.now(UTC).date()
    draft = render.draft_of(report, source) if view.as_draft else None
    writers = {
        "json": report.to_json,
        "csv": lambda: render.to_csv(report),
        "html": lambda: render.draft_html(draft) if draft else render.to_html(report),
        "wikitext": lambda: to_wikitext(report, today),
    }

    def show() -> None:
        if draft:
            click.echo("\n".join(render.draft_lines(draft)))
            return
        rows, excluded = view.most_rows(report), view.show_excluded
        terminal.print_report(report, Console(), rows, excluded=excluded, only=view.only)

    options.deliver(writers, outputs, show, quiet)


def show_fetching(display: options.Display, step: "FetchStep") -> None:
    """Show the host that is fetched from, and how many addresses are done."""
    copy = snapshot_at(step.url)
    what = "looking for an archived copy:" if step.state == "archive" else "fetching"
    host = one_line(host_of(copy.page if copy else step.url))
    display("fetching", step.n_done, step.n_urls, f"{what} {host}"[:HOST_WIDTH])
    if step.n_done == step.n_urls:
        display.hide("fetching")


@dataclass(frozen=True, slots=True)
class _Batch:
    """Checks many articles; `out` gets a report of each, and a work-list over them."""

    checker: _Checker
    out: Path
    worst: float | None  # share of the claims that also go to worst.csv

    def check_list(self, titles: Path | None, category: str | None) -> None:
        from pincite.library.web_pages import open_web
        from pincite.verbs.verify import batch, build

        checker = self.checker
        with open_web(checker.settings.web) as web, options.progress(checker.quiet) as display:
            wikis = articles.Wikis(web, checker.settings, checker.say)
            lines = options.read_lines(titles) if titles else []
            places = batch.list_places(wikis, lines, category)
            fetching = partial(show_fetching, display)
            with (
                build.verifying(*checker.inputs, own_copies=True, fetching=fetching) as run,
                self._open_folder(len(places), run) as folder,
            ):
                batch.check_list(run, places, wikis, folder, display)

    def check_dump(self, dump: Path | str, on: str, workers: int | None) -> None:
        from pincite.documents import inputs
        from pincite.verbs.verify import batch, build

        checker = self.checker
        with options.progress(checker.quiet) as display:  # of the download, not of the articles
            cache = weights.cache_folder().parent / "downloads"
            (local,) = inputs.local([dump], cache, display).paths
        total = sum(1 for _ in read_pages_of(local, None))
        with (
            options.parallel(on, workers) as parallel,
            options.progress(checker.quiet) as display,
            build.verifying(*checker.inputs, own_copies=True) as run,
            self._open_folder(total, run) as folder,
        ):
            if parallel.is_remote:  # each worker opens the sources and the models itself
                report_on = batch.Worker(*checker.inputs).report_on
            else:
                report_on = partial(batch.report_on, run)
            show = partial(display, "articles", total=total)
            batch.check_dump(local, folder, report_on, parallel, show)

    @contextmanager
    def _open_folder(self, n_articles: int, run: "Run") -> Iterator["ReportFolder"]:
        """Write the work-list when the block ends, even by Ctrl-C; print it if all was done."""
        from pincite.verbs.verify import batch, worklist

        with usable(self.out, "created"):
            self.out.mkdir(parents=True, exist_ok=True)
        self.checker.say(f"{n_articles} articles, reports in {self.out}")
        for warning in run.warnings[:MOST_WARNINGS]:
            self.checker.say(f"warning: {warning}")
        folder = batch.ReportFolder(self.out, run.wrote, self.worst)
        with options.resumable():
            try:
                yield folder
            finally:
                work_list = folder.write_list(n_articles)
        if not self.checker.quiet:
            worklist.print_list(work_list, Console())
        self.checker.say(f"work-list: {(self.out / 'worklist.html').resolve()}")
        if work_list.n_failed:
            raise click.exceptions.Exit(options.PARTIAL)
