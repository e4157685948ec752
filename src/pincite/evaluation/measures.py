"""Rankings and probabilities turned into numbers with intervals.

ir-measures computes what is computed over rankings, scikit-learn what is computed over labels; only
the expected calibration error and the bootstrap are written here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pincite.errors import MissingExtra

Qrels = Mapping[str, frozenset[str]]  # query → ids that are relevant
Run = Mapping[str, Sequence[str]]  # query → ids, best first

CUTOFFS = (1, 10, 100, 200)
N_BOOTSTRAP = 2000
SEED = 20
N_BINS = 10


def ranking_measures(qrels: Qrels, run: Run) -> dict[str, Any]:
    """P@1, SR@k (1 if any relevant id is among the first k) and RR, means over the queries.

    Each has a 95 % bootstrap interval under `intervals`. A query without hits counts as 0.
    """
    per_query = _per_query(qrels, run)
    return {
        **{name: round(float(values.mean()), 4) for name, values in per_query.items()},
        "n": len(qrels),
        "intervals": {name: interval(values) for name, values in per_query.items()},
    }


def _per_query(qrels: Qrels, run: Run) -> dict[str, npt.NDArray[np.float64]]:
    ir = _ir_measures()
    wanted = {"P@1": ir.P @ 1, **{f"SR@{k}": ir.Success @ k for k in CUTOFFS}, "RR": ir.RR}
    names = {measure: name for name, measure in wanted.items()}
    judged = [ir.Qrel(query, doc, 1) for query, docs in qrels.items() for doc in sorted(docs)]
    found = [
        ir.ScoredDoc(query, doc, -float(place))
        for query in qrels
        for place, doc in enumerate(run.get(query, ()))
    ]
    order = {query: row for row, query in enumerate(qrels)}
    values = {name: np.zeros(len(order)) for name in wanted}
    for metric in ir.iter_calc(list(wanted.values()), judged, found):
        values[names[metric.measure]][order[metric.query_id]] = metric.value
    return values


def interval(values: npt.NDArray[np.float64]) -> list[float]:
    """95 % percentile bootstrap interval of the mean (Efron & Tibshirani 1993, ch. 13)."""
    if not len(values):
        return [float("nan"), float("nan")]
    rng = np.random.default_rng(SEED)
    rows = rng.integers(0, len(values), size=(N_BOOTSTRAP, len(values)))
    low, high = np.percentile(values[rows].mean(axis=1), [2.5, 97.5])
    return [round(float(low), 4), round(float(high), 4)]


def binary_measures(
    supported: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64], threshold: float
) -> dict[str, float | None]:
    """Supported against the rest: ranking by `scores` (probabilities), decision at `threshold`.

    None where only one class occurs and the measure means nothing.
    """
    metrics = _sklearn_metrics()
    if supported.all() or not supported.any():
        return {"auroc": None, "average_precision": None, "balanced_accuracy": None, "ece": None}
    decided = scores >= threshold
    return {
        "auroc": _rounded(metrics.roc_auc_score(supported, scores)),
        "average_precision": _rounded(metrics.average_precision_score(supported, scores)),
        "balanced_accuracy": _rounded(metrics.balanced_accuracy_score(supported, decided)),
        "ece": _rounded(calibration_error(supported, scores)),
    }


def auroc_interval(
    supported: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64]
) -> list[float] | None:
    """95 % bootstrap interval of the AUROC over rows; resamples of one class are skipped."""
    if supported.all() or not supported.any():
        return None
    metrics, rng = _sklearn_metrics(), np.random.default_rng(SEED)
    values = []
    for _ in range(N_BOOTSTRAP // 4):
        rows = rng.integers(0, len(scores), size=len(scores))
        if 0 < supported[rows].sum() < len(rows):
            values.append(metrics.roc_auc_score(supported[rows], scores[rows]))
    low, high = np.percentile(values, [2.5, 97.5])
    return [round(float(low), 4), round(float(high), 4)]


def class_measures(labels: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
    """Macro-F1 and weighted F1 over the classes that occur in `labels`, and F1 by class."""
    metrics, classes = _sklearn_metrics(), sorted(set(labels))
    each = metrics.f1_score(labels, predicted, labels=classes, average=None, zero_division=0)
    weighted = metrics.f1_score(
        labels, predicted, labels=classes, average="weighted", zero_division=0
    )
    return {
        "macro_f1": _rounded(float(np.mean(each))),
        "weighted_f1": _rounded(weighted),
        "accuracy": _rounded(metrics.accuracy_score(labels, predicted)),
        "f1": {name: _rounded(value) for name, value in zip(classes, each, strict=True)},
    }


def calibration_error(
    supported: npt.NDArray[np.bool_], probabilities: npt.NDArray[np.float64]
) -> float:
    """Expected calibration error over ten bins of equal width (Guo et al. 2017, eq. 3)."""
    bins = np.minimum((probabilities * N_BINS).astype(int), N_BINS - 1)
    gaps = [
        abs(supported[bins == b].mean() - probabilities[bins == b].mean()) * (bins == b).mean()
        for b in range(N_BINS)
        if (bins == b).any()
    ]
    return float(sum(gaps))


def _rounded(value: float) -> float:
    return round(float(value), 4)


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra(_EXTRA.format("ir-measures")) from error
    return ir_measures


def _sklearn_metrics() -> Any:
    try:
        from sklearn import metrics
    except ImportError as error:
        raise MissingExtra(_EXTRA.format("scikit-learn")) from error
    return metrics


_EXTRA = "Evaluation needs {}. Install it with: pip install 'pincite[eval]'"
