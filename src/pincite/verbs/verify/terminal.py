"""Prints the report on a terminal: the ranked table, what could not be checked, and the counts.

Text from an article or a page is always a `rich.text.Text`, never markup.
"""

from collections.abc import Collection, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pincite.judgement.findings import render_one
from pincite.report import cells
from pincite.report.cells import WORKS, judged_in, why_excluded, why_unchecked
from pincite.types import (
    NO_WORK,
    CitationResult,
    CopyKind,
    Evidence,
    Finding,
    Label,
    Listing,
    Suggestion,
    Uncited,
    WorkStatus,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import FLAGS, Counts, Coverage, Report, Stage, unread_groups

# Characters before an ellipsis.
CLAIM_WIDTH = 300
SOURCE_WIDTH = 90
OPEN_WIDTH = 70  # of a claim that could not be checked
PASSING_WIDTH = 90  # of a claim above the progress bar
OPINION_LINES = 3  # of a second opinion; --html shows all
SHOWN = 10  # claims listed per reason for which nothing could be checked
REFERENCES = "references"  # in `only`: findings with a reference to look at
NOTHING_CITED = (
    "--uncited lists sentences that need a citation; `pincite check` checks single statements."
)
Ranked = Sequence[tuple[int, Finding]]  # findings with their ranks


def print_report(
    report: Report,
    console: Console,
    limit: int | None = None,
    *,
    excluded: bool = False,
    only: Collection[str] = (),
) -> None:
    """Print at most `limit` findings, worst first, and with `excluded` the pages left out.

    `only`: labels, or `REFERENCES`; empty: all findings.
    """
    parts = _parts(report, limit, excluded, only) if report.n_claims else _no_claims(report)
    console.print(Group(_head(report), *parts))


def _no_claims(report: Report) -> Iterator[RenderableType]:
    yield from (Text(cells.one_line(warning)) for warning in report.warnings)
    if report.uncited is None:
        yield Text(NOTHING_CITED, style="dim")
    else:
        yield Text()
        yield _uncited_table(report.uncited)


def _parts(
    report: Report, limit: int | None, excluded: bool, only: Collection[str]
) -> Iterator[RenderableType]:
    ranked = enumerate(report.findings, 1)
    chosen = [(rank, finding) for rank, finding in ranked if _is_chosen(finding, only)]
    shown = chosen[:limit]
    checked = [
        (rank, finding)
        for rank, finding in shown
        if finding.label is not Label.UNCHECKED or finding.is_reference_in_doubt
    ]
    if report.coverage.stages[Stage.JUDGED].uses:
        yield Text(f"{report.advice or wording.ADVICE} {wording.SORTED}", style="italic")
        yield Text()
    if checked:
        yield _findings_table(checked)
    if len(shown) < len(report.findings):
        yield Text(f"… and {len(report.findings) - len(shown)} more", style="dim")
    yield from _unchecked_tables(chosen)
    yield from _references_table(report)
    if report.uncited is not None:
        yield Text()
        yield _uncited_table(report.uncited)
    if excluded and any(finding.excluded for finding in report.findings):
        yield Text()
        yield _excluded_pages(report)
    yield Text()
    yield coverage_table(report.coverage)
    yield Text(report.coverage.counting_rule, style="dim")
    yield from (Text(f"warning: {cells.one_line(w)}", style="dim") for w in report.warnings)


def _is_chosen(finding: Finding, only: Collection[str]) -> bool:
    return not only or finding.label in only or (REFERENCES in only and finding.has_reference_notes)


def _head(report: Report) -> Group:
    counts, cited = report.counts, report.coverage.stages[Stage.CITED]
    head = Text(cells.one_line(report.title), style="bold")
    if report.revision_id:
        head.append(f" · revision {cells.one_line(report.revision_id)}", style="dim")
    if not report.n_claims:
        return Group(head)
    line = f"\n{cells.n_of(counts.claims, 'claim')}, "
    line += f"{cells.n_of(cited.uses, 'citation')} of {cells.n_of(cited.sources, 'source')}"
    if not report.complete:
        line += f"; stopped after {cells.n_of(counts.judged, 'claim')}"
    return Group(head.append(line, style="not bold"), _counts_table(counts))


def _counts_table(counts: Counts) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", width=4)
    table.add_column(width=20)

    def add(number: int, words: str, legend: str, style: str = "") -> None:
        if number:
            table.add_row(Text(str(number), style), Text(words, style), Text(legend, "dim"))

    for label in wording.ORDER:
        legend, style = wording.LEGEND[label], wording.LOOKS[label].style
        add(counts.labels[label], wording.verdict(label), legend, style)
    add(counts.may_be_unverifiable, "? found in no source", "that is cited or was searched")
    why = "sentences: the next reference follows a later one"
    add(counts.uncited_before, "– not judged", why)
    return table


def grid(title: str | Text = "", *, style: str = "", header: bool = False) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style=style,
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
        show_header=header,
    )


def coverage_table(coverage: Coverage) -> Table:
    table = grid("How many citations could be checked", header=True)
    table.add_column("")
    table.add_column("citations", justify="right")
    table.add_column("sources", justify="right")
    for row in coverage.stage_rows:
        table.add_row(row.head, str(row.uses), "" if row.sources is None else str(row.sources))
    return table


def _findings_table(findings: Ranked) -> Table:
    table = Table(box=None, padding=(0, 1, 1, 0), header_style="dim", expand=True)
    table.add_column("#", justify="right", width=3)
    table.add_column("verdict", width=21)
    table.add_column("claim, source, better source", ratio=1)
    for rank, finding in findings:
        verdict = Text(wording.verdict(finding.label), style=wording.LOOKS[finding.label].style)
        table.add_row(str(rank), verdict, _hanging(render_one(_details, finding)))
    return table


def progress_line(finding: Finding) -> Text | None:
    """Return the progress line of a claim; None if an editor has nothing to do."""
    if finding.label not in (*FLAGS, Label.PARTLY_SUPPORTED):
        return None
    text = Text(f"{wording.verdict(finding.label)}  ", style=wording.LOOKS[finding.label].style)
    return text.append(cells.shorten(finding.claim.text, PASSING_WIDTH), style="not bold default")


def _details(finding: Finding) -> Text:
    text = Text(cells.shorten(finding.claim.text, CLAIM_WIDTH))
    for line in wording.about_claim(finding):
        text.append(f"\n  ⚑ {line}", style="yellow")
    for result in finding.citations:
        look = wording.LOOKS[result.label]
        name = cells.shorten(wording.name_of(result.citation), SOURCE_WIDTH)
        text.append(f"\n  {look.sign} {name}", style=look.style)
        _add_lines(text, _about_source(result, finding))
    text.append(f"\n  ⇒ {wording.verdict_by(finding)}", wording.LOOKS[finding.label].style)
    if strength := wording.strength(finding):
        text.append(f" · {strength}", style="not bold dim")
    if lacks := wording.missing_of(finding):
        text.append(f"\n  ◐ {lacks}", style=wording.LOOKS[Label.PARTLY_SUPPORTED].style)
    if joint := wording.joint_verdict(finding):
        text.append(f"\n  {joint}", style="dim")
    for n, line in enumerate(wording.second_opinion(finding)[:OPINION_LINES]):
        sign = "      " if n else "⚖ "
        text.append(f"\n  {sign}{cells.shorten(line, CLAIM_WIDTH)}", "dim")
    if doubt := wording.unverifiable(finding):
        text.append(f"\n  ? {doubt}", style="yellow")
    if finding.suggestions:
        _add_suggestion(text, finding.suggestions[0], finding.claim.language or "en")
    return text


def _add_suggestion(text: Text, suggestion: Suggestion, language: str) -> None:
    evidence = suggestion.evidence
    title = cells.shorten(evidence.passage.title or evidence.passage.url, SOURCE_WIDTH)
    text.append(f"\n  ⇄ better: {title}", style="cyan")
    text.append(_corpus_of(suggestion), style="dim")
    _add_lines(text, _reliability(suggestion.listing))
    _add_lines(text, [cells.one_line(evidence.passage.url)], "dim cyan")
    _add_lines(text, _quote(evidence))
    _add_lines(text, [judged_in(evidence, language)])
    _add_lines(text, [wording.where(suggestion.place, Label.SUPPORTED)])


def _hanging(text: Text) -> Group:
    """Each line wrapped at its own indent, so that what belongs to a source stays below it."""
    lines = []
    for line in text.split("\n"):
        indent = len(line.plain) - len(line.plain.lstrip())
        rest = line[indent:]
        rest.overflow = "fold"  # a URL is shown whole
        lines.append(Padding(rest, (0, 0, 0, indent)))
    return Group(*lines)


def _add_lines(text: Text, lines: Sequence[str], style: str = "dim") -> None:
    text.append("".join(f"\n      {line}" for line in lines if line), style=style)


def _about_source(result: CitationResult, finding: Finding) -> list[str]:
    outcome, lines = result.outcome, list[str]()
    if result.work and result.is_in_doubt:
        look = WORKS[result.work.status]
        lines.append(f"{look.sign} {look.label}")
        lines += [cells.one_line(str(note)) for note in result.work.notes]
    lines += _reliability(result.listing)
    if not isinstance(outcome, Evidence):
        return [*lines, why_unchecked(outcome)]
    lines.append(judged_in(outcome, finding.claim.language or "en"))
    if result.copy and result.copy.kind in (*wording.ARCHIVED_KINDS, CopyKind.OWN):
        lines.append(wording.copy_read(result))
    if result.changed:
        changed = f"the source changed since it was cited: {wording.what_changed(result)}"
        lines.append(f"↻ {changed} ({wording.CHANGED_STEP})")
    lines += _quote(outcome)
    others = wording.also_read(outcome, finding.claim.text)
    lines += [f"and “{cells.shorten(other, CLAIM_WIDTH)}”" for other in others]
    is_supported = finding.label is Label.SUPPORTED
    reasons = outcome.notes if is_supported else wording.reasons(result, finding)[:2]
    lines += [cells.one_line(str(reason)) for reason in reasons]
    return [*lines, wording.where(result.place, result.label)]


def _corpus_of(suggestion: Suggestion) -> str:
    return f", corpus {cells.one_line(suggestion.corpus)}" if suggestion.corpus else ""


def _reliability(listing: Listing | None) -> list[str]:
    words = wording.reliability(listing)
    return [f"source: {words}"] if words else []


def _quote(evidence: Evidence) -> list[str]:
    text = evidence.passage.text
    if shown := wording.excerpt(text, evidence.quote):
        return [f"“{cells.shorten(shown.quote, wording.MAX_SHOWN)}”"]
    passage = f": “{cells.shorten(text, CLAIM_WIDTH)}”" if text else ""
    return [f"{wording.NO_QUOTE}{passage}"]


def _excluded_pages(report: Report) -> Text:
    text = Text("Left out of the suggestions", style="yellow")
    for rank, finding in enumerate(report.findings, 1):
        for exclusion in finding.excluded:
            text.append(f"\n{rank:3} {cells.one_line(exclusion.url)}", style="")
            _add_lines(text, [why_excluded(exclusion)])
    return text


def _list(title: Text, width: int, rows: Sequence[tuple[str, Text]]) -> Table:
    """Return the first rows of a table; `width`: of its first column."""
    table = grid(title)
    table.padding, table.expand = (0, 1, 0, 0), True
    table.add_column(justify="right", width=width)
    table.add_column(ratio=1)
    for row in rows[:SHOWN]:
        table.add_row(*row)
    if len(rows) > SHOWN:
        more = f"… and {len(rows) - SHOWN} more; --html or --json has all"
        table.add_row("", Text(more, style="dim"))
    return table


def _unchecked_tables(findings: Ranked) -> Iterator[RenderableType]:
    """Yield a table per reason for which claims could not be checked."""
    groups = unread_groups(findings)
    if groups:
        n_claims = cells.n_of(sum(len(group.findings) for group in groups), "claim")
        head = f"\n{n_claims} could not be checked, and what you can do"
        yield Text(head, style="italic yellow")
    for group in groups:
        title = Text(f"{cells.n_of(len(group.findings), 'claim')}: {group.why}", style="yellow")
        if group.steps:
            title.append(f"\n{group.steps}", style="dim")
        rows = [(str(rank), render_one(_open_claim, finding)) for rank, finding in group.findings]
        yield _list(title, 4, rows)


def _open_claim(finding: Finding) -> Text:
    text = Text(cells.shorten(finding.claim.text, OPEN_WIDTH))
    if joint := wording.joint_verdict(finding):
        text.append(f"\n{joint}", style="dim")
    if doubt := wording.unverifiable(finding):
        text.append(f"\n? {doubt}", style="yellow")
    for suggestion in finding.suggestions[:1]:
        url = cells.one_line(suggestion.evidence.passage.url)
        text.append(f"\n⇄ {url}", style="cyan").append(_corpus_of(suggestion), style="dim")
    return text


def _references_table(report: Report) -> Iterator[RenderableType]:
    """Yield a table of the references that need a look, each once, the worst first."""
    noted = {r.citation.reference: r for r in reversed(report.results) if r.reference_notes}
    if not noted:
        return
    order = list(WorkStatus)
    worst_first = sorted(noted.values(), key=lambda r: order.index((r.work or NO_WORK).status))
    rows = [(result.citation.citation_id, _reference(result)) for result in worst_first]
    title = Text(f"References to look at: {len(noted)}", style="yellow")
    yield Text()
    yield _list(title, max(len(name) for name, _ in rows), rows)


def _reference(result: CitationResult) -> Text:
    text = Text()
    if result.work:
        look = WORKS[result.work.status]
        text.append(f"{look.sign} {look.label}  ", look.style)
    text.append(cells.shorten(wording.name_of(result.citation), SOURCE_WIDTH))
    _add_lines(text, [cells.one_line(str(note)) for note in result.reference_notes])
    return text


def _uncited_table(uncited: Sequence[Uncited]) -> Table:
    title = Text(f"{wording.UNCITED['title']}: {len(uncited)}", style="yellow")
    about = wording.UNCITED["advice" if uncited else "none"]
    rows = [(f"{cells.percent(item.probability)} %", _uncited_text(item)) for item in uncited]
    return _list(title.append(f"\n{about}", style="not bold dim"), 5, rows)


def _uncited_text(uncited: Uncited) -> Text:
    text = Text(cells.shorten(uncited.claim.text, CLAIM_WIDTH))
    text.append(f"\n  {cells.one_line('; '.join(uncited.reasons))}", style="dim")
    for suggestion in uncited.suggestions[:1]:
        text.append(f"\n  ⇄ {cells.one_line(suggestion.evidence.passage.url)}", style="cyan")
        _add_lines(text, _quote(suggestion.evidence))
    return text
