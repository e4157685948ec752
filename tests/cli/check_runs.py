"""What the tests of `pincite check` share: a knowledge base, commands, what they wrote."""

import json
from typing import Any

from click.testing import Result
from models.chat_server import Server

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


def llm(server: Server) -> tuple[str, ...]:
    return ("--llm", "--chat-url", server.url, "--chat-model", "tiny")


def written(result: Result) -> Any:
    return json.loads(result.stdout)


def readings(report: Any) -> list[Any]:
    found: list[Any] = report["checks"][0]["readings"]
    return found
