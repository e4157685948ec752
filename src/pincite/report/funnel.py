"""The funnel in words and as JSON: one place, so that all formats count and call things alike."""

from collections.abc import Mapping
from typing import Any

from pincite.report.wording import COPIES, REASONS, STEPS
from pincite.types import CopyKind, Funnel, Reason, Stage, Tally

COUNTED = "Uses count reference marks; sources count each page or book once."
HEADS = {
    Stage.CITED: "at a claim",
    Stage.ADDRESSED: "with address",
    Stage.OBTAINED: "with copy",
    Stage.READ: "with text",
    Stage.JUDGED: "judged",
    Stage.FLAGGED: "flagged",
}


def as_dict(funnel: Funnel) -> dict[str, Any]:
    """The funnel as values that JSON knows."""
    return {
        "references": funnel.n_references,
        "stages": {str(s): _tally(tally) for s, tally in funnel.stages.items()},
        "waiting": funnel.waiting,
        "reasons": {str(reason): _tally(tally) for reason, tally in funnel.reasons.items()},
        "copies": {str(kind): _tally(tally) for kind, tally in funnel.copies.items()},
    }


def from_dict(found: Mapping[str, Any]) -> Funnel:
    """What `as_dict` gave; KeyError, ValueError or TypeError if it is something else."""
    return Funnel(
        n_references=found["references"],
        stages={stage: Tally(**found["stages"][stage]) for stage in Stage},
        waiting=found["waiting"],
        reasons={Reason(reason): Tally(**tally) for reason, tally in found["reasons"].items()},
        copies={CopyKind(kind): Tally(**tally) for kind, tally in found["copies"].items()},
    )


def line(funnel: Funnel) -> str:
    """The uses of references in one line.

    >>> line(Funnel(5, {stage: Tally(4, 3) for stage in Stage}, 0, {}, {}))[:46]
    '5 references → 4 at a claim → 4 with address →'
    """
    steps = [f"{tally.uses} {HEADS[stage]}" for stage, tally in funnel.stages.items()]
    return " → ".join([f"{funnel.n_references} references", *steps])


def columns(funnel: Funnel) -> list[tuple[str, int, int | None]]:
    """Head, uses and distinct sources of each stage; the first is never counted by sources."""
    first: list[tuple[str, int, int | None]] = [("seen", funnel.n_references, None)]
    return first + [
        (HEADS[stage], tally.uses, tally.sources) for stage, tally in funnel.stages.items()
    ]


def counted(funnel: Funnel) -> str:
    """What the numbers count, and which copies were judged."""
    kinds = (f"{COPIES[kind]} {_counted(tally)}" for kind, tally in funnel.copies.items())
    return f"{COUNTED} Judged: {', '.join(kinds)}." if funnel.copies else COUNTED


def lost(funnel: Funnel) -> list[tuple[str, str, str]]:
    """Why citations were not judged: how many, the reason, what a person can do about it."""
    return [
        (_counted(tally), REASONS[reason], STEPS[reason])
        for reason, tally in funnel.reasons.items()
    ]


def n_lost(funnel: Funnel) -> int:
    """Uses of references that could not be checked."""
    return sum(tally.uses for tally in funnel.reasons.values())


def _counted(tally: Tally) -> str:
    """The uses, and the sources where these are fewer.

    >>> _counted(Tally(5, 2)), _counted(Tally(1, 1))
    ('5 (2 sources)', '1')
    """
    if tally.uses == tally.sources:
        return str(tally.uses)
    return f"{tally.uses} ({tally.sources} source{'' if tally.sources == 1 else 's'})"


def _tally(tally: Tally) -> dict[str, int]:
    return {"uses": tally.uses, "sources": tally.sources}
