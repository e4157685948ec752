"""Kill -9 at any moment: what was acknowledged is there, what was under way is there whole or not.

A process kill only; a power cut is SQLite's business (synchronous=FULL).
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus import kill_writer
from support.laws import FakeEncoder

from pincite.corpus import dense
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.generation import current_name, passage_text
from pincite.corpus.maintenance import verify
from pincite.text.passages import passages

State = dict[int, int]  # version by number of the document


class Nursery:
    """The process that starts writers."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, kill_writer.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._jobs, self._numbers = self._process.stdin, self._process.stdout

    def kill_after(self, seconds: float, job: str, log: Path | None = None) -> None:
        """Kill it so long after it began, or after its first "done" in the log."""
        self._jobs.write(job + "\n")
        self._jobs.flush()
        pid = self._line()
        while log and "done" not in log.read_text():
            time.sleep(0.01)
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        assert self._line() == signal.SIGKILL, "the writer ended before it was killed"

    def _line(self) -> int:
        return int(self._numbers.readline())

    def close(self) -> None:
        self._jobs.close()
        self._process.wait(10)
        self._numbers.close()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


def states(state: State, log: Path) -> list[State]:
    """What may be stored after the log: with and without the operation that has no "done"."""
    pending = [state]
    for line in log.read_text().splitlines():
        if line == "done":
            pending = [pending[-1]]
            continue
        _, job, version, *numbers = line.split()
        changed = {**pending[-1], **{int(n): int(version) for n in numbers}}
        if job == "delete":
            changed = {n: v for n, v in changed.items() if str(n) not in numbers}
        pending = [pending[-1], changed]
    return pending


def check(folder: Path, expected: list[State], chance: random.Random) -> State:
    """Open the corpus after a kill and look at everything; returns the state that was found."""
    encoder = kill_writer.encoder_of(folder)
    with EmbeddedCorpus.open(folder, encoder, write=chance.random() < 0.5) as corpus:
        urls = [kill_writer.document(n, 0).url for n in range(kill_writer.N_URLS)]
        stored = corpus.get(urls)
        for state in expected:
            wanted = [
                kill_writer.document(n, state[n]) if n in state else None for n in range(len(urls))
            ]
            if stored == wanted:
                break
        else:
            raise AssertionError("neither the old state nor the new one is stored")
        n_passages = sum(len(passages(d)) for d in wanted if d)
        status = corpus.status()
        assert (status.n_documents, status.n_passages) == (len(state), n_passages)
        assert status.lexical_sequence == status.sequence
        present = [d for d in wanted if d]
        for document in chance.sample(present, min(4, len(present))):
            passage = chance.choice(passages(document))
            word = document.text.split()[3]
            [by_word] = corpus.lexical().retrieve([word], 10)
            assert passage in [hit.passage for hit in by_word]
            assert {hit.passage.url for hit in by_word} == {document.url}
            [by_meaning] = corpus.dense().retrieve([passage_text(passage)], 1)
            assert by_meaning[0].passage == passage
            assert by_meaning[0].score == pytest.approx(1.0, abs=2e-3)
    [path] = [p for p in folder.glob("g*/store.sqlite") if p.parent.name == current_name(folder)]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    missing = "SELECT COUNT(*) FROM passages WHERE key NOT IN (SELECT passage FROM vectors)"
    assert connection.execute(missing).fetchone() == (0,)
    connection.close()
    assert [f for f in verify(folder) if f.counts] == []
    return state


def run(folder: Path, nursery: Nursery, jobs: list[str], seed: int) -> int:
    """Kill one writer after the other and check; how many documents there were at most."""
    chance = random.Random(seed)
    state: State = {}
    most = 0
    log = folder.with_name("log")
    for number, job in enumerate(jobs, start=1):
        log.write_text("")
        # On a busy machine none of the writers may come to a "done": the first one is waited for.
        begun = log if number == 1 and job == "add" else None
        nursery.kill_after(chance.uniform(0.02, 0.5), f"{job} {folder} {log} {number}", begun)
        state = check(folder, states(state, log), chance)
        most = max(most, len(state))
    return most


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(dense, "EXACT_LIMIT", kill_writer.EXACT_LIMIT)
    EmbeddedCorpus.create(tmp_path / "corpus", FakeEncoder()).close()
    return tmp_path / "corpus"


def test_nothing_acknowledged_is_lost_by_25_kills(folder: Path, nursery: Nursery) -> None:
    jobs = ["add", "optimize", "rebuild", "add", "delete"] * 5
    assert run(folder, nursery, jobs, seed=int(time.time()))
