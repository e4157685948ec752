"""The training loop: seeded, resumable, the same on CPU and GPU.

A step depends on the recipe, the groups and its own number only: batches are planned before the
first, chance is seeded anew at each. So a run that was killed and resumed ends with the same
weights as one that was not.
"""

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from pincite.errors import InputError
from pincite.training import network
from pincite.training.groups import Group
from pincite.training.objective import Objective, Teacher
from pincite.training.recipe import Recipe

STATE = "state.safetensors"  # weights, AdamW's moments and the number of steps done, in one file
LOG = "log.jsonl"
SAVE_EVERY = 300.0  # seconds: what a kill may cost
MAX_NORM = 1.0
_POOL = 40  # batches whose groups are sorted by length together

Progress = Callable[[int, int, float], None]  # steps done, steps in all, mean loss of late
Item = TypeVar("Item")
Asked_contra = TypeVar("Asked_contra", contravariant=True)


class HasLoss(Protocol[Asked_contra]):
    """What is asked of the items of a batch; all chance comes from the generator and torch's."""

    def loss(self, items: Sequence[Asked_contra], step: int, generator: torch.Generator) -> Any: ...  # noqa: D102


class Pace(Protocol):
    """What of a recipe decides the steps."""

    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def learning_rate(self) -> float: ...  # noqa: D102
    @property
    def warmup(self) -> float: ...  # noqa: D102
    @property
    def weight_decay(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Work(Generic[Item]):
    """All that a run goes through: the batches name items, the objective trains the model."""

    items: Sequence[Item]
    batches: Sequence[Sequence[int]]
    objective: HasLoss[Item]
    model: Any
    at_once: int = 0  # items of a batch in memory at once; 0: all


def train(  # noqa: PLR0913 - the parts of a run, each from its own place
    groups: Sequence[Group],
    recipe: Recipe,
    model: Any,
    tokenizer: Any,
    folder: Path,
    teacher: Teacher | None = None,
    progress: Progress | None = None,
    save_every: float = SAVE_EVERY,
) -> None:
    """Train `model` as a verifier, in place; the rest as `descend` has it."""
    network.freeze(model, recipe.frozen_layers, recipe.frozen_embeddings)
    network.set_dropout(model, recipe.dropout)
    pairs = network.Pairs(model, tokenizer, recipe.max_tokens, recipe.precision)
    batches = plan(groups, pairs, recipe)[: recipe.steps or None]
    work = Work(groups, batches, Objective(recipe, pairs, teacher), model)
    descend(work, recipe, folder, progress, save_every)


def descend(
    work: Work[Item],
    recipe: Pace,
    folder: Path,
    progress: Progress | None = None,
    save_every: float = SAVE_EVERY,
) -> None:
    """Train the work's model; `folder` keeps the state, and a state found there is gone on with.

    Ctrl-C saves the state and comes out as KeyboardInterrupt; any other end of the process costs
    what was learnt since the last save.

    Raises:
        InputError: the state in `folder` belongs to another run, or the loss is not finite.
    """
    items, batches, model = work.items, work.batches, work.model
    weights = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), weight_decay=recipe.weight_decay)
    done = first = restore(folder / STATE, weights, optimizer, len(items))
    generator, late, mean, saved = torch.Generator(), 0.0, 0.0, time.monotonic()
    model.train()
    try:
        for step in range(first, len(batches)):
            torch.manual_seed(recipe.seed * 1_000_003 + step)
            generator.manual_seed(recipe.seed * 1_000_003 + step)
            for part in optimizer.param_groups:
                part["lr"] = recipe.learning_rate * rate_at(step, len(batches), recipe.warmup)
            loss = _descent(work, step, generator)
            torch.nn.utils.clip_grad_norm_(weights.values(), MAX_NORM)
            with _no_interrupt():  # half an update must never be saved, nor counted twice
                optimizer.step()
                done = step + 1
            optimizer.zero_grad(set_to_none=True)
            late = 0.98 * late + 0.02 * loss
            mean = late / (1 - 0.98 ** (done - first))  # what a mean of few lacks (as in Adam)
            if progress:
                progress(done, len(batches), mean)
            if time.monotonic() - saved > save_every:
                save(folder, (done, len(items)), mean, weights, optimizer)
                saved = time.monotonic()
    except KeyboardInterrupt:
        save(folder, (done, len(items)), mean, weights, optimizer)
        raise
    if done > first:
        save(folder, (done, len(items)), mean, weights, optimizer)
    model.eval()


def _descent(work: Work[Item], step: int, generator: torch.Generator) -> float:
    """The loss of a step; its gradients are made, part by part, each weighing as many as it holds.

    Raises:
        InputError: the loss is not finite.
    """
    batch, loss = work.batches[step], 0.0
    size = work.at_once or len(batch)
    for start in range(0, len(batch), size):
        part = [work.items[i] for i in batch[start : start + size]]
        of_part = work.objective.loss(part, step, generator) * (len(part) / len(batch))
        if not torch.isfinite(of_part):
            raise InputError(
                f"The loss is {of_part.item()} at step {step}. Lower learning_rate in the recipe "
                "and start a run in another folder."
            )
        of_part.backward()
        loss += of_part.item()
    return loss


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ctrl-C is heard at the end of the block. Other threads than the main one never hear it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt


def rate_at(step: int, n_steps: int, warmup: float) -> float:
    """Share of the learning rate: up linearly over `warmup` of the steps, then down to zero."""
    rising = max(1, int(n_steps * warmup))
    return min((step + 1) / rising, (n_steps - step) / max(1, n_steps - rising))


def plan(groups: Sequence[Group], pairs: network.Pairs, recipe: Recipe) -> list[list[int]]:
    """Batches of group numbers: shuffled, but like lengths together so that little is padded."""
    lengths = pairs.lengths([(g.claim, max(g.passages, key=len)) for g in groups])
    costs = [
        n * (1 + len(g.negatives) + len(g.rivals)) for n, g in zip(lengths, groups, strict=True)
    ]
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


def save(
    folder: Path, counts: tuple[int, int], loss: float, weights: dict[str, Any], optimizer: Any
) -> None:
    """Write the state beside and rename it, and a line of log; `counts`: steps done, groups."""
    tensors = {f"weight {name}": p.detach() for name, p in weights.items()}
    for name, parameter in weights.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key} {name}"] = value
    beside = folder / (STATE + ".part")
    about = {"step": str(counts[0]), "groups": str(counts[1])}
    save_file({k: t.contiguous().cpu() for k, t in tensors.items()}, beside, about)
    beside.replace(folder / STATE)
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"step": counts[0], "loss": round(loss, 4)}) + "\n")


def restore(path: Path, weights: dict[str, Any], optimizer: Any, n_groups: int) -> int:
    """Load what `save` wrote, where there is something; the number of steps done.

    Raises:
        InputError: it cannot be read, or belongs to another network or to other groups.
    """
    if not path.exists():
        return 0
    try:
        with safe_open(path, "pt") as state:
            about = state.metadata() or {}
            tensors = {key: state.get_tensor(key) for key in state.keys()}  # noqa: SIM118
        done, n_known = int(about["step"]), int(about.get("groups", n_groups))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as the state of a run ({error}). Delete it to train anew."
        ) from error
    _require_fit(path, tensors, weights)
    if n_known != n_groups:
        raise InputError(
            f"{path} is of a run over {n_known} groups, these are {n_groups}. Train in another "
            "folder."
        )
    for key, value in tensors.items():
        kind, name = key.split(" ", 1)
        if kind == "weight":
            weights[name].data.copy_(value)
        else:
            on = "cpu" if kind == "step" else weights[name].device
            optimizer.state.setdefault(weights[name], {})[kind] = value.to(on)
    return done


def _require_fit(path: Path, tensors: dict[str, Any], weights: dict[str, Any]) -> None:
    """Every weight is there in its shape, and what is known of it too (`step` has no shape)."""
    expected = {name: tuple(p.shape) for name, p in weights.items()}
    for key, value in tensors.items():
        kind, _, name = key.partition(" ")
        shape = () if kind == "step" else expected.get(name)
        if name not in expected or tuple(value.shape) != shape:
            raise InputError(
                f"{path} holds {key!r} of shape {tuple(value.shape)}, this network's has "
                f"{expected.get(name, 'no such weight')}: it is of another base, or other layers "
                "were frozen. Train in another folder."
            )
    if absent := [name for name in expected if f"weight {name}" not in tensors]:
        raise InputError(
            f"{path} lacks {absent[0]!r}: it is of another base, or other layers were frozen. "
            "Train in another folder."
        )
