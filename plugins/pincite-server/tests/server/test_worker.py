"""Jobs in their own processes: early ends, and kill -9, SIGTERM and long pauses at any moment."""

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from server.people_of_tests import MakeSite
from server.processes import Served, Started, children, wait_until

from pincite.settings import Settings
from pincite_server import database as database_module
from pincite_server import job_process
from pincite_server import work as work_module
from pincite_server import worker as worker_module
from pincite_server.job_process import Progress, Runner
from pincite_server.jobs import Done, Job, JobStore, Status
from pincite_server.requests import EXAMPLES
from pincite_server.site import Site
from pincite_server.worker import Worker

SHORT = {"example": "article"}
TEXT = (EXAMPLES["article"].folder / "article.wiki").read_text(encoding="utf-8")
LONG = {"text": TEXT * 100}  # some seconds


@contextmanager
def working(site: Site, slots: int = 1) -> Iterator[Worker]:
    """A worker for a site."""
    worker = Worker(site.jobs, site.server, slots=slots)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def submit(site: Site, request: dict[str, str]) -> str:
    job = site.jobs.submit("local", "verify", "t", request)
    return job.job_id


def until(site: Site, job_id: str, ready: Callable[[Job], object]) -> Job:
    """The job once it is ready."""

    def job() -> Job | None:
        found = site.jobs.get(job_id)
        return found if found and ready(found) else None

    job_then = wait_until(job)
    assert job_then
    return job_then


def ended(job: Job) -> bool:
    return job.ended


def outcome(job: Job | None) -> tuple[Status, str]:
    """The state of a job, and the code of its problem."""
    assert job
    return job.status, (job.problem or {}).get("code", "")


def begun(site: Site) -> Callable[[Job], bool]:
    """Whether its article was read: from here on an early end has a result."""
    return lambda job: any(event.kind == "judged" for event in site.jobs.events(job.job_id))


def runners() -> list[int]:
    """Processes in which this one's jobs run."""
    return [pid for pid in children(os.getpid()) if b"pincite_server.job_process" in command(pid)]


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


def the_runner() -> int:
    """The one process, once it is there."""
    wait_until(lambda: len(runners()) == 1)
    return runners()[0]


def test_jobs_run_in_turn_and_store_their_results(site: Site) -> None:
    first, second = submit(site, SHORT), submit(site, SHORT)
    broken = submit(site, {"article": "https://en.wikipedia.org/wiki/X"})  # and nothing is online
    with working(site):
        job = until(site, first, ended)
        process = runners()
        until(site, second, ended)
        failed = until(site, broken, ended)
        assert runners() == process, "a process is kept from job to job"
    assert (job.status, job.title, job.attempts) == (Status.DONE, "Varrowmouth", 1)
    report = json.loads(site.jobs.result(first) or b"")
    assert report["title"] == "Varrowmouth"
    assert len(report["findings"]) == report["counts"]["judged"] > 20
    article = site.jobs.file(first, "article")
    assert article
    assert "Varrowmouth" in article["source"]
    kinds = [event.kind for event in site.jobs.events(first)]
    assert kinds[:3] == ["queued", "started", "article"]
    assert kinds[-1] == "ended"
    assert outcome(failed) == (Status.FAILED, "fetching_is_off")
    assert runners() == []


def test_a_cancelled_job_keeps_what_it_found_and_a_killed_one_runs_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "WATCH_SECONDS", 0.1)
    cancelled, killed = submit(site, LONG), submit(site, SHORT)
    with working(site):
        until(site, cancelled, begun(site))
        site.jobs.cancel(cancelled)
        job = until(site, cancelled, ended)
        assert job.status is Status.CANCELLED
        report = json.loads(site.jobs.result(cancelled) or b"")
        assert 0 < len(report["findings"]) < report["counts"]["claims"]
        until(site, killed, lambda job: job.status is Status.RUNNING)
        os.kill(the_runner(), signal.SIGKILL)
        job = until(site, killed, ended)
    # It may have been written just before: then nothing was lost either.
    assert job.status is Status.DONE
    assert job.attempts in (1, 2)


def test_a_job_that_exceeds_a_limit_fails(make_site: MakeSite) -> None:
    for given, code in (({"job_seconds": 1}, "job_too_long"), ({}, "job_too_large")):
        site = make_site(job_megabytes=4000 if given else 100, **given)
        job_id = submit(site, LONG)
        with working(site):
            job = until(site, job_id, ended)
        assert outcome(job) == (Status.FAILED, code)
        assert job.attempts == 1, "it would only fail again"


def test_a_process_that_does_not_listen_is_ended_by_force(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "GRACE_SECONDS", 1.0)
    job_id = submit(site, LONG)
    with working(site):
        until(site, job_id, lambda job: job.status is Status.RUNNING)
        process = the_runner()
        os.kill(process, signal.SIGSTOP)
        site.jobs.cancel(job_id)
        assert until(site, job_id, ended).status is Status.CANCELLED
        assert process not in runners()


@contextmanager
def away(site: Site, seconds: float) -> Iterator[None]:
    """Nobody gets at the database for a while."""
    path = site.server.folder / "pincite.sqlite"
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(seconds, holder.close)
    timer.start()
    yield
    timer.join()


def test_a_database_that_is_away_for_a_while_costs_a_job_nothing(
    make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(job_process, "RETRY_SECONDS", 0.1)
    interrupt = signal.getsignal(signal.SIGINT)
    site = make_site()
    runner = Runner("w", site.server, Settings())
    job_id = submit(site, SHORT)
    site.jobs.take("w")
    try:
        with away(site, 3.0):
            runner.run(job_id)
    finally:
        signal.signal(signal.SIGINT, interrupt)
    assert outcome(site.jobs.get(job_id)) == (Status.DONE, "")
    told = [event.kind for event in site.jobs.events(job_id)]
    assert told.count("judged") == 22, "events waited too"


def test_a_job_whose_end_cannot_be_written_is_given_up_at_last(
    make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(job_process, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(job_process, "RETRY_SECONDS", 0.1)
    site = make_site()
    with away(site, 1.0), pytest.raises(database_module.DatabaseError):
        job_process._patiently(lambda: submit(site, SHORT))
    submit(site, SHORT)


def test_of_unwritten_progress_only_the_newest_is_written(store: JobStore) -> None:
    job = store.submit("local", "verify", "t", SHORT)
    store.take("w")
    tell = Progress(store, job, "w")
    tell("article", {})
    for n_done in range(50):
        tell("fetching", {"host": "a.example", "done": n_done, "total": 50})
    tell("judged", {"done": 1})
    tell.write()
    told = [(event.kind, event.data.get("done")) for event in store.events(job.job_id)[2:]]
    assert told == [("article", None), ("fetching", 49), ("judged", 1)]


def test_job_that_raises_fails_alone(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    broken = submit(site, {"example": "none of ours"})
    sound = site.jobs.submit("local", "check", "t", {"statement": "x", "corpus": "gone"})
    site.jobs.take("w")
    site.jobs.take("w")
    runner = Runner("w", site.server, Settings())
    runner.run(broken)
    runner.run(sound.job_id)
    for job_id, code in ((broken, "internal"), (sound.job_id, "input_error")):
        job = site.jobs.get(job_id)
        assert outcome(job) == (Status.FAILED, code)
        assert "none of ours" not in json.dumps(job.problem if job else "")
    [record] = [each for each in caplog.records if each.exc_info]
    assert broken in record.getMessage()


def test_result_that_cannot_be_written_fails_its_job(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_a_pair = Done("{}", complete=True, files={"article": {"title": "a \ud83d"}})
    monkeypatch.setattr(work_module, "run", lambda *_: half_a_pair)
    job_id = submit(site, SHORT)
    site.jobs.take("w")
    Runner("w", site.server, Settings()).run(job_id)
    assert outcome(site.jobs.get(job_id)) == (Status.FAILED, "internal")


# ── Killed servers and workers ───────────────────────────────────────────────────────────────────


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
