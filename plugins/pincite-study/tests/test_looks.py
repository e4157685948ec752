"""How the pages of studies look, and the ways through them."""

from collections.abc import Callable

import pytest
from furnished_study import Furnished
from playwright.sync_api import Page
from server.browser.furnished import log_in
from server.browser.watched import CHROMIUM, Watched, arrived, opened_details, seen_in_all_looks

Watch = Callable[..., Watched]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("accounts"),
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]


def test_the_way_of_a_rater(visit: Watch, there: Furnished) -> None:
    with visit() as seen:
        page = seen.page(f"/studies/{there.study.token}")
        seen_in_all_looks(page)
        page.get_by_label("I have read this").check()
        page.get_by_role("button", name="Begin").click()
        arrived(page, "Statement 1")
        opened_details(page)
        seen_in_all_looks(page)
        rated(page)
        arrived(page, "Statement 2")
        page.get_by_role("link", name="My answers").click()
        arrived(page, "My answers")
        opened_details(page)
        seen_in_all_looks(page)
        page.get_by_role("button", name="Finish").click()
        arrived(page, "Thank you")
        seen_in_all_looks(page)


def test_pages_of_whoever_makes_studies(visit: Watch, there: Furnished) -> None:
    with visit() as seen:
        page = seen.page()
        log_in(page, "Ada")
        for path in ("/studies", f"/studies/{there.study.study_id}/report"):
            page.goto(path)
            opened_details(page)
            seen_in_all_looks(page)


def rated(page: Page) -> None:
    """One statement, with the mouse."""
    for side in page.locator("section.side").all():
        side.get_by_label("Part of it").check()
    page.locator("[name=answer][value=a]").check()
    page.get_by_role("button", name="Save and continue").click()
