"""The reports of many articles in a folder, and their work-list as JSON, CSV and one HTML page.

Risk is the expected number of claims that their sources do not support: the sum of 1 − P(supported)
over the claims that could be checked.
"""

import hashlib
import heapq
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pincite import codec, durable, errors
from pincite.errors import InputError
from pincite.report import cells, templates
from pincite.report.cells import n_of, safe_link
from pincite.types import Article, Failed, Label, Reliability
from pincite.verbs.verify import render, wording
from pincite.verbs.verify.report import (
    FLAGS,
    Coverage,
    Report,
    Stage,
    could_not_be_checked,
    counting_rule,
    coverage_rows,
    lost_rows,
    total,
    worst_to_csv,
)
from pincite.wiki.addresses import Site
from pincite.wiki.article import PageText

FLAGGED = "Flagged claims are those labelled “contradicted?” or “not supported”."
NOTHING_CHECKED = "nothing could be checked"
MAX_WORST = 200  # characters of the worst claim
_POOR = (Reliability.UNRELIABLE, Reliability.DEPRECATED, Reliability.BLACKLISTED)


@dataclass(frozen=True, slots=True)
class Row:
    """One article. `problem` says why nothing was checked; then the counts are zero."""

    title: str
    risk: float = 0.0
    n_claims: int = 0
    n_checked: int = 0
    n_flagged: int = 0
    n_partly: int = 0
    n_uncited: int | None = None  # sentences that need a citation; None: not searched for
    n_poor_sources: int = 0  # citations whose site a list calls unreliable or worse
    worst: str = ""  # the top-ranked claim, if it is not supported
    revision_id: str = ""
    url: str = ""
    report: str = ""  # file name of the article's own report, next to the list
    problem: str = ""
    stopped: bool = False  # before all its claims were judged
    coverage: Coverage | None = None  # None if nothing was checked

    @property
    def has_nothing_checked(self) -> bool:
        return self.n_claims > 0 and self.n_checked == 0


_COLUMNS = tuple(field.name for field in fields(Row) if field.name != "coverage")


@dataclass(frozen=True, slots=True)
class WorkList:
    """Articles, riskiest first; those of which nothing could be checked come last."""

    rows: tuple[Row, ...]
    n_articles: int  # requested; more than rows if the run was stopped

    @classmethod
    def of(cls, rows: Iterable[Row], n_articles: int) -> "WorkList":
        def order(row: Row) -> tuple[bool, bool, float, str]:
            return bool(row.problem), row.has_nothing_checked, -row.risk, row.title

        return cls(tuple(sorted(rows, key=order)), n_articles)

    @property
    def n_done(self) -> int:
        return sum(not row.stopped for row in self.rows)

    @property
    def n_failed(self) -> int:
        return sum(bool(row.problem) for row in self.rows)

    @property
    def looked_for_uncited(self) -> bool:
        return any(row.n_uncited is not None for row in self.rows)

    @property
    def coverage(self) -> Coverage:
        return total([row.coverage for row in self.rows if row.coverage])

    @property
    def head(self) -> str:
        if self.n_done == self.n_articles:
            lost = f"; {self.n_failed} could not be checked" if self.n_failed else ""
            return n_of(self.n_articles, "article") + lost
        return f"{self.n_done} of {n_of(self.n_articles, 'article')}; the run was stopped"


def row_of(report: Report, file: str) -> Row:
    """Return the row of an article whose report is in `file`."""
    findings, labels = report.findings, report.counts.labels
    checked = [finding for finding in findings if finding.label is not Label.UNCHECKED]
    ratings = [result.listing.reliability for result in report.results if result.listing]
    has_fault = bool(checked) and checked[0].label is not Label.SUPPORTED
    return Row(
        title=report.title,
        risk=round(sum(1 - (finding.prob_supported or 0.0) for finding in checked), 2),
        n_claims=report.n_claims,
        n_checked=len(checked),
        n_flagged=sum(labels[label] for label in FLAGS),
        n_partly=labels[Label.PARTLY_SUPPORTED],
        n_uncited=None if report.uncited is None else len(report.uncited),
        n_poor_sources=sum(rating in _POOR for rating in ratings),
        worst=checked[0].claim.text if has_fault else "",
        revision_id=report.revision_id or "",
        url=report.url or "",
        report=file,
        stopped=not report.complete,
        coverage=report.coverage,
    )


def name_of(host: str, revision_id: str) -> str:
    """Return a report's file name; a revision id is unique within its wiki."""
    return re.sub(r"[^a-z0-9.-]", "_", f"{host}.{revision_id}".lower())


def name_in_file(file: Path, page: PageText | Article) -> str:
    """Return the report's name for a page of a file; without a revision, it uses a hash."""
    text = f"{page.title}\0{page.source}".encode("utf-8", "surrogatepass")
    revision = page.revision_id or hashlib.sha256(text).hexdigest()[:16]
    return name_of(file.name.partition(".")[0], revision)


class _Score(NamedTuple):
    """The score of a claim, the name of its report, and its rank there."""

    score: float
    name: str
    rank: int


class ReportFolder:
    """The reports of many articles in a folder, with a work-list; resumes what is there."""

    def __init__(
        self, path: Path, is_current: Callable[[Report], bool], worst: float | None = None
    ) -> None:
        """`worst`: the share of the claims, those most likely to fail, to write to worst.csv."""
        self.path = path
        self._is_current = is_current
        self._worst = worst
        self._rows: list[Row] = []
        self._scores: list[_Score] = []

    @property
    def n_done(self) -> int:
        return len(self._rows)

    def has(self, name: str) -> bool:
        """Whether a complete and current report is there; if so, add it to the list."""
        try:
            report = Report.from_file(self.path / f"{name}.json")
        except InputError:
            return False  # missing, truncated, or from another version
        if not (report.complete and self._is_current(report)):
            return False
        self._add(report, name)
        return True

    def has_revision(self, site: Site, revision_id: str) -> bool:
        return self.has(name_of(site.host, revision_id))

    def store(self, title: str, name: str, outcome: Report | str) -> None:
        """Store an article's report and add it to the work-list, or add why there is none.

        Raises:
            KeyboardInterrupt: Ctrl-C cut the report short; the partial report is stored.
        """
        if isinstance(outcome, str):
            self.add_problem(title, outcome)
            return

        def add_bug(why: Failed) -> None:
            self.add_problem(title, could_not_be_checked(why))

        if outcome.findings or not outcome.stopped:
            with durable.without_interrupt():
                errors.attempted(partial(self._write, name, outcome), add_bug)
        if outcome.stopped:
            raise KeyboardInterrupt

    def _write(self, name: str, report: Report) -> None:
        durable.write_text(self.path / f"{name}.html", render.to_html(report))
        # Last, because it marks the article as done.
        durable.write_text(self.path / f"{name}.json", report.to_json())
        self._add(report, name)

    def add_problem(self, title: str, why: str) -> None:
        self._rows.append(Row(title, problem=why))

    def write_list(self, n_articles: int) -> WorkList:
        """Write the work-list of the reports so far, and the worst claims."""
        with durable.without_interrupt():
            worklist = WorkList.of(self._rows, n_articles)
            for ending, render_list in (("json", to_json), ("csv", to_csv), ("html", to_html)):
                durable.write_text(self.path / f"worklist.{ending}", render_list(worklist))
            if self._worst:
                self._write_worst(self._worst)
        return worklist

    def _add(self, report: Report, name: str) -> None:
        self._rows.append(row_of(report, f"{name}.html"))
        for rank, finding in enumerate(report.findings, 1):
            if finding.score is not None:
                self._scores.append(_Score(finding.score, name, rank))

    def _write_worst(self, share: float) -> None:
        ranks: dict[str, set[int]] = {}
        n_claims = math.ceil(share * len(self._scores))
        for worst in heapq.nsmallest(n_claims, self._scores):
            ranks.setdefault(worst.name, set()).add(worst.rank)
        reports = ((Report.from_file(self.path / f"{name}.json"), ranks[name]) for name in ranks)
        durable.write_text(self.path / "worst.csv", worst_to_csv(reports))


def to_json(worklist: WorkList) -> str:
    return codec.to_json(
        {
            "complete": worklist.n_done == worklist.n_articles,
            "n_articles": worklist.n_articles,
            "n_failed": worklist.n_failed,
            "coverage": worklist.coverage,
            "articles": worklist.rows,
        }
    )


def to_csv(worklist: WorkList) -> str:
    columns = (*_COLUMNS, "references", *(f"citations_{stage}" for stage in Stage))
    return cells.csv_text(columns, map(_csv_row, worklist.rows))


def _csv_row(row: Row) -> list[Any]:
    values = list(_values(row).values())
    if row.coverage is None:
        return values + [None] * (1 + len(Stage))
    uses = (tally.uses for tally in row.coverage.stages.values())
    return [*values, row.coverage.references, *uses]


def to_html(worklist: WorkList) -> str:
    coverage = worklist.coverage
    return templates.page("worklist.html.j2").render(
        rows=[
            _values(row)
            | {"href": safe_link(row.url), "worst": cells.shorten(row.worst, MAX_WORST)}
            for row in worklist.rows
        ],
        head=worklist.head,
        stages=coverage_rows(coverage),
        counted=f"{counting_rule(coverage)} Each article counts its own sources.",
        lost=lost_rows(coverage),
        waiting=coverage.waiting,
        css=templates.style("worklist.css"),
        advice=wording.ADVICE,
        flagged=FLAGGED,
        nothing=NOTHING_CHECKED,
        uncited=worklist.looked_for_uncited,
        n_of=n_of,
    )


def _values(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _COLUMNS}
