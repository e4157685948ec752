"""`--online`: archived copies, and a search engine and what it finds; all servers are local.

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
from support.check_values import readings
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


def finds(wiki: Wiki, *paths: str) -> None:
    found: list[dict[str, Any]] = [{"url": wiki.url + path, "title": path} for path in paths]
    found.append({"url": "https://en.wikipedia.org/wiki/Varde_Bridge", "title": "Varde Bridge"})
    wiki.sites["/search"] = json.dumps({"results": found}).encode()


def test_a_better_source_from_the_web(wiki: Wiki) -> None:
    cites(wiki)
    wiki.sites |= {"/bridge": html(NOW), "/better": html(THEN), "/other": html(NOW)}
    finds(wiki, "/other", "/bridge", "/better", "/gone")
    finding, citation = checked("--search-url", wiki.url, "--show-excluded")
    assert citation["label"] != "supported"
    (better,) = finding["suggestions"]
    assert better["url"] == f"{wiki.url}/better"
    assert better["evidence"]["quote"].startswith("The Varde Bridge was opened in 1911")
    (asked,) = [each for each in wiki.asked if each["path"] == "/search"]
    assert asked["q"] == CLAIM.removesuffix(".")
    assert asked["format"] == "json"
    (left_out,) = finding["excluded"]
    assert left_out["url"] == "https://en.wikipedia.org/wiki/Varde_Bridge"
    asked_before = len(wiki.asked)
    checked("--search-url", wiki.url)  # everything is kept but the article itself
    assert {each["path"] for each in wiki.asked[asked_before:]} == {"/w/api.php"}


@pytest.mark.parametrize("page", [NOW, THEN], ids=["no setting", "borne out"])
def test_without_the_setting_or_for_a_supported_claim_nothing_is_sent(
    wiki: Wiki, page: str
) -> None:
    cites(wiki)
    wiki.sites["/bridge"] = html(page)
    finds(wiki, "/better")
    finding, _ = checked(*(("--search-url", wiki.url) if page == THEN else ()))
    assert (finding["label"] == "supported", finding["suggestions"]) == (page == THEN, [])
    assert "/search" not in {each["path"] for each in wiki.asked}


# ── check ────────────────────────────────────────────────────────────────────────────────────────

GERMAN = "Die Brücke bei Varde wurde 1911 eröffnet und trägt seitdem eine Straße über den Fluss."

OTHER_YEAR = CLAIM.replace("1911", "1913") + " It carries a road over the river."


def reading_of(wiki: Wiki, *options: str, code: int = 0) -> dict[str, Any]:
    """The one reading of the claim, with the web as its only source unless options say more."""
    given = ("--online", "--search-url", wiki.url, "--json", "-", *options)
    (reading,) = readings(json.loads(run("check", CLAIM, *given, code=code).stdout))
    return reading


def test_a_statement_against_the_web(wiki: Wiki) -> None:
    wiki.sites |= {"/yes": html(THEN), "/no": html(OTHER_YEAR), "/blank": html("")}
    wiki.sites["/de"] = html(GERMAN).replace(b"lang=en", b"lang=de")
    finds(wiki, "/gone", "/yes", "/no", "/blank", "/de")
    reading = reading_of(wiki)
    said = {item["url"].removeprefix(wiki.url): item["side"] for item in reading["evidence"]}
    assert said == {"/yes": "for", "/no": "against"}
    assert {item["origin"] for item in reading["evidence"]} == {"live"}
    unread = {page["url"].removeprefix(wiki.url): page["reason"] for page in reading["unread"]}
    assert unread == {"/gone": "dead", "/blank": "empty", "/de": "language"}
    (left_out,) = reading["excluded"]
    assert left_out["url"] == "https://en.wikipedia.org/wiki/Varde_Bridge"
    assert left_out["reason"] == "wiki"
    (asked,) = [each for each in wiki.asked if each["path"] == "/search"]
    assert asked["q"] == CLAIM.removesuffix(".")


def test_filters_hold_for_pages_of_the_web(wiki: Wiki) -> None:
    wiki.sites["/yes"] = html(THEN)
    finds(wiki, "/yes")
    reading = reading_of(wiki, "--to-date", "1950")
    assert reading["evidence"] == []
    (left_out,) = [page for page in reading["excluded"] if page["reason"] == "filter"]
    assert (left_out["url"], left_out["detail"]) == (f"{wiki.url}/yes", "to 1950")
    finds(wiki, "/other")
    reading_of(wiki, "--domain", "a.example")
    assert "/other" not in {each["path"] for each in wiki.asked}, "its address alone says no"


def test_a_corpus_and_the_web_together(wiki: Wiki) -> None:
    Path("page.txt").write_text(THEN)
    run("corpus", "add", "kb", "page.txt")
    wiki.sites |= {"/copy": html(THEN), "/no": html(OTHER_YEAR)}
    finds(wiki, "/copy", "/no", "/gone")
    reading = reading_of(wiki, "--corpus", "kb", "--trace", "run.jsonl")
    assert {item["origin"] for item in reading["evidence"]} == {"corpus", "live"}
    assert reading["n_texts"] == 2, "the copy on the web counts once with the text of the corpus"
    events = map(json.loads, Path("run.jsonl").read_text().splitlines())
    (searched,) = [event for event in events if event["event"] == "searched"]
    assert (searched["unread"], searched["excluded"]) == (reading["unread"], reading["excluded"])
    asked_before = len(wiki.asked)
    run("check", CLAIM, "--corpus", "kb", "--search-url", wiki.url)
    assert len(wiki.asked) == asked_before, "offline nothing is sent"
