"""A run that teaches a causal language model to answer from abstracts, with references.

Verif.ai (§II-B): LoRA over rows of a question, the abstracts that were found for it, and an answer
that cites them; the loss counts the answer's tokens only. `ask` then verifies what it writes.
"""

import inspect
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pincite.errors import ConfigError, InputError
from pincite.llm.templates import Templates
from pincite.models import weights
from pincite.training import loop, prepare
from pincite.training.answerer import adapters
from pincite.training.answerer.answer_card import KIND, readme
from pincite.training.answerer.lessons import Lesson, Sieve, read_rows
from pincite.training.answerer.turns import IGNORED, Turns
from pincite.training.groups import write_groups
from pincite.training.recipe import AnswererRecipe
from pincite.training.run import MODEL, Run, begun

COUNTS = "counts.json"
CARD = "pincite.json"
TOLD_EVERY = 100  # rows between two words of progress

Tell = Callable[[str, int, int | None], None]


@dataclass(slots=True)
class Told:
    """Who hears of progress and of what is skipped, until it is too much."""

    tell: Tell
    warn: Callable[[str], None]
    max_bad: int
    n_bad: int = 0

    def bad(self, error: InputError) -> None:
        """Warn of a line or file that is skipped.

        Raises:
            InputError: there were more than `max_bad`.
        """
        self.n_bad += 1
        if self.n_bad > self.max_bad:
            raise InputError(
                f"More than {self.max_bad} lines or files cannot be used; the last: {error} Mend "
                "them, or raise --max-bad-rows."
            ) from error
        self.warn(f"skipped: {error}")


def train_answerer(
    run: Run[AnswererRecipe], tell: Tell, warn: prepare.Warn, progress: loop.Progress
) -> Path:
    """Prepare, train and write the adapter, or what of it is still to do; its folder.

    Raises:
        ConfigError: the folder holds another run, there is no such device, or no such layer.
        InputError: the data cannot be used, or the state does not fit.
        MissingExtra: 4 bits are wanted, and bitsandbytes is not installed.
        MissingModel: base is nowhere, or is not causal.
    """
    device, recipe = begun(run), run.recipe
    model, tokenizer = adapters.load_base(run.base, recipe.precision, device)
    _require_fit(model, recipe)
    turns = Turns.of(tokenizer)
    if turns.merged:
        warn("The base's chat template takes no system message; it is put before the user's.")
    lessons = prepared(run, turns, Told(tell, warn, run.max_bad))
    adapted = adapters.attached(model, recipe)
    if recipe.precision not in adapters.FOUR_BITS:  # those lie where they were loaded
        adapted.to(device)
    objective = AnswerObjective(turns, adapted)
    work = loop.Work(lessons, plan(len(lessons), recipe), objective, adapted, recipe.rows_at_once)
    loop.descend(work, recipe, run.folder, progress)
    write(run, adapted, tokenizer)
    return run.folder / MODEL


def prepared(run: Run[AnswererRecipe], turns: Turns, told: Told) -> list[Lesson]:
    """The lessons in the run's folder, or new ones from its data, which are then kept there.

    Raises:
        InputError: the data cannot be read, or holds no lesson.
    """
    kept, recipe = run.folder / prepare.GROUPS, run.recipe
    if kept.exists():
        with kept.open(encoding="utf-8") as lines:
            return [Lesson(**json.loads(line)) for line in lines]
    folder = Path(recipe.prompts).expanduser() if recipe.prompts else None
    templates = Templates.load(recipe.prompt_language, recipe.language, folder)
    sieve = Sieve(templates, turns.n_tokens, recipe.max_tokens, recipe.seed, turns.control)
    for path in _files(run.data):
        for row in read_rows(path, told.bad):
            sieve.add(row)
            if sieve.n_rows % TOLD_EVERY == 0:
                told.tell("reading rows", sieve.n_rows, None)
    lessons = list(sieve.kept)
    random.Random(f"{recipe.seed} rows").shuffle(lessons)  # noqa: S311 - a sample, not a secret
    lessons = lessons[: recipe.rows or None]
    _tell(sieve, len(lessons), told.warn)
    if not lessons:
        raise InputError(f"{run.data} has no row that can be learnt from; see what was left out.")
    counts = {**_counts(sieve, told.n_bad), "learnt_from": len(lessons)}
    about = {"data": run.data.name, "prompts": templates.fingerprint, "rows": counts}
    (run.folder / COUNTS).write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    write_groups(kept, lessons)
    return lessons


def _files(data: Path) -> list[Path]:
    if data.is_file():
        return [data]
    found = [p for p in sorted(data.glob("*.jsonl*")) if p.suffix in (".jsonl", ".gz")]
    if not found:
        raise InputError(f"{data} is no file, and no folder of .jsonl or .jsonl.gz files.")
    return found


def _tell(sieve: Sieve, n_kept: int, warn: prepare.Warn) -> None:
    warn(f"{n_kept} of {sieve.n_rows} rows are learnt from.")
    for why, count in sorted(sieve.dropped.items()):
        warn(f"left out: {count} {why}")
    if sieve.n_cut:
        warn(
            f"cut to max_tokens: {sieve.n_abstracts_cut} abstracts of {sieve.n_cut} rows, none of "
            "them cited"
        )
    if sieve.n_without_reference:
        warn(f"{sieve.n_without_reference} answers have no reference; they are learnt as they are.")


def _counts(sieve: Sieve, n_unreadable: int) -> dict[str, Any]:
    return {
        "read": sieve.n_rows,
        "unreadable": n_unreadable,
        "left_out": dict(sorted(sieve.dropped.items())),
        "with_abstracts_cut": sieve.n_cut,
        "abstracts_cut": sieve.n_abstracts_cut,
        "without_reference": sieve.n_without_reference,
    }


def plan(n_lessons: int, recipe: AnswererRecipe) -> list[list[int]]:
    """Batches of lesson numbers: each visit shuffled anew."""
    chance, size = random.Random(recipe.seed), recipe.batch_rows  # noqa: S311 - an order
    batches: list[list[int]] = []
    for _ in range(recipe.visits):
        order = list(range(n_lessons))
        chance.shuffle(order)
        batches += [order[at : at + size] for at in range(0, n_lessons, size)]
    return batches[: recipe.steps or None]


class AnswerObjective:
    """Cross-entropy of the answers' tokens; every answer weighs the same, long or short."""

    def __init__(self, turns: Turns, model: Any) -> None:
        self._turns, self._model = turns, model
        known = inspect.signature(model.get_base_model().forward).parameters
        self._can_keep = "logits_to_keep" in known
        pad, end = turns.tokenizer.pad_token_id, turns.tokenizer.eos_token_id
        self._padding = int(end if pad is None else pad)

    def loss(self, lessons: Sequence[Lesson], step: int, generator: torch.Generator) -> Tensor:
        """A scalar: the mean over the answers of the mean over each one's tokens."""
        pieces = [self._turns.pieces(lesson) for lesson in lessons]
        lengths = [len(asked) + len(said) for asked, said in pieces]
        longest, kept = max(lengths), max(lengths) - min(len(asked) for asked, _ in pieces) + 1
        ids, mask, labels = [], [], []
        for (asked, said), length in zip(pieces, lengths, strict=True):
            fill = longest - length
            ids.append([*asked, *said, *[self._padding] * fill])
            mask.append([1] * length + [0] * fill)
            labels.append([IGNORED] * len(asked) + said + [IGNORED] * fill)
        # What the model thinks of the prompt is not asked for: a large vocabulary's scores at
        # thousands of places would need more memory than the layers.
        keep = {"logits_to_keep": kept} if self._can_keep else {}
        device = next(self._model.parameters()).device
        given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
        given = {name: value.to(device) for name, value in given.items()}
        logits = self._model(**given, use_cache=False, **keep).logits[:, -kept:-1].float()
        targets = torch.tensor(labels, device=device)[:, longest - kept + 1 :]
        losses = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none"
        )  # (rows, kept - 1), 0 where ignored
        loss: Tensor = (losses.sum(1) / (targets != IGNORED).sum(1)).mean()
        return loss


def write(run: Run[AnswererRecipe], model: Any, tokenizer: Any) -> None:
    """The adapter with the tokenizer and both cards in the run's `model`, whole or not at all."""
    folder = run.folder / MODEL
    beside = folder.with_name(folder.name + ".part")
    shutil.rmtree(beside, ignore_errors=True)
    adapters.write(model, beside)
    tokenizer.save_pretrained(beside)
    about = json.loads((run.folder / COUNTS).read_text(encoding="utf-8"))
    recipe = {key: value for key, value in asdict(run.recipe).items() if key != "prompts"}
    _write_cards(beside, {"kind": KIND, "base": run.base, **about, "recipe": recipe})
    shutil.rmtree(folder, ignore_errors=True)
    beside.replace(folder)


def export(
    trained: Path, out: Path, *, source: str, licence: str, merge: bool, floats: bool
) -> None:
    """Write the adapter, or with `merge` the whole model with it worked in, into `out`.

    Raises:
        MissingModel: `trained` holds no adapter, or its base cannot be loaded.
    """
    card = weights.read_card(trained) | {"source": source, "licence": licence, "merged": merge}
    out.mkdir(parents=True, exist_ok=True)
    if merge:
        model, _ = adapters.merged(trained, card["base"], "float32" if floats else "auto")
        model.save_pretrained(out)
    for path in trained.iterdir():
        if not (merge and path.name.startswith("adapter_")):
            shutil.copyfile(path, out / path.name)  # with merge: the tokenizer and its template
    _write_cards(out, card)


def _write_cards(folder: Path, card: dict[str, Any]) -> None:
    text = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    (folder / CARD).write_text(text, "utf-8")
    (folder / "README.md").write_text(readme(card), "utf-8")


def _require_fit(model: Any, recipe: AnswererRecipe) -> None:
    places = getattr(model.config, "max_position_embeddings", None)
    if places and recipe.max_tokens > places:
        raise ConfigError(
            f"max_tokens is {recipe.max_tokens}; this network has {places} places. Lower it in the "
            "recipe."
        )
