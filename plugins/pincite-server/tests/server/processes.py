"""`pincite serve` and `pincite worker` as a person starts them, and a client for the server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import httpx2

START_SECONDS = 300.0  # two cores that many tests share, and files that nobody has read yet
T = TypeVar("T")
HOMES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME")  # nothing of whoever runs the tests


class Started:
    """A program of ours in a process of its own."""

    running: ClassVar[list["Started"]] = []  # for the fixture that ends what a test left behind

    def __init__(
        self, folder: Path, *command: str, lasting: bool = False, **settings: object
    ) -> None:
        """`settings` are of `[server]`.

        `folder` is its home, and takes what it says; one that is `lasting` outlives the test.
        """
        given = {f"PINCITE_SERVER_{name.upper()}": str(value) for name, value in settings.items()}
        self._log = folder / f"{command[0]}-{time.monotonic_ns()}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pincite", *command],
                env=os.environ | given | dict.fromkeys(HOMES, str(folder)),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.pid = self._process.pid
        if not lasting:
            self.running.append(self)

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str) -> str:
        """The line that holds a text, as soon as it is there."""

        def line() -> str | None:
            found = next((each for each in self.log.splitlines() if text in each), None)
            assert found or self._process.poll() is None, self.log
            return found

        return str(wait_until(line))

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = 120.0) -> int:
        """Its exit code once the signal has ended it."""
        if self._process.poll() is None:
            self.send(number)
        return self._process.wait(seconds)


class Served(Started):
    """`pincite serve` on a port that was free."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        data: Path | None = None,
        lasting: bool = False,
        **settings: object,
    ) -> None:
        self.data = data or folder / "data"
        command = ("serve", "--port", "0", "--data", str(self.data), *options)
        super().__init__(folder, *command, lasting=lasting, **settings)
        line = self.wait_for("Pincite is at ")
        self.url = line.partition("Pincite is at ")[2].split("/   ")[0]
        # The server ends a connection that is quiet for some seconds, maybe just as it is used.
        alone = httpx2.Limits(max_keepalive_connections=0)
        self.client = httpx2.Client(base_url=self.url, timeout=120.0, limits=alone)

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = 120.0) -> int:
        self.client.close()
        return super().end(number, seconds)

    def events(self, job_id: str) -> list[dict[str, Any]]:
        """All of a job, page by page."""
        found: list[dict[str, Any]] = []
        here = f"/api/v1/jobs/{job_id}/events"
        while events := self.get(f"{here}?after={len(found)}")["events"]:
            found += events
        return found

    def get(self, path: str) -> Any:
        """What the API answers."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def submit(self, verb: str, **body: object) -> str:
        """The id of a new job."""
        answer = self.client.post(f"/api/v1/{verb}", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["job_id"])

    def ran(self, verb: str, **body: object) -> str:
        """The id of a job that has ended."""
        job_id = self.submit(verb, **body)
        wait_until(lambda: self.job(job_id)["finished"])
        assert self.job(job_id)["status"] == "done", self.log
        return job_id

    def job(self, job_id: str) -> dict[str, Any]:
        return dict(self.get(f"/api/v1/jobs/{job_id}"))


def wait_until(check: Callable[[], T], seconds: float = START_SECONDS) -> T:
    """The first true value of `check()`."""
    end = time.monotonic() + seconds
    while not (value := check()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
    return value


def children(pid: int) -> list[int]:
    """Processes that a process has started and that still are there."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(folder.name))
    return found
