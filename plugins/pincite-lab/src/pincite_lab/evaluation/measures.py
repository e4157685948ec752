"""Measures of rankings, labels and probabilities, with 95 % intervals.

ir-measures computes those of rankings, scikit-learn those of labels; both come with the extra
`eval`. Implemented here: the expected calibration error, and AUROC and F1 for all bootstrap
resamples at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Grades = Mapping[str, Mapping[str, int]]  # query → id → relevance; 0: judged irrelevant
Run = Mapping[str, Sequence[str]]  # query → ids, best first

CUTOFFS = (1, 10, 100, 200)
MEASURES = ("precision", "recall", "f1")
MEANS = ("weighted", "macro")  # over the classes
N_RESAMPLES_OF_ROWS = 1000
N_RESAMPLES_OF_MEANS = 2000  # over queries: cheaper
N_BINS = 15
SEED = 20
# Our names → ir-measures' names, as in SIDE's table 4.
RANKING = {"P@1": "P@1", **{f"SR@{k}": f"Success@{k}" for k in CUTOFFS}, "RR": "RR"}
RANKING |= {"R-Prec": "Rprec"}

# Intervals: percentile bootstrap over rows, and Wilson's for shares.


def resamples(n_rows: int) -> Doubles:
    """Return how often each row is drawn, with replacement: (N_RESAMPLES_OF_ROWS, n_rows)."""
    if not n_rows:
        return np.zeros((N_RESAMPLES_OF_ROWS, 0))
    rng = np.random.default_rng(SEED)
    return rng.multinomial(n_rows, [1 / n_rows] * n_rows, N_RESAMPLES_OF_ROWS).astype(np.float64)


def percentiles(values: Doubles) -> list[float] | None:
    """95 % percentile interval (Efron & Tibshirani 1993, ch. 13); NaN values are ignored.

    >>> percentiles(np.array([0.0, 0.5, 1.0, np.nan]))
    [0.025, 0.975]
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return [round(float(low), 4), round(float(high), 4)]


def mean_interval(values: Doubles) -> list[float] | None:
    """95 % percentile bootstrap interval of the mean; None without values."""
    if not len(values):
        return None
    rng = np.random.default_rng(SEED)
    rows = rng.integers(0, len(values), size=(N_RESAMPLES_OF_MEANS, len(values)))
    return percentiles(values[rows].mean(axis=1))


def wilson(n_hits: int, n: int) -> list[float] | None:
    """95 % interval of a share (Wilson 1927), computed by SciPy.

    >>> wilson(9, 10)
    [0.5958, 0.9821]
    """
    from scipy.stats import binomtest

    if not n:
        return None
    return [_round(end) for end in binomtest(n_hits, n).proportion_ci(method="wilson")]


# Rankings


def ranking_measures(qrels: Grades, run: Run) -> dict[str, Any]:
    """Return means over the queries as trec_eval computes them, with intervals.

    A query without hits or without a relevant document counts as 0. SR@k is 1 if any relevant id is
    among the first k.
    """
    import ir_measures as ir

    wanted = {ir.parse_measure(code): name for name, code in RANKING.items()}
    judged = [ir.Qrel(q, doc, grade) for q, docs in qrels.items() for doc, grade in docs.items()]
    hits = [
        ir.ScoredDoc(query, doc, -float(place))
        for query in qrels
        for place, doc in enumerate(run.get(query, ()))
    ]
    order = {query: row for row, query in enumerate(qrels)}
    values = {name: np.zeros(len(order)) for name in RANKING}
    for metric in ir.iter_calc(list(wanted), judged, hits):
        values[wanted[metric.measure]][order[metric.query_id]] = metric.value
    return {
        **{name: _round(scores.mean()) if len(scores) else None for name, scores in values.items()},
        "n": len(order),
        "intervals": {name: mean_interval(scores) for name, scores in values.items()},
    }


# Supported rows against the rest


def binary_measures(
    supported: Flags, values: Doubles, decided: Flags | None = None
) -> dict[str, float | None]:
    """Measures of supported rows against the rest: ranking by `values`, and `decided` if given.

    None if only one class occurs, or if the measure needs `decided` and there is none.
    """
    names = ("auroc", "average_precision", "balanced_accuracy")
    if supported.all() or not supported.any():
        return dict.fromkeys(names)
    from sklearn import metrics

    scores = {
        "auroc": metrics.roc_auc_score(supported, values),
        "average_precision": metrics.average_precision_score(supported, values),
    }
    if decided is not None:
        scores["balanced_accuracy"] = metrics.balanced_accuracy_score(supported, decided)
    return {name: _round(scores[name]) if name in scores else None for name in names}


def auroc_interval(supported: Flags, values: Doubles) -> list[float] | None:
    """95 % bootstrap interval of the AUROC over rows; resamples of one class are ignored."""
    if supported.all() or not supported.any():
        return None
    return percentiles(aurocs(supported, values, resamples(len(values))))


def aurocs(supported: Flags, values: Doubles, weights: Doubles) -> Doubles:
    """Return the AUROC for each row of `weights` (n_resamples, n_rows); NaN if a class is missing.

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
    areas = np.full(len(weights), np.nan)
    np.divide(won, n_pairs, out=areas, where=n_pairs > 0)
    return areas


def precision_recall(wanted: Flags, values: Doubles) -> list[dict[str, float]]:
    """Points of the curve that finds `wanted` by high values, from the highest threshold down.

    A row is called at a threshold if its value is at least that. Empty if no row is wanted.
    """
    if not wanted.any():
        return []
    from sklearn import metrics

    precision, recall, thresholds = metrics.precision_recall_curve(wanted, values)
    # scikit-learn's last point, where nothing is called, has no threshold.
    points = zip(precision[:-1], recall[:-1], thresholds, strict=True)
    return [
        {"precision": _round(p), "recall": _round(r), "threshold": float(t)} for p, r, t in points
    ][::-1]


def reliability(supported: Flags, probabilities: Doubles) -> list[dict[str, Any]]:
    """Return, for each non-empty bin: bounds, mean probability, share supported, n."""
    bins = np.minimum((probabilities * N_BINS).astype(int), N_BINS - 1)
    return [
        {
            "bin": [round(b / N_BINS, 4), round((b + 1) / N_BINS, 4)],
            "mean_probability": _round(probabilities[bins == b].mean()),
            "share_supported": _round(supported[bins == b].mean()),
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


# Rows with one label each


def by_class(
    wanted: Sequence[str], predicted: Sequence[str], classes: Sequence[str]
) -> dict[str, Any]:
    """Precision, recall and F1 of each class, their `weighted` and `macro` means, and accuracy.

    Each has a bootstrap interval over the rows. Weighted is by the rows of a class; macro is over
    the classes that have rows. 0 / 0 counts as 0 (scikit-learn's rule). A prediction outside the
    classes is simply wrong.

    >>> found = by_class(["yes", "yes", "no"], ["yes", "no", "no"], ["yes", "no"])
    >>> found["classes"]["yes"]["precision"], found["classes"]["yes"]["recall"]
    (1.0, 0.5)
    """
    shape = len(wanted), len(classes)  # of no rows, numpy would see no second axis
    labels, guesses = (
        np.array([[name == c for c in classes] for name in names], dtype=np.float64).reshape(shape)
        for names in (wanted, predicted)
    )
    point = _measures(labels, guesses, np.ones((1, len(wanted))))
    spread = _measures(labels, guesses, resamples(len(wanted)))
    table: dict[str, dict[str, Any]] = {name: {} for name in (*classes, *MEANS)}
    for column, of_name in enumerate(table.values()):
        for measure in MEASURES:
            of_name[measure] = _round(point[measure][0, column])
            of_name[f"{measure}_interval"] = percentiles(spread[measure][:, column])
    return {
        "n": len(wanted),
        "accuracy": _round(point["accuracy"][0, 0]),
        "accuracy_interval": percentiles(spread["accuracy"][:, 0]),
        "weighted": table.pop("weighted"),
        "macro": table.pop("macro"),
        "classes": {name: {"n": list(wanted).count(name), **of} for name, of in table.items()},
    }


def class_measures(labels: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
    details = by_class(labels, predicted, sorted(set(labels)))
    return {
        "macro_f1": details["macro"]["f1"],
        "weighted_f1": details["weighted"]["f1"],
        "accuracy": details["accuracy"],
        "macro_f1_interval": details["macro"]["f1_interval"],
        "weighted_f1_interval": details["weighted"]["f1_interval"],
        "accuracy_interval": details["accuracy_interval"],
        "f1": {name: of["f1"] for name, of in details["classes"].items()},
    }


def _measures(labels: Doubles, guesses: Doubles, weights: Doubles) -> dict[str, Doubles]:
    """Measures for each row of `weights` (n_resamples, n_rows): a column for each class and mean.

    `labels` and `guesses`: (n_rows, n_classes), 1 at a row's class. Accuracy has one column.
    """
    labelled, guessed, hits = (weights @ matrix for matrix in (labels, guesses, labels * guesses))
    n_rows = np.maximum(labelled.sum(axis=1, keepdims=True), 1)
    occurs = labelled > 0
    shares = {
        "precision": _shares(hits, guessed),
        "recall": _shares(hits, labelled),
        "f1": _shares(2 * hits, labelled + guessed),
    }
    n_classes = np.maximum(occurs.sum(axis=1), 1)
    for name, values in shares.items():
        weighted = (values * labelled / n_rows).sum(axis=1)
        macro = (values * occurs).sum(axis=1) / n_classes
        shares[name] = np.column_stack([values, weighted, macro])  # the order of MEANS
    return shares | {"accuracy": hits.sum(axis=1, keepdims=True) / n_rows}


def _shares(part: Doubles, whole: Doubles) -> Doubles:
    shares = np.zeros_like(part)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def _round(value: Any) -> float:
    return round(float(value), 4)
