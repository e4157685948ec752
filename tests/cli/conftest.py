"""A folder to run `pincite check` in, and a server for it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from check_replies import Model
from cli.check_runs import KEY, PAGES, Run, invoke, prepare
from models.chat_server import Server, serving


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder, with settings, data and a cache of its own."""
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder with a knowledge base and tiny models."""
    monkeypatch.setenv("PINCITE_CHAT_KEY", KEY)
    prepare(tmp_path, monkeypatch)
    Path("kb.jsonl").write_text("\n".join(map(json.dumps, PAGES)))
    invoke("corpus", "add", "kb", "kb.jsonl")
    return invoke


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        found.by_request = Model()
        yield found
