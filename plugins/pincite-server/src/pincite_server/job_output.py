"""What a job hands back: events while it runs, and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pincite.protocols import Progress
from pincite.report import cells
from pincite.web.sources import FetchStep

SHOWN_CHARS = 140  # of a claim, in events
Emit = Callable[[str, Mapping[str, Any]], None]  # called with the kind of an event and its data


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a job."""

    result: str  # JSON, as printed by `--json` on the command line
    complete: bool  # False if the job was stopped early
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def report_fetching(emit: Emit) -> Callable[[FetchStep], None]:
    """Report each page that is fetched, by its host."""

    def step(now: FetchStep) -> None:
        host = now.url.partition("://")[2].partition("/")[0]
        emit("fetching", {"host": host, "done": now.n_done, "total": now.n_urls})

    return step


def report_item(texts: Sequence[str], emit: Emit) -> Progress:
    """Report which of several statements or questions is being worked on."""

    def progress(_step: str, n_done: int, total: int | None) -> None:
        if len(texts) > 1:
            text = cells.shorten(texts[n_done], SHOWN_CHARS)
            emit("item", {"done": n_done, "total": total, "number": n_done + 1, "text": text})

    return progress
