"""The work-list of many articles: for a terminal, as JSON, CSV and one HTML page.

Risk is the expected number of claims that their sources do not support: the sum of 1 − P(supported)
over the claims that could be checked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pincite import codec
from pincite.report import cells, templates
from pincite.report.cells import n_of, safe_link
from pincite.types import Label, Reliability
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import FLAGS, Coverage, Report, Stage, total
from pincite.verbs.verify.terminal import coverage_table, grid

FLAGGED = "Flagged claims are those labelled “contradicted?” or “not supported”."
NOTHING_CHECKED = "nothing could be checked"
MAX_WORST = 200  # characters of the worst claim
LISTED = 20  # articles on a terminal: one screen; the HTML page lists all
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
        stages=coverage.stage_rows,
        counted=f"{coverage.counting_rule} Each article counts its own sources.",
        lost=coverage.lost_rows,
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


def print_list(worklist: WorkList, console: Console) -> None:
    """Print the work-list of many articles."""
    coverage = worklist.coverage
    parts: list[RenderableType] = [
        Text(f"{worklist.head} · riskiest first", style="bold"),
        Text(),
        _articles_table(worklist.rows[:LISTED], uncited=worklist.looked_for_uncited),
    ]
    if len(worklist.rows) > LISTED:
        parts.append(Text(f"… and {len(worklist.rows) - LISTED} more", style="dim"))
    parts += [Text(FLAGGED, style="dim"), Text(wording.ADVICE, style="italic"), Text()]
    if coverage.reasons:
        n_lost = cells.n_of(sum(tally.uses for tally in coverage.reasons.values()), "citation")
        lost = grid(f"{n_lost} could not be checked, and what you can do", style="yellow")
        for row in coverage.lost_rows:
            lost.add_row(row.number, row.why, Text(row.step, style="dim"))
        parts += [lost, Text()]
    parts += [coverage_table(coverage), Text(coverage.counting_rule, style="dim")]
    console.print(Group(*parts))


def _articles_table(rows: Sequence[Row], *, uncited: bool) -> Table:
    """Return a table of articles; `uncited`: with the number of sentences without a citation."""
    table = grid(header=True)
    heads = ["risk", "flagged", "partly", "checked", *(["uncited"] if uncited else [])]
    for name in heads:
        table.add_column(name, justify="right")
    table.add_column("article", overflow="fold")
    for row in rows:
        title = Text(cells.one_line(row.title))
        if row.problem:
            title.append(f"\n{cells.one_line(row.problem)}", style="yellow")
        elif row.has_nothing_checked:
            title.append(f"\n{NOTHING_CHECKED}", style="yellow")
        counts = [Text()] * len(heads) if row.problem else _counts_of(row)[: len(heads)]
        table.add_row(*counts, title)
    return table


def _counts_of(row: Row) -> list[Text]:
    """Return the numbers of an article, in the order of the columns."""
    if row.has_nothing_checked:
        risk = flagged = partly = Text("–")
    else:
        risk, partly = Text(f"{row.risk:.2f}"), Text(str(row.n_partly))
        flagged = Text(str(row.n_flagged), style="red" if row.n_flagged else "")
    checked = Text(f"{row.n_checked} of {row.n_claims}")
    uncited = Text("" if row.n_uncited is None else str(row.n_uncited))
    return [risk, flagged, partly, checked, uncited]
