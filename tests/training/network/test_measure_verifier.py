"""Networks compared on one window of each evidence: what is counted, and of which weights."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

import measure_verifier as m  # noqa: E402

from pincite.training import network  # noqa: E402
from pincite.training import run as runs  # noqa: E402
from pincite.training.export import export  # noqa: E402
from pincite.training.groups import half_of, is_held_back  # noqa: E402
from pincite.training.recipe import Recipe, SetRecipe  # noqa: E402

Rows = Callable[..., list[dict[str, Any]]]
Write = Callable[[Path, list[Any]], Path]


def said(*rows: tuple[float, float, float]) -> Any:
    return np.array(rows, dtype=np.float32)


def row(label: str, part: str) -> m.Row:
    return m.Row("towns", "1", "A claim.", "A window.", label, part)


def test_partial_rows_are_not_supported_and_neither_refuted_nor_not() -> None:
    labels = ["support", "refute", "nei", "partial"]
    found = m.measured(
        labels, said((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.2, 0.7), (0.05, 0.9, 0.05))
    )
    assert (found["auroc_support"], found["auroc_refuted"], found["accuracy"]) == (1.0, 1.0, 1.0)
    assert found["partial_called_refuted"] == 1.0
    assert found["support_called_refuted"] == 0.0
    worse = m.measured(labels, said(*[(0.5, 0.2, 0.3)] * 3, (0.9, 0.05, 0.05)))
    assert worse["auroc_support"] == pytest.approx(1 / 3, abs=1e-4)


def test_a_threshold_of_refuted_is_fitted_on_one_half_and_measured_on_the_other() -> None:
    rows = [
        row("refute", "fit"),
        row("nei", "fit"),
        row("refute", "measure"),
        row("nei", "measure"),
    ]
    p = said((0.2, 0.7, 0.1), (0.2, 0.6, 0.2), (0.1, 0.9, 0.0), (0.1, 0.8, 0.1))
    found = m.of_refuted(rows, p)
    assert found["threshold"] == 0.61
    assert (found["called"], found["precision"], found["recall"]) == (2, 0.5, 1.0)
    never = said((0.2, 0.6, 0.2), (0.2, 0.7, 0.1), (0.1, 0.9, 0.0), (0.1, 0.8, 0.1))
    assert m.of_refuted(rows, never) == {"threshold": None}


@pytest.fixture
def claims(tmp_path: Path, rows_of: Rows, write: Write) -> Path:
    for folder in ("train", "dev"):
        (tmp_path / "claims" / folder).mkdir(parents=True)
    for name in m.DEV:
        write(tmp_path / "claims" / "dev" / f"{name}.jsonl.gz", rows_of(4))
    write(tmp_path / "claims" / "train" / "towns.jsonl.gz", rows_of(40, seed=2))
    return tmp_path / "claims"


def test_dev_rows_and_claims_held_back_are_measured_and_kept(claims: Path, tmp_path: Path) -> None:
    recipe = Recipe(sets=(SetRecipe("towns", held_back=True), SetRecipe("seen")), window_words=30)
    found = m.windows(claims, recipe, tmp_path / "w.jsonl", looks=2)
    held = [each for each in found if each.file == "towns"]
    assert len(found) == 12 + len(held)
    assert 0 < len(held) < 20
    assert all(is_held_back(each.claim, recipe.seed) for each in held)
    assert all(each.part == half_of(each.claim, recipe.seed) for each in held)
    other = replace(recipe, seed=99)
    assert m.windows(claims, other, tmp_path / "w.jsonl", looks=2) == found


def test_a_run_that_goes_on_is_read_as_the_model_that_it_becomes(
    claims: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    recipe = Recipe(
        sets=(SetRecipe("towns"),), max_tokens=64, steps=3, batch_tokens=200, learning_rate=1e-2
    )
    folder = tmp_path / "run"
    run = runs.Run(claims / "train", folder, recipe, str(tiny_bert), dense=False, device="cpu")
    model = runs.train_verifier(run, lambda *_: None, lambda _: None, lambda *_: None)
    pairs = [("The mill of Holm is old.", "It was built."), ("A fair.", "The river of Gram.")]
    going_on = m.judge_of(str(folder), 1)(pairs)
    assert np.allclose(going_on, m.judge_of(str(model), 1)(pairs), atol=1e-5)
    base, tokenizer = network.load(str(tiny_bert))
    before = network.Pairs(base.eval(), tokenizer, 64).judged(pairs).numpy()
    assert not np.allclose(going_on, before, atol=1e-3)
    export(model, tmp_path / "out", source="here", licence="none", floats=True)
    assert np.allclose(going_on, m.judge_of(str(tmp_path / "out"), 1)(pairs), atol=1e-3)
