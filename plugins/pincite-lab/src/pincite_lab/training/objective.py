"""The training objective: which passage decides (E step), and the loss of those pairs (M step).

SIDE (Petroni et al. 2023, Methods, "Training") maximises the likelihood of one positive passage
among negatives, where the positive among the cited page's passages is latent. Here the score is the
log-odds of support under a three-way head, and the labels have a separate loss.

Shapes: G groups, L latent passages (padded), N negatives (padded), 3 classes in order CLASSES.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, one_hot

from pincite.text import paraphrase
from pincite_lab.training.groups import GENERATED_LABEL, Group
from pincite_lab.training.network import Pairs
from pincite_lab.training.recipe import Recipe, Strategy

SUPPORTED, REFUTED, NEUTRAL = range(3)
NEVER = float("-inf")
AS_BEFORE = "as_before"  # no label: the teacher's answer is the only target


@dataclass(slots=True)
class _Batch:
    """The pairs of a step, each with a label and a weight."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    # Per ranked group: rows of positives with their responsibilities, and rows of negatives.
    positives: list[list[tuple[int, float]]] = field(default_factory=list)
    negatives: list[list[int]] = field(default_factory=list)
    ranked_weights: list[float] = field(default_factory=list)

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

    def loss(self, groups: Sequence[Group], step: int) -> Tensor:
        """Return the mean over groups, a scalar; randomness comes from torch."""
        batch = self._batch(groups, self._e_step(groups, step))
        logits = self._student.logits(batch.pairs)
        per_pair = label_loss(logits, batch.labels, self._recipe)
        if self._teacher:
            shares = torch.tensor(
                [1.0 if x == AS_BEFORE else self._recipe.distillation for x in batch.labels]
            )
            taught = torch.zeros_like(per_pair)
            if rows := shares.nonzero().flatten().tolist():
                target = self._teacher.judged([batch.pairs[i] for i in rows]).to(logits.device)
                target = torch.softmax(target, dim=-1)
                taught[rows] = -(target * log_softmax(logits[rows], dim=-1)).sum(dim=-1)
            shares = shares.to(logits.device)
            per_pair = (1 - shares) * per_pair + shares * taught
        total = (torch.tensor(batch.weights, device=logits.device) * per_pair).sum()
        if batch.positives:
            total = total + self._recipe.ranking_weight * _ranking(batch, logits)
        return total / len(groups)

    def _e_step(self, groups: Sequence[Group], step: int) -> list[list[float]]:
        recipe = self._recipe
        latent = [g for g in groups if len(g.passages) > 1]
        if not latent:
            return [[1.0] for _ in groups]
        pairs = [(g.claim, passage) for g in latent for passage in g.passages]
        logits = self._student.judged(pairs)
        width = max(len(g.passages) for g in latent)
        scores, positive = torch.zeros(len(latent), width), torch.zeros(len(latent), width) > 0
        start = 0
        for i, group in enumerate(latent):
            n = len(group.passages)
            which = REFUTED if group.label == "refute" else SUPPORTED
            scores[i, :n] = log_odds(logits[start : start + n], which).cpu()
            positive[i, :n] = True
            start += n
        temperature = temperature_at(step, recipe.temperature, recipe.temperature_steps)
        found = responsibilities(scores, positive, recipe.strategy, temperature)
        rows = iter(found.tolist())
        return [next(rows)[: len(g.passages)] if len(g.passages) > 1 else [1.0] for g in groups]

    def _batch(self, groups: Sequence[Group], shares: list[list[float]]) -> _Batch:
        batch = _Batch()
        for group, share in zip(groups, shares, strict=True):
            positives = [
                (batch.add(group.claim, passage, group.label, group.weight * part), part)
                for passage, part in zip(group.passages, share, strict=True)
                if part > 0
            ]
            best = group.passages[share.index(max(share))]
            generated = [(group.claim, passage, GENERATED_LABEL) for passage in group.negatives]
            generated += [(claim, best, label) for claim, label in group.rivals]
            weight = group.weight * self._recipe.made_weight
            negatives = [batch.add(*pair, weight / len(generated)) for pair in generated]
            if negatives and group.label in ("support", "partial"):
                batch.positives.append(positives)
                batch.negatives.append(negatives)
                batch.ranked_weights.append(group.weight)
        return batch


def _ranking(batch: _Batch, logits: Tensor) -> Tensor:
    scores, device = log_odds(logits), logits.device

    def padded(rows: list[list[float]], kind: torch.dtype) -> Tensor:
        width = max(map(len, rows))
        return torch.tensor([[*r, *[0] * (width - len(r))] for r in rows], dtype=kind).to(device)

    positives = padded([[row for row, _ in each] for each in batch.positives], torch.int64)
    shares = padded([[share for _, share in each] for each in batch.positives], torch.float32)
    negatives = padded([[*each] for each in batch.negatives], torch.int64)
    is_negative = padded([[1.0] * len(each) for each in batch.negatives], torch.bool)
    loss = ranking_loss(scores[positives], shares, scores[negatives], is_negative)
    return (loss * torch.tensor(batch.ranked_weights, device=device)).sum()


def log_odds(logits: Tensor, which: int = SUPPORTED) -> Tensor:
    """Return log P(which) − log P(not which): (…, 3) → (…)."""
    others = [c for c in range(3) if c != which]
    return logits[..., which] - torch.logsumexp(logits[..., others], dim=-1)


def responsibilities(
    scores: Tensor, positive: Tensor, strategy: Strategy, temperature: float = 1.0
) -> Tensor:
    """Return each latent passage's share of its group's loss: (G, L), rows sum to one.

    Args:
        scores: (G, L); detached, since this is the E step.
        positive: (G, L) bool, False for padding. Each row has at least one True.
        strategy: `hard_em`: all on the best; `soft_em`: softmax of scores × temperature.
        temperature: Of soft EM; it rises during training (`temperature_at`).
    """
    soft = strategy == "soft_em"
    scores = scores.detach() * (temperature if soft else 1.0)
    scores = scores.masked_fill(~positive, NEVER)
    if soft:
        return torch.softmax(scores, dim=-1)
    return one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)


def temperature_at(step: int, span: tuple[float, float], n_steps: int) -> float:
    """Soft EM's temperature: linear from span[0] to span[1] at `n_steps`, then constant."""
    share = min(1.0, step / n_steps) if n_steps else 1.0
    return span[0] + (span[1] - span[0]) * share


def ranking_loss(
    positives: Tensor, weights: Tensor, negatives: Tensor, is_negative: Tensor
) -> Tensor:
    """Listwise loss: −Σ wᵢ log softmax(sᵢ | sᵢ and the negatives), (G,).

    Every positive competes with the negatives alone. The other positives of its document are
    neither target nor negative: they are set to −inf, not to 0 as in the released SIDE code, where
    a masked passage kept e⁰ in the denominator and, since scores are negative, most of the mass.

    Args:
        positives: (G, L) scores.
        weights: (G, L), zero for padding.
        negatives: (G, N) scores.
        is_negative: (G, N) bool, False for padding.
    """
    rest = torch.logsumexp(negatives.masked_fill(~is_negative, NEVER), dim=-1, keepdim=True)
    loss = torch.logaddexp(positives, rest.expand_as(positives)) - positives
    return torch.where(weights > 0, weights * loss, torch.zeros_like(loss)).sum(dim=-1)


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
