"""`pincite reliability`, and a list at work in `pincite verify`."""

import json
from pathlib import Path

import pytest
from cli.test_cli import home, run

__all__ = ["home"]  # the fixture

LIST = "site,label,name,scope,link\n"
LIST += "varde.example,no consensus,Varde,sport,https://w.example/varde\n"
LIST += "better.example,deprecated,Better News,,https://w.example/better\n"


@pytest.fixture
def imported(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    (home / "list.csv").write_text(LIST)
    said = run("reliability", "import", "list.csv").output
    assert "2 entries read, 2 sites" in said
    assert "1 deprecated" in said
    return home


def test_import_and_show(imported: Path) -> None:
    assert run("reliability", "show").output.startswith("en, 2 rows, ")
    shown = run("reliability", "show", "www.varde.example/a", "https://x.example/").stdout
    assert "no consensus (sport)" in shown
    assert "https://w.example/varde" in shown
    assert "unlisted" in shown
    line = run("reliability", "show", "--json", "better.example").stdout
    assert json.loads(line)["label"] == "deprecated"
    run("reliability", "import", "list.csv", "--name", "house")
    assert len(run("reliability", "show").output.splitlines()) == 2


def test_verify_shows_labels_and_never_suggests_what_is_deprecated(imported: Path) -> None:
    run("corpus", "add", "corpus", "web.jsonl", code=5)
    ask = ("verify", "article.wiki", "--sources", "pages", "--corpus", "corpus")
    done = run(*ask, "--json", "report.json", "--csv", "report.csv", "--html", "report.html",
               "--show-excluded")  # fmt: skip
    report = json.loads(Path("report.json").read_text())
    assert report["versions"]["reliability"].startswith("en, 2 rows")
    cited = [c for f in report["findings"] for c in f["citations"]]
    by_url = {c["url"]: c["reliability"] for c in cited}
    assert by_url["https://varde.example/bridge"]["label"] == "no_consensus"
    assert by_url["https://gone.example/"]["label"] == "unlisted"
    assert by_url[None] is None
    excluded = [e for f in report["findings"] for e in f["excluded"]]
    assert {e["reason"]: e["url"] for e in excluded} == {"deprecated": "https://better.example/"}
    assert not any(f["suggestions"] for f in report["findings"])
    assert "Left out of the suggestions" in done.stdout
    assert "Better News: deprecated" in done.stdout
    assert "no_consensus" in Path("report.csv").read_text()
    assert "https://w.example/varde" in Path("report.html").read_text()
