"""Ctrl-C in every phase: what is done is written, exit 130, and the same command goes on."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli.test_cli import PAGE
from support.wiki_server import Wiki, WikiPage, serving

from conftest import write_model

pytestmark = pytest.mark.slow
N = 4  # claims of an article, each with a page of its own
# Another process has to be told of the loopback by code: no setting can. `slow` names what is to
# take so long that a signal comes in time.
RUN = """
import sys
from pincite.web.fetch import WebClient, WebRules
from pincite.library import web_pages

port, slow = int(sys.argv[1]), sys.argv[2]
pause = 0.5 if slow == "fetching" else 0

def reaches_this_machine(settings):
    rules = WebRules(online=settings.online, ports=(port,), pause=pause)
    return WebClient(rules, allow={"127.0.0.1"})

web_pages.open_web = reaches_this_machine
sys.argv = ["pincite", "verify", *sys.argv[3:]]
from pincite.cli import main
main()
"""
ONE = ("Bridge 1", "--online", "--json", "r.json", "--html", "r.html")
MANY = ("--category", "Bridges", "--online", "--out", "o")


def text_of(site: str, number: int) -> str:
    cite = "The bridge {0}{1} opened in 1911.<ref>{{{{cite web |url={2}/{0}/{1}}}}}</ref>\n\n"
    return "".join(cite.format(number, n, site) for n in range(N))


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[Wiki]:
    """Two articles with sources on the same server; the folder to run in is the current one."""
    write_model(tmp_path / "verifier", labels=3)
    with serving(Wiki(category={"Bridges": ["Bridge 1", "Bridge 2"]})) as found:
        for i in (1, 2):
            found.pages.append(WikiPage(i, f"Bridge {i}", [(100 + i, text_of(found.url, i))]))
            for n in range(N):
                found.sites[f"/{i}/{n}"] = PAGE.replace("https://varde.example/bridge", "").encode()
        settings = f"models.verifier = '{tmp_path / 'verifier'}'\nverify.wiki = '{found.url}'\n"
        Path("pincite.toml").write_text(settings)
        yield found


@contextmanager
def running(wiki: Wiki, slow: str, *arguments: str) -> Iterator[Any]:
    command = [sys.executable, "-c", RUN, wiki.url.rpartition(":")[2], slow, *arguments]
    with Path("log").open("w") as log:
        started = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL)
        try:
            yield started
        finally:
            started.kill()
            started.wait()


def wait_for(happened: Callable[[], bool], started: Any) -> None:
    deadline = time.monotonic() + 60
    while not happened() and time.monotonic() < deadline:
        assert started.poll() is None, Path("log").read_text()
        time.sleep(0.01)
    assert happened(), Path("log").read_text()


def stopped(wiki: Wiki, slow: str, happened: Callable[[], bool], *arguments: str) -> str:
    """Ctrl-C when something has happened; what the process said."""
    with running(wiki, slow, *arguments) as started:
        wait_for(happened, started)
        started.send_signal(signal.SIGINT)
        assert started.wait(30) == 130, Path("log").read_text()
    said = Path("log").read_text()
    assert "Traceback" not in said
    assert "stopped" in said.lower()
    return said


def goes_on(wiki: Wiki, *arguments: str) -> None:
    with running(wiki, "nothing", *arguments) as started:
        assert started.wait(60) == 0, Path("log").read_text()


def asked_twice(wiki: Wiki) -> set[str]:
    paths = [asked["path"] for asked in wiki.asked if asked["path"] != "/w/api.php"]
    return {path for path in paths if paths.count(path) > 1}


def report(path: str = "r.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path).read_text())
    return found


def source_came(wiki: Wiki, n: int) -> Callable[[], bool]:
    return lambda: sum(asked["path"] in wiki.sites for asked in wiki.asked) >= n


def test_one_while_its_sources_are_fetched(wiki: Wiki) -> None:
    said = stopped(wiki, "fetching", source_came(wiki, 2), *ONE)
    assert f"Stopped after 0 of {N} claims" in said
    found = report()
    assert found["complete"] is False
    assert found["coverage"]["waiting"] == N
    assert found["coverage"]["stages"]["addressed"] == {"uses": N, "sources": N}
    goes_on(wiki, *ONE)
    assert report()["complete"]
    assert report()["coverage"]["stages"]["judged"]["uses"] == N
    assert len(asked_twice(wiki)) <= 1  # the one that was under way


def worklist() -> dict[str, Any]:
    return report("o/worklist.json")


def ends_as_a_whole_run(wiki: Wiki) -> None:
    goes_on(wiki, *MANY)
    assert worklist()["complete"]
    assert worklist()["coverage"]["stages"]["judged"]["uses"] == 2 * N
    assert len(asked_twice(wiki)) <= 1


def test_a_batch_that_is_killed_goes_on(wiki: Wiki) -> None:
    """The first article is done; nothing of it is requested or judged again."""
    with running(wiki, "fetching", *MANY) as started:
        wait_for(lambda: any(Path("o").glob("*.101.json")), started)
        started.send_signal(signal.SIGKILL)
        started.wait()
    before = next(Path("o").glob("*.101.json")).read_bytes()
    ends_as_a_whole_run(wiki)
    assert next(Path("o").glob("*.101.json")).read_bytes() == before
