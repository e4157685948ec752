"""`pincite verify --online --search-url`: a wiki, a search engine and what it finds, all local.

The verifier is the one that is shipped, since the verdicts matter here.
"""

import json
from typing import Any

import pytest
from cli.test_archives import CLAIM, NOW, THEN, checked, cites, html, wiki
from cli.test_cli import run
from wiki.wiki_server import Wiki

__all__ = ["wiki"]  # a fixture


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


def test_claims_that_are_borne_out_are_sent_nowhere(wiki: Wiki) -> None:
    cites(wiki)
    wiki.sites["/bridge"] = html(THEN)
    finds(wiki, "/better")
    finding, _ = checked("--search-url", wiki.url)
    assert finding["label"] == "supported"
    assert "/search" not in {each["path"] for each in wiki.asked}


def test_without_the_setting_nothing_is_sent(wiki: Wiki) -> None:
    cites(wiki)
    wiki.sites["/bridge"] = html(NOW)
    finds(wiki, "/better")
    finding, _ = checked()
    assert finding["suggestions"] == []
    assert "/search" not in {each["path"] for each in wiki.asked}


def test_an_engine_that_fails_is_a_warning(wiki: Wiki) -> None:
    cites(wiki)
    wiki.sites["/bridge"] = html(NOW)
    done = run("verify", "Varde Bridge", "--online", "--search-url", wiki.url, "--json", "-")
    (warning,) = [w for w in json.loads(done.stdout)["warnings"] if w.startswith("search at")]
    assert "HTTP 404" in warning


@pytest.mark.parametrize("url", ["searx", "ftp://a.example"])
def test_an_address_that_is_none(wiki: Wiki, url: str) -> None:
    cites(wiki)
    said = run("verify", "Varde Bridge", "--online", "--search-url", url, code=2).stderr
    assert "search_url is" in said
