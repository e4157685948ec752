"""`pincite train encoder` from files to a folder that `--encoder` loads; stopped runs go on."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite.corpus.embedded import EmbeddedCorpus  # noqa: E402
from pincite.errors import ConfigError, InputError  # noqa: E402
from pincite.models.encoder import OnnxEncoder  # noqa: E402
from pincite.training import loop, prepare  # noqa: E402
from pincite.training.encoder import run as encoder  # noqa: E402
from pincite.training.encoder import searches  # noqa: E402
from pincite.training.recipe import ENCODER, EncoderRecipe, SetRecipe, recipe_in  # noqa: E402
from pincite.training.run import Run  # noqa: E402

Rows = Callable[..., list[dict[str, Any]]]
Write = Callable[[Path, list[Any]], Path]
RECIPE = EncoderRecipe(
    sets=(SetRecipe("towns", visits=8, retrieve=True), SetRecipe("more", visits=4)),
    max_query_tokens=32,
    max_passage_tokens=64,
    batch_claims=6,
    steps=20,
    learning_rate=5e-3,
)


def silent(*_: object) -> None:
    pass


@pytest.fixture
def run(tmp_path: Path, rows_of: Rows, write: Write, tiny_bert: Path) -> Run[EncoderRecipe]:
    data = tmp_path / "data"
    data.mkdir()
    write(data / "towns.jsonl.gz", [*rows_of(24), "not json"])
    write(data / "more.jsonl", rows_of(12, seed=5))
    return Run(data, tmp_path / "run", RECIPE, str(tiny_bert), device="cpu", threads=1)


def weights_of(run: Run[EncoderRecipe]) -> dict[str, bytes]:
    """The written networks, byte by byte."""
    found = sorted((run.folder / "model").rglob("*.safetensors"))
    return {str(path.relative_to(run.folder)): path.read_bytes() for path in found}


def trained(run: Run[EncoderRecipe], stop_at: int = 0) -> list[float]:
    """The mean loss at each step that was done."""
    means: list[float] = []

    def progress(done: int, total: int, loss: float) -> None:
        assert total == 20
        means.append(loss)
        if done == stop_at:
            raise KeyboardInterrupt

    encoder.train_encoder(run, silent, silent, progress)
    return means


def test_the_shipped_recipe_can_be_read() -> None:
    recipe = recipe_in(ENCODER, EncoderRecipe)
    assert len(recipe.sets) > 5
    assert all(each.retrieve for each in recipe.sets)
    assert "sick_train" not in [each.name for each in recipe.sets], "not for commercial use"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("towers = 'two'", "towers is 'two'; expected one of shared, separate, query"),
        ("pooling = 'max'", "pooling is 'max'; expected one of mean, cls"),
        ("query = 'all'", r"query is 'all'; expected one of title\+claim, only_before_cit"),
        ("score_temperature = 0", "score_temperature is 0; expected a number above 0"),
        ("batch_claims = 0", "batch_claims is 0; expected a number above 0"),
        ("swaps = 0.5", "unknown key 'swaps'; EncoderRecipe knows sets, seed"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(f'{text}\n[[sets]]\nname = "a"\n')
    with pytest.raises(ConfigError, match=message):
        recipe_in(path, EncoderRecipe)


def test_the_loss_falls_and_negatives_are_of_other_documents(run: Run[EncoderRecipe]) -> None:
    means = trained(run)
    assert len(means) == 20
    assert means[-1] < 0.9 * means[1]
    found = searches.read_searches(run.folder / prepare.GROUPS)
    assert {s.set_name for s in found if s.negatives} == {"towns"}
    for search in found:
        assert not {key for key, _ in search.negatives} & set(search.documents)
        assert not {text for _, text in search.negatives} & set(search.passages)


@pytest.mark.parametrize("kind", ["shared", "separate", "query"])
def test_an_interrupted_run_ends_with_the_same_weights(
    run: Run[EncoderRecipe], tmp_path: Path, kind: str
) -> None:
    run = replace(run, recipe=replace(RECIPE, towers=kind, strategy="soft_em"))
    cut = replace(run, folder=tmp_path / "cut")
    trained(run)
    with pytest.raises(KeyboardInterrupt):
        trained(cut, stop_at=9)
    assert len(trained(cut)) == 11
    assert len(weights_of(run)) == (1 if kind == "shared" else 2)
    assert weights_of(cut) == weights_of(run)
    other = replace(run, recipe=replace(run.recipe, seed=14), folder=tmp_path / "other")
    trained(other)
    assert weights_of(other) != weights_of(run)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import torch
from pincite.training import loop, prepare
from pincite.training.encoder import run as encoder
from pincite.training.run import Run
import test_encoder
torch.set_num_threads(1)
loop.descend.__defaults__ = (None, 0.0)
def stopped(what, done, total):
    if {at!r} == what:
        os.kill(os.getpid(), signal.SIGKILL)
def progress(done, total, loss):
    if {at!r} == "step" and done == 9:
        os.kill(os.getpid(), signal.SIGKILL)
run = Run(Path({data!r}), Path({folder!r}), test_encoder.RECIPE, {base!r}, device="cpu", threads=1)
encoder.train_encoder(run, stopped, lambda _: None, progress)
"""


@pytest.mark.parametrize("at", ["step", "searching negatives"])
def test_a_killed_run_ends_with_the_same_weights(
    run: Run[EncoderRecipe], tmp_path: Path, at: str
) -> None:
    cut = replace(run, folder=tmp_path / "cut")
    code = KILLED.format(tests=str(Path(__file__).parent), data=str(run.data), base=run.base,
                         folder=str(cut.folder), at=at)  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    trained(run)
    assert len(trained(cut)) == (12 if at == "step" else 20), "saved after step 8, killed in 9"
    assert weights_of(cut) == weights_of(run)


def test_a_plan_holds_every_search_once() -> None:
    recipe = replace(RECIPE, steps=0)
    batches = encoder.plan(20, recipe)
    assert sorted(n for batch in batches for n in batch) == list(range(20))
    assert list(map(len, batches)) == [6, 6, 6, 2]
    assert encoder.plan(20, replace(recipe, seed=2)) != batches
    assert encoder.plan(20, replace(recipe, steps=2)) == batches[:2]


def test_a_verifier_teaches_its_ranking(
    run: Run[EncoderRecipe], tiny_bert: Path, tmp_path: Path
) -> None:
    from pincite.training import network
    from pincite.training.export import export
    from pincite.training.run import write_model

    write_model(*network.load(str(tiny_bert)), tmp_path / "verifier")
    export(tmp_path / "verifier", tmp_path / "teacher", source="", licence="", floats=True)
    taught = replace(run, teacher=tmp_path / "teacher", folder=tmp_path / "taught",
                     recipe=replace(RECIPE, confusing=1))  # fmt: skip
    trained(taught)
    found = searches.read_searches(taught.folder / prepare.GROUPS)
    assert any(s.negatives for s in found)
    for search in found:
        assert len(search.scores) == len(search.passages) + len(search.negatives)
        own, others = search.scores[: len(search.passages)], search.scores[len(search.passages) :]
        assert all(score < max(own) for score in others)


def test_data_without_anything_to_be_found_is_refused(
    run: Run[EncoderRecipe], write: Write
) -> None:
    rows = [{"id": 1, "claim": "c", "evidence": "e", "label": "nei"}]
    write(run.data / "more.jsonl", rows)
    recipe = replace(RECIPE, sets=(SetRecipe("more"),))
    with pytest.raises(InputError, match="no row whose evidence is to be found"):
        trained(replace(run, recipe=recipe))


@pytest.fixture
def pincite(
    run: Run[EncoderRecipe], monkeypatch: pytest.MonkeyPatch, pincite: Callable[..., str]
) -> Callable[..., str]:
    """Runs the command beside the data; its messages, if it ends with the code."""
    monkeypatch.chdir(run.data.parent)
    monkeypatch.setenv("PINCITE_CACHE", str(run.data.parent / "cache"))
    sets = '[[sets]]\nname = "towns"\nretrieve = true\nvisits = 2\n'
    (run.data.parent / "r.toml").write_text(
        f"max_query_tokens = 32\nmax_passage_tokens = 64\nbatch_claims = 8\n{sets}"
    )

    return pincite


def test_from_claims_to_a_corpus_that_is_searched(
    run: Run[EncoderRecipe], pincite: Callable[..., str], tmp_path: Path
) -> None:
    given = ["train", "encoder", "data", "--recipe", "r.toml", "--base", run.base, "--threads", 1]
    message = pincite(*given, "--run", "mine")
    assert "line 25" in message
    assert "Next: pincite train export mine/model OUT" in message
    assert json.loads((tmp_path / "mine" / "run.json").read_text())["recipe"]["batch_claims"] == 8
    message = pincite("train", "export", "mine/model", "out", "--licence", "CC0-1.0")
    assert "pincite corpus add CORPUS PAGES --encoder out" in message
    page = {"url": "http://a", "text": "The mill of Holm was opened in 1811."}
    (tmp_path / "pages.jsonl").write_text(json.dumps(page) + "\n")
    pincite("corpus", "add", "corpus", "pages.jsonl", "--encoder", "out", "-q")
    with EmbeddedCorpus.open(tmp_path / "corpus", OnnxEncoder(tmp_path / "out")) as corpus:
        ((hit,),) = corpus.dense().retrieve(["The mill of Holm"], 1)
    assert hit.passage.url == "http://a"
    assert "bad rows" in pincite(*given, "--run", "other", "--max-bad-rows", 0, code=3)
    more = pincite(*given, "--run", "mine", "--no-dense", code=2)
    assert "holds another run: dense was True, is False" in more
    assert "No such" not in pincite(*given, "--run", "mine", "--teacher", "nowhere", code=6)


def test_ctrl_c_says_how_to_go_on(
    run: Run[EncoderRecipe], pincite: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "rate_at", interrupted)
    given = ["--recipe", "r.toml", "--base", run.base, "--no-dense", "--run", "cut"]
    assert "the same command goes on" in pincite("train", "encoder", "data", *given, code=130)
