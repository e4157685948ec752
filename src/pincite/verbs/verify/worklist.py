"""The work list of many articles, riskiest first, as JSON, CSV and one HTML page.

Risk is the expected number of claims that their sources do not support: the sum of 1 − P(supported)
over the claims that could be checked.
"""

import hashlib
import heapq
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite import codec, durable, errors
from pincite.errors import InputError
from pincite.report import cells, templates
from pincite.report.cells import n_of, safe_link
from pincite.types import Article, Label, Reliability
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
    summed,
)
from pincite.wiki.addresses import Site
from pincite.wiki.article import PageText

FLAGGED = "Flagged claims are those labelled “contradicted?” or “not supported”."
NOTHING_CHECKED = "nothing could be checked"
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


_COLUMNS = tuple(name for name in Row.__dataclass_fields__ if name != "coverage")


@dataclass(frozen=True, slots=True)
class WorkList:
    """Articles, riskiest first; those of which nothing could be checked come last."""

    rows: tuple[Row, ...]
    n_articles: int  # requested; more than rows if the run was stopped

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
        return summed([row.coverage for row in self.rows if row.coverage])

    @property
    def head(self) -> str:
        if self.n_done == self.n_articles:
            lost = f"; {self.n_failed} could not be checked" if self.n_failed else ""
            return n_of(self.n_articles, "article") + lost
        return f"{self.n_done} of {n_of(self.n_articles, 'article')}; the run was stopped"


def row_of(report: Report, name: str) -> Row:
    findings, labels = report.findings, report.counts.labels
    checked = [f for f in findings if f.label is not Label.UNCHECKED]
    listed = [r.listing for f in findings for r in f.citations if r.listing]
    return Row(
        title=report.title,
        risk=round(sum(1 - (f.prob_supported or 0.0) for f in checked), 2),
        n_claims=report.n_claims,
        n_checked=len(checked),
        n_flagged=sum(labels[label] for label in FLAGS),
        n_partly=labels[Label.PARTLY_SUPPORTED],
        n_uncited=None if report.uncited is None else len(report.uncited),
        n_poor_sources=sum(listing.reliability in _POOR for listing in listed),
        worst=checked[0].claim.text if checked and checked[0].label is not Label.SUPPORTED else "",
        revision_id=report.revision_id or "",
        url=report.url or "",
        report=name,
        stopped=not report.complete,
        coverage=report.coverage,
    )


def worklist(rows: Sequence[Row], n_articles: int) -> WorkList:
    def order(row: Row) -> tuple[bool, bool, float, str]:
        return bool(row.problem), row.n_claims > 0 == row.n_checked, -row.risk, row.title

    return WorkList(tuple(sorted(rows, key=order)), n_articles)


def name_of(host: str, revision_id: str) -> str:
    """Return a report's file name; a revision id is unique within its wiki."""
    return re.sub(r"[^a-z0-9.-]", "_", f"{host}.{revision_id}".lower())


def name_in_file(file: Path, page: PageText | Article) -> str:
    """Return the report's name for a page of a file; without a revision, it uses a hash."""
    text = f"{page.title}\0{page.source}".encode("utf-8", "surrogatepass")
    revision = page.revision_id or hashlib.sha256(text).hexdigest()[:16]
    return name_of(file.name.partition(".")[0], revision)


class ReportFolder:
    """The reports of many articles in a folder, with a work-list; resumes what is there."""

    def __init__(
        self, path: Path, is_current: Callable[[Report], bool], worst: float | None = None
    ) -> None:
        """`worst`: the share of the claims, those most likely to fail, to write to worst.csv."""
        self.path, self._is_current, self._worst = path, is_current, worst
        self._rows: list[Row] = []
        self._scores: list[tuple[float, str, int]] = []  # with the report and the rank in it

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

    def store(self, title: str, name: str, found: Report | str) -> None:
        """Store an article's report and add it to the work-list, or add why there is none.

        Raises:
            KeyboardInterrupt: Ctrl-C cut the report short; the partial report is stored.
        """
        if isinstance(found, str):
            self.add_problem(title, found)
            return

        def write() -> None:
            durable.write_text(self.path / f"{name}.html", render.to_html(found))
            # Last, because it marks the article as done.
            durable.write_text(self.path / f"{name}.json", found.to_json())
            self._add(found, name)

        if found.findings or not found.stopped:
            with durable.without_interrupt():
                errors.attempted(
                    write, lambda why: self.add_problem(title, could_not_be_checked(why))
                )
        if found.stopped:
            raise KeyboardInterrupt

    def add_problem(self, title: str, why: str) -> None:
        self._rows.append(Row(title, problem=why))

    def write_list(self, n_articles: int) -> WorkList:
        """Write the work-list of the reports so far, and the worst claims."""
        with durable.without_interrupt():
            found = worklist(self._rows, n_articles)
            for ending, text in (("json", to_json), ("csv", to_csv), ("html", to_html)):
                durable.write_text(self.path / f"worklist.{ending}", text(found))
            if self._worst:
                self._write_worst(self._worst)
        return found

    def _add(self, report: Report, name: str) -> None:
        self._rows.append(row_of(report, f"{name}.html"))
        if self._worst:
            for rank, finding in enumerate(report.findings, 1):
                if finding.score is not None:
                    self._scores.append((finding.score, name, rank))

    def _write_worst(self, share: float) -> None:
        ranks: dict[str, set[int]] = {}
        n_claims = math.ceil(share * len(self._scores))
        for _, name, rank in heapq.nsmallest(n_claims, self._scores):
            ranks.setdefault(name, set()).add(rank)
        reports = ((Report.from_file(self.path / f"{name}.json"), ranks[name]) for name in ranks)
        durable.write_text(self.path / "worst.csv", render.to_csv_of(reports))


def to_json(found: WorkList) -> str:
    counts = {"n_articles": found.n_articles, "n_failed": found.n_failed}
    complete = found.n_done == found.n_articles
    return codec.to_json(
        {"complete": complete, **counts, "coverage": found.coverage, "articles": found.rows}
    )


def to_csv(found: WorkList) -> str:
    rows = []
    for row in found.rows:
        uses = [tally.uses for tally in row.coverage.stages.values()] if row.coverage else []
        counted = [row.coverage.references, *uses] if row.coverage else [None] * (1 + len(Stage))
        rows.append([*_values(row).values(), *counted])
    columns = [*_COLUMNS, "references", *(f"citations_{stage}" for stage in Stage)]
    return cells.csv_text(columns, rows)


def to_html(found: WorkList) -> str:
    shown = [
        _values(row) | {"href": safe_link(row.url), "worst": cells.shortened(row.worst, 200)}
        for row in found.rows
    ]
    return templates.page("worklist.html.j2").render(
        rows=shown,
        head=found.head,
        stages=coverage_rows(found.coverage),
        counted=f"{counting_rule(found.coverage)} Each article counts its own sources.",
        lost=lost_rows(found.coverage),
        waiting=found.coverage.waiting,
        css=templates.style("worklist.css"),
        advice=wording.ADVICE,
        flagged=FLAGGED,
        nothing=NOTHING_CHECKED,
        uncited=found.looked_for_uncited,
        n_of=n_of,
    )


def _values(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _COLUMNS}
