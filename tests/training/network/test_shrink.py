"""A student holds layers of its teacher, and can be trained with it."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite.errors import ConfigError  # noqa: E402
from pincite.training import network, run  # noqa: E402
from pincite.training.shrink import shrink  # noqa: E402


@pytest.fixture
def trained(tiny_bert: Path, tmp_path: Path) -> Path:
    model, tokenizer = network.load(str(tiny_bert))
    run.write_model(model, tokenizer, tmp_path / "trained")
    return tmp_path / "trained"


def test_the_last_layer_and_the_head_are_kept(trained: Path, tmp_path: Path) -> None:
    assert shrink(trained, tmp_path / "student", 1) == [1]
    teacher, _ = network.load_trained(trained)
    student, _ = network.load_trained(tmp_path / "student")
    assert student.config.num_hidden_layers == len(student.bert.encoder.layer) == 1
    kept = student.bert.encoder.layer[0].state_dict()
    for name, value in teacher.bert.encoder.layer[1].state_dict().items():
        assert torch.equal(kept[name], value)
    assert torch.equal(student.classifier.weight, teacher.classifier.weight)
    pairs = [("The mill of Holm", "The mill was opened in 1811.")]
    assert network.Pairs(student, network.load_trained(trained)[1], 32).judged(pairs).shape == (
        1,
        3,
    )


def test_more_layers_than_there_are(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has 2 layers; 3 cannot be kept"):
        shrink(trained, tmp_path / "student", 3)
