"""Checks many articles for `pincite verify`: a list of titles, a category, or a dump.

An article is done when the folder of the reports has its complete report, made with the same
settings and versions, so running the command again resumes an interrupted run.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from pincite import errors
from pincite.cli import options
from pincite.errors import usable
from pincite.library import web_pages
from pincite.models import weights
from pincite.report.cells import one_line
from pincite.settings import Settings
from pincite.text.hosts import host_of, snapshot_at
from pincite.types import Article
from pincite.verbs.verify import articles, estimate, terminal, worklist
from pincite.verbs.verify.report import Report, could_not_be_checked
from pincite.wiki.addresses import ArticleAddress
from pincite.wiki.api import Page, article_of
from pincite.wiki.article import PageText, read_pages_of

if TYPE_CHECKING:
    from pincite.verbs.verify.build import Run
    from pincite.web.sources import FetchStep

MOST_WARNINGS = 20
HOST_WIDTH = 40  # characters of status text, which leaves room for the bar


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
        with web_pages.open_web(self.settings.web) as web, options.progress(self.quiet) as display:
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
        report = errors.attempted(partial(self._report_on, page), could_not_be_checked)
        self.folder.store(str(place), name, report)

    def _report_on(self, page: Page | Article) -> Report | str:
        article = article_of(page) if isinstance(page, Page) else page
        if self.is_first:
            say_estimate(self.run, article, self.quiet)
        self.is_first = False
        return self.run.verify(article, self.display)
