"""Export a trained model for inference: model.onnx, tokenizer.json and its card in one folder.

A plain BERT goes through `bert_onnx`, whose graph is small and known; any other encoder goes
through torch's exporter.
"""

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import onnx
import torch

from pincite.models.verifier import MAX_TOKENS
from pincite_lab.training import bert_onnx, network

LANGUAGES = ("en",)
_STEP = 8  # rows are padded to multiples of it at run time


def export(trained: Path, out: Path, *, source: str, licence: str, floats: bool = False) -> None:
    """Write the folder `trained`, the `model` of a run, into `out`.

    `floats` keeps float32, four times as large and about half as fast as int8. Source and licence
    are for the card; other files stay.

    Raises:
        MissingModel: `trained` cannot be loaded.
        ConfigError: Its labels are not CLASSES in order.
    """
    model, tokenizer = network.load_trained(str(trained))
    places = network.most_tokens(model) or MAX_TOKENS
    card = {
        "kind": "verifier",
        "source": source,
        "licence": licence,
        "labels": list(network.CLASSES),
        "max_tokens": min(MAX_TOKENS, places // _STEP * _STEP),
        "languages": list(LANGUAGES),
    }
    if n_own := network.own_rows(trained):
        card[network.OWN_ROWS] = n_own
    tokenizer.no_truncation()
    out.mkdir(parents=True, exist_ok=True)
    part = out / "model.onnx.part"
    config = model.config
    is_plain_bert = (
        config.model_type == "bert"
        and config.hidden_act == "gelu"
        and config.layer_norm_eps == bert_onnx.EPSILON
        and getattr(config, "position_embedding_type", "absolute") == "absolute"
    )
    if is_plain_bert:
        state = {name.removeprefix("bert."): v.numpy() for name, v in model.state_dict().items()}
        graph = bert_onnx.build(state, config.num_attention_heads, head=True)
    else:
        graph = _trace(model)
    if floats:
        onnx.save(graph, part)
    else:
        logging.disable(logging.WARNING)  # ONNX Runtime's advice to pre-process gains nothing
        bert_onnx.quantise(graph, part)
        logging.disable(logging.NOTSET)
    tokenizer.save(str(out / "tokenizer.json"))
    network.write_card(out, card)
    part.replace(out / "model.onnx")  # the network last: `locate` looks for it


class _OneOutput(torch.nn.Module):  # type: ignore[misc]  # Any to mypy
    """The network with positional inputs and one output tensor, as the exporter requires."""

    def __init__(self, model: Any, fields: list[str]) -> None:
        super().__init__()
        self.model, self.fields = model, fields

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.fields, inputs, strict=True))).logits


def _trace(model: Any) -> onnx.ModelProto:
    fields = ["input_ids", "attention_mask", *network.types_field(model)]
    # Two rows of unequal length: a trace of one, or without padding, may drop the mask.
    row = torch.ones(2, _STEP, dtype=torch.int64)
    row[1, _STEP // 2 :] = 0
    inputs = {"input_ids": row, "attention_mask": row, "token_type_ids": torch.zeros_like(row)}

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about constants and the exporter's age
        path = Path(folder) / "model.onnx"
        torch.onnx.export(
            _OneOutput(model, fields).eval(),
            tuple(inputs[field] for field in fields),
            path,
            input_names=fields,
            output_names=["logits"],
            dynamic_axes={name: {0: "batch", 1: "tokens"} for name in fields}
            | {"logits": {0: "batch"}},
            opset_version=bert_onnx.OPSET,
            dynamo=False,
        )
        return onnx.load(path)
