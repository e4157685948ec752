"""What a second opinion buys: labels by us, by a simulated model, and by both.

    python research/scripts/simulate_judges.py wice_claim_dev.jsonl.gz scifact_dev.jsonl.gz

A simulated judge says "supported" or "not supported" of every row and is right for a stated share. It errs
evenly, mostly on supported rows (strict) or on the others (lenient), and its errors are independent of ours or
follow ours closely (a row on which we are wrong by 0.5 more is e^4 times as likely to be among them). Rows are
weighted so that 35 to 70 % of them are supported. A judge takes the sequential examination at its shares right of
supported and of other rows; if it fails, we decide alone. "disputed" is what only the model supports: counted as not
supported (both), as right where it is (shown), as the user's rows would (measured), and by rank: the probability that
a supported claim stands above another one, ties counting half, with the disputed between flags and sound ones.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pincite import runtime
from pincite_lab.evaluation import claims
from pincite.judgement import decide
from pincite.llm.judge import CONFIRMS_FROM, LEAST_CONFIRMED
from pincite.llm.judge import ERROR, FAILS, PASSES
from pincite.protocols import Verifier
from pincite.settings import Settings

RIGHT = (0.55, 0.65, 0.75, 0.85, 0.9, 0.97)
FOLLOWING = {"own errors": 0.0, "closely": 8.0}
LEANING = {"even": 0.0, "strict": 2.0, "lenient": -2.0}  # log of how much likelier an error on a supported row is
SUPPORTED = (0.35, 0.5, 0.7)
DRAWS, MEASURED = 6, 100  # simulated judges of a kind; rows of a user
ROWS = 70  # of the examination, of each side
CUT = decide.log_odds(decide.THRESHOLD)


class Judged(NamedTuple):
    """One simulated judge on one set."""

    kind: tuple[float, str, str]  # share right, leaning, following
    ours: Any
    says: Any
    truth: Any
    weight: Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", help="labelled claims, as for pincite eval claims")
    verifier = runtime.verifier(Settings().models)
    found: dict[Any, list[list[float]]] = defaultdict(list)
    chance = np.random.default_rng(1)
    for judge in (judge for path in parser.parse_args().files for judge in simulated(path, verifier)):
        row = shares(judge, chance)
        found[judge.kind].append(row)
        found["all", "", ""].append(row)
    print(
        "right leaning  errors      |  ours judge better |  both  shown measured"
        " | ranked: ours judge both, behind the better if passed | passed disputed"
    )
    for (right, leaning, following), rows in found.items():
        means = np.nanmean(rows, 0)
        print(f"{right:<5} {leaning:8} {following:11} |" + "".join(f" {value:.3f}" for value in means))


def simulated(path: Path, verifier: Verifier) -> Iterator[Judged]:
    """Yield every kind of judge on one set."""
    predicted = claims.predict(path, [claims.by_verifier(verifier)])
    scores = predicted.systems["pincite"].values
    has_words = np.isfinite(scores)
    own, truth = scores[has_words], np.array([row.label == "support" for row in predicted.rows])[has_words]
    wrong_by = np.abs(truth - 1 / (1 + np.exp(-own)))
    for right, leaning, following, share, seed in product(RIGHT, LEANING, FOLLOWING, SUPPORTED, range(DRAWS)):
        weight = np.where(truth, share / truth.mean(), (1 - share) / (1 - truth.mean()))
        chance = np.random.default_rng(seed)
        likely = np.exp(FOLLOWING[following] * wrong_by + LEANING[leaning] * truth)
        order = np.argsort(chance.exponential(size=len(own)) / likely)
        errs = np.zeros(len(own), bool)
        errs[order[np.cumsum(weight[order]) <= (1 - right) * weight.sum()]] = True
        yield Judged((right, leaning, following), own >= CUT, truth ^ errs, truth, weight / weight.sum())


def passes(share: float, chance: np.random.Generator) -> bool:
    """Whether a judge that is right in this share of a side passes there, as in `llm.judge`."""
    right = chance.random(ROWS) < share
    steps = np.where(right, np.log(PASSES / FAILS), np.log((1 - PASSES) / (1 - FAILS)))
    ratio = steps.cumsum()
    clear = np.flatnonzero(np.abs(ratio) >= np.log((1 - ERROR) / ERROR))
    return bool(ratio[clear[0] if len(clear) else -1] > 0)


def ranked(level: Any, truth: Any, weight: Any) -> float:
    """Return the area under the curve of a few levels."""
    true, false = (np.bincount(level[side], weight[side], minlength=3) for side in (truth, ~truth))
    below = false.cumsum() - false / 2
    return float(true @ below / true.sum() / false.sum())


def shares(judge: Judged, chance: np.random.Generator) -> list[float]:
    """Return the columns that `main` prints."""
    _, ours, says, truth, weight = judge

    def right(label: Any) -> float:
        return float(((label == truth) * weight).sum())

    passed = all(passes((says == truth)[truth == side].mean(), chance) for side in (True, False))
    disputed = says & ~ours if passed else np.zeros(len(ours), bool)
    both = ours & says if passed else ours
    drawn = np.random.default_rng(1).choice(len(ours), MEASURED, replace=False, p=weight)
    yes = truth[drawn][disputed[drawn]]
    confirms = len(yes) >= LEAST_CONFIRMED and yes.mean() >= CONFIRMS_FROM
    better = max(right(ours), right(says))
    by_three = [right(both), right(np.where(disputed, truth, both)), right(both | disputed if confirms else both)]
    levels = (2 * ours, 2 * says, 2 * both + disputed)
    ranks = [ranked(level, truth, weight) for level in levels]
    behind = max(ranks[:2]) - ranks[2] if passed else np.nan
    return [right(ours), right(says), better, *by_three, *ranks, behind, float(passed), float((disputed * weight).sum())]


if __name__ == "__main__":
    main()
