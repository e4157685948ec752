"""An own copy handed in by somebody: from the citation that could not be read to the verdict."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from server.browser.furnished import OPEN, log_in
from server.browser.watched import Watched
from server.own_copies import ARTICLE, BOOK
from server.people_of_tests import PASSWORD
from server.processes import Served

from pincite.server.identity import Role
from pincite.server.settings import ServerSettings
from pincite.server.site import opened
from pincite.settings import Settings


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(
        tmp_path_factory.mktemp("copies"), lasting=True, mode="server", login_tries=1000, **OPEN
    )
    site = opened(ServerSettings(mode="server", data=str(found.data)), Settings())
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    site.database.close()
    yield found
    found.end()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "harbour <b>.txt"
    path.write_text(BOOK, encoding="utf-8")
    return path


def at_the_book(page: Page) -> None:
    """An article is verified, and the claim of the book is open."""
    log_in(page, "Ada", "/")
    page.get_by_label("Wikitext of an article").fill(ARTICLE)
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.locator("#board")).to_be_visible()
    open_book(page)


def open_book(page: Page) -> None:
    page.locator(".worst a", has_text="The bridge of Varde").click()
    page.wait_for_url("**claim=**")  # it may have been open before, and is put there anew
    expect(page.locator("#finding .claim")).to_contain_text("The bridge of Varde")


def test_a_file_is_handed_in_and_read(chromium: Browser, served: Served, book: Path) -> None:
    with Watched(chromium, served.url, {}) as seen:
        page = seen.page()
        at_the_book(page)
        page.locator("summary", has_text="Hand in your own copy").click()
        page.get_by_label("A file:").set_input_files(book)
        page.get_by_role("button", name="Hand it in").click()
        notice = page.locator("#finding .notice")
        expect(notice).to_contain_text(f"{len(BOOK.split())} words")
        old = page.url.partition("?")[0]
        page.get_by_role("button", name="with your copies").click()
        expect(page).not_to_have_url(re.compile(re.escape(old)))
        expect(page.locator("#board")).to_be_visible()
        open_book(page)
        expect(page.locator("#finding mark")).to_have_text("The bridge of Varde opened in 1911.")
        expect(page.locator("#finding")).to_contain_text("Your own copy")
        expect(page.locator("#finding summary", has_text="Hand in")).to_have_count(0)
        page.goto("/copies")
        expect(page.locator(".jobs li")).to_contain_text("harbour <b>.txt")
        page.get_by_role("button", name="Remove harbour").click()
        expect(page.locator(".empty")).to_be_visible()
