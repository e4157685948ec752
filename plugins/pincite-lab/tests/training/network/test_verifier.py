"""`pincite train verifier` with tiny networks: it learns, resumes exactly, refuses bad input."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from support.files import write_jsonl  # noqa: E402
from training.conftest import invented  # noqa: E402

from pincite.errors import ConfigError, InputError  # noqa: E402
from pincite.models import weights  # noqa: E402
from pincite.models.session import Session  # noqa: E402
from pincite_lab.training import network, verifier  # noqa: E402
from pincite_lab.training.groups import Group  # noqa: E402
from pincite_lab.training.recipe import STATE, Recipe, Run, SetRecipe, record  # noqa: E402

RECIPE = Recipe(
    sets=(SetRecipe("towns"),), max_tokens=64, batch_tokens=180, steps=20, learning_rate=5e-3
)


@pytest.fixture
def groups() -> list[Group]:
    """Two latent passages each, with a negative or a changed claim here and there."""
    made = []
    for number, row in enumerate(invented(90)):
        told, other = row["evidence"].split(". ", 1)
        negatives = ("The old church of Gram is closed.",) if number % 2 else ()
        changed = row["claim"].replace("was", "was not")
        rivals = ((changed, "refute"),) if number % 4 == 0 and row["label"] == "support" else ()
        passages = (other, told) if number % 3 else (told,)
        about = "towns", row["id"], row["claim"], row["label"]
        made.append(Group(*about, passages, negatives, rivals))
    return made


def trained(
    rows: list[Group], recipe: Recipe, base: Path, folder: Path, stop: int = 0, teacher: Any = None
) -> tuple[dict[str, Any], list[float]]:
    """The weights after a run in `folder`, new or gone on with, and the mean loss at each step."""
    folder.mkdir(exist_ok=True)
    means: list[float] = []
    model, tokenizer = network.load(str(base))

    def progress(done: int, total: int, loss: float) -> None:
        assert total == recipe.steps
        means.append(loss)
        if done == stop:
            raise KeyboardInterrupt

    verifier.train(rows, recipe, model, tokenizer, folder, teacher, progress)
    return model.state_dict(), means


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def test_the_loss_falls(groups: list[Group], tiny_bert: Path, tmp_path: Path) -> None:
    recipe = replace(RECIPE, batch_tokens=600)  # less noise
    _, means = trained(groups * 4, recipe, tiny_bert, tmp_path / "run")
    assert len(means) == 20
    assert means[-1] < 0.75 * means[1]
    log = (tmp_path / "run" / verifier.LOG).read_text().splitlines()
    assert json.loads(log[-1]) == {"step": 20, "loss": round(means[-1], 4)}


@pytest.mark.parametrize("frozen", [0, 1])
def test_an_interrupted_run_ends_with_the_same_weights(
    groups: list[Group], tiny_bert: Path, tmp_path: Path, frozen: int
) -> None:
    recipe = replace(RECIPE, frozen_layers=frozen)
    whole, means = trained(groups, recipe, tiny_bert, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(groups, recipe, tiny_bert, tmp_path / "cut", stop=9)
    resumed, late = trained(groups, recipe, tiny_bert, tmp_path / "cut")
    assert len(late) == 11
    assert same(whole, resumed)
    assert late[0] > 0.3 * means[9], "the mean starts anew, not from zero"
    again, nothing = trained(groups, recipe, tiny_bert, tmp_path / "cut")
    assert nothing == []
    assert same(whole, again)


def test_ctrl_c_within_an_update_waits_for_its_end(
    groups: list[Group], tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = trained(groups, RECIPE, tiny_bert, tmp_path / "whole")
    step, calls = torch.optim.AdamW.step, []

    def interrupted(self: Any, *arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        step(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained(groups, RECIPE, tiny_bert, tmp_path / "cut")
    assert json.loads((tmp_path / "cut" / verifier.LOG).read_text())["step"] == 5
    resumed, late = trained(groups, RECIPE, tiny_bert, tmp_path / "cut")
    assert len(late) == 15
    assert same(whole, resumed)


def test_a_teacher_is_imitated(
    groups: list[Group], tiny_bert: Path, tiny_roberta: Path, tmp_path: Path
) -> None:
    model, tokenizer = network.load(str(tiny_roberta))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    recipe = replace(RECIPE, distillation=1.0, ranking_weight=0.0)
    teacher = network.Pairs(model.eval(), tokenizer, recipe.max_tokens)
    told, means = trained(groups, recipe, tiny_bert, tmp_path / "1", teacher=teacher)
    assert same(before, model.state_dict()), "the teacher is left as it was"
    assert means[-1] < means[2]
    alone, _ = trained(groups, recipe, tiny_bert, tmp_path / "2")
    assert not same(told, alone)


def test_rows_longer_than_the_network_are_refused(tiny_bert: Path, tiny_roberta: Path) -> None:
    for base in (tiny_bert, tiny_roberta):
        model, tokenizer = network.load(str(base))
        network.Pairs(model, tokenizer, 96)
        with pytest.raises(ConfigError, match="max_tokens is 97; this network takes 96"):
            network.Pairs(model, tokenizer, 97)


def test_pairs_come_out_in_order_whatever_their_lengths(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = network.load(str(tiny_bert))
    pairs = network.Pairs(model.eval(), tokenizer, 64)
    asked = [("the mill", "the old mill . " * (1 + 7 * n % 5)) for n in range(9)]
    with torch.no_grad():
        alone = torch.cat([pairs.logits([pair]) for pair in asked])
        monkeypatch.setattr(network, "CHUNK_TOKENS", (60, 60))
        together = pairs.logits(asked)
    assert torch.allclose(alone, together, atol=1e-5)
    assert alone.std(dim=0).min() > 1e-4, "the rows differ"


def test_a_head_in_another_order_is_turned_into_ours(tiny_bert: Path, tmp_path: Path) -> None:
    model, tokenizer = network.load(str(tiny_bert))
    weight = model.classifier.weight.detach().clone()
    model.config.id2label = {0: "CONTRADICTION", 1: "neutral", 2: "entailment"}
    model.save_pretrained(tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    turned, _ = network.load(str(tmp_path))
    assert torch.equal(turned.classifier.weight, weight[[2, 0, 1]])
    assert list(turned.config.id2label.values()) == ["supported", "refuted", "neutral"]
    with pytest.raises(ConfigError, match="has the labels CONTRADICTION, neutral, entailment"):
        network.load_trained(str(tmp_path))


def test_a_state_that_does_not_fit_is_refused(
    groups: list[Group], tiny_bert: Path, tiny_roberta: Path, tmp_path: Path
) -> None:
    short = replace(RECIPE, steps=2)
    trained(groups, short, tiny_bert, tmp_path)
    with pytest.raises(InputError, match="another base"):
        trained(groups, short, tiny_roberta, tmp_path)
    with pytest.raises(InputError, match="other layers were frozen"):
        trained(groups, replace(short, frozen_layers=1), tiny_bert, tmp_path)
    state = (tmp_path / STATE).read_bytes()
    (tmp_path / STATE).write_bytes(state[: len(state) // 2])
    with pytest.raises(InputError, match="cannot be read as the state of a run"):
        trained(groups, short, tiny_bert, tmp_path)


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_state(
    groups: list[Group], tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        trained(groups, RECIPE, tiny_bert, tmp_path, stop=2)
    before = (tmp_path / STATE).read_bytes()

    def nan(*_: object) -> Any:
        return torch.tensor(float("nan"), requires_grad=True)

    monkeypatch.setattr("pincite_lab.training.verifier.Objective.loss", nan)
    with pytest.raises(InputError, match=r"loss is nan at step 2\. Lower learning_rate"):
        trained(groups, RECIPE, tiny_bert, tmp_path)
    assert (tmp_path / STATE).read_bytes() == before


def test_the_shipped_verifier_is_a_base_that_answers_as_its_int8_file() -> None:
    pairs = [
        ("The mill of Holm was built in 1811.", "The mill of Holm was built in 1811 by Lise Holt."),
        ("The mill of Holm was built in 1811.", "The mill of Holm was never built."),
        ("The mill of Holm was built in 1811.", "Ferries carry goats across the river."),
    ]
    model, tokenizer = network.load(weights.VERIFIER)
    ours = network.Pairs(model.eval(), tokenizer, 64).judge(pairs)
    session = Session(weights.locate(weights.VERIFIER), max_tokens=64, threads=1)
    shipped = torch.from_numpy(session.logits(pairs))
    # int8 activations are rounded too; the weights are the same.
    assert torch.allclose(ours, shipped, atol=0.35)
    assert ours.argmax(dim=-1).tolist() == shipped.argmax(dim=-1).tolist()


# The record of a run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "data", tmp_path / "run", RECIPE, "base")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": "other"}, r"holds another run: base was 'base', is 'other'"),
        ({"recipe": replace(RECIPE, seed=99)}, r"recipe\.seed was 13, is 99"),
        ({"dense": False}, "dense was True, is False"),
        ({"data": Path("/elsewhere")}, "data was '.*', is '/elsewhere'"),
        ({"teacher": "pincite-verifier"}, "teacher was None, is 'pincite-verifier'"),
    ],
    ids=["base", "recipe", "dense", "data", "teacher"],
)
def test_another_run_is_refused(run: Run, change: dict[str, object], message: str) -> None:
    record(run)
    with pytest.raises(ConfigError, match=message) as caught:
        record(replace(run, **change))  # type: ignore[arg-type]
    assert "--run" in str(caught.value)


# The command

TOML = """
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
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_jsonl(tmp_path / "data" / "towns.jsonl.gz", *invented(20), "not json")
    write_jsonl(tmp_path / "data" / "more.jsonl", *invented(10, seed=5))
    (tmp_path / "recipe.toml").write_text(TOML)
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
    labels = json.loads((model / "config.json").read_text())["id2label"]
    assert labels == {"0": "supported", "1": "refuted", "2": "neutral"}
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
    rate_at = verifier.rate_at

    def interrupted(step: int, *rest: Any) -> float:
        if step == 3:
            raise KeyboardInterrupt
        return rate_at(step, *rest)

    monkeypatch.setattr(verifier, "rate_at", interrupted)
    message = train("--run", "cut", code=130)
    assert "the same command again to continue" in message
    assert not (home / "cut" / "model").exists()
    monkeypatch.setattr(verifier, "rate_at", rate_at)
    train("--run", "cut")
    whole, cut = (home / name / "model" / "model.safetensors" for name in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--base", "no/such/folder"], 6, "folder cannot be loaded as a Hugging Face encoder"),
        (["--teacher", "data"], 6, "data has no trained verifier"),
        (["--recipe", "none.toml"], 2, "none.toml cannot be read as a recipe"),
    ],
    ids=["base", "teacher", "recipe"],
)
def test_what_is_wrong_is_one_message(
    home: Path, train: Callable[..., str], more: list[str], code: int, message: str
) -> None:
    assert message in train("--run", "run", *more, code=code)
