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
from pincite.errors import InputError, PinciteError
from pincite.types import Article, Finding, Uncited
from pincite.verbs.verify.records import Report
from pincite.wiki.site.addresses import Site

if TYPE_CHECKING:
    from pincite.contract.verify import ReportRecord


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
            told(batch.estimate(), settings, outputs["json"])
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
            told(run.estimate(page), settings, outputs["json"])
            return
        findings, interrupted = judged(
            run, page, shown, first=lambda: said(run, page, settings, quiet)
        )
        found = None if interrupted else uncited(run, page, shown)
        report = build.report_of(page, findings, settings, run, found)
        interrupted = interrupted or not report.complete
    deliver(report, outputs, limit=limit, quiet=quiet, excluded=excluded)
    if interrupted and report.complete:
        options.say("Stopped while a second opinion was asked. The same command goes on from here.")
        raise click.exceptions.Exit(130)
    if interrupted:
        options.say(
            f"Stopped after {len(findings)} of {len(page.claims)} claims. What was judged is "
            "kept: the same command goes on from here."
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


def _check_spreading(on: str, dump: Path | None, settings: Any) -> None:
    """Refuse what workers cannot do."""
    if on != "local" and (not dump or settings.web.online or settings.judge.url):
        raise click.UsageError(
            "--on ray is for --dump, without --online and --judge: what is asked of hosts and "
            "servers is paced and counted by one process."
        )


HOST_WIDTH = 40  # characters of the progress line: longer names would push the bar off it


def told(plan: Any, settings: Any, json_path: Path | None) -> None:
    """An estimate that was asked for: on stdout, or as JSON where that is wanted."""
    from pincite.verbs.verify import estimate

    if json_path:
        options.write(estimate.to_json(plan, settings), json_path)
        return
    for line in estimate.lines(plan, settings):
        click.echo(line)


def said(run: Any, page: Article, settings: Any, quiet: bool) -> None:
    """An estimate before a run that asks anyone for anything; a quiet one makes none.

    It reads every source, and where all are at hand the first findings come sooner than it would.
    """
    from pincite.verbs.verify import estimate

    if quiet or not (settings.web.online or run.second or estimate.asks_a_server(settings)):
        return
    for line in estimate.lines(run.estimate(page), settings):
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


def judged(
    run: Any,
    page: Article,
    shown: Any,
    first: Callable[[], None] = lambda: None,
    *,
    in_passing: bool = True,
) -> tuple[list[Finding], bool]:
    """The findings, and whether Ctrl-C cut them short, be it while the sources were fetched.

    `first` is done before; Ctrl-C may come then too. `in_passing`: beside the progress, each claim
    that needs an editor is told as soon as it is known.
    """
    from pincite.verbs.verify import terminal

    findings: list[Finding] = []
    try:
        first()
        run.prepare(page)
        task = shown.add_task("checking claims", total=len(page.claims))
        for finding in run.pipeline.findings(page):
            findings.append(finding)
            if in_passing and not shown.disable and (line := terminal.in_passing(finding)):
                shown.console.print(line, no_wrap=True, overflow="ellipsis")
            shown.advance(task)
        shown.remove_task(task)
    except KeyboardInterrupt:
        return findings, True
    if run.second is None:
        return findings, False
    tell = options.teller(shown)
    found = run.second.on(page, findings, lambda *n: tell("second opinions", *n))
    return found, run.second.stopped


def uncited(run: Any, page: Article, shown: Any) -> tuple[Uncited, ...] | None:
    """The sentences that need a citation; None if they were not requested, and after Ctrl-C."""
    from pincite.verbs.verify.build import uncited_in

    tell = options.teller(shown)
    try:
        return uncited_in(run, page, lambda *n: tell("sentences without a citation", *n))
    except KeyboardInterrupt:
        return None


def deliver(
    report: Report,
    outputs: dict[str, Path | None],
    *,
    limit: int | None,
    quiet: bool,
    excluded: bool = False,
) -> None:
    """Write the asked-for formats; the table goes to the terminal unless stdout carries data."""
    from rich.console import Console

    from pincite.verbs.verify import csv, data, html, terminal, wikitext

    today = datetime.now(UTC).date()
    writers = {
        "json": lambda: data.to_json(report),
        "csv": lambda: csv.to_csv(report),
        "html": lambda: html.to_html(report, today),
        "wikitext": lambda: wikitext.to_wikitext(report, today),
    }
    piped = [name for name, path in outputs.items() if str(path) == "-"]
    failed = {}
    with options.held_back():
        for name, path in outputs.items():
            if path is not None and name not in piped:
                text: Any = containment.attempted(writers[name], lambda why: why)
                if isinstance(text, str):
                    options.write(text, path)
                else:
                    failed[name] = text.detail
    for name in piped:  # a reader that waits must not keep Ctrl-C waiting
        options.write(writers[name](), None)
    if not quiet and not piped:
        terminal.print_report(report, Console(), limit, excluded=excluded)
    for name, path in outputs.items():
        if path is not None and name not in piped and name not in failed:
            options.say(f"{name}: {path.resolve()}", quiet)
    if failed:
        said = ", ".join(f"{name} ({kind})" for name, kind in failed.items())
        raise PinciteError(f"Not written, by a fault of the program: {said}. Try --debug.")


SAMPLED = 5  # articles whose text is got for an estimate of many: a wiki is owed a rest too


@dataclass(frozen=True, slots=True)
class Batch:
    """Many articles, and what they are checked with."""

    settings: Any
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
            if self.dump:
                self._check_dump(out, parallel)
            else:
                self._check_list(out)

    def _check_list(self, out: Path) -> None:
        from pincite.library import web_pages
        from pincite.verbs.verify import articles, build

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
                settings = build.report_settings(self.settings)
                folder = Folder(out, settings, dict(run.versions), len(addresses))
                options.say(f"{len(addresses)} articles, reports in {out}", self.quiet)
                with folder.listed_at_end():
                    going = _Going(self, wikis, run, folder, shown, len(addresses))
                    for address in addresses:
                        going.on_to(address, articles.page_of(wikis, address, folder.is_done))
        folder.show(self.quiet)

    def _check_dump(self, out: Path, parallel: Any) -> None:
        """Every article of the dump, here or by Ray's workers; the reports are the same."""
        from pincite.library.parallel import Local
        from pincite.verbs.verify import build

        total = sum(1 for _ in _pages(self.dump))
        places = self.settings, self.corpora, self.sources
        with (
            options.progress(self.quiet) as shown,
            build.verifying(*places, own_copies=True) as run,
        ):
            settings = build.report_settings(self.settings)
            folder = Folder(out, settings, dict(run.versions), total)
            options.say(f"{total} articles, reports in {out}", self.quiet)
            report_on: Any = build.Elsewhere(*places).report_on
            if isinstance(parallel, Local):
                report_on = partial(build.report_on, settings=self.settings, run=run)
            going = _ThroughDump(self.dump, folder, shown, total)
            with folder.listed_at_end():
                for report in parallel.map(report_on, going.waiting()):
                    with options.held_back():
                        going.take(report)
                going.take(None)
        folder.show(self.quiet)

    def estimate(self) -> Any:
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

    def _listed(self, web: Any) -> tuple[Any, Sequence[Any]]:
        from pincite.verbs.verify import articles

        lines = options.lines_of(self.titles) if self.titles else []
        wikis = articles.wikis_of(web, self.settings, lambda line: options.say(line, self.quiet))
        return wikis, articles.listed(wikis, self.settings, lines, self.category)


class _ThroughDump:
    """The articles of a dump in its order: those that are done, and those that wait for a report.

    Whoever checks them may be ahead by some: the list has them in the dump's order all the same.
    """

    def __init__(self, dump: Path | None, folder: "Folder", shown: Any, total: int) -> None:
        self._dump, self._folder, self._shown = dump, folder, shown
        self._bar = shown.add_task("articles", total=total)
        self._order = deque[tuple[str, str, Any]]()  # name, title, and the report if it is done

    def waiting(self) -> Iterator[Any]:
        """The pages without a report."""
        for page in _pages(self._dump):
            name = _name_in_dump(str(self._dump), page)
            done = self._folder.done(name)
            self._order.append((name, page.title, done))
            if done is None:
                yield page

    def take(self, report: Any) -> None:
        """The report of the first page that waits, or why there is none; None: no page does."""
        while self._order:
            name, title, done = self._order.popleft()
            self._shown.advance(self._bar)
            if done is not None:
                self._folder.add(done, name)
                continue
            if isinstance(report, str):
                self._folder.not_checked(title, report)
            else:
                self._folder.keep(name, report)
            return


def _pages(dump: Path | None) -> Iterator[Any]:
    from pincite.wiki.files import read_pages_of

    return read_pages_of(dump or "-", None)


class _Going:
    """From one article to the next, and how long the rest will take."""

    def __init__(
        self, batch: Batch, wikis: Any, run: Any, folder: "Folder", shown: Any, total: int
    ) -> None:
        self._batch, self._wikis, self._run, self._folder = batch, wikis, run, folder
        self._shown, self._total, self._number = shown, total, 0
        self._bar = shown.add_task("articles", total=total)
        self._checked, self._seconds = 0, 0.0

    def on_to(self, address: Any, page: Any) -> None:
        """Check a page, unless it is done (None) or could not be got.

        Raises:
            KeyboardInterrupt: what was judged of it is kept as a report that is not complete.
        """
        from pincite.verbs.verify import articles
        from pincite.wiki.site.pages import Refused

        self._number += 1
        head = f"{self._number}/{self._total}"
        if isinstance(page, Refused):
            options.say(f"{head} {page}", self._batch.quiet)
            self._folder.not_checked(str(address), str(page))
        elif page is not None:
            options.say(f"{head} {articles.about(page)}{self._left()}", self._batch.quiet)
            began = time.monotonic()
            containment.attempted(
                lambda: self._check(page),
                lambda why: self._folder.not_checked(
                    str(address), f"it could not be checked: {why.detail}"
                ),
            )
            self._seconds += time.monotonic() - began
            self._checked += 1
        self._shown.advance(self._bar)

    def _check(self, page: Any) -> None:
        from pincite.verbs.verify import build

        article, settings = self._wikis.article(page), self._batch.settings
        quiet = self._batch.quiet or self._checked > 0  # the first stands for the others
        findings, interrupted = judged(
            self._run,
            article,
            self._shown,
            first=lambda: said(self._run, article, settings, quiet),
            in_passing=False,
        )
        found = None if interrupted else uncited(self._run, article, self._shown)
        if findings or not interrupted:
            with options.held_back():
                report = build.report_of(article, findings, settings, self._run, found)
                interrupted = interrupted or not report.complete
                self._folder.keep(_name(page.site.host, page.revision_id), report)
        if interrupted:
            raise KeyboardInterrupt

    def _left(self) -> str:
        """What the articles so far say of the rest."""
        from pincite.verbs.verify.estimate import length

        if not self._checked:
            return ""
        rest = self._seconds / self._checked * (self._total - self._number + 1)
        return f"; {length((rest, rest))} left for all" if rest >= 10 else ""


class Folder:
    """Where the reports of many articles lie, and the list over them."""

    def __init__(
        self, path: Path, settings: dict[str, Any], versions: dict[str, str], n_articles: int
    ) -> None:
        """Raises InputError if the folder cannot be made."""
        from pincite.verbs.verify.worklist import Row

        self._path, self._settings, self._versions = path, settings, versions
        self._rows: list[Row] = []
        self._n_articles = n_articles
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path} cannot be made a folder: {error.strerror}.") from error

    def is_done(self, site: Site, revision_id: str) -> bool:
        """Whether a report of it, made as this run would, is there; then it is listed."""
        name = _name(site.host, revision_id)
        if found := self.done(name):
            self.add(found, name)
        return found is not None

    def done(self, name: str) -> "ReportRecord | None":
        """The report of this name, if it is complete and made as this run would."""
        from pincite.contract import codec
        from pincite.contract.verify import ReportRecord
        from pincite.verbs.verify.build import decisive

        try:
            found = codec.from_file(ReportRecord, self._path / f"{name}.json")
        except InputError:
            return None  # not there, cut, of another version
        same = decisive(found.settings) == decisive(self._settings)
        return found if found.complete and same and found.versions == self._versions else None

    def keep(self, name: str, report: Report) -> None:
        """Write an article's report, its page first: the JSON says that it is done."""
        from pincite.contract import codec
        from pincite.verbs.verify import data, html

        options.write(html.to_html(report, datetime.now(UTC).date()), self._path / f"{name}.html")
        record = data.record_of(report)
        options.write(codec.to_json(record), self._path / f"{name}.json")
        self.add(record, name)

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

    def add(self, report: "ReportRecord", name: str) -> None:
        """A row for a report that lies in the folder."""
        from pincite.verbs.verify.worklist import row_of

        self._rows.append(row_of(report, f"{name}.html"))


def _name(host: str, revision_id: str) -> str:
    """A file's name: a revision id is one page's alone, on its wiki."""
    return re.sub(r"[^a-z0-9.-]", "_", f"{host}.{revision_id}".lower())


def _name_in_dump(dump: str, page: Any) -> str:
    """The same of a page of a dump, whose name stands for the wiki; without a revision, by text."""
    text = f"{page.title}\0{page.source}".encode("utf-8", "surrogatepass")
    revision = page.revision_id or hashlib.sha256(text).hexdigest()[:16]
    return _name(Path(dump).name.partition(".")[0], revision)
