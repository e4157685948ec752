"""`pincite cache`: seen, pruned, emptied."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli.test_cli import run
from web.test_cache import filled

from pincite.models.verifier import LogitCache
from pincite.protocols import Floats


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judge(path: Path, n: int) -> None:
    def compute(pairs: object) -> Floats:
        return np.zeros((len(pairs), 3), dtype=np.float32)  # type: ignore[arg-type]

    pairs = LogitCache(path, "network")
    pairs.logits([(str(i), "passage") for i in range(n)], compute)
    pairs.close()


def test_an_empty_cache_is_shown_and_not_made(home: Path) -> None:
    assert "pages: 0" in run("cache", "show").stdout
    run("cache", "prune")
    run("cache", "clear")
    run("cache", "clear", "--judgements")
    assert not (home / "cache").exists()


def test_shown_pruned_and_cleared(home: Path) -> None:
    filled(home / "cache" / "web.sqlite").close()
    judge(home / "cache" / "judgements.sqlite", 5)
    assert "pages: 2 · failures: 1 · robots.txt: 1 · out of date: 3" in run("cache", "show").stdout
    shown = json.loads(run("cache", "show", "--json").stdout)
    assert shown["judgements"]["pairs"] == 5
    assert shown["pages"]["oldest"] < shown["pages"]["newest"]
    assert "2 addresses fetched more than 30 days ago" in run("cache", "prune").stderr
    assert "1 addresses fetched more" in run("cache", "prune", "--older-than", "2.5").stderr
    assert "5 judged pairs removed" in run("cache", "clear", "--judgements").stderr
    assert json.loads(run("cache", "show", "--json").stdout)["pages"]["pages"] == 1
    assert "1 addresses removed" in run("cache", "clear").stderr
    shown = json.loads(run("cache", "show", "--json").stdout)
    assert (shown["pages"]["pages"], shown["judgements"]["pairs"]) == (0, 0)
    assert shown["pages"]["oldest"] is None


def test_the_file_of_the_settings_is_meant(home: Path) -> None:
    filled(home / "mine.sqlite").close()
    (home / "pincite.toml").write_text("web.cache = 'mine.sqlite'\nweb.cache_days = 2\n")
    assert "mine.sqlite" in run("cache", "show").stdout
    assert "3 addresses fetched more than 2 days ago" in run("cache", "prune").stderr
