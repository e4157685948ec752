"""Scales of outlying channels change nothing in float, and int8 loses less; heads on means."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from input_scales import input_scales
from onnxruntime import InferenceSession

from conftest import HEADS, WORDS, tiny_weights
from pincite.protocols import Floats
from pincite_lab.training import bert_onnx
from pincite_lab.training.bert_onnx import INPUT_SCALE, STANDARD

LAYER = "encoder.layer.0.intermediate.dense"
NORM = "encoder.layer.0.attention.output.LayerNorm"


@pytest.fixture
def outlying() -> dict[str, Floats]:
    """A network with a channel 64 times as large as the others."""
    state = tiny_weights()
    state[f"{NORM}.weight"][5] *= 64
    for part in ("intermediate.dense.weight", "attention.self.query.weight"):
        state[f"encoder.layer.0.{part}"][:, 5] /= 64
    return state


def hidden(graph: str | bytes) -> Floats:
    ids = np.arange(len(WORDS))[None]
    session = InferenceSession(graph, providers=["CPUExecutionProvider"])
    found: Floats = session.run(None, {"input_ids": ids, "token_type_ids": np.zeros_like(ids)})[0]
    return found


def test_scales_of_outlying_channels(outlying: dict[str, Floats], tmp_path: Path) -> None:
    n_tokens = len(outlying[bert_onnx.WORDS])
    found = input_scales(bert_onnx.build(outlying, HEADS, head=False), n_tokens)
    assert np.flatnonzero(found[LAYER] > 1).tolist() == [5]
    scales = {f"{layer}{INPUT_SCALE}": scale for layer, scale in found.items()}
    assert {float(np.log2(scale)) % 1 for values in scales.values() for scale in values} == {0.0}

    plain = bert_onnx.build(outlying, HEADS, head=False)
    scaled = bert_onnx.build({**outlying, **scales}, HEADS, head=False)
    expected = hidden(plain.SerializeToString())
    np.testing.assert_allclose(hidden(scaled.SerializeToString()), expected, atol=1e-4)

    def error(graph: onnx.ModelProto) -> float:
        bert_onnx.quantise(graph, tmp_path / "int8.onnx")
        return float(np.abs(hidden(str(tmp_path / "int8.onnx")) - expected).mean())

    assert error(plain) > error(scaled)
    recovered = bert_onnx.state_dict(tmp_path / "int8.onnx")[f"{LAYER}.weight"]
    np.testing.assert_allclose(recovered, outlying[f"{LAYER}.weight"], atol=0.01)


def test_head_on_means_of_both_texts() -> None:
    state, types = tiny_weights(labels=3), np.array([[0, 0, 0, 1, 1]])
    rng = np.random.default_rng(1)
    width = len(state["embeddings.LayerNorm.weight"])
    state["pooler.dense.weight"] = rng.normal(0, 0.1, (width, 4 * width)).astype(np.float32)
    for end in ("weight", "bias"):
        state[f"{STANDARD}.{end}"] = rng.normal(0, 1, 4 * width).astype(np.float32)
    ids = np.array([[2, 5, 3, 7, 3]])

    def run(weights: dict[str, Floats], head: bool, **inputs: Any) -> Any:
        graph = bert_onnx.build(weights, HEADS, head=head)
        session = InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, inputs)[0][0]

    words = state.pop(bert_onnx.WORDS)
    body = {**state, bert_onnx.WORDS: words}
    hidden_states = run(body, head=False, input_ids=ids, token_type_ids=0 * types)
    first, second = hidden_states[:3].mean(0), hidden_states[3:].mean(0)
    read = np.concatenate([first, second, np.abs(first - second), first * second])
    read = read * state[f"{STANDARD}.weight"] + state[f"{STANDARD}.bias"]
    pooled = np.tanh(state["pooler.dense.weight"] @ read + state["pooler.dense.bias"])
    expected = state["classifier.weight"] @ pooled + state["classifier.bias"]
    found = run(state, head=True, inputs_embeds=words[ids], token_type_ids=types)
    np.testing.assert_allclose(found, expected, atol=1e-4)
