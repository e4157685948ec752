"""Narrow, enlarged, dark, and as axe-core sees it."""

from collections.abc import Callable

import pytest
from server.browser.looks import accessible, within_the_edge
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
        within_the_edge(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(watch: Watch, article: str, path: str, scheme: str) -> None:
    with watch(color_scheme=scheme) as seen:
        page = seen.page(path.format(article=article))
        accessible(page)


def test_dark_is_dark(watch: Watch) -> None:
    with watch(color_scheme="dark") as seen:
        page = seen.page("/")
        channels = page.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        )
        assert max(channels[:3]) < 60
