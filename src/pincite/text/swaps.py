"""A claim changed in one place: another figure, another name, a negation put in or taken out.

A verifier that was not shown such pairs calls both true; they serve training, calibration and the
measure "how often does the changed claim score lower". Chance comes from the caller, so that the
same seed gives the same swaps.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.text import figures, words
from pincite.types import Span

KINDS = ("number", "date", "name", "negation")
_STEPS = (-20, -10, -3, -2, -1, 1, 2, 3, 10, 20)
# The first of these that stands in the claim is negated; after "is" and its like "not" may follow.
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has been|have been|had been|has|have|had|can|could|will|would|may|might"
    r"|should|must|does|do|did)\b(?! (?:not|no|never)\b)"
)
_NOT = re.compile(r"\b(?:do|does|did) not (?=[a-z])|\b(?:not|never) |\bno (?=[a-z])")


@dataclass(frozen=True, slots=True)
class Swap:
    """A changed claim, the kind of change (one of KINDS), and where the original was changed."""

    text: str
    kind: str
    span: Span


def swap_of(kind: str, claim: str, names: Sequence[str], chance: random.Random) -> Swap | None:
    """The claim with one change of `kind`; None where it offers no place for it.

    Args:
        kind: one of KINDS.
        claim: what is changed.
        names: names of other claims, one of which replaces a name of this.
        chance: decides which place, and what stands there afterwards.
    """
    if kind == "number":
        return _other_number(claim, chance)
    if kind == "date":
        return _other_date(claim, chance)
    if kind == "name":
        return _other_name(claim, names, chance)
    return negated(claim)


def negated(claim: str) -> Swap | None:
    """The claim with "not" after its first auxiliary, or without its "not".

    >>> negated("The bridge was opened in 1911.").text
    'The bridge was not opened in 1911.'
    >>> negated("It does not cross the river.").text
    'It cross the river.'
    >>> negated("Aspirin and ibuprofen") is None
    True
    """
    denied = _NOT.search(claim)
    if denied:
        return Swap(
            claim[: denied.start()] + claim[denied.end() :], "negation", Span(*denied.span())
        )
    found = _AUXILIARY.search(claim)
    if not found:
        return None
    end = found.end() if " " not in found[0] else found.start() + found[0].index(" ")
    return Swap(f"{claim[:end]} not{claim[end:]}", "negation", Span(*found.span()))


def _other_number(claim: str, chance: random.Random) -> Swap | None:
    """One number in digits moved a little; years and days of months are dates."""
    found = [f for f in figures.figures(claim) if f.kind in ("number", "percent")]
    return _moved([f for f in found if not _by_month(claim, f.span)], claim, "number", chance)


def _other_date(claim: str, chance: random.Random) -> Swap | None:
    """Another year, another month, or another day of the month."""
    dates = [f for f in figures.figures(claim) if f.kind == "year" or _by_month(claim, f.span)]
    months = [f for f in figures.figures(claim) if f.kind == "month"]
    if months and (not dates or chance.random() < 0.5):
        span = chance.choice(months).span
        old = span.of(claim)
        new = chance.choice([m for m in figures.MONTHS if m[:3].lower() != old[:3].lower()])
        return Swap(claim[: span.start] + new + claim[span.end :], "date", span)
    return _moved(dates, claim, "date", chance)


def _moved(
    found: Sequence[figures.Figure], claim: str, kind: str, chance: random.Random
) -> Swap | None:
    digits = [(f.span, m) for f in found if (m := re.match(r"\d+", f.span.of(claim)))]
    if not digits:
        return None
    span, match = chance.choice(digits)
    changed = abs(int(match[0]) + chance.choice(_STEPS))
    if str(changed) == match[0]:  # abs() may lead back: |5 − 10| = 5
        changed += 1
    end = span.start + len(match[0])
    return Swap(claim[: span.start] + str(changed) + claim[end:], kind, Span(span.start, end))


def _other_name(claim: str, others: Sequence[str], chance: random.Random) -> Swap | None:
    own = [name for name in words.names(claim) if name in claim]
    different = [other for other in others if other not in claim]
    if not own or not different:
        return None
    name, new = chance.choice(own), chance.choice(different)
    start = claim.index(name)
    span = Span(start, start + len(name))
    return Swap(claim[:start] + new + claim[span.end :], "name", span)


def _by_month(claim: str, span: Span) -> bool:
    """Whether a number stands beside the name of a month: "14 May", "May 14"."""
    near = claim[max(0, span.start - 12) : span.start] + " " + claim[span.end : span.end + 12]
    return any(figure.kind == "month" for figure in figures.figures(near))
