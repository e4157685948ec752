"""Files of claims with evidence and labels: how well are the supported ones told from the rest?

First every system scores every row (`predict`), then the scores are measured, drawn and written:
none of that needs a model. Evidence is cut as `verify` cuts a cited source, and its best passage
speaks for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pincite.documents.jsonl import LABELS, LabelledClaim, read_labelled
from pincite.errors import InputError
from pincite.evaluation import measures
from pincite.evaluation.measures import Doubles, Flags
from pincite.evaluation.scorers import CutRow, Scorer, Scores, Unavailable, cut
from pincite.judgement import aggregation
from pincite.types import Evidence, Label

THREE_WAY = {Label.SUPPORTED: "support", Label.REFUTED: "refute", Label.NOT_SUPPORTED: "nei"}
FAILS = ("not_support", "refute", "nei")  # what a citation that fails verification is labelled
# WiCE's people labelled sub-claims, and a claim's label is projected from them (Kamoi et al. 2023,
# §2.4): all supported → support, all not supported → not_support, anything else → partial. Rows
# of the first two are "unanimous", partial ones "mixed": there the projection speaks, and a reader
# of the whole claim may well disagree. (Partial rows whose sub-claims are all partial would be
# unanimous too, but the files of claims do not say which those are.) A mixed row has one label
# only, so each part is ranked against the supported rows.
PROJECTION = {"unanimous": ("support", *FAILS), "mixed": ("support", "partial")}

Progress = Callable[[str, int, int], None]  # system, rows done, rows in all


@dataclass(frozen=True, slots=True)
class Predictions:
    """What each system said of each row of a file."""

    file: str
    rows: tuple[LabelledClaim, ...]
    systems: Mapping[str, Scores | Unavailable]


def read_rows(path: Path) -> list[CutRow]:
    """The rows of a file with their passages.

    Raises:
        InputError: names the file, the line and what is missing or wrong; or there are no rows.
    """
    rows = [cut(row) for row in read_labelled(path)]
    if not rows:
        raise InputError(
            f"{path} has no rows; expected JSON lines with id, evidence, claim, label."
        )
    return rows


def predict(
    path: Path, scorers: Sequence[Scorer | Unavailable], progress: Progress | None = None
) -> Predictions:
    """Every system's scores on one file."""
    return predicted(path.name, read_rows(path), scorers, progress)


def predicted(
    name: str,
    rows: Sequence[CutRow],
    scorers: Sequence[Scorer | Unavailable],
    progress: Progress | None = None,
) -> Predictions:
    """Every system's scores on these rows."""
    systems: dict[str, Scores | Unavailable] = {}
    for scorer in scorers:
        if isinstance(scorer, Unavailable):
            systems[scorer.name] = scorer
            continue

        def heard(n: int, name: str = scorer.name) -> None:
            if progress:
                progress(name, n, len(rows))

        systems[scorer.name] = scorer.score(rows, heard)
    return Predictions(name, tuple(row.row for row in rows), systems)


def measured(predictions: Predictions, threshold: float) -> dict[str, Any]:
    """The measures of every system, as JSON takes them; None where one means nothing."""
    labels = [row.label for row in predictions.rows]
    return {
        "file": predictions.file,
        "n": len(labels),
        "labels": {label: labels.count(label) for label in LABELS},
        "threshold": threshold,
        "systems": [
            {"system": name, "unavailable": scores.why}
            if isinstance(scores, Unavailable)
            else {"system": name, **_measured(labels, scores, threshold)}
            for name, scores in predictions.systems.items()
        ],
    }


def curves(predictions: Predictions) -> dict[str, dict[str, list[dict[str, float]]]]:
    """Precision and recall of finding citations that fail verification (SIDE, fig. 2c).

    `{"partial holds": {system: points}, "partial left out": {…}}`: a partly supported claim counts
    as not failing, or not at all. Files without such claims have the key "all" only.
    """
    labels = np.array([row.label for row in predictions.rows])
    partial = labels == "partial"
    every = np.ones(len(labels), dtype=bool)
    parts = {"partial holds": every, "partial left out": ~partial} if partial.any() else {}
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for part, chosen in (parts or {"all": every}).items():
        found[part] = {}
        for name, scores in predictions.systems.items():
            if isinstance(scores, Scores):
                known = chosen & ~np.isnan(scores.values)
                fails = np.isin(labels[known], FAILS)
                points = measures.precision_recall(fails, finite(scores.values[known]))
                if points:
                    found[part][name] = points
    return found


def lines(predictions: Predictions, system: str) -> list[dict[str, Any]]:
    """A verifier's probabilities and score for each row; None for evidence without words."""
    scores = predictions.systems[system]
    evidence = scores.evidence if isinstance(scores, Scores) else None
    return [
        {
            "file": predictions.file,
            "id": row.row_id,
            "label": row.label,
            "prob_supported": best.prob_supported if best else None,
            "prob_refuted": best.prob_refuted if best else None,
            "score": best.score if best else None,
        }
        for row, best in zip(predictions.rows, evidence or (), strict=True)
    ]


def _measured(labels: Sequence[str], scores: Scores, threshold: float) -> dict[str, Any]:
    known = ~np.isnan(scores.values)
    of_known = np.array(labels)[known]
    supported, values = of_known == "support", finite(scores.values[known])
    decided = _probabilities(scores)[known] >= threshold if scores.evidence else None
    return {
        "n": int(known.sum()),
        **measures.binary_measures(supported, values, decided),
        "auroc_interval": measures.auroc_interval(supported, values),
        **_by_projection(of_known, values),
        **_three_way(labels, scores, threshold),
        **_calibration(np.array(labels) == "support", scores),
        **_speed(scores),
    }


def _by_projection(labels: Any, values: Doubles) -> dict[str, Any]:
    """The AUROC without partial; where there are partial rows, for unanimous and mixed apart."""
    parts = {}
    for name, kept in PROJECTION.items():
        chosen = np.isin(labels, kept)
        supported: Flags = labels[chosen] == "support"
        parts[name] = {
            "n": int(chosen.sum()),
            "auroc": measures.binary_measures(supported, values[chosen])["auroc"],
            "auroc_interval": measures.auroc_interval(supported, values[chosen]),
        }
    mixed = "partial" in labels
    return {
        "auroc_without_partial": parts["unanimous"]["auroc"],
        "by_projection": parts if mixed else None,
    }


def _three_way(labels: Sequence[str], scores: Scores, threshold: float) -> dict[str, Any]:
    """F1 by class where the labels are of the three and a verifier says which; None elsewhere."""
    of_three = set(labels) <= set(THREE_WAY.values()) and len(set(labels)) > 1
    if scores.evidence is None or scores.denying is None or not of_three:
        return dict.fromkeys(("macro_f1", "weighted_f1", "accuracy", "f1"))
    decide = _decided if "nei" in labels else _either
    predicted = [
        decide([e for e in found if e], threshold)
        for found in zip(scores.evidence, scores.denying, strict=True)
    ]
    return measures.class_measures(labels, predicted)


def _decided(found: Sequence[Evidence], threshold: float) -> str:
    """As `verify` decides: of the best passage and the one that contradicts most, which speaks."""
    speaking = aggregation.deciding_evidence(found, threshold)
    return THREE_WAY[aggregation.label_of(speaking, threshold)] if speaking else "nei"


def _either(found: Sequence[Evidence], threshold: float) -> str:
    """Where rows are supported or refuted and nothing else (NLI4CT), the likelier of the two."""
    supported = max((e.prob_supported for e in found), default=0.0)
    refuted = max((e.prob_refuted for e in found), default=0.0)
    return "support" if supported >= refuted else "refute"


def _calibration(supported: Flags, scores: Scores) -> dict[str, Any]:
    """Expected calibration error with its bins; None for a system without probabilities."""
    if scores.evidence is None or supported.all() or not supported.any():
        return {"ece": None, "reliability": None}
    probabilities = _probabilities(scores)
    return {
        "ece": measures.calibration_error(supported, probabilities),
        "reliability": measures.reliability(supported, probabilities),
    }


def _speed(scores: Scores) -> dict[str, Any]:
    if not scores.n_pairs:
        return {}
    per_second = round(scores.n_pairs / scores.seconds, 1) if scores.seconds else None
    return {"pairs": scores.n_pairs, "pairs_per_second": per_second}


def _probabilities(scores: Scores) -> Doubles:
    """Of support; 0 for evidence without words."""
    return np.array([best.prob_supported if best else 0.0 for best in scores.evidence or ()])


def finite(values: Doubles) -> Doubles:
    """−∞ as a number below all others: what sorts the same and can be computed with."""
    numbers = values[np.isfinite(values)]
    return np.where(np.isneginf(values), numbers.min() - 1 if len(numbers) else 0.0, values)
