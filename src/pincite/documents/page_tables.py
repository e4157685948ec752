"""Puts tables in the places of the lines that they are made of, as one line with a row a line."""

import re

from pincite.documents.page_lines import (
    ASIDES,
    CAPTION,
    ENDS_SENTENCE,
    Line,
    Lines,
    downwards,
    join_row,
    rows_of,
)
from pincite.documents.tables import MAX_CELL_CHARS, Grid, lines_of
from pincite.text.tables import cells_of

ROW = "\v"  # between the rows of a table in its line
MAX_LANES = 100  # columns or rows of a table, and cells of a row
ROW_STEP = 3.5  # the most between baselines of rows, in font sizes
LINE_STEP = 1.7  # the most between baselines of lines of a cell, in font sizes


def cell_text(lines: Lines) -> str:
    text = "\n".join(join_row(row).text for row in rows_of(downwards(lines)))
    return re.sub(r"(?<=\w)-\n(?=[a-z])", "", text).replace("\n", " ")


def put_table(lines: Lines, inside: Lines, grid: Grid, top: float) -> Lines | None:
    """Put a table and its caption in the place of their lines; None if it is none of data.

    `inside`: the lines of the table, of which `top` is the upper edge.
    """
    if not grid:
        return None
    left, right = min(line.left for line in inside), max(line.right for line in inside)
    caption = _caption_above([e for e in lines if e.left < right and e.right > left], top)
    rows = lines_of(grid, cell_text(caption))
    longest = max(len(cell.text) for row in grid for cell in row)
    if longest > MAX_CELL_CHARS or not any(map(cells_of, rows)):
        return None
    used, size = {*caption, *inside}, max(line.size for line in inside)
    high = max(line.baseline for line in used)
    table = Line(ROW.join(rows), high, left, right, size, is_table=True)
    at = next(n for n, line in enumerate(lines) if line in used)
    return [*lines[:at], table, *(line for line in lines[at:] if line not in used)]


def _caption_above(lines: Lines, top: float) -> list[Line]:
    """The lines above a table from the word "Table" on, or a lone line that is no sentence."""
    caption, edge = list[Line](), top
    for line in downwards([line for line in lines if line.baseline >= top])[::-1]:
        reach = LINE_STEP if caption else ROW_STEP
        if line.is_table or line.baseline - edge > reach * line.size or len(caption) > ASIDES:
            break
        caption, edge = [line, *caption], line.baseline
        if CAPTION.match(line.text):
            return caption
    return caption if len(caption) == 1 and not ENDS_SENTENCE.search(caption[0].text) else []
