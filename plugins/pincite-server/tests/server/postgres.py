"""A PostgreSQL of the tests' own: Debian's binaries, a folder and a port of its own, loopback."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

START_SECONDS = 300.0
USER = "postgres"


def binaries() -> Path | None:
    """The folder of the server's programs; the newest of several."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(debian, key=lambda path: float(path.parts[-3]), default=None)
    program = newest or shutil.which("postgres")
    return Path(program).resolve().parent if program else None


class Postgres:
    """A server that runs."""

    def __init__(self, folder: Path, as_user: list[str], binaries: Path) -> None:
        """Over a data folder that `initdb` made."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.folder, self.port = folder, listening.getsockname()[1]
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "fsync": "off"}
        options |= {"unix_socket_directories": folder, "max_connections": 60}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        # With the signal, it ends when these tests are killed, too.
        program = [*as_user, "--pdeathsig", "INT", str(binaries / "postgres")]
        self._command = [*program, "-D", str(folder / "data"), *settings]
        self.start()

    def start(self) -> None:
        """Returns when it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self.folder)
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.run("SELECT 1")
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.1)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """At once, whoever is connected."""
        self._process.send_signal(how)
        self._process.wait()

    def url(self, name: str = "postgres") -> str:
        """Of one of its databases, for `server.database`."""
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/{name}"

    def create(self) -> str:
        """A new, empty database; returns its address."""
        name = f"t_{secrets.token_hex(6)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected."""
        self.run(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")

    def run(self, statement: str) -> None:
        """A statement outside a transaction."""
        address = self.url().replace("+psycopg", "")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running(programs: Path | None = None) -> Iterator[Postgres]:
    """Starts one, by default of the system's programs, and ends it."""
    there = programs or binaries()
    if there is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pincite-pg-"))
    as_user = ["setpriv"]
    if os.getuid() == 0:  # which PostgreSQL refuses to run as
        shutil.chown(folder, USER, USER)
        as_user += ["--reuid", USER, "--regid", USER, "--clear-groups"]
    initdb = [*as_user, str(there / "initdb"), "-D", str(folder / "data"), "-A", "trust"]
    initdb += ["-U", USER, "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    found = Postgres(folder, as_user, there)
    try:
        yield found
    finally:
        found.stop()
        shutil.rmtree(folder, ignore_errors=True)
