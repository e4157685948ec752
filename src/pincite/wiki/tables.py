"""A table while it is read: its column headings and the cells of the present row.

A cell such as "1,234" means nothing alone. It is handed on with the cells before it in its row and
the heading of its column.
"""

from dataclasses import dataclass, field, replace

from pincite.types import Span
from pincite.wiki.flat import Block, last_words

MAX_ROW = 300  # characters of earlier cells that a cell is handed on with
MAX_WIDTH = 50  # columns that one heading may span


@dataclass(slots=True)
class Table:
    """Column headings and the present row; knows nothing of markup."""

    headings: dict[int, str] = field(default_factory=dict)  # by column
    row: list[tuple[Block, bool, int, int]] = field(default_factory=list)  # heading?, column, width
    lines: list[str] = field(default_factory=list)  # of the row, of cells that say something
    covered: Span | None = None  # where those stand
    column: int = 0
    caption: str = ""

    def cell(self, block: Block, *, heading: bool, width: int = 1) -> Block:
        """Add a cell that spans `width` columns; the block with its row and heading."""
        label = "" if heading else self.headings.get(self.column, "")
        shown = self.lines[-MAX_ROW:]  # each has a character at least
        if not label and not heading and self.row and self.row[-1][1] and shown:
            label = shown.pop()  # a row heading: "Seats: 900"
        row = last_words("; ".join(shown), MAX_ROW)
        made = replace(block, label=label, lead=self.caption, row=row, row_span=self.covered)
        self.row.append((made, heading, self.column, width))
        self.column += width
        if made.text:
            self.lines.append(_line(made))
            span = made.span(0, len(made.text))
            start, end = self.covered or span
            self.covered = Span(min(start, span.start), max(end, span.end))
        return made

    def end_row(self) -> list[Block]:
        """The row ends. Headings alone in a row head their columns, and are returned."""
        heads: list[Block] = []
        if self.row and all(heading for _, heading, _, _ in self.row):
            heads = [block for block, *_ in self.row]
            for block, _, column, width in self.row:
                for each in range(column, column + min(width, MAX_WIDTH)):
                    self.headings[each] = _line(block)
        self.row, self.lines, self.covered = [], [], None
        self.column = 0
        return heads


def _line(cell: Block) -> str:
    return cell.text.replace("\n", " ")
