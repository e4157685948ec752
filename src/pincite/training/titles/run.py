"""A run that trains a model to guess titles: from articles to a folder that `verify` writes with.

GAR (Mao et al. 2021) with SIDE's target (Petroni et al. 2023, Methods): the context of a citation
in, the title of the cited page out, by any sequence-to-sequence or causal language model.
"""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pincite.errors import ConfigError
from pincite.models.titles import KIND, Reading, load, padded
from pincite.training import loop, prepare
from pincite.training.groups import write_groups
from pincite.training.recipe import TitlesRecipe
from pincite.training.run import MODEL, Run, begun
from pincite.training.titles.pairs import Tell, TitlePair, Told, kept_pairs, read_pairs

_POOL = 40  # batches whose pairs are sorted by length together
_IGNORED = -100  # of torch's cross-entropy: no loss there


def train_titles(
    run: Run[TitlesRecipe], tell: Tell, warn: prepare.Warn, progress: loop.Progress
) -> Path:
    """Prepare, train and write the model, or what of it is still to do; the model's folder.

    Raises:
        ConfigError: the folder holds another run, or there is no such device.
        InputError: the data cannot be used, or the state does not fit.
        MissingModel: base is nowhere, or cannot write.
    """
    device = begun(run)
    model, tokenizer, form = load(run.base)
    recipe = run.recipe
    reading = Reading(tokenizer, form, recipe.max_context_tokens, recipe.max_title_tokens)
    _require_fit(model, recipe)
    pairs = prepared(run, reading, Told(tell, warn, run.max_bad))
    batches = plan(pairs, recipe)
    work = loop.Work(pairs, batches, TitleObjective(reading, model.to(device)), model)
    loop.descend(work, recipe, run.folder, progress)
    write(model, reading, run.folder / MODEL)
    return run.folder / MODEL


def prepared(run: Run[TitlesRecipe], reading: Reading, told: Told) -> list[TitlePair]:
    """The pairs in the run's folder, or new ones from its data, which are then kept there.

    Raises:
        InputError: the data cannot be read, or holds no pair.
    """
    kept = run.folder / prepare.GROUPS
    if kept.exists():
        return kept_pairs(kept)
    most = run.recipe.max_title_tokens
    sieve = read_pairs(run.data, run.recipe, lambda title: len(reading.title(title)) <= most, told)
    told.warn(f"{len(sieve.kept)} of {sieve.n_good} pairs are learnt from.")
    for why, count in sorted(sieve.dropped.items()):
        told.warn(f"left out: {count} {why}")
    write_groups(kept, sieve.kept)
    return sieve.kept


def plan(pairs: Sequence[TitlePair], recipe: TitlesRecipe) -> list[list[int]]:
    """Batches of pair numbers: each visit shuffled anew, like lengths together."""
    chance, size = random.Random(recipe.seed), recipe.batch_pairs  # noqa: S311 - an order
    batches: list[list[int]] = []
    for _ in range(recipe.visits):
        order = list(range(len(pairs)))
        chance.shuffle(order)
        of_visit = []
        for start in range(0, len(order), size * _POOL):
            pool = sorted(order[start : start + size * _POOL], key=lambda i: len(pairs[i].context))
            of_visit += [pool[at : at + size] for at in range(0, len(pool), size)]
        chance.shuffle(of_visit)
        batches += of_visit
    return batches[: recipe.steps or None]


class TitleObjective:
    """Cross-entropy of the titles' tokens; a causal model is not asked for the context's."""

    def __init__(self, reading: Reading, model: Any) -> None:
        self._reading, self._model = reading, model

    def loss(self, pairs: Sequence[TitlePair], step: int, generator: torch.Generator) -> Tensor:
        """A scalar: the mean over all titles' tokens of the batch."""
        contexts = [self._reading.context(pair.context) for pair in pairs]
        titles = [self._reading.title(pair.title) for pair in pairs]
        if self._reading.form == "causal":
            rows = [context + title for context, title in zip(contexts, titles, strict=True)]
            titles = [
                [_IGNORED] * len(context) + title
                for context, title in zip(contexts, titles, strict=True)
            ]
        else:
            rows = contexts
        longest = max(map(len, titles))
        labels = torch.tensor([title + [_IGNORED] * (longest - len(title)) for title in titles])
        inputs = {**padded(rows, self._reading), "labels": labels}
        device = next(self._model.parameters()).device
        loss: Tensor = self._model(
            **{name: value.to(device) for name, value in inputs.items()}
        ).loss
        return loss


def write(model: Any, reading: Reading, folder: Path) -> None:
    """A Hugging Face folder (config, safetensors, tokenizer) with its card, whole or not at all."""
    beside = folder.with_name(folder.name + ".part")
    shutil.rmtree(beside, ignore_errors=True)
    model.cpu().save_pretrained(beside)
    reading.tokenizer.save_pretrained(beside)
    card = {
        "kind": KIND,
        "form": reading.form,
        "max_context_tokens": reading.max_context_tokens,
        "max_title_tokens": reading.max_title_tokens,
    }
    (beside / "pincite.json").write_text(json.dumps(card, indent=1) + "\n", "utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    beside.replace(folder)


def _require_fit(model: Any, recipe: TitlesRecipe) -> None:
    """The network has places for what it is to read; T5 counts distances and has no such table."""
    places = getattr(model.config, "max_position_embeddings", None)
    causal = 0 if model.config.is_encoder_decoder else recipe.max_title_tokens
    wanted = recipe.max_context_tokens + causal
    if places and wanted > places:
        raise ConfigError(
            f"max_context_tokens (and of a causal model max_title_tokens) need {wanted} places; "
            f"this network has {places}."
        )
