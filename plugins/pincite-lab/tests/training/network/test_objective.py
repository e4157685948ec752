"""The losses against numbers worked out by hand, and against what went wrong elsewhere."""

import math

import pytest
from support.rows import each_row

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from dataclasses import replace  # noqa: E402

from pincite_lab.training import objective  # noqa: E402
from pincite_lab.training.recipe import Recipe, Strategy  # noqa: E402

PLAIN = Recipe(sets=())

NO, YES = False, True


@each_row("lab/training/network/objective/only_positives_have_a_share")
def test_only_positives_have_a_share(strategy: Strategy, shares: list[float]) -> None:
    scores, positive = torch.tensor([[0.0, -5.0, -4.0]]), torch.tensor([[NO, YES, YES]])
    found = objective.responsibilities(scores, positive, strategy)
    assert found[0].tolist() == pytest.approx(shares, abs=1e-4)


def test_log_odds_of_a_class_against_the_others() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    assert objective.log_odds(logits).item() == pytest.approx(0.0, abs=1e-6)
    # The odds of refuted are 0.3 to 0.7.
    assert objective.log_odds(logits, objective.REFUTED).item() == pytest.approx(-0.8473, abs=1e-4)


def test_ranking_with_one_positive_is_cross_entropy_over_it_and_the_negatives() -> None:
    positives, negatives = torch.tensor([[1.5]]), torch.tensor([[0.2, -1.0, 7.0]])
    there = torch.tensor([[YES, YES, NO]])
    ours = objective.ranking_loss(positives, torch.ones(1, 1), negatives, there)
    listed = torch.tensor([[1.5, 0.2, -1.0]])  # 7.0 is padding
    expected = torch.nn.functional.cross_entropy(listed, torch.tensor([0]))
    assert ours.item() == pytest.approx(expected.item(), abs=1e-6)


def test_another_positive_is_neither_target_nor_negative() -> None:
    negatives, there = torch.tensor([[0.0]]), torch.tensor([[YES]])
    weights = torch.tensor([[1.0, 0.0]])

    def loss(other: float) -> float:
        scores = torch.tensor([[-3.0, other]])
        return float(objective.ranking_loss(scores, weights, negatives, there))

    assert loss(-50.0) == loss(0.0) == loss(50.0)
    assert loss(0.0) == pytest.approx(math.log(1 + math.exp(3)))


def test_ranking_mixes_positives_by_their_weights() -> None:
    scores, negatives = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.0]])
    loss = objective.ranking_loss(
        scores, torch.tensor([[0.25, 0.75]]), negatives, torch.tensor([[YES]])
    )
    # 0.25 · log(1 + e⁻¹) + 0.75 · log(1 + e)
    assert loss.item() == pytest.approx(0.25 * 0.31326 + 0.75 * 1.31326, abs=1e-4)


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


def test_a_partial_row_does_not_ask_for_refuted() -> None:
    logits = torch.zeros(1, 3, requires_grad=True)
    objective.label_loss(logits, ["partial"], PLAIN).sum().backward()
    supported, refuted, neutral = logits.grad[0].tolist()
    assert refuted > 0 > neutral
    assert supported < refuted


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
