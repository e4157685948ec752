"""The training loop: seeded, resumable, the same on CPU and GPU.

A step depends on the recipe, the groups and its own number only: batches are planned before the
first, chance is seeded anew at each. So a run that was killed and resumed ends with the same
weights as one that was not.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from pincite.errors import InputError
from pincite.training import network
from pincite.training.groups import Group
from pincite.training.objective import Objective
from pincite.training.recipe import Recipe

STATE = "state.safetensors"  # weights, AdamW's moments and the number of steps done, in one file
LOG = "log.jsonl"
SAVE_EVERY = 300.0  # seconds: what a kill may cost
MAX_NORM = 1.0
_POOL = 40  # batches whose groups are sorted by length together

Progress = Callable[[int, int, float], None]  # steps done, steps in all, mean loss of late


def train(  # noqa: PLR0913 - the parts of a run, each from its own place
    groups: Sequence[Group],
    recipe: Recipe,
    model: Any,
    tokenizer: Any,
    folder: Path,
    teacher: tuple[Any, Any] | None = None,
    progress: Progress | None = None,
    save_every: float = SAVE_EVERY,
) -> None:
    """Train `model` in place; `folder` keeps the state, and a state found there is gone on with."""
    network.freeze(model, recipe.frozen_layers)
    pairs = network.Pairs(model, tokenizer, recipe.max_tokens)
    taught = network.Pairs(*teacher, recipe.max_tokens) if teacher else None
    objective = Objective(recipe, pairs, taught)
    batches = plan(groups, pairs, recipe)
    weights = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), weight_decay=recipe.weight_decay)
    done = restore(folder / STATE, weights, optimizer)
    generator, late, saved = torch.Generator(), 0.0, time.monotonic()
    model.train()
    try:
        for step in range(done, len(batches)):
            torch.manual_seed(recipe.seed * 1_000_003 + step)
            generator.manual_seed(recipe.seed * 1_000_003 + step)
            for part in optimizer.param_groups:
                part["lr"] = recipe.learning_rate * rate_at(step, len(batches), recipe.warmup)
            loss = objective.loss([groups[i] for i in batches[step]], step, generator)
            if not torch.isfinite(loss):
                raise InputError(f"the loss is {loss.item()} at step {step}: lower learning_rate.")
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights.values(), MAX_NORM)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            done, late = step + 1, 0.98 * late + 0.02 * loss.item()
            mean = late / (1 - 0.98 ** (done if done < 500 else 500))
            if progress:
                progress(done, len(batches), mean)
            if time.monotonic() - saved > save_every:
                save(folder, done, mean, weights, optimizer)
                saved = time.monotonic()
    finally:  # Ctrl-C too: what was learnt stays
        save(folder, done, late, weights, optimizer)
    model.eval()


def rate_at(step: int, n_steps: int, warmup: float) -> float:
    """Share of the learning rate: up linearly over `warmup` of the steps, then down to zero."""
    rising = max(1, int(n_steps * warmup))
    return min((step + 1) / rising, (n_steps - step) / max(1, n_steps - rising))


def plan(groups: Sequence[Group], pairs: network.Pairs, recipe: Recipe) -> list[list[int]]:
    """Batches of group numbers: shuffled, but like lengths together so that little is padded."""
    lengths = pairs.lengths([(g.claim, max(g.passages, key=len)) for g in groups])
    costs = [n * (1 + len(g.negatives) + len(g.rivals)) for n, g in zip(lengths, groups, strict=True)]
    chance = random.Random(recipe.seed)  # noqa: S311 - an order, not a secret
    order = list(range(len(groups)))
    chance.shuffle(order)
    pool = max(1, _POOL * recipe.batch_tokens // max(1, sum(costs) // max(1, len(costs))))
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        batch, cost = list[int](), 0
        for i in sorted(order[start : start + pool], key=lambda i: (lengths[i], i)):
            if batch and cost + costs[i] > recipe.batch_tokens:
                batches.append(batch)
                batch, cost = [], 0
            batch.append(i)
            cost += costs[i]
        batches.append(batch)
    chance.shuffle(batches)
    return batches


def save(folder: Path, done: int, loss: float, weights: dict[str, Any], optimizer: Any) -> None:
    """Write the state beside and rename it, and a line into the log."""
    tensors = {f"weight {name}": p.detach() for name, p in weights.items()}
    for name, parameter in weights.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key} {name}"] = value
    beside = folder / (STATE + ".part")
    save_file({k: t.contiguous().cpu() for k, t in tensors.items()}, beside, {"step": str(done)})
    beside.replace(folder / STATE)
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"step": done, "loss": round(loss, 4)}) + "\n")


def restore(path: Path, weights: dict[str, Any], optimizer: Any) -> int:
    """Load what `save` wrote, where there is something; the number of steps done."""
    if not path.exists():
        return 0
    with safe_open(path, "pt") as state:
        for key in state.keys():  # noqa: SIM118 - no mapping
            kind, name = key.split(" ", 1)
            value = state.get_tensor(key)
            if kind == "weight":
                weights[name].data.copy_(value)
            else:
                on = "cpu" if kind == "step" else weights[name].device
                optimizer.state.setdefault(weights[name], {})[kind] = value.to(on)
        return int(state.metadata()["step"])
