import threading
from collections.abc import Generator
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from support.laws import check_encoder

from conftest import HEADS, WIDTH, tiny_weights
from pincite.errors import MissingModel
from pincite.models import session as session_module
from pincite.models.session import CHARS_PER_TOKEN, OnnxEncoder, Session
from pincite.protocols import Floats

TEXTS = ["the old bridge", "it opened in 1911 .", "a", "the river town was old , by the bridge"]


def reference(ids: list[int]) -> np.ndarray:
    """The last hidden states of one text, written out after Devlin et al. 2019."""
    from math import erf

    w = tiny_weights()

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return np.asarray(x * w[f"{name}.weight"] + w[f"{name}.bias"])

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return np.asarray(x @ w[f"{name}.weight"].T + w[f"{name}.bias"])

    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(2):
        p = f"encoder.layer.{layer}."
        q, k, v = (
            linear(x, f"{p}attention.self.{n}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for n in ("query", "key", "value")
        )
        s = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(WIDTH // HEADS))
        mixed = (s / s.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), WIDTH)
        x = norm(linear(mixed, f"{p}attention.output.dense") + x, f"{p}attention.output.LayerNorm")
        inner = linear(x, f"{p}intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        x = norm(linear(inner, f"{p}output.dense") + x, f"{p}output.LayerNorm")
    return x


def test_the_graph_equals_bert_written_out_by_hand(tiny_encoder: Path) -> None:
    session = Session(tiny_encoder, max_tokens=64)
    ((row, output),) = session.run(["the old bridge"])
    assert row == 0
    np.testing.assert_allclose(output, reference([2, 4, 12, 5, 3]), atol=1e-4)


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
