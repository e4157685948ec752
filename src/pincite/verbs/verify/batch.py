"""Checks many articles: a folder has a report on each, and a work-list over them.

An article is done when the folder has its complete report, made with the same settings and
versions, so running the same batch again resumes an interrupted one.
"""

import atexit
import hashlib
import heapq
import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from pincite import durable, errors
from pincite.documents.inputs import Parallel
from pincite.errors import FetchError, InputError
from pincite.protocols import Progress
from pincite.settings import Settings
from pincite.types import Article, Failed
from pincite.verbs.verify import articles, render, worklist
from pincite.verbs.verify.build import Run, verifying
from pincite.verbs.verify.report import Report, could_not_be_checked
from pincite.wiki.addresses import ArticleAddress
from pincite.wiki.api import WikiError, article_of, fetch_page
from pincite.wiki.article import PageText, parse_page, read_pages_of


@dataclass(slots=True)
class ReportFolder:
    """The reports of many articles in a folder, with a work-list."""

    path: Path
    is_current: Callable[[Report], bool]
    worst: float | None  # share of the claims, those most likely to fail, to write to worst.csv
    _rows: list[worklist.Row] = field(default_factory=list)
    # Of each claim: its score, the name of its report, and its rank there.
    _scores: list[tuple[float, str, int]] = field(default_factory=list)

    @property
    def n_done(self) -> int:
        return len(self._rows)

    def has(self, name: str) -> bool:
        """Whether a complete and current report is there; if so, add it to the list."""
        try:
            report = Report.from_file(self.path / f"{name}.json")
        except InputError:
            return False  # missing, truncated, or from another version
        if not (report.complete and self.is_current(report)):
            return False
        self._add(report, name)
        return True

    def store(self, title: str, name: str, outcome: Report | str) -> None:
        """Store an article's report and add it to the work-list, or add why there is none.

        Raises KeyboardInterrupt after storing a report that Ctrl-C cut short.
        """
        if isinstance(outcome, str):
            self.add_problem(title, outcome)
            return

        def add_bug(why: Failed) -> None:
            self.add_problem(title, could_not_be_checked(why))

        if outcome.findings or not outcome.stopped:
            with durable.without_interrupt():
                errors.attempt(partial(self._write, name, outcome), add_bug)
        if outcome.stopped:
            raise KeyboardInterrupt

    def _write(self, name: str, report: Report) -> None:
        durable.write_text(self.path / f"{name}.html", render.to_html(report))
        # Last, because it marks the article as done.
        durable.write_text(self.path / f"{name}.json", report.to_json())
        self._add(report, name)

    def add_problem(self, title: str, why: str) -> None:
        self._rows.append(worklist.Row(title, problem=why))

    def write_list(self, n_articles: int) -> worklist.WorkList:
        """Write the work-list of the reports so far, and the worst claims."""
        with durable.without_interrupt():
            listed = worklist.WorkList.of(self._rows, n_articles)
            for ending, text in (
                ("json", worklist.to_json(listed)),
                ("csv", worklist.to_csv(listed)),
                ("html", worklist.to_html(listed)),
            ):
                durable.write_text(self.path / f"worklist.{ending}", text)
            if self.worst:
                self._write_worst(self.worst)
        return listed

    def _add(self, report: Report, name: str) -> None:
        self._rows.append(worklist.row_of(report, f"{name}.html"))
        for rank, finding in enumerate(report.findings, 1):
            if finding.score is not None:
                self._scores.append((finding.score, name, rank))

    def _write_worst(self, share: float) -> None:
        ranks: dict[str, set[int]] = {}
        n_claims = math.ceil(share * len(self._scores))
        for _, name, rank in heapq.nsmallest(n_claims, self._scores):
            ranks.setdefault(name, set()).add(rank)
        reports = ((Report.from_file(self.path / f"{name}.json"), ranks[name]) for name in ranks)
        durable.write_text(self.path / "worst.csv", render.worst_to_csv(reports))


def _name_of(host: str, revision_id: str) -> str:
    """Return a report's file name; a revision id is unique within its wiki."""
    return re.sub(r"[^a-z0-9.-]", "_", f"{host}.{revision_id}".lower())


def _name_in_file(file: Path, page: PageText | Article) -> str:
    """Return the report's name for a page of a file; without a revision, it uses a hash."""
    text = f"{page.title}\0{page.source}".encode("utf-8", "surrogatepass")
    revision = page.revision_id or hashlib.sha256(text).hexdigest()[:16]
    return _name_of(file.name.partition(".")[0], revision)


# ── The articles of a list or a category ─────────────────────────────────────────────────────────

Place = Path | ArticleAddress  # where an article is


def list_places(wikis: articles.Wikis, lines: Sequence[str], category: str | None) -> list[Place]:
    """Return the files that the lines name, then the articles that they and the category name."""
    files = [line for line in lines if line != "-" and articles.is_file(line)]
    others = [line for line in lines if line not in files]
    return [*map(Path, dict.fromkeys(files)), *wikis.addresses(others, category)]


class _Unchecked(NamedTuple):
    """An article that is to be checked: the name of its report, what is printed, and its text."""

    name: str
    head: str
    parse: Callable[[], Article]


def check_list(
    run: Run,
    places: Sequence[Place],
    wikis: articles.Wikis,
    folder: ReportFolder,
    progress: Progress,
) -> None:
    """Check articles one after another, unless their reports are in the folder."""
    is_first = True
    for number, place in enumerate(places, 1):
        head = f"{number}/{len(places)}"
        try:
            article = _open(place, wikis, folder)
        except (FetchError, InputError, WikiError) as error:
            wikis.report(f"{head} {error}")
            folder.add_problem(str(place), str(error))
            article = None
        if article:
            wikis.report(f"{head} {article.head}")
            # The first article represents the others in the estimate.
            estimate = wikis.report if is_first else lambda line: None
            make = partial(_report_on_one, run, article, estimate, progress)
            folder.store(str(place), article.name, errors.attempt(make, could_not_be_checked))
            is_first = False
        progress("articles", number, len(places))


def _open(place: Place, wikis: articles.Wikis, folder: ReportFolder) -> _Unchecked | None:
    """Open an article; None if the folder has its report."""
    if isinstance(place, Path):
        article = articles.open_article(place.expanduser(), None, wikis.settings, lambda line: None)
        name = _name_in_file(place, article)
        return None if folder.has(name) else _Unchecked(name, article.title, lambda: article)
    if place.revision_id and folder.has(_name_of(place.site.host, place.revision_id)):
        return None  # without fetching it
    page = fetch_page(wikis.api(place.site), place)
    name = _name_of(page.site.host, page.revision_id)
    if folder.has(name):
        return None
    return _Unchecked(name, articles.about(page), partial(article_of, page))


def _report_on_one(
    run: Run, unchecked: _Unchecked, estimate: Callable[[str], None], progress: Progress
) -> Report | str:
    article = unchecked.parse()
    run.say_estimate(article, estimate)
    return run.verify(article, progress)


# ── The articles of a dump ───────────────────────────────────────────────────────────────────────


def check_dump(
    dump: Path,
    folder: ReportFolder,
    report_on: Callable[[PageText], Report | str],
    parallel: Parallel,
    progress: Callable[[int], None],
) -> None:
    """Check every article of a dump, here or by workers; the reports are the same."""
    started = deque[PageText]()  # workers run ahead

    def remaining_pages() -> Iterator[PageText]:
        for page in read_pages_of(dump, None):
            if not folder.has(_name_in_file(dump, page)):
                started.append(page)
                yield page

    for report in parallel.map(report_on, remaining_pages()):
        page = started.popleft()
        folder.store(page.title, _name_in_file(dump, page), report)
        progress(folder.n_done)


def report_on(run: Run, page: PageText) -> Report | str:
    """Report on a page of a dump, or say why that failed."""

    def make() -> Report | str:
        return run.verify(parse_page(page, run.settings.language))

    return errors.attempt(make, could_not_be_checked)


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker process needs to write the same reports as this one."""

    settings: Settings
    corpora: tuple[Path | str, ...] | None
    sources: tuple[Path, ...]

    def report_on(self, page: PageText) -> Report | str:
        return report_on(_run_of(self), page)


@cache
def _run_of(worker: Worker) -> Run:
    """Build what this process needs, once; the models stay loaded until it ends."""
    settings = worker.settings.replace(threads=1)
    # The cache of judged pairs belongs to one machine.
    run = verifying(settings, worker.corpora, worker.sources, keep=False, own_copies=True)
    stack = ExitStack()
    atexit.register(stack.close)
    return replace(stack.enter_context(run), settings=worker.settings)
