"""Replies that were paid for, kept on disk by what was asked: no later run asks for them again."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pincite.completions import Completion
from pincite.errors import PinciteError
from pincite.llm.calls import completion_of


class KeptReplies(Mapping[str, Completion]):
    """A file of replies by `calls.key_of`; several processes may share it."""

    def __init__(self, path: Path) -> None:
        """Open or make the file.

        Raises:
            PinciteError: it cannot be used.
        """
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            with self._db:
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT)"
                    " WITHOUT ROWID"
                )
        except (OSError, sqlite3.Error) as error:
            raise PinciteError(
                f"{path}, where replies of models are kept, cannot be used ({error}). Delete it, "
                "or set PINCITE_CACHE to another folder."
            ) from error

    def record(self, event: Mapping[str, Any]) -> None:
        """Keep the reply of a call, now; other events say nothing that is kept."""
        if event.get("event") == "call" and event.get("reply"):
            row = (event["key"], json.dumps(event["reply"]))
            # On a full disk the reply is used all the same, and asked for again another time.
            with suppress(sqlite3.Error), self._lock, self._db:
                self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", row)

    def forget(self) -> int:
        """Remove all; returns how many there were."""
        with self._lock, self._db:
            return self._db.execute("DELETE FROM replies").rowcount

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __getitem__(self, key: str) -> Completion:
        """The reply to a prompt."""
        with self._lock:
            row = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return completion_of(json.loads(row[0]))

    def __iter__(self) -> Iterator[str]:
        """The keys."""
        with self._lock:
            return iter([key for (key,) in self._db.execute("SELECT key FROM replies")])

    def __len__(self) -> int:
        """How many replies are kept."""
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM replies").fetchone()[0])
