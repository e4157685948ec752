"""The user script on pages of a wiki, in a real browser, beside a real server."""

import html
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from server.browser import wiki_pages
from server.browser.watched import accessible, payloads, within_the_edge
from server.browser.wiki_pages import ARTICLES, ORIGIN, note, ref, references
from server.processes import Served

from pincite_server import wikis

SCRIPT = Path(__file__).parents[5] / "gadget" / "pincite.js"


@dataclass
class Wiki:
    """A wiki in the browser, and the server that its script asks."""

    browser: Browser
    server: Served
    token: str
    wrong: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # addresses outside of the wiki
    answered: Callable[[Route], None] | None = None  # in place of the server

    def open(
        self, skin: str, content: str, width: int = 1200, *, dark: bool = False, **known: str
    ) -> Page:
        """A page of the wiki, whose script knows the server."""
        context = self.browser.new_context(viewport={"width": width, "height": 800})
        context.set_default_timeout(120_000)
        context.grant_permissions(
            ["clipboard-read", "clipboard-write", "local-network-access"], origin=ORIGIN
        )
        text = wiki_pages.page(skin, content, dark=dark)
        files = {"/gadget.js": SCRIPT.read_text(encoding="utf-8")}

        def serve(route: Route) -> None:
            name = route.request.url.removeprefix(ORIGIN)
            kind = "text/javascript" if name in files else "text/html"
            route.fulfill(body=files.get(name, text), content_type=f"{kind}; charset=utf-8")

        context.route(f"{ORIGIN}/**", serve)
        if self.answered:
            context.route(f"{self.server.url}/**", self.answered)
        settings = {"address": self.server.url, "token": self.token} | known
        context.add_init_script(f"localStorage.pincite ??= JSON.stringify({settings!r})")
        page = context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: self._notice(request.url))
        page.goto(f"{ORIGIN}/wiki/Varde")
        return page

    def _notice(self, url: str) -> None:
        if not url.startswith((ORIGIN, "data:")):
            self.asked.append(url)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for the wiki, with own copies of the sources that its articles cite."""
    served = served_to_the_wiki(tmp_path_factory.mktemp("gadget"))
    yield served
    served.end()


def served_to_the_wiki(folder: Path) -> Served:
    """A server in a folder, for the wiki."""
    with pytest.MonkeyPatch.context() as given:
        given.setenv("PINCITE_LIBRARY_OWN_COPIES", str(folder / "copies"))
        for n, (url, text) in enumerate(wiki_pages.SOURCES.items()):
            (folder / f"{n}.txt").write_text(text, encoding="utf-8")
            attach = [sys.executable, "-m", "pincite", "source", "attach", url, f"{n}.txt"]
            subprocess.run(attach, check=True, cwd=folder, capture_output=True, env=os.environ)
        return Served(folder, lasting=True, wikis=ORIGIN)


@pytest.fixture
def wiki(chromium: Browser, reader: Served) -> Iterator[Wiki]:
    with of(chromium, reader) as found:
        yield found


@contextmanager
def of(chromium: Browser, served: Served) -> Iterator[Wiki]:
    """A wiki whose script asks this server, and no other."""
    found = Wiki(chromium, served, wikis.browser_token(served.data))
    yield found
    for context in chromium.contexts:
        context.close()
    assert found.wrong == []
    assert all(url.startswith(served.url) for url in found.asked), "it asks its server only"


def begun(page: Page) -> Page:
    page.get_by_role("link", name="Check citations").click()
    expect(page.get_by_role("heading", name="Pincite")).to_be_focused()
    return page


ENDED = re.compile(r"^(\d+ claims?:|No claim)")


def labels(page: Page) -> list[str | None]:
    return [dot.get_attribute("aria-label") for dot in page.locator(".pincite-dot").all()]


def checked(page: Page, what: str = "Check this page") -> Page:
    begun(page).get_by_role("button", name=what).click()
    expect(page.locator(".pincite [role=status]").first).to_have_text(ENDED)
    return page


DARKEN = "on => document.documentElement.classList.toggle('skin-theme-clientpref-night', on)"
PAIRS = [("plain", skin) for skin in wiki_pages.SKINS]
PAIRS += [(article, "vector-2022") for article in ARTICLES if article != "plain"]


@pytest.mark.parametrize(("article", "skin"), PAIRS)
def test_every_skin_shows_what_the_server_found(wiki: Wiki, skin: str, article: str) -> None:
    page = checked(wiki.open(skin, ARTICLES[article]))
    found = [(label or "").partition(",")[0] for label in labels(page)]
    assert len(found) == page.locator("sup.reference[id]").count()
    if article == "plain":
        assert found == ["supported", "contradicted?"], "1922, not 1940"
    if article == "older":
        assert found[:3] == ["supported"] * 3, "a note with a letter has its sentence's verdict"
    for width, dark in ((1200, False), (320, False), (1200, True), (320, True)):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(DARKEN, dark)
        page.locator(".pincite-dot").first.click()
        within_the_edge(page)
        accessible(page, ".pincite", ".pincite-dot")


def test_a_section_a_single_citation_and_what_was_known(wiki: Wiki) -> None:
    page = begun(wiki.open("vector", ARTICLES["sections"]))
    page.locator(".pincite-dot").first.click()
    verdict = page.locator(".pincite section:has(blockquote) + .pincite-verdict")
    expect(verdict).to_contain_text("supported")  # after the passage
    assert (labels(page)[0] or "").startswith("supported")
    assert labels(page)[1:] == ["not checked yet: check this citation"] * 3
    page.get_by_role("button", name="Check this section").click()
    expect(page.locator(".pincite [role=status]").first).to_have_text(ENDED)
    assert "not checked yet: check this citation" in labels(page), "the other section is open"


def test_counts_the_claims_and_steps_through_the_problems(wiki: Wiki) -> None:
    def answered(route: Route) -> None:
        found = route.fetch()
        if not route.request.url.endswith("/citations"):
            route.fulfill(response=found)
            return
        told = found.json()
        told[0]["citations"][0]["judged_by"] = "multilingual-verifier"  # of the worst, the tram
        route.fulfill(response=found, json=told)

    wiki.answered = answered
    page = checked(wiki.open("vector-2022", wiki_pages.PICTURED))
    status = page.locator(".pincite [role=status]").first
    assert re.findall(r"\d+", status.inner_text()) == ["4", "1", "2", "1"]
    shown = page.locator(".pincite-dot[aria-current]")
    tram, carried, bridge = "cite_ref-t_2-0", "cite_ref-t_2-1", "cite_ref-1"

    def at(mark: str) -> None:
        expect(page.locator(f"#{mark} + .pincite-dot")).to_have_attribute("aria-current", "true")
        expect(shown).to_have_count(1)
        within_the_edge(page)

    page.keyboard.press("n")
    at(tram)
    expect(page.locator(".pincite")).to_contain_text("multilingual-verifier")
    page.keyboard.press("n")
    at(carried)
    for button, mark in (("Next problem", tram), ("Previous problem", carried)):  # around the page
        page.get_by_role("button", name=button).click()
        at(mark)
    for keys in ("p", "Control+n", "Alt+n", "Shift+n"):
        page.keyboard.press(keys)
        at(tram)
    page.get_by_role("button", name="Server").click()
    page.get_by_label("Address of your Pincite server").press("n")
    at(tram)
    page.locator(f"#{bridge} + .pincite-dot").click()
    page.keyboard.press("n")
    at(tram)
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    at(tram)  # the panel is closed


def test_hostile_articles_and_sources_run_nothing(wiki: Wiki) -> None:
    texts = payloads()[:100]

    claims = "".join(
        f"<p>Varde has {html.escape(text)} since 1911.{ref(n, '')}</p>"
        for n, text in enumerate(texts)
    )
    notes = (note(n, "", f"https://a.example/{text}", text) for n, text in enumerate(texts))
    page = checked(wiki.open("vector", claims + references(*notes)))
    for dot in page.locator(".pincite-dot").all():
        dot.click()
    assert page.locator(".pincite :is(script, img, iframe, svg)").count() == 0
    for link in page.locator(".pincite a").all():
        assert str(link.get_attribute("href")).startswith(("http://", "https://"))


def test_a_wrong_token_a_server_that_is_off_and_one_that_hangs(wiki: Wiki) -> None:
    page = begun(wiki.open("vector", ARTICLES["plain"], token="wrong"))
    page.get_by_role("button", name="Check this page").click()
    expect(page.get_by_role("alert")).to_contain_text("does not know this token")
    page.get_by_role("button", name="Server").click()
    page.get_by_label("Address of your Pincite server").fill("javascript:alert(1)")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".pincite form")).to_contain_text("This is not an address")
    page.get_by_label("Token").fill(wiki.token)
    page.get_by_label("Address of your Pincite server").fill(wiki.server.url)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Check this page").click()
    expect(page.locator(".pincite [role=status]").first).to_have_text(ENDED)
    wiki.answered = lambda route: route.abort("connectionrefused")
    page = begun(wiki.open("vector", ARTICLES["plain"]))
    page.get_by_role("button", name="Check this page").click()
    expect(page.get_by_role("alert")).to_contain_text("No server answers")
    wiki.answered = lambda route: None  # never
    page = wiki.open("vector", ARTICLES["plain"])
    page.clock.install()
    begun(page).get_by_role("button", name="Check this page").click()
    page.clock.run_for(31_000)
    expect(page.get_by_role("alert")).to_contain_text("did not answer within 30 seconds")
