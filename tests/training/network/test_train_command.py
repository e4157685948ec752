"""`pincite train` from claims to a folder that `verify` loads, with a tiny base."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite.models import weights
from pincite.models.session import Session
from pincite.training import loop

Rows = Callable[..., list[dict[str, Any]]]
Write = Callable[[Path, list[Any]], Path]
RECIPE = """
max_tokens = 64
batch_tokens = 300
steps = 6
learning_rate = 1e-3
[[sets]]
name = "towns"
retrieve = true
visits = 2
[[sets]]
name = "more"
"""


@pytest.fixture
def home(tmp_path: Path, rows_of: Rows, write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "towns.jsonl.gz", [*rows_of(20), "not json"])
    write(tmp_path / "data" / "more.jsonl", rows_of(10, seed=5))
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


@pytest.fixture
def train(pincite: Callable[..., str], tiny_bert: Path) -> Callable[..., str]:
    def call(*more: object, code: int = 0) -> str:
        given = ["--recipe", "recipe.toml", "--base", tiny_bert, "--no-dense", "--threads", 1]
        return pincite("train", "verifier", "data", *given, "--device", "cpu", *more, code=code)

    return call


def test_from_claims_to_a_verifier(
    home: Path, train: Callable[..., str], pincite: Callable[..., str]
) -> None:
    message = train("--run", "run")
    assert "skipped:" in message
    assert "line 21" in message
    assert "pincite train export run/model OUT" in message
    model = home / "run" / "model"
    assert json.loads((model / "config.json").read_text())["id2label"] == {
        "0": "supported",
        "1": "refuted",
        "2": "neutral",
    }
    assert (model / "model.safetensors").exists()
    pincite("train", "export", model, "out", "--source", "towns", "--licence", "CC0-1.0")
    folder = weights.locate(str(home / "out"))
    session = Session(folder, max_tokens=weights.read_card(folder)["max_tokens"])
    assert session.width == 3
    assert session.logits([("The mill of Holm", "The mill of Holm was not built.")]).shape == (1, 3)
    assert weights.read_card(folder)["licence"] == "CC0-1.0"


def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(
    home: Path, train: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    train("--run", "whole")
    rate_at = loop.rate_at

    def interrupted(step: int, *rest: Any) -> float:
        if step == 3:
            raise KeyboardInterrupt
        return rate_at(step, *rest)

    monkeypatch.setattr(loop, "rate_at", interrupted)
    message = train("--run", "cut", code=130)
    assert "the same command goes on" in message
    assert not (home / "cut" / "model").exists()
    monkeypatch.setattr(loop, "rate_at", rate_at)
    train("--run", "cut")
    whole, cut = (home / name / "model" / "model.safetensors" for name in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()


def test_another_recipe_or_base_in_the_same_run_is_refused(
    home: Path, train: Callable[..., str], tiny_roberta: Path
) -> None:
    train("-q")
    (home / "recipe.toml").write_text(f"seed = 5\n{RECIPE}")
    assert "recipe.seed was 13, is 5" in train(code=2)
    (home / "recipe.toml").write_text(RECIPE)
    assert "pincite-train holds another run: base was" in train("--base", tiny_roberta, code=2)


def test_a_trained_model_can_be_base_and_teacher_of_the_next(
    home: Path, train: Callable[..., str], pincite: Callable[..., str]
) -> None:
    train("--run", "one", "-q")
    pincite("train", "export", "one/model", "exported", "--source", "towns", "--licence", "MIT")
    for run, teacher in (("two", "one/model"), ("three", "exported")):
        message = train("--run", run, "--base", "one/model", "--teacher", teacher, "-q")
        assert message == ""
    two, three = ((home / run / "model/model.safetensors").read_bytes() for run in ("two", "three"))
    assert two != three, "in int8 a teacher says nearly the same"


def test_an_encoder_is_no_teacher(home: Path, train: Callable[..., str]) -> None:
    encoder = Path(weights.locate(weights.ENCODER))
    message = train("--run", "one", "--teacher", encoder, "-q", code=2)
    assert "has 384 outputs; a teacher has 3: supported, refuted, neutral" in message


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--base", "no/such/folder"], 6, "folder cannot be loaded as a Hugging Face encoder"),
        (["--teacher", "data"], 6, "data holds no trained verifier"),
        (["--max-bad-rows", "0"], 3, "more than 0 bad rows"),
        (["--recipe", "none.toml"], 2, "none.toml cannot be read as a recipe"),
    ],
    ids=["base", "teacher", "bad rows", "recipe"],
)
def test_what_is_wrong_is_one_message(
    home: Path, train: Callable[..., str], more: list[str], code: int, message: str
) -> None:
    assert message in train("--run", "run", *more, code=code)


def test_rows_of_ones_own_are_counted_in_the_card_and_kept_to(
    home: Path, train: Callable[..., str], pincite: Callable[..., str], rows_of: Rows, write: Write
) -> None:
    own = write(home / "own.jsonl", [{**row, "claim": "My own."} for row in rows_of(5, seed=9)])
    train("--run", "run", "--extra", own, "-q")
    card = (home / "run" / "model" / "pincite.json").read_text()
    assert json.loads(card) == {"kind": "verifier", "own_rows": 5}
    train("--run", "run", "--extra", own.rename(home / "moved.jsonl"), "-q")
    pincite("train", "export", home / "run" / "model", "out")
    assert weights.read_card(home / "out")["own_rows"] == 5
    assert "My own" not in (home / "out" / "pincite.json").read_text()
    write(home / "moved.jsonl", rows_of(6, seed=9))
    for more in (["--extra", "moved.jsonl"], [], ["--extra", "moved.jsonl", "--extra-visits", 5]):
        message = train("--run", "run", *more, code=2)
        assert "holds another run: extra rows was ['sha256 " in message


def test_a_bad_file_of_ones_own_can_be_mended(
    home: Path, train: Callable[..., str], rows_of: Rows, write: Write
) -> None:
    write(home / "own.jsonl", ["{}"])
    assert "A file of --extra cannot be used" in train("--extra", "own.jsonl", code=3)
    write(home / "own.jsonl", rows_of(3))
    train("--extra", "own.jsonl", "-q")


def test_a_gpu_that_is_not_there_is_named(
    home: Path, train: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "finds no GPU here" in train("--device", "cuda", code=2)
    assert not (home / "pincite-train").exists()


def test_without_the_extra_the_command_to_install_it_is_named(
    home: Path, train: Callable[..., str], pincite: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "pincite.cli.extras.find_spec", lambda name: None if name == "torch" else found(name)
    )
    said = train(code=6)
    assert "needs torch" in said
    assert "pip install 'pincite[train]'" in said
    assert "pip install 'pincite[train]'" in pincite("train", "export", "a", "b", code=6)
