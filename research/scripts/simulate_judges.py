"""What a second opinion would buy, and from where both together count as support.

    pincite eval claims wice_claim_dev.jsonl.gz --no-baselines --scores wice.jsonl
    pincite eval claims scifact_dev.jsonl.gz --no-baselines --scores scifact.jsonl
    python research/scripts/simulate_judges.py wice.jsonl scifact.jsonl

A simulated judge says "supported" or "not supported" of every row and is right for a stated share. It errs
evenly, mostly on supported rows (strict) or on the others (lenient), and its errors are independent of ours or
follow ours (a row on which we are wrong by 0.5 more is e^1.5 times as likely to be among them; closely: e^4 times).
Rows are weighted so that 0.35 or 0.7 of them are supported: dev sets, and citations as articles have them.

Of each grid point (what "supported" adds, what "not supported" takes, the cut for both together) the mean
is taken over all judges of how far the accuracy of both lies below the better of the two alone.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from pincite.judgement import aggregation

RIGHT = (0.7, 0.75, 0.8, 0.85, 0.9)
FOLLOWING = (0.0, 3.0, 8.0)
LEANING = {"even": 0.0, "strict": 2.0, "lenient": -2.0}  # log of how much likelier an error on a supported row is
SUPPORTED = (0.35, 0.7)
DRAWS = 6
ADDED, TAKEN = np.arange(0.2, 2.41, 0.2), np.arange(0.2, 2.41, 0.2)
CUTS = np.arange(0.15, 0.56, 0.05)


class Judged(NamedTuple):
    """One simulated judge on one set."""

    own: Any
    truth: Any
    says: Any
    weight: Any


def main() -> None:
    """Print the best grid points, and what today's constants give."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scores", type=Path, nargs="+", help="of pincite eval claims --scores")
    parser.add_argument("--today", type=float, nargs=3, default=(0.8, 1.0, 0.3), help="added, taken, cut")
    given = parser.parse_args()
    judges = [judge for path in given.scores for judge in simulated(path)]
    table = []
    for added, taken, cut in [tuple(given.today), *product(ADDED, TAKEN, CUTS)]:
        found = np.array([compared(judge, added, taken, cut) for judge in judges])
        table.append((found[:, 0].mean(), found[:, 0].min(), found[:, 1].mean(), added, taken, cut))
    print("accuracy beside the better one alone: mean, worst; beside ours; added, taken, cut")
    for row in [table[0], *sorted(table[1:], reverse=True)[:12]]:
        print("  ".join(f"{value:7.3f}" for value in row))


def simulated(path: Path) -> Iterator[Judged]:
    """Yield every kind of judge on one set."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["score"] is not None]
    own = np.array([row["score"] for row in rows])
    truth = np.array([row["label"] == "support" for row in rows])
    wrong_by = np.abs(truth - 1 / (1 + np.exp(-own)))
    for right, follow, leaning, share, seed in product(
        RIGHT, FOLLOWING, LEANING.values(), SUPPORTED, range(DRAWS)
    ):
        weight = np.where(truth, share / truth.mean(), (1 - share) / (1 - truth.mean()))
        chance = np.random.default_rng(seed)
        likely = np.exp(follow * wrong_by + leaning * truth)
        order = np.argsort(chance.exponential(size=len(rows)) / likely)
        errs = np.zeros(len(rows), bool)
        errs[order[np.cumsum(weight[order]) <= (1 - right) * weight.sum()]] = True
        yield Judged(own, truth, truth ^ errs, weight / weight.sum())


def compared(judge: Judged, added: float, taken: float, cut: float) -> tuple[float, float]:
    """How much more often both are right than the better one alone, and than ours alone."""

    def right(says: Any) -> float:
        return float(((says == judge.truth) * judge.weight).sum())

    ours = right(judge.own >= aggregation.log_odds(aggregation.THRESHOLD))
    both = right(judge.own + np.where(judge.says, added, -taken) >= aggregation.log_odds(cut))
    return both - max(ours, right(judge.says)), both - ours


def ranking(judge: Judged, added: float, taken: float) -> float:
    """AUROC of both together."""
    both = judge.own + np.where(judge.says, added, -taken)
    return float(roc_auc_score(judge.truth, both, sample_weight=judge.weight))


if __name__ == "__main__":
    main()
