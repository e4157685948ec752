"""A browser that notices what a page must never do."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

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
