"""A BERT encoder's weights as an ONNX graph, without torch.

`build` writes the graph of a BERT body from a state dict with Hugging Face names, `quantise` the
int8 file used for inference (Devlin et al. 2019: post-layer-norm, erf GELU). It takes no mask,
because Pincite runs rows without padding; for logits the last layer is computed for the first token
only.

A network that shares its word embeddings with others (`models.session`) has none in `weights`:
it takes vectors, `inputs_embeds`. A head with STANDARD reads the means of both texts instead of the
first token: in a network made for cosines, the first token means little.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, npt.NDArray[np.float32]]
OPSET = 17  # the first with LayerNormalization
RUNTIME = helper.make_opsetid("com.microsoft", 1)  # ONNX Runtime's custom operators
EPSILON = 1e-12  # BERT's layer_norm_eps
WORDS = "embeddings.word_embeddings.weight"
# Factors by which a layer divides its input; its weights are multiplied by them. Made by
# plugins/pincite-multilingual/tools/input_scales.py.
INPUT_SCALE = ".input_scale"
STANDARD = "pooler.standard"  # factors and offsets that standardise what the pooler reads


class _Graph:
    """Collects nodes and initialisers; every method returns the name of its output."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def const(self, name: str, value: npt.NDArray[np.generic]) -> str:
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def weight(self, name: str) -> str:
        return self.const(name, self.weights[name].astype(np.float32))

    def ints(self, *values: int) -> str:
        return self.const("ints_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def linear(self, x: str, name: str) -> str:
        weight = self.weights[f"{name}.weight"].T.astype(np.float32)
        if (scale := self.weights.get(f"{name}{INPUT_SCALE}")) is not None:
            x = self.op("Mul", x, self.const(f"{name}{INPUT_SCALE}", 1 / scale))
            weight = weight * scale[:, None]
        kernel = self.const(f"{name}.weight^T", weight)
        return self.op("Add", self.op("MatMul", x, kernel), self.weight(f"{name}.bias"))

    def layer_norm(self, x: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)

    def gelu(self, x: str) -> str:
        scaled = self.op("Div", x, self.const("sqrt2", np.array(np.sqrt(2), dtype=np.float32)))
        one = self.const("one", np.array(1, dtype=np.float32))
        half = self.const("half", np.array(0.5, dtype=np.float32))
        return self.op("Mul", self.op("Mul", x, self.op("Add", self.op("Erf", scaled), one)), half)


def build(weights: Weights, n_heads: int, head: bool) -> onnx.ModelProto:
    """Build the graph from input_ids and token_type_ids to `logits` or `last_hidden_state`.

    Names in `weights` have no `bert.` prefix. Without WORDS the input is inputs_embeds, and a head
    with STANDARD also takes token_type_ids, to tell the texts apart. With `head` the graph ends in
    pooler and classifier (logits: batch, labels), otherwise in the hidden states (batch, tokens,
    width).
    """
    graph = _Graph(weights)
    hidden = _embeddings(graph)
    n_layers = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("encoder.layer."))
    means = head and f"{STANDARD}.weight" in weights
    for layer in range(n_layers):
        alone = head and not means and layer == n_layers - 1  # the head reads only the first token
        hidden = _layer(graph, hidden, f"encoder.layer.{layer}", n_heads, first_only=alone)
    if head:
        if means:
            read = _means(graph, hidden)
        else:
            read = graph.op("Gather", hidden, graph.const("zero", np.array(0)), axis=1)
        pooled = graph.op("Tanh", graph.linear(read, "pooler.dense"))
        return _model(graph, graph.linear(pooled, "classifier"), "logits", ["batch", "labels"])
    return _model(graph, hidden, "last_hidden_state", ["batch", "tokens", "width"])


def _embeddings(graph: _Graph) -> str:
    if WORDS in graph.weights:
        rows, type_ids = "input_ids", "token_type_ids"
        words = graph.op("Gather", graph.weight(WORDS), rows)
    else:  # XLM-R's tokenizer gives both texts of a pair the first type
        rows = words = "inputs_embeds"
        type_ids = graph.const("zero", np.array(0))
    types = graph.op("Gather", graph.weight("embeddings.token_type_embeddings.weight"), type_ids)
    length = graph.op("Gather", graph.op("Shape", rows), graph.ints(1), axis=0)
    table = graph.weight("embeddings.position_embeddings.weight")
    positions = graph.op("Slice", table, graph.ints(0), length, graph.ints(0))
    summed = graph.op("Add", graph.op("Add", words, types), positions)
    return graph.layer_norm(summed, "embeddings.LayerNorm")


def _layer(graph: _Graph, x: str, name: str, n_heads: int, *, first_only: bool) -> str:
    asking = graph.op("Slice", x, *(graph.ints(n) for n in (0, 1, 1))) if first_only else x
    query, key, value = (
        graph.linear(given, f"{name}.attention.self.{which}")
        for which, given in (("query", asking), ("key", x), ("value", x))
    )
    how = {"num_heads": n_heads, "domain": RUNTIME.domain}
    mixed = graph.op("MultiHeadAttention", query, key, value, **how)
    attended = graph.op("Add", graph.linear(mixed, f"{name}.attention.output.dense"), asking)
    attended = graph.layer_norm(attended, f"{name}.attention.output.LayerNorm")
    inner = graph.gelu(graph.linear(attended, f"{name}.intermediate.dense"))
    out = graph.op("Add", graph.linear(inner, f"{name}.output.dense"), attended)
    return graph.layer_norm(out, f"{name}.output.LayerNorm")


def _means(graph: _Graph, hidden: str) -> str:
    """The means of the two texts' tokens, their absolute difference and product, standardised."""
    second = graph.op("Cast", "token_type_ids", to=TensorProto.FLOAT)
    second = graph.op("Unsqueeze", second, graph.ints(1))
    first = graph.op("Sub", graph.const("one", np.array(1, dtype=np.float32)), second)
    parts = first, second
    sums = [(graph.op("MatMul", x, hidden), graph.op("ReduceSum", x, graph.ints(2))) for x in parts]
    means = [graph.op("Div", *terms) for terms in sums]
    apart = graph.op("Abs", graph.op("Sub", *means))
    joined = graph.op("Concat", *means, apart, graph.op("Mul", *means), axis=-1)
    joined = graph.op("Squeeze", joined, graph.ints(1))
    scaled = graph.op("Mul", joined, graph.weight(f"{STANDARD}.weight"))
    return graph.op("Add", scaled, graph.weight(f"{STANDARD}.bias"))


def _model(graph: _Graph, last: str, name: str, shape: list[str]) -> onnx.ModelProto:
    graph.nodes.append(helper.make_node("Identity", [last], [name], name=name))
    value, read = helper.make_tensor_value_info, {x for node in graph.nodes for x in node.input}
    fields = [field for field in ("input_ids", "token_type_ids") if field in read]
    inputs = [value(field, TensorProto.INT64, ["batch", "tokens"]) for field in fields]
    if WORDS not in graph.weights:
        width = len(graph.weights["embeddings.LayerNorm.weight"])
        inputs.insert(0, value("inputs_embeds", TensorProto.FLOAT, ["batch", "tokens", width]))
    output = value(name, TensorProto.FLOAT, shape)
    stored = list(graph.initializers.values())
    body = helper.make_graph(graph.nodes, "bert", inputs, [output], stored)
    versions = [helper.make_opsetid("", OPSET), RUNTIME]
    model = helper.make_model(body, opset_imports=versions, ir_version=9)
    onnx.checker.check_model(model)
    return model


def quantise(model: onnx.ModelProto, target: Path) -> None:
    """Write `model` with int8 weights (one scale per column) and uint8 activations at run time."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # Shape inference cannot type the outputs of RUNTIME's operators; all are float.
    floats = {"DefaultTensorType": TensorProto.FLOAT}
    quantize_dynamic(
        model, target, weight_type=QuantType.QInt8, per_channel=True, extra_options=floats
    )


# Recover float weights from an int8 ONNX file, as the start of a benchmark or fine-tuning run.

Floats = npt.NDArray[np.float32]
# Layers exported as Gemm keep their names, but the quantiser transposes them.
TRANSPOSED = ("bert.pooler.dense.weight", "classifier.weight")
TURNED = "^T"
HEADS = 12  # not in the file; MiniLM has 12 at every depth


def state_dict(path: Path) -> dict[str, Floats]:
    """Return float32 arrays by Hugging Face name, linear weights as (out, in)."""
    model = onnx.load(path)
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    quantised = [name.removesuffix("_quantized") for name in stored if name.endswith("_quantized")]
    state = {base: _dequantise(stored, base) for base in quantised if not base.startswith("onnx::")}
    state |= {
        name: value.astype(np.float32)
        for name, value in stored.items()
        if name.endswith((".weight", ".bias"))
    }
    for name in [name for name in state if name in TRANSPOSED or name.endswith(TURNED)]:
        state[name.removesuffix(TURNED)] = np.ascontiguousarray(state.pop(name).T)
    for node in model.graph.node:
        if node.op_type in ("MatMulInteger", "MatMul"):
            state |= _linear(stored, node)
    for name in [name for name in stored if name.endswith(INPUT_SCALE)]:
        state[f"{name.removesuffix(INPUT_SCALE)}.weight"] *= stored[name]
    return state


def _linear(stored: dict[str, npt.NDArray[np.generic]], node: onnx.NodeProto) -> dict[str, Floats]:
    """Return the weight of a matrix product, named after the node's path."""
    module = re.sub(r"/(MatMul.*)$", "", node.name).strip("/").replace("/", ".")
    for name in node.input:
        base = name.removesuffix("_quantized")
        if base.startswith("onnx::") and (base in stored or name in stored):
            weight = np.float32(stored[base]) if base in stored else _dequantise(stored, base)
            if weight.ndim == 2:
                return {f"{module}.weight": np.ascontiguousarray(weight.T)}
    return {}


def _dequantise(stored: dict[str, npt.NDArray[np.generic]], base: str) -> Floats:
    whole = stored[f"{base}_quantized"].astype(np.float32)
    zero = stored[f"{base}_zero_point"].astype(np.float32)
    return np.asarray((whole - zero) * stored[f"{base}_scale"].astype(np.float32))
