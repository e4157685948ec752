"""`pincite watch` in processes of its own, killed and interrupted at every step."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import sqlalchemy as sa
from edited_wiki import FERRY, WEIR, WRONG, EditedWiki, text_of

from pincite.errors import InputError
from pincite.wiki.api import WikiError
from pincite_server.database import Database
from pincite_watch.gate import Kind
from pincite_watch.tables import findings

# `pincite watch` with the loopback allowed; argument 1: the port, 2: when it ends itself. A number
# N sends SIGKILL before the Nth statement that writes, "int" sends SIGINT at the second claim.
RUN = """
import os
import signal
import sys

import sqlalchemy as sa

from pincite.library import web_pages
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite.web.fetch import WebClient, WebRules

port, when = int(sys.argv[1]), sys.argv[2]
n_writes = n_judged = 0
execute, finding = sa.Connection.execute, VerifyPipeline.finding


def writes(self, statement, *more, **options):
    global n_writes
    if getattr(statement, "is_dml", False):
        n_writes += 1
        if n_writes == int(when):
            os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, statement, *more, **options)


def judges(self, claim, written=None):
    global n_judged
    n_judged += 1
    if n_judged == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return finding(self, claim, written)


web_pages.open_web = lambda settings: WebClient(
    WebRules(online=settings.online, ports=(port,), pause=0), allow={"127.0.0.1"}
)
if when == "int":
    VerifyPipeline.finding = judges
elif when != "never":
    sa.Connection.execute = writes
sys.argv = ["pincite", "watch", *sys.argv[3:]]
from pincite.cli import main

main()
"""


@pytest.fixture
def home(tmp_path: Path, wiki: EditedWiki, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pincite.toml").write_text(f"verify.wiki = '{wiki.url}'\n")
    (tmp_path / "titles.txt").write_text("Tolne\nMill\n")
    wiki.edit("Tolne", text_of(WEIR, WRONG, FERRY))
    wiki.edit("Mill", text_of(WRONG))
    return tmp_path


def watch(wiki: EditedWiki, when: object, *more: str) -> "subprocess.CompletedProcess[str]":
    given = ("--titles", "titles.txt", "--online", "--once", "--sources", "sources.jsonl")
    command = (sys.executable, "-c", RUN, wiki.url.rpartition(":")[2], str(when))
    options = ("--data", "data", "--settle", "0", *(more or given))
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def rows() -> list[Any]:
    database = Database(f"sqlite:///{Path('data', 'pincite.sqlite').absolute()}")
    try:
        order = (findings.c.page_id, findings.c.span_start)
        return list(database.rows(sa.select(findings).order_by(*order)))
    finally:
        database.close()


def test_a_run_reports_what_it_did_and_lists_it(home: Path, wiki: EditedWiki) -> None:
    given = "--titles titles.txt --online --once --json --sources sources.jsonl".split()
    status = json.loads(watch(wiki, "never", *given).stdout)
    assert status["pages"] == {"watched": 2, "checked": 2, "due": 0, "failing": 0}
    assert (status["today"]["judged"], status["today"]["citations"]) == (4, 4)
    assert watch(wiki, "never", "--list", "list.wiki").returncode == 0
    listed = Path("list.wiki").read_text()
    assert listed.count("\n|-") == 2
    assert "[[:Mill]]" in listed


@pytest.mark.slow
def test_a_watcher_killed_before_any_write_loses_and_repeats_nothing(
    home: Path, wiki: EditedWiki
) -> None:
    n_killed = 0
    for step in range(4, 80, 4):
        done = watch(wiki, step)
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        n_killed += 1
    assert n_killed >= 3
    found = rows()
    assert [row.state for row in found] == ["live"] * 4
    assert len({(row.page_id, row.inputs) for row in found}) == 4


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_judged(home: Path, wiki: EditedWiki) -> None:
    done = watch(wiki, "int")
    assert done.returncode == 130, done.stderr
    assert len(rows()) == 1
    assert watch(wiki, "never").returncode == 0
    assert [row.state for row in rows()] == ["live"] * 4


def test_changes_that_cannot_be_read_are_an_error_at_the_end(home: Path, wiki: EditedWiki) -> None:
    assert watch(wiki, "never").returncode == 0
    wiki.hides_changes = True
    Path("titles.txt").write_text("Weir\n")
    wiki.edit("Weir", text_of(WEIR))
    done = watch(wiki, "never")
    assert done.returncode == WikiError.exit_code
    assert len(rows()) == 5


def test_titles_of_other_wikis_are_an_error_that_names_them(home: Path, wiki: EditedWiki) -> None:
    lines = ["Tolne", "https://de.wikipedia.org/wiki/Aue", "https://fr.wikipedia.org/wiki/Loue"]
    Path("titles.txt").write_text("\n".join(lines))
    done = watch(wiki, "never")
    assert done.returncode == InputError.exit_code
    assert "Aue (de.wikipedia.org)" in done.stderr
    assert "Loue (fr.wikipedia.org)" in done.stderr
    assert rows() == []


def test_a_start_that_names_nothing_watches_the_same_pages(home: Path, wiki: EditedWiki) -> None:
    wiki.category["Mills"] = ["Mill"]
    started = ("--online", "--once", "--json", "--sources", "sources.jsonl")
    watch(wiki, "never", *started, "--category", "Mills", "--new-pages")
    wiki.category["Mills"] = ["Mill", "Tolne"]
    wiki.edit("Weir", text_of(WEIR))
    wiki.changes[-1]["timestamp"] = "2099-01-01T00:00:00Z"
    status = json.loads(watch(wiki, "never", *started).stdout)
    assert status["pages"] == {"watched": 3, "checked": 3, "due": 0, "failing": 0}


def test_kept_findings_follow_the_gate_of_each_start(home: Path, wiki: EditedWiki) -> None:
    started = ("--titles", "titles.txt", "--online", "--once", "--sources", "sources.jsonl")
    assert watch(wiki, "never", "--publish", "of_no_kind").returncode == click.UsageError.exit_code
    for more in ((), ("--publish", Kind.SUPPORTED), ()):
        assert watch(wiki, "never", *started, *more).returncode == 0
        assert len(rows()) == 4
        shown = {row.kind for row in rows() if row.published}
        assert shown == {Kind.DATE, *more[1:]}
