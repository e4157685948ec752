"""What needs no server works without the means of POSIX, as on Windows: see `without_posix`.

Nobody runs these tests on Windows but the workflow of releases; this is as near as Linux comes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.check_runs import PAGES, STATEMENT

from conftest import write_model

TESTS = Path(__file__).parent
ARTICLE = (
    "'''Bridge''' is a bridge of stone.<ref>{{cite web |url=https://a.example/ }}</ref> "
    "It was opened in 1913 — by the “river”.<ref>{{cite web |url=https://b.example/}}</ref>\n"
)


@pytest.fixture
def start(tmp_path: Path) -> "Starter":
    write_model(tmp_path / "encoder", labels=0)
    write_model(tmp_path / "verifier", labels=3)
    (tmp_path / "pincite.toml").write_text(
        "models.encoder = './encoder'\nmodels.verifier = './verifier'\n", encoding="utf-8"
    )
    (tmp_path / "kb.jsonl").write_text("\n".join(map(json.dumps, PAGES)), encoding="utf-8")
    (tmp_path / "bridge.wiki").write_text(ARTICLE, encoding="utf-8")
    (tmp_path / "pages").mkdir()
    for name, page in (("a", PAGES[0]), ("b", PAGES[2])):
        text = (
            f"<html><title>{page['title']}</title><body><p>{page['text']} Grüße</p></body></html>"
        )
        (tmp_path / "pages" / f"{name}.html").write_text(text, encoding="utf-8")
    rows = [{"url": f"https://{n}.example/", "file": f"{n}.html"} for n in "ab"]
    manifest = "\n".join(map(json.dumps, rows))
    (tmp_path / "pages" / "manifest.jsonl").write_text(manifest, encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(
        "import without_posix\nwithout_posix.take_away()\n", encoding="utf-8"
    )
    return Starter(tmp_path)


class Starter:
    """Starts Python in a folder with pages, an article and tiny models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, code: str) -> "subprocess.Popen[bytes]":
        paths = [str(self.folder), str(TESTS), *filter(None, sys.path)]
        own = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "0", "LC_ALL": "C"}
        own |= {"PYTHONCOERCECLOCALE": "0", "PINCITE_CACHE": str(self.folder / "cache")}
        own |= {"XDG_CONFIG_HOME": str(self.folder / "x"), "XDG_DATA_HOME": str(self.folder / "x")}
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=os.environ | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


RUN = """
import sys
from pincite.cli import main
def run(*arguments, code=0):
    sys.argv = ["pincite", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert (ended.code or 0) == code, (arguments, ended.code)
"""


def ended(process: "subprocess.Popen[bytes]") -> str:
    """What it printed."""
    said, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint.decode("utf-8", "replace")
    return said.decode("utf-8")


def test_the_three_verbs_with_a_corpus_of_ones_own(start: Starter) -> None:
    commands = f"""
run("corpus", "add", "kb", "kb.jsonl")
run("corpus", "search", "kb", "bridge of stone")
run("verify", "bridge.wiki", "--sources", "pages", "--corpus", "kb", "--json", "report.json")
run("check", {STATEMENT!r}, "--corpus", "kb", "--json", "check.json")
run("ask", "When did the bridge open?", "--corpus", "kb", "--markdown", "answer.md")
run("corpus", "optimize", "kb")
run("corpus", "verify", "kb")
run("corpus", "pack", "kb", "kb.zip")
run("corpus", "unpack", "kb.zip", "copy")
run("source", "attach", "doi:10.1000/x", "pages/a.html")
run("source", "list")
run("claims", "bridge.wiki")
run("serve", code=2)
"""
    process = start(RUN + commands)
    printed = ended(process)
    assert "opened in 1913 — by the “river”" in printed  # as UTF-8, whatever the system's encoding
    report = json.loads((start.folder / "report.json").read_text(encoding="utf-8"))
    assert len(report["findings"]) == 2
    check = json.loads((start.folder / "check.json").read_text(encoding="utf-8"))
    assert check["checks"][0]["statement"] == STATEMENT
    assert "# When did the bridge open?" in (start.folder / "answer.md").read_text(encoding="utf-8")


def test_a_document_that_takes_too_long_is_given_up(start: Starter) -> None:
    code = """
from pincite.documents.body import Limits
from pincite.documents.read import read_bytes
table = b"<html><body><p>Tides of the harbour.</p><table>" + 60_000 * b"<tr><td>4<td>7"
print(read_bytes(table, url="https://a.example/", limits=Limits(seconds=0.01)).reason)
print(read_bytes(b"<p>It opened in 1911.", url="https://a.example/").text)
"""
    assert ended(start(code)) == "timed_out\nIt opened in 1911.\n"
