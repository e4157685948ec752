"""Prints checks on a terminal; untrusted text is a `rich.text.Text`, never markup, on one line."""

from collections.abc import Sequence
from functools import partial

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pincite.judgement import confirmation
from pincite.judgement.confirmation import Weighed
from pincite.notes import Note
from pincite.report import cells
from pincite.report.cells import judged_in
from pincite.text.words import unsaid
from pincite.types import CopyKind, Failed
from pincite.verbs.check import wording as check_wording
from pincite.verbs.check.render import is_title
from pincite.verbs.check.report import Check, CheckReport, ReadingResult, render_parts

# Characters before an ellipsis. Statements are cut at three lines: the user knows them.
TEXT_WIDTH, SOURCE_WIDTH, STATEMENT_WIDTH = 200, 90, 240
_INDENT = 5  # columns; aligns with the text of a reading


def print_report(report: CheckReport, console: Console, limit: int = 3) -> None:
    parts: list[RenderableType] = []
    if len(report.checks) > 1:
        parts += [_overview(report.checks), Text()]
    for check in report.checks:
        parts += render_parts(partial(_check, limit=limit), check)
    if len(report.checks) < report.n_statements:
        done = f"stopped after {len(report.checks)} of {report.n_statements} statements"
        parts.append(Text(f"… {done}", "yellow"))
    if legend := report.legend():
        parts.append(Text(legend, style="dim"))
    parts.append(Text(check_wording.ADVICE, style="italic"))
    if used := cells.usage_line(report.usage):
        parts.append(Text(used, style="dim"))
    parts += [Text(f"⚠ {cells.one_line(w)}", style="dark_orange") for w in report.warnings]
    console.print(Group(*parts))


def _overview(checks: Sequence[Check]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for number, check in enumerate(checks, 1):
        labels = {result.label: _label(result) for result in check.results}
        lines = Text("\n").join(labels.values())
        text = Text(cells.shorten(check.statement, SOURCE_WIDTH))
        table.add_row(Text(str(number), "dim"), text, lines or Text("– no reading", "yellow"))
    return table


def _label(result: ReadingResult) -> Text:
    look = check_wording.look(result)
    return Text(f"{look.sign} {look.label}", look.style)


def _check(check: Check, limit: int) -> list[RenderableType]:
    head = Text(cells.shorten(check.statement, STATEMENT_WIDTH), style="bold")
    about = [f"said by {cells.one_line(check.occasion.speaker)}"] if check.occasion.speaker else []
    if not all(_is_as_stated(result, check.statement) for result in check.results):
        readings = cells.n_of(len(check.results), "reading")
        about = [readings, check_wording.interpreted_by(check.interpreted_by), *about]
    head.append(f"\n{', '.join(about)}" if about else "", "not bold dim")
    parts: list[RenderableType] = [head]
    for result in check.results:
        parts += _result(result, check.statement, limit)
    for failure in check.failures:
        detail = Text(f"– {cells.shorten(failure.detail, TEXT_WIDTH)}", style="yellow")
        parts.append(Padding(detail, (0, 0, 0, 2)))
    return [*parts, Text()]


def _is_as_stated(result: ReadingResult, statement: str) -> bool:
    return cells.one_line(result.reading.text) == cells.one_line(statement)


def _result(result: ReadingResult, statement: str, limit: int) -> list[RenderableType]:
    reading, text = result.reading, _label(result)
    head = Table.grid(padding=(0, 2, 0, 0))
    head.add_column(justify="right", width=_INDENT - 2)
    head.add_column()
    stated = _is_as_stated(result, statement)
    name = Text("as stated") if stated else Text(cells.shorten(reading.text, TEXT_WIDTH))
    head.add_row(Text(reading.reading_id[1:]), name.append(f"  ({reading.kind})", style="dim"))
    text.append(f" · {result.summary}", style="dim")
    if result.warning:
        text.append(f"\n⚠ {result.warning}", style="bold dark_orange")
    shown: list[RenderableType] = [_items(result, limit)] if result.items else []
    parts: list[RenderableType] = [Text(), head, *(_indent(part) for part in [*shown, text])]
    failures = check_wording.failure_lines(result.items)
    notes = [f"– {cells.shorten(detail, TEXT_WIDTH)}" for detail in failures]
    if pages := check_wording.unused_pages(result):
        notes.append("– web pages that are not evidence:")
        notes += [f"    {cells.one_line(url)}: {cells.one_line(why)}" for url, why in pages]
    return [*parts, *(_indent(Text(line, style="yellow")) for line in notes)]


def _items(result: ReadingResult, limit: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column()
    table.add_column(overflow="fold")  # a truncated address is useless
    for_it, against = confirmation.sides(result.items)
    for side, style, places in (("against", "red", against), ("for", "green", for_it)):
        # All that contradicts the reading is shown regardless of the limit.
        most = len(places) if side == "against" else limit
        shown = [n for i, n in enumerate(places) if i < most or n in result.weight.contradictions]
        group = ""
        for n in sorted(shown, key=lambda n: check_wording.group_order(result.items[n].source)):
            if (its := check_wording.group(result.items[n].source)) != group:
                table.add_row("", "", Text(its, "italic"))
                group = its
            doc = check_wording.format_degree(result.items[n].doc)
            table.add_row(
                Text(side, style), Text(doc, style), _item(result.items[n], result.reading.text)
            )
        if len(shown) < len(places):
            table.add_row(Text(side, style), "", Text(f"… {len(places) - len(shown)} more", "dim"))
    if nearest := result.nearest:
        table.add_row("", "", Text(check_wording.NEAREST, "italic"))
    for n in nearest[: max(1, limit)]:
        table.add_row(Text("neutral", "dim"), "", _item(result.items[n], result.reading.text))
    return table


def _item(item: Weighed, reading: str) -> Text:
    passage = item.passage
    text = Text(cells.shorten(passage.title or passage.url, SOURCE_WIDTH))
    text.append(f"\n{check_wording.published_by(item)}", style="dim")
    if item.corpus:
        text.append(f", corpus {cells.one_line(item.corpus)}", style="dim")
    if item.origin is CopyKind.LIVE:
        text.append(", from the web", style="dim")
    if item.passage.recognised is not None:
        text.append(f", recognised from a scan ({item.passage.recognised} % sure)", style="dim")
    if item.copies:
        n_pages = len(item.copies)
        pages = "1 other page" if n_pages == 1 else f"{n_pages} other pages"
        text.append(f", also on {pages}", style="dim")
    assert not isinstance(item.outcome, Failed)
    if foreign := judged_in(item.outcome, "en"):
        text.append(f", {foreign}", style="dim")
    marks, reasons = item.outcome.notes, item.outcome.reasons_coded
    text.append(_lines(marks, "⚠ "), style="dark_orange")
    if item.outcome.quote:
        quote = cells.in_quotes(cells.shorten(item.outcome.quoted, TEXT_WIDTH))
        said, all_words = Text(f"\n{quote}"), set(unsaid(quote, ""))
        said.highlight_words(all_words.difference(unsaid(quote, reading)), "bold")  # they agree
        text.append_text(said)
        if item.source.speaker:
            speaker = cells.shorten(item.source.speaker, SOURCE_WIDTH)
            text.append(f", according to {speaker}", style="dim")
        if is_title(item):
            text.append(" (only its title)", style="dim")
    if differs := check_wording.differs(reading, item):
        text.append(f"\n{cells.one_line(differs)}", style="dim")
    text.append(_lines(reasons[len(marks) :]), style="dim")
    if passage.title:
        text.append(f"\n{cells.one_line(passage.url)}", style="dim")
    return text


def _lines(notes: Sequence[Note], sign: str = "") -> str:
    return "".join(f"\n{sign}{cells.one_line(str(note))}" for note in notes)


def _indent(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, _INDENT), expand=False)
