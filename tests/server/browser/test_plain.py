"""The same without scripts, and by keyboard alone."""

from collections.abc import Callable

from playwright.sync_api import Page, expect
from server.browser.watched import Watched
from server.processes import Served

Watch = Callable[..., Watched]
WIKITEXT = """The bridge opened in 1911.<ref>{{cite book |title=Bridges of the coast}}</ref>
It is {{convert|40|m}} long.<ref>https://bridge.example/length</ref>"""


def test_an_article_goes_in_and_its_findings_come_out_without_scripts(watch: Watch) -> None:
    with watch(java_script_enabled=False) as seen:
        page = seen.page()
        page.get_by_label("Wikitext of an article").fill(WIKITEXT)
        page.get_by_text("A title, a corpus").click()
        page.get_by_label("Title, where").fill("Bridge")
        page.get_by_role("button", name="Verify", exact=True).click()
        # The page loads itself anew until the result is there.
        expect(page.locator("#board")).to_be_visible()
        expect(page.locator(".tile.unchecked b")).to_have_text("2")
        expect(page.get_by_role("heading", name="What could not be checked")).to_be_in_viewport()


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


def test_language_and_colours_without_scripts(watch: Watch) -> None:
    with watch(java_script_enabled=False, color_scheme="light") as seen:
        page = seen.page("/help")
        light = background(page)
        page.get_by_role("button", name="Dark colours").click()
        expect(page.locator("html[data-theme=dark]")).to_be_attached()
        page.wait_for_load_state()
        assert page.url.endswith("/help")
        assert background(page) != light
        page.get_by_role("button", name="Deutsch").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Hilfe")
        assert page.locator("html").get_attribute("lang") == "de"


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


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def focused(page: Page, script: str) -> str:
    return str(page.evaluate(f"({script})(document.activeElement)"))
