"""Adds, changes and deletes documents of a corpus, telling what was acknowledged; to be killed.

    python engine_writer.py ADDRESS LOG [N]

N: it kills itself in the middle of its Nth word to the server that changes something.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from support.laws import FakeEncoder

from pincite.corpus import engines
from pincite.types import Document
from pincite_cluster.postgres.database import Database

N, ROUNDS = 30, 3
BASE = "https://example.org/kill/"


def page(number: int, state: int) -> Document:
    text = f"Page number{number} is in state{state}. " + f"Curlews call over number{number}. " * 60
    return Document(f"{BASE}{number}", f"Page {number}", text)


def steps() -> list[tuple[str, list[int], int]]:
    """What is done, in order: every step may be done again without harm."""
    found: list[tuple[str, list[int], int]] = []
    for state in range(ROUNDS):
        found += [("add", list(range(at, at + 5)), state) for at in range(0, N, 5)]
        found += [("delete", list(range(at, N, 6)), state) for at in range(2)]
    return found


def kill_at(last: int) -> None:
    """Before the `last` change if that is even, else after it."""
    n_changes = 0

    def watched(change: Any) -> Any:
        def changing(*given: Any) -> Any:
            nonlocal n_changes
            n_changes += bool(given[-1])
            is_last = n_changes == last and given[-1]
            if is_last and last % 2 == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            change(*given)
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)

        return changing

    for name in ("run", "copy"):
        setattr(Database, name, watched(getattr(Database, name)))


def main() -> None:
    if len(sys.argv) > 3:
        kill_at(int(sys.argv[3]))
    address, log = sys.argv[1], Path(sys.argv[2])
    n_done = len(log.read_text().splitlines()) if log.exists() else 0
    with engines.open_or_create(address, FakeEncoder()) as corpus, log.open("a") as acknowledged:
        for what, numbers, state in steps()[n_done:]:
            if what == "add":
                corpus.add([page(number, state) for number in numbers])
            else:
                corpus.delete([f"{BASE}{number}" for number in numbers])
            acknowledged.write(f"{what} {state} {numbers}\n")
            acknowledged.flush()


if __name__ == "__main__":
    main()
