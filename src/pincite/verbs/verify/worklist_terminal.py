"""The work-list on a terminal: the riskiest articles, and the funnel of all of them."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pincite.report import cells
from pincite.verbs.verify import funnel_words, wording
from pincite.verbs.verify.terminal import funnel_table, lost_table
from pincite.verbs.verify.worklist import FLAGGED, Row, WorkList

SHOWN = 20  # articles: a screen; the pages have all


def print_list(found: WorkList, console: Console) -> None:
    """Print it; no text of an article is obeyed."""
    head = Text(f"{found.head} · riskiest first", style="bold")
    parts: list[RenderableType] = [
        head,
        Text(),
        _table(found.rows[:SHOWN], uncited=found.looked_for_uncited),
    ]
    if len(found.rows) > SHOWN:
        parts.append(Text(f"… and {len(found.rows) - SHOWN} more", style="dim"))
    parts += [Text(FLAGGED, style="dim"), Text(wording.ADVICE, style="italic"), Text()]
    summed = found.funnel
    if summed.reasons:
        parts += [lost_table(summed), Text()]
    parts += [funnel_table(summed), Text(funnel_words.counted(summed), style="dim")]
    console.print(Group(*parts))


def _table(rows: tuple[Row, ...], *, uncited: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
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
        if uncited:
            counted.append("" if row.n_uncited is None else str(row.n_uncited))
        table.add_row(*counted, title)
    return table
