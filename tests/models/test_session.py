"""Networks on ONNX Runtime, and vectors that they share, with a fake of sentencepiece."""

import re
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnx
import pytest
from support.laws import check_encoder

from conftest import HEADS, WIDTH, WORDS, tiny_weights
from pincite.errors import MissingExtra, MissingModel, install_command
from pincite.models import session as session_module
from pincite.models.session import (
    CHARS_PER_TOKEN,
    OnnxEncoder,
    Session,
    SharedTokenizer,
    dequantise,
    row_type,
)
from pincite.models.weights import PIECES, VECTORS
from pincite.protocols import Floats
from pincite_lab.training import bert_onnx

TEXTS = ["the old bridge", "it opened in 1911 .", "a", "the river town was old , by the bridge"]


def test_scores_are_those_of_the_precise_kernels(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Session(tiny_encoder, max_tokens=64)
    monkeypatch.setattr(session_module, "products_saturate", lambda: True)
    precise = Session(tiny_encoder, max_tokens=64)
    for (_, one), (_, other) in zip(chosen.run(TEXTS), precise.run(TEXTS), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_else_is_asked_changes_nothing(tiny_encoder: Path) -> None:
    encoder = OnnxEncoder(tiny_encoder)
    together = encoder.encode(TEXTS, "passage")
    for text, row in zip(TEXTS, together, strict=True):
        assert np.array_equal(encoder.encode([text], "passage")[0], row)


def test_an_encoder_keeps_the_laws(tiny_encoder: Path) -> None:
    check_encoder(OnnxEncoder(tiny_encoder))


def test_half_a_character_is_encoded(tiny_encoder: Path) -> None:
    one, other = OnnxEncoder(tiny_encoder).encode(["old \ud800 bridge", "old ? bridge"], "passage")
    assert np.array_equal(one, other)


def test_a_source_cannot_end_its_text(tiny_encoder: Path) -> None:
    (plain, marked) = (
        Session(tiny_encoder, max_tokens=32)._tokenizer.encode("a claim", text).tokens
        for text in ("a text", "a [SEP] text [CLS]")
    )
    assert marked.count("[SEP]") == plain.count("[SEP]")
    assert marked.count("[CLS]") == 1


def test_no_more_is_tokenized_than_the_network_can_read(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(tiny_encoder, max_tokens=16)
    asked: list[str] = []
    encode_batch = session._tokenizer.encode_batch

    class Seen:
        def encode_batch(self, rows: list[tuple[str, str]]) -> object:
            asked.extend(text for row in rows for text in row)
            return encode_batch(rows)

    monkeypatch.setattr(session, "_tokenizer", Seen())
    long = "<" * 1_000_000
    list(session.run([(long, long)]))
    assert max(map(len, asked)) == 16 * CHARS_PER_TOKEN


@pytest.mark.parametrize("content", [None, b"", b"not a network"])
def test_a_folder_without_a_usable_network_names_the_command(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(MissingModel, match=r"expected model\.onnx"):
        Session(tmp_path, max_tokens=8)


def test_more_threads_change_neither_order_nor_result(tiny_encoder: Path) -> None:
    texts = [f"the bridge {'was opened ' * (n % 7)}{n}" for n in range(40)]
    alone = OnnxEncoder(tiny_encoder, threads=1).encode(texts, "passage")
    together = OnnxEncoder(tiny_encoder, threads=3).encode(texts, "passage")
    assert np.array_equal(alone, together)


def test_a_run_that_is_left_early_ends(tiny_encoder: Path) -> None:
    session = Session(tiny_encoder, max_tokens=8, threads=2)
    rows = cast(Generator[tuple[int, Floats], None, None], session.run(["the bridge"] * 100))
    next(rows)
    rows.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("pincite-model")]


# ── A shared vocabulary ───────────────────────────────────────────────────────────────────────────

STRANGE = ["the old bridge", "it opened in 1911", "\ud800", "", "x" * 1_000_000]


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


def hidden_states(ids: list[int], words: Floats | None) -> Floats:
    """Those of a network that holds these vectors itself; None: those of the shared table."""
    from onnxruntime import InferenceSession

    words = dequantise(random_rows()) if words is None else words
    state = tiny_weights() | {bert_onnx.WORDS: words}
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
    np.testing.assert_array_equal(dequantise(row), expected)


def test_the_network_reads_the_tokens_of_a_text_from_its_own_or_a_shared_table(
    tiny_encoder: Path, shared: Path
) -> None:
    tokens = [2, 4, 12, 5, 3]
    for folder, words in ((tiny_encoder, tiny_weights()[bert_onnx.WORDS]), (shared, None)):
        ((row, hidden),) = Session(folder, max_tokens=64).run(["the old bridge"])
        assert row == 0
        np.testing.assert_allclose(hidden, hidden_states(tokens, words), atol=1e-4)


def test_no_text_is_too_strange(shared: Path) -> None:
    vectors = OnnxEncoder(shared).encode(STRANGE, "passage")
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
