"""The float weights behind an int8 ONNX file: what a bench or a fine-tuning run starts from.

`quantize_dynamic` keeps each weight as int8 with a scale and a zero point; names of nodes give the
module paths. What comes out carries the rounding of int8, nothing else is lost.
"""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

Floats = npt.NDArray[np.float32]
# Layers that were exported as Gemm keep their names, and the quantiser turns them round.
TRANSPOSED = ("bert.pooler.dense.weight", "classifier.weight")
TURNED = "^T"
HEADS = 12  # the file does not name the number of heads; MiniLM has 12 at every depth


def state_dict(path: Path) -> dict[str, Floats]:
    """Hugging Face's names → float32 arrays, linear weights as (out, in)."""
    model = onnx.load(path)
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    state = {
        name.removesuffix("_quantized"): _dequantised(stored, name.removesuffix("_quantized"))
        for name in stored
        if name.endswith("_quantized") and not name.startswith("onnx::")
    }
    state |= {
        name: value.astype(np.float32)
        for name, value in stored.items()
        if re.search(r"\.(weight|bias)$", name)
    }
    for name in TRANSPOSED:
        if name in state:
            state[name] = np.ascontiguousarray(state[name].T)
    for name in [name for name in state if name.endswith(TURNED)]:  # as bert_onnx names kernels
        state[name.removesuffix(TURNED)] = np.ascontiguousarray(state.pop(name).T)
    for node in model.graph.node:
        if node.op_type in ("MatMulInteger", "MatMul"):
            state |= _linear(stored, node)
    return state


def _linear(stored: dict[str, npt.NDArray[np.generic]], node: onnx.NodeProto) -> dict[str, Floats]:
    """The weight of a matrix product, under the path that the node's name spells."""
    module = re.sub(r"/(MatMul.*)$", "", node.name).strip("/").replace("/", ".")
    for name in node.input:
        base = name.removesuffix("_quantized")
        if base.startswith("onnx::") and (base in stored or name in stored):
            weight = (
                stored[base].astype(np.float32) if base in stored else _dequantised(stored, base)
            )
            if weight.ndim == 2:
                return {f"{module}.weight": np.ascontiguousarray(weight.T)}
    return {}


def _dequantised(stored: dict[str, npt.NDArray[np.generic]], base: str) -> Floats:
    whole = stored[f"{base}_quantized"].astype(np.float32)
    zero = stored[f"{base}_zero_point"].astype(np.float32)
    return np.asarray((whole - zero) * stored[f"{base}_scale"].astype(np.float32))
