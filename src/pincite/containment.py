"""Failure isolation: an item that cannot be processed becomes a result that says so.

A bug in this program is not a finding about a source. Its traceback goes to the log `pincite`; the
result names the kind of error. Expected errors pass through to the caller, and so does Ctrl-C.
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
# Log-odds of support of such a pair, a probability of 0.00005: below every judged pair.
NO_SUPPORT = -9.9

Pair = tuple[Claim, Passage]


def each(
    make: Callable[[Sequence[S]], Sequence[T]], items: Sequence[S], failed: Callable[[S, Failed], T]
) -> list[T]:
    """Call `make` on a batch, halved until failing items are alone; `failed` makes theirs."""
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
    """Return what `make` returns; if it raises, what `failed` returns."""
    (made,) = each(lambda _: [make()], [None], lambda _, why: failed(why))
    return made


def logged(error: Exception) -> Failed:
    LOG.error("One item could not be processed; the others were.", exc_info=error)
    return Failed("internal", type(error).__name__)


def verified(
    verify: Callable[[Sequence[Pair]], Sequence[Evidence]], pairs: Sequence[Pair]
) -> list[Evidence]:
    """Judge each pair; see `failure` for those that could not be judged."""
    return each(verify, pairs, lambda pair, why: not_judged(pair[1], why))


def unchecked(url: str, why: Failed) -> Unchecked:
    return Unchecked(url, Reason.INTERNAL_ERROR, why.detail)


def bare(claim: Claim, why: Failed) -> Finding:
    results = tuple(
        CitationResult(each, unchecked(each.url or "", why), Label.UNCHECKED)
        for each in claim.citations
    )
    return Finding(claim, results, None, Label.UNCHECKED, None, (), failed=why)


def shown(render: Callable[[Finding], T], finding: Finding) -> T:
    """Render a finding; if that raises, render the claim without a verdict."""
    return attempted(lambda: render(finding), lambda why: render(bare(finding.claim, why)))


def shown_uncited(render: Callable[[Uncited], T], uncited: Uncited) -> T:
    """Render an uncited sentence; if that raises, render it without its sources."""

    def without_sources(why: Failed) -> T:
        return render(replace(uncited, suggestions=(), excluded=(), reasons_coded=(), failed=why))

    return attempted(lambda: render(uncited), without_sources)


def not_judged(passage: Passage, why: Failed) -> Evidence:
    return Evidence(passage, 0.0, 0.0, 1.0, NO_SUPPORT, failed=why)


def notes_of(why: Failed) -> tuple[Note, ...]:
    return (Note("not_judged", {"error": why.detail}),)
