"""Replies that were paid for, kept on disk by what was asked: no later run asks for them again."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pincite.cache_file import CacheFile
from pincite.completions import Completion
from pincite.llm.calls import completion_of


class KeptReplies(Mapping[str, Completion]):
    """A file of replies by `calls.key_of`; several processes may share it."""

    def __init__(self, path: Path) -> None:
        """Open or make the file."""
        self._file = CacheFile(path, "replies (key TEXT PRIMARY KEY, reply TEXT)")
        self.forget, self.close = self._file.clear, self._file.close

    def record(self, event: Mapping[str, Any]) -> None:
        """Keep the reply of a call, now; other events say nothing that is kept."""
        if event.get("event") == "call" and event.get("reply"):
            self._file.put([(event["key"], json.dumps(event["reply"]))])

    def __getitem__(self, key: str) -> Completion:
        """The reply to a prompt."""
        for (reply,) in self._file.rows("SELECT reply FROM replies WHERE key = ?", (key,)):
            return completion_of(json.loads(reply))
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        """The keys."""
        return iter([key for (key,) in self._file.rows("SELECT key FROM replies")])

    def __len__(self) -> int:
        """How many replies are kept."""
        return self._file.n_rows()
