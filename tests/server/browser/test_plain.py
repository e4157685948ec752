"""The same without scripts, and by keyboard alone."""

from collections.abc import Callable

from playwright.sync_api import Page, expect
from server.browser.watched import Watched
from server.processes import Served

Watch = Callable[..., Watched]


def test_findings_threshold_and_feedback_without_scripts(
    watch: Watch, demo: Served, article: str
) -> None:
    with watch(java_script_enabled=False) as seen:
        page = seen.page(f"/jobs/{article}")
        page.locator(".worst a").nth(1).click()
        expect(page.locator("#finding .rank")).to_have_text("2")
        page.locator("#threshold").fill("0.9")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".tile.supported b")).to_have_text("0")
        said = len(demo.get(f"/api/v1/feedback?job_id={article}")["feedback"])
        page.locator("#finding .feedback button[value=wrong]").first.click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        assert len(demo.get(f"/api/v1/feedback?job_id={article}")["feedback"]) == said + 1
        page.get_by_role("link", name="Back").click()
        expect(page.locator("#board")).to_be_visible()


def test_by_keyboard_alone(watch: Watch, article: str) -> None:
    with watch() as seen:
        page = seen.page("/")
        page.keyboard.press("Tab")
        assert focused(page, "e => e.className") == "skip"
        page.keyboard.press("Enter")
        walked = []
        for _ in range(8):
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
