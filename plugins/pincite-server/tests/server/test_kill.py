"""kill -9, SIGTERM and long pauses at any moment: accepted jobs end, and nothing is lost."""

import json
import os
import random
import signal
import sqlite3
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from server.processes import Served, Started, children, wait_until

from pincite_server.requests import EXAMPLES

TEXT = (EXAMPLES["article"].folder / "article.wiki").read_text(encoding="utf-8")


def all_gone(pids: list[int]) -> bool:
    states = [Path(f"/proc/{pid}/stat") for pid in pids]
    return all("Z" in path.read_text().split() for path in states if path.exists())


def all_done(server: Served, accepted: list[str]) -> None:
    """Every job that was answered as accepted is there and ends; results are whole."""
    for job_id in accepted:
        wait_until(lambda: server.job(job_id)["finished"])  # noqa: B023
        job = server.job(job_id)
        assert job["status"] == "done", job
        result = json.loads(server.client.get(job["links"]["result"]).content)
        assert result["counts"]["judged"] == len(result["findings"]) > 20
        numbers = [event["number"] for event in server.events(job_id)]
        assert numbers == list(range(1, job["n_events"] + 1))


def test_sigterm_puts_the_job_back_and_leaves_no_process(tmp_path: Path) -> None:
    server = Served(tmp_path, data=tmp_path / "data")
    job_id = server.submit("verify", text=TEXT * 100)
    wait_until(lambda: server.job(job_id)["status"] == "running")
    wait_until(partial(children, server.pid))
    runners = children(server.pid)
    assert server.end() == 0, server.log
    assert all_gone(runners)
    with sqlite3.connect(tmp_path / "data" / "pincite.sqlite") as plain:
        row = plain.execute("SELECT status, attempts, lease FROM jobs").fetchone()
    assert row == ("queued", 0, None)


@pytest.mark.slow
def test_a_server_that_is_killed_again_and_again_loses_nothing(
    tmp_path: Path, database_url: str
) -> None:
    chance = random.Random(8)
    accepted: list[str] = []
    given: dict[str, Any] = {"data": tmp_path / "data", "database": database_url, "jobs_at_once": 2}
    for _ in range(4):
        server = Served(tmp_path, **given)
        accepted += [server.submit("verify", example="article") for _ in range(3)]
        time.sleep(chance.uniform(0.0, 6.0))
        runners = children(server.pid)
        server.end(signal.SIGKILL)
        wait_until(partial(all_gone, runners), 10)
    server = Served(tmp_path, **given)
    all_done(server, accepted)
    listed = server.client.get("/api/v1/jobs?limit=200").json()["jobs"]
    assert {job["job_id"] for job in listed} == set(accepted)
    assert server.end() == 0


@pytest.mark.slow
def test_workers_and_their_processes_are_killed_and_others_go_on(
    tmp_path: Path, database_url: str
) -> None:
    chance = random.Random(9)
    given: dict[str, Any] = {"data": tmp_path / "data", "database": database_url}
    server = Served(tmp_path, "--jobs", "0", **given)
    accepted = [server.submit("verify", example="article") for _ in range(8)]
    worker = Started(tmp_path, "worker", **given)
    for number in range(3):
        wait_until(partial(children, worker.pid))
        time.sleep(chance.uniform(0.0, 3.0))
        if number == 1:  # its process only: the worker goes on
            for pid in children(worker.pid):
                os.kill(pid, signal.SIGKILL)
            continue
        worker.end(signal.SIGKILL)
        worker = Started(tmp_path, "worker", **given)
    all_done(server, accepted)
    assert worker.end() == 0
    assert server.end() == 0
