"""The report on a terminal: the ranked table, what could not be checked, and the counts.

Every text from an article or a page is a `rich.text.Text`, never markup, and has no control
characters: a title like "[red]" or an escape sequence is shown, not obeyed.
"""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pincite.report import data, funnel, wording
from pincite.types import (
    CitationResult,
    Claim,
    CopyKind,
    Evidence,
    Finding,
    Funnel,
    Label,
    Listing,
    Report,
)

STYLES = {
    Label.SUPPORTED: "green",
    Label.PARTLY_SUPPORTED: "dark_orange",
    Label.NOT_SUPPORTED: "red",
    Label.REFUTED: "bold red",
    Label.UNCHECKED: "yellow",
}
CLAIM_WIDTH, SOURCE_WIDTH = 150, 90  # characters before an ellipsis


def print_report(
    report: Report, console: Console, limit: int | None = None, *, excluded: bool = False
) -> None:
    """Print the report; of the findings at most `limit`, worst first.

    `excluded`: also the pages that were found and left out of the suggestions.
    """
    shown = report.findings[:limit]
    checked = [f for f in shown if f.label is not Label.UNCHECKED]
    open_ = [f for f in report.findings if f.label is Label.UNCHECKED]
    ranks = {id(finding): rank for rank, finding in enumerate(report.findings, 1)}
    parts: list[RenderableType] = [_head(report), Text(), funnel_table(report.funnel)]
    if checked:
        parts.append(_table(checked, ranks))
    if len(shown) < len(report.findings):
        parts.append(Text(f"… and {len(report.findings) - len(shown)} more", style="dim"))
    if report.funnel.reasons:
        parts += [Text(), lost_table(report.funnel)]
    if open_:
        parts += [Text(), _open_table(open_, ranks)]
    if excluded:
        parts += [Text(), _excluded(report, ranks)]
    parts.append(Text(wording.ADVICE, style="italic"))
    if report.flag_precision:
        parts.append(Text(wording.flag_advice(report.flag_precision), style="italic"))
    parts += [Text(f"warning: {wording.one_line(w)}", style="dim") for w in report.warnings]
    console.print(Group(*parts))


def _head(report: Report) -> Text:
    counted = data.counts(report)
    head = Text(wording.one_line(report.title), style="bold")
    if report.revision_id:
        head.append(f" · revision {wording.one_line(report.revision_id)}", style="dim")
    line = f"\n{counted['claims']} claims, {counted['references']} references"
    if not report.complete:
        line += f"; stopped after {counted['judged']} claims"
    head.append(line, style="not bold")
    for label in wording.ORDER:
        words = f"\n{counted['labels'][label]:4} {wording.verdict(label)}"
        head.append(words, style=f"not bold {STYLES[label]}")
    return head


def funnel_table(found: Funnel) -> Table:
    """How far the citations came, counted by uses and by sources."""
    table = Table(
        box=None,
        padding=(0, 1, 0, 0),  # fits 80 columns
        header_style="dim",
        caption=funnel.counted(found),
        caption_justify="left",
        caption_style="dim",
    )
    steps = funnel.columns(found)
    table.add_column("citations")
    for head, _, _ in steps:
        table.add_column(head, justify="right")
    table.add_row("uses", *(str(uses) for _, uses, _ in steps))
    table.add_row("sources", *("" if n is None else str(n) for _, _, n in steps), style="dim")
    return table


def lost_table(found: Funnel) -> Table:
    """Why citations could not be checked, and what to do."""
    table = Table(
        title=f"Citations that could not be checked ({funnel.n_lost(found)}), and what you can do",
        title_justify="left",
        title_style="yellow",
        box=None,
        padding=(0, 2, 0, 0),
        show_header=False,
    )
    for _ in range(3):
        table.add_column(overflow="fold")
    for count, why, step in funnel.lost(found):
        table.add_row(count, why, Text(step, style="dim"))
    return table


def _table(findings: list[Finding], ranks: dict[int, int]) -> Table:
    table = Table(box=None, padding=(0, 1, 1, 0), header_style="dim", expand=True)
    table.add_column("#", justify="right", width=3)
    table.add_column("verdict", width=19)
    table.add_column("claim, source, better source", ratio=1)
    for finding in findings:
        table.add_row(str(ranks[id(finding)]), _verdict(finding), _details(finding))
    return table


def _verdict(finding: Finding) -> Text:
    text = Text(wording.verdict(finding.label), style=STYLES[finding.label])
    support = data.support(finding)
    if support is not None:
        text.append(f"\nsupport {100 * support:.0f} %", style="not bold dim")
    return text


def _claim(claim: Claim) -> Text:
    """The claim in its sentence, the rest of which is dim; alone where that would be too long."""
    sentence, part = wording.one_line(claim.sentence), claim.part
    if part is None or len(sentence) != len(claim.sentence) or len(sentence) > CLAIM_WIDTH:
        return Text(wording.shortened(claim.text, CLAIM_WIDTH))
    text = Text(sentence[: part.start], style="dim")
    text.append(sentence[part.start : part.end], style="not dim")
    return text.append(sentence[part.end :], style="dim")


def _details(finding: Finding) -> Text:
    text = _claim(finding.claim)
    lacks = wording.what_is_missing(finding.claim.text, finding.label, finding.missing)
    if lacks:
        text.append(f"\n  ◐ {lacks}", style=STYLES[Label.PARTLY_SUPPORTED])
    for result in finding.citations:
        name = wording.shortened(wording.name_of(result.citation), SOURCE_WIDTH)
        text.append(f"\n  {wording.SIGNS[result.label]} {name}", style=STYLES[result.label])
        text.append(_listed(result.listing), style="dim")
        if isinstance(result.outcome, Evidence):
            text.append(_copy_lines(result), style="dim")
            text.append(_evidence_lines(result.outcome), style="dim")
            if place := wording.where(result.place, result.label):
                text.append(f"\n      {place}", style="dim")
        else:
            text.append(f"\n      {wording.why_unchecked(result.outcome)}", style="dim")
    for suggestion in finding.suggestions[:1]:
        passage = suggestion.evidence.passage
        title = wording.shortened(passage.title or passage.url, SOURCE_WIDTH)
        text.append(f"\n  ⇄ better: {title}", style="cyan")
        text.append(_listed(suggestion.listing), style="dim")
        text.append(f"\n      {wording.one_line(passage.url)}", style="dim cyan")
        text.append(_evidence_lines(suggestion.evidence), style="dim")
        if place := wording.where(suggestion.place, Label.SUPPORTED):
            text.append(f"\n      {place}", style="dim")
    return text


def _listed(listing: Listing | None) -> str:
    words = wording.reliability(listing)
    return f"\n      source: {words}" if words else ""


def _copy_lines(result: CitationResult) -> str:
    """Which copy was read, if an archive's or one's own; what today's page says, if it changed."""
    lines = []
    if result.copy and result.copy.kind in (CopyKind.ARCHIVED, CopyKind.WAYBACK, CopyKind.OWN):
        lines.append(f"\n      {wording.copy_read(result)}")
    if result.changed:
        changed = f"the source changed since it was cited: {wording.what_changed(result)}"
        lines.append(f"\n      ↻ {changed} ({wording.CHANGED_STEP})")
    return "".join(lines)


def _excluded(report: Report, ranks: dict[int, int]) -> Text:
    """Every page that was found and left out, with its finding's number and the reason."""
    text = Text("Left out of the suggestions", style="yellow")
    for finding in report.findings:
        for left_out in finding.excluded:
            text.append(f"\n{ranks[id(finding)]:3} {wording.one_line(left_out.url)}", style="")
            text.append(f"\n      {wording.why_excluded(left_out)}", style="dim")
    if not any(finding.excluded for finding in report.findings):
        text.append("\n    nothing was", style="dim")
    return text


def _evidence_lines(evidence: Evidence) -> str:
    lines = []
    if evidence.quoted:
        lines.append(f"\n      “{wording.shortened(evidence.quoted, CLAIM_WIDTH)}”")
    lines += [f"\n      {wording.one_line(reason)}" for reason in evidence.reasons[:2]]
    return "".join(lines)


def _open_table(findings: list[Finding], ranks: dict[int, int]) -> Table:
    table = Table(
        title=f"Claims left open ({len(findings)})",
        title_justify="left",
        title_style="yellow",
        box=None,
        padding=(0, 1, 0, 0),
        show_header=False,
        expand=True,
    )
    table.add_column(justify="right", width=3)
    table.add_column(ratio=1)
    for finding in findings:
        text = Text(wording.shortened(finding.claim.text, SOURCE_WIDTH))
        text.append(f"\n  – {wording.one_line(wording.why_open(finding))}", style="yellow")
        for suggestion in finding.suggestions[:1]:
            text.append(f"\n  ⇄ {wording.one_line(suggestion.evidence.passage.url)}", style="cyan")
        table.add_row(str(ranks[id(finding)]), text)
    return table
