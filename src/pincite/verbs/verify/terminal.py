"""Prints the report on a terminal: the ranked table, what could not be checked, and the counts.

Text from an article or a page is always a `rich.text.Text`, never markup.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pincite import errors
from pincite.models.weights import served
from pincite.report import cells
from pincite.report.cells import WORKS, judged_in, n_of, why_excluded, why_unchecked
from pincite.settings import Settings
from pincite.text.hosts import host_of
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
from pincite.verbs.verify.render import MAX_SHOWN, excerpt
from pincite.verbs.verify.report import (
    FLAGS,
    Coverage,
    Report,
    Stage,
    by_reason,
    counting_rule,
    coverage_rows,
    lost_rows,
)
from pincite.verbs.verify.worklist import FLAGGED, NOTHING_CHECKED, Row, WorkList

if TYPE_CHECKING:
    from pincite.verbs.verify.build import Estimate, Seconds

CLAIM_WIDTH, SOURCE_WIDTH, OPEN_WIDTH, PASSING_WIDTH = 300, 90, 70, 90  # before an ellipsis
OPINION_LINES = 3  # of a second opinion; --html shows all
SHOWN = 10  # claims listed per reason for which nothing could be checked
NOTHING_CITED = (
    "--uncited lists sentences that need a citation; `pincite check` checks single statements."
)
LISTED = 20  # articles of a work list: one screen; the HTML page lists all


def print_report(
    report: Report,
    console: Console,
    limit: int | None = None,
    *,
    excluded: bool = False,
    only: Collection[str] = (),
) -> None:
    """Print at most `limit` findings, worst first, and with `excluded` the pages left out.

    `only`: labels, or "references": only findings with one, or with a reference to look at.
    """
    ranked = enumerate(report.findings, 1)
    chosen = [
        (rank, f)
        for rank, f in ranked
        if not only or f.label in only or ("references" in only and f.has_reference_notes)
    ]
    shown = chosen[:limit]
    checked = [
        (rank, f) for rank, f in shown if f.label is not Label.UNCHECKED or f.is_reference_in_doubt
    ]
    parts: list[RenderableType] = [_head(report)]
    if not report.n_claims:
        parts += [Text(cells.one_line(w)) for w in report.warnings]
        parts += [Text(NOTHING_CITED, style="dim")] if report.uncited is None else []
        parts += [] if report.uncited is None else [Text(), _uncited_table(report.uncited)]
        console.print(Group(*parts))
        return
    if report.coverage.stages[Stage.JUDGED].uses:
        advice = wording.flag_advice(report.flag_precision) or wording.ADVICE
        parts += [Text(f"{advice} {wording.SORTED}", style="italic"), Text()]
    if checked:
        parts.append(_table(checked))
    if len(shown) < len(report.findings):
        parts.append(Text(f"… and {len(report.findings) - len(shown)} more", style="dim"))
    parts += _unchecked_tables(chosen)
    parts += _faults(report)
    if report.uncited is not None:
        parts += [Text(), _uncited_table(report.uncited)]
    if excluded and any(finding.excluded for finding in report.findings):
        parts += [Text(), _excluded(report)]
    parts += [Text(), _coverage_table(report.coverage)]
    parts.append(Text(counting_rule(report.coverage), style="dim"))
    parts += [Text(f"warning: {cells.one_line(w)}", style="dim") for w in report.warnings]
    console.print(Group(*parts))


def _head(report: Report) -> Group:
    counted, cited = report.counts, report.coverage.stages[Stage.CITED]
    head = Text(cells.one_line(report.title), style="bold")
    if report.revision_id:
        head.append(f" · revision {cells.one_line(report.revision_id)}", style="dim")
    if not report.n_claims:
        return Group(head)
    line = f"\n{cells.n_of(counted.claims, 'claim')}, "
    line += f"{cells.n_of(cited.uses, 'citation')} of {cells.n_of(cited.sources, 'source')}"
    if not report.complete:
        line += f"; stopped after {cells.n_of(counted.judged, 'claim')}"
    rows = [
        (counted.labels[label], wording.verdict(label), wording.LEGEND[label], look.style)
        for label in wording.ORDER
        if (look := wording.LOOKS[label])
    ]
    unverifiable, uncited = counted.may_be_unverifiable, counted.uncited_before
    rows.append((unverifiable, "? found in no source", "that is cited or was searched", ""))
    rows.append((uncited, "– not judged", "sentences: the next reference follows a later one", ""))
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", width=4)
    table.add_column(width=20)
    for number, words, legend, style in filter(lambda row: row[0], rows):
        table.add_row(Text(str(number), style), Text(words, style), Text(legend, "dim"))
    return Group(head.append(line, style="not bold"), table)


def _grid(title: str | Text = "", *, style: str = "", header: bool = False) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style=style,
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
        show_header=header,
    )


def _coverage_table(found: Coverage) -> Table:
    table = _grid("How many citations could be checked", header=True)
    table.add_column("")
    table.add_column("citations", justify="right")
    table.add_column("sources", justify="right")
    for head, uses, sources in coverage_rows(found):
        table.add_row(head, str(uses), "" if sources is None else str(sources))
    return table


def _table(findings: Sequence[tuple[int, Finding]]) -> Table:
    table = Table(box=None, padding=(0, 1, 1, 0), header_style="dim", expand=True)
    table.add_column("#", justify="right", width=3)
    table.add_column("verdict", width=21)
    table.add_column("claim, source, better source", ratio=1)
    for rank, finding in findings:
        verdict = Text(wording.verdict(finding.label), style=wording.LOOKS[finding.label].style)
        table.add_row(str(rank), verdict, _hanging(errors.shown(_details, finding)))
    return table


def progress_line(finding: Finding) -> Text | None:
    """Return the progress line of a claim; None if an editor has nothing to do."""
    if finding.label not in (*FLAGS, Label.PARTLY_SUPPORTED):
        return None
    text = Text(f"{wording.verdict(finding.label)}  ", style=wording.LOOKS[finding.label].style)
    return text.append(cells.shortened(finding.claim.text, PASSING_WIDTH), style="not bold default")


def _details(finding: Finding) -> Text:
    text = Text(cells.shortened(finding.claim.text, CLAIM_WIDTH))
    for line in wording.about_claim(finding):
        text.append(f"\n  ⚑ {line}", style="yellow")
    for result in finding.citations:
        look = wording.LOOKS[result.label]
        name = cells.shortened(wording.name_of(result.citation), SOURCE_WIDTH)
        text.append(f"\n  {look.sign} {name}", style=look.style)
        _indented(text, _of_source(result, finding))
    text.append(f"\n  ⇒ {wording.verdict_by(finding)}", wording.LOOKS[finding.label].style)
    if strength := wording.strength(finding):
        text.append(f" · {strength}", style="not bold dim")
    if lacks := wording.missing_of(finding):
        text.append(f"\n  ◐ {lacks}", style=wording.LOOKS[Label.PARTLY_SUPPORTED].style)
    if joined := wording.joined(finding):
        text.append(f"\n  {joined}", style="dim")
    for n, line in enumerate(wording.second_opinion(finding)[:OPINION_LINES]):
        text.append(f"\n  {'      ' if n else '⚖ '}{cells.shortened(line, CLAIM_WIDTH)}", "dim")
    if doubt := wording.unverifiable(finding):
        text.append(f"\n  ? {doubt}", style="yellow")
    for suggestion in finding.suggestions[:1]:
        passage = suggestion.evidence.passage
        title = cells.shortened(passage.title or passage.url, SOURCE_WIDTH)
        text.append(f"\n  ⇄ better: {title}", style="cyan")
        text.append(_corpus(suggestion), style="dim")
        _indented(text, _listed(suggestion.listing))
        _indented(text, [cells.one_line(passage.url)], "dim cyan")
        _indented(text, _quote(suggestion.evidence))
        _indented(text, [judged_in(suggestion.evidence, finding.claim.language or "en")])
        _indented(text, [wording.where(suggestion.place, Label.SUPPORTED)])
    return text


def _hanging(text: Text) -> Group:
    """Each line wrapped at its own indent, so that what belongs to a source stays below it."""
    lines = []
    for line in text.split("\n"):
        indent = len(line.plain) - len(line.plain.lstrip())
        rest = line[indent:]
        rest.overflow = "fold"  # a URL is shown whole
        lines.append(Padding(rest, (0, 0, 0, indent)))
    return Group(*lines)


def _indented(text: Text, lines: Sequence[str], style: str = "dim") -> None:
    text.append("".join(f"\n      {line}" for line in lines if line), style=style)


def _of_source(result: CitationResult, finding: Finding) -> list[str]:
    lines = _listed(result.listing)
    if result.work and result.is_in_doubt:
        look, notes = WORKS[result.work.status], map(str, result.work.notes)
        lines = [f"{look.sign} {look.label}", *map(cells.one_line, notes), *lines]
    if not isinstance(result.outcome, Evidence):
        return [*lines, why_unchecked(result.outcome)]
    lines.append(judged_in(result.outcome, finding.claim.language or "en"))
    if result.copy and result.copy.kind in (*wording.ARCHIVED_KINDS, CopyKind.OWN):
        lines.append(wording.copy_read(result))
    if result.changed:
        changed = f"the source changed since it was cited: {wording.what_changed(result)}"
        lines.append(f"↻ {changed} ({wording.CHANGED_STEP})")
    is_supported = finding.label is Label.SUPPORTED
    reasons = result.outcome.notes if is_supported else wording.reasons(result, finding)[:2]
    lines += _quote(result.outcome)
    others = wording.also_read(result.outcome, finding.claim.text)
    lines += [f"and “{cells.shortened(other, CLAIM_WIDTH)}”" for other in others]
    lines += [cells.one_line(str(reason)) for reason in reasons]
    return [*lines, wording.where(result.place, result.label)]


def _corpus(suggestion: Suggestion) -> str:
    return f", corpus {cells.one_line(suggestion.corpus)}" if suggestion.corpus else ""


def _listed(listing: Listing | None) -> list[str]:
    words = wording.reliability(listing)
    return [f"source: {words}"] if words else []


def _quote(evidence: Evidence) -> list[str]:
    shown = excerpt(evidence.passage.text, evidence.quote)
    if shown:
        return [f"“{cells.shortened(shown.quote, MAX_SHOWN)}”"]
    text = evidence.passage.text
    return [
        f"{wording.NO_QUOTE}: “{cells.shortened(text, CLAIM_WIDTH)}”" if text else wording.NO_QUOTE
    ]


def _excluded(report: Report) -> Text:
    text = Text("Left out of the suggestions", style="yellow")
    for rank, finding in enumerate(report.findings, 1):
        for left_out in finding.excluded:
            text.append(f"\n{rank:3} {cells.one_line(left_out.url)}", style="")
            _indented(text, [why_excluded(left_out)])
    return text


def _list(title: Text, width: int, rows: Sequence[tuple[str, Text]]) -> Table:
    table = _grid(title)
    table.padding, table.expand = (0, 1, 0, 0), True
    table.add_column(justify="right", width=width)
    table.add_column(ratio=1)
    for row in rows[:SHOWN]:
        table.add_row(*row)
    if len(rows) > SHOWN:
        more = f"… and {len(rows) - SHOWN} more; --html or --json has all"
        table.add_row("", Text(more, style="dim"))
    return table


def _unchecked_tables(chosen: Sequence[tuple[int, Finding]]) -> list[RenderableType]:
    """Return a table per reason for which claims could not be checked."""

    def claim(finding: Finding) -> Text:
        text = Text(cells.shortened(finding.claim.text, OPEN_WIDTH))
        if joined := wording.joined(finding):
            text.append(f"\n{joined}", style="dim")
        if doubt := wording.unverifiable(finding):
            text.append(f"\n? {doubt}", style="yellow")
        for suggestion in finding.suggestions[:1]:
            url = cells.one_line(suggestion.evidence.passage.url)
            text.append(f"\n⇄ {url}", style="cyan").append(_corpus(suggestion), style="dim")
        return text

    groups = by_reason(chosen)
    n_claims = cells.n_of(sum(len(group.findings) for group in groups), "claim")
    found: list[RenderableType] = []
    if groups:
        head = f"\n{n_claims} could not be checked, and what you can do"
        found.append(Text(head, style="italic yellow"))
    for group in groups:
        title = Text(f"{cells.n_of(len(group.findings), 'claim')}: {group.why}", style="yellow")
        title.append(f"\n{group.steps}" if group.steps else "", style="dim")
        rows = [(str(rank), errors.shown(claim, each)) for rank, each in group.findings]
        found.append(_list(title, 4, rows))
    return found


def _faults(report: Report) -> list[RenderableType]:
    """Return a table of the references that need a look, each once, the worst first."""
    cited = [result for finding in report.findings for result in finding.citations]
    noted = {each.citation.reference: each for each in reversed(cited) if each.reference_notes}
    if not noted:
        return []
    rows = []
    order = list(WorkStatus)
    for result in sorted(noted.values(), key=lambda r: order.index((r.work or NO_WORK).status)):
        text = Text()
        if result.work:
            look = WORKS[result.work.status]
            text.append(f"{look.sign} {look.label}  ", look.style)
        text.append(cells.shortened(wording.name_of(result.citation), SOURCE_WIDTH))
        _indented(text, [cells.one_line(str(note)) for note in result.reference_notes])
        rows.append((result.citation.citation_id, text))
    title = Text(f"References to look at: {len(noted)}", style="yellow")
    return [Text(), _list(title, max(len(name) for name, _ in rows), rows)]


def _uncited_table(uncited: Sequence[Uncited]) -> Table:
    title = Text(f"{wording.UNCITED['title']}: {len(uncited)}", style="yellow")
    about = wording.UNCITED["advice" if uncited else "none"]
    rows = []
    for each in uncited:
        text = Text(cells.shortened(each.claim.text, CLAIM_WIDTH))
        text.append(f"\n  {cells.one_line('; '.join(each.reasons))}", style="dim")
        for suggestion in each.suggestions[:1]:
            text.append(f"\n  ⇄ {cells.one_line(suggestion.evidence.passage.url)}", style="cyan")
            _indented(text, _quote(suggestion.evidence))
        rows.append((f"{cells.percent(each.probability)} %", text))
    return _list(title.append(f"\n{about}", style="not bold dim"), 5, rows)


def print_list(found: WorkList, console: Console) -> None:
    """Print the work-list of many articles."""
    table = _articles(found.rows[:LISTED], uncited=found.looked_for_uncited)
    head = Text(f"{found.head} · riskiest first", style="bold")
    parts: list[RenderableType] = [head, Text(), table]
    if len(found.rows) > LISTED:
        parts.append(Text(f"… and {len(found.rows) - LISTED} more", style="dim"))
    parts += [Text(FLAGGED, style="dim"), Text(wording.ADVICE, style="italic"), Text()]
    summed = found.coverage
    if summed.reasons:
        n_lost = cells.n_of(sum(tally.uses for tally in summed.reasons.values()), "citation")
        lost = _grid(f"{n_lost} could not be checked, and what you can do", style="yellow")
        for count, why, step in lost_rows(summed):
            lost.add_row(count, why, Text(step, style="dim"))
        parts += [lost, Text()]
    parts += [_coverage_table(summed), Text(counting_rule(summed), style="dim")]
    console.print(Group(*parts))


def _articles(rows: tuple[Row, ...], *, uncited: bool) -> Table:
    table = _grid(header=True)
    heads = ("risk", "flagged", "partly", "checked", *(("uncited",) if uncited else ()))
    for name in heads:
        table.add_column(name, justify="right")
    table.add_column("article", overflow="fold")
    for row in rows:
        title = Text(cells.one_line(row.title))
        if row.problem:
            title.append(f"\n{cells.one_line(row.problem)}", style="yellow")
            table.add_row(*[""] * len(heads), title)
            continue
        flagged = Text(str(row.n_flagged), style="red" if row.n_flagged else "")
        checked = f"{row.n_checked} of {row.n_claims}"
        counted: list[str | Text] = [f"{row.risk:.2f}", flagged, str(row.n_partly), checked]
        if row.n_claims and not row.n_checked:
            counted[:3] = "–––"
            title.append(f"\n{NOTHING_CHECKED}", style="yellow")
        if uncited:
            counted.append("" if row.n_uncited is None else str(row.n_uncited))
        table.add_row(*counted, title)
    return table


# ── The estimate ──────────────────────────────────────────────────────────────────────────────────

SHORT = 10.0  # seconds; too short to mention
EXAMINATION = "24 to 192 short questions, about 700 tokens each"
FREE = "It costs nothing: no language model is used."
VERIFIER = (
    "Each pair not judged before is a request to the verifier's server, which may cost money."
)


def estimate_lines(found: "Estimate", settings: Settings) -> list[str]:
    copies = [f"{found.at_hand} at hand"]
    if found.to_fetch:
        copies.append(f"{found.to_fetch} to fetch from {n_of(len(found.hosts), 'host')}")
    if found.missing:
        how = "supply copies" + ("" if settings.web.online else ", or give --online")
        copies.append(f"{found.missing} missing: {how}")
    counted = f"{n_of(found.claims, 'claim')}, {n_of(found.citations, 'citation')}, "
    counted += f"{n_of(found.sources, 'source')} with an address: {', '.join(copies)}."
    fetching, judging = found.seconds_of_fetching, found.seconds_of_judging
    times = f"Takes {duration((fetching[0] + judging[0], fetching[1] + judging[1]))}"
    if found.to_fetch:
        times += f": fetching {duration(fetching)}, judging {duration(judging)}"
    if judging[1] >= SHORT:
        times += "; less if pairs were judged before"
    if found.to_fetch and (settings.web.wayback or settings.web.search_url):
        times += "; more if archives or the search engine are used"
    costs = [VERIFIER] if served(settings.models.verifier) else []
    costs += [_opinions(found, settings)] if found.most_calls else []
    return [counted, f"{times}. {' '.join(costs) or FREE}"]


def asks_others(settings: Settings) -> bool:
    """Whether a run waits for hosts or servers; if not, it is too quick to need an estimate."""
    return bool(settings.web.online or served(settings.models.verifier) or settings.judge.url)


def _opinions(found: "Estimate", settings: Settings) -> str:
    budget, judge = settings.budget, settings.judge
    calls = min(found.most_calls, budget.max_calls or found.most_calls)
    tokens = found.most_tokens * calls // found.most_calls
    tokens = min(tokens, budget.max_tokens or found.most_tokens)
    cost = budget.limits.cost_of(tokens, 0)
    price = f", about {cost:.2f} at the configured price" if cost else ""
    return (
        f"{judge.model} at {host_of(judge.url)} is asked for at most {n_of(calls, 'opinion')}: at "
        f"most {tokens:,} tokens{price}. It receives the claims and their sources. A model that is "
        f"new to Pincite is examined first: {EXAMINATION}."
    )


def duration(seconds: "Seconds") -> str:
    """Format a rough duration: "about 1 to 2 min"."""
    low, high = seconds
    if high < SHORT:
        return "a few seconds"
    unit, name, step = (1, "s", 10) if high < 90 else (60, "min", 1)
    if high > 90 * 60:
        unit, name = 3600, "h"
    least, most = (round(value / unit / step) * step for value in (low, high))
    if least == 0:
        return f"up to {most} {name}"
    return f"about {most} {name}" if least == most else f"about {least} to {most} {name}"
