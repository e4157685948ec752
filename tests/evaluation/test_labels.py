"""Precision, recall and F1 by class, by hand-computed numbers and beside scikit-learn."""

import pytest
from sklearn.metrics import precision_recall_fscore_support

from pincite.evaluation import measures

WANTED = ["yes"] * 4 + ["no"] * 3 + ["maybe"] * 1
SAID = ["yes", "yes", "no", "perhaps", "no", "yes", "no", "no"]
CLASSES = ["yes", "no", "maybe"]


def test_by_hand() -> None:
    found = measures.by_class(WANTED, SAID, CLASSES)
    assert found["accuracy"] == 0.5
    yes, no, maybe = (found["classes"][name] for name in CLASSES)
    assert (yes["precision"], yes["recall"]) == (0.6667, 0.5)  # 2 of 3, 2 of 4
    assert (no["precision"], no["recall"], no["f1"]) == (0.5, 0.6667, 0.5714)  # 2 of 4, 2 of 3
    assert (maybe["n"], maybe["f1"]) == (1, 0.0)
    assert found["weighted"]["recall"] == 0.5  # (4 · 0.5 + 3 · 0.667 + 0) / 8
    assert found["macro"]["recall"] == 0.3889


@pytest.mark.parametrize("mean", ["weighted", "macro"])
def test_means_are_those_of_scikit_learn(mean: str) -> None:
    theirs = precision_recall_fscore_support(
        WANTED, SAID, labels=CLASSES, average=mean, zero_division=0
    )
    ours = measures.by_class(WANTED, SAID, CLASSES)[mean]
    assert [ours[name] for name in measures.MEASURES] == pytest.approx(theirs[:3], abs=1e-4)


def test_intervals_hold_the_value_and_are_the_same_each_time() -> None:
    found = measures.by_class(WANTED * 10, SAID * 10, CLASSES)
    low, high = found["weighted"]["f1_interval"]
    assert low < found["weighted"]["f1"] < high
    assert found == measures.by_class(WANTED * 10, SAID * 10, CLASSES)


def test_a_class_without_rows_is_no_part_of_the_macro_mean() -> None:
    means = measures.f1_means(["yes", "no"], ["yes", "no"], ["yes", "no", "maybe"])
    assert means == {"weighted_f1": 1.0, "macro_f1": 1.0}
