"""`pincite mcp` started as its users start it, and spoken to by the SDK's own client."""

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

import pincite

TRANSPORTS = ("stdio", "http")
COMMAND = [sys.executable, "-m", "pincite", "mcp"]


def environment(folder: Path) -> dict[str, str]:
    """Of a process that keeps what it writes in a folder of its own, and knows no settings."""
    own = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    source = str(Path(pincite.__file__).parents[1])
    return os.environ | own | {"PINCITE_CACHE": str(folder / "cache"), "PYTHONPATH": source}


@asynccontextmanager
async def connected(
    transport: str, arguments: Sequence[str], folder: Path
) -> AsyncIterator[Client]:
    """A client of a server that runs as long as the context."""
    command, env = [*COMMAND, *arguments], environment(folder)
    if transport == "stdio":
        started = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=folder)
        async with Client(started) as client:
            yield client
        return
    with serving(arguments, folder) as (_, address):
        async with Client(address) as client:
            yield client


class serving:  # noqa: N801  # used as a function
    """A process that serves over HTTP, and its address."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        command = [*COMMAND, "--http", "--port", "0", *arguments]
        self._process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=environment(folder), cwd=folder
        )

    def __enter__(self) -> tuple[subprocess.Popen[str], str]:
        assert self._process.stderr
        for line in self._process.stderr:
            if found := re.search(r"running on (http://[0-9.:]+)", line):
                return self._process, f"{found[1]}/mcp"
        raise AssertionError("the server ended before it served")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)


def text_of(result: Any) -> str:
    """What a result says to a model."""
    return "\n".join(block.text for block in result.content)
