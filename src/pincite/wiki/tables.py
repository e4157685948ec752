"""A table while it is read: its column headings and the cells of the present row.

A cell such as "1,234" means nothing alone. It is handed on with the cells before it in its row and
the heading of its column.
"""

from dataclasses import dataclass, field, replace

from pincite.types import Span
from pincite.wiki.flat import Block

MAX_ROW = 300  # characters of earlier cells that a cell is handed on with
MAX_WIDTH = 50  # columns that one heading may span


@dataclass(slots=True)
class Table:
    """Column headings and the present row; knows nothing of markup."""

    headings: dict[int, str] = field(default_factory=dict)  # by column
    row: list[tuple[Block, bool, int, int]] = field(default_factory=list)  # heading?, column, width
    column: int = 0
    caption: str = ""

    def cell(self, block: Block, *, heading: bool, width: int = 1) -> Block:
        """Add a cell that spans `width` columns; the block with its row and heading."""
        earlier = [cell for cell, *_ in self.row if cell.text]
        label = "" if heading else self.headings.get(self.column, "")
        shown = earlier
        if not label and not heading and self.row and self.row[-1][1] and earlier:
            label, shown = _line(earlier[-1]), earlier[:-1]  # a row heading: "Seats: 900"
        made = replace(
            block,
            label=label,
            lead=self.caption,
            row="; ".join(map(_line, shown))[-MAX_ROW:],
            row_span=_covering(earlier),
        )
        self.row.append((made, heading, self.column, width))
        self.column += width
        return made

    def end_row(self) -> list[Block]:
        """The row ends. Headings alone in a row head their columns, and are returned."""
        heads: list[Block] = []
        if self.row and all(heading for _, heading, _, _ in self.row):
            heads = [block for block, *_ in self.row]
            for block, _, column, width in self.row:
                for each in range(column, column + min(width, MAX_WIDTH)):
                    self.headings[each] = _line(block)
        self.row = []
        self.column = 0
        return heads


def _covering(cells: list[Block]) -> Span | None:
    spans = [cell.span(0, len(cell.text)) for cell in cells]
    if not spans:
        return None
    return Span(min(span.start for span in spans), max(span.end for span in spans))


def _line(cell: Block) -> str:
    return cell.text.replace("\n", " ")
