"""`pincite eval claims` as a user meets it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from evaluation.invented import BRIDGE, WordVerifier
from support.laws import FakeEncoder
from syrupy.assertion import SnapshotAssertion

from pincite import runtime
from pincite.cli import cli
from pincite.errors import InputError, MissingModel
from pincite.evaluation import scorers
from pincite.verbs.verify import build

Write = Callable[..., Path]

ROWS = [
    ("The old bridge of Varde was opened in 1911.", "support", BRIDGE, {"url": "https://a.ex/b/c"}),
    ("The stone bridge has three arches.", "support", BRIDGE, {"url": "https://a.ex/b"}),
    ("The bridge of Varde was opened in 1911 by a famous king.", "partial"),
    ("The bridge of Varde cost 90 crowns.", "not_support", BRIDGE, {"url": "https://a.ex/"}),
    ("Trams rolled through distant suburbs.", "not_support"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: WordVerifier) -> Path:
    """A folder without models, and a pipeline whose verifier needs none."""

    @contextmanager
    def verifying(*_: Any, **__: Any) -> Iterator[Any]:
        yield SimpleNamespace(
            pipeline=SimpleNamespace(verifier=words), versions={"verifier": "words"}
        )

    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build, "verifying", verifying)
    monkeypatch.setattr(runtime, "encoder", lambda settings: FakeEncoder())
    monkeypatch.setattr(
        scorers,
        "relevance",
        lambda **_: scorers.Relevance(lambda pairs: [float(len(text)) for _, text in pairs]),
    )
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["eval", *arguments], catch_exceptions=False)


def test_claims_table(home: Path, write: Write, snapshot: SnapshotAssertion) -> None:
    assert run("claims", str(write(ROWS)), "-q").output == snapshot


def test_claims_without_baselines_as_json(home: Path, write: Write) -> None:
    result = json.loads(run("claims", str(write(ROWS)), "--no-baselines", "--json").output)
    assert result["versions"] == {"verifier": "words"}
    (ours,) = result["results"][0]["systems"]
    assert ours["system"] == "pincite"
    assert ours["auroc_without_partial"] == 1.0


def test_claims_without_models(home: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise MissingModel("nowhere")

    monkeypatch.setattr(runtime, "encoder", missing)
    monkeypatch.setattr(scorers, "relevance", missing)
    output = run("claims", str(write(ROWS))).output
    assert output.count("not available: make models") == 1
    assert output.count("not available: make reranker") == 1


def test_files_beside_the_table(home: Path, write: Write) -> None:
    (home / "other").mkdir()
    files = [str(write(ROWS)), str(write(ROWS[:1], "other/dev.jsonl"))]  # of one name
    run("claims", *files, *"--plot pr.png --reliability r.png --scores s.jsonl".split())
    for name in ("pr.png", "r.png"):
        assert (home / name).read_bytes().startswith(b"\x89PNG")
    curves = json.loads((home / "pr.json").read_text())
    assert list(curves) == files
    assert set(curves[files[0]]["partial holds"]["BM25"][0]) == {"precision", "recall", "threshold"}
    bins = json.loads((home / "r.json").read_text())
    assert sum(one["n"] for one in bins[files[0]]) == len(ROWS)
    assert bins[files[1]] == []  # one class
    scores = [json.loads(line) for line in (home / "s.jsonl").read_text().splitlines()]
    assert [row["label"] for row in scores] == [row[1] for row in [*ROWS, ROWS[0]]]
    assert set(scores[0]) == {"file", "id", "label", "prob_supported", "prob_refuted", "score"}
    assert not list(home.glob("*.part"))


def test_an_empty_file_is_an_error(home: Path, write: Write) -> None:
    with pytest.raises(InputError):
        run("claims", str(write([])))
