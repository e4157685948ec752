"""The funnel in words and as JSON: one place, so that all formats count and call things alike."""

from collections.abc import Sequence
from typing import NamedTuple

from pincite.judgement.funnel import Funnel, Stage, Tally
from pincite.report.cells import n_of
from pincite.report.reasons import REASONS
from pincite.types import Finding, Label, Reason, Unchecked
from pincite.verbs.verify.wording import COPIES, STEPS

COUNTED = (
    "A citation is one use of a source for a claim, and one reference may hold several; a source "
    "counts once, however often it is cited. Flagged claims: contradicted? or not supported."
)
UNITS = ("citations", "sources")
UNCITED = "no source is cited"
SEEN = "references seen"
HEADS = {
    Stage.CITED: "for a claim",
    Stage.ADDRESSED: "with address",
    Stage.OBTAINED: "with copy",
    Stage.READ: "with text",
    Stage.JUDGED: "judged",
    Stage.FLAGGED: "at a flagged claim",
}


def line(funnel: Funnel) -> str:
    """The citations in one line.

    >>> line(Funnel(5, {stage: Tally(4, 3) for stage in Stage}, 0, {}, {}))[:57]
    '5 references; citations: 4 for a claim → 4 with address →'
    """
    steps = [f"{tally.uses} {HEADS[stage]}" for stage, tally in funnel.stages.items()]
    return f"{n_of(funnel.references, 'reference')}; citations: {' → '.join(steps)}"


def columns(funnel: Funnel) -> list[tuple[str, int, int | None]]:
    """Head, uses and distinct sources of each stage; the first is never counted by sources."""
    first: list[tuple[str, int, int | None]] = [(SEEN, funnel.references, None)]
    return first + [
        (HEADS[stage], tally.uses, tally.sources) for stage, tally in funnel.stages.items()
    ]


def counted(funnel: Funnel) -> str:
    """What the numbers count, and which copies were judged."""
    kinds = (f"{COPIES[kind]} {_counted(tally)}" for kind, tally in funnel.copies.items())
    return f"{COUNTED} What was judged: {', '.join(kinds)}." if funnel.copies else COUNTED


def lost(funnel: Funnel) -> list[tuple[str, str, str]]:
    """Why citations were not judged: how many, the reason, what a person can do about it."""
    return [
        (_counted(tally), REASONS[reason], STEPS[reason])
        for reason, tally in funnel.reasons.items()
    ]


def n_lost(funnel: Funnel) -> int:
    """Uses of references that could not be checked."""
    return sum(tally.uses for tally in funnel.reasons.values())


class Open(NamedTuple):
    """Claims that could not be checked for the same reasons; `findings` with their ranks."""

    reasons: tuple[Reason, ...]  # none: no source is cited
    findings: tuple[tuple[int, Finding], ...]

    @property
    def why(self) -> str:
        """The reasons in words."""
        return "; ".join(REASONS[reason] for reason in self.reasons) or UNCITED

    @property
    def steps(self) -> str:
        """What a person can do."""
        return "; ".join(dict.fromkeys(STEPS[reason] for reason in self.reasons))


def by_reason(findings: Sequence[Finding]) -> list[Open]:
    """The claims that could not be checked, by their reasons: the largest group first."""
    groups: dict[tuple[Reason, ...], list[tuple[int, Finding]]] = {}
    for rank, finding in enumerate(findings, 1):
        if finding.label is Label.UNCHECKED:
            outcomes = [result.outcome for result in finding.citations]
            why = {outcome.reason for outcome in outcomes if isinstance(outcome, Unchecked)}
            groups.setdefault(tuple(sorted(why)), []).append((rank, finding))
    found = [Open(reasons, tuple(of_them)) for reasons, of_them in groups.items()]
    return sorted(found, key=lambda group: -len(group.findings))


def _counted(tally: Tally) -> str:
    """The uses, and the sources where these are fewer.

    >>> _counted(Tally(5, 2)), _counted(Tally(1, 1))
    ('5 (2 sources)', '1')
    """
    if tally.uses == tally.sources:
        return str(tally.uses)
    return f"{tally.uses} ({n_of(tally.sources, 'source')})"
