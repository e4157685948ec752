"""Fetching many pages: in order, one request at a time per host, each page once."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.found import refusal
from web.zoo import GOOD, PAGES, Page, Zoo, after_failures, reply, zoo_server

from pincite.errors import FetchError
from pincite.types import Document, Fetched, Reason, Unchecked
from pincite.web.fetch import DAY, FetchCache, WebClient, WebRules
from pincite.web.sources import FetchStep, WebSources, read_fetched


def pages(zoo: Zoo, n_hosts: int, n_pages: int, **headers: str) -> list[str]:
    """Addresses of so many pages, dealt out to hosts in turn."""
    urls = []
    for n in range(n_pages):
        host = f"h{n % n_hosts}.test"
        zoo.pages[host, f"/{n}"] = reply(GOOD + f"<!-- {n} -->".encode(), **headers)
        urls.append(zoo.url(host, f"/{n}"))
    return urls


def fetch(
    zoo: Zoo,
    cache: FetchCache,
    urls: Sequence[str],
    steps: list[FetchStep] | None = None,
    **rules: Any,
) -> list[Fetched | Unchecked]:
    """Fetch as a run of its own, which adds to `steps`."""
    with zoo.client(**rules) as web:
        return WebSources(web, cache, progress=([] if steps is None else steps).append).fetch(urls)


def body_of(outcome: Fetched | Unchecked) -> bytes:
    assert isinstance(outcome, Fetched), outcome
    return outcome.body


def test_order_and_length_are_those_of_the_addresses(zoo: Zoo, cache: FetchCache) -> None:
    urls = pages(zoo, 3, 7)
    cited = [urls[4], urls[0] + "#part", "no address", urls[0], *urls, f" {urls[1]} "]
    with zoo.client() as web:
        sources = WebSources(web, cache)
        found = sources.fetch(cited)
        assert sources.fetch([]) == []
    assert [outcome.url for outcome in found] == cited
    assert isinstance(found[2], Unchecked)
    assert found[2].reason is Reason.UNSAFE_ADDRESS
    assert all(isinstance(outcome, Fetched) for outcome in found[3:])
    requests = [what for what in zoo.requests if what[1] != "/robots.txt"]
    assert len(requests) == len(set(requests)) == 7
    assert len(zoo.requests) == 7 + 3  # robots.txt once a host
    assert isinstance(read_fetched(found[0]), Document)
    assert read_fetched(found[2]) is found[2]


def test_one_request_at_a_time_per_host(zoo: Zoo, cache: FetchCache) -> None:
    zoo.delay = 0.02
    urls = pages(zoo, 6, 30, Connection="keep-alive")
    for n in range(6):
        zoo.pages[f"h{n}.test", "/robots.txt"] = reply(b"", Connection="keep-alive")
    urls += [zoo.url("a.test", f"/{n}") for n in range(4)]  # redirects into other lanes
    zoo.pages |= {("a.test", f"/{n}"): reply(b"", "302 F", Location=urls[6]) for n in range(4)}
    with zoo.client() as web:
        threads = [
            threading.Thread(target=WebSources(web, cache).fetch, args=(urls,)) for _ in "ab"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(zoo.most_at_once().values()) == {1}
    assert zoo.connections <= 6 + 1 + 2 * 5 + 4  # a.test closes each of its own


def test_hosts_are_fetched_in_parallel(zoo: Zoo, cache: FetchCache) -> None:
    urls = pages(zoo, 20, 40)
    together = threading.Barrier(10, timeout=60)

    def reply_when_ten_have_asked(connection: socket.socket) -> None:
        together.wait()
        connection.sendall(reply(b"", "404 Not Found"))

    for n in range(20):
        zoo.pages[f"h{n}.test", "/robots.txt"] = reply_when_ten_have_asked
    found = fetch(zoo, cache, urls)
    assert not together.broken
    assert all(isinstance(outcome, Fetched) for outcome in found)
    assert set(zoo.most_at_once().values()) == {1}


def test_a_page_older_than_the_rules_allow_is_requested_again(zoo: Zoo, cache: FetchCache) -> None:
    (url,) = pages(zoo, 1, 1)
    requested = ["requested", "fetched"]
    steps: list[FetchStep] = []
    for _ in range(2):
        fetch(zoo, cache, [url], steps, keep_days=30.0)
    assert [step.state for step in steps] == [*requested, "cached"]
    steps.clear()
    with zoo.client(keep_days=0.0) as web:
        sources = WebSources(web, cache, progress=steps.append)
        sources.fetch([url])
        sources.fetch([url])  # of this run
        sources.begin()
        sources.fetch([url])
    assert [step.state for step in steps] == [*requested, "cached", *requested]


def test_an_unchanged_page_is_not_sent_again(zoo: Zoo, cache: FetchCache) -> None:
    (url,) = pages(zoo, 1, 1, ETag='"a"', Last_Modified="Tue, 03 Mar 2026 10:00:00 GMT")
    (first,) = fetch(zoo, cache, [url], keep_days=0.0)
    zoo.pages["h0.test", "/0"] = reply(b"", "304 Not Modified")
    (second,) = fetch(zoo, cache, [url], keep_days=0.0)
    assert zoo.headers[-1]["if-none-match"] == '"a"'
    assert zoo.headers[-1]["if-modified-since"] == "Tue, 03 Mar 2026 10:00:00 GMT"
    assert body_of(second) == body_of(first)
    zoo.pages["h0.test", "/0"] = reply(GOOD + b"<!-- new -->", ETag='"b"')
    (third,) = fetch(zoo, cache, [url], keep_days=0.0)
    assert body_of(third) != body_of(first)


def test_a_page_that_leads_elsewhere_now_is_not_taken_as_unchanged(
    zoo: Zoo, cache: FetchCache
) -> None:
    def unless_modified(connection: socket.socket) -> None:
        is_conditional = "if-modified-since" in zoo.headers[-1]
        connection.sendall(reply(b"", "304 Not Modified") if is_conditional else reply(GOOD))

    (url,) = pages(zoo, 1, 1, Last_Modified="Tue, 03 Mar 2026 10:00:00 GMT")
    fetch(zoo, cache, [url], keep_days=0.0)
    zoo.pages["h0.test", "/0"] = reply(b"", "302 Found", Location="/")
    zoo.pages["h0.test", "/"] = unless_modified
    (found,) = fetch(zoo, cache, [url], keep_days=0.0)
    assert refusal(found).reason is Reason.FRONT_PAGE


def test_a_private_host_is_read_once_a_setting_names_it(zoo: Zoo, cache: FetchCache) -> None:
    (url,) = pages(zoo, 1, 1)

    def outcome(**changes: Any) -> Fetched | Unchecked:
        rules = WebRules(online=True, pause=0.0, first_wait=0.01, **changes)
        with WebClient(rules, resolve=lambda *_: ["127.0.0.1"]) as web:
            return WebSources(web, cache).fetch([url])[0]

    refused = refusal(outcome(ports=(zoo.port,)))
    assert refused.reason is Reason.NOT_ALLOWED
    assert isinstance(outcome(private_hosts=frozenset({("h0.test", zoo.port)})), Fetched)


def test_offline_only_cached_pages_are_returned(zoo: Zoo, cache: FetchCache) -> None:
    urls = pages(zoo, 1, 2)
    fetch(zoo, cache, urls[:1])
    n_requests = len(zoo.requests)
    cached, missing = fetch(zoo, cache, urls, online=False)
    assert isinstance(cached, Fetched)
    assert isinstance(missing, Unchecked)
    assert missing.reason is Reason.NOT_SUPPLIED
    assert "--online" in missing.detail
    assert len(zoo.requests) == n_requests
    assert body_of(fetch(zoo, cache, urls)[1])  # offline is not cached as a failure


@pytest.mark.parametrize(("status", "hours"), [("404 No", 24), ("403 No", 1), ("503 No", 1)])
def test_failures_expire_earlier(status: str, hours: int, zoo: Zoo, cache: FetchCache) -> None:
    url = zoo.add(Page("failing", reply(b"", status), None))
    fetch(zoo, cache, [url])
    cached = cache.get(url)
    assert cached is not None
    assert cached.expires - cached.fetched == pytest.approx(hours * DAY / 24, abs=2)


KILLED = """
import sys
from pathlib import Path
from pincite.web.fetch import WebClient, WebRules
from pincite.web.fetch import FetchCache
from pincite.web.sources import WebSources
port, path, *urls = sys.argv[1:]
rules = WebRules(online=True, ports=(int(port),), pause=0.0, first_wait=0.01)
local = WebClient(rules, resolve=lambda host, port: ["127.0.0.1"], allow={"127.0.0.1"})
say = lambda step: print(step.state, step.url, flush=True)
WebSources(local, FetchCache(Path(path)), progress=say).fetch(urls)
"""


def test_a_killed_run_resumes_without_repeating_requests(zoo: Zoo, tmp_path: Path) -> None:
    zoo.delay = 0.03
    urls = pages(zoo, 4, 32)
    path = tmp_path / "cache.sqlite"
    command = [sys.executable, "-c", KILLED, str(zoo.port), str(path), *urls]
    fetched_urls: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            state, url = line.split()
            fetched_urls += [url] if state == "fetched" else []
            if len(fetched_urls) == 12:
                os.kill(process.pid, signal.SIGKILL)
                break
    before = len(zoo.requests)
    steps: list[FetchStep] = []
    with FetchCache(path) as cache:
        found = fetch(zoo, cache, urls, steps)
    again = {zoo.url(*what) for what in zoo.requests[before:]}
    assert not again & set(fetched_urls)
    assert {step.url for step in steps if step.state == "cached"} >= set(fetched_urls)
    assert max(step.n_done for step in steps) == len(urls)
    assert not [url for url in again if url.endswith("robots.txt")]
    assert all(isinstance(outcome, Fetched) for outcome in found)


def test_the_crawl_delay_of_robots_txt(zoo: Zoo, cache: FetchCache) -> None:
    urls = pages(zoo, 1, 3)
    zoo.pages["h0.test", "/robots.txt"] = reply(b"User-agent: *\nCrawl-delay: 9\n")
    fetch(zoo, cache, urls, longest_crawl_delay=0.2)
    ends = [end for _, _, end in zoo.times]
    begins = [begin for _, begin, _ in zoo.times]
    gaps = [begin - end for begin, end in zip(begins[2:], ends[1:], strict=False)]
    assert min(gaps) >= 0.19


def test_retry_after_is_heeded(zoo: Zoo, cache: FetchCache) -> None:
    busy = after_failures(1, reply(b"", "429 Busy", Retry_After="1"))
    url = zoo.add(Page("busy", busy, None))
    assert body_of(fetch(zoo, cache, [url])[0])
    assert zoo.times[2][1] - zoo.times[1][2] >= 0.99


def test_an_unreachable_host_is_tried_once(
    zoo: Zoo, cache: FetchCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def connect(self: socket.socket, address: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(socket.socket, "connect", connect)
    urls = pages(zoo, 1, 10)
    found = fetch(zoo, cache, urls)
    assert {f.reason for f in found if isinstance(f, Unchecked)} == {Reason.UNREACHABLE}
    assert len(tried) == 3  # the attempts of the first


@pytest.mark.parametrize("allowed", [False, True])
def test_environment_proxies_only_if_allowed(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{zoo.port if allowed else 9}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    zoo.pages["far.test", "http://far.test:80/x"] = reply()
    zoo.pages["nohost.test", "http://nohost.test:80/x"] = reply()
    zoo.pages["inner.test", "http://inner.test:80/x"] = reply()
    (url,) = ["http://far.test/x"] if allowed else pages(zoo, 1, 1)
    with zoo.client(environment_proxies=allowed) as web:
        assert web.get(url).body.startswith(GOOD)
        if allowed:
            assert web.get("http://nohost.test/x").status == 200  # only the proxy knows the name
            with pytest.raises(FetchError, check=lambda e: e.reason is Reason.NOT_ALLOWED):
                web.get("http://inner.test/x")


def test_user_agent_and_no_secrets_in_redirects(zoo: Zoo) -> None:
    zoo.pages["a.test", "/"] = reply(
        b"", "302 F", Location=zoo.url("b.test"), Set_Cookie="id=1; Domain=test"
    )
    zoo.pages["b.test", "/"] = reply()
    with zoo.client(contact="me@example.org") as web:
        found = web.get(zoo.url("a.test"), headers={"Authorization": "Bearer x", "Accept": "a/b"})
    first, second = zoo.headers
    assert found.url == zoo.url("b.test", "/")
    assert first["authorization"] == "Bearer x"
    assert "authorization" not in second
    assert "cookie" not in second
    assert second["accept"] == "a/b"
    assert "me@example.org" in second["user-agent"]
    assert second["host"] == f"b.test:{zoo.port}"


def test_no_secrets_in_redirects_to_another_port_of_the_host(zoo: Zoo) -> None:
    with zoo_server() as other:
        zoo.pages["a.test", "/"] = reply(b"", "302 F", Location=other.url("a.test"))
        other.pages["a.test", "/"] = reply()
        with zoo.client(ports=(zoo.port, other.port)) as web:
            web.get(zoo.url("a.test"), headers={"Authorization": "Bearer x"})
    assert "authorization" not in other.headers[0]


def test_a_form_is_posted_and_no_redirect_followed(zoo: Zoo) -> None:
    zoo.pages["a.test", "/"] = reply(b"", "302 F", Location=zoo.url("b.test"))
    with zoo.client() as web:
        assert web.post(zoo.url("a.test"), {"a": "1 2"}).status == 302
    assert zoo.headers[0]["content-type"] == "application/x-www-form-urlencoded"
    assert zoo.headers[0]["content-length"] == "5"
    assert len(zoo.requests) == 1


def test_a_resolver_that_hangs(zoo: Zoo) -> None:
    released = threading.Event()

    def resolve(_host: str, _port: int) -> list[str]:
        released.wait(5)
        return ["127.0.0.1"]

    rules = WebRules(
        online=True, ports=(zoo.port,), pause=0.0, first_wait=0.01, connect_seconds=0.1
    )
    web = WebClient(rules, resolve=resolve, allow={"127.0.0.1"})
    begin = time.monotonic()
    with FetchCache(Path(":memory:")) as memory:
        (found,) = WebSources(web, memory).fetch([zoo.url("slow.test")])
    released.set()
    assert refusal(found).reason is Reason.NO_HOST
    assert time.monotonic() - begin < 2


# ── Every bad page becomes its typed outcome; none hangs, none crashes ────────────────────────────

BUDGET_SECONDS = 60.0  # 9 to 15 s where it was written: slow drips, pauses, three attempts
NOT_OF_THE_WEB = {  # what no server's answer can become
    *(Reason.OFFLINE, Reason.UNDEFINED, Reason.NOT_SUPPLIED, Reason.ENCRYPTED, Reason.LANGUAGE),
    *(Reason.TITLE_ONLY, Reason.WITHDRAWN, Reason.USURPED, Reason.INTERNAL_ERROR),
    *(Reason.UNREADABLE_SCAN, Reason.CIRCULAR),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document | Unchecked]:
    """All pages in one run."""
    with zoo_server() as zoo:
        return fetched(zoo, tmp_path_factory.mktemp("zoo") / "cache.sqlite")


def fetched(zoo: Zoo, path: Path) -> dict[str, Document | Unchecked]:
    limits: dict[str, Any] = {
        "ports": (80, 443, zoo.port),
        "longest_wait": 0.1,
        "idle_seconds": 2.5,
        "seconds": 5.0,
        "at_once": 24,
        "body_bytes": 2_000_000,
    }
    urls = [zoo.add(page).replace("http:", f"{page.scheme}:", 1) for page in PAGES]
    for key, answer in zoo.pages.items():
        if isinstance(answer, bytes):
            zoo.pages[key] = answer.replace(b"{port}", str(zoo.port).encode())
    with FetchCache(path) as cache:
        with zoo.client(**limits) as web:
            begin = time.monotonic()
            found = WebSources(web, cache).fetch(urls)
            assert time.monotonic() - begin < BUDGET_SECONDS
        n_requests = len(zoo.requests)
        with zoo.client(**limits) as web:
            again = WebSources(web, cache).fetch(urls)
    # Failures are cached too, except those that a setting changes.
    assert zoo.requests[n_requests:] == [("to-inner-name.test", "/2019/05/a-bridge.html")]
    assert again == found
    read = [read_fetched(outcome) for outcome in found]
    return dict(zip((page.name for page in PAGES), read, strict=True))


def test_every_reason_has_a_page() -> None:
    assert len({page.name for page in PAGES}) == len(PAGES)
    assert set(Reason) - {page.reason for page in PAGES} == NOT_OF_THE_WEB


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_kind_of_page_has_its_outcome(
    page: Page, outcomes: dict[str, Document | Unchecked]
) -> None:
    found = outcomes[page.name]
    reason = found.reason if isinstance(found, Unchecked) else None
    assert reason == page.reason, found
    if isinstance(found, Unchecked):
        assert found.detail
        assert found.detail.isprintable()
        assert "Traceback" not in found.detail
    else:
        assert "opened in 1911" in found.text
