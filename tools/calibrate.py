"""Fit the verifier's calibration on training collections: python tools/calibrate.py FOLDER

FOLDER holds claim files (*.jsonl.gz with id, evidence, claim, label). Nothing of a dev set may lie
in it. Evidence is cut into passages, the passage with the highest logit speaks for its evidence,
classes are balanced, and `src/pincite/models/calibrations.json` is written.
"""

import argparse
import gzip
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from pincite.core.passages import passages
from pincite.models import calibration, weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.types import Claim, Document, Passage

# Claims against evidence, as `verify` meets them; plain sentence inference is left out. Sets that
# swap numbers and names (covidfact, symmetric FEVER) teach what those cost.
SETS = (
    "attributionbench_dev citation_integrity_train climate_fever covidfact fever_symmetric_dev "
    "foolmetwice_dev healthver_dev qags_cnndm rte_train scifact_train"
).split()
ROWS_PER_SET = 700
SEED = 13
LABELS = {"support": 1, "refute": 0, "nei": 0, "partial": 0, "not_support": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=weights.VERIFIER)
    parser.add_argument("--features", type=Path, help="keep the features here, to fit again")
    args = parser.parse_args()
    folder = weights.locate(args.model)
    rows = [row for name in SETS for row in sample(args.folder / f"{name}.jsonl.gz")]
    if args.features and args.features.exists():
        x = np.load(args.features)
    else:
        x = best_features(rows, CrossEncoderVerifier(folder))
        if args.features:
            np.save(args.features, x)
    fitted = fit(x, [row["label"] for row in rows])
    write(weights.fingerprint(folder), fitted, len(rows))


def sample(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(SEED).shuffle(rows)  # noqa: S311 - a sample, not a secret
    return rows[:ROWS_PER_SET]


def best_features(
    rows: list[dict[str, Any]], verifier: CrossEncoderVerifier
) -> npt.NDArray[np.float32]:
    """(n_rows, n_features): those of the passage with the highest logit."""
    pairs: list[tuple[Claim, Passage]] = []
    owner: list[int] = []
    for number, row in enumerate(rows):
        claim = Claim(row["id"], row["claim"])
        for passage in passages(Document(row["id"], "", row["evidence"])):
            pairs.append((claim, passage))
            owner.append(number)
    print(f"{len(rows)} rows, {len(pairs)} pairs", flush=True)
    logits = verifier.logits(pairs)
    best: dict[int, int] = {}
    for pair, row_number in enumerate(owner):
        if row_number not in best or logits[pair] > logits[best[row_number]]:
            best[row_number] = pair
    chosen = [best.get(number, 0) for number in range(len(rows))]
    return calibration.features([pairs[i] for i in chosen], logits[chosen])


def fit(x: npt.NDArray[np.float32], labels: list[str]) -> dict[str, Any]:
    supported = np.array([LABELS[label] for label in labels])
    told = np.isin(labels, ["refute", "nei"])  # the others do not tell refuted from neutral
    refuted = np.array([label == "refute" for label in labels])
    return {
        "support": weights_of(x, supported),
        "refute": weights_of(x[told], refuted[told]),
    }


def weights_of(x: npt.NDArray[np.float32], y: npt.NDArray[Any]) -> list[float]:
    model = LogisticRegression(class_weight="balanced", max_iter=1000).fit(x, y)
    return [round(float(w), 4) for w in (*model.coef_[0], model.intercept_[0])]


def write(fingerprint: str, fitted: dict[str, Any], n_rows: int) -> None:
    path = calibration.FITTED
    known = json.loads(path.read_text()) if path.exists() else {}
    fitted |= {
        "name": f"train-{datetime.now(UTC):%Y-%m-%d}",
        "features": [*calibration.FEATURES, "intercept"],
        "fitted_on": SETS,
        "n_rows": n_rows,
        "command": "python tools/calibrate.py FOLDER",
    }
    known[fingerprint] = fitted
    path.write_text(json.dumps(known, indent=1) + "\n")
    print(json.dumps(fitted, indent=1))


if __name__ == "__main__":
    main()
