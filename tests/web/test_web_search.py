"""A search engine on this machine, asked over a real connection."""

import json
from typing import Any
from urllib.parse import quote_plus

import pytest
from web.zoo import Zoo, reply

from pincite.errors import ConfigError, FetchError, FetchingIsOff
from pincite.types import WebResult
from pincite.web.cache import FetchCache
from pincite.web.fetch import WebRules
from pincite.web.search import SearxSearch, query_words, results_of

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


def test_pages_in_order_each_once_and_asked_once(zoo: Zoo, cache: FetchCache) -> None:
    zoo.pages["127.0.0.1", path_of("The bridge opened", language="en")] = results()
    with engine(zoo, cache) as search:
        for _ in range(2):
            assert search.search(["The bridge opened"], 5, "en") == [
                [
                    WebResult("https://a.example/1", "The <b>bridge</b>"),
                    WebResult("https://b.example/2", ""),
                ]
            ]
        assert [len(found) for found in search.search(["The bridge opened"], 1, "en")] == [1]
    with engine(zoo, cache) as again:  # another run: what came is kept
        assert len(again.search(["The bridge opened"], 5, "en")[0]) == 2
    assert len(zoo.asked) == 1
    assert search.warnings == ()


def test_words_without_operators_are_sent(zoo: Zoo, cache: FetchCache) -> None:
    with engine(zoo, cache) as search:
        assert search.search(["… – !", ""], 5) == [[], []]
        assert zoo.asked == []
        search.search(['!g :de "Bridge" -site:x.example <9'], 5, "../en")
    assert [path for _, path in zoo.asked] == [path_of("g de Bridge site x.example 9")]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (reply(b"no", "403 Forbidden"), "json stands among search.formats"),
        (reply(b"", "404 Not Found"), "HTTP 404"),
        (reply(b"", "429 Too Many Requests"), "HTTP 429"),
        (reply(b"<html>Results</html>"), "answers as SearXNG does"),
        (reply(b"[" * 50_000), "answers as SearXNG does"),
        (reply(b'{"results": "many"}'), "answers as SearXNG does"),
        (reply(b"\xff" * 3_000_000), "limit"),
        (reply(b"", "302 Found", Location="http://inner.test:port/search?format=json"), "leads"),
    ],
)
def test_a_failure_is_a_warning_without_the_claim(
    zoo: Zoo, cache: FetchCache, answer: bytes, says: str
) -> None:
    zoo.pages["127.0.0.1", path_of("bridge")] = answer.replace(b":port", b":%d" % zoo.port)
    with engine(zoo, cache) as search:
        assert search.search(["bridge"], 5) == [[]]
        search.search(["bridge"], 5)
    (warning,) = search.warnings
    assert says in warning
    assert warning.startswith(f"search at {zoo.url('127.0.0.1', '')}: ")
    assert "q=bridge" not in warning


def test_nobody_there_and_shut(zoo: Zoo, cache: FetchCache) -> None:
    with SearxSearch("http://nohost.test", cache, RULES, zoo.resolve) as search:
        assert search.search(["bridge"], 5) == [[]]
        assert "no address" in search.warnings[0]
    with engine(zoo, cache, WebRules()) as search, pytest.raises(FetchingIsOff):
        search.search(["bridge"], 5)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "searx",
        "ftp://a.example",
        "http://u:p@a.example",
        "http://[",
        "http://a.example/?q=",
        "http://a.example:99999",
    ],
)
def test_addresses_that_are_none(cache: FetchCache, url: str) -> None:
    with pytest.raises(ConfigError, match="search_url is"):
        SearxSearch(url, cache, RULES)


def test_the_address_may_name_the_path(zoo: Zoo, cache: FetchCache) -> None:
    zoo.pages["127.0.0.1", "/searx" + path_of("bridge")] = results()
    for path in ("/searx", "/searx/", "/searx/search"):
        with engine(zoo, cache, path=path) as search:
            assert len(search.search(["bridge"], 5)[0]) == 2


def test_long_claims_are_cut() -> None:
    assert len(query_words(" ".join(f"w{n}" for n in range(99))).split()) == 32
    assert query_words("It opened in 1911, it did.") == "It opened in 1911 it did"


def test_results_of_nonsense() -> None:
    assert results_of(b'{"results": []}') == []
    with pytest.raises(FetchError):
        results_of(b"null")
