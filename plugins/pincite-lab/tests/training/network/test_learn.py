"""`pincite learn` from rows of feedback to the model in use and back, with a tiny base."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from support.files import write_jsonl

from pincite.models import calibration, weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.types import Claim, Passage, Span
from pincite_lab.training import groups, learning, network
from pincite_lab.training import verifier as loop
from pincite_lab.training.export import export
from pincite_lab.training.recipe import STATE

Learn = Callable[..., dict[str, Any]]
TOWNS = "varde holm skov lund aaby brenn tofte nesby gram olst".split()
THINGS = "bridge mill tower school harbour church".split()
SMALL: dict[str, Any] = {"max_tokens": 48, "learning_rate": 3e-3, "frozen_layers": 0}
SMALL |= {"frozen_embeddings": False, "precision": "float32"}
VISITS = 12  # a network that knows nothing needs more than one that reads
# The same in a process of its own, which kills itself in the seventh step.
KILLED = """
import os, signal, sys
from dataclasses import replace
import torch
from pincite.cli import main
from pincite_lab.training import learning, network
from pincite_lab.training import verifier as loop

torch.set_num_threads(1)
learning.RECIPE, learning.SAVE_EVERY = replace(learning.RECIPE, **{small}), -1.0
learning.VISITS, learning.SHARE = {visits}, 1.0
rate_at, calls = loop.rate_at, []

def dying(*given):
    calls.append(given)
    if len(calls) == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return rate_at(*given)

loop.rate_at = dying
sys.argv = ["pincite", *sys.argv[1:]]
main()
"""


def opened(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Readers' rows: that something was opened is supported, that it was closed is not."""
    rows: list[dict[str, Any]] = []
    for number in range(n):
        town, thing = TOWNS[number % 10], THINGS[(number // 10 + seed) % 6]
        said, label = (("opened", "support"), ("closed", "not_support"))[number % 7 % 2]
        year = 1810 + 3 * number + seed
        claim = f"The {thing} of {town} in {year}."
        row = {"id": f"r{seed}-{number}", "claim": claim, "label": label}
        rows.append(row | {"evidence": f"The old {thing} of {town} was {said} in {year}."})
    return rows


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("cache", "config", "data"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(learning, "RECIPE", replace(learning.RECIPE, **SMALL))
    monkeypatch.setattr(learning, "VISITS", VISITS)
    monkeypatch.setattr(learning, "SHARE", 1.0)  # part of what is random is no network
    write_jsonl(tmp_path / "rows.jsonl", *opened(120))
    write_jsonl(tmp_path / "guard.jsonl", *opened(40, seed=3))
    return tmp_path


@pytest.fixture
def learn(home: Path, tiny_bert: Path, capsys: pytest.CaptureFixture[str]) -> Learn:
    """Runs the command with the tiny base, which is in use too; what it prints as JSON."""
    out, base = home / "in-use", home / "base"
    network.write_model(*network.load(str(tiny_bert)), base)
    export(base, out, source="a test", licence="CC0-1.0")
    (home / "pincite.toml").write_text(f'[verify]\nk = 2\n[models]\nverifier = "{out}"\n')

    def call(*given: object) -> dict[str, Any]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            _main("learn", *given, "--base", base, "--threads", 1, "--json", "-q")
        printed = capsys.readouterr()
        assert not ended.value.code, printed.err
        found: dict[str, Any] = json.loads(printed.out)
        return found

    return call


def _main(*arguments: object) -> None:
    from pincite.cli import main

    sys.argv = ["pincite", *map(str, arguments)]
    main()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the steps that are gone through from now on."""
    steps, rate_at = list[int](), loop.rate_at

    def noted(step: int, *rest: Any) -> float:
        steps.append(step)
        return rate_at(step, *rest)

    monkeypatch.setattr(loop, "rate_at", noted)
    return steps


def in_use(home: Path) -> str:
    return str(tomllib.loads((home / "pincite.toml").read_text())["models"]["verifier"])


def test_the_better_one_is_taken_and_given_back(home: Path, learn: Learn) -> None:
    before = (home / "pincite.toml").read_text()
    told = learn("rows.jsonl", "--guard", "guard.jsonl")
    assert told["kept"], told
    feedback = told["feedback"]
    assert feedback["wrong_after"] <= feedback["wrong_before"] / 2
    changed = feedback["fixed"] - feedback["broken"]
    assert feedback["wrong_before"] - changed == feedback["wrong_after"]
    assert told["n_learnt"] + feedback["n"] == 120
    assert feedback["shown"]
    assert 0 < feedback["interval"][0] <= feedback["gain"] <= feedback["interval"][1]
    folder = Path(in_use(home))
    assert folder == Path(told["model"]) == learning.home() / "learned-1"
    assert weights.read_card(folder)["own_rows"] == told["n_learnt"]
    assert not list(learning.home().glob("run-*"))
    again = learn("rows.jsonl", "--guard", "guard.jsonl")
    assert not again["kept"]
    assert "already" in again["why"]

    assert learn("--undo")["undone"] == str(folder)
    assert (home / "pincite.toml").read_text() == before
    assert folder.exists()


def test_one_that_forgets_is_refused(home: Path, learn: Learn) -> None:
    """The guard's rows say the contrary of the feedback: what learns the one unlearns the other."""
    other = {"support": "not_support", "not_support": "support"}
    rows = [{**row, "label": other[row["label"]]} for row in opened(40, seed=3)]
    write_jsonl(home / "guard.jsonl", *rows)
    before = in_use(home)
    told = learn("rows.jsonl", "--guard", "guard.jsonl")
    assert not told["kept"]
    assert "AUROC" in told["why"]
    assert in_use(home) == told["model"] == before


def test_killed_and_resumed_it_ends_with_the_same_weights(
    home: Path, learn: Learn, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["learn", "rows.jsonl", "--guard", "guard.jsonl", "--base", str(home / "base")]
    code = KILLED.replace("{small}", repr(SMALL)).replace("{visits}", str(VISITS))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, *given, "--threads", "1"]
    ended = subprocess.run(command, env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    (run,) = learning.home().glob("run-*")
    assert (run / STATE).exists()
    (run / "exported").mkdir()  # as if killed there
    (run / "exported" / "model.onnx").write_bytes(b"half of it")
    steps = counted(monkeypatch)
    resumed = learn("rows.jsonl", "--guard", "guard.jsonl")
    assert steps[0] == 6, "the steps that were saved are not gone through again"
    assert resumed["kept"], resumed
    learn("--undo")
    whole = learn("rows.jsonl", "--guard", "guard.jsonl")
    one, other = (Path(told["model"]) / "model.onnx" for told in (resumed, whole))
    assert one != other
    assert one.read_bytes() == other.read_bytes()


def test_too_little_feedback_says_how_much_is_needed(
    home: Path, learn: Learn, pincite: Callable[..., str]
) -> None:
    write_jsonl(home / "rows.jsonl", *opened(9))
    said = pincite("learn", "rows.jsonl", code=3)
    assert str(groups.LEAST_HELD_BACK) in said
    assert str(groups.LEAST_ROWS) in said


def test_only_what_it_made_is_undone(learn: Learn, pincite: Callable[..., str]) -> None:
    assert "not made by pincite learn" in pincite("learn", "--undo", code=2)


def test_remembered_rows_are_read_as_before(home: Path) -> None:
    """Two thirds of the made claims stand in their passage or nearly; no row teaches a label."""
    rows = learning.regression_rows()
    labels = {row.label for row in rows}
    assert labels == {"support", "not_support", "nei"}
    for row in rows:
        assert (row.claim in " ".join(row.evidence.split())) == (row.label == "support")
    held = {row.evidence for row in rows}
    kept = learning.remembered_groups([], 60, 1)
    assert not held & {group.passages[0] for group in kept}


def test_a_surer_network_is_put_on_the_scale_of_its_base(home: Path, learn: Learn) -> None:
    base, learnt = home / "in-use", home / "learnt"
    shutil.copy(weights.locate(weights.VERIFIER) / calibration.FILE, base)
    model, tokenizer = network.load_trained(str(home / "base"))
    model.classifier.weight.data *= 3
    network.write_model(model, tokenizer, home / "surer")
    export(home / "surer", learnt, source="a test", licence="CC0-1.0")
    learning.rescale(learnt, base)

    rows = learning.regression_rows()[:60]
    whole = [Passage("", "", "", row.evidence, Span(0, len(row.evidence))) for row in rows]
    pairs = [(Claim("", row.claim), page) for row, page in zip(rows, whole, strict=True)]
    verifiers = [CrossEncoderVerifier(folder) for folder in (base, learnt)]
    odds = [each.log_odds(pairs)[:, 0].std() for each in verifiers]
    assert odds[1] > 2 * odds[0]
    weighed = [each.calibration.support[0] * n for each, n in zip(verifiers, odds, strict=True)]
    assert weighed[1] == pytest.approx(weighed[0], rel=0.2)
    old, new = ([e.prob_supported for e in each.verify(pairs)] for each in verifiers)
    assert sum(new) == pytest.approx(sum(old), rel=0.1)
