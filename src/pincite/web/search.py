"""Clients for a search engine and the Wayback Machine.

The search engine is SearXNG (https://docs.searxng.org/dev/search_api.html). The user configures it,
so it may be in the user's own network; the pages that it returns are fetched like any cited page.
The Wayback Machine (https://archive.org/help/wayback_api.php) answers 429 early and blocks clients
that insist: every answer is cached, and after the first refusal no more requests are sent.
"""

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from pincite.errors import ConfigError, FetchError, FetchingIsOff, FetchStopped
from pincite.text.hosts import WAYBACK_HOSTS, Snapshot, host_of, is_below, original_of, snapshot_at
from pincite.types import WebResult
from pincite.web.addresses import (
    WAYBACK_API,
    WAYBACK_PAUSE,
    Resolve,
    WebRules,
    parse_target,
    system_resolver,
)
from pincite.web.cache import DAY, CachedPage, FetchCache
from pincite.web.fetch import WebClient

REPLY_BYTES = 2_000_000  # twenty results take 20 kB
MAX_WORDS = 32  # Google ignores the rest
KEEP_DAYS = 1.0  # lets an interrupted run resume without repeating queries
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_REFUSALS = (401, 403, 429)  # and 5xx; other statuses concern the single page
# Other characters may be operators: "!g", ":de" and "<9" in SearXNG, "-" and "site:" in its
# engines.
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*%?")


class SearxSearch(AbstractContextManager["SearxSearch"]):
    """A SearXNG client, one query at a time; close it, or use it as a context manager."""

    def __init__(
        self, url: str, cache: FetchCache, rules: WebRules, resolve: Resolve = system_resolver
    ) -> None:
        """`url` is the engine's base address; port and size limit of the `rules` are replaced.

        Raises:
            ConfigError: `url` is not a web address.
        """
        try:
            target = parse_target(url, range(1, 65_536))
        except FetchError as error:
            raise ConfigError(f"web.search_url is not usable: {error}") from error
        if "?" in target.path:
            raise ConfigError(f"web.search_url is {url!r}; expected http://HOST or https://HOST.")
        self._base = target.url.rstrip("/").removesuffix("/search")
        self._cache, self._warnings = cache, dict[str, None]()
        # Allow only the engine's own addresses, private or not, and no redirects.
        own = replace(rules, ports=(target.port,), redirects=0, body_bytes=REPLY_BYTES)
        allowed = list[str]()
        with contextlib.suppress(OSError):  # an unresolvable name fails on the first query
            allowed = resolve(target.host, target.port)
        self._client = WebClient(own, resolve=resolve, allow=allowed)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def search(self, queries: Sequence[str], k: int, language: str = "") -> list[list[WebResult]]:
        """Return at most `k` pages per query, best first; none, and a warning, if it failed.

        Raises:
            FetchingIsOff
        """
        return [self._search_one(query, language)[:k] for query in queries]

    def _search_one(self, query: str, language: str) -> list[WebResult]:
        words = query_words(query)
        if not words:
            return []
        params = {"q": words, "format": "json", "categories": "general", "safesearch": "0"}
        if _LANGUAGE.fullmatch(language):
            params["language"] = language
        address = f"{self._base}/search?{urlencode(params)}"
        if cached := self._cache.get(address):
            return results_of(cached.body)
        try:
            reply = self._client.get(address, accept="application/json")
            if reply.status == 403:
                what = "Add json to search.formats in SearXNG's settings.yml."
                raise FetchError(f"it refuses (HTTP 403). {what}")
            if reply.status != 200:
                raise FetchError(f"it answers HTTP {reply.status}; try again later.")
            found = results_of(reply.body)
        except FetchingIsOff:
            raise
        except FetchError as error:
            what = str(error).replace(address, self._base)  # the address contains the claim
            self._warnings[f"search at {self._base}: {what}"] = None
            return []
        cached = CachedPage(address, address, reply.status, reply.body)
        self._cache.put(cached.lasting(KEEP_DAYS * DAY))
        return found

    def close(self) -> None:
        self._client.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def query_words(text: str) -> str:
    """The words of a claim, without characters that search engines treat as operators.

    >>> query_words('!g The Varde Bridge -opened :de "in 1,911"')
    'g The Varde Bridge opened de in 1,911'
    """
    return " ".join(_WORD.findall(text)[:MAX_WORDS])


def results_of(body: bytes) -> list[WebResult]:
    """Parse the pages in a reply, without duplicates; skips malformed results.

    Raises:
        FetchError: the reply is not in the engine's format.
    """
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    listed = parsed.get("results") if isinstance(parsed, dict) else None
    if not isinstance(listed, list):
        raise FetchError("it does not reply as SearXNG does (no results in JSON).")
    found: dict[str, WebResult] = {}
    for entry in listed:
        url = _text(entry, "url")
        if url.startswith(("http://", "https://")):
            found.setdefault(url, WebResult(url, " ".join(_text(entry, "title").split())))
    return list(found.values())


def _text(entry: Any, name: str) -> str:
    value = entry.get(name) if isinstance(entry, dict) else None
    return value if isinstance(value, str) else ""


class Wayback:
    """Finds archived copies, one page at a time; not thread-safe."""

    def __init__(
        self,
        client: WebClient,
        cache: FetchCache,
        *,
        api: str = WAYBACK_API,
        pause: float = WAYBACK_PAUSE,
        on_request: Callable[[str], None] = lambda url: None,
    ) -> None:
        """`api` is the service or a mirror; `on_request` gets the page before a request."""
        self._client, self._cache, self._api, self._on_request = client, cache, api, on_request
        self._warnings: dict[str, None] = {}
        self._refused = False
        client.set_pause(host_of(api), pause)

    @property
    def hosts(self) -> tuple[str, ...]:
        return (host_of(self._api), *WAYBACK_HOSTS)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def nearest(self, url: str, near: str = "") -> Snapshot | None:
        """The copy nearest to a time; None if there is none, or if the service has refused.

        `near` has the digits of a time, the year first; empty: the newest copy.
        """
        page = original_of(url, self.hosts).partition("#")[0]
        params = {"url": page} | ({"timestamp": near} if near else {})
        key = f"{self._api}?{urlencode(params)}"
        if cached := self._cache.get(key):
            return self._snapshot(cached.body)
        return None if self._refused else self._request(key, page)

    def _request(self, key: str, page: str) -> Snapshot | None:
        rules, refusal = self._client.rules, ""
        try:
            parse_target(page, rules.ports)
        except FetchError:  # do not reveal addresses that are never opened
            return None
        self._on_request(page)
        try:
            reply = self._client.get(key, accept="application/json")
        except FetchStopped:
            raise
        except FetchError as error:
            refusal = str(error).rstrip(".")
        else:
            body = reply.body if reply.status == 200 else b""
            if reply.status in _REFUSALS or reply.status >= 500:
                refusal = f"it answers {reply.status}"
            elif body and closest_copy(body) is None:
                refusal = "its reply is not in the documented form"
        if refusal:
            self._refused = True
            self._warnings[
                f"{host_of(self._api)} is not asked for further archived copies: {refusal}. Try "
                "again later: results are cached."
            ] = None
            return None
        found = self._snapshot(body)
        days = rules.keep_days if found else rules.keep_failures_days
        self._cache.put(CachedPage(key, reply.url, reply.status, body).lasting(days * DAY))
        return found

    def _snapshot(self, body: bytes) -> Snapshot | None:
        """The copy in an answer, if it has status 200 and is in the archive."""
        closest = closest_copy(body) or {}
        url, status = closest.get("url"), str(closest.get("status"))
        if closest.get("available") is not True or status != "200" or not isinstance(url, str):
            return None
        found = snapshot_at(url, self.hosts)
        if found and found.date and is_below(url, self.hosts):
            return found
        self._warnings[
            f"{host_of(self._api)} named a copy outside the archive; it was not opened: {url[:200]}"
        ] = None
        return None


def closest_copy(body: bytes) -> dict[str, object] | None:
    """The nearest copy in an answer, {} if there is none; None for a malformed answer.

    >>> closest_copy(b'{"archived_snapshots": {}}'), closest_copy(b"<html>")
    ({}, None)
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    snapshots = answer.get("archived_snapshots") if isinstance(answer, dict) else None
    # PHP services may encode an empty object as an empty list.
    if not isinstance(snapshots, dict):
        return {} if snapshots == [] else None
    closest = snapshots.get("closest", {})
    return closest if isinstance(closest, dict) else None
