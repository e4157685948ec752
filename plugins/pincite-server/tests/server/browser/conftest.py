"""A server on the demo's documents, for the whole session."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from server.browser.furnished import Furnished, furnished
from server.browser.watched import CHROMIUM, Watched
from server.processes import Served

expect.set_options(timeout=120_000)  # as long as two cores may need that many tests share


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two processes have a browser: one looks at the demo, one at servers with accounts."""
    for item in items:
        if "/server/browser/" in str(item.path).replace("\\", "/"):
            item.add_marker(pytest.mark.browser)
            accounts = "there" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("accounts" if accounts else "browser"))
            if not CHROMIUM.exists():
                item.add_marker(pytest.mark.skip(f"{CHROMIUM} is not installed"))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`pincite serve --demo`."""
    served = Served(tmp_path_factory.mktemp("demo"), "--demo", lasting=True)
    yield served
    served.end()


@pytest.fixture(scope="session")
def article(demo: Served) -> str:
    """The job of the first example, done, with its corpus."""
    corpora = demo.get("/api/v1/corpora")["corpora"]
    web = next(c["corpus_id"] for c in corpora if "Varrowmouth" in c["name"])
    return demo.ran("verify", example="article", corpus=web)


@pytest.fixture
def watch(chromium: Browser, demo: Served) -> Callable[..., Watched]:
    """A watched context on the demo: `with watch(color_scheme="dark") as seen:`."""

    def made(base: str = demo.url, **options: Any) -> Watched:
        return Watched(chromium, base, options)

    return made


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Furnished]:
    """A server with accounts, for the tests of one file."""
    found = furnished(tmp_path_factory.mktemp("furnished"))
    yield found
    found.end()


@pytest.fixture
def visit(chromium: Browser, there: Furnished) -> Callable[..., Watched]:
    """`watch` on that server."""
    return lambda **options: Watched(chromium, there.served.url, options)
