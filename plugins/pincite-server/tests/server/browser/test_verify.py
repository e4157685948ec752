"""Verify in a browser, without scripts and by keyboard too; with files that are dropped."""

import base64
import io
import re
import zipfile
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect
from server.browser.watched import Watched, looked_at
from support.rows import text_of

from pincite.verbs.verify import wording

Watch = Callable[..., Watched]


def test_an_example_works_offline(watch: Watch) -> None:
    title = "Varrowmouth"
    with watch() as seen:
        page = seen.page()
        page.get_by_role("button", name=title).click()
        expect(page.locator("#board")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        expect(page.locator(".worst li").nth(5)).to_be_attached()
        expect(page.locator(".article a.claim").nth(5)).to_be_attached()
        expect(page.locator(".tile.suggested b")).not_to_have_text("0")


def test_a_finding_that_is_opened_while_the_threshold_moves_stays_open(
    watch: Watch, article: str
) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{article}")
        boards: list[Route] = []
        board = re.compile(r"\?threshold=")
        page.route(board, lambda route: boards.append(route))  # held back until continued
        with page.expect_request(board):
            page.locator("#threshold").fill("0.9")
        row = page.locator(".worst a").nth(3)
        claim = row.get_attribute("data-claim")
        row.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#finding")).to_have_attribute("data-claim", claim or "")
        boards[0].continue_()
        again = page.locator(f".worst a[data-claim='{claim}']")
        expect(again).to_have_attribute("href", re.compile("threshold=0.9"))
        expect(page.locator("#finding")).to_have_attribute("data-claim", claim or "")
        expect(again).to_have_attribute("aria-current", "true")
        expect(again).to_be_focused()


def test_keys(watch: Watch, article: str) -> None:
    with watch(permissions=["clipboard-read", "clipboard-write"]) as seen:
        page = seen.page(f"/jobs/{article}")
        rank = page.locator("#finding .rank")
        for key, wanted in [("j", "2"), ("j", "3"), ("k", "2")]:
            page.keyboard.press(key)
            expect(rank).to_have_text(wanted)
        page.keyboard.press("c")
        expect(page.locator("#finding .copy-out button.copy").first).to_contain_text("✓")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("{{failed verification|")
        page.keyboard.press("3")
        expect(page.locator("#finding .feedback details").first).to_have_attribute("open", "")
        page.keyboard.press("Escape")
        page.locator("h1").click()
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()
        page.get_by_label("Enable keyboard shortcuts").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.wait_for_timeout(300)
        expect(rank).to_have_text("2")


def test_findings_threshold_and_feedback_without_scripts(watch: Watch, article: str) -> None:
    with watch(java_script_enabled=False) as seen:
        page = seen.page(f"/jobs/{article}")
        page.locator(".worst a").nth(1).click()
        expect(page.locator("#finding .rank")).to_have_text("2")
        page.locator("#threshold").fill("0.9")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".tile.supported b")).to_have_text("0")
        page.locator("#finding .feedback button[value=wrong]").first.click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        page.get_by_role("link", name="Back").click()
        marked = page.locator("#board .worst a").filter(has_text=wording.MARKED_WRONG)
        expect(marked.first).to_be_visible()


def test_by_keyboard_alone(watch: Watch, article: str) -> None:
    with watch() as seen:
        page = seen.page("/")
        page.keyboard.press("Tab")
        assert focused(page, "e => e.className") == "skip"
        page.keyboard.press("Enter")
        walked = []
        for _ in range(12):
            page.keyboard.press("Tab")
            walked.append(focused(page, "e => e.id || e.textContent.trim().split('\\n')[0]"))
            assert focused(page, "e => getComputedStyle(e).outlineStyle") != "none", walked
        assert {"article", "Verify"} <= set(walked)
        page = seen.page(f"/jobs/{article}")
        page.locator("#threshold").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".threshold output")).to_have_text("35 %")
        page.locator(".worst a").nth(1).press("Enter")
        expect(page.locator("#finding .rank")).to_have_text("2")
        page.wait_for_load_state("networkidle")  # what comes later would take the focus away
        text = page.locator("#finding .text[role=region]").first
        text.focus()  # scrolls by the arrow keys
        expect(text).to_be_focused()


def focused(page: Page, script: str) -> str:
    return str(page.evaluate(f"({script})(document.activeElement)"))


# ── Copies of sources ────────────────────────────────────────────────────────────────────────────

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
