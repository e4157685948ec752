"""How a page looks: its edge, and what axe-core says of it."""

from importlib.resources import files
from typing import Literal

from playwright.sync_api import Page, expect

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN = """within => axe.run(within ?? document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a",
  "wcag21aa", "wcag22aa", "best-practice"]})
  .then(found => found.violations.map(each => [each.impact, each.id,
  each.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary)]))"""
BEYOND = """[...document.querySelectorAll("*")]
  .filter(each => each.getBoundingClientRect().right > innerWidth)
  .map(each => each.outerHTML.slice(0, 80))"""


def within_the_edge(page: Page) -> None:
    beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert beyond <= 0, (page.url, page.evaluate(BEYOND))


def accessible(page: Page, *within: str) -> None:
    """Nothing that axe-core calls more than minor; `within`: selectors, else in all of the page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(RUN, {"include": [[each] for each in within]} if within else None)
    serious = [each for each in found if each[0] in ("serious", "critical", "moderate")]
    assert not serious, (page.url, serious)


def looked_at(page: Page) -> None:
    within_the_edge(page)
    accessible(page)


def seen_in_all_looks(page: Page) -> None:
    """`looked_at` in light on a desk and in the dark on a telephone, without loading it again.

    Contrast hangs on the scheme and the edge on the width: the other two pairs say nothing new.
    """
    for scheme, width in zip(SCHEMES, (1200, 320), strict=True):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        looked_at(page)


def opened_details(page: Page) -> None:
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")


def arrived(page: Page, heading: str) -> None:
    """The page that follows a click is there as a whole, with its scripts."""
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    page.wait_for_load_state()
