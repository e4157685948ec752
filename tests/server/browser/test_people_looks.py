"""Pages of accounts, and of share links: how they look, and the ways in."""

from collections.abc import Callable

from playwright.sync_api import expect
from server.browser.furnished import Furnished, log_in
from server.browser.looks import opened_details, seen_in_all_looks
from server.browser.watched import Watched

Watch = Callable[..., Watched]


def test_pages_of_accounts_look_well(visit: Watch, there: Furnished) -> None:
    job = there.site.jobs.listed(there.ada.account_id, 1)[0].job_id
    with visit() as seen:
        page = seen.page("/login")
        seen_in_all_looks(page)
        page.goto(there.link)
        expect(page.locator("#finding")).to_be_visible()
        seen_in_all_looks(page)
        log_in(page, "Ada")
        for path in ("/account", "/admin/accounts", f"/jobs/{job}/links"):
            page.goto(path)
            opened_details(page)
            seen_in_all_looks(page)
