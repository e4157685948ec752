"""The log of results: one file each, by day, written over, and in git."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import ConfigError
from pincite.library.results import log_result
from pincite.settings import ResultsSettings

CREATED = "2026-03-09T12:00:00+00:00"


def keep(folder: Path, texts: dict[str, str], **more: Any) -> list[Path]:
    return log_result(ResultsSettings(folder=str(folder), **more), "ab12", CREATED, texts)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with an origin; nobody's own settings of git count."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A Test")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "test@varde.example")
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    git(tmp_path, "clone", "--quiet", "origin.git", "log")
    return tmp_path / "log"


def git(folder: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("by", "inside"),
    [("", ""), ("daily", "2026_03_09"), ("weekly", "y2026_w10"), ("monthly", "y2026_m03")],
)
def test_where_results_lie(tmp_path: Path, by: str, inside: str) -> None:
    paths = keep(tmp_path / "log", {"yaml": "a: 1\n", "md": "# A\n"}, by=by)
    stem = tmp_path / "log" / inside / "2026_03_09_ab12"
    assert paths == [stem.with_suffix(".yaml"), stem.with_suffix(".md")]
    assert paths[0].read_text() == "a: 1\n"


def test_a_result_is_written_over_wherever_it_lies(tmp_path: Path) -> None:
    (first,) = keep(tmp_path, {"yaml": "a: 1\n"}, by="daily")
    (second,) = keep(tmp_path, {"yaml": "a: 2\n"}, by="yearly")
    assert (second, second.read_text()) == (first, "a: 2\n")
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_results_go_into_git(repository: Path) -> None:
    (repository / "draft.txt").write_text("not ours")
    git(repository, "add", "draft.txt")
    for text in ("a: 1\n", "a: 1\n", "a: 2\n"):
        keep(repository, {"yaml": text}, by="yearly", git="push")
    messages = git(repository.parent / "origin.git", "log", "--all", "--format=%s")
    assert messages == ["Update result (ab12)", "Upload new result (ab12)"], "equal ones add none"
    (kept,) = git(repository, "ls-tree", "-r", "--name-only", "HEAD")
    assert kept == "y2026/2026_03_09_ab12.yaml"


def test_a_folder_that_is_no_repository_keeps_the_result(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"results.git: git add failed"):
        keep(tmp_path, {"yaml": "a: 1\n"}, git="commit")
    assert (tmp_path / "2026_03_09_ab12.yaml").exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be written \(results.folder\)"):
        keep(tmp_path / "file", {"yaml": ""})
