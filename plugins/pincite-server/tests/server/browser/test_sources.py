"""Copies of an article's sources: dropped as files, zip or folder, or chosen without scripts."""

import base64
import io
import zipfile
from collections.abc import Callable

from playwright.sync_api import Page, expect
from server.browser.looks import looked_at
from server.browser.watched import Watched
from support.rows import text_of

Watch = Callable[..., Watched]
ARTICLE = text_of("server/browser/sources/article.wiki")
BRIDGE = (
    b'<!doctype html><title>Bridge</title><link rel="canonical" href="https://varde.example/bridge">'
    b"<article><p>The bridge of Varde opened in 1911. The mayor spoke to the town.</p></article>"
)
TRAM = b"The tram reached the harbour of Varde in 1922, and the town had a holiday that day."
# What a person drops: files with their contents, as the browser hands them to a page.
DROP = text_of("server/browser/sources/drop.js")


def zipped(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in files:
            packed.writestr(name, content)
    return out.getvalue()


def drop(page: Page, *files: tuple[str, bytes]) -> None:
    coded = [[name, base64.b64encode(content).decode()] for name, content in files]
    page.evaluate(DROP, [".drop", coded])


def verify(page: Page) -> None:
    page.get_by_label("Text of an article").fill(ARTICLE)
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.locator("#board")).to_be_visible()


def test_files_and_a_zip_are_dropped(watch: Watch) -> None:
    with watch() as seen:
        page = seen.page()
        hostile = "<img src=x onerror=alert(1)>.txt"
        drop(page, ("harbour-tram.txt", TRAM), (hostile, b"Words that nobody cites at all."))
        expect(page.locator("[data-count]")).to_have_text("2 files dropped")
        drop(page, ("more.zip", zipped(("pages/bridge.html", BRIDGE), ("../out.html", BRIDGE))))
        expect(page.locator("[data-count]")).to_have_text("3 files dropped")
        expect(page.locator(".drop li")).to_have_text(["harbour-tram.txt", hostile, "more.zip"])
        looked_at(page)
        verify(page)
        told = page.locator("section.box", has_text="Your copies of its sources")
        expect(told).to_contain_text("3 files uploaded; 2 matched.")
        expect(told.locator(".unused li")).to_have_count(2)
        expect(told.locator(".unused bdi")).to_have_text(["more.zip/../out.html", hostile])
        expect(page.locator(".tile.unchecked b")).to_have_text("0")
        looked_at(page)
