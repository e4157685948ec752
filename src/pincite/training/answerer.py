"""`pincite train answerer`: a causal language model that answers from abstracts, with references.

Verif.ai (§II-B): LoRA (Hu et al. 2021; in 4 bits Dettmers et al. 2023) by `peft`, trained by `trl`
on rows of a question, the abstracts that were found for it, and an answer that cites them; the loss
counts the answer's tokens only. The prompt is the one that `ask` asks with (`answer_question.txt`).
"""

import json
import random
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from pincite.errors import ConfigError, InputError, MissingExtra, MissingModel
from pincite.llm.templates import Templates
from pincite.models import weights
from pincite.training import loop, prepare
from pincite.training.answer_rows import Lesson, Sieve, read_rows
from pincite.training.encoder import CHECKPOINTS, progress_callback, trainer_arguments
from pincite.training.recipe import AnswererRecipe
from pincite.training.run import MODEL, Run, begun

KIND = "answerer"  # in the card
LESSONS = "lessons.jsonl"
COUNTS = "counts.json"
CARD = "pincite.json"
TOLD_EVERY = 100  # rows between two words of progress
ALL = ("all-linear",)
FOUR_BITS = ("nf4", "fp4")
WEIGHTS = "adapter_model.safetensors"
# The chat template of a base without one. It is written beside the weights and so goes with them.
PLAIN = (
    "{{ bos_token }}{% for m in messages %}{{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ eos_token }}{% else %}\n\n{% endif %}{% endfor %}"
)

Tell = Callable[[str, int, int | None], None]


def train_answerer(
    run: Run[AnswererRecipe], tell: Tell, warn: prepare.Warn, progress: loop.Progress
) -> Path:
    """Prepare, train and write the adapter, or what of it is still to do; its folder.

    Raises:
        ConfigError: the folder holds another run, there is no such device, or no such layer.
        InputError: the data cannot be used.
        MissingExtra: 4 bits are wanted, and bitsandbytes is not installed.
        MissingModel: base is nowhere, or is not causal.
    """
    device, recipe = begun(run), run.recipe
    model, tokenizer = load_base(run.base, recipe.precision, device)
    _require_fit(model, recipe)
    takes_system = _laid_out(tokenizer)
    if not takes_system:
        warn("The base's chat template takes no system message; it is put before the user's.")
    lessons = prepared(run, tokenizer, takes_system, tell, warn)

    from datasets import Dataset
    from peft import LoraConfig
    from transformers.trainer_utils import get_last_checkpoint
    from trl import SFTConfig, SFTTrainer

    checkpoints = run.folder / CHECKPOINTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of layouts that peft sees to itself, and of deprecations
        trainer = SFTTrainer(
            model=model,
            args=SFTConfig(
                output_dir=str(checkpoints),
                per_device_train_batch_size=recipe.rows_at_once,
                gradient_accumulation_steps=max(1, recipe.batch_rows // recipe.rows_at_once),
                max_steps=recipe.steps or -1,
                num_train_epochs=recipe.visits,
                max_length=recipe.max_tokens,
                gradient_checkpointing=recipe.checkpointing,
                bf16=False,
                **trainer_arguments(recipe, device),
            ),
            train_dataset=Dataset.from_list([_turns(each, takes_system) for each in lessons]),
            processing_class=tokenizer,
            peft_config=LoraConfig(
                task_type="CAUSAL_LM",
                r=recipe.rank,
                lora_alpha=recipe.alpha,
                lora_dropout=recipe.dropout,
                target_modules="all-linear" if recipe.modules == ALL else list(recipe.modules),
            ),
            callbacks=[progress_callback(progress)],
        )
        last = get_last_checkpoint(str(checkpoints)) if checkpoints.is_dir() else None
        trainer.train(resume_from_checkpoint=last)
    _write(run, trainer.model, tokenizer)
    return run.folder / MODEL


def _laid_out(tokenizer: Any) -> bool:
    """Give a tokenizer without a chat template the plain one; whether its template takes a system.

    Some templates refuse a system message, others leave it out.
    """
    if not tokenizer.chat_template:
        tokenizer.chat_template = PLAIN
    messages = [{"role": "system", "content": "HEARD"}, {"role": "user", "content": "Yes?"}]
    try:
        return "HEARD" in tokenizer.apply_chat_template(messages, tokenize=False)
    except Exception:  # whatever the template's own code raises
        return False


def _turns(lesson: Lesson, takes_system: bool) -> dict[str, list[dict[str, str]]]:
    """A lesson as `trl` takes it: the prompt's messages, and the reply to learn."""
    prompt = [{"role": "user", "content": f"{lesson.system}\n\n{lesson.user}"}]
    if takes_system:
        prompt = [
            {"role": "system", "content": lesson.system},
            {"role": "user", "content": lesson.user},
        ]
    return {"prompt": prompt, "completion": [{"role": "assistant", "content": lesson.answer}]}


def prepared(
    run: Run[AnswererRecipe], tokenizer: Any, takes_system: bool, tell: Tell, warn: prepare.Warn
) -> list[Lesson]:
    """The lessons in the run's folder, or new ones from its data, which are then kept there.

    Raises:
        InputError: the data cannot be read, holds too many bad lines, or no lesson.
    """
    kept, recipe = run.folder / LESSONS, run.recipe
    if kept.exists():
        with kept.open(encoding="utf-8") as lines:
            return [Lesson(**json.loads(line)) for line in lines]

    def n_tokens(lesson: Lesson) -> int:
        messages = [each for turn in _turns(lesson, takes_system).values() for each in turn]
        laid = tokenizer.apply_chat_template(messages, tokenize=False)
        return len(tokenizer(laid, add_special_tokens=False)["input_ids"])

    bad: list[InputError] = []

    def skip(error: InputError) -> None:
        bad.append(error)
        if len(bad) > run.max_bad:
            raise InputError(
                f"More than {run.max_bad} lines or files cannot be used; the last: {error} Mend "
                "them, or raise --max-bad-rows."
            ) from error
        warn(f"skipped: {error}")

    folder = Path(recipe.prompts).expanduser() if recipe.prompts else None
    templates = Templates.load(recipe.prompt_language, recipe.language, folder)
    sieve = Sieve(templates, n_tokens, recipe.max_tokens, recipe.seed, _control(tokenizer))
    for path in _files(run.data):
        for row in read_rows(path, skip):
            sieve.add(row)
            if sieve.n_rows % TOLD_EVERY == 0:
                tell("reading rows", sieve.n_rows, None)
    lessons = list(sieve.kept)
    random.Random(f"{recipe.seed} rows").shuffle(lessons)  # noqa: S311 - a sample, not a secret
    lessons = lessons[: recipe.rows or None]
    _tell(sieve, len(lessons), warn)
    if not lessons:
        raise InputError(f"{run.data} has no row that can be learnt from; see what was left out.")
    counts = {**_counts(sieve, len(bad)), "learnt_from": len(lessons)}
    about = {"data": run.data.name, "prompts": templates.fingerprint, "rows": counts}
    (run.folder / COUNTS).write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    beside = kept.with_suffix(".part")
    text = "".join(json.dumps(asdict(lesson)) + "\n" for lesson in lessons)
    beside.write_text(text, encoding="utf-8")
    beside.replace(kept)
    return lessons


def _control(tokenizer: Any) -> frozenset[str]:
    """The tokens that are no text; one in a page would forge a turn."""
    added = tokenizer.added_tokens_decoder.values()
    special = {token.content for token in added if token.special}
    return frozenset(special | set(tokenizer.all_special_tokens))


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


def load_base(base: str, precision: str, device: str = "cpu") -> tuple[Any, Any]:
    """The causal model on its device, and its tokenizer.

    Args:
        base: a folder or id of Hugging Face, with weights as safetensors.
        precision: one of `recipe.PRECISIONS`, or auto: as its weights are stored.
        device: cpu or cuda.

    Raises:
        MissingExtra: 4 bits are wanted, and bitsandbytes is not installed.
        MissingModel: there is no such model, it is not causal, or no token ends its texts.
    """
    if precision in FOUR_BITS and find_spec("bitsandbytes") is None:
        raise MissingExtra(
            f"precision {precision!r} (--qlora) needs bitsandbytes: pip install "
            "'pincite[train,qlora]'. Without it, float32 and bfloat16 work."
        )
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(base)
        model = AutoModelForCausalLM.from_pretrained(
            base, config=config, use_safetensors=True, **_stored(precision, device)
        )
        tokenizer = AutoTokenizer.from_pretrained(base)
    except Exception as error:  # transformers raises what its parts raise
        raise MissingModel(
            f"{base} cannot be loaded as a causal Hugging Face model: {error}"
        ) from error
    _require_sense(base, config, tokenizer)
    return (model if precision in FOUR_BITS else model.to(device)), tokenizer


def _stored(precision: str, device: str) -> dict[str, Any]:
    """How the base's weights lie in memory."""
    if precision not in FOUR_BITS:
        return {"dtype": "auto" if precision == "auto" else getattr(torch, precision)}
    from transformers import BitsAndBytesConfig

    computed = torch.bfloat16 if device == "cuda" else torch.float32
    in_bits = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type=precision,
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=computed,
    )
    return {"dtype": computed, "quantization_config": in_bits, "device_map": {"": device}}


def _require_sense(base: str, config: Any, tokenizer: Any) -> None:
    if config.is_encoder_decoder:
        raise MissingModel(f"{base} is an encoder with a decoder; expected a causal model.")
    if tokenizer.eos_token_id is None:
        raise MissingModel(
            f"The tokenizer of {base} names no eos_token; expected one that ends a text."
        )


def _require_fit(model: Any, recipe: AnswererRecipe) -> None:
    """The layers that are to be adapted are there, and the longest lesson has room."""
    from transformers.pytorch_utils import Conv1D

    kinds = (torch.nn.Linear, Conv1D)
    there = {n.rpartition(".")[2] for n, layer in model.named_modules() if isinstance(layer, kinds)}
    absent = [name for name in recipe.modules if name not in there and recipe.modules != ALL]
    if absent:
        raise ConfigError(
            f"modules has {absent[0]!r}, which this model has not; it has "
            f"{', '.join(sorted(there))}, or use ['all-linear']."
        )
    places = getattr(model.config, "max_position_embeddings", None)
    if places and recipe.max_tokens > places:
        raise ConfigError(
            f"max_tokens is {recipe.max_tokens}; this network has {places} places. Set it lower in "
            "the recipe."
        )


def _write(run: Run[AnswererRecipe], model: Any, tokenizer: Any) -> None:
    """The adapter with the tokenizer and both cards in the run's `model`, whole or not at all."""
    folder = run.folder / MODEL
    beside = folder.with_name(folder.name + ".part")
    shutil.rmtree(beside, ignore_errors=True)
    model.save_pretrained(beside, save_embedding_layers=False)
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
        model, _ = merged(trained, card["base"], "float32" if floats else "auto")
        model.save_pretrained(out)
    for path in trained.iterdir():
        if not (merge and path.name.startswith("adapter_")):
            shutil.copyfile(path, out / path.name)  # with merge: the tokenizer and its template
    _write_cards(out, card)


def merged(folder: Path, base: str, precision: str = "auto") -> tuple[Any, Any]:
    """The base with the adapter of `folder` worked into its weights, and the base's tokenizer.

    A base that was in 4 bits for training is taken in full: the adapter fits it as well.

    Raises:
        MissingModel: the folder holds no adapter, or the base cannot be loaded.
    """
    if not (folder / WEIGHTS).is_file():  # peft would also take pickled weights
        raise MissingModel(f"{folder} holds no {WEIGHTS}; expected what `train answerer` wrote.")
    from peft import PeftModel

    model, tokenizer = load_base(base, precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PeftModel.from_pretrained(model, folder).merge_and_unload(), tokenizer


def _write_cards(folder: Path, card: dict[str, Any]) -> None:
    text = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    (folder / CARD).write_text(text, "utf-8")
    (folder / "README.md").write_text(readme(card), "utf-8")


def readme(card: Mapping[str, Any]) -> str:
    """The card as Markdown, with the header that the Hugging Face hub reads."""
    merged = bool(card.get("merged"))
    rows, recipe = card["rows"], card["recipe"]
    left_out = "".join(f"* left out: {count} {why}\n" for why, count in rows["left_out"].items())
    return f"""---
base_model: {card["base"]}
library_name: {"transformers" if merged else "peft"}
pipeline_tag: text-generation
tags: [pincite, {"merged" if merged else "lora"}]
---

# An answerer

{"A model" if merged else "An adapter for a model"} that answers a question from the abstracts that
it is given, with a reference behind each statement. Made by `pincite train answerer`. What it
writes may be wrong: `pincite ask` holds every sentence against its references.

* Base: {card["base"]}{", with the adapter worked into its weights" if merged else ""}
* Licence: {card.get("licence", "not stated")}; that of the base applies too
* Data: {card.get("source") or card["data"]}
* Prompt: `answer_question.txt`, fingerprint {card["prompts"]}

## Rows

{rows["learnt_from"]} of {rows["read"]} rows were learnt from.

* {rows["unreadable"]} lines could not be read
* {rows["abstracts_cut"]} abstracts of {rows["with_abstracts_cut"]} rows had no room, none is cited
* {rows["without_reference"]} answers have no reference
{left_out}
## Recipe

{"".join(f"* {key}: {_shown(value)}" + chr(10) for key, value in recipe.items())}"""


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
