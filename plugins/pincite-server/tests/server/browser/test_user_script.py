"""The user script on a real MediaWiki: as installed, in two skins, in previews and editors."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect
from server.processes import Served
from support import mediawiki
from support.mediawiki import MediaWiki
from support.rows import text_of

from pincite_server import wikis

pytestmark = [
    pytest.mark.wiki,
    pytest.mark.skipif(not mediawiki.is_installed(), reason=mediawiki.MISSING),
]
SCRIPT = Path(__file__).parents[5] / "gadget" / "pincite.js"
# The line of docs/gadget.md: MediaWiki 1.39 accepts only ES5 in common.js itself.
DOCUMENTED = SCRIPT.parents[1].joinpath("docs", "gadget.md").read_text(encoding="utf-8")
LOADED = re.findall(r"mw\.loader\.load\(.*?\);", DOCUMENTED)[0].replace("User:You", "User:Admin")
TITLE = "Sund Light"
WRONG = "It cost 69,500 kroner."
SKINS = ("vector", "vector-2022")


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaWiki]:
    found = mediawiki.start(tmp_path_factory.mktemp("wiki"))
    mediawiki.fill(found)
    found.edit("User:Admin/pincite.js", SCRIPT.read_text(encoding="utf-8"))
    found.edit("User:Admin/common.js", LOADED)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def server(wiki: MediaWiki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that may read the sources, for scripts of the wiki."""
    host = wiki.sources.url.removeprefix("http://")
    given = {"WEB_ONLINE": "true", "WEB_PRIVATE_HOSTS": host, "WEB_PAUSE": "0"}
    folder = tmp_path_factory.mktemp("server")
    with pytest.MonkeyPatch.context() as settings:
        settings.setenv("PINCITE_CACHE", str(folder / "cache"))
        for name, value in given.items():
            settings.setenv(f"PINCITE_{name}", value)
        served = Served(folder, lasting=True, wikis=wiki.url)
    yield served
    served.end()


@pytest.fixture(scope="module")
def session(chromium: Browser, wiki: MediaWiki, server: Served) -> Iterator[BrowserContext]:
    """A browser that is logged in to the wiki, and whose script knows the server."""
    context = chromium.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(120_000)
    permissions = ["clipboard-read", "clipboard-write", "local-network-access"]
    context.grant_permissions(permissions, origin=wiki.url)
    known = json.dumps({"address": server.url, "token": wikis.browser_token(server.data)})
    context.add_init_script(f"localStorage.pincite = {known!r}")
    page = context.new_page()
    page.goto(f"{wiki.url}/w/index.php?title=Special:UserLogin")
    page.fill("#wpName1", "Admin")
    page.fill("#wpPassword1", mediawiki.PASSWORD)
    page.click("#wpLoginAttempt")
    page.wait_for_function("window.mw && mw.config && mw.config.get('wgUserName') === 'Admin'")
    page.close()
    yield context
    context.close()


@pytest.fixture
def page(session: BrowserContext) -> Iterator[Page]:
    opened = session.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("dialog", lambda dialog: dialog.accept())  # leave an editor without saving
    yield opened
    opened.close()
    assert errors == []


def opened(page: Page, wiki: MediaWiki, **query: str) -> Page:
    page.goto(f"{wiki.url}/w/index.php?{urlencode({'title': TITLE} | query)}")
    return begun(page)


def begun(page: Page) -> Page:
    link = page.locator("#ca-pincite a")
    link.wait_for(state="attached")
    link.evaluate("link => link.click()")  # it may be in a closed menu
    expect(page.get_by_role("heading", name="Pincite")).to_be_focused()
    return page


def checked(page: Page) -> Page:
    page.get_by_role("button", name="Check this page").click()
    expect(page.locator(".pincite > [role=status]").first).to_contain_text("claims:")
    return page


def label_of(page: Page, words: str) -> str:
    """The label of the first dot after some words of the article."""
    paragraph = page.locator(".mw-parser-output p", has_text=words)
    found = paragraph.evaluate(text_of("server/browser/user_script/label_of.js"), words)
    return str(found).removeprefix("pincite-dot pincite-")


def test_the_wiki_accepts_the_documented_line_of_common_js(wiki: MediaWiki) -> None:
    query = urlencode({"modules": "user", "user": "Admin", "only": "scripts", "debug": "2"})
    with urlopen(f"{wiki.url}/w/load.php?{query}") as reply:
        text = reply.read().decode()
    assert "mw.loader.load" in text
    assert "mw.log.error" not in text


@pytest.mark.parametrize("skin", SKINS)
def test_an_editor_has_its_text_checked_and_its_preview(
    page: Page, wiki: MediaWiki, skin: str
) -> None:
    sent: list[dict[str, Any]] = []

    def notice(request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/api/v1/verify"):
            sent.append(dict(request.post_data_json or {}))

    page.on("request", notice)
    query = {"title": TITLE, "action": "edit", "useskin": skin}
    page.goto(f"{wiki.url}/w/index.php?{urlencode(query)}")
    box = page.locator("#wpTextbox1")
    box.fill(box.input_value().replace("69,500", "96,500"))
    checked(begun(page))
    expect(page.get_by_role("button", name="It cost 96,500 kroner.")).to_be_visible()
    page.get_by_role("button", name="It cost 96,500 kroner.").click()
    expect(page.locator(".pincite-verdict")).to_contain_text("supported")
    page.locator("#wpPreview").click()
    page.locator("#wikiPreview sup.reference").first.wait_for()
    checked(begun(page))
    assert label_of(page, "It cost 96,500 kroner.") == "supported"
    assert [each["markup"] for each in sent] == ["wikitext", "html"]
    assert not any("revision" in each for each in sent)


def test_a_tagged_claim_says_why_no_tag_is_offered(page: Page, wiki: MediaWiki) -> None:
    checked(opened(page, wiki))
    assert page.locator(".pincite-dot").count() == page.locator("sup.reference[id]").count()
    assert label_of(page, WRONG) == "refuted"
    assert label_of(page, "first lit on 2 October 1887.") == "supported"
    page.locator("p", has_text=WRONG).locator(".pincite-dot.pincite-refuted").click()
    page.get_by_role("button", name="Copy tag").click()
    expect(page.locator(".pincite [role=status]").last).to_contain_text("Copied")
    tag = page.evaluate("navigator.clipboard.readText()")
    text = wiki.text(TITLE)
    place = text.index("</ref>", text.index(WRONG)) + len("</ref>")
    wiki.edit(TITLE, text[:place] + tag + text[place:])
    checked(opened(page, wiki))
    page.locator("p", has_text=WRONG).locator(".pincite-dot.pincite-refuted").click()
    expect(page.locator(".pincite")).to_contain_text("no other tag is offered: failed verification")
    expect(page.get_by_role("button", name="Copy tag")).to_have_count(0)
    wiki.revert(TITLE)


def test_the_visual_editor_has_its_text_checked(page: Page, wiki: MediaWiki) -> None:
    page.goto(f"{wiki.url}/w/index.php?{urlencode({'title': TITLE, 'veaction': 'edit'})}")
    page.locator("html.ve-active").wait_for()
    page.evaluate(text_of("server/browser/user_script/replace.js"))
    checked(begun(page))
    expect(page.get_by_role("button", name="It cost 96,500 kroner.")).to_be_visible()


def test_published_findings_are_shown_at_once(page: Page, wiki: MediaWiki) -> None:
    finding = json.loads(text_of("server/browser/user_script/finding.json"))
    finding |= {"claim": WRONG, "source_url": f"{wiki.sources.url}/light-cost.html"}
    asked: list[str] = []

    def answered(route: Route) -> None:
        asked.append(route.request.url)
        cors = {"Access-Control-Allow-Origin": wiki.url, "Access-Control-Allow-Headers": "*"}
        route.fulfill(json={"findings": [finding], "next": None}, headers=cors)

    page.route("**/api/v1/findings?*", answered)
    opened(page, wiki)
    expect(page.locator(".pincite-dot.pincite-refuted")).to_have_count(1)
    assert label_of(page, WRONG) == "refuted"
    query = parse_qs(urlsplit(asked[0]).query)
    assert query == {
        "wiki": [wiki.url.removeprefix("http://")],
        "title": [TITLE],
        "revision": [str(wiki.revision(TITLE))],
    }
    page.locator(".pincite-dot.pincite-refuted").click()
    expect(page.locator(".pincite")).to_contain_text(str(finding["quote"]))
