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


def test_a_result_is_shared_without_scripts(visit: Watch, there: Furnished) -> None:
    job = there.site.jobs.listed(there.ada.account_id, 1)[0].job_id
    with visit(java_script_enabled=False) as seen:
        page = seen.page()
        log_in(page, "Ada", f"/jobs/{job}")
        page.get_by_role("link", name="Share this result").click()
        page.get_by_label("Days until").fill("3")
        page.get_by_role("button", name="Create link").click()
        address = page.locator("pre").inner_text()
        assert address.startswith(f"{seen.base}/s/")
        with visit(java_script_enabled=False) as stranger:
            other = stranger.page(address)
            expect(other.locator("#finding")).to_be_visible()
            expect(other.get_by_role("link", name="Log in")).to_be_visible()
            assert not other.locator(f"[href*='{job}'], [action*='{job}']").count()
            other.locator(".worst a").last.click()
            expect(other.locator("#finding .rank")).not_to_have_text("1")
            assert other.url.startswith(f"{address}?claim=")
            links = page.get_by_role("button", name="Revoke the link")
            before = links.count()
            links.first.click()
            expect(links).to_have_count(before - 1)
            stranger.expected("the server responded with a status of 404")
            other.goto(address)
            expect(other.get_by_role("heading", level=1)).to_have_text("There is nothing here")
