"""Low-rank adapters: the base is left as it is, and small matrices beside its layers are trained.

LoRA (Hu et al. 2021), by the peft library; QLoRA (Dettmers et al. 2023) is the same over a base in
4 bits, by bitsandbytes, which transformers calls. Everything is read and written as safetensors.
"""

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from transformers.pytorch_utils import Conv1D
from transformers.utils import logging

from pincite.errors import ConfigError, MissingExtra, MissingModel
from pincite.training.recipe import AnswererRecipe

ALL = ("all-linear",)
FOUR_BITS = ("nf4", "fp4")
WEIGHTS = "adapter_model.safetensors"


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


def attached(model: Any, recipe: AnswererRecipe) -> Any:
    """The model with a new adapter; only the adapter's weights can be trained.

    Raises:
        ConfigError: the model has no layer of a name in `recipe.modules`; names those it has.
    """
    _require_layers(model, recipe.modules)
    wanted = "all-linear" if recipe.modules == ALL else list(recipe.modules)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=wanted,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of layouts that peft sees to itself, and of deprecations
        if recipe.precision in FOUR_BITS:
            model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
        if recipe.checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        torch.manual_seed(recipe.seed)  # of the new matrices
        return get_peft_model(model, config)


def _require_layers(model: Any, modules: tuple[str, ...]) -> None:
    kinds = (torch.nn.Linear, Conv1D)
    there = {n.rpartition(".")[2] for n, layer in model.named_modules() if isinstance(layer, kinds)}
    absent = [name for name in modules if name not in there and modules != ALL]
    if absent:
        raise ConfigError(
            f"modules has {absent[0]!r}, which this model has not; it has "
            f"{', '.join(sorted(there))}, or use ['all-linear']."
        )


def write(model: Any, folder: Path) -> None:
    """The adapter alone: `adapter_model.safetensors` and `adapter_config.json`."""
    model.save_pretrained(folder, save_embedding_layers=False)


def merged(folder: Path, base: str, precision: str = "auto") -> tuple[Any, Any]:
    """The base with the adapter of `folder` worked into its weights, and the base's tokenizer.

    A base that was in 4 bits for training is taken in full: the adapter fits it as well.

    Raises:
        MissingModel: the folder holds no adapter, or the base cannot be loaded.
    """
    if not (folder / WEIGHTS).is_file():  # peft would also take pickled weights
        raise MissingModel(f"{folder} holds no {WEIGHTS}; expected what `train answerer` wrote.")
    model, tokenizer = load_base(base, precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PeftModel.from_pretrained(model, folder).merge_and_unload(), tokenizer
