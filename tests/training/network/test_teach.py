"""Teachers asked once: what they said teaches as they would, and nothing else is taken for it."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

import teach  # noqa: E402

from pincite.errors import ConfigError  # noqa: E402
from pincite.training import network  # noqa: E402
from pincite.training import run as runs  # noqa: E402
from pincite.training.recipe import read_recipe  # noqa: E402

Rows = Callable[..., list[dict[str, Any]]]
Write = Callable[[Path, list[Any]], Path]
RECIPE = """
max_passages = 1
max_tokens = 64
batch_tokens = 200
steps = 4
learning_rate = 1e-2
distillation = 0.8
[[sets]]
name = "towns"
"""


@pytest.fixture
def asked(
    tmp_path: Path, tiny_bert: Path, rows_of: Rows, write: Write, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Runs the tool with these teachers; its file."""
    (tmp_path / "claims").mkdir()
    write(tmp_path / "claims" / "towns.jsonl.gz", rows_of(40, seed=2))
    (tmp_path / "recipe.toml").write_text(RECIPE, "utf-8")

    def call(*teachers: Path) -> Path:
        out = tmp_path / f"said{len(teachers)}.npz"
        given = [tmp_path / "claims", tmp_path / "recipe.toml", *teachers, "--base", tiny_bert]
        monkeypatch.setattr(sys, "argv", ["teach", *map(str, given), "--out", str(out)])
        teach.main()
        return out

    return call


@pytest.fixture
def trained(tmp_path: Path, tiny_bert: Path) -> Callable[..., Path]:
    """The model of a run with a teacher."""

    def call(name: str, teacher: Path | None, **changes: Any) -> Path:
        recipe = replace(read_recipe(tmp_path / "recipe.toml"), **changes)
        run = runs.Run(
            tmp_path / "claims",
            tmp_path / name,
            recipe,
            str(tiny_bert),
            teacher=teacher,
            dense=False,
            device="cpu",
        )
        return runs.train_verifier(run, lambda *_: None, lambda _: None, lambda *_: None)

    return call


def logits(folder: Path) -> Any:
    model, tokenizer = network.load_trained(folder)
    pairs = [("The mill of Holm is old.", "It was built."), ("A fair.", "The river of Gram.")]
    return network.Pairs(model, tokenizer, 64).judged(pairs).numpy()


def test_what_was_said_teaches_as_the_teacher_itself(
    asked: Callable[..., Path], trained: Callable[..., Path]
) -> None:
    teacher = trained("teacher", None, seed=5, learning_rate=5e-2)
    alone = logits(trained("alone", None))
    there = logits(trained("there", teacher))
    told = logits(trained("told", asked(teacher)))
    assert np.allclose(told, there, atol=2e-2)  # kept in 16 bits
    assert not np.allclose(told, alone, atol=5e-2)


def test_of_several_teachers_the_mean_is_kept_and_the_same_command_goes_on(
    asked: Callable[..., Path], trained: Callable[..., Path], tiny_bert: Path
) -> None:
    one, other = trained("one", None, seed=5), trained("other", None, seed=6)
    with np.load(asked(one, other), allow_pickle=False) as both:
        first = dict(zip(both["pairs"].tolist(), both["said"].tolist(), strict=True))
    with np.load(asked(one), allow_pickle=False) as alone:
        assert set(alone["pairs"].tolist()) == set(first)
        assert not np.allclose(alone["said"], list(first.values()), atol=1e-3)
    before = asked(one, other)
    stamp = before.read_bytes()
    assert asked(one, other).read_bytes() == stamp  # all is known: nobody is asked again


def test_pairs_that_nobody_was_asked_of_are_refused(
    asked: Callable[..., Path], trained: Callable[..., Path], tmp_path: Path
) -> None:
    said = asked(trained("teacher", None))
    with pytest.raises(ConfigError, match=r"does not say what its teachers think of \d+ of \d+"):
        trained("other", said, seed=99)
    (tmp_path / "bad.npz").write_bytes(b"no archive")
    with pytest.raises(ConfigError, match=r"bad\.npz is no file of tools/teach\.py"):
        trained("bad", tmp_path / "bad.npz")
