"""What needs no server works without the means of POSIX, as on Windows: see `without_posix`.

Nobody runs these tests on Windows but the workflow of releases; this is as near as Linux comes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from cli.check_runs import PAGES, STATEMENT

from conftest import write_model

TESTS = Path(__file__).parent
ARTICLE = (
    "'''Bridge''' is a bridge of stone.<ref>{{cite web |url=https://a.example/ }}</ref> "
    "It was opened in 1913 — by the “river”.<ref>{{cite web |url=https://b.example/}}</ref>\n"
)


COMMANDS = f"""
import sys
from pincite.cli import main
def run(*arguments, code=0):
    sys.argv = ["pincite", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert (ended.code or 0) == code, (arguments, ended.code)

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


def test_the_three_verbs_with_a_corpus_of_ones_own(tmp_path: Path) -> None:
    write_model(tmp_path / "encoder", labels=0)
    write_model(tmp_path / "verifier", labels=3)
    settings = "models.encoder = './encoder'\nmodels.verifier = './verifier'\n"
    (tmp_path / "pincite.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "kb.jsonl").write_text("\n".join(map(json.dumps, PAGES)), encoding="utf-8")
    (tmp_path / "bridge.wiki").write_text(ARTICLE, encoding="utf-8")
    (tmp_path / "pages").mkdir()
    rows = []
    for name, page in (("a", PAGES[0]), ("b", PAGES[2])):
        text = f"<html><title>{page['title']}</title><p>{page['text']} Grüße</p></html>"
        (tmp_path / "pages" / f"{name}.html").write_text(text, encoding="utf-8")
        rows.append(json.dumps({"url": f"https://{name}.example/", "file": f"{name}.html"}))
    (tmp_path / "pages" / "manifest.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text("import without_posix\nwithout_posix.take_away()")
    own = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(TESTS), *filter(None, sys.path)]),
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "LC_ALL": "C",
        "PINCITE_CACHE": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "x"),
        "XDG_DATA_HOME": str(tmp_path / "x"),
    }
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=tmp_path, env=os.environ | own, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    assert "opened in 1913 — by the “river”".encode() in done.stdout, "whatever the encoding"
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert len(report["findings"]) == 2
    check = json.loads((tmp_path / "check.json").read_text(encoding="utf-8"))
    assert check["checks"][0]["statement"] == STATEMENT
    assert "# When did the bridge open?" in (tmp_path / "answer.md").read_text(encoding="utf-8")
