"""Pages of accounts and of share links; and pages of other sites that try to use a session."""

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect
from server.browser.furnished import Furnished, log_in
from server.browser.watched import Watched, opened_details, seen_in_all_looks
from support.rows import text_of

Watch = Callable[..., Watched]
# What a page of another site can send without asking: forms of all kinds, and fetches.
ATTACK = text_of("server/browser/login/attack.js")


@contextmanager
def another_site(url: str) -> Iterator[str]:
    """A page that attacks `url`, at another address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(ATTACK.format(url=url).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def attacked(page: Page, url: str) -> str:
    """What another site's page could read, having tried to start jobs in every way."""
    with another_site(url) as there:
        page.goto(there)
        read = str(page.evaluate("go()"))
        for form in ("f", "t"):
            page.goto(there)
            page.evaluate(f"document.getElementById('{form}').submit()")
            page.wait_for_url(f"{url}/**")
            read += page.content() if "another site" not in page.content() else ""
    return read


def test_a_page_of_another_site_cannot_use_a_session(visit: Watch, there: Furnished) -> None:
    before = there.site.jobs.list_jobs(None, 99)
    with visit() as seen, seen.browser.new_context(base_url=there.served.url) as unwatched:
        page = unwatched.new_page()  # the browser reports what it blocks
        page.goto("/")
        log_in(page, "Ada")
        read = attacked(page, there.served.url)
    assert "Ada" not in read
    assert there.site.jobs.list_jobs(None, 99) == before


def test_pages_of_accounts_look_well(visit: Watch, there: Furnished) -> None:
    job = there.site.jobs.list_jobs(there.ada.account_id, 1)[0].job_id
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
