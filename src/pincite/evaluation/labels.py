"""What is said of rows with one label each: precision, recall and F1 by class, with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pincite.evaluation import bootstrap
from pincite.evaluation.bootstrap import Doubles

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
    spread = _measures(np.tensordot(bootstrap.resamples(len(wanted)), cells, axes=1))
    places = [*classes, "weighted", "macro"]
    found = {name: _one(point, spread, place) for place, name in enumerate(places)}
    return {
        "n": len(wanted),
        "accuracy": round(float(point["accuracy"][0, 0]), 4),
        "accuracy_interval": bootstrap.percentiles(spread["accuracy"][:, 0]),
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
        found[f"{name}_interval"] = bootstrap.percentiles(spread[name][:, place])
    return found
