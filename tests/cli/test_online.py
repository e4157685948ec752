"""`pincite verify` of titles and addresses, against a wiki on this machine."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.check_runs import prepare, reach
from cli.test_cli import BETTER, PAGE, run
from support.wiki_server import Wiki, WikiPage, serving

from pincite.verbs.verify.pipeline import VerifyPipeline

TEXT = (
    "The '''Varde Bridge''' opened in 1911.<ref>{{cite web |url=https://varde.example/bridge "
    "|title=The bridge}}</ref>\n\n"
    "The river was by the town.<ref>{{cite web |url=https://gone.example/ |title=Gone}}</ref>\n"
)


def a_wiki() -> Wiki:
    return Wiki(
        pages=[
            WikiPage(1, "Varde Bridge", [(10, "old"), (11, TEXT)]),
            WikiPage(2, "Old Bridge", [(20, "#REDIRECT [[Varde Bridge]]")], "Varde Bridge"),
            WikiPage(3, "Town", [(30, "No source here. " + TEXT)]),
            WikiPage(4, "Mercury", [(40, "* [[Mercury (planet)]]\n")], disambiguation=True),
        ],
        category={"Bridges": ["Varde Bridge", "Town", "Nowhere"]},
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wiki]:
    """A folder with tiny models and stored pages, and a wiki that titles belong to."""
    prepare(tmp_path, monkeypatch)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "bridge.html").write_text(PAGE)
    (tmp_path / "web.jsonl").write_text(BETTER)
    with serving(a_wiki()) as wiki:
        with (tmp_path / "pincite.toml").open("a") as file:
            file.write(f"verify.wiki = '{wiki.url}'\n")
        reach(wiki, monkeypatch)
        yield wiki


def test_a_title_online(home: Wiki) -> None:
    done = run("verify", "Old Bridge", "--online", "--sources", "pages", "--json", "-")
    assert "Varde Bridge: revision 11 of 2026-01-01, 127.0.0.1" in done.stderr
    assert "'Old Bridge' is a redirect to 'Varde Bridge'" in done.stderr
    report = json.loads(done.stdout)
    assert report["revision_id"] == "11"
    assert report["url"] == f"{home.url}/w/index.php?oldid=11"
    assert report["counts"]["claims"] == 2
    assert "'Old Bridge' is a redirect to 'Varde Bridge'" in report["warnings"]
    assert "web.contact" not in report["settings"]
    assert all(asked["maxlag"] == "5" for asked in home.asked)
    assert home.headers[0]["user-agent"].startswith("Pincite/")


def test_offline_nothing_is_asked(home: Wiki) -> None:
    done = run("verify", "Joe Hipp", code=2)
    assert "'Joe Hipp'" in done.stderr
    assert "--online" in done.stderr
    assert "--online" in run("verify", "https://de.wikipedia.org/wiki/X", code=2).stderr
    Path("titles.txt").write_text("Varde Bridge\n")
    assert "--online" in run("verify", "--titles", "titles.txt", "--out", "o", code=2).stderr
    assert "--online" in run("verify", "--category", "Bridges", "--out", "o", code=2).stderr
    Path("article.wiki").write_text(TEXT)
    assert "needs --online" in run("verify", "article.wiki", "--wayback", code=2).stderr
    assert home.asked == []


def test_a_file_wins_and_a_missing_file_is_no_title(home: Wiki) -> None:
    Path("Varde Bridge").write_text(TEXT)
    report = json.loads(run("verify", "Varde Bridge", "--online", "--json", "-").stdout)
    assert report["revision_id"] is None
    for name in ("missing.wiki", "./missing", "/missing", "dump.xml.bz2"):
        assert "cannot be opened" in run("verify", name, "--online", code=3).stderr
    assert home.asked == []


def rows(folder: str) -> list[dict[str, Any]]:
    found = json.loads(Path(folder, "worklist.json").read_text())["articles"]
    assert isinstance(found, list)
    return found


def texts_asked(wiki: Wiki) -> list[str]:
    return [a["revids"] for a in wiki.asked if "revids" in a]


def test_a_list_of_titles_is_resumable(home: Wiki) -> None:
    Path("titles.txt").write_text("# mine\n* [[Varde Bridge]]\nOld Bridge\nTown\nNowhere\n")
    many = ("verify", "--titles", "titles.txt", "--online", "--sources", "pages", "--out", "o")
    first = run(*many, code=5)
    assert "3 articles" in first.stderr  # a redirect leads to one that is there already
    found = rows("o")
    assert {row["title"] for row in found[:2]} == {"Varde Bridge", "Town"}
    assert found[0]["risk"] >= found[1]["risk"]
    assert "Nowhere" in found[2]["title"]
    assert "has no page 'Nowhere'" in found[2]["problem"]
    assert texts_asked(home) == ["11", "30"]
    summary = json.loads(Path("o", "worklist.json").read_text())
    assert (summary["n_articles"], summary["n_failed"], summary["complete"]) == (3, 1, True)
    listed = list(csv.DictReader(Path("o", "worklist.csv").read_text().splitlines()))
    assert [row["title"] for row in listed] == [row["title"] for row in found]
    page = Path("o", "worklist.html").read_text()
    assert found[0]["report"] in page
    assert Path("o", found[0]["report"]).is_file()
    home.asked.clear()
    before = {p.name: p.read_bytes() for p in Path("o").iterdir()}
    run(*many, code=5)
    assert texts_asked(home) == []
    assert {p.name: p.read_bytes() for p in Path("o").iterdir()} == before
    home.pages[0].revisions.append((12, TEXT))
    run(*many, "-q", code=5)
    assert texts_asked(home) == ["12"]
    run(*many, "--threshold", "0.5", code=5)  # other settings, other verdicts
    assert texts_asked(home) == ["12", "12", "30"]


def test_a_stopped_batch_goes_on(home: Wiki, monkeypatch: pytest.MonkeyPatch) -> None:
    findings: Callable[..., Any] = VerifyPipeline.findings

    def stops(self: VerifyPipeline, article: Any) -> Iterator[Any]:
        if article.title == "Town":
            raise KeyboardInterrupt
        return findings(self, article)  # type: ignore[no-any-return]

    monkeypatch.setattr(VerifyPipeline, "findings", stops)
    many = ("verify", "--category", "Bridges", "--online", "--out", "o")
    assert "same command again to continue" in run(*many, code=130).stderr
    assert [row["title"] for row in rows("o")] == ["Varde Bridge"]
    summary = json.loads(Path("o", "worklist.json").read_text())
    assert (summary["n_articles"], summary["complete"]) == (3, False)
    assert "the run was stopped" in Path("o/worklist.html").read_text()
    home.asked.clear()
    monkeypatch.setattr(VerifyPipeline, "findings", findings)
    run(*many, code=5)
    assert len(rows("o")) == 3
    assert texts_asked(home) == ["30"]


def test_cited_pages_are_fetched_once(home: Wiki) -> None:
    home.sites["/bridge"] = PAGE.replace("https://varde.example/bridge", "").encode()
    cited = TEXT.replace("https://varde.example", home.url).replace(
        "https://gone.example", home.url
    )
    home.pages[0].revisions.append((12, cited))

    def outcomes() -> tuple[list[str | None], list[str]]:
        home.asked.clear()
        report = json.loads(run("verify", "Varde Bridge", "--online", "--json", "-").stdout)
        found = [
            c["evidence"] or c["unchecked"] for f in report["findings"] for c in f["citations"]
        ]
        pages = [a["path"] for a in home.asked if a["path"] != "/w/api.php"]
        return sorted(outcome.get("reason", "") for outcome in found), pages

    first, asked = outcomes()
    assert first == ["", "dead"]
    assert sorted(asked) == ["/", "/bridge", "/robots.txt"]
    assert outcomes() == (first, [])


def pages_asked(wiki: Wiki) -> list[str]:
    return [asked["path"] for asked in wiki.asked if asked["path"] != "/w/api.php"]


def test_an_estimate_fetches_no_source(home: Wiki) -> None:
    home.pages[0].revisions.append((12, TEXT.replace("https://gone.example", home.url)))
    given = ("verify", "Varde Bridge", "--online", "--sources", "pages", "--estimate")
    said = run(*given).stdout
    assert "2 claims, 2 citations, 2 sources with an address: 1 at hand, 1 to fetch from 1" in said
    assert "costs nothing" in said
    found = json.loads(run(*given, "-q", "--json", "-").stdout)
    assert found["hosts"] == {"127.0.0.1": 1}
    assert found["seconds_of_fetching"][0] <= found["seconds_of_fetching"][1]
    assert pages_asked(home) == []
    Path("town.wiki").write_text(TEXT)
    offline = json.loads(run("verify", "town.wiki", "--estimate", "--json", "-").stdout)
    assert (offline["missing"], offline["to_fetch"]) == (2, 0)
