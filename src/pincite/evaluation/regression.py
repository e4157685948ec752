"""Two verifiers on the same rows: what the second mends, what it breaks, how each ranks them.

A row is right where it is called supported (at the threshold of `verify`) exactly if its label says
so. Rows that are supported in part are not counted: neither answer would be wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pincite.documents.jsonl import LabelledClaim
from pincite.evaluation.scorers import ByVerifier, Scores, cut
from pincite.protocols import Verifier

Flags = npt.NDArray[np.bool_]
# The second may rank rows that it did not learn from at most so much worse, in AUROC.
MOST_LOST = 0.005
MOST_BROKEN = 0.02  # the share of such rows that it may read wrongly beyond those that it mends


@dataclass(frozen=True, slots=True)
class Mended:
    """How rows are read by two verifiers, the one in use and a new one."""

    n: int
    wrong_before: int
    wrong_after: int
    mended: int
    broken: int
    auroc_before: float | None  # None: all rows have the same label
    auroc_after: float | None
    examples: tuple[tuple[str, str], ...] = ()  # ("mended" or "broken", the claim)


def compared(
    rows: Sequence[LabelledClaim],
    before: Verifier,
    after: Verifier,
    threshold: float,
    heard: Callable[[int, int], None] = lambda done, total: None,
) -> Mended:
    """Both verifiers' answers on the rows; `heard` is told how many of how many were read."""
    rows = [row for row in rows if row.label != "partial"]
    shown, n = [cut(row) for row in rows], len(rows)
    old = ByVerifier(before).score(shown, lambda done: heard(done, 2 * n))
    new = ByVerifier(after).score(shown, lambda done: heard(n + done, 2 * n))
    truth = np.array([row.label == "support" for row in rows], dtype=bool)
    was, now = _right(old, truth, threshold), _right(new, truth, threshold)
    return Mended(
        n=n,
        wrong_before=int((~was).sum()),
        wrong_after=int((~now).sum()),
        mended=int((~was & now).sum()),
        broken=int((was & ~now).sum()),
        auroc_before=auroc(old.values, truth),
        auroc_after=auroc(new.values, truth),
        examples=tuple(
            ("mended" if good else "broken", row.claim)
            for row, bad, good in zip(rows, was, now, strict=True)
            if bad != good
        ),
    )


def refused(feedback: Mended, guard: Mended) -> str:
    """Why the new one is not the better; empty if it is."""
    if feedback.mended <= feedback.broken:
        return (
            f"on {feedback.n} held-back rows of feedback it mends {feedback.mended} mistakes "
            f"and makes {feedback.broken}"
        )
    before, after = guard.auroc_before, guard.auroc_after
    if before is not None and after is not None and before - after > MOST_LOST:
        return (
            f"on {guard.n} rows that it did not learn from its AUROC falls from {before:.3f} to "
            f"{after:.3f}, by more than {MOST_LOST}"
        )
    if guard.broken - guard.mended > MOST_BROKEN * guard.n:
        return (
            f"on {guard.n} rows that it did not learn from it makes {guard.broken} new mistakes "
            f"and mends {guard.mended}"
        )
    return ""


def auroc(values: npt.NDArray[np.float64], truth: Flags) -> float | None:
    """How often a true row scores above a false one, ties counting half; None without both."""
    true, false = values[truth][:, None], values[~truth][None, :]
    above = (true > false) + 0.5 * (true == false)
    return round(float(above.mean()), 4) if above.size else None


def _right(scores: Scores, truth: Flags, threshold: float) -> Flags:
    found = [one.prob_supported if one else 0.0 for one in scores.evidence or ()]
    right: Flags = (np.array(found) >= threshold) == truth
    return right
