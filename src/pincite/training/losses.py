"""The objective: which passage speaks (E step), and what is asked of it (M step).

SIDE (Petroni et al. 2023, Methods, "Training") maximises the likelihood of one positive passage
among negatives, where which of the cited page's passages is the positive is latent. Here the score
is the log-odds of support under a three-way head, and the labels have a loss of their own.

Shapes: G groups, L latent passages (padded), N negatives (padded), 3 classes in order CLASSES.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

CLASSES = ("supported", "refuted", "neutral")
SUPPORTED, REFUTED, NEUTRAL = range(3)
NEVER = float("-inf")
AS_BEFORE = "as_before"  # of a group without a label: the teacher's answer is its whole target


def log_odds(logits: Tensor, which: int = SUPPORTED) -> Tensor:
    """The log-odds log P(which) − log P(not which): (…, 3) → (…)."""
    others = [c for c in range(3) if c != which]
    return logits[..., which] - torch.logsumexp(logits[..., others], dim=-1)


def responsibilities(
    scores: Tensor,
    positive: Tensor,
    strategy: str,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """How much of a group's loss each of its latent passages carries: (G, L), rows sum to one.

    Args:
        scores: (G, L); taken without gradient, this is the E step.
        positive: (G, L) bool, False for padding. Each row has at least one True.
        strategy: `hard_em`: all on the best; `soft_em`: softmax of scores × temperature;
            `first`; `random`: all on one drawn; `uniform`: the same on each.
        temperature: of soft EM; it grows with training (`temperature_at`).
        generator: of the chance of `random`.
    """
    scores = scores.detach()
    masked = scores.masked_fill(~positive, NEVER)
    if strategy == "soft_em":
        return torch.softmax((scores * temperature).masked_fill(~positive, NEVER), dim=-1)
    if strategy == "uniform":
        return positive / positive.sum(dim=-1, keepdim=True)
    if strategy == "hard_em":
        chosen = masked.argmax(dim=-1)
    elif strategy == "first":
        chosen = positive.int().argmax(dim=-1)
    elif strategy == "random":
        chosen = torch.multinomial(positive.float(), 1, generator=generator).squeeze(-1)
    else:
        raise ValueError(f"unknown strategy {strategy!r}")
    return torch.nn.functional.one_hot(chosen, scores.shape[-1]).to(scores.dtype)


def temperature_at(step: int, span: tuple[float, float], n_steps: int) -> float:
    """Soft EM's temperature: linear from span[0] at step 0 to span[1] at `n_steps`, then kept."""
    share = min(1.0, step / n_steps) if n_steps else 1.0
    return span[0] + (span[1] - span[0]) * share


def ranking_loss(
    positives: Tensor, weights: Tensor, negatives: Tensor, is_negative: Tensor
) -> Tensor:
    """Listwise: −Σ wᵢ log softmax(sᵢ | sᵢ and the negatives), (G,).

    Every positive competes with the negatives alone. The other positives of its document are
    neither target nor negative: they stand at −inf, not at 0 as in the released SIDE code, where a
    masked passage kept e⁰ in the denominator and, scores being negative, most of the mass.

    Args:
        positives: (G, L) scores.
        weights: (G, L), zero for padding.
        negatives: (G, N) scores.
        is_negative: (G, N) bool, False for padding.
    """
    rest = torch.logsumexp(negatives.masked_fill(~is_negative, NEVER), dim=-1, keepdim=True)
    loss = torch.logaddexp(positives, rest.expand_as(positives)) - positives
    return torch.where(weights > 0, weights * loss, torch.zeros_like(loss)).sum(dim=-1)


@dataclass(frozen=True, slots=True)
class Targets:
    """What a label asks of the three classes."""

    partial_support: float  # the share of "supported" in the target of a partial row
    class_weights: Sequence[float] = (1.0, 1.0, 1.0)  # of the losses, in the order of CLASSES
    smoothing: float = 0.0  # the share of the target that is spread over all classes


def label_loss(logits: Tensor, labels: list[str], targets: Targets) -> Tensor:
    """−log of what the label allows, weighted by class, (n,).

    `not_support` allows refuted and neutral alike (their sum); `partial` is supported with the
    probability `partial_support` and otherwise neutral: part of the claim stands there and the
    rest is not spoken of, so it ranks between the two and accuses nobody.
    """
    log_p = log_softmax(logits, dim=-1)
    log_not = torch.logsumexp(log_p[:, [REFUTED, NEUTRAL]], dim=-1)
    part = targets.partial_support
    support, refute, neutral = targets.class_weights
    allowed = {
        "support": support * log_p[:, SUPPORTED],
        "refute": refute * log_p[:, REFUTED],
        "nei": neutral * log_p[:, NEUTRAL],
        "not_support": neutral * log_not,
        AS_BEFORE: torch.zeros_like(log_not),
        "partial": support * part * log_p[:, SUPPORTED] + neutral * (1 - part) * log_p[:, NEUTRAL],
    }
    asked = -torch.stack([allowed[label][i] for i, label in enumerate(labels)])
    return (1 - targets.smoothing) * asked - targets.smoothing * log_p.mean(dim=-1)
