"""A body for a GPU run, in files that can travel: python research/gpu/pack_body.py FOLDER OUT

FOLDER is a Hugging Face folder (config.json, tokenizer.json, model.safetensors or pytorch_model.bin), such as
all-mpnet-base-v2 or the multilingual-e5-small that is recovered from its 4-bit package. OUT gets the two JSON files
and weights.N.npz of at most 40 MiB, so that each can travel by itself; train.py reads them with --teacher or --body.
Matrices become int8 rows with a scale each, which moves the logits of a network that is then trained on by less than its
first step. Those that were in 4 bits (Q4_0) go back to them, without a loss.

    python research/gpu/pack_body.py build/e5 build/gpu-body --pieces-of build/gpu-multilingual/*.jsonl.xz \\
        --sentencepiece plugins/pincite-multilingual/src/pincite_multilingual/weights/sentencepiece.model

keeps only those pieces of the vocabulary that occur in a kit's rows: embeddings are not trained, so that the others need
not travel. The tokenizer is made anew from the model that the product runs, with its rules of normalisation, and compared
with it on every text.
"""

import argparse
import json
import lzma
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel

LIMIT = 40 << 20  # bytes of a file
BLOCK, ZERO = 32, 8  # Q4_0: values with one scale, and the half-byte that stands for 0
AT_ONCE = 5000  # texts
SPECIAL = ("bos", "pad", "eos", "unk")
WORDS = "embeddings.word_embeddings.weight"
_SMALL = re.compile(r"(position|token_type)_embeddings")  # stay as they are
Array = npt.NDArray[Any]


def rows(value: npt.NDArray[np.float32]) -> dict[str, Array]:
    """A matrix as int8, and the scale of each of its rows."""
    scale = (np.maximum(np.abs(value).max(1), 1e-8) / 127).astype(np.float32)
    return {"": np.round(value / scale[:, None]).astype(np.int8), "|scale": scale}


def halves(value: npt.NDArray[np.float32]) -> dict[str, Array] | None:
    """A matrix whose values come from Q4_0 as that; None for others.

    The largest value of a block is -8 times its scale. Byte j holds the values j and j + 16.
    """
    if value.shape[1] % BLOCK:
        return None
    blocks = value.reshape(len(value), -1, BLOCK)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)
    scale = (largest / -ZERO).astype(np.float16)
    steps = np.round(blocks / np.where(scale == 0, 1, scale).astype(np.float32))
    if (steps * scale.astype(np.float32) != blocks).any():
        return None
    whole = (steps + ZERO).astype(np.uint8)
    both = whole[..., : BLOCK // 2] | whole[..., BLOCK // 2 :] << 4
    return {"|halves": both, "|scale": scale[..., 0]}


def entry(name: str, value: Array) -> dict[str, Array]:
    """What the file holds of a tensor, by name."""
    if value.ndim == 2 and not _SMALL.search(name):
        found = halves(value.astype(np.float32)) or rows(value.astype(np.float32))
        return {name + end: array for end, array in found.items()}
    return {name: value.astype(np.float16)}


def texts_of(files: Sequence[Path]) -> list[str]:
    """All claims and passages of a kit."""
    found: dict[str, None] = {}
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                found |= dict.fromkeys([row["claim"], *row["passages"]])
    return list(found)


def tokenizer_of(model: Any, kept: Sequence[int] | None = None) -> Tokenizer:
    """SentencePiece's `model` for `tokenizers`, with the `kept` pieces; the second text of a pair has the type 1."""
    pieces = [
        (model.pieces[i].piece, model.pieces[i].score) for i in kept or range(len(model.pieces))
    ]
    names = [piece for piece, _ in pieces]
    special = {key: model.pieces[getattr(model.trainer_spec, f"{key}_id")].piece for key in SPECIAL}
    found = Tokenizer(models.Unigram(pieces, unk_id=names.index(special["unk"])))
    found.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap),
            normalizers.Replace(Regex(" +"), " "),
            normalizers.Strip(),
        ]
    )
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    start, end = special["bos"], special["eos"]
    found.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end}:1 $B:1 {end}:1",
        special_tokens=[(name, names.index(name)) for name in (start, end)],
    )
    return found


def ids_of(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The pieces of each text."""
    found: list[list[int]] = []
    for start in range(0, len(texts), AT_ONCE):
        batch = tokenizer.encode_batch(
            list(texts[start : start + AT_ONCE]), add_special_tokens=False
        )
        found += [each.ids for each in batch]
    return found


def reduced(file: Path, texts: Sequence[str], out: Path) -> list[int]:
    """Write the tokenizer with the pieces of `texts`; returns which they are."""
    from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto.FromString(file.read_bytes())
    found = ids_of(tokenizer_of(model), texts)
    special = {getattr(model.trainer_spec, f"{key}_id") for key in SPECIAL}
    # What has no piece costs 10 more than the worst piece.
    normal = [i for i in range(len(model.pieces)) if i not in special]
    worst = min(normal, key=lambda i: model.pieces[i].score)
    kept = sorted({i for ids in found for i in ids} | special | {worst})
    place = {number: i for i, number in enumerate(kept)}
    small = tokenizer_of(model, kept)
    small.save(str(out / "tokenizer.json"), pretty=False)
    if ids_of(small, texts) != [[place[i] for i in ids] for ids in found]:
        raise SystemExit("The smaller vocabulary splits some texts otherwise.")
    product = SentencePieceProcessor(model_file=str(file))
    other = [n for n, text in enumerate(texts) if product.encode(text) != found[n]]
    print(f"{len(kept):,} pieces; {len(other)} of {len(texts):,} texts differ from SentencePiece")
    for n in other[:5]:
        print(f"  {texts[n][:100]!r}")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pieces-of", type=Path, nargs="+", help="rows of a kit (*.jsonl.xz)")
    parser.add_argument("--sentencepiece", type=Path, help="the product's vocabulary")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    config = json.loads((args.folder / "config.json").read_text())
    kept = None
    if args.pieces_of:
        kept = reduced(args.sentencepiece, texts_of(args.pieces_of), args.out)
        config |= {"vocab_size": len(kept), "pad_token_id": kept.index(config["pad_token_id"])}
    else:
        shutil.copy(args.folder / "tokenizer.json", args.out)
    (args.out / "config.json").write_text(json.dumps(config, indent=1))
    model, about = AutoModel.from_pretrained(
        args.folder, dtype=torch.float32, output_loading_info=True
    )
    files: list[dict[str, Array]] = [{}]
    size = 0
    for name, tensor in model.state_dict().items():
        value = tensor.numpy()
        if value.dtype.kind != "f" or name in about["missing_keys"]:
            continue  # position ids, which the model makes itself, or a pooler that the folder lacks
        if kept and name.endswith(WORDS):
            value = value[kept]
        found = entry(f"{model.base_model_prefix}.{name}", value)
        n_bytes = sum(each.nbytes for each in found.values())
        if size and size + n_bytes > LIMIT:
            files.append({})
            size = 0
        files[-1] |= found
        size += n_bytes
    for number, file in enumerate(files):
        np.savez(args.out / f"weights.{number}.npz", **file)
    total = sum(file.stat().st_size for file in args.out.iterdir())
    print(f"{args.out}: {len(files)} files of weights, {total / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
