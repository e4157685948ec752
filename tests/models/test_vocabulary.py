"""A table of vectors that networks share, with a fake of sentencepiece."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from conftest import HEADS, WIDTH, WORDS, tiny_weights
from pincite.errors import MissingExtra, MissingModel, install_command
from pincite.models.session import OnnxEncoder, Session, SharedTokenizer, dequantised, row_type
from pincite.models.weights import PIECES, VECTORS
from pincite.protocols import Floats
from pincite_lab.training import bert_onnx

TEXTS = ["the old bridge", "it opened in 1911", "\ud800", "", "x" * 1_000_000]


class Words:
    """A piece for each word."""

    def __init__(self, model_file: str) -> None:
        assert Path(model_file).name == PIECES

    def encode(self, text: str) -> list[int]:
        return [WORDS.index(word) if word in WORDS else 1 for word in text.split()]

    def get_piece_size(self) -> int:
        return len(WORDS)

    def bos_id(self) -> int:
        return WORDS.index("[CLS]")

    def eos_id(self) -> int:
        return WORDS.index("[SEP]")


def random_rows() -> np.ndarray[Any, np.dtype[np.void]]:
    rng = np.random.default_rng(1)
    rows = np.zeros(len(WORDS), row_type(WIDTH))
    rows["scales"] = rng.uniform(0.01, 0.1, rows["scales"].shape)
    rows["halves"] = rng.integers(0, 256, rows["halves"].shape)
    return rows


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a network whose vocabulary lies above it."""
    fake = SimpleNamespace(SentencePieceProcessor=Words)
    monkeypatch.setitem(sys.modules, "sentencepiece", fake)
    np.save(tmp_path / VECTORS, random_rows())
    folder = tmp_path / "network"
    folder.mkdir()
    weights = {name: value for name, value in tiny_weights().items() if name != bert_onnx.WORDS}
    onnx.save(bert_onnx.build(weights, HEADS, head=False), folder / "model.onnx")
    return folder


def own(ids: list[int]) -> Floats:
    """The hidden states of a network that holds the same vectors itself."""
    from onnxruntime import InferenceSession

    state = tiny_weights() | {bert_onnx.WORDS: dequantised(random_rows())}
    graph = bert_onnx.build(state, HEADS, head=False).SerializeToString()
    feed = {"input_ids": np.array([ids]), "token_type_ids": np.zeros((1, len(ids)), np.int64)}
    (found,) = InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, feed)
    return np.asarray(found[0])


def test_a_block_is_read_as_ggml_writes_it() -> None:
    row = np.zeros(1, row_type(WIDTH))
    row["scales"] = 0.5
    row["halves"][0, 0, 3] = 0xF1
    expected = np.full((1, WIDTH), -4.0, np.float32)
    expected[0, 3], expected[0, 19] = (1 - 8) / 2, (15 - 8) / 2
    np.testing.assert_array_equal(dequantised(row), expected)


def test_a_shared_table_gives_what_an_own_one_gives(shared: Path) -> None:
    ((_, hidden),) = Session(shared, max_tokens=16).run(["the old bridge"])
    np.testing.assert_allclose(hidden, own([2, 4, 12, 5, 3]), atol=1e-5)


def test_no_text_is_too_strange(shared: Path) -> None:
    vectors = OnnxEncoder(shared).encode(TEXTS, "passage")
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [(2, 30, (2, 10)), (30, 3, (9, 3)), (30, 30, (6, 6)), (1, 1, (1, 1))],
)
def test_of_a_pair_the_longer_text_is_truncated(
    shared: Path, first: int, second: int, kept: tuple[int, int]
) -> None:
    (row,) = SharedTokenizer(shared, 16).encode_batch([("old " * first, "river " * second)])
    old, river = WORDS.index("old"), WORDS.index("river")
    assert row.ids == [2, *[old] * kept[0], 3, 3, *[river] * kept[1], 3]


def test_a_missing_library_names_the_extra(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("multilingual"))):
        Session(shared, max_tokens=16)


def damaged(content: str) -> np.ndarray[Any, Any]:
    if content == "too few":
        return random_rows()[:-1]
    return np.zeros((len(WORDS), WIDTH), np.float32)


@pytest.mark.parametrize("content", ["too few", "floats", "cut", "missing"])
def test_a_damaged_table_is_a_missing_model(shared: Path, content: str) -> None:
    table = shared.parent / VECTORS
    if content == "missing":
        table.unlink()
    elif content == "cut":
        table.write_bytes(table.read_bytes()[:-1])
    else:
        np.save(table, damaged(content))
    with pytest.raises(MissingModel):
        Session(shared, max_tokens=16)
