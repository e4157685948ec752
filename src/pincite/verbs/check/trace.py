"""A trace of a `check` run: every prompt, reply and decision, one JSON event per line.

A run begins with "run" (settings and versions), followed by "statement" (with its readings), "call"
(a prompt and its reply), "unreadable" (a reply that could not be used), "searched" (web pages that
are not evidence) and "judged" (a passage and its evidence). API keys are never written.
"""

import json
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pincite import codec, durable
from pincite.errors import ConfigError, InputError, usable
from pincite.llm.calls import completion_of
from pincite.protocols import Completion

VERSION = 2


class TraceWriter(AbstractContextManager["TraceWriter"]):
    """Appends whole events to a file; thread-safe."""

    def __init__(self, path: Path) -> None:
        """Open the file for appending, dropping a partial last line left by a kill.

        Raises:
            ConfigError: it cannot be written.
        """
        self._lock = threading.Lock()
        with usable(path, "written", ConfigError):
            if durable.is_special(path):
                raise ConfigError(
                    f"{path} is no regular file; expected one that can be read again."
                )
            if path.exists() and (content := codec.content_of(path)) and content[-1:] != b"\n":
                with path.open("r+b") as file:
                    file.truncate(content.rfind(b"\n") + 1)
            self._file = path.open("a", encoding="utf-8", errors="replace")

    def record(self, event: Mapping[str, Any]) -> None:
        line = json.dumps(event, ensure_ascii=True) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()

    def __exit__(self, *error: object) -> None:
        self._file.close()


def read_replies(path: Path) -> dict[str, Completion]:
    """Return the usable replies in a trace file, by the key of their prompt.

    Raises:
        InputError: the file cannot be read or is not a trace; names the first invalid line.
    """
    with usable(path):
        lines = codec.content_of(path).splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        del lines[-1]  # cut off by a kill
    replies = dict[str, Completion]()
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
            kind = event["event"]
            if number == 1 and kind != "run":
                raise ValueError("the first event must be a run")
            if kind == "call" and event["reply"]:
                replies[event["key"]] = completion_of(event["reply"])
            elif kind == "unreadable":
                replies.pop(event["key"], None)
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number}, is not an event of a trace "
                f"({type(error).__name__}: {error})."
            ) from error
        if kind == "run" and event.get("trace_version") != VERSION:
            version = event.get("trace_version")
            raise InputError(f"{path} is a trace of version {version}; expected {VERSION}.")
    return replies
