"""Rankings and probabilities turned into numbers with intervals.

ir-measures computes what is computed over rankings, scikit-learn what is computed over labels. The
expected calibration error is written here, and so is what the bootstrap needs a thousand times:
AUROC and F1 for all resamples at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pincite.errors import MissingExtra
from pincite.evaluation import bootstrap
from pincite.evaluation.bootstrap import Doubles

Flags = npt.NDArray[np.bool_]
Qrels = Mapping[str, frozenset[str]]  # query → ids that are relevant
Grades = Mapping[str, Mapping[str, int]]  # query → id → how relevant; 0: judged, and not
Run = Mapping[str, Sequence[str]]  # query → ids, best first

CUTOFFS = (1, 10, 100, 200)
N_BOOTSTRAP = 2000  # resamples of the means over queries: they are cheap
N_BINS = 15


def ranking_measures(qrels: Qrels, run: Run) -> dict[str, Any]:
    """P@1, SR@k (1 if any relevant id is among the first k), RR and R-precision.

    Means over the queries, each with a 95 % bootstrap interval under `intervals`. A query without
    hits counts as 0.
    """
    ir = _ir_measures()
    wanted = {"P@1": ir.P @ 1, **{f"SR@{k}": ir.Success @ k for k in CUTOFFS}, "RR": ir.RR}
    wanted["R-Prec"] = ir.Rprec
    grades = {query: dict.fromkeys(sorted(docs), 1) for query, docs in qrels.items()}
    return _means(_values(wanted, grades, run))


def graded_measures(qrels: Grades, run: Run) -> dict[str, Any]:
    """nDCG@10, MAP@10, R@100 and RR@10, as trec_eval computes them: means over the queries.

    Each has a 95 % bootstrap interval under `intervals`. A query without hits counts as 0, and so
    does one without a relevant document.
    """
    ir = _ir_measures()
    wanted = {"nDCG@10": ir.nDCG @ 10, "MAP@10": ir.AP @ 10, "R@100": ir.R @ 100}
    wanted["RR@10"] = ir.RR @ 10
    return _means(_values(wanted, qrels, run))


def _values(wanted: Mapping[str, Any], qrels: Grades, run: Run) -> dict[str, Doubles]:
    """By name of a measure: its value for each query, in the order of the qrels."""
    ir = _ir_measures()
    names = {measure: name for name, measure in wanted.items()}
    judged = [
        ir.Qrel(query, doc, grade) for query, docs in qrels.items() for doc, grade in docs.items()
    ]
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


def _means(per_query: Mapping[str, Doubles]) -> dict[str, Any]:
    n_queries = max(map(len, per_query.values()), default=0)
    return {
        **{name: round(float(values.mean()), 4) for name, values in per_query.items()},
        "n": n_queries,
        "intervals": {name: interval(values) for name, values in per_query.items()},
    }


def interval(values: Doubles) -> list[float]:
    """95 % percentile bootstrap interval of the mean (Efron & Tibshirani 1993, ch. 13)."""
    if not len(values):
        return [float("nan"), float("nan")]
    rng = np.random.default_rng(bootstrap.SEED)
    rows = rng.integers(0, len(values), size=(N_BOOTSTRAP, len(values)))
    low, high = np.percentile(values[rows].mean(axis=1), [2.5, 97.5])
    return [round(float(low), 4), round(float(high), 4)]


def binary_measures(
    supported: Flags, values: Doubles, decided: Flags | None = None
) -> dict[str, float | None]:
    """Supported against the rest: ranking by `values`, and what was `decided` if anything was.

    None where only one class occurs, or nothing was decided, and the measure means nothing.
    """
    names = ("auroc", "average_precision", "balanced_accuracy")
    if supported.all() or not supported.any():
        return dict.fromkeys(names)
    metrics = _sklearn_metrics()
    found = (
        metrics.roc_auc_score(supported, values),
        metrics.average_precision_score(supported, values),
        None if decided is None else metrics.balanced_accuracy_score(supported, decided),
    )
    return dict(zip(names, map(_rounded, found), strict=True))


def auroc_interval(supported: Flags, values: Doubles) -> list[float] | None:
    """95 % bootstrap interval of the AUROC over rows; resamples of one class are left out."""
    if supported.all() or not supported.any():
        return None
    return bootstrap.percentiles(aurocs(supported, values, bootstrap.resamples(len(values))))


def aurocs(supported: Flags, values: Doubles, weights: Doubles) -> Doubles:
    """The AUROC for each row of `weights` (n_resamples, n_rows); NaN where a class is missing.

    AUROC = P(a supported row has the higher value) + ½ P(both are equal) (Hanley & McNeil 1982).

    >>> aurocs(np.array([True, False]), np.array([2.0, 1.0]), np.ones((1, 2))).tolist()
    [1.0]
    """
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)  # runs of equal values
    sorted_weights = weights[:, order]
    positive = np.add.reduceat(sorted_weights * supported[order], starts, axis=1)
    negative = np.add.reduceat(sorted_weights * ~supported[order], starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative
    n_pairs = positive.sum(axis=1) * negative.sum(axis=1)
    won = (positive * (below + negative / 2)).sum(axis=1)
    found = np.full(len(weights), np.nan)
    np.divide(won, n_pairs, out=found, where=n_pairs > 0)
    return found


def class_measures(labels: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
    """Macro-F1, weighted F1 and accuracy over the classes in `labels`, with intervals; F1 by class.

    A predicted class that no label names is wrong, and has no F1 of its own.
    """
    classes = sorted(set(labels))
    every = classes + sorted(set(predicted) - set(classes))
    cells = np.zeros((len(labels), len(every), len(every)))
    for row, (label, guess) in enumerate(zip(labels, predicted, strict=True)):
        cells[row, every.index(label), every.index(guess)] = 1
    point = _averages(cells.sum(axis=0)[None], len(classes))
    drawn = np.tensordot(bootstrap.resamples(len(labels)), cells, axes=1)
    spread = _averages(drawn, len(classes))
    names = ("macro_f1", "weighted_f1", "accuracy")
    return {
        **{name: _rounded(point[name][0]) for name in names},
        **{f"{name}_interval": bootstrap.percentiles(spread[name]) for name in names},
        "f1": {name: _rounded(value) for name, value in zip(classes, point["f1"][0], strict=True)},
    }


def _averages(confusion: Doubles, n_classes: int) -> dict[str, Doubles]:
    """Of confusion matrices (n, labels, guesses): F1 = 2·TP / (labelled + guessed), and means."""
    hits = np.diagonal(confusion, axis1=1, axis2=2)
    labelled, guessed = confusion.sum(axis=2), confusion.sum(axis=1)
    n_both = labelled + guessed
    f1 = np.divide(2 * hits, n_both, out=np.zeros_like(hits, dtype=float), where=n_both > 0)
    f1, n_rows = f1[:, :n_classes], labelled.sum(axis=1)
    return {
        "f1": f1,
        "macro_f1": f1.mean(axis=1),
        "weighted_f1": (f1 * labelled[:, :n_classes]).sum(axis=1) / n_rows,
        "accuracy": hits.sum(axis=1) / n_rows,
    }


def reliability(supported: Flags, probabilities: Doubles) -> list[dict[str, Any]]:
    """For each bin that is not empty: its borders, mean probability, share supported, n."""
    bins = np.minimum((probabilities * N_BINS).astype(int), N_BINS - 1)
    return [
        {
            "bin": [round(b / N_BINS, 4), round((b + 1) / N_BINS, 4)],
            "mean_probability": _rounded(probabilities[bins == b].mean()),
            "share_supported": _rounded(supported[bins == b].mean()),
            "n": int((bins == b).sum()),
        }
        for b in range(N_BINS)
        if (bins == b).any()
    ]


def calibration_error(supported: Flags, probabilities: Doubles) -> float:
    """Expected calibration error over 15 bins of equal width (Guo et al. 2017, eq. 3)."""
    bins = reliability(supported, probabilities)
    gaps = [abs(b["share_supported"] - b["mean_probability"]) * b["n"] for b in bins]
    return round(float(sum(gaps) / max(1, len(supported))), 4)


def precision_recall(wanted: Flags, values: Doubles) -> list[dict[str, float]]:
    """Points of the curve that finds `wanted` by *low* values, from the lowest threshold up.

    A row is called at a threshold if its value is at most that. Empty where nothing is wanted.
    """
    if not wanted.any():
        return []
    precision, recall, thresholds = _sklearn_metrics().precision_recall_curve(wanted, -values)
    points = zip(precision[-2::-1], recall[-2::-1], -thresholds[::-1], strict=True)
    return [
        {"precision": round(float(p), 4), "recall": round(float(r), 4), "threshold": float(t)}
        for p, r, t in points
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


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
