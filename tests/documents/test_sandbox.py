"""The worker that parses untrusted files: its failures become results."""

import os
import signal
import subprocess
import sys
from typing import IO

import pytest
from support.found import refusal

from pincite.documents import sandbox
from pincite.documents.body import Body, Limits
from pincite.documents.read import read_bytes
from pincite.types import Document, Reason, Unchecked

URL = "https://post.example/a.html"
PAGE = b"<html><title>A bridge</title><body><p>The bridge was opened in 1931.</p></body></html>"
TABLE = b"<html><body><p>Tides of the harbour.</p><table>" + 60_000 * b"<tr><td>4<td>7"

pytestmark = pytest.mark.skipif(not sandbox.LIMITED, reason="the system has no such limits")


def reads_on() -> bool:
    found = read_bytes(PAGE, url=URL)
    return isinstance(found, Document) and found.text == "The bridge was opened in 1931."


def worker() -> int:
    """The process id of the worker that was used last."""
    assert reads_on()
    return sandbox._POOL._idle[-1]._process.pid


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def refused(limits: Limits) -> Reason:
    before = worker()
    found = refusal(read_bytes(TABLE, url=URL, limits=limits))
    assert found.url == URL
    assert found.detail.isprintable()
    assert reads_on()
    assert not is_there(before)
    return found.reason


def test_the_time_limit_costs_one_document() -> None:
    assert refused(Limits(seconds=0.05)) is Reason.TIMED_OUT


@pytest.mark.skipif(sys.platform != "linux", reason="macOS bounds no address space")
def test_the_memory_limit_costs_one_document() -> None:
    # The table takes about 100 MB, most of it for its tree; a warm process has some of it already.
    assert refused(Limits(memory=55_000_000)) is Reason.TOO_LARGE


def test_a_worker_that_died_is_replaced() -> None:
    before = worker()
    os.kill(before, signal.SIGKILL)
    assert worker() != before


def test_a_document_that_kills_its_reader_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(file: IO[bytes]) -> None:
        os.kill(started[-1]._process.pid, signal.SIGSEGV)

    started: list[sandbox._Process] = []

    class Seen(sandbox._Process):
        def __init__(self) -> None:
            super().__init__()
            started.append(self)

    sandbox._POOL.end()
    monkeypatch.setattr(sandbox, "_Process", Seen)
    monkeypatch.setattr(sandbox, "read_frame", killed)
    found = refusal(read_bytes(PAGE, url=URL))
    assert (found.reason, "SIGSEGV" in found.detail) == (Reason.UNDECODABLE, True)
    assert len(started) == 1  # it had read nothing before: the document is to blame


@pytest.mark.parametrize("n_bodies", [1, 2, 130])
def test_many_are_read_in_order(n_bodies: int) -> None:
    unread = Unchecked("elsewhere", Reason.UNDECODABLE)
    bodies = [Body(f"{URL}?{n}", PAGE) for n in range(n_bodies)]
    found = list(sandbox.read_many("html", [unread, *bodies, unread]))
    assert [one.url for one in found] == ["elsewhere", *(b.url for b in bodies), "elsewhere"]
    assert all(isinstance(one, Document) for one in found[1:-1])


def test_one_of_many_that_takes_too_long_costs_only_itself() -> None:
    short = Limits(seconds=0.4)  # a page takes 0.01 once the libraries are there
    assert reads_on()
    bodies = [Body(URL, data, limits=short) for data in (PAGE, TABLE, PAGE)]
    found = list(sandbox.read_many("html", bodies))
    assert refusal(found[1]).reason is Reason.TIMED_OUT


def test_ctrl_c_ends_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(file: IO[bytes]) -> None:
        raise KeyboardInterrupt

    before = worker()
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "read_frame", interrupted)
        with pytest.raises(KeyboardInterrupt):
            read_bytes(PAGE, url=URL)
    assert not is_there(before)
    assert reads_on()


def test_the_worker_ignores_ctrl_c() -> None:
    before = worker()
    os.kill(before, signal.SIGINT)  # the terminal sends it to both
    assert worker() == before


def test_a_worker_ends_when_stdin_closes() -> None:
    command = [sys.executable, "-P", "-m", "pincite.documents.sandbox"]
    ended = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_a_missing_library_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = {"missing": "No module named 'lxml'", "name": "lxml"}
    monkeypatch.setattr(sandbox._POOL, "request", lambda *_: reply)
    with pytest.raises(ImportError, match="lxml"):
        read_bytes(PAGE, url=URL)
