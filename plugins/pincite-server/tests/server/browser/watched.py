"""A browser that notices what a page must never do, and what is wrong with how it looks."""

import re
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, expect

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
CASES = Path(__file__).parents[5] / "tests" / "cases" / "hostile" / "payloads.txt"
REPORT_VIOLATIONS = """addEventListener("securitypolicyviolation",
  (event) => console.error("policy: " + event.violatedDirective + " " + event.blockedURI), true)"""


def payloads() -> list[str]:
    """Hostile texts."""
    lines = CASES.read_text(encoding="utf-8").splitlines()[1:]
    code = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\t")

    def char(found: re.Match[str]) -> str:
        return chr(int(found[1] or found[2], 16)) if found[1] or found[2] else "\t"

    return [code.sub(char, line) for line in lines]


@dataclass
class Watched:
    """A context whose pages are watched: nothing strange runs, and no other site is asked."""

    browser: Browser
    base: str
    options: dict[str, Any]
    wrong: list[str] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)

    def expected(self, text: str) -> None:
        """The console may say this: a browser reports a page of an error as one."""
        self.awaited.append(text)

    def __enter__(self) -> "Watched":
        self.context: BrowserContext = self.browser.new_context(base_url=self.base, **self.options)
        self.context.set_default_timeout(120_000)
        self.context.add_init_script(REPORT_VIOLATIONS)
        self.context.on("page", self._watch)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert not self.wrong, self.wrong

    def page(self, path: str = "/") -> Page:
        page = self.context.new_page()
        page.goto(path)
        return page

    def _watch(self, page: Page) -> None:
        own = urlsplit(self.base).netloc

        def asked(url: str) -> None:
            if url.startswith("http") and urlsplit(url).netloc != own:
                self.wrong.append(f"asked {url}")

        page.on("request", lambda request: asked(request.url))
        page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        page.on("console", self._said)
        page.on("dialog", self._asked)

    def _asked(self, dialog: Any) -> None:
        self.wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _said(self, message: Any) -> None:
        # A newer request takes the place of one under way: htmx calls that an error.
        replaced = message.text.startswith(("htmx:sendAbort", "htmx:abort", "htmx:afterRequest"))
        replaced |= any(text in message.text for text in self.awaited)
        if message.type in ("error", "warning") and not replaced:
            self.wrong.append(f"console {message.text}")


# ── Looks ────────────────────────────────────────────────────────────────────────────────────────

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
