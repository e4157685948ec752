"""One step's loss of an encoder: each claim's passage against all others that its batch shows.

DPR (Karpukhin et al. 2020, §3.2): listwise, with the batch's other passages and the retrieved ones
as negatives. Which passage of the right document is the target is latent (SIDE, Petroni et al.
2023, Methods); the others of that document are neither target nor negative, in whichever row of
the batch they stand.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from pincite.retrieval import queries
from pincite.training import losses
from pincite.training.encoder.searches import Found, Search
from pincite.training.encoder.towers import Towers
from pincite.training.objective import padded
from pincite.training.recipe import QUERIES, EncoderRecipe
from pincite.types import Claim

_ENDS = 2  # tokens that a tokenizer puts around a text


@dataclass(slots=True)
class Shown:
    """The passages of a step, each once, and where those of each search stand among them."""

    columns: dict[Found, int] = field(default_factory=dict)
    targets: list[list[tuple[int, float]]] = field(default_factory=list)  # columns and shares
    candidates: list[list[int]] = field(default_factory=list)  # columns in the order of scores

    def show(self, document: str, passage: str) -> int:
        """The passage's column, a new one where it has none."""
        return self.columns.setdefault((document, passage), len(self.columns))


def shown(searches: Sequence[Search], shares: Sequence[Sequence[float]]) -> Shown:
    """What a step encodes: passages with a share of a loss or with a teacher's score, negatives."""
    found = Shown()
    for search, parts in zip(searches, shares, strict=True):
        own = [
            (found.show(search.documents[0], passage), part)
            for passage, part in zip(search.passages, parts, strict=True)
            if part > 0 or search.scores
        ]
        found.targets.append(own)
        others = [found.show(*negative) for negative in search.negatives]
        found.candidates.append([column for column, _ in own] + others)
    return found


def are_negative(searches: Sequence[Search], columns: Sequence[Found]) -> Tensor:
    """(searches, columns) bool: not of a document that somebody laid beside the claim.

    Nor of the same words: two pages may quote one text.
    """
    return torch.tensor(
        [
            [key not in s.documents and text not in s.passages for key, text in columns]
            for s in searches
        ]
    )


class SearchObjective:
    """Loss of a batch of searches under a recipe; a teacher's ranking is a target too."""

    def __init__(self, recipe: EncoderRecipe, towers: Towers) -> None:
        self._recipe, self._towers = recipe, towers

    def loss(self, searches: Sequence[Search], step: int, generator: torch.Generator) -> Tensor:
        """A scalar: the mean over searches."""
        recipe = self._recipe
        asked = [self.query(search.claim, generator) for search in searches]
        found = shown(searches, self._e_step(searches, asked, step, generator))
        texts = [text for _, text in found.columns]
        passages = self._towers.vectors(texts, "passage", recipe.max_passage_tokens)
        claims = self._towers.vectors(asked, "query", recipe.max_query_tokens)
        scores = claims @ passages.T / recipe.score_temperature
        negative = are_negative(searches, list(found.columns)).to(scores.device)
        total = _listwise(scores, found, negative)
        taught = torch.tensor([bool(s.scores) for s in searches], device=scores.device)
        if taught.any():
            share = recipe.distillation * taught
            total = (1 - share) * total + share * _imitation(scores, found, searches)
        return (torch.tensor([s.weight for s in searches], device=scores.device) * total).mean()

    def query(self, claim: Claim, generator: torch.Generator) -> str:
        """What the encoder reads of a claim, fields hidden by chance; two draws a claim."""
        recipe, mask = self._recipe, self._towers.mask or ""
        title, section = torch.rand(2, generator=generator).tolist()
        if claim.title and title < recipe.title_dropout:
            claim = replace(claim, title=mask)
        if claim.section and section < recipe.section_dropout:
            claim = replace(claim, section=(mask,))
        if recipe.query == QUERIES[0]:
            return queries.dense_query(claim)
        marks = _ENDS + 2 * len(self._towers.starts(queries.SEPARATOR))
        length = max(1, recipe.max_query_tokens - marks)
        variant = queries.VARIANTS[recipe.query]
        return queries.context_query(claim, variant, length, self._towers.starts)

    def _e_step(
        self,
        searches: Sequence[Search],
        asked: Sequence[str],
        step: int,
        generator: torch.Generator,
    ) -> list[list[float]]:
        """For each search the shares of its passages."""
        recipe = self._recipe
        latent = [n for n, search in enumerate(searches) if len(search.passages) > 1]
        shares = [[1.0] for _ in searches]
        if not latent:
            return shares
        rows = [list(searches[n].passages) for n in latent]
        width = max(map(len, rows))
        positive = torch.tensor([[i < len(row) for i in range(width)] for row in rows])
        scores = torch.zeros(len(rows), width)
        if recipe.strategy in ("hard_em", "soft_em"):
            scores[positive] = self._own_scores([asked[n] for n in latent], rows)
        temperature = losses.temperature_at(step, recipe.temperature, recipe.temperature_steps)
        found = losses.responsibilities(scores, positive, recipe.strategy, temperature, generator)
        for n, row, parts in zip(latent, rows, found.tolist(), strict=True):
            shares[n] = parts[: len(row)]
        return shares

    def _own_scores(self, asked: Sequence[str], rows: Sequence[Sequence[str]]) -> Tensor:
        """Each query with its own passages, one row after the other."""
        texts = [text for row in rows for text in row]
        passages = self._towers.judged(texts, "passage", self._recipe.max_passage_tokens)
        claims = self._towers.judged(asked, "query", self._recipe.max_query_tokens)
        of = torch.tensor([n for n, row in enumerate(rows) for _ in row], device=claims.device)
        return ((claims[of] * passages).sum(dim=-1) / self._recipe.score_temperature).cpu()


def _listwise(scores: Tensor, found: Shown, negative: Tensor) -> Tensor:
    columns, shares, _ = padded([[c for c, _ in own] for own in found.targets], scores.device,
                                [[part for _, part in own] for own in found.targets])  # fmt: skip
    return losses.ranking_loss(scores.gather(1, columns), shares, scores, negative)


def _imitation(scores: Tensor, found: Shown, searches: Sequence[Search]) -> Tensor:
    """KL of the encoder's softmax from the teacher's, over each search's own candidates."""
    columns, _, there = padded(found.candidates, scores.device)
    width = columns.shape[1]
    given = [[*s.scores, *[0.0] * (width - len(s.scores))][:width] for s in searches]
    wanted = torch.tensor(given, device=scores.device).masked_fill(~there, losses.NEVER)
    log_p = torch.log_softmax(scores.gather(1, columns).masked_fill(~there, losses.NEVER), dim=-1)
    target = torch.log_softmax(wanted, dim=-1)
    parts = torch.where(there, target.exp() * (target - log_p), torch.zeros_like(log_p))
    return parts.sum(dim=-1)
