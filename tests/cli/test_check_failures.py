"""`pincite check` when something breaks: what is kept, what is said, and what a second run asks."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from check_replies import Model
from cli.check_runs import CHECK, Run, llm, written
from models.chat_server import Answer, Server, good
from support.check_values import readings

from pincite import runtime
from pincite.llm.client import Limits

ALL = 16  # calls of the statement: 6 and 2 to read it, 8 to judge it


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is gone is waited for, but not for seconds."""
    monkeypatch.setattr(runtime, "Limits", partial(Limits, first_wait=0.01))


@pytest.mark.parametrize("way", ["cut", "slow", "garbled", "half a body", "length"])
def test_a_server_that_fails_in_the_middle(run: Run, server: Server, way: str) -> None:
    """Partial results with reasons and code 5; the same command then asks for the rest only."""
    model, count, served = Model(), iter(range(10_000)), list[str]()

    def reply(request: dict[str, Any]) -> Answer:
        if next(count) < 10:
            served.append(request["messages"][-1]["content"])
            return model(request)
        return {
            "cut": Answer(body=b"", headers={"Content-Length": "50"}),
            "slow": Answer(body=b" " * 60, pieces=60, pause=0.1),
            "garbled": Answer(body=b"\x00\xff{]"),
            "half a body": Answer(body=good("A").body[:-5]),
            "length": good("", finish_reason="length"),
        }[way]

    with Path("pincite.toml").open("a") as file:
        file.write("chat.seconds = 1.0\nchat.at_once = 2\n")
    server.by_request = reply
    again = (*CHECK, *llm(server), "--trace", "run.jsonl", "--json", "-")
    result = run(*again, code=5)
    report = written(result)
    reasons = [i["failed"]["detail"] for i in readings(report)[0]["evidence"] if i["failed"]]
    assert reasons
    said = {"cut": "broke off", "slow": "within 1 s", "length": "It was cut off: raise max_tokens"}
    assert all(said.get(way, "not a chat completion") in reason for reason in reasons)
    assert report["usage"]["n_failed"] > 0
    assert "--trace run.jsonl" in result.stderr
    n_before = len(server.asked)
    server.by_request = model
    report = written(run(*again))
    assert report["complete"]
    asked = [request["messages"][-1]["content"] for request in server.asked[n_before:]]
    assert not set(asked) & set(served), "nothing that was known"
    assert (len(asked), report["usage"]["n_reused"]) == (ALL - 10, 10)


def test_one_question_has_one_reply(run: Run, server: Server) -> None:
    """Two readings say the same; a server that answers it otherwise each time is asked once."""
    model, count = Model(), iter(range(10_000))
    model.readings["ascriptive"] = model.readings["descriptive"]
    model.instead["freetext_confirmation_analysis"] = lambda _: good(f"Thought {next(count)}.")
    server.by_request = model
    run(*CHECK, *llm(server), "--trace", "run.jsonl", "--json", "-")
    asked = [json.dumps(request, sort_keys=True) for request in server.asked]
    assert len(set(asked)) == len(asked)


def test_a_run_that_is_killed(run: Run, server: Server) -> None:
    """`kill -9` in the middle: what was replied by then is not asked for again."""
    model = Model()

    def reply(request: dict[str, Any]) -> Answer:
        answer = model(request)
        answer.pause = 60.0 if len(server.asked) > 11 else 0.0
        return answer

    server.by_request = reply
    again = (*CHECK, *llm(server), "--trace", "run.jsonl", "--json", "-")
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", *again],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        _wait_until(lambda: len(server.asked) > 11 and _n_replies() == 11)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    n_before = len(server.asked)
    server.by_request = model
    report = written(run(*again))
    assert report["complete"]
    assert (len(server.asked) - n_before, report["usage"]["n_reused"]) == (ALL - 11, 11)


def _n_replies() -> int:
    lines = Path("run.jsonl").read_text().splitlines()
    return sum('"event": "call"' in line for line in lines)


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it never came so far"
        time.sleep(0.05)


def test_half_a_line_of_a_killed_run_is_left_out(run: Run, server: Server, tmp_path: Path) -> None:
    run(*CHECK, *llm(server), "--trace", "run.jsonl", "-q")
    path = tmp_path / "run.jsonl"
    path.write_text(path.read_text()[:-20])
    assert written(run(*CHECK, *llm(server), "--trace", "run.jsonl", "--json", "-"))["complete"]


def test_ctrl_c_keeps_what_was_done(run: Run, server: Server, tmp_path: Path) -> None:
    import _thread

    model = Model()

    def reply(request: dict[str, Any]) -> Answer:
        if len(server.asked) == 13:  # of 16
            threading.Timer(0.1, _thread.interrupt_main).start()
        answer = model(request)
        answer.pause = 3.0 if len(server.asked) >= 13 else 0.0
        return answer

    server.by_request = reply
    with Path("pincite.toml").open("a") as file:
        file.write("chat.at_once = 1\n")
    result = run(*CHECK, *llm(server), "--trace", "run.jsonl", "--json", "out.json", "-q", code=130)
    assert "Stopped after" in result.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    failures = [i["failed"] for r in readings(report) for i in r["evidence"] if i["failed"]]
    assert failures
    assert {failure["step"] for failure in failures} == {"stopped"}
    server.by_request = model
    assert written(run(*CHECK, *llm(server), "--trace", "run.jsonl", "--json", "-"))["complete"]
