"""Narrow, enlarged, dark, and as axe-core sees it."""

from collections.abc import Callable
from importlib.resources import files

import pytest
from playwright.sync_api import Page
from server.browser.watched import Watched

Watch = Callable[..., Watched]
PAGES = [
    "/",
    "/history",
    "/help",
    "/check",
    "/ask",
    "/corpora",
    "/jobs/{article}",
    "/jobs/{article}?threshold=0.9",
]
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "size",
    [
        {"viewport": {"width": 320, "height": 640}},
        {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},  # 1280 at 200 %
    ],
    ids=["320px", "200percent"],
)
def test_nothing_stands_beyond_the_edge(
    watch: Watch, article: str, path: str, size: dict[str, object]
) -> None:
    with watch(**size) as seen:
        page = seen.page(path.format(article=article))
        width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, widest(page)


def widest(page: Page) -> object:
    return page.evaluate(
        "[...document.querySelectorAll('*')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(watch: Watch, article: str, path: str, scheme: str) -> None:
    with watch(color_scheme=scheme) as seen:
        page = seen.page(path.format(article=article))
        page.evaluate(AXE)
        found = page.evaluate(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa',"
            " 'best-practice']}).then(r => r.violations.map(v => [v.impact, v.id,"
            " v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary)]))"
        )
        serious = [each for each in found if each[0] in ("serious", "critical")]
        assert not serious, serious


def test_dark_is_dark(watch: Watch) -> None:
    with watch(color_scheme="dark") as seen:
        page = seen.page("/")
        channels = page.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        )
        assert max(channels[:3]) < 60
