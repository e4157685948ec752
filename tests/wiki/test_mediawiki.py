"""`pincite verify` against a real MediaWiki, with the shipped models (make test-wiki)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.test_cli import run
from support import mediawiki
from support.mediawiki import ARTICLES, CATEGORY, MediaWiki

from pincite.types import Label
from pincite.wiki.api import KEY_VARIABLE

pytestmark = [
    pytest.mark.wiki,
    pytest.mark.xdist_group("mediawiki"),
    pytest.mark.skipif(not mediawiki.is_installed(), reason=mediawiki.MISSING),
]
CLOSED = "$wgGroupPermissions['*']['read'] = false;"
OPEN = "$wgGroupPermissions['*']['read'] = true;"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaWiki]:
    wiki = mediawiki.start(tmp_path_factory.mktemp("wiki"))
    mediawiki.fill(wiki)
    yield wiki
    wiki.stop()


@pytest.fixture
def wiki(filled: MediaWiki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MediaWiki:
    """The wiki, and a folder whose settings allow to read it and its sources."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    hosts = [url.removeprefix("http://") for url in (filled.url, filled.sources.url)]
    Path("pincite.toml").write_text(
        f"verify.wiki = '{filled.url}/w'\n[web]\nonline = true\npause = 0\n"
        f"contact = 'me@example.org'\nprivate_hosts = {json.dumps(hosts)}\n"
    )
    return filled


def report_on(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("verify", *arguments, "--json", "-").stdout)
    return found


def labels(report: dict[str, Any]) -> dict[str, str]:
    return {each["claim"]: each["label"] for each in report["findings"]}


def worklist(folder: str) -> dict[str, dict[str, Any]]:
    found = json.loads(Path(folder, "worklist.json").read_text())
    return {row["title"]: row for row in found["articles"]}


def test_planted_errors_are_found_by_title(wiki: MediaWiki) -> None:
    report = report_on("Sund Light")
    found = labels(report)
    assert report["revision_id"] == str(wiki.revision("Sund Light"))
    assert found["It cost 69,500 kroner."] == Label.REFUTED
    wrong = next(text for text in found if "9,000 people" in text)
    assert found[wrong] in (Label.REFUTED, Label.NOT_SUPPORTED)
    assert found["The light was first lit on 2 October 1887."] == Label.SUPPORTED
    assert found["It was painted red in 1990."] == Label.UNCHECKED


def test_an_old_revision_is_read_as_it_was(wiki: MediaWiki) -> None:
    old = wiki.edit("Lamp", mediawiki.article(wiki, "Sund Light"))
    vandalised = wiki.edit("Lamp", "The lamp is green.")
    assert wiki.revert("Lamp") > vandalised
    assert len(report_on(f"{wiki.page('Lamp')}?oldid={old}")["findings"]) == 8
    assert report_on(f"{wiki.url}/w/index.php?oldid={vandalised}")["findings"] == []


def test_a_moved_page_is_read_under_its_old_name_until_it_is_deleted(wiki: MediaWiki) -> None:
    wiki.edit("Old Mill", "The mill is old.")
    wiki.move("Old Mill", "New Mill")
    assert report_on("Old Mill")["title"] == "New Mill"
    wiki.delete("New Mill")
    assert "New Mill" in run("verify", "New Mill", code=3).stderr
    wiki.delete("Old Mill")
    assert "'Sund light'. Similar titles: Sund Light." in run("verify", "Sund light", code=3).stderr


def test_a_category_and_a_list_with_a_missing_page(wiki: MediaWiki) -> None:
    run("verify", "--category", CATEGORY, "--out", "category", "-q")
    assert set(worklist("category")) >= set(ARTICLES)
    Path("titles.txt").write_text("* [[Hedda Lind]]\nNowhere\n")
    run("verify", "--titles", "titles.txt", "--out", "titles", "-q", code=5)
    assert len(worklist("titles")) == 2


@pytest.mark.parametrize("option", ["--current", "--full"])
def test_dumps_have_the_same_findings_as_the_wiki(wiki: MediaWiki, option: str) -> None:
    Path("dump.xml").write_bytes(wiki.dump(option))
    run("verify", "--dump", "dump.xml", "--out", "o", "-q")
    assert set(ARTICLES) <= set(worklist("o"))
    dumped = report_on("dump.xml", "--title", "Sund Light")
    assert labels(dumped) == labels(report_on("Sund Light"))


def test_a_saved_tag_and_a_saved_reference_are_recognised(wiki: MediaWiki) -> None:
    wiki.edit("Tagged", mediawiki.article(wiki, "Sund Light"))

    def block() -> str:
        shown = run("verify", "Tagged", "--wikitext", "-", "-q").stdout
        return next(part for part in shown.split("\n\n") if "69,500" in part)

    tag = next(line for line in block().splitlines() if line.startswith("{{failed verification"))
    text = wiki.text("Tagged")
    place = text.index("</ref>", text.index("69,500")) + len("</ref>")
    wiki.edit("Tagged", text[:place] + tag + text[place:])
    finding = next(each for each in report_on("Tagged")["findings"] if "69,500" in each["claim"])
    assert finding["tags"] == ["failed verification"]
    assert "{{failed verification" not in block()


def test_a_wiki_for_members_is_read_with_a_bot_password(
    wiki: MediaWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, password = wiki.bot_password()
    wiki.configure(CLOSED)
    try:
        assert KEY_VARIABLE in run("verify", "Hedda Lind", code=3).stderr
        monkeypatch.setenv(KEY_VARIABLE, f"{name}:{password}")
        shown = run("verify", "Hedda Lind", "--json", "r.json")
        assert json.loads(Path("r.json").read_text())["title"] == "Hedda Lind"
        run("verify", "--category", CATEGORY, "--out", "o", "-q")
        assert password not in f"{shown.output}{Path('r.json').read_text()}"
        monkeypatch.setenv(KEY_VARIABLE, f"{name}:wrong")
        assert "wrong" not in run("verify", "Hedda Lind", code=3).output.replace("wrong pass", "")
    finally:
        wiki.configure(OPEN)
