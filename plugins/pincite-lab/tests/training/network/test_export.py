"""What is exported answers as the network that was trained."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite.models import weights  # noqa: E402
from pincite.models.session import Session  # noqa: E402
from pincite_lab.training import network  # noqa: E402
from pincite_lab.training.export import export  # noqa: E402

PAIRS = [
    ("The mill of Holm was opened in 1811.", "The mill of Holm was not opened in 1811."),
    ("the church of Gram is closed", "The people of Gram remember the old church. " * 4),
    ("a", "b"),
    ("The tower of Lund", "A fair by the river, every summer."),
]


def written(base: Path, folder: Path, **changes: Any) -> Path:
    """The base as a run would write it at its end."""
    model, tokenizer = network.load(str(base))
    for name, value in changes.items():
        setattr(model.config, name, value)
    network.write_model(model, tokenizer, folder)
    return folder


def expected(trained: Path) -> Any:
    model, tokenizer = network.load_trained(str(trained))
    with torch.no_grad():
        return network.Pairs(model, tokenizer, 64).logits(PAIRS).numpy()


def n_bytes(folder: Path) -> int:
    """Of the weights: of networks this small the graph is the larger part."""
    import onnx

    stored = onnx.load(folder / "model.onnx").graph.initializer
    return sum(len(tensor.raw_data) + 4 * len(tensor.float_data) for tensor in stored)


def answered(folder: Path) -> Any:
    session = Session(weights.locate(str(folder)), max_tokens=64, threads=1)
    assert session.width == 3
    return session.logits(PAIRS)


@pytest.mark.parametrize(
    ("base", "changes"),
    [("tiny_bert", {}), ("tiny_bert", {"layer_norm_eps": 1e-6}), ("tiny_roberta", {})],
    ids=["bert", "bert-with-another-epsilon", "roberta"],
)
def test_float_logits_are_those_of_torch_and_int8_ones_are_near(
    base: str, changes: dict[str, Any], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    trained = written(request.getfixturevalue(base), tmp_path / "model", **changes)
    for name, floats in (("float", True), ("int8", False)):
        export(trained, tmp_path / name, source="a test", licence="CC0-1.0", floats=floats)
    want = expected(trained)
    assert want.std(axis=0).min() > 0.01, "the rows differ, or the test tests nothing"
    np.testing.assert_allclose(answered(tmp_path / "float"), want, atol=2e-4)
    assert np.abs(answered(tmp_path / "int8") - want).max() < 0.15 * np.abs(want).max()
    assert n_bytes(tmp_path / "int8") < 0.5 * n_bytes(tmp_path / "float")


def test_the_written_folder_is_hugging_faces(tiny_bert: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    trained = written(tiny_bert, tmp_path / "model")
    written(tiny_bert, tmp_path / "model")  # again over it
    names = {path.name for path in trained.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    model = AutoModelForSequenceClassification.from_pretrained(trained).eval()
    assert model.config.id2label == {0: "supported", 1: "refuted", 2: "neutral"}
    tokenizer = AutoTokenizer.from_pretrained(trained)
    how = {"padding": True, "truncation": True, "max_length": 64, "return_tensors": "pt"}
    given = tokenizer(*zip(*PAIRS, strict=True), **how)
    with torch.no_grad():
        logits = model(**given).logits.numpy()
    np.testing.assert_allclose(logits, expected(trained), atol=1e-4)
    assert not (tmp_path / "model.part").exists()
