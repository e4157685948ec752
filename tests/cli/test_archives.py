"""`pincite verify --online` and archived copies: a wiki, its sources and an archive, all local.

The verifier is the one that is shipped, since the verdicts matter here.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.check_runs import reach
from cli.test_cli import run
from support.wiki_server import Wiki, WikiPage, serving

TIME = "20140305101500"
CLAIM = "The Varde Bridge was opened in 1911 by the mayor of the town."
THEN = f"{CLAIM} It carries a road and a footpath over the river, and is lit at night."
NOW = "Our shop sells garden furniture. Order today, and we deliver on Monday. All prices with tax."


def html(text: str) -> bytes:
    bar = "<div id='wm-ipp-base'><p>Wayback Machine: 12 captures of a shop in 1913.</p></div>"
    return f"<html lang=en><title>Page</title><body>{bar}<p>{text}</p></body></html>".encode()


@pytest.fixture
def wiki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wiki]:
    monkeypatch.setenv("COLUMNS", "200")
    with serving(Wiki()) as server:
        (tmp_path / "pincite.toml").write_text(
            f"verify.wiki = '{server.url}'\nweb.wayback_api = '{server.url}/wayback/available'\n"
            "web.wayback_pause = 0.0\n"
        )
        reach(server, monkeypatch)
        yield server


def cites(wiki: Wiki, **parameters: str) -> None:
    """One article with one claim and one citation."""
    given = "".join(f" |{name.replace('_', '-')}={value}" for name, value in parameters.items())
    text = f"{CLAIM}<ref>{{{{cite web |url={wiki.url}/bridge |title=The bridge{given}}}}}</ref>\n"
    wiki.pages.append(WikiPage(1, "Varde Bridge", [(10, text)]))


def archived(wiki: Wiki, text: str) -> str:
    page = f"/{wiki.url}/bridge"
    for flag in ("", "id_"):
        wiki.sites[f"/web/{TIME}{flag}{page}"] = html(text)
    return f"{wiki.url}/web/{TIME}{page}"


def checked(*options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The one finding and its one citation."""
    done = run("verify", "Varde Bridge", "--online", "--json", "-", *options)
    (finding,) = json.loads(done.stdout)["findings"]
    (citation,) = finding["citations"]
    return finding, citation


def test_a_dead_page_with_an_archived_copy(wiki: Wiki) -> None:
    cites(wiki, archive_url=archived(wiki, THEN), archive_date="5 March 2014")
    finding, citation = checked("--csv", "out.csv", "--html", "out.html", "--wikitext", "out.wiki")
    assert finding["label"] == "supported"
    assert citation["copy"]["kind"] == "archived"
    assert citation["copy"]["date"] == "2014-03-05"
    assert (citation["not_live"]["reason"], citation["not_live"]["detail"]) == ("dead", "HTTP 404")
    assert "captures" not in citation["evidence"]["passage"]
    (row,) = csv.DictReader(Path("out.csv").read_text().splitlines())
    assert (row["copy"], row["not_live"]) == ("archived", "dead")
    said = "rchived copy of 2014-03-05; the page itself: dead link (HTTP 404)"
    assert f"A{said}" in Path("out.html").read_text().replace("</a>", "")
    assert said in run("verify", "Varde Bridge", "--online").stdout
    assert "|url-status=dead\n" in Path("out.wiki").read_text()


def test_the_wayback_machine_needs_the_web(wiki: Wiki) -> None:
    Path("article.wiki").write_text(CLAIM)
    assert "needs --online" in run("verify", "article.wiki", "--wayback", code=2).stderr
    assert wiki.asked == []
