"""Checks on a terminal: each reading with its result, and what speaks for and against it.

Texts of statements, pages and models are `rich.text.Text`, never markup, on one line.
"""

from rich.console import Console, Group, RenderableType
from rich.text import Text

from pincite.checks import Check, CheckReport, Failed, Outcome, ReadingResult, Weighed
from pincite.core import confirmation
from pincite.report import check_wording, wording

STYLES = {
    Outcome.STRONG_CONFIRMATION: "bold green",
    Outcome.CONFIRMATION: "green",
    Outcome.WEAK_CONFIRMATION: "green",
    Outcome.BALANCED: "dark_orange",
    Outcome.WEAK_DISCONFIRMATION: "red",
    Outcome.DISCONFIRMATION: "red",
    Outcome.STRONG_DISCONFIRMATION: "bold red",
    Outcome.NO_EVIDENCE: "yellow",
    Outcome.FAILED: "yellow",
    Outcome.NOT_JUDGED: "dim",
}
TEXT_WIDTH, SOURCE_WIDTH = 200, 90  # characters before an ellipsis


def print_report(report: CheckReport, console: Console, limit: int = 3) -> None:
    """Print the checks; on each side of a reading at most `limit` passages."""
    threshold = check_wording.threshold_of(report)
    parts: list[RenderableType] = []
    for check in report.checks:
        parts += _check(check, threshold, limit)
    if len(report.checks) < report.n_statements:
        done = f"stopped after {len(report.checks)} of {report.n_statements} statements"
        parts.append(Text(f"… {done}", "yellow"))
    parts.append(Text(check_wording.ADVICE, style="italic"))
    if used := check_wording.used(report):
        parts.append(Text(used, style="dim"))
    parts += [Text(f"warning: {wording.one_line(w)}", style="dim") for w in report.warnings]
    console.print(Group(*parts))


def _check(check: Check, threshold: float, limit: int) -> list[RenderableType]:
    head = Text(wording.one_line(check.statement), style="bold")
    n_readings = len(check.results)
    readings = "1 reading" if n_readings == 1 else f"{n_readings} readings"
    head.append(f"\n{readings}, found by {wording.one_line(check.interpreted_by)}", "not bold dim")
    parts: list[RenderableType] = [head]
    parts += [_result(result, threshold, limit) for result in check.results]
    for failure in check.failures:
        parts.append(Text(f"  – {wording.shortened(failure.detail, TEXT_WIDTH)}", style="yellow"))
    return [*parts, Text()]


def _result(result: ReadingResult, threshold: float, limit: int) -> Text:
    reading, outcome = result.reading, result.weight.outcome
    style = STYLES[outcome]
    text = Text(f"\n{reading.reading_id[1:]:>3}  ")
    text.append(wording.shortened(reading.text, TEXT_WIDTH))
    text.append(f"  ({reading.kind})", style="dim")
    text.append(f"\n     {check_wording.SIGNS[outcome]} {check_wording.LABELS[outcome]}", style)
    text.append(f" · {check_wording.sentence(result)}", style="dim")
    if warning := check_wording.warning(result):
        text.append(f"\n     ⚠ {warning}", style="bold dark_orange")
    for sign, places in zip("+−", confirmation.sides(result.items, threshold), strict=True):
        # A strong contradiction is shown whatever the limit.
        shown = [n for i, n in enumerate(places) if i < limit or n in result.weight.contradictions]
        for n in shown:
            text.append(_item(result.items[n], sign))
        if len(shown) < len(places):
            text.append(f"\n     {sign} … and {len(places) - len(shown)} more", style="dim")
    failures = [i.outcome for i in result.items if isinstance(i.outcome, Failed)]
    for detail in dict.fromkeys(failure.detail for failure in failures):
        text.append(f"\n     – {wording.shortened(detail, TEXT_WIDTH)}", style="yellow")
    return text


def _item(item: Weighed, sign: str) -> Text:
    passage = item.passage
    doc = check_wording.signed(confirmation.degree_of(item))
    text = Text(f"\n     {sign} {doc}  ", style="green" if sign == "+" else "red")
    name = wording.shortened(passage.title or passage.url, SOURCE_WIDTH)
    text.append(name, style="default")
    text.append(f", {item.published or 'without a date'}", style="dim")
    if item.copies:
        n_pages = len(item.copies)
        pages = "1 other page" if n_pages == 1 else f"{n_pages} other pages"
        text.append(f", also on {pages}", style="dim")
    assert not isinstance(item.outcome, Failed)
    if item.outcome.quote:
        quote = wording.shortened(item.outcome.quote.of(passage.text), TEXT_WIDTH)
        text.append(f"\n              “{quote}”", style="dim")
    return text
