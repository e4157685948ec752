"""What a second opinion would buy: judges of stated quality beside our own scores.

    pincite eval claims wice_claim_dev.jsonl.gz --no-baselines --scores scores.jsonl
    python research/scripts/simulate_judges.py scores.jsonl

A simulated judge says "supported" or "not supported" and is right for a stated share of the rows.
Its errors are independent of ours, follow ours (a row on which we are wrong by 0.5 more is e^1.5
times as likely to be among them), or follow them closely (e^4 times). Rows are asked in the order
of our doubt.
"""

import argparse
import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pincite.documents.jsonl import LabelledClaim
from pincite.evaluation import judges
from pincite.evaluation.claims import Predictions
from pincite.evaluation.claims import Scores
from pincite.judgement import aggregation
from pincite.judgement.fusion import CAUTIOUS
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
    predictions = Predictions(
        "scores",
        tuple(LabelledClaim(row["id"], "", "", row["label"]) for row in known),
        {"pincite": Scores(np.array([row["score"] for row in known]))},
    )
    print(f"{len(known)} rows; own AUROC and accuracy beside the judge's, then both by share asked")
    shares = "".join(f"{100 * share:>8g} %" for share in judges.SHARES)
    print(f"{'right':>5} {'errors':15} {'own':>6} {'judge':>6}{shares}  fitted  worst loss")
    for right in RIGHT:
        for name, follow in FOLLOWING.items():
            results = [_measured(predictions, right, follow, seed) for seed in range(DRAWS)]
            for measure in ("auroc", "accuracy"):
                print(_line(right, name, measure, results))


def _measured(predictions: Predictions, right: float, follow: float, seed: int) -> dict[str, Any]:
    """The measures beside one simulated judge."""
    chance = np.random.default_rng(seed)
    truth = np.array([row.label == "support" for row in predictions.rows])
    scores = predictions.systems["pincite"]
    assert isinstance(scores, Scores)
    own = 1 / (1 + np.exp(-scores.values))
    weights = np.exp(follow * np.abs(truth - own))
    n_wrong = round((1 - right) * len(truth))
    wrong = chance.choice(len(truth), n_wrong, replace=False, p=weights / weights.sum())
    says = truth.copy()
    says[wrong] = ~says[wrong]
    verdicts = {
        row.row_id: Verdict.SUPPORTED if said else Verdict.NOT_SUPPORTED
        for row, said in zip(predictions.rows, says, strict=True)
    }
    return judges.measured(predictions, verdicts, CAUTIOUS, aggregation.THRESHOLD)


def _line(right: float, name: str, measure: str, results: list[dict[str, Any]]) -> str:
    def mean(values: Iterable[float]) -> float:
        return statistics.mean(values)

    both = [mean(r["both"][f"{share:g}"][measure] for r in results) for share in judges.SHARES]
    own = mean(r["own"][measure] for r in results)
    judge = mean(r["model"][measure] for r in results)
    fitted = mean(r["fitted"][measure] for r in results)
    loss = max(own, judge) - fitted
    shown = "".join(f"{value:>10.3f}" for value in both)
    alone = f"{right:>5g} {name:15} {own:>6.3f} {judge:>6.3f}"
    return f"{alone}{shown}  {fitted:.3f}  {loss:+.3f} {measure}"


if __name__ == "__main__":
    main()
