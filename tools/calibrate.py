"""Fit the verifier's calibration on training collections: python tools/calibrate.py FOLDER

FOLDER holds claim files (*.jsonl.gz with id, evidence, claim, label). Nothing of a dev set may lie
in it. Evidence is cut into passages, and which of them speaks is latent: hard EM as in SIDE
(Petroni et al. 2023, Methods) takes the one with the highest score. Classes are balanced, and
`src/pincite/models/calibrations.json` is written.

The collections pair claims with evidence on their very subject. `verify` also meets pages on
something else, and pages that say the same of another year or person; so each set's supported
rows are added again with the most similar evidence of another row and with any other evidence
(SIDE's wrong references), with a figure changed, and with a name taken from another claim.
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

from pincite.core import figures, wording
from pincite.core.passages import cited_passages
from pincite.models import calibration, weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.types import Claim, Document, Passage

# Evidence of some length that was looked up for its claim, as `verify` meets it. Left out: plain
# sentence inference, sets of single evidence sentences (climate_fever, healthver: their logits lie
# in another range), and citing statements whose figures stand elsewhere (citation_integrity).
SETS = (
    "attributionbench_dev covidfact fever_symmetric_dev foolmetwice_dev qags_cnndm rte_train "
    "scifact_train"
).split()
ROWS_PER_SET = 300
ADDED_PER_SET = 80  # of each kind of made negative
SEED = 13
EM_ROUNDS = 3  # the chosen passages hardly change after the second
Row = dict[str, Any]
Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]
LABELS = {"support": 1, "refute": 0, "nei": 0, "partial": 0, "not_support": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=weights.VERIFIER)
    parser.add_argument("--judged", type=Path, help="keep logits here: a stopped run goes on")
    args = parser.parse_args()
    folder = weights.locate(args.model)
    verifier = CrossEncoderVerifier(folder, judged=args.judged)
    rows = [
        row | {"set": name}
        for name in SETS
        for row in extended(sample(args.folder / f"{name}.jsonl.gz"))
    ]
    fitted = fit(*all_features(rows, verifier), rows)
    write(weights.fingerprint(folder), fitted, len(rows))
    verifier.close()


def sample(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(SEED).shuffle(rows)  # noqa: S311 - a sample, not a secret
    return rows[:ROWS_PER_SET]


def extended(rows: list[Row]) -> list[Row]:
    """The rows with made negatives after them: wrong evidence, changed figures, other names."""
    chance = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    supported = [row for row in rows if row["label"] == "support"]
    other_names = [name for row in rows for name in wording.names(row["claim"])]
    similar = lookalikes(rows)
    made: dict[str, list[Row]] = {"evidence": [], "any evidence": [], "figure": [], "name": []}
    for row in supported:
        made["evidence"].append(row | {"evidence": similar[row["id"]], "label": "nei"})
        other = chance.choice(rows)["evidence"]
        made["any evidence"].append(row | {"evidence": other, "label": "nei"})
        claim = other_figure(row["claim"], chance)
        if claim and figures.missing(claim, row["evidence"]):
            # Where the evidence has the true figure, it says otherwise; else it says nothing of it.
            label = "not_support" if figures.missing(row["claim"], row["evidence"]) else "refute"
            made["figure"].append(row | {"claim": claim, "label": label})
        claim = other_name(row["claim"], other_names, chance)
        if claim and wording.missing_names(claim, row["evidence"]):
            made["name"].append(row | {"claim": claim, "label": "not_support"})
    return rows + [row for kind in made.values() for row in kind[:ADDED_PER_SET]]


def lookalikes(rows: list[Row]) -> dict[str, str]:
    """For each row's id the evidence of another row that shares most words with its claim."""
    words = {row["evidence"]: set(wording.content_words(row["evidence"])) for row in rows}
    found = {}
    for row in rows:
        claimed = set(wording.content_words(row["claim"]))
        others = (evidence for evidence in words if evidence != row["evidence"])
        found[row["id"]] = max(others, key=lambda other: len(claimed & words[other]))
    return found


def other_figure(claim: str, chance: random.Random) -> str | None:
    """The claim with one whole number in digits changed a little; None if it has none."""
    plain = [f for f in figures.figures(claim) if f.span.of(claim).isdigit()]
    if not plain:
        return None
    figure = chance.choice(plain)
    changed = abs(int(figure.value) + chance.choice([-20, -10, -3, -2, -1, 1, 2, 3, 10, 20]))
    return claim[: figure.span.start] + str(changed) + claim[figure.span.end :]


def other_name(claim: str, others: list[str], chance: random.Random) -> str | None:
    """The claim with one name replaced by one of `others`; None if it has none."""
    own = wording.names(claim)
    if not own or not others:
        return None
    return claim.replace(chance.choice(own), chance.choice(others))


def all_features(rows: list[Row], verifier: CrossEncoderVerifier) -> tuple[Floats, Whole]:
    """(n_pairs, n_features) for every passage of every row, and the row that each belongs to."""
    pairs: list[tuple[Claim, Passage]] = []
    owner: list[int] = []
    for number, row in enumerate(rows):
        claim = Claim(row["id"], row["claim"])
        for passage in cited_passages(Document(row["id"], "", row["evidence"])):
            pairs.append((claim, passage))
            owner.append(number)
    print(f"{len(rows)} rows, {len(pairs)} pairs", flush=True)
    return calibration.features(pairs, verifier.logits(pairs)), np.array(owner)


def speaking(scores: Floats, owner: Whole, n_rows: int) -> Whole:
    """For each row the pair with the highest score (the E step)."""
    best = np.zeros(n_rows, dtype=np.int64)
    order = np.argsort(scores, kind="stable")
    best[owner[order]] = order  # later assignments win: the highest score comes last
    return best


def fit(x: Floats, owner: Whole, rows: list[Row]) -> dict[str, Any]:
    """Slopes within the sets: each set has an intercept of its own, and their mean is kept."""
    labels = [row["label"] for row in rows]
    sets = np.array([[row["set"] == name for name in SETS] for row in rows], dtype=np.float32)
    supported = np.array([LABELS[label] for label in labels])
    told = np.isin(labels, ["refute", "nei"])  # the others do not tell refuted from neutral
    refuted = np.array([label == "refute" for label in labels])
    scores = x[:, 0]
    for _ in range(EM_ROUNDS):
        chosen = x[speaking(scores, owner, len(rows))]
        support = weights_of(chosen[:, :-1], sets, supported)
        support.insert(-1, 0.0)  # figure_differs speaks of refutation only
        scores = x @ np.array(support[:-1], dtype=np.float32)
    return {"support": support, "refute": weights_of(chosen[told], sets[told], refuted[told])}


def weights_of(x: Floats, sets: Floats, y: npt.NDArray[Any]) -> list[float]:
    """The weights in the order of FEATURES, the intercept last."""
    model = LogisticRegression(class_weight="balanced", max_iter=2000, fit_intercept=False)
    found = model.fit(np.hstack([x, sets]), y).coef_[0]
    slopes, intercepts = found[: x.shape[1]], found[x.shape[1] :]
    return [round(float(w), 4) for w in (*slopes, intercepts.mean())]


def write(fingerprint: str, fitted: dict[str, Any], n_rows: int) -> None:
    path = calibration.FITTED
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
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
