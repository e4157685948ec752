"""Two runs of one network become one; two networks do not."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite.errors import ConfigError  # noqa: E402
from pincite.training import network, run  # noqa: E402
from pincite.training.average import average  # noqa: E402
from pincite.training.shrink import shrink  # noqa: E402


@pytest.fixture
def two(tiny_bert: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A network, and the same with every weight one higher."""
    model, tokenizer = network.load(str(tiny_bert))
    run.write_model(model, tokenizer, tmp_path / "one")
    with torch.no_grad():
        for weight in model.parameters():
            weight += 1
    run.write_model(model, tokenizer, tmp_path / "other")
    return tmp_path / "one", tmp_path / "other"


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_each_weight_lies_between(two: tuple[Path, Path], tmp_path: Path, share: float) -> None:
    average(*two, tmp_path / "mean", share)
    first, _ = network.load_trained(two[0])
    mean, _ = network.load_trained(tmp_path / "mean")
    for before, after in zip(first.parameters(), mean.parameters(), strict=True):
        torch.testing.assert_close(after, before + share)


def test_another_network_is_refused(two: tuple[Path, Path], tmp_path: Path) -> None:
    shrink(two[1], tmp_path / "student", 1)
    with pytest.raises(ConfigError, match="are not two runs of one network"):
        average(two[0], tmp_path / "student", tmp_path / "mean")
    assert not (tmp_path / "mean").exists()
