"""The losses against numbers worked out by hand, and against what went wrong elsewhere."""

import math
from typing import Any, cast

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from dataclasses import replace  # noqa: E402

from pincite_lab.training import objective  # noqa: E402
from pincite_lab.training.groups import Group  # noqa: E402
from pincite_lab.training.recipe import Recipe  # noqa: E402

PLAIN = Recipe(sets=())


class Longest:
    """A network that is the surer of a support the longer a passage is."""

    def judge(self, pairs: list[tuple[str, str]]) -> Any:
        return torch.tensor([[float(len(passage)), 0.0, 0.0] for _, passage in pairs])


def test_the_passage_with_the_highest_odds_of_its_label_decides() -> None:
    labels = ("support", "refute", "partial")
    groups = [Group("s", "r", "claim", label, ("ab", "abc", "a")) for label in labels]
    groups.insert(1, Group("s", "r", "claim", "support", ("alone",)))
    deciding = objective.Objective(PLAIN, cast(Any, Longest())).deciding
    assert deciding(groups) == ["abc", "alone", "a", "abc"]
    assert deciding(groups[1:2]) == ["alone"]


def test_log_odds_of_a_class_against_the_others() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    assert objective.log_odds(logits).item() == pytest.approx(0.0, abs=1e-6)
    # The odds of refuted are 0.3 to 0.7.
    assert objective.log_odds(logits, objective.REFUTED).item() == pytest.approx(-0.8473, abs=1e-4)


def test_ranking_is_cross_entropy_over_the_positive_and_its_negatives() -> None:
    scores = torch.tensor([1.5, 0.2, -1.0])
    loss = objective.ranking_loss(scores[0], scores[1:])
    expected = torch.nn.functional.cross_entropy(scores[None], torch.tensor([0]))
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("support", -math.log(0.5)),
        ("refute", -math.log(0.3)),
        ("nei", -math.log(0.2)),
        ("not_support", -math.log(1 - 0.5)),
        ("partial", -0.35 * math.log(0.5) - 0.65 * math.log(0.2)),
    ],
)
def test_label_loss(label: str, expected: float) -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    assert objective.label_loss(logits, [label], PLAIN).item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("label", "weight"), [("support", 2.0), ("refute", 3.0), ("nei", 0.5), ("not_support", 0.5)]
)
def test_a_label_weighs_as_its_class(label: str, weight: float) -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    targets = replace(PLAIN, class_weights=(2.0, 3.0, 0.5))
    plain = objective.label_loss(logits, [label], PLAIN)
    assert objective.label_loss(logits, [label], targets) == pytest.approx(weight * plain)


@pytest.mark.parametrize("smoothing", [0.05, 0.2])
def test_smoothed_labels_are_best_answered_a_little_short_of_certain(smoothing: float) -> None:
    targets = replace(PLAIN, smoothing=smoothing)

    def loss(p: float) -> float:
        logits = torch.log(torch.tensor([[p, (1 - p) / 2, (1 - p) / 2]]))
        return float(objective.label_loss(logits, ["support"], targets))

    best = 1 - smoothing * 2 / 3
    assert loss(best) < min(loss(best - 0.02), loss(best + 0.01))
