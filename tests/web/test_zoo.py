"""Every bad page becomes its typed outcome; none hangs, none crashes."""

import time
from collections.abc import Iterator

import pytest
from web.zoo import Page, Zoo, zoo_server
from web.zoo_pages import PAGES

from pincite.types import Document, Fetched, Reason, Unchecked
from pincite.web.cache import FetchCache
from pincite.web.fetch import WebClient, WebRules
from pincite.web.sources import WebSources, read_fetched

BUDGET_SECONDS = 60.0  # 9 to 15 s where it was written: slow drips, pauses, three attempts
NOT_OF_THE_WEB = {  # what no server's answer can become
    *(Reason.OFFLINE, Reason.NOT_SUPPLIED, Reason.ENCRYPTED, Reason.LANGUAGE),
    *(Reason.TITLE_ONLY, Reason.WITHDRAWN, Reason.USURPED, Reason.INTERNAL_ERROR),
}


@pytest.fixture(scope="module")
def zoo() -> Iterator[Zoo]:
    with zoo_server() as server:
        yield server


@pytest.fixture(scope="module")
def outcomes(zoo: Zoo, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document | Unchecked]:
    """All pages in one run, and how long that took."""
    rules = WebRules(
        online=True,
        ports=(80, 443, zoo.port),
        pause=0.0,
        first_wait=0.01,
        longest_wait=0.1,
        idle_seconds=2.5,
        seconds=5.0,
        at_once=24,
        body_bytes=2_000_000,
    )
    urls = [zoo.add(page).replace("http:", f"{page.scheme}:", 1) for page in PAGES]
    for key, answer in zoo.pages.items():
        if isinstance(answer, bytes):
            zoo.pages[key] = answer.replace(b"{port}", str(zoo.port).encode())
    path = tmp_path_factory.mktemp("zoo") / "cache.sqlite"
    with FetchCache(path) as cache:
        with WebClient(rules, resolve=zoo.resolve, allow={"127.0.0.1"}) as client:
            begin = time.monotonic()
            found = WebSources(client, cache).fetch(urls)
            assert time.monotonic() - begin < BUDGET_SECONDS
        n_asked = len(zoo.asked)
        with WebClient(rules, resolve=zoo.resolve, allow={"127.0.0.1"}) as client:
            again = WebSources(client, cache).fetch(urls)
    assert len(zoo.asked) == n_asked  # failures are kept too
    assert [_same(f) for f in found] == [_same(f) for f in again]
    read = [read_fetched(outcome) for outcome in found]
    return dict(zip((page.name for page in PAGES), read, strict=True))


def _same(outcome: Fetched | Unchecked) -> object:
    if isinstance(outcome, Fetched):
        return outcome.url, outcome.final_url, outcome.body
    return outcome


def test_there_are_enough() -> None:
    assert len(PAGES) >= 60
    assert len({page.name for page in PAGES}) == len(PAGES)
    assert set(Reason) - {page.reason for page in PAGES} == NOT_OF_THE_WEB


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_becomes_of(page: Page, outcomes: dict[str, Document | Unchecked]) -> None:
    found = outcomes[page.name]
    reason = found.reason if isinstance(found, Unchecked) else None
    assert reason == page.reason, found
    if isinstance(found, Unchecked):
        assert found.detail
        assert found.detail.isprintable()
        assert "Traceback" not in found.detail
    else:
        assert "opened in 1911" in found.text
