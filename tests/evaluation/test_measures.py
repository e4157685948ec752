import numpy as np
import pytest

from pincite.evaluation import measures


def test_success_and_precision_by_hand() -> None:
    qrels = {"1": frozenset({"a"}), "2": frozenset({"b", "c"}), "3": frozenset({"d"})}
    run = {"1": ["a", "x"], "2": ["x", "y", "c"], "3": []}
    found = measures.ranking_measures(qrels, run)
    assert found["n"] == 3
    assert found["P@1"] == found["SR@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["SR@10"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["RR"] == pytest.approx((1 + 1 / 3) / 3, abs=1e-4)


def test_order_is_kept_in_long_runs() -> None:
    run = {"1": [f"d{n}" for n in range(200)]}
    found = measures.ranking_measures({"1": frozenset({"d150"})}, run)
    assert (found["SR@100"], found["SR@200"]) == (0, 1)


def test_intervals_hold_the_mean_and_shrink() -> None:
    few, many = np.tile([0.0, 1.0], 10), np.tile([0.0, 1.0], 1000)
    low, high = measures.interval(few)
    assert low < 0.5 < high
    assert measures.interval(many)[1] - measures.interval(many)[0] < high - low


def test_calibration_error_by_hand() -> None:
    supported = np.array([True, False, True, True])
    probabilities = np.array([0.95, 0.95, 0.55, 0.55])
    # bins [0.9, 1]: |0.5 - 0.95| * 0.5; [0.5, 0.6): |1 - 0.55| * 0.5
    assert measures.calibration_error(supported, probabilities) == pytest.approx(0.45)
    assert measures.calibration_error(np.array([True]), np.array([1.0])) == 0


def test_one_class_has_no_auroc() -> None:
    found = measures.binary_measures(np.array([True, True]), np.array([0.1, 0.9]), 0.5)
    assert found["auroc"] is None


def test_class_measures_by_hand() -> None:
    found = measures.class_measures(["support", "refute", "nei"], ["support", "nei", "nei"])
    assert found["f1"] == {"nei": 0.6667, "refute": 0.0, "support": 1.0}
    assert found["macro_f1"] == pytest.approx(0.5556, abs=1e-4)
