"""One bad item costs itself: what cannot be processed becomes a result that says so.

A fault of this program is not a finding about a source. Its traceback goes to the log `pincite`;
the result names the kind of error. Errors that Pincite expects pass through to the caller, as does
Ctrl-C.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pincite.errors import PinciteError
from pincite.notes import Note
from pincite.types import (
    CitationResult,
    Claim,
    Evidence,
    Failed,
    Finding,
    Label,
    Passage,
    Reason,
    Unchecked,
    Uncited,
)

S = TypeVar("S")
T = TypeVar("T")
LOG = logging.getLogger("pincite")
EXPECTED = (PinciteError, ImportError)
NOT_JUDGED = "not_judged"  # code of the note on a pair that could not be judged
# Log-odds of support of such a pair, a probability of 0.00005: below all that is judged.
NO_SUPPORT = -9.9

Pair = tuple[Claim, Passage]


def each(
    make: Callable[[Sequence[S]], Sequence[T]], items: Sequence[S], failed: Callable[[S, Failed], T]
) -> list[T]:
    """What `make` returns for a batch, one result an item; `failed` makes those that it raises for.

    A batch that raises is halved until the failing item is alone.
    """
    try:
        return list(make(items))
    except EXPECTED:
        raise
    except Exception as error:
        if len(items) < 2:
            return [failed(item, logged(error)) for item in items]
    half = len(items) // 2
    return each(make, items[:half], failed) + each(make, items[half:], failed)


def attempted(make: Callable[[], T], failed: Callable[[Failed], T]) -> T:
    """What `make` returns; if it raises, what `failed` makes of that."""
    (made,) = each(lambda _: [make()], [None], lambda _, why: failed(why))
    return made


def logged(error: Exception) -> Failed:
    """The failure behind an error, whose traceback is logged."""
    LOG.error("One item could not be processed; the others were.", exc_info=error)
    return Failed("internal", type(error).__name__)


def verified(
    verify: Callable[[Sequence[Pair]], Sequence[Evidence]], pairs: Sequence[Pair]
) -> list[Evidence]:
    """The evidence of each pair; see `failure` for those that could not be judged."""
    return each(verify, pairs, lambda pair, why: not_judged(pair[1], why))


def failure(evidence: Evidence) -> Failed | None:
    """Why the pair could not be judged, whose probabilities say nothing then; None if it was."""
    kinds = [n.values["error"] for n in evidence.reasons_coded if n.code == NOT_JUDGED]
    return Failed("internal", str(kinds[0])) if kinds else None


def unchecked(url: str, why: Failed) -> Unchecked:
    """A source that could not be read or judged because of a fault of this program."""
    return Unchecked(url, Reason.INTERNAL_ERROR, why.detail)


def bare(claim: Claim, why: Failed) -> Finding:
    """A claim whose finding cannot be made or shown: all its citations are unchecked."""
    results = tuple(
        CitationResult(each, unchecked(each.url or "", why), Label.UNCHECKED)
        for each in claim.citations
    )
    return Finding(claim, results, None, Label.UNCHECKED, None, (), failed=why)


def shown(render: Callable[[Finding], T], finding: Finding) -> T:
    """What `render` makes of a finding; of one that it raises for, the claim without a verdict."""
    return attempted(lambda: render(finding), lambda why: render(bare(finding.claim, why)))


def shown_uncited(render: Callable[[Uncited], T], uncited: Uncited) -> T:
    """The same of a sentence without a citation, which is then shown without its sources."""

    def without_sources(why: Failed) -> T:
        return render(replace(uncited, suggestions=(), excluded=(), reasons_coded=(), failed=why))

    return attempted(lambda: render(uncited), without_sources)


def not_judged(passage: Passage, why: Failed) -> Evidence:
    """In the place of what a passage says, where that cannot be found out."""
    return Evidence(passage, 0.0, 0.0, 1.0, NO_SUPPORT, reasons_coded=notes_of(why))


def notes_of(why: Failed) -> tuple[Note, ...]:
    """The note on what could not be judged."""
    return (Note(NOT_JUDGED, {"error": why.detail}),)
