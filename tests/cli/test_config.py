"""`pincite config`: what it shows, what it never shows."""

import json
import tomllib
from functools import partial
from pathlib import Path

import pytest
from cli.check_runs import invoke

from pincite import settings

PLANTED = "sk-planted-1234567890abcdef"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINCITE_CHAT_KEY", raising=False)


run = partial(invoke, "config")


def test_each_setting_with_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = tmp_path / "config" / "pincite"
    user.mkdir(parents=True)
    (user / "config.toml").write_text("[retrieval]\ndepth = 7\n[verify]\nk = 9")
    (tmp_path / "pincite.toml").write_text("verify.k = 2")
    monkeypatch.setenv("PINCITE_CHECK_TOP_K", "5")
    found = json.loads(run("show", "--json").stdout)
    assert found["retrieval.depth"] == {"value": 7, "origin": str(user / "config.toml")}
    assert found["verify.k"] == {"value": 2, "origin": "pincite.toml"}
    assert found["check.top_k"] == {"value": 5, "origin": "variable PINCITE_CHECK_TOP_K"}
    assert found["verify.threshold"]["origin"] == "default"
    assert set(settings.SHORT.values()) <= set(found)
    shown = run("show").stdout
    assert "# variable PINCITE_CHECK_TOP_K" in shown
    assert "# default" not in shown
    assert tomllib.loads(shown)["check"]["top_k"] == 5


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"]])
def test_of_a_secret_only_whether_it_is_set(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not set" in run(*arguments).stdout
    for name in ("CHAT_KEY", "JUDGE_KEY", "EMBEDDINGS_KEY", "WIKI_KEY"):
        monkeypatch.setenv(f"PINCITE_{name}", PLANTED)
    shown = run(*arguments)
    assert PLANTED not in shown.output
    assert "not set" not in shown.stdout
