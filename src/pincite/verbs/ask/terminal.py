"""Prints answers on a terminal; untrusted text is a `rich.text.Text`, never markup, on one line."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pincite.judgement.provenance import Retraction
from pincite.judgement.references import ReferenceVerdict, Standing, standing
from pincite.report import bibliography, cells
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.report import Answer, AnswerReport, Change, Checked, Reference, render_parts

GRAVE = (Retraction.YES, Retraction.PARTLY, Retraction.CONCERN)
# Characters before an ellipsis.
TITLE_WIDTH, QUOTE_WIDTH, QUESTION_WIDTH, NAME_WIDTH = 200, 300, 90, 24


def print_report(report: AnswerReport, console: Console) -> None:
    parts: list[RenderableType] = []
    if len(report.answers) > 1:
        parts += [_overview(report.answers), Text()]
    for answer in report.answers:
        parts += render_parts(_answer, answer)
    if len(report.answers) < report.n_questions:
        done = f"stopped after {len(report.answers)} of {report.n_questions} questions"
        parts.append(Text(f"… {done}", "yellow"))
    if advice := ask_wording.advice(report.answers):
        parts.append(Text(advice, style="italic"))
    if used := cells.usage_line(report.usage):
        parts.append(Text(used, style="dim"))
    parts += [Text(f"warning: {cells.one_line(w)}", style="dim") for w in report.warnings]
    console.print(Group(*parts))


def _overview(answers: Sequence[Answer]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for number, answer in enumerate(answers, 1):
        counts = Text("\n").join(
            Text(f"{look.sign} {n} {look.label}", look.style)
            for n, look in ask_wording.counts(answer.sentences)
        )
        if cautions := ask_wording.cautions(answer):
            counts.append("\n").append(f"⚠ {' '.join(cautions)}", "yellow")
        text = Text(cells.shorten(answer.question, QUESTION_WIDTH))
        nothing = Text("– failed" if answer.failure else f"○ {ask_wording.NO_ANSWER}", "yellow")
        table.add_row(Text(str(number), "dim"), text, counts or nothing)
    return table


def sentence_line(checked: Checked) -> Text:
    """Format one sentence with its references and standing."""
    look = ask_wording.LOOKS[checked.standing]
    text = Text("".join(f"⚠ {cells.one_line(note)}\n" for note in checked.notes), "dark_orange")
    text.append(f"{look.sign} ", look.style)
    text.append(cells.one_line(checked.sentence.text), "default")
    numbers = ask_wording.numbers(checked)
    if numbers and checked.standing is not Standing.VERBATIM:
        text.append(f" [{', '.join(numbers)}]", "bold")
    text.append(f"  {ask_wording.label(checked)}", look.style)
    return text.append(f"\n  {ask_wording.INHERITED}" if checked.inherited else "", "dark_orange")


def _answer(answer: Answer) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(cells.one_line(answer.question), style="bold")]
    if by := ask_wording.written_by(answer):
        parts.append(Text(by, style="dim"))
    parts.append(Text())
    if answer.abstained:
        text = Text(f"○ {ask_wording.NO_ANSWER}", "bold yellow")
        parts.append(text.append(f"\n  {cells.one_line(answer.abstained)}", "not bold default"))
    parts += [_sentence(s, str(n)) for n, s in enumerate(answer.sentences, 1)]
    parts += [Text(f"⚠ {caution}", "yellow") for caution in ask_wording.cautions(answer)]
    parts += _references(answer)
    if answer.dropped:
        parts.append(_heading("Dropped by verification", "no longer part of the answer"))
        parts += [_sentence(sentence) for sentence in answer.dropped]
    if answer.changes:
        parts.append(_heading("Repaired"))
        parts += [_change(change) for change in answer.changes]
    lines = [f"{name}: {value}" for name, value in ask_wording.search_details(answer)]
    return [*parts, _heading("Searched"), _row("", Text("\n".join(lines), "dim")), Text()]


def _sentence(checked: Checked, number: str = "") -> RenderableType:
    lines: list[RenderableType] = [sentence_line(checked)]
    if checked.standing not in (Standing.SUPPORTED, *ask_wording.COPIES):
        lines += [_verdict(verdict) for verdict in checked.verdicts]
    return _row(number, *lines)


def _row(number: str, *parts: RenderableType) -> RenderableType:
    row = Table.grid(padding=(0, 1))
    row.add_column(justify="right", min_width=3, style="dim", no_wrap=True)
    row.add_column()
    row.add_row(Text(number), Group(*parts))
    return row


def _verdict(verdict: ReferenceVerdict) -> RenderableType:
    name = str(verdict.number or cells.shorten(verdict.written, NAME_WIDTH))
    look = ask_wording.LOOKS[standing([verdict.support])]
    words = f"{look.sign} {ask_wording.VERDICTS[verdict.support]}"
    why = f": {cells.one_line(verdict.why)}" if verdict.why else ""
    text = Text(words + why, look.style)
    if quote := ask_wording.quote_of(verdict):
        closest = f" · closest: “{cells.shorten(quote, QUOTE_WIDTH)}”"
        text.append(closest, "not bold dim default")
    return Padding(_row(f"[{name}]", text), (0, 0, 0, 1))


def _references(answer: Answer) -> list[RenderableType]:
    cited, uncited = ask_wording.cited_and_uncited(answer)
    parts: list[RenderableType] = []
    if cited:
        parts.append(_heading("References"))
        parts += map(_reference, cited)
    if uncited:
        parts.append(_heading(ask_wording.ALSO_FOUND if cited else ask_wording.CLOSEST))
        parts += [_row(f"[{reference.number}]", _short(reference)) for reference in uncited]
    if answer.left_out:
        parts.append(_heading(ask_wording.LEFT_OUT))
        parts += [_row("", _short(reference)) for reference in answer.left_out]
    if unknown := ask_wording.unknown_retractions(answer.references):
        parts.append(Text(f"    {unknown}", "dim"))
    return parts


def _reference(reference: Reference) -> RenderableType:
    document = reference.document
    text = _title_text(reference)
    if notices := cells.one_line(document.meta.get("notices", "")):
        text.append(f"\n{notices}", "dark_orange")
    text.append(f"\n{ask_wording.published_in(reference)}", "dim")
    if addresses := _addresses(reference):
        text.append(f"\n{addresses}", "dim")
    return _row(f"[{reference.number}]", text)


def _short(reference: Reference) -> Text:
    document = reference.document
    text = _title_text(reference)
    date = bibliography.cited_date(document.published, document.meta)
    ids = [name for name, _ in bibliography.links(document.meta)][:1]
    url = cells.shorten(ask_wording.url_of(document), TITLE_WIDTH)
    more = [str(date[0]) if date else "undated", *filter(None, ids or [url])]
    if document.corpus:
        more.append(f"corpus {cells.one_line(document.corpus)}")
    return text.append("".join(f" · {part}" for part in more), "dim")


def _title_text(reference: Reference) -> Text:
    text = Text()
    if mark := ask_wording.mark_of(reference):
        text.append(f"{mark} ", "bold red" if reference.retraction in GRAVE else "dark_orange")
    title = ask_wording.title_of(reference.document)
    return text.append(cells.shorten(title, TITLE_WIDTH), "default")


def _addresses(reference: Reference) -> str:
    """Show identifiers and links as plain text, because a terminal's own links could be forged."""
    meta = reference.document.meta
    addresses = [
        to if to.endswith(name.removeprefix("doi:")) else f"{name} {to}"
        for name, to in bibliography.links(meta)
    ]
    return " · ".join(addresses) or cells.one_line(ask_wording.url_of(reference.document))


def _change(change: Change) -> RenderableType:
    text = Text(f"− {cells.one_line(change.before.sentence.text)}\n", "red")
    text.append(f"+ {cells.one_line(change.after) or 'struck out'}\n", "green")
    return _row("", text.append(f"  {cells.one_line(change.why)}", "dim"))


def _heading(title: str, more: str = "") -> Text:
    text = Text(f"\n{title}", "bold")
    return text.append(f" ({more})", "not bold dim") if more else text
