"""How often does a claim that was changed in one place score lower than the true one?

A verifier that goes by topic gives "opened in 1911" and "opened in 1913" the same score; AUROC over
claims of different topics does not show that, pairs do. A tie counts as not lower.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pincite.errors import InputError, PinciteError, failure
from pincite.judgement import decide
from pincite.protocols import Verifier
from pincite.text import figures, words
from pincite.types import Claim, Evidence, Label
from pincite_lab.evaluation import measures
from pincite_lab.evaluation.claims import BATCH_ROWS, CutRow, all_evidence
from pincite_lab.training.perturbations import KINDS, Perturbation, perturb

SEED = 20
ROUNDS = 4  # of changes of each kind to a row; there are seldom more places


@dataclass(frozen=True, slots=True)
class Changed:
    """A supported row and its claim changed in one place."""

    row: CutRow
    swap: Perturbation


@dataclass(frozen=True, slots=True)
class JudgedChange:
    """A changed claim with the best evidence for the original and for what it became."""

    changed: Changed
    original: Evidence
    after: Evidence

    @property
    def is_lower(self) -> bool:
        """Whether the changed claim scores lower."""
        return self.after.score < self.original.score


def swaps(rows: Sequence[CutRow], n: int) -> list[Changed]:
    """At most `n` changes of supported rows, the kinds as equal in number as the rows allow.

    A row is changed once in each way and, where that gives too few, again elsewhere or to another
    value. Left out is a change whose new figure or name stands in the evidence: it may be true.

    Raises:
        InputError: no row is supported, or none offers a place to change.
    """
    supported = [row for row in rows if row.row.label == "support" and row.passages]
    chance = random.Random(SEED)  # noqa: S311 - a sample, no secret
    pool = sorted({name for row in supported for name in words.names(row.row.claim)})
    chance.shuffle(supported)
    chosen: dict[tuple[str, str], Changed] = {}
    for _ in range(ROUNDS):
        candidates = [_of_kind(kind, supported, pool, chance) for kind in KINDS]
        for turn in range(len(supported)):
            for one in (found[turn] for found in candidates if turn < len(found)):
                chosen.setdefault((one.row.row.row_id, one.swap.text), one)
        if len(chosen) >= n:
            break
    if not chosen:
        raise InputError(
            f"None of {len(supported)} supported rows can be changed; expected claims with label "
            "support that hold a number, a date, a name or a verb form such as is, was, has."
        )
    return list(chosen.values())[:n]


def judge(
    changes: Sequence[Changed],
    verifier: Verifier,
    progress: Callable[[int, int], None] | None = None,
) -> list[JudgedChange]:
    """Both claims of each change, each with the best of the row's passages."""
    judged: list[JudgedChange] = []
    for start in range(0, len(changes), BATCH_ROWS):
        batch = changes[start : start + BATCH_ROWS]
        claims = [
            (Claim("", text), one.row.passages)
            for one in batch
            for text in (one.row.row.claim, one.swap.text)
        ]
        evidence = all_evidence(verifier, claims)
        if why := next(filter(None, map(failure, chain.from_iterable(evidence))), None):
            raise PinciteError(f"A claim could not be judged: {why.detail}.")
        # Rows without passages were left out, so there is evidence for every claim.
        found = [best for best in map(decide.best, evidence) if best]
        pairs = zip(batch, found[::2], found[1::2], strict=True)
        judged += [JudgedChange(*pair) for pair in pairs]
        if progress:
            progress(len(judged), len(changes))
    return judged


def measured(judged: Sequence[JudgedChange], threshold: float) -> dict[str, Any]:
    """Shares over all changes and by kind, with 95 % intervals (Wilson)."""
    kinds = {kind: [one for one in judged if one.changed.swap.kind == kind] for kind in KINDS}
    return {
        "threshold": threshold,
        "seed": SEED,
        "all": _shares(judged, threshold),
        "by_kind": {kind: _shares(ones, threshold) for kind, ones in kinds.items()},
    }


def failures(judged: Sequence[JudgedChange], n: int) -> list[dict[str, Any]]:
    """The changes that do not score lower, the worst first: what to read."""
    failed = [one for one in judged if not one.is_lower]
    failed.sort(key=lambda one: one.original.score - one.after.score)
    return [
        {
            "id": one.changed.row.row.row_id,
            "kind": one.changed.swap.kind,
            "original": one.changed.row.row.claim,
            "changed": one.changed.swap.text,
            "score": round(one.original.score, 3),
            "score_changed": round(one.after.score, 3),
            "quote": one.after.quoted,
        }
        for one in failed[:n]
    ]


def _shares(judged: Sequence[JudgedChange], threshold: float) -> dict[str, Any]:
    n_lower = sum(one.is_lower for one in judged)
    called = [one for one in judged if _is_supported(one.original, threshold)]
    n_lost = sum(not _is_supported(one.after, threshold) for one in called)
    return {
        "n": len(judged),
        "lower": _share(n_lower, len(judged)),
        "lower_interval": measures.wilson(n_lower, len(judged)),
        "original_supported": _share(len(called), len(judged)),
        "label_changes": _share(n_lost, len(judged)),  # from supported to anything else
        "label_changes_interval": measures.wilson(n_lost, len(judged)),
    }


def _is_supported(evidence: Evidence, threshold: float) -> bool:
    return decide.label_of(evidence, threshold) is Label.SUPPORTED


def _share(n_hits: int, n: int) -> float | None:
    return round(n_hits / n, 4) if n else None


def _of_kind(
    kind: str, rows: Sequence[CutRow], pool: Sequence[str], chance: random.Random
) -> list[Changed]:
    made = [(row, perturb(kind, row.row.claim, pool, chance)) for row in rows]
    return [Changed(row, swap) for row, swap in made if swap and not _may_be_true(row, swap)]


def _may_be_true(row: CutRow, swap: Perturbation) -> bool:
    """Whether what was put in stands in the evidence (or in the claim itself)."""
    claim, evidence = row.row.claim, row.row.evidence
    if swap.kind == "negation":
        return False
    if swap.kind == "name":
        new = swap.text[swap.span.start : len(swap.text) - (len(claim) - swap.span.end)]
        return words.missing_words(new, evidence) < 1
    known = {figure.key for figure in figures.figures(claim)}
    put_in = [f for f in figures.missing(swap.text, evidence) if f.key not in known]
    return not put_in


if __name__ == "__main__":
    import json
    import sys
    from pathlib import Path

    from pincite.settings import Settings
    from pincite.verbs.verify import build
    from pincite_lab.evaluation.claims import read_rows

    files = [Path(name) for name in sys.argv[1:]]
    with build.verifying(Settings(), None, None) as run:
        changes = swaps([row for file in files for row in read_rows(file)], 500)
        found = judge(changes, run.pipeline.verifier)
    print(json.dumps(measured(found, Settings().verify.threshold), indent=1))
