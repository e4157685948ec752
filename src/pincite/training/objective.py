"""One step's loss: E step without gradient, then the pairs that it chose with gradient."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pincite.text import paraphrase
from pincite.training import losses
from pincite.training.groups import MADE_LABEL, Group
from pincite.training.network import Pairs
from pincite.training.recipe import Recipe


@dataclass(slots=True)
class _Asked:
    """The pairs of a step, and for each what is asked of it."""

    pairs: list[tuple[str, str]]
    labels: list[str]
    weights: list[float]
    positives: list[list[tuple[int, float]]]  # of each ranked group: rows and responsibilities
    negatives: list[list[int]]  # of each ranked group: rows
    ranked_weights: list[float]


class Teacher(Protocol):
    """What is asked of a teacher."""

    def judged(self, pairs: Sequence[tuple[str, str]]) -> Tensor: ...  # noqa: D102


class Objective:
    """Loss of a batch of groups under a recipe; a teacher's distribution is a target too."""

    def __init__(self, recipe: Recipe, student: Pairs, teacher: Teacher | None = None) -> None:
        self._recipe, self._student, self._teacher = recipe, student, teacher
        self._targets = losses.Targets(
            recipe.partial_support, recipe.class_weights, recipe.smoothing
        )

    def pairs(self, groups: Sequence[Group]) -> list[tuple[str, str]]:
        """The pairs of a step of groups with one passage each, of which no E step has to choose."""
        return self._asked(groups, [[1.0] for _ in groups]).pairs

    def loss(self, groups: Sequence[Group], step: int, generator: torch.Generator) -> Tensor:
        """A scalar: the mean over groups."""
        asked = self._asked(groups, self._e_step(groups, step, generator))
        logits = self._student.logits(asked.pairs)
        weights = torch.tensor(asked.weights, device=logits.device)
        per_pair = losses.label_loss(logits, asked.labels, self._targets)
        if self._teacher:
            shares = torch.tensor([self._share(label) for label in asked.labels])
            told = shares.nonzero().flatten().tolist()
            taught = torch.zeros_like(per_pair)
            if told:
                target = self._teacher.judged([asked.pairs[i] for i in told]).to(logits.device)
                target = torch.softmax(target, dim=-1)
                taught[told] = -(target * torch.log_softmax(logits[told], dim=-1)).sum(dim=-1)
            shares = shares.to(logits.device)
            per_pair = (1 - shares) * per_pair + shares * taught
        total = (weights * per_pair).sum()
        if asked.positives:
            total = total + self._recipe.ranking_weight * self._ranking(asked, logits)
        return total / len(groups)

    def _share(self, label: str) -> float:
        """How much of a pair's target is the teacher's."""
        return 1.0 if label == losses.AS_BEFORE else self._recipe.distillation

    def _e_step(
        self, groups: Sequence[Group], step: int, generator: torch.Generator
    ) -> list[list[float]]:
        """For each group the responsibilities of its passages."""
        recipe = self._recipe
        latent = [g for g in groups if len(g.passages) > 1]
        if not latent:
            return [[1.0] for _ in groups]
        pairs = [(g.claim, passage) for g in latent for passage in g.passages]
        needs_scores = recipe.strategy in ("hard_em", "soft_em")
        logits = self._student.judged(pairs) if needs_scores else torch.zeros(len(pairs), 3)
        width = max(len(g.passages) for g in latent)
        scores, positive = torch.zeros(len(latent), width), torch.zeros(len(latent), width) > 0
        start = 0
        for i, group in enumerate(latent):
            n = len(group.passages)
            which = losses.REFUTED if group.label == "refute" else losses.SUPPORTED
            scores[i, :n] = losses.log_odds(logits[start : start + n], which).cpu()
            positive[i, :n] = True
            start += n
        temperature = losses.temperature_at(step, recipe.temperature, recipe.temperature_steps)
        found = losses.responsibilities(scores, positive, recipe.strategy, temperature, generator)
        rows = iter(found.tolist())
        return [next(rows)[: len(g.passages)] if len(g.passages) > 1 else [1.0] for g in groups]

    def _asked(self, groups: Sequence[Group], shares: list[list[float]]) -> _Asked:
        asked = _Asked([], [], [], [], [], [])

        def ask(claim: str, passage: str, label: str, weight: float) -> int:
            asked.pairs.append(paraphrase.as_read(claim, passage))  # as the verifier will meet it
            asked.labels.append(label)
            asked.weights.append(weight)
            return len(asked.pairs) - 1

        for group, share in zip(groups, shares, strict=True):
            positives = [
                (ask(group.claim, passage, group.label, group.weight * part), part)
                for passage, part in zip(group.passages, share, strict=True)
                if part > 0
            ]
            best = group.passages[share.index(max(share))]
            made = [(group.claim, passage, MADE_LABEL) for passage in group.negatives]
            made += [(claim, best, label) for claim, label in group.rivals]
            weight = group.weight * self._recipe.made_weight
            negatives = [ask(*pair, weight / len(made)) for pair in made]
            if negatives and group.label in ("support", "partial"):
                asked.positives.append(positives)
                asked.negatives.append(negatives)
                asked.ranked_weights.append(group.weight)
        return asked

    def _ranking(self, asked: _Asked, logits: Tensor) -> Tensor:
        """The listwise losses of the groups that have positives and negatives, summed."""
        scores = losses.log_odds(logits)
        rows, shares, _ = padded([[r for r, _ in p] for p in asked.positives], logits.device,
                                  [[s for _, s in p] for p in asked.positives])  # fmt: skip
        others, _, there = padded(asked.negatives, logits.device)
        loss = losses.ranking_loss(scores[rows], shares, scores[others], there)
        return (loss * torch.tensor(asked.ranked_weights, device=logits.device)).sum()


def padded(
    rows: list[list[int]], device: torch.device, values: list[list[float]] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Row numbers, their values (0 for padding) and which are no padding: (G, longest) each."""
    width = max(map(len, rows))
    given = values or [[1.0] * len(row) for row in rows]
    index = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
    filled = torch.tensor([v + [0.0] * (width - len(v)) for v in given], device=device)
    there = torch.tensor([[i < len(row) for i in range(width)] for row in rows], device=device)
    return index, filled, there
