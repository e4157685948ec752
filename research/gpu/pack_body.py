"""A body for a GPU run, as int8 rows with a scale each: python research/gpu/pack_body.py FOLDER OUT

FOLDER is a Hugging Face folder (config.json, tokenizer.json, model.safetensors or pytorch_model.bin), such as
all-mpnet-base-v2 or the multilingual-e5-small that is recovered from its 4-bit package. OUT gets the two JSON files
and weights.N.npz of at most 40 MiB, so that each can travel by itself; train.py reads them with --teacher or --body.
Rounding a row of weights to 8 bits moves the logits of a network that is then trained on by less than its first step.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModel

LIMIT = 40 << 20  # bytes of a file
JSON_FILES = ("config.json", "tokenizer.json")


def rows(value: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """A matrix as int8, and the scale of each of its rows."""
    scale = (np.maximum(np.abs(value).max(1), 1e-8) / 127).astype(np.float32)
    return np.round(value / scale[:, None]).astype(np.int8), scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    model = AutoModel.from_pretrained(args.folder, dtype=torch.float32)
    pieces: list[dict[str, npt.NDArray[Any]]] = [{}]
    size = 0
    for name, tensor in model.state_dict().items():
        value = tensor.numpy()
        key = f"{model.base_model_prefix}.{name}"
        if value.ndim == 2:
            packed, scale = rows(value.astype(np.float32))
            entry: dict[str, npt.NDArray[Any]] = {key: packed, f"{key}|scale": scale}
        elif value.dtype.kind == "f":
            entry = {key: value.astype(np.float16)}
        else:
            continue  # position ids, which the model makes itself
        n_bytes = sum(each.nbytes for each in entry.values())
        if size and size + n_bytes > LIMIT:
            pieces.append({})
            size = 0
        pieces[-1] |= entry
        size += n_bytes
    for number, piece in enumerate(pieces):
        np.savez(args.out / f"weights.{number}.npz", **piece)
    for name in JSON_FILES:
        shutil.copy(args.folder / name, args.out)
    print(f"{args.out}: {len(pieces)} files of weights")


if __name__ == "__main__":
    main()
