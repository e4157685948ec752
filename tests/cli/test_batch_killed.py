"""A batch that is killed goes on: nothing that was done is asked for or judged again."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from cli.test_online import TEXT
from wiki.wiki_server import Wiki, WikiPage, serving

from conftest import write_model

N = 20
# Another process has to be told of the loopback by code: no setting can.
RUN = """
import sys
from pincite.web.fetch import WebClient, WebRules
from pincite.library import web_pages

port, out = int(sys.argv[1]), sys.argv[2]

def reaches_this_machine(settings):
    rules = WebRules(online=True, ports=(port,), pause=0)
    return WebClient(rules, allow={"127.0.0.1"})

web_pages.open_web = reaches_this_machine
sys.argv = ["pincite", "verify", "--category", "Bridges", "--online", "--out", out]
from pincite.cli import main
main()
"""


def cites(number: int) -> str:
    """An article whose sources are on the server itself: no other host is ever named."""
    text = TEXT.replace("gone.example", f"127.0.0.1/{number}")
    return text.replace("varde.example", "127.0.0.1")


def asked_for(wiki: Wiki) -> Counter[str]:
    keys = [asked.get("revids") or asked["path"] for asked in wiki.asked if "list" not in asked]
    return Counter(key for key in keys if key != "/w/api.php")


def the_list(folder: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((folder / "worklist.json").read_text())["articles"]
    return found


@pytest.mark.slow
def test_kill_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "verifier", labels=3)
    pages = [WikiPage(i, f"Bridge {i}", [(100 + i, cites(i))]) for i in range(1, N + 1)]
    wiki = Wiki(pages=pages, category={"Bridges": [page.title for page in pages]})
    with ExitStack() as stack:
        stack.enter_context(serving(wiki))
        port = wiki.url.rpartition(":")[2]
        for page in pages:
            number, text = page.revisions[0]
            page.revisions = [(number, str(text).replace("https://127.0.0.1", wiki.url))]
        settings = f"models.verifier = '{tmp_path / 'verifier'}'\nverify.wiki = '{wiki.url}'\n"
        Path("pincite.toml").write_text(settings)
        log = tmp_path / "log"
        command = [sys.executable, "-c", RUN, port]
        errors = stack.enter_context(log.open("w"))
        started = subprocess.Popen([*command, "killed"], stderr=errors)
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("killed/*.json"))) < 7 and time.monotonic() < deadline:
            assert started.poll() is None, log.read_text()
            time.sleep(0.02)
        started.send_signal(signal.SIGKILL)
        started.wait()
        done = len(list(tmp_path.glob("killed/*.json")))
        assert 7 <= done < N, log.read_text()
        subprocess.run([*command, "killed"], check=True, capture_output=True)
        twice = {key for key, n in asked_for(wiki).items() if n > 1}
        assert len(twice) <= 1  # the text of the article that was being checked
        assert not twice or twice.pop().isdecimal()
        subprocess.run([*command, "whole"], check=True, capture_output=True)
        assert the_list(tmp_path / "killed") == the_list(tmp_path / "whole")
        assert len(the_list(tmp_path / "whole")) == N
