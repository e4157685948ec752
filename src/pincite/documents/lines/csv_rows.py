"""CSV files with a header as records: the separator and the encoding are found, never asked for.

Spreadsheets write commas or semicolons (where the comma is decimal) or tabs, in UTF-8, UTF-16 or an
old code page.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pincite.documents.body import Limits, too_large
from pincite.documents.charset import decoded

NEEDED = ("url", "file", "text")  # a table without any of these columns holds no documents
_SEPARATORS = ",;\t"

Record = tuple[int, dict[str, str] | None, str]  # line, cells by column, what is wrong with it


def is_csv(path: Path) -> bool:
    """By its name: the bytes of a CSV file are any text's."""
    return path.name.lower().endswith(".csv")


def records(path: Path, limits: Limits) -> Iterator[Record]:
    """The rows in order with the number of their last line; empty cells and rows are left out.

    Column names are lower case. What concerns the whole file has the number 0.
    """
    size = path.stat().st_size
    if size > limits.max_bytes:
        yield 0, None, too_large("", size, limits.max_bytes).detail
        return
    text = decoded(path.read_bytes())
    if text is None:
        yield 0, None, "the bytes are no text in any encoding"
        return
    # Its own limit of 131,072 characters a cell is for all of the program; one cell may be a text.
    csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes))
    head = text.partition("\n")[0]
    separator = max(_SEPARATORS, key=head.count)
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator)
    yield from _records(rows)


def _records(rows: Any) -> Iterator[Record]:
    try:
        names = [name.strip().lower() for name in next(rows, [])]
        if not set(names) & set(NEEDED):
            yield 0, None, f"no column is named {', '.join(NEEDED[:-1])} or {NEEDED[-1]}"
            return
        for cells in rows:
            if len(cells) > len(names):
                fault = f"{len(cells)} cells, the header names {len(names)}"
                yield rows.line_num, None, fault
            elif any(cell.strip() for cell in cells):
                pairs = zip(names, cells, strict=False)
                yield rows.line_num, {n: c for n, c in pairs if n and c.strip()}, ""
    except csv.Error as error:
        yield rows.line_num, None, str(error)
