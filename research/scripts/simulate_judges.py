"""What a second opinion would buy: judges of stated quality beside our own scores.

    pincite eval claims wice_claim_dev.jsonl.gz --no-baselines --scores scores.jsonl
    python research/scripts/simulate_judges.py scores.jsonl

A simulated judge says "supported" or "not supported" and is right for a stated share of the rows.
Its errors are independent of ours, follow ours (a row on which we are wrong by 0.5 more is e^1.5
times as likely to be among them), or follow them closely (e^4 times). It judges every row.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from pincite.evaluation.measures import binary_measures
from pincite.judgement import aggregation
from pincite.judgement.fusion import CAUTIOUS, JudgedRow, cross_fitted
from pincite.types import Verdict

RIGHT = (0.7, 0.8, 0.9)
FOLLOWING = {"independent": 0.0, "follow ours": 3.0, "follow closely": 8.0}
DRAWS = 20


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scores", type=Path, help="of pincite eval claims --scores")
    rows = [json.loads(line) for line in parser.parse_args().scores.read_text().splitlines()]
    known = [row for row in rows if row["score"] is not None]
    own = np.array([row["score"] for row in known])
    truth = np.array([row["label"] == "support" for row in known])
    print(f"{len(known)} rows; AUROC and accuracy of our score, the judge, both, and both fitted")
    for right in RIGHT:
        for name, follow in FOLLOWING.items():
            results = [_measured(own, truth, right, follow, seed) for seed in range(DRAWS)]
            for measure, values in zip(("AUROC", "accuracy"), np.mean(results, axis=0).T, strict=True):
                shown = "".join(f"{value:>8.3f}" for value in values)
                print(f"{right:>5g} {name:15}{shown} {measure}")


def _measured(own: Any, truth: Any, right: float, follow: float, seed: int) -> Any:
    """AUROC and accuracy, (4, 2), beside one simulated judge that is asked about every row."""
    chance = np.random.default_rng(seed)
    weights = np.exp(follow * np.abs(truth - 1 / (1 + np.exp(-own))))
    n_wrong = round((1 - right) * len(truth))
    wrong = chance.choice(len(truth), n_wrong, replace=False, p=weights / weights.sum())
    verdicts = [Verdict.SUPPORTED if yes else Verdict.NOT_SUPPORTED
                for yes in np.where(np.isin(np.arange(len(truth)), wrong), ~truth, truth)]
    added = np.array([CAUTIOUS[verdict] for verdict in verdicts])
    fitted = np.array(cross_fitted(list(map(JudgedRow, own, verdicts, truth))))
    cut = aggregation.log_odds(aggregation.THRESHOLD)
    ways = [(own, cut), (added, 0.0), (own + added, cut), (fitted, cut)]
    return np.array([
        (binary_measures(truth, values)["auroc"], ((values >= least) == truth).mean())
        for values, least in ways
    ])


if __name__ == "__main__":
    main()
