"""What a reliability list says of some addresses, for a terminal.

Lines instead of columns: an address that is broken over three of them can be neither read nor
clicked.
"""

from collections.abc import Sequence

from rich.text import Text

from pincite.report import wording
from pincite.types import Listing, Reliability

STYLES = {
    Reliability.RELIABLE: "green",
    Reliability.NO_CONSENSUS: "yellow",
    Reliability.MIXED: "yellow",
    Reliability.UNRELIABLE: "red",
    Reliability.DEPRECATED: "bold red",
    Reliability.BLACKLISTED: "bold red",
    Reliability.UNLISTED: "dim",
}


def text(found: Sequence[tuple[str, Listing]]) -> Text:
    """Each address, and below it label, entry and discussion; all is shown, nothing is obeyed."""
    shown = Text()
    for url, listing in found:
        shown.append(f"{wording.one_line(url)}\n", style="bold")
        shown.append(f"  {wording.reliability(listing)}", style=STYLES[listing.reliability])
        if listing.place:
            entry = f"{listing.name} ({listing.place})" if listing.name else listing.place
            shown.append(f" · {wording.one_line(entry)}")
        if listing.link:
            shown.append(f"\n  {wording.one_line(listing.link)}", style="dim")
        shown.append("\n")
    return shown
