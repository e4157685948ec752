"""The search engine and the Wayback Machine: replies and failures."""

import json
from itertools import pairwise
from typing import Any
from urllib.parse import quote_plus

import pytest
from support.rows import each_row
from web.zoo import Zoo, closed_at_once, reply

from pincite.errors import ConfigError, FetchingIsOff
from pincite.text.hosts import Snapshot
from pincite.types import Reason, WebResult
from pincite.web.fetch import FetchCache, WebRules
from pincite.web.sources import SearxSearch, Wayback, of_reply, query_words

RULES = WebRules(online=True, pause=0, attempts=2, first_wait=0.01)
FOUND = [
    {"url": "https://a.example/1", "title": "The  <b>bridge</b>\n", "content": "It opened."},
    {"url": "https://a.example/1", "title": "Again"},
    {"url": "javascript:alert(1)", "title": "No page"},
    {"url": "https://b.example/2", "title": None},
    {"title": "No address"},
    "no result",
]


def path_of(query: str, **more: str) -> str:
    rest = "".join(f"&{name}={value}" for name, value in more.items())
    return f"/search?q={quote_plus(query)}&format=json&categories=general&safesearch=0{rest}"


def results(found: Any = FOUND) -> bytes:
    body = json.dumps({"query": "q", "results": found}).encode()
    return reply(body, Content_Type="application/json")


def engine(zoo: Zoo, cache: FetchCache, rules: WebRules = RULES, path: str = "") -> SearxSearch:
    return SearxSearch(zoo.url("127.0.0.1", path).rstrip("/"), cache, rules, zoo.resolve)


def test_results_in_order_without_duplicates(zoo: Zoo, cache: FetchCache) -> None:
    zoo.pages["127.0.0.1", path_of("The bridge opened", language="en")] = results()
    expected = [WebResult("https://a.example/1", "The <b>bridge</b>")]
    expected += [WebResult("https://b.example/2", "")]
    with engine(zoo, cache) as search:
        for _ in range(2):
            assert search.search(["The bridge opened"], 5, "en") == [expected]
        assert [len(found) for found in search.search(["The bridge opened"], 1, "en")] == [1]
    with engine(zoo, cache) as again:  # another run: what came is kept
        assert len(again.search(["The bridge opened"], 5, "en")[0]) == 2
    assert len(zoo.requests) == 1
    assert search.warnings == ()


def test_words_without_operators_are_sent(zoo: Zoo, cache: FetchCache) -> None:
    with engine(zoo, cache) as search:
        assert search.search(["… – !", ""], 5) == [[], []]
        assert zoo.requests == []
        search.search(['!g :de "Bridge" -site:x.example <9'], 5, "../en")
    assert [path for _, path in zoo.requests] == [path_of("g de Bridge site x.example 9")]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (reply(b"no", "403 Forbidden"), "Add json to search.formats"),
        (reply(b"", "404 Not Found"), "HTTP 404"),
        (reply(b"<html>Results</html>"), "reply as SearXNG does"),
        (reply(b"[" * 50_000), "reply as SearXNG does"),
        (reply(b"null"), "reply as SearXNG does"),
        (reply(b'{"results": "many"}'), "reply as SearXNG does"),
        (reply(b"\xff" * 3_000_000), "limit"),
        (reply(b"", "302 Found", Location="http://inner.test:port/search"), "redirects"),
    ],
)
def test_a_failure_is_a_warning_without_the_claim(
    zoo: Zoo, cache: FetchCache, answer: bytes, says: str
) -> None:
    zoo.pages["127.0.0.1", path_of("bridge")] = answer.replace(b":port", b":%d" % zoo.port)
    with engine(zoo, cache) as search:
        assert search.search(["bridge"], 5) == [[]]
        search.search(["bridge"], 5)
    warning = search.warnings[0]
    assert says in warning
    assert warning.startswith(f"search at {zoo.url('127.0.0.1', '')}: ")
    assert "q=bridge" not in warning


def test_an_unknown_host_and_offline(zoo: Zoo, cache: FetchCache) -> None:
    with SearxSearch("http://nohost.test", cache, RULES, zoo.resolve) as search:
        assert search.search(["bridge"], 5) == [[]]
        assert "no address" in search.warnings[0]
    with engine(zoo, cache, WebRules()) as search, pytest.raises(FetchingIsOff):
        search.search(["bridge"], 5)


BAD = "searx ftp://a.example http://u:p@a.example http://[ http://a.example/?q= http://a.example:99999"


@pytest.mark.parametrize("url", ["", *BAD.split()])
def test_invalid_addresses_of_the_engine(cache: FetchCache, url: str) -> None:
    with pytest.raises(ConfigError, match="search_url is"):
        SearxSearch(url, cache, RULES)


def test_the_address_may_name_the_path(zoo: Zoo, cache: FetchCache) -> None:
    zoo.pages["127.0.0.1", "/searx" + path_of("bridge")] = results()
    for path in ("/searx", "/searx/", "/searx/search"):
        with engine(zoo, cache, path=path) as search:
            assert len(search.search(["bridge"], 5)[0]) == 2


def test_long_claims_are_cut() -> None:
    assert len(query_words(" ".join(f"w{n}" for n in range(99))).split()) == 32


# ── The Wayback Machine ──────────────────────────────────────────────────────────────────────────

PAGE = "http://varde.test/bridge"
QUERY = "/wayback/available?url=http%3A%2F%2Fvarde.test%2Fbridge&timestamp=20140302"
TIME = "20140305101500"


def wayback(zoo: Zoo, cache: FetchCache, pause: float = 0.0) -> Wayback:
    return Wayback(
        zoo.client(), cache, api=zoo.url("archive.test", "/wayback/available"), pause=pause
    )


def named(url: str, status: str = "200", available: bool = True) -> bytes:
    closest = {"status": status, "available": available, "url": url, "timestamp": TIME}
    return reply(json.dumps({"url": PAGE, "archived_snapshots": {"closest": closest}}).encode())


def copy_at(zoo: Zoo, host: str = "web.archive.test") -> str:
    return zoo.url(host, f"/web/{TIME}/{PAGE}")


def answers(zoo: Zoo, answer: Any) -> None:
    zoo.pages["archive.test", QUERY] = answer


def n_requests(zoo: Zoo) -> int:
    return sum(host == "archive.test" for host, _ in zoo.requests)


def test_the_nearest_copy_is_named_and_kept(zoo: Zoo, cache: FetchCache) -> None:
    answers(zoo, named(copy_at(zoo)))
    found = wayback(zoo, cache).nearest(PAGE + "#part", "20140302")
    assert isinstance(found, Snapshot)
    assert found.date == "2014-03-05"
    assert found.raw() == zoo.url("web.archive.test", f"/web/{TIME}id_/{PAGE}")
    assert wayback(zoo, cache).nearest(PAGE, "20140302") == found
    archived = f"https://web.archive.org/web/2019/{PAGE}"
    assert wayback(zoo, cache).nearest(archived, "20140302") == found
    assert n_requests(zoo) == 1


@pytest.mark.parametrize(
    "answer",
    [
        reply(b'{"url": "x", "archived_snapshots": {}}'),
        named("http://web.archive.test/web/1/x", status="404"),
        named(f"http://web.archive.test/web/{TIME}/x", available=False),
        reply(b"", "404 Not Found"),
    ],
)
def test_that_there_is_no_copy_is_cached(zoo: Zoo, cache: FetchCache, answer: bytes) -> None:
    answers(zoo, answer)
    for _ in range(2):
        archive = wayback(zoo, cache)
        assert archive.nearest(PAGE, "20140302") is None
        assert archive.warnings == ()
    assert n_requests(zoo) == 1


@pytest.mark.parametrize(
    ("answer", "n_tries", "why"),
    [
        (reply(b"", "429 Too Many Requests"), 3, "it answers 429"),
        (reply(b"", "429 Too Many Requests", Retry_After="900"), 1, "retry after 900 s"),
        (reply(b"", "403 Forbidden"), 1, "it answers 403"),
        (reply(b"", "503 Service Unavailable"), 3, "it answers 503"),
        (reply(b"<html>Please log in to this network"), 1, "not in the documented form"),
        (reply(b'["archived_snapshots"]'), 1, "not in the documented form"),
        (reply(b'{"archived_snapshots": 3}'), 1, "not in the documented form"),
        (reply(b'{"archived_snapshots": {"closest": "x"}}'), 1, "not in the documented form"),
        (reply(b"[" * 90_000), 1, "not in the documented form"),
        (closed_at_once, 3, "archive.test"),
    ],
)
def test_no_requests_after_a_refusal(
    zoo: Zoo, cache: FetchCache, answer: Any, n_tries: int, why: str
) -> None:
    answers(zoo, answer)
    archive = wayback(zoo, cache)
    assert archive.nearest(PAGE, "20140302") is None
    assert archive.nearest("http://other.test/", "20140302") is None
    assert n_requests(zoo) == n_tries
    (warning,) = archive.warnings
    assert "archive.test is not asked for further" in warning
    assert why in warning
    answers(zoo, named(copy_at(zoo)))  # the refusal is not kept
    assert wayback(zoo, cache).nearest(PAGE, "20140302") is not None


@each_row("web/search/addresses_outside_the_archive_are_not_copies")
def test_addresses_outside_the_archive_are_not_copies(
    zoo: Zoo, cache: FetchCache, url: str
) -> None:
    answers(zoo, named(url))
    archive = wayback(zoo, cache)
    assert archive.nearest(PAGE, "20140302") is None
    (warning,) = archive.warnings
    assert "it was not opened" in warning


def test_unsafe_addresses_are_not_sent_to_the_archive(zoo: Zoo, cache: FetchCache) -> None:
    for url in ("ftp://varde.test/x", "http://me:secret@varde.test/x", "http://varde.test:22/"):
        assert wayback(zoo, cache).nearest(url, "2014") is None
    assert zoo.requests == []


def test_a_copy_of_a_redirect_to_the_front_page() -> None:
    site = f"https://web.archive.org/web/{TIME}id_/http://varde.example"
    found = of_reply(f"{site}/2014/bridge", 200, f"{site}/", True)
    assert found
    assert found.reason is Reason.FRONT_PAGE
    assert of_reply(f"{site}/2014/bridge", 200, f"{site}/news/bridge", True) is None


def test_the_archive_has_its_own_pause(zoo: Zoo, cache: FetchCache) -> None:
    archive = wayback(zoo, cache, pause=0.3)
    for n in range(3):
        archive.nearest(f"http://varde.test/{n}")
    begins = [begin for host, begin, _ in zoo.times if host == "archive.test"]
    assert min(b - a for a, b in pairwise(begins)) >= 0.29
