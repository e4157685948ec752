"""`pincite train verifier`: seeded, resumable, the same on CPU and GPU.

A step depends only on the recipe, the groups and its number: batches are planned in advance, and
the random state is reseeded at each step. So a run that was killed and resumed ends with the same
weights as an uninterrupted one.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from pincite import durable
from pincite.errors import InputError
from pincite.models import weights
from pincite.models.session import OnnxEncoder
from pincite_lab.training import groups as grouped
from pincite_lab.training import network
from pincite_lab.training.groups import Group, Tell, Warn
from pincite_lab.training.objective import Objective
from pincite_lab.training.recipe import GROUPS, MODEL, STATE, Recipe, Run, begin_run

LOG = "log.jsonl"
SAVE_EVERY = 300.0  # seconds: the most that a kill costs
MAX_NORM = 1.0
_POOL = 40  # batches whose groups are sorted by length together

Progress = Callable[[int, int, float], None]  # steps done, steps in all, recent mean loss


def train_verifier(run: Run, tell: Tell, warn: Warn, progress: Progress) -> Path:
    """Prepare, train and write the model, resuming where a run stopped; returns its folder.

    Raises:
        ConfigError, InputError: Run, data or saved state do not fit.
        MissingModel: The base, teacher or encoder cannot be found.
    """
    device = begin_run(run)
    model, tokenizer = network.load(run.base)
    teacher = None
    if run.teacher:
        known, its_tokenizer = network.load_trained(run.teacher)
        how = run.recipe.max_tokens, run.recipe.precision
        teacher = network.Pairs(known.to(device), its_tokenizer, *how)
    encoder = None
    if run.dense and not (run.folder / GROUPS).exists():
        encoder = OnnxEncoder(weights.locate(weights.ENCODER), threads=run.threads)
    groups = grouped.prepare_groups(run, encoder, tell, warn)
    train(groups, run.recipe, model.to(device), tokenizer, run.folder, teacher, progress)
    n_own = network.own_rows(Path(run.base))
    network.write_model(model, tokenizer, run.folder / MODEL, n_own)
    return run.folder / MODEL


def train(  # noqa: PLR0913 - the parts of a run, each from its own place
    groups: Sequence[Group],
    recipe: Recipe,
    model: Any,
    tokenizer: Any,
    folder: Path,
    teacher: network.Pairs | None,
    progress: Progress,
) -> None:
    """Train `model` as a verifier, in place; see `descend` for errors."""
    network.freeze(model, recipe.frozen_layers, recipe.frozen_embeddings)
    network.set_dropout(model, recipe.dropout)
    pairs = network.Pairs(model, tokenizer, recipe.max_tokens, recipe.precision)
    batches = plan(groups, pairs, recipe)[: recipe.steps or None]
    work = Work(groups, batches, Objective(recipe, pairs, teacher), model)
    descend(work, recipe, folder, progress)


def plan(groups: Sequence[Group], pairs: network.Pairs, recipe: Recipe) -> list[list[int]]:
    """Plan batches of group indices: shuffled, with similar lengths together to save padding."""
    lengths = pairs.lengths([(g.claim, max(g.passages, key=len)) for g in groups])
    costs = [n * (1 + len(g.negatives + g.rivals)) for n, g in zip(lengths, groups, strict=True)]
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


@dataclass(frozen=True, slots=True)
class Work:
    """The batches of a run, lists of group indices, and the objective that trains the model."""

    groups: Sequence[Group]
    batches: Sequence[Sequence[int]]
    objective: Objective
    model: Any


def descend(
    work: Work,
    recipe: Recipe,
    folder: Path,
    progress: Progress,
    save_every: float = SAVE_EVERY,
) -> None:
    """Train the model, resuming from the state in `folder` and saving it there.

    Ctrl-C saves the state and raises KeyboardInterrupt; a kill loses the steps since the last save.

    Raises:
        InputError: The state in `folder` belongs to another run, or the loss is not finite.
    """
    groups, batches, model = work.groups, work.batches, work.model
    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(parameters.values(), weight_decay=recipe.weight_decay)
    done = first = restore(folder / STATE, parameters, optimizer)
    late, mean, saved = 0.0, 0.0, time.monotonic()
    model.train()
    try:
        for step in range(first, len(batches)):
            torch.manual_seed(recipe.seed * 1_000_003 + step)
            for part in optimizer.param_groups:
                part["lr"] = recipe.learning_rate * rate_at(step, len(batches), recipe.warmup)
            loss = work.objective.loss([groups[i] for i in batches[step]])
            if not torch.isfinite(loss):
                raise InputError(
                    f"The loss is {loss.item()} at step {step}. Lower learning_rate in the recipe "
                    "and start a run in another folder."
                )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters.values(), MAX_NORM)
            with durable.without_interrupt():  # half an update must not be saved, nor counted twice
                optimizer.step()
                done = step + 1
            optimizer.zero_grad(set_to_none=True)
            late = 0.98 * late + 0.02 * loss.item()
            mean = late / (1 - 0.98 ** (done - first))  # bias correction, as in Adam
            progress(done, len(batches), mean)
            if time.monotonic() - saved > save_every:
                save(folder, done, mean, parameters, optimizer)
                saved = time.monotonic()
    except KeyboardInterrupt:
        save(folder, done, mean, parameters, optimizer)
        raise
    if done > first:
        save(folder, done, mean, parameters, optimizer)
    model.eval()


def rate_at(step: int, n_steps: int, warmup: float) -> float:
    """Return the share of the learning rate: linear warm-up, then linear decay to zero."""
    rising = max(1, int(n_steps * warmup))
    return min((step + 1) / rising, (n_steps - step) / max(1, n_steps - rising))


def save(folder: Path, done: int, loss: float, parameters: dict[str, Any], optimizer: Any) -> None:
    """Write the weights, AdamW's moments, the number of steps done and a log line."""
    tensors = {f"weight {name}": p.detach() for name, p in parameters.items()}
    for name, parameter in parameters.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key} {name}"] = value
    with durable.replacing(folder / STATE) as part:
        save_file({k: t.contiguous().cpu() for k, t in tensors.items()}, part, {"step": str(done)})
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"step": done, "loss": round(loss, 4)}) + "\n")


def restore(path: Path, parameters: dict[str, Any], optimizer: Any) -> int:
    """Load what `save` wrote, if anything; returns the number of steps done.

    Raises:
        InputError: It cannot be read, or belongs to another network.
    """
    if not path.exists():
        return 0
    try:
        with safe_open(path, "pt") as state:
            done = int((state.metadata() or {})["step"])
            tensors = {key: state.get_tensor(key) for key in state.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as the state of a run ({error}). Delete it to start over."
        ) from error
    expected = {f"weight {name}": tuple(p.shape) for name, p in parameters.items()}
    saved = {k: tuple(t.shape) for k, t in tensors.items() if k.startswith("weight ")}
    if differing := [key for key in {**saved, **expected} if saved.get(key) != expected.get(key)]:
        raise InputError(
            f"{path} does not fit this network, first at {differing[0]!r}: it has another base, "
            "or other layers were frozen. Train in another folder."
        )
    for key, value in tensors.items():
        kind, name = key.split(" ", 1)
        if kind == "weight":
            parameters[name].data.copy_(value)
        else:
            on = "cpu" if kind == "step" else parameters[name].device
            optimizer.state.setdefault(parameters[name], {})[kind] = value.to(on)
    return done
