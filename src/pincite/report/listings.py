"""What a reliability list says of some addresses, as a table for a terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from pincite.report import wording
from pincite.types import Listing


def table(found: Sequence[tuple[str, Listing]]) -> Table:
    """One row an address; every text is shown, none is obeyed."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("address", "label", "entry", "discussion"):
        shown.add_column(column, overflow="fold")
    for url, listing in found:
        entry = f"{listing.name} ({listing.place})" if listing.place else ""
        cells = (url, wording.reliability(listing), entry, listing.link or "")
        shown.add_row(*(Text(wording.one_line(cell)) for cell in cells))
    return shown
