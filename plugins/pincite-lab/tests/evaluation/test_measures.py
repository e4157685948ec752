"""Measures by hand-computed numbers, and beside scikit-learn and ir-measures."""

import numpy as np
import pytest
from sklearn import metrics

from pincite_lab.evaluation import measures


def test_success_and_precision_by_hand() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 1, "c": 1}, "3": {"d": 1}}
    run = {"1": ["a", "x"], "2": ["x", "y", "c"], "3": []}
    found = measures.ranking_measures(qrels, run)
    assert found["n"] == 3
    assert found["P@1"] == found["SR@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["SR@10"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["RR"] == pytest.approx((1 + 1 / 3) / 3, abs=1e-4)


def test_calibration_error_by_hand() -> None:
    supported = np.array([True, False, True, True])
    probabilities = np.array([0.95, 0.95, 0.55, 0.55])
    # bins of 1/15: the last |0.5 - 0.95| * 0.5; the ninth |1 - 0.55| * 0.5
    assert measures.calibration_error(supported, probabilities) == pytest.approx(0.45)
    assert measures.calibration_error(np.array([True]), np.array([1.0])) == 0
    assert measures.reliability(supported, probabilities) == [
        {"bin": [0.5333, 0.6], "mean_probability": 0.55, "share_supported": 1.0, "n": 2},
        {"bin": [0.9333, 1.0], "mean_probability": 0.95, "share_supported": 0.5, "n": 2},
    ]


@pytest.mark.parametrize("seed", range(5))
def test_f1_and_auroc_are_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = ["support", "refute", "nei"]
    labels, guesses = (list(rng.choice(classes[: 2 + n], 40)) for n in (0, 1))
    present, found = sorted(set(labels)), measures.class_measures(labels, guesses)
    for average in ("macro", "weighted"):
        how = {"labels": present, "average": average, "zero_division": 0}
        expected = metrics.f1_score(labels, guesses, **how)
        assert found[f"{average}_f1"] == pytest.approx(expected, abs=1e-4)
    supported, values = np.array(labels) == "support", rng.integers(0, 6, 40).astype(float)  # ties
    mine = measures.aurocs(supported, values, np.ones((1, 40)))
    assert mine[0] == pytest.approx(metrics.roc_auc_score(supported, values))


def test_auroc_of_a_resample_is_that_of_the_drawn_rows() -> None:
    supported = np.array([True, False, True, False, False])
    values, counts = np.array([3.0, 3.0, 1.0, 0.0, 2.0]), np.array([[2.0, 1.0, 1.0, 0.0, 1.0]])
    drawn = np.repeat(np.arange(5), counts[0].astype(int))
    expected = metrics.roc_auc_score(supported[drawn], values[drawn])
    assert measures.aurocs(supported, values, counts)[0] == pytest.approx(expected)


def test_bootstrap_intervals_hold_the_point_and_shrink() -> None:
    def of(times: int) -> list[float]:
        supported = np.tile([True, True, False, False], times)
        found = measures.auroc_interval(supported, np.tile([4.0, 2.0, 3.0, 1.0], times))
        assert found is not None
        return found

    (low, high), (low_many, high_many) = of(5), of(100)
    assert low < 0.75 < high
    assert low < low_many < 0.75 < high_many < high
    assert of(5) == [low, high]  # seeded
    found = measures.class_measures(["support", "nei"] * 20, ["support"] * 40)
    for name in ("macro_f1", "weighted_f1", "accuracy"):
        assert found[f"{name}_interval"][0] < found[name] < found[f"{name}_interval"][1]


def test_wilson_by_hand() -> None:
    assert measures.wilson(0, 0) is None
    assert measures.wilson(0, 10) == [0.0, 0.2775]  # Brown, Cai & DasGupta 2001: z²/(n + z²)
    assert measures.wilson(5, 10) == [0.2366, 0.7634]


def test_precision_recall_worked_example() -> None:
    # Highest first: fails, holds, fails, holds. Calling 1, 2, 3, 4 rows finds 1, 1, 2, 2 of 2.
    fails, values = np.array([False, True, True, False]), np.array([1.0, 9.0, 5.0, 7.0])
    points = measures.precision_recall(fails, values)
    assert points == [
        {"precision": 1.0, "recall": 0.5, "threshold": 9.0},
        {"precision": 0.5, "recall": 0.5, "threshold": 7.0},
        {"precision": 0.6667, "recall": 1.0, "threshold": 5.0},
        {"precision": 0.5, "recall": 1.0, "threshold": 1.0},
    ]
    assert measures.precision_recall(np.array([False]), np.array([1.0])) == []


WANTED = ["yes"] * 4 + ["no"] * 3 + ["maybe"] * 1
SAID = ["yes", "yes", "no", "perhaps", "no", "yes", "no", "no"]
CLASSES = ["yes", "no", "maybe"]


def test_measures_by_class_by_hand() -> None:
    found = measures.by_class(WANTED, SAID, CLASSES)
    assert found["accuracy"] == 0.5
    yes, no, maybe = (found["classes"][name] for name in CLASSES)
    assert (yes["precision"], yes["recall"]) == (0.6667, 0.5)  # 2 of 3, 2 of 4
    assert (no["precision"], no["recall"], no["f1"]) == (0.5, 0.6667, 0.5714)  # 2 of 4, 2 of 3
    assert (maybe["n"], maybe["f1"]) == (1, 0.0)
    assert found["weighted"]["recall"] == 0.5  # (4 · 0.5 + 3 · 0.667 + 0) / 8
    assert found["macro"]["recall"] == 0.3889


def test_a_class_without_rows_is_no_part_of_the_macro_mean() -> None:
    found = measures.by_class(["yes", "no"], ["yes", "no"], ["yes", "no", "maybe"])
    assert found["macro"]["f1"] == found["weighted"]["f1"] == 1.0


def test_no_rows_have_measures_too() -> None:
    found = measures.by_class([], [], ["yes", "no"])
    assert (found["n"], found["accuracy"], found["classes"]["no"]["n"]) == (0, 0.0, 0)
    assert measures.ranking_measures({}, {})["intervals"]["RR"] is None
