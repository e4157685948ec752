"""`pincite train answerer`: a causal language model that answers from abstracts with references.

As in Verif.ai (§II-B): LoRA (Hu et al. 2021; in 4 bits Dettmers et al. 2023) by `peft`, trained by
`trl` on rows of a question, the abstracts found for it, and an answer that cites them. Only the
answer's tokens count in the loss. The prompt is that of `ask` (`answer_question.txt`).
"""

import json
import random
import shutil
import warnings
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from pincite import durable
from pincite.errors import ConfigError, InputError, MissingExtra, MissingModel, install_command
from pincite.llm.templates import Templates
from pincite.models import weights
from pincite_lab.training.answer_rows import Lesson, LessonMaker, read_rows
from pincite_lab.training.encoder import progress_callback, resume, trainer_arguments
from pincite_lab.training.groups import Tell, Warn, skip
from pincite_lab.training.network import quiet, write_card
from pincite_lab.training.recipe import MODEL, AnswererRecipe, Run, begun, loss_curve
from pincite_lab.training.verifier import Progress

LESSONS = "lessons.jsonl"
COUNTS = "counts.json"
TOLD_EVERY = 100  # rows between progress reports
ALL = ("all-linear",)
FOUR_BITS = ("nf4", "fp4")
WEIGHTS = "adapter_model.safetensors"
# Chat template for a base without one, saved with the weights.
PLAIN = (
    "{{ bos_token }}{% for m in messages %}{{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ eos_token }}{% else %}\n\n{% endif %}{% endfor %}"
)


def train_answerer(run: Run[AnswererRecipe], tell: Tell, warn: Warn, progress: Progress) -> Path:
    """Prepare, train and write the adapter, resuming where a run stopped; returns its folder.

    Raises ConfigError, InputError and MissingModel as `verifier.train_verifier`, and MissingExtra
    if the recipe uses 4 bits and bitsandbytes is not installed.
    """
    device, recipe = begun(run), run.recipe
    model, tokenizer = load_base(run.base, recipe.precision, device)
    _require_fit(model, recipe)
    takes_system = set_template(tokenizer)
    if not takes_system:
        warn("The base's chat template takes no system message; it is put before the user's.")
    lessons = prepared(run, tokenizer, takes_system, tell, warn)

    from datasets import Dataset
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # layouts that peft handles itself, and deprecations
        trainer = SFTTrainer(
            model=model,
            args=SFTConfig(
                per_device_train_batch_size=recipe.rows_at_once,
                gradient_accumulation_steps=max(1, recipe.batch_rows // recipe.rows_at_once),
                num_train_epochs=recipe.visits,
                max_length=recipe.max_tokens,
                gradient_checkpointing=recipe.checkpointing,
                bf16=False,
                **trainer_arguments(run, device),
            ),
            train_dataset=Dataset.from_list([turns(each, takes_system) for each in lessons]),
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
        resume(trainer, run)
    about = json.loads((run.folder / COUNTS).read_text(encoding="utf-8"))
    with durable.replacing(run.folder / MODEL) as part:
        trainer.model.save_pretrained(part, save_embedding_layers=False)
        tokenizer.save_pretrained(part)
        about |= {"recipe": asdict(recipe), "loss": loss_curve(trainer.state.log_history)}
        write_card(part, {"kind": "answerer", "base": run.base, **about})
    return run.folder / MODEL


def set_template(tokenizer: Any) -> bool:
    """Set the plain template if the tokenizer has none; returns whether system messages work.

    Some templates reject a system message, others drop it.
    """
    if not tokenizer.chat_template:
        tokenizer.chat_template = PLAIN
    messages = [{"role": "system", "content": "HEARD"}, {"role": "user", "content": "Yes?"}]
    try:
        return "HEARD" in tokenizer.apply_chat_template(messages, tokenize=False)
    except Exception:  # the template's code can raise anything
        return False


def turns(lesson: Lesson, takes_system: bool) -> dict[str, list[dict[str, str]]]:
    """Convert a lesson to `trl`'s format: the prompt's messages, and the reply to learn."""
    prompt = [{"role": "user", "content": f"{lesson.system}\n\n{lesson.user}"}]
    if takes_system:
        prompt = [
            {"role": "system", "content": lesson.system},
            {"role": "user", "content": lesson.user},
        ]
    return {"prompt": prompt, "completion": [{"role": "assistant", "content": lesson.answer}]}


def prepared(
    run: Run[AnswererRecipe], tokenizer: Any, takes_system: bool, tell: Tell, warn: Warn
) -> list[Lesson]:
    """Load the lessons saved in the run's folder, or make them from the data and save them.

    Raises:
        InputError: The data cannot be read, has too many malformed lines, or yields no lesson.
    """
    kept, recipe = run.folder / LESSONS, run.recipe
    if kept.exists():
        with kept.open(encoding="utf-8") as lines:
            return [Lesson(**json.loads(line)) for line in lines]

    def n_tokens(lesson: Lesson) -> int:
        messages = [each for turn in turns(lesson, takes_system).values() for each in turn]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    bad = list[InputError]()
    templates = Templates.load(recipe.prompt_language, recipe.language)
    maker = LessonMaker(
        templates, n_tokens, recipe.max_tokens, recipe.seed, special_tokens(tokenizer)
    )
    for path in _files_of(run.data):
        for row in read_rows(path, partial(skip, bad, run.data, warn)):
            maker.add(row)
            if maker.n_rows % TOLD_EVERY == 0:
                tell("reading rows", maker.n_rows, None)
    lessons = list(maker.lessons)
    random.Random(f"{recipe.seed} rows").shuffle(lessons)  # noqa: S311 - a sample, not a secret
    lessons = lessons[: recipe.rows or None]
    warn(f"{len(lessons)} of {maker.n_rows} rows are used.")
    for why, count in sorted(maker.dropped.items()):
        warn(f"left out: {count} {why}")
    if maker.n_cut:
        warn(f"{maker.n_cut} rows lost abstracts that they do not cite, to fit into max_tokens.")
    if not lessons:
        raise InputError(f"{run.data} has no rows to train on; see what was left out.")
    rows = {"read": maker.n_rows, "left_out": maker.dropped, "with_abstracts_cut": maker.n_cut}
    rows |= {"unreadable": len(bad), "learnt_from": len(lessons)}
    about = {"data": run.data.name, "prompts": templates.fingerprint, "rows": rows}
    durable.write_text(run.folder / COUNTS, json.dumps(about, indent=1) + "\n")
    durable.write_text(kept, "".join(json.dumps(asdict(lesson)) + "\n" for lesson in lessons))
    return lessons


def _files_of(data: Path) -> list[Path]:
    if data.is_file():
        return [data]
    if files := [p for p in sorted(data.glob("*.jsonl*")) if p.suffix in (".jsonl", ".gz")]:
        return files
    raise InputError(f"{data} is neither a file nor a folder of .jsonl or .jsonl.gz files.")


def special_tokens(tokenizer: Any) -> frozenset[str]:
    """Return the tokens that are not text: in a page, they could forge a turn."""
    added = tokenizer.added_tokens_decoder.values()
    special = {token.content for token in added if token.special}
    return frozenset(special | set(tokenizer.all_special_tokens))


def load_base(base: str, precision: str, device: str = "cpu") -> tuple[Any, Any]:
    """Load the causal model on its device, and its tokenizer.

    `base` has its weights as safetensors. The precision "auto" is the one they are stored in.

    Raises:
        MissingExtra: 4 bits need bitsandbytes, which is not installed.
        MissingModel: It does not exist, is not causal, or has no end-of-text token.
    """
    if precision in FOUR_BITS and find_spec("bitsandbytes") is None:
        raise MissingExtra(
            f"precision {precision!r} (--qlora) needs bitsandbytes: "
            f"{install_command('train,qlora')}. Without it, float32 and bfloat16 work."
        )
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    quiet()
    try:
        config = AutoConfig.from_pretrained(base)
        model = AutoModelForCausalLM.from_pretrained(
            base, config=config, use_safetensors=True, **_stored(precision, device)
        )
        tokenizer = AutoTokenizer.from_pretrained(base)
    except Exception as error:  # transformers raises any exception
        raise MissingModel(
            f"{base} cannot be loaded as a causal Hugging Face model: {error}"
        ) from error
    if config.is_encoder_decoder:
        raise MissingModel(f"{base} is an encoder-decoder model; expected a causal one.")
    if tokenizer.eos_token_id is None:
        raise MissingModel(f"The tokenizer of {base} has no eos_token; expected one.")
    return (model if precision in FOUR_BITS else model.to(device)), tokenizer


def _stored(precision: str, device: str) -> dict[str, Any]:
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


def _require_fit(model: Any, recipe: AnswererRecipe) -> None:
    """Check that the layers to adapt exist, and that the longest lesson fits the positions."""
    from transformers.pytorch_utils import Conv1D

    kinds = (torch.nn.Linear, Conv1D)
    names = {n.rpartition(".")[2] for n, layer in model.named_modules() if isinstance(layer, kinds)}
    absent = [name for name in recipe.modules if name not in names and recipe.modules != ALL]
    if absent:
        raise ConfigError(
            f"modules: this model has no {absent[0]!r}; it has {', '.join(sorted(names))}, or use "
            "['all-linear']."
        )
    places = getattr(model.config, "max_position_embeddings", None)
    if places and recipe.max_tokens > places:
        raise ConfigError(
            f"max_tokens is {recipe.max_tokens}; this network takes {places}. Set it lower in "
            "the recipe."
        )


def export(
    trained: Path, out: Path, *, source: str, licence: str, merge: bool, floats: bool
) -> None:
    """Write the adapter, or with `merge` the base with the adapter merged, into `out`.

    A base trained in 4 bits is merged in full precision. Raises MissingModel without an adapter.
    """
    card = weights.read_card(trained) | {"source": source, "licence": licence, "merged": merge}
    out.mkdir(parents=True, exist_ok=True)
    if merge:
        if not (trained / WEIGHTS).is_file():  # peft would also load pickled weights
            raise MissingModel(f"{trained} has no {WEIGHTS}, which `train answerer` writes.")
        from peft import PeftModel

        model, _ = load_base(card["base"], "float32" if floats else "auto")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            PeftModel.from_pretrained(model, trained).merge_and_unload().save_pretrained(out)
    for path in trained.iterdir():
        if not (merge and path.name.startswith("adapter_")):
            shutil.copyfile(path, out / path.name)  # with merge: the tokenizer and its template
    write_card(out, card)
