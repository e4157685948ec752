"""Logging in as a person does, in a real browser; and other sites' pages that try what they can."""

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import run
from sys import executable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from server.browser.watched import CHROMIUM
from server.people_of_tests import PASSWORD
from server.processes import Served

pytestmark = [
    pytest.mark.xdist_group("accounts"),
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
# What a page of another site can send without asking: forms of all kinds, and fetches.
ATTACK = """<!doctype html><title>attack</title>
<form id=f method=post action="{url}/verify/example"><input name=example value=article></form>
<form id=t method=post enctype="text/plain" action="{url}/api/v1/verify">
<input name='{{"example":"article","x":"' value='"}}'></form>
<script>
async function go() {{
  const there = "{url}/api/v1/verify", body = '{{"example":"article"}}';
  const json = {{"Content-Type": "application/json"}};
  const kinds = [{{mode: "no-cors"}}, {{headers: json}}, {{mode: "no-cors", headers: json}}];
  for (const options of kinds)
    try {{ await fetch(there, {{method: "POST", body, credentials: "include", ...options}}) }}
    catch (error) {{}}
  navigator.sendBeacon(there, new Blob([body], {{type: "text/plain"}}));
  let read = "";
  for (const path of ["/api/v1/jobs", "/api/v1/me", "/history"])
    try {{ read += await (await fetch("{url}" + path, {{credentials: "include"}})).text() }}
    catch (error) {{}}
  return read;
}}
</script>"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def made(**settings: object) -> Served:
        given: dict[str, Any] = {"jobs_at_once": 0, "secure_cookies": False}
        started.append(Served(tmp_path, **given | settings))
        return started[-1]

    yield made
    for each in started:
        each.end()


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


def add(folder: Path, name: str, role: str) -> None:
    command = [executable, "-m", "pincite", "server", "user", "add", name, "--role", role]
    given = {"input": f"{PASSWORD}\n", "text": True, "capture_output": True}
    done = run([*command, "--data", str(folder)], check=True, **given)  # type: ignore[call-overload]
    assert f"{name} can log in as {role}." in done.stderr


def log_in(page: Page, url: str, name: str) -> None:
    page.goto(f"{url}/history")
    assert page.url.startswith(f"{url}/login?next=")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{url}/history")


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


def test_another_sites_page_starts_nothing_with_a_persons_cookie(
    page: Page, serve: Callable[..., Served], tmp_path: Path
) -> None:
    served = serve(mode="server")
    add(tmp_path / "data", "Ada", "editor")
    log_in(page, served.url, "Ada")
    assert "Ada" not in attacked(page, served.url)
    page.goto(f"{served.url}/history")
    expect(page.get_by_text("Nothing yet")).to_be_visible()
