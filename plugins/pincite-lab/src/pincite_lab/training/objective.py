"""The training objective: which passage decides (E step), and the loss of those pairs (M step).

SIDE (Petroni et al. 2023, Methods, "Training") maximises the likelihood of one positive passage
among negatives, where the positive among the cited page's passages is latent. Here the score is the
log-odds of support under a three-way head, and the labels have a separate loss. The passage with
the highest score decides (hard EM).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from pincite.text import paraphrase
from pincite_lab.training.groups import GENERATED_LABEL, Group
from pincite_lab.training.network import Pairs
from pincite_lab.training.recipe import Recipe

SUPPORTED, REFUTED, NEUTRAL = range(3)
AS_BEFORE = "as_before"  # no label: the teacher's answer is the only target


@dataclass(slots=True)
class _Batch:
    """The pairs of a step, each with a label and a weight."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    # Per ranked group: the row of the positive, the rows of negatives, and the group's weight.
    rankings: list[tuple[int, list[int], float]] = field(default_factory=list)

    def add(self, claim: str, passage: str, label: str, weight: float) -> int:
        """Add a pair; returns its row number."""
        self.pairs.append(paraphrase.verifier_input(claim, passage))  # the verifier's input format
        self.labels.append(label)
        self.weights.append(weight)
        return len(self.pairs) - 1


class Objective:
    """Loss of a batch of groups under a recipe, optionally distilled from a teacher."""

    def __init__(self, recipe: Recipe, student: Pairs, teacher: Pairs | None = None) -> None:
        self._recipe, self._student, self._teacher = recipe, student, teacher

    def loss(self, groups: Sequence[Group]) -> Tensor:
        """Return the mean over groups, a scalar; randomness comes from torch."""
        batch = self._batch(groups)
        logits = self._student.logits(batch.pairs)
        per_pair = label_loss(logits, batch.labels, self._recipe)
        if self._teacher:
            shares = torch.tensor(
                [1.0 if x == AS_BEFORE else self._recipe.distillation for x in batch.labels]
            )
            taught = torch.zeros_like(per_pair)
            if rows := shares.nonzero().flatten().tolist():
                target = self._teacher.judge([batch.pairs[i] for i in rows]).to(logits.device)
                target = torch.softmax(target, dim=-1)
                taught[rows] = -(target * log_softmax(logits[rows], dim=-1)).sum(dim=-1)
            shares = shares.to(logits.device)
            per_pair = (1 - shares) * per_pair + shares * taught
        total = (torch.tensor(batch.weights, device=logits.device) * per_pair).sum()
        scores = log_odds(logits)
        for positive, negatives, weight in batch.rankings:
            ranked = weight * ranking_loss(scores[positive], scores[negatives])
            total = total + self._recipe.ranking_weight * ranked
        return total / len(groups)

    def deciding(self, groups: Sequence[Group]) -> list[str]:
        """Return each group's passage with the highest log-odds of its label (the E step)."""
        latent = [group for group in groups if len(group.passages) > 1]
        if not latent:
            return [group.passages[0] for group in groups]
        pairs = [(group.claim, passage) for group in latent for passage in group.passages]
        of_group = iter(self._student.judge(pairs).split([len(g.passages) for g in latent]))
        chosen = []
        for group in groups:
            which = REFUTED if group.label == "refute" else SUPPORTED
            is_latent = len(group.passages) > 1
            best = int(log_odds(next(of_group), which).argmax()) if is_latent else 0
            chosen.append(group.passages[best])
        return chosen

    def _batch(self, groups: Sequence[Group]) -> _Batch:
        batch = _Batch()
        for group, passage in zip(groups, self.deciding(groups), strict=True):
            positive = batch.add(group.claim, passage, group.label, group.weight)
            generated = [(group.claim, other, GENERATED_LABEL) for other in group.negatives]
            generated += [(claim, passage, label) for claim, label in group.rivals]
            weight = group.weight * self._recipe.made_weight
            negatives = [batch.add(*pair, weight / len(generated)) for pair in generated]
            if negatives and group.label in ("support", "partial"):
                batch.rankings.append((positive, negatives, group.weight))
        return batch


def log_odds(logits: Tensor, label: int = SUPPORTED) -> Tensor:
    """Return log P(label) − log P(not label): (…, 3) → (…)."""
    others = [c for c in range(3) if c != label]
    return logits[..., label] - torch.logsumexp(logits[..., others], dim=-1)


def ranking_loss(positive: Tensor, negatives: Tensor) -> Tensor:
    """Listwise loss of a positive's score, a scalar, among those of its negatives, (N,).

    The other passages of the positive's page are neither target nor negative.
    """
    return torch.logaddexp(positive, torch.logsumexp(negatives, dim=-1)) - positive


def label_loss(logits: Tensor, labels: list[str], recipe: Recipe) -> Tensor:
    """−log of the probability that the label allows, weighted by class, (n,).

    `not_support` allows refuted and neutral (their sum). `partial` is supported with probability
    `partial_support` and otherwise neutral, since the rest of the claim is not mentioned.
    """
    log_p = log_softmax(logits, dim=-1)
    log_not = torch.logsumexp(log_p[:, [REFUTED, NEUTRAL]], dim=-1)
    part = recipe.partial_support
    support, refute, neutral = recipe.class_weights
    allowed = {
        "support": support * log_p[:, SUPPORTED],
        "refute": refute * log_p[:, REFUTED],
        "nei": neutral * log_p[:, NEUTRAL],
        "not_support": neutral * log_not,
        AS_BEFORE: torch.zeros_like(log_not),
        "partial": support * part * log_p[:, SUPPORTED] + neutral * (1 - part) * log_p[:, NEUTRAL],
    }
    losses = -torch.stack([allowed[label][i] for i, label in enumerate(labels)])
    return (1 - recipe.smoothing) * losses - recipe.smoothing * log_p.mean(dim=-1)
