"""Verify in a browser: from the examples to what one takes along."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect
from server.browser.furnished import Furnished, log_in
from server.browser.watched import Watched
from server.processes import Served

Watch = Callable[..., Watched]


def tiles(page: Page) -> list[str]:
    return page.locator(".tiles li").all_inner_texts()


@pytest.mark.parametrize("title", ["Varrowmouth", "Edda Marrick", "Saltfen vole"])
def test_examples_work_offline(watch: Watch, title: str) -> None:
    with watch() as seen:
        page = seen.page()
        page.get_by_role("button", name=title).click()
        expect(page.locator("#board")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        expect(page.locator(".worst li").nth(5)).to_be_attached()
        expect(page.locator(".article a.claim").nth(5)).to_be_attached()
        if title == "Varrowmouth":
            expect(page.locator(".tile.suggested b")).not_to_have_text("0")


# Whether each source of a finding is scrolled to what is marked in it.
AT_THE_QUOTE = """claim => {
  const finding = document.querySelector(`#finding[data-claim="${claim}"]`);
  if (!finding) return false;
  return [...finding.querySelectorAll(".source:not(.better) .text")].every(box => {
    const top = box.querySelector("mark, .near").offsetTop - box.scrollTop;
    return -1 <= top && top < box.clientHeight;
  });
}"""


def test_the_source_stands_at_the_marked_quote(watch: Watch, article: str) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{article}")
        sources = 0
        for row in page.locator(".worst a").all()[:6]:
            claim = row.get_attribute("data-claim")
            with page.expect_response(f"**/findings/{claim}*"):
                row.click()
            page.wait_for_function(AT_THE_QUOTE, arg=claim)
            expect(page.locator(f".article a[data-claim='{claim}']")).to_have_attribute(
                "aria-current", "true"
            )
            sources += page.locator("#finding .source:not(.better) .text").count()
        assert sources


def test_another_threshold_needs_no_new_run(watch: Watch, demo: Served, article: str) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{article}")
        before, jobs = tiles(page), len(demo.get("/api/v1/jobs")["jobs"])
        page.locator("#threshold").fill("0.9")
        expect(page.locator(".threshold output")).to_have_text("90 %")
        expect(page.locator(".tile.supported b")).to_have_text("0")
        expect(page).to_have_url(re.compile("threshold=0.9"))
        after = tiles(page)
        assert after != before
        page.reload()
        assert tiles(page) == after
        assert len(demo.get("/api/v1/jobs")["jobs"]) == jobs


def test_a_finding_that_is_opened_while_the_threshold_moves_stays_open(
    watch: Watch, article: str
) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{article}")
        boards: list[Route] = []
        page.route(
            "**/board?*", lambda route: boards.append(route)
        )  # on their way for as long as the test likes
        with page.expect_request("**/board?*"):
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


def test_a_finding_has_a_link_and_a_way_back(watch: Watch, article: str) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{article}")
        page.locator(".worst a").nth(2).click()
        page.wait_for_url("**/findings/*")
        expect(page.locator("#finding .rank")).to_have_text("3")
        text = page.locator(".claim-text").inner_text()
        other = seen.page(page.url)
        assert other.locator(".claim-text").inner_text() == text
        page.go_back()
        expect(page.locator("#finding .rank")).to_have_text("1")


def test_keys(watch: Watch, article: str) -> None:
    with watch(permissions=["clipboard-read", "clipboard-write"]) as seen:
        page = seen.page(f"/jobs/{article}")
        rank = page.locator("#finding .rank")
        for key, wanted in [("j", "2"), ("j", "3"), ("k", "2")]:
            page.keyboard.press(key)
            expect(rank).to_have_text(wanted)
        page.keyboard.press("c")
        expect(page.locator("#finding button.copy").first).to_contain_text("✓")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("{{failed verification|")
        page.keyboard.press("3")
        expect(page.locator("#finding .feedback details").first).to_have_attribute("open", "")
        page.keyboard.press("Escape")
        page.locator("h1").click()
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()
        page.get_by_label("Use these keys").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.wait_for_timeout(300)
        expect(rank).to_have_text("2")


def test_keys_that_come_before_a_finding_has_settled(watch: Watch, article: str) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{article}")
        page.evaluate(
            """() => {
              const keys = ["j", "k"];
              window.ranks = [];
              document.addEventListener("htmx:afterSwap", () => {
                ranks.push(document.querySelector("#finding .rank").textContent);
                const key = keys.shift();
                const pressed = new KeyboardEvent("keydown", { key, bubbles: true });
                if (key) document.body.dispatchEvent(pressed);
              });
            }"""
        )
        page.keyboard.press("j")
        page.wait_for_function("() => ranks.length === 3")
        assert page.evaluate("ranks") == ["2", "3", "2"]


def test_what_somebody_thinks_is_kept(watch: Watch, demo: Served, article: str) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{article}")
        form = page.locator("#finding .feedback").first
        form.get_by_text("Say more").click()
        form.get_by_label("Correct label").select_option("nei")
        form.get_by_label("Note").fill("It says <b>nothing</b> of this.")
        form.get_by_role("button", name="Right, with this").click()
        expect(page.locator("#finding .thanks").first).to_contain_text("right")
        kept = demo.get(f"/api/v1/feedback?job_id={article}")["feedback"]
        assert kept[0]["note"] == "It says <b>nothing</b> of this."
        assert (kept[0]["verdict"], kept[0]["label"]) == ("right", "nei")


def test_a_job_that_waits_is_stopped_and_stands_in_the_history(
    visit: Watch, there: Furnished
) -> None:
    with visit() as seen:
        page = seen.page()
        log_in(page, "Ada", "/")
        page.get_by_label("Wikitext of an article").fill("Built in 1911.<ref>A book.</ref>")
        page.get_by_role("button", name="Verify", exact=True).click()
        expect(page.locator("#progress")).to_contain_text("Waiting to begin")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#progress")).to_contain_text("Stopped before there was a result.")
        page.goto("/history")
        expect(page.locator(".jobs li").first).to_contain_text("Untitled")
    job = there.site.jobs.listed(there.ada.account_id, 1)[0]
    assert job.status == "cancelled"
