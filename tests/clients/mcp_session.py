"""`pincite mcp` started as its users start it, and spoken to by the SDK's own client."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

import pincite


def environment(folder: Path) -> dict[str, str]:
    """Of a process that keeps what it writes in a folder of its own, and knows no settings."""
    own = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    source = str(Path(pincite.__file__).parents[1])
    return os.environ | own | {"PINCITE_CACHE": str(folder / "cache"), "PYTHONPATH": source}


@asynccontextmanager
async def connected(arguments: Sequence[str], folder: Path) -> AsyncIterator[Client]:
    """A client of a server that runs as long as the context."""
    command = ["-m", "pincite", "mcp", *arguments]
    started = StdioServerParameters(
        command=sys.executable, args=command, env=environment(folder), cwd=folder
    )
    async with Client(started) as client:
        yield client


def text_of(result: Any) -> str:
    """What a result says to a model."""
    return "\n".join(block.text for block in result.content)
