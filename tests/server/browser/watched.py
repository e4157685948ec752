"""A browser that notices what a page must never do, and the programs that the tests look at."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
CASES = Path(__file__).parents[2] / "cases" / "hostile" / "payloads.txt"
START_SECONDS = 300.0  # two cores that many tests share, and files that nobody has read yet
# Milliseconds that each answer takes longer, to find what a test does not wait for.
LATENCY = int(os.environ.get("TESTS_LATENCY", "0"))
HOMES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME")  # nothing of whoever runs the tests
REPORT_VIOLATIONS = """addEventListener("securitypolicyviolation",
  (event) => console.error("policy: " + event.violatedDirective + " " + event.blockedURI), true)"""


def payloads() -> list[str]:
    """Hostile texts."""
    lines = CASES.read_text(encoding="utf-8").splitlines()[1:]
    code = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\t")

    def char(found: re.Match[str]) -> str:
        return chr(int(found[1] or found[2], 16)) if found[1] or found[2] else "\t"

    return [code.sub(char, line) for line in lines]


class Served:
    """`pincite serve` in a process of its own, on a port that was free."""

    def __init__(self, folder: Path, *options: str, **settings: object) -> None:
        """`settings` are of `[server]`."""
        given = {f"PINCITE_SERVER_{name.upper()}": str(value) for name, value in settings.items()}
        self._log = folder / "serve.log"
        command = [sys.executable, "-m", "pincite", "serve", "--port", "0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--data", str(folder / "data"), *options],
                stdout=log,
                stderr=log,
                env=os.environ | given | dict.fromkeys(HOMES, str(folder)),
            )
        self.data = folder / "data"
        self.url = self._address()
        self._wait()

    def _wait(self) -> None:
        """It says its address before it listens."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.api("/healthz")
                return
            except OSError:
                assert time.monotonic() < end, self.log
                time.sleep(0.1)

    def _address(self) -> str:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if found := re.search(r"Pincite is at (http://\S+)/ ", self.log):
                return found[1]
            assert self._process.poll() is None, self.log
            time.sleep(0.1)
        raise AssertionError(self.log)

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def api(self, path: str, body: object = None, method: str | None = None) -> Any:
        """What the API answers."""
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as reply:
            return json.loads(reply.read())

    def verified(self, **body: object) -> str:
        """The id of a job that has ended."""
        return self.ran("verify", **body)

    def ran(self, verb: str, **body: object) -> str:
        """The id of a job that has ended."""
        job_id: str = self.api(f"/api/v1/{verb}", body)["job_id"]
        end = time.monotonic() + START_SECONDS
        while (job := self.api(f"/api/v1/jobs/{job_id}"))["finished"] is None:
            assert time.monotonic() < end, self.log
            time.sleep(0.2)
        assert job["status"] == "done", job
        return job_id

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(120)


def slowed(context: BrowserContext, page: Page) -> None:
    """A long line and a weak machine."""
    session = context.new_cdp_session(page)
    line = {"latency": LATENCY, "downloadThroughput": -1, "uploadThroughput": -1, "offline": False}
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", line)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})


@dataclass
class Watched:
    """A context whose pages are watched: nothing strange runs, and no other site is asked."""

    browser: Browser
    base: str
    options: dict[str, Any]
    wrong: list[str] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)

    def expected(self, text: str) -> None:
        """The console may say this: a browser reports a page of an error as one."""
        self.awaited.append(text)

    def __enter__(self) -> "Watched":
        self.context: BrowserContext = self.browser.new_context(base_url=self.base, **self.options)
        self.context.set_default_timeout(120_000)
        self.context.add_init_script(REPORT_VIOLATIONS)
        self.context.on("page", self._watch)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.context.close()
        if kind is None:
            assert not self.wrong, self.wrong

    def page(self, path: str = "/") -> Page:
        page = self.context.new_page()
        if LATENCY:
            slowed(self.context, page)
        page.goto(path)
        return page

    def _watch(self, page: Page) -> None:
        own = urlsplit(self.base).netloc

        def asked(url: str) -> None:
            if url.startswith("http") and urlsplit(url).netloc != own:
                self.wrong.append(f"asked {url}")

        page.on("request", lambda request: asked(request.url))
        page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        page.on("console", self._said)
        page.on("dialog", self._asked)

    def _asked(self, dialog: Any) -> None:
        self.wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _said(self, message: Any) -> None:
        # A newer request takes the place of one under way: htmx calls that an error.
        replaced = message.text.startswith(("htmx:sendAbort", "htmx:abort", "htmx:afterRequest"))
        replaced |= any(text in message.text for text in self.awaited)
        if message.type in ("error", "warning") and not replaced:
            self.wrong.append(f"console {message.text}")
