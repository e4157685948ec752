"""Verify in a browser, without scripts and by keyboard too."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect
from server.browser.watched import Watched

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
        row = page.locator(".worst a").nth(1)
        row.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#finding .rank")).to_have_text("2")
        text = page.locator("#finding .text[role=region]").first
        text.focus()  # scrolls by the arrow keys
        expect(text).to_be_focused()


def focused(page: Page, script: str) -> str:
    return str(page.evaluate(f"({script})(document.activeElement)"))
