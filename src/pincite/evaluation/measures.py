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

# Intervals: percentile bootstrap over rows, and Wilson's for shares.

Doubles = npt.NDArray[np.float64]

N_RESAMPLES = 1000
SEED = 20
_Z = 1.959964  # 97.5 % point of the normal distribution


def resamples(n_rows: int) -> Doubles:
    """(N_RESAMPLES, n_rows): counts of rows drawn with replacement, each row of it sums to n."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(n_rows, [1 / n_rows] * n_rows, size=N_RESAMPLES).astype(np.float64)


def percentiles(values: Doubles) -> list[float] | None:
    """95 % percentile interval (Efron & Tibshirani 1993, ch. 13); NaN values are left out.

    >>> percentiles(np.array([0.0, 0.5, 1.0, np.nan]))
    [0.025, 0.975]
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return [round(float(low), 4), round(float(high), 4)]


def wilson(n_hits: int, n: int) -> list[float] | None:
    """95 % interval of a share (Wilson 1927): (p̂ + z²/2n ± z·√(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n).

    >>> wilson(9, 10)
    [0.5958, 0.9821]
    """
    if not n:
        return None
    share, z2 = n_hits / n, _Z**2
    middle = share + z2 / (2 * n)
    half = _Z * (share * (1 - share) / n + z2 / (4 * n * n)) ** 0.5
    ends: Sequence[float] = [(middle + sign * half) / (1 + z2 / n) for sign in (-1, 1)]
    return [round(min(1.0, max(0.0, end)), 4) for end in ends]


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
    rng = np.random.default_rng(SEED)
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
    return percentiles(aurocs(supported, values, resamples(len(values))))


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
    drawn = np.tensordot(resamples(len(labels)), cells, axes=1)
    spread = _averages(drawn, len(classes))
    names = ("macro_f1", "weighted_f1", "accuracy")
    return {
        **{name: _rounded(point[name][0]) for name in names},
        **{f"{name}_interval": percentiles(spread[name]) for name in names},
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


# What is said of rows with one label each: precision, recall and F1 by class, with intervals.

MEASURES = ("precision", "recall", "f1")


def by_class(wanted: Sequence[str], said: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
    """Precision, recall and F1 of each class, their `weighted` and `macro` means, and accuracy.

    Each has a 95 % bootstrap interval over the rows. Weighted is by the rows of a class; macro is
    over the classes that have rows. What is 0 / 0 is 0 (scikit-learn's rule). Something said that
    is none of the classes is wrong, and nothing else.

    >>> found = by_class(["yes", "yes", "no"], ["yes", "no", "no"], ["yes", "no"])
    >>> found["classes"]["yes"]["precision"], found["classes"]["yes"]["recall"]
    (1.0, 0.5)
    """
    cells = _cells(wanted, said, classes)
    point = _measures(cells.sum(axis=0)[None])
    spread = _measures(np.tensordot(resamples(len(wanted)), cells, axes=1))
    places = [*classes, "weighted", "macro"]
    found = {name: _one(point, spread, place) for place, name in enumerate(places)}
    return {
        "n": len(wanted),
        "accuracy": round(float(point["accuracy"][0, 0]), 4),
        "accuracy_interval": percentiles(spread["accuracy"][:, 0]),
        "weighted": found.pop("weighted"),
        "macro": found.pop("macro"),
        "classes": {name: {"n": list(wanted).count(name), **of} for name, of in found.items()},
    }


def f1_means(
    wanted: Sequence[str], said: Sequence[str], classes: Sequence[str]
) -> dict[str, float]:
    """Weighted and macro-F1 alone, for tables of many thresholds."""
    f1 = _measures(_cells(wanted, said, classes).sum(axis=0)[None])["f1"][0]
    weighted, macro = float(f1[-2]), float(f1[-1])
    return {"weighted_f1": round(weighted, 4), "macro_f1": round(macro, 4)}


def _cells(wanted: Sequence[str], said: Sequence[str], classes: Sequence[str]) -> Doubles:
    """(n_rows, n_classes, n_classes + 1): 1 where a row's label and what was said meet.

    The last column is for what is none of the classes.
    """
    place = {name: i for i, name in enumerate(classes)}
    cells = np.zeros((len(wanted), len(classes), len(classes) + 1))
    for row, (label, guess) in enumerate(zip(wanted, said, strict=True)):
        cells[row, place[label], place.get(guess, len(classes))] = 1
    return cells


def _measures(confusion: Doubles) -> dict[str, Doubles]:
    """Of confusions (n, n_classes, n_classes + 1); the weighted and the macro mean come last."""
    n_classes = confusion.shape[1]
    hits = np.diagonal(confusion[:, :, :n_classes], axis1=1, axis2=2)
    labelled, guessed = confusion.sum(axis=2), confusion.sum(axis=1)[:, :n_classes]
    n_rows = np.maximum(labelled.sum(axis=1, keepdims=True), 1)
    there = labelled > 0
    found = {
        "precision": _shares(hits, guessed),
        "recall": _shares(hits, labelled),
        "f1": _shares(2 * hits, labelled + guessed),
    }
    means = {
        name: np.column_stack(
            [
                values,
                (values * labelled / n_rows).sum(axis=1),
                (values * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1),
            ]
        )
        for name, values in found.items()
    }
    return means | {"accuracy": hits.sum(axis=1, keepdims=True) / n_rows}


def _shares(part: Doubles, whole: Doubles) -> Doubles:
    shares = np.zeros_like(part)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def _one(point: dict[str, Doubles], spread: dict[str, Doubles], place: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in MEASURES:
        found[name] = round(float(point[name][0, place]), 4)
        found[f"{name}_interval"] = percentiles(spread[name][:, place])
    return found
