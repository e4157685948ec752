"""What the tests of commands share: a folder, a knowledge base, commands, what they wrote."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from models.chat_server import Server
from support.wiki_server import Wiki

from conftest import write_model
from pincite.cli import cli
from pincite.library import web_pages
from pincite.settings import WebSettings
from pincite.web.fetch import WebClient, WebRules

Run = Callable[..., Result]
KEY = "sk-planted-and-very-secret"
PAGES = [
    {
        "url": "https://a.example/",
        "title": "Bridge",
        "text": "The old bridge is of stone. It opened in 1911 by the river.",
        "published": "2015-03-01",
        "author": "A. Berg",
    },
    {
        "url": "https://copy.example/",
        "title": "Copy",
        "text": "The old bridge is of stone. It opened in 1911 by the river.",
        "published": "2016-03-01",
    },
    {
        "url": "https://b.example/",
        "title": "Town",
        "text": "In the town a bridge of wood was by the river. It opened in 1913.",
        "published": "2020-01-01",
    },
]
STATEMENT = "The bridge is of stone."
CHECK = ("check", STATEMENT, "--corpus", "kb")


def invoke(*arguments: object, code: int = 0, stdin: str | None = None) -> Result:
    """Run a command without the shell around it; errors are raised as they are."""
    result = CliRunner().invoke(cli, [*map(str, arguments)], input=stdin, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str = "") -> None:
    """Settings that name tiny models."""
    monkeypatch.setenv("COLUMNS", "100")
    encoder = write_model(folder / "encoder", labels=0)
    verifier = write_model(folder / "verifier", labels=3)
    models = f"models.encoder = '{encoder}'\nmodels.verifier = '{verifier}'\n"
    Path("pincite.toml").write_text(models + settings)


def reach(wiki: Wiki, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the web be the server of a wiki on this machine, and nothing else."""
    port = int(wiki.url.rpartition(":")[2])

    def opened(settings: WebSettings) -> WebClient:
        rules = WebRules(online=settings.online, ports=(port,), pause=0, first_wait=0.01)
        return WebClient(rules, allow={"127.0.0.1"})

    monkeypatch.setattr(web_pages, "open_web", opened)


def llm(server: Server) -> tuple[str, ...]:
    return ("--llm", "--chat-url", server.url, "--chat-model", "tiny")


def written(result: Result) -> Any:
    return json.loads(result.stdout)
