"""Fetches cited pages: many hosts in parallel, one request at a time per host, each page once.

Obeys robots.txt as in RFC 9309, cached for a day per host. Errors, statuses and redirects are
mapped to a `Reason` here; `documents.outcome` derives reasons from a page's text.

Pages are found by SearXNG (https://docs.searxng.org/dev/search_api.html), which the user
configures, so it may be in the user's own network, and by the Wayback Machine
(https://archive.org/help/wayback_api.php). That answers 429 early and blocks clients that insist:
every answer is cached, and after the first refusal no more requests are sent.
"""

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlencode, urlsplit

from pincite.documents.body import of_status
from pincite.documents.read import read_bytes
from pincite.errors import ConfigError, FetchError, FetchingIsOff, FetchStopped
from pincite.text import hosts
from pincite.text.hosts import Snapshot
from pincite.types import Document, Fetched, Reason, Unchecked, WebResult
from pincite.web import addresses
from pincite.web.addresses import Resolve, Response, Target, WebRules, system_resolver
from pincite.web.fetch import DAY, TOO_MANY, CachedPage, FetchCache, WebClient

if TYPE_CHECKING:
    from protego import Protego

# ── Search engine ─────────────────────────────────────────────────────────────────────────────────

REPLY_BYTES = 2_000_000  # twenty results take 20 kB
MAX_WORDS = 32  # Google ignores the rest
KEEP_DAYS = 1.0  # lets an interrupted run resume without repeating queries
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_REFUSALS = (401, 403, 429)  # and 5xx; other statuses concern the single page
# Other characters may be operators: "!g", ":de" and "<9" in SearXNG, "-" and "site:" in its
# engines.
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*%?")


class SearxSearch(AbstractContextManager["SearxSearch"]):
    """A SearXNG client, one query at a time; a context manager."""

    def __init__(
        self, url: str, cache: FetchCache, rules: WebRules, resolve: Resolve = system_resolver
    ) -> None:
        """`url` is the engine's base address; port and size limit of the `rules` are replaced.

        Raises ConfigError if it is not a web address.
        """
        try:
            target = addresses.parse_target(url, range(1, 65_536))
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
        """Return up to `k` pages per query, best first; none, and a warning, if it failed."""
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
            results = results_of(reply.body)
        except FetchingIsOff:
            raise
        except FetchError as error:
            what = str(error).replace(address, self._base)  # the address contains the claim
            self._warnings[f"search at {self._base}: {what}"] = None
            return []
        page = CachedPage(address, address, reply.status, reply.body)
        self._cache.put(page.lasting(KEEP_DAYS * DAY))
        return results

    def __exit__(self, *error: object) -> None:
        self._client.close()


def query_words(text: str) -> str:
    """The words of a claim, without characters that search engines treat as operators."""
    return " ".join(_WORD.findall(text)[:MAX_WORDS])


def results_of(body: bytes) -> list[WebResult]:
    """Parse the pages in a reply, each once; raises FetchError if it is not in SearXNG's format."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    listed = parsed.get("results") if isinstance(parsed, dict) else None
    if not isinstance(listed, list):
        raise FetchError("it does not reply as SearXNG does (no results in JSON).")
    pages: dict[str, WebResult] = {}
    for entry in listed:
        url = _text(entry, "url")
        if url.startswith(("http://", "https://")):
            pages.setdefault(url, WebResult(url, " ".join(_text(entry, "title").split())))
    return list(pages.values())


def _text(entry: Any, name: str) -> str:
    value = entry.get(name) if isinstance(entry, dict) else None
    return value if isinstance(value, str) else ""


# ── Wayback Machine ───────────────────────────────────────────────────────────────────────────────


class Wayback:
    """Finds archived copies, one page at a time; not thread-safe."""

    def __init__(
        self,
        client: WebClient,
        cache: FetchCache,
        *,
        api: str = addresses.WAYBACK_API,
        pause: float = addresses.WAYBACK_PAUSE,
        on_request: Callable[[str], None] = lambda url: None,
    ) -> None:
        """`api` is the service or a mirror; `on_request` gets the page before a request."""
        self._client, self._cache, self._api, self._on_request = client, cache, api, on_request
        self._warnings: dict[str, None] = {}
        self._refused = False
        self.hosts = (hosts.host_of(api), *hosts.WAYBACK_HOSTS)  # of the archive
        client.set_pause(self.hosts[0], pause)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def nearest(self, url: str, near: str = "") -> Snapshot | None:
        """The copy nearest to a time; None if there is none, or if the service has refused.

        `near` has the digits of a time, the year first; empty: the newest copy.
        """
        page = hosts.original_of(url, self.hosts).partition("#")[0]
        params = {"url": page} | ({"timestamp": near} if near else {})
        key = f"{self._api}?{urlencode(params)}"
        if cached := self._cache.get(key):
            return self._snapshot(cached.body)
        return None if self._refused else self._request(key, page)

    def _request(self, key: str, page: str) -> Snapshot | None:
        rules, refusal = self._client.rules, ""
        try:
            addresses.parse_target(page, rules.ports)
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
            self._warn(
                f"is not asked for further archived copies: {refusal}. Try again later: "
                "results are cached."
            )
            return None
        snapshot = self._snapshot(body)
        days = rules.keep_days if snapshot else rules.keep_failures_days
        self._cache.put(CachedPage(key, reply.url, reply.status, body).lasting(days * DAY))
        return snapshot

    def _snapshot(self, body: bytes) -> Snapshot | None:
        """The copy in an answer, if it has status 200 and is in the archive."""
        closest = closest_copy(body) or {}
        url, status = closest.get("url"), str(closest.get("status"))
        if closest.get("available") is not True or status != "200" or not isinstance(url, str):
            return None
        snapshot = hosts.snapshot_at(url, self.hosts)
        if snapshot and snapshot.date and hosts.is_below(url, self.hosts):
            return snapshot
        self._warn(f"named a copy outside the archive; it was not opened: {url[:200]}")
        return None

    def _warn(self, what: str) -> None:
        self._warnings[f"{self.hosts[0]} {what}"] = None


def closest_copy(body: bytes) -> dict[str, object] | None:
    """The nearest copy in an answer, {} if there is none; None for a malformed answer."""
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


# ── Outcomes of requests ──────────────────────────────────────────────────────────────────────────

# Transient: cached for an hour at most.
TRANSIENT = frozenset({Reason.REFUSED, Reason.UNREACHABLE, Reason.TIMED_OUT, Reason.TRUNCATED})
_LOGIN_PLACE = re.compile(
    r"[/.](log-?in|log-?on|sign-?in|sso|saml2?|oauth2?|authorize|anmelden|connexion|idp)\b", re.I
)
_CONSENT_PLACE = re.compile(r"^consent\.|/(cookie-?)?consent(-wall)?(/|\b)|/cookie-?wall\b", re.I)


def of_error(url: str, error: FetchError) -> Unchecked:
    message = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(error))
    return Unchecked(url, error.reason, message.rstrip("."))


def of_reply(url: str, status: int, final_url: str, redirected: bool) -> Unchecked | None:
    """Classify by status and redirects alone; None if the page is worth reading."""
    if status in (204, 205):
        return Unchecked(url, Reason.EMPTY, f"HTTP {status}: a reply without a page")
    if status == 206:
        return Unchecked(url, Reason.TRUNCATED, "HTTP 206: only a part was sent")
    if 300 <= status < 400:
        return Unchecked(url, Reason.UNREACHABLE, f"HTTP {status}: a redirect without a target")
    return of_status(url, status) or (_generic_redirect(url, final_url) if redirected else None)


def _generic_redirect(url: str, final_url: str) -> Unchecked | None:
    """Detect a redirect to a generic page (front page, login)."""
    cited, final = hosts.original_of(url), hosts.original_of(final_url)
    cited_place, final_place = (f"{p.netloc}{p.path}" for p in map(urlsplit, (cited, final)))
    detail = f"it redirects to {final_url}"
    for reason, place in ((Reason.CONSENT, _CONSENT_PLACE), (Reason.LOGIN, _LOGIN_PLACE)):
        if place.search(final_place) and not place.search(cited_place):
            return Unchecked(url, reason, detail)
    if hosts.is_front(final) and not hosts.is_front(cited):
        return Unchecked(url, Reason.FRONT_PAGE, detail)
    return None


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────

AGENT = "pincite"  # user agent in robots.txt
ROBOTS_BYTES = 500 * 1024  # RFC 9309, 2.5: the minimum that must be read; more is ignored
# Such a robots.txt is "unavailable" (2.3.1.3), which allows everything.
_NO_FILE = (
    *(Reason.TOO_LARGE, Reason.TRUNCATED, Reason.UNDECODABLE, Reason.REDIRECTS),
    *(Reason.UNSAFE_ADDRESS, Reason.NOT_ALLOWED),
)
ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5"
HOUR = DAY / 24
NOT_MODIFIED = 304  # HTTP status: the page is as it was

Outcome = Fetched | Unchecked
State = Literal["requested", "fetched", "cached", "failed", "archive"]  # archive: looked up there


class FetchStep(NamedTuple):
    """A progress event."""

    url: str
    state: State
    n_done: int  # addresses, each counted once
    n_urls: int


class WebSources:
    """Fetches cited pages, from the cache or from the web: one failure is one result."""

    def __init__(
        self,
        client: WebClient,
        cache: FetchCache,
        *,
        progress: Callable[[FetchStep], None] = lambda _: None,
    ) -> None:
        self._client, self._cache, self._progress = client, cache, progress
        self._started = time.time()
        # By origin: the rules of its robots.txt, or why nothing may be fetched.
        self._robots: dict[str, Protego | str | None] = {}
        self._robots_locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def fetch(self, urls: Sequence[str]) -> list[Outcome]:
        """Fetch each address, or return why it could not be checked; caches page by page."""
        keys = list(dict.fromkeys(map(_key, urls)))
        outcomes: dict[str, Outcome] = {}
        by_host: dict[str, list[str]] = {}

        def done(key: str, outcome: Outcome, state: State) -> None:
            with self._lock:
                outcomes[key] = outcome
                self._progress(FetchStep(key, state, len(outcomes), len(keys)))

        def request(same_host: list[str]) -> None:
            for key in same_host:
                with self._lock:
                    self._progress(FetchStep(key, "requested", len(outcomes), len(keys)))
                outcome = self._fetch(key)
                done(key, outcome, "fetched" if isinstance(outcome, Fetched) else "failed")

        for key in keys:
            if cached := self._fresh_page(key):
                done(key, _outcome(key, cached), "cached")
                continue
            try:
                host = self._target(key).host
            except FetchError as error:
                done(key, of_error(key, error), "failed")
            else:
                by_host.setdefault(host, []).append(key)
        if by_host:
            self._in_parallel(request, sorted(by_host.values(), key=len, reverse=True))
        return [replace(outcomes[_key(url)], url=url) for url in urls]

    def _in_parallel(
        self, request: Callable[[list[str]], None], by_host: Sequence[list[str]]
    ) -> None:
        pool = ThreadPoolExecutor(min(len(by_host), self.rules.at_once), "fetch")
        try:
            for task in as_completed([pool.submit(request, keys) for keys in by_host]):
                task.result()
        except BaseException:
            self._client.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    @property
    def rules(self) -> WebRules:
        return self._client.rules

    def _fresh_page(self, key: str) -> CachedPage | None:
        """The page of the cache, unless it is older than the rules allow by now."""
        page, seconds = self._cache.stored(key), self.rules.keep_days * DAY
        if page and page.fetched < self._started:
            return page if time.time() < min(page.expires, page.fetched + seconds) else None
        return page  # of this run

    def begin(self) -> None:
        """As a new run: what has expired in the cache, robots.txt too, is requested again."""
        self._started = time.time()
        self._robots.clear()

    def is_cached(self, url: str) -> bool:
        return self._fresh_page(_key(url)) is not None

    def host_of(self, url: str) -> str | None:
        """The host to be contacted for an address; None if it would not be opened."""
        try:
            return self._target(_key(url)).host
        except FetchError:
            return None

    def _target(self, key: str) -> Target:
        return addresses.parse_target(key, self.rules.ports, self.rules.private_hosts)

    def _fetch(self, key: str) -> Outcome:
        stored = self._cache.stored(key)
        validators = stored.validators if stored else {}
        try:
            response = self._client.get(
                key, accept=ACCEPT, headers=validators, check=self._check_robots
            )
            if response.status == NOT_MODIFIED and stored and response.url != stored.final_url:
                # It leads elsewhere now, and that page is another than the stored one.
                response = self._client.get(key, accept=ACCEPT, check=self._check_robots)
        except FetchStopped:
            raise
        except FetchingIsOff as error:
            return of_error(key, error)
        except FetchError as error:
            cached = self._keep_failure(of_error(key, error), error.url or key, error.status)
        else:
            if stored and validators and response.status == NOT_MODIFIED:
                cached = stored.lasting(self.rules.keep_days * DAY)
            else:
                cached = self._page_to_cache(key, response)
        self._cache.put(cached)
        return _outcome(key, cached)

    def _page_to_cache(self, key: str, response: Response) -> CachedPage:
        if failed := of_reply(key, response.status, response.url, response.redirected):
            return self._keep_failure(failed, response.url, response.status)
        headers = response.headers
        page = CachedPage(
            *(key, response.url, response.status, response.body),
            content_type=headers.get("content-type", ""),
            etag=headers.get("etag", ""),
            modified=headers.get("last-modified", ""),
        )
        return page.lasting(self.rules.keep_days * DAY)

    def _keep_failure(self, failed: Unchecked, final_url: str, status: int | None) -> CachedPage:
        seconds = self.rules.keep_failures_days * DAY
        reason, detail = failed.reason.value, failed.detail
        cached = CachedPage(failed.url, final_url, status, reason=reason, detail=detail)
        if failed.reason is Reason.NOT_ALLOWED:  # a setting may allow it in the next run
            return cached.lasting(0)
        return cached.lasting(min(seconds, HOUR) if failed.reason in TRANSIENT else seconds)

    def _check_robots(self, target: Target) -> None:
        """Raise FetchError if robots.txt disallows the page, or cannot be read now."""
        origin = f"{target.scheme}://{target.authority}"
        with self._lock:
            lock = self._robots_locks.setdefault(origin, threading.Lock())
        with lock:  # one request, however many pages of the host are waiting
            if origin not in self._robots:
                self._robots[origin] = self._rules_of(target, f"{origin}/robots.txt")
        rules = self._robots[origin]
        if isinstance(rules, str):
            raise FetchError(f"{target.url} is not fetched: {rules}.", target.url, Reason.ROBOTS)
        if rules is not None and not rules.can_fetch(target.url, AGENT):
            why = f"the robots.txt of {target.authority} disallows this page"
            raise FetchError(f"{target.url} is not fetched: {why}.", target.url, Reason.ROBOTS)

    def _rules_of(self, target: Target, url: str) -> "Protego | str | None":
        from protego import Protego

        try:
            status, body = self._read_robots(url)
        except FetchError as error:
            if error.reason in _NO_FILE:
                return None
            if error.reason is not Reason.REFUSED:
                raise
            return f"{url} answers {error.status}, so its pages are not fetched"
        if status == TOO_MANY or status >= 500:
            return f"{url} answers {status}, so its pages are not fetched"  # RFC 9309, 2.3.1.4
        if not 200 <= status < 300:
            return None
        rules = Protego.parse(body[:ROBOTS_BYTES].decode("utf-8-sig", "replace"))
        if delay := rules.crawl_delay(AGENT):
            self._client.set_pause(target.host, delay)
        return rules

    def _read_robots(self, url: str) -> tuple[int, bytes]:
        """Fetch a robots.txt, cached like a page, for a day (RFC 9309, 2.4)."""
        if (cached := self._cache.get(url)) and cached.status is not None:
            return cached.status, cached.body
        reply = self._client.get(url, accept="text/plain,*/*;q=0.5", pause=False)
        lasting = DAY if reply.status < 500 and reply.status != TOO_MANY else HOUR
        self._cache.put(CachedPage(url, reply.url, reply.status, reply.body).lasting(lasting))
        return reply.status, reply.body


def read_fetched(outcome: Outcome) -> Document | Unchecked:
    if isinstance(outcome, Unchecked):
        return outcome
    url, declared, fetched = outcome.url, outcome.content_type, outcome.fetched
    return read_bytes(outcome.body, url=url, content_type=declared, fetched=fetched)


def _key(url: str) -> str:
    return url.strip().partition("#")[0]


def _outcome(key: str, cached: CachedPage) -> Outcome:
    if cached.reason:
        return Unchecked(key, Reason(cached.reason), cached.detail)
    return Fetched(
        key,
        cached.final_url,
        cached.content_type or None,
        cached.body,
        datetime.fromtimestamp(cached.fetched, UTC).isoformat(timespec="seconds"),
    )


class WebPage(NamedTuple):
    """A page as a document or an `Unchecked`, with its final address."""

    source: Document | Unchecked
    final_url: str  # after redirects; the requested address if the fetch failed


@dataclass(frozen=True, slots=True)
class WebPages:
    """Pages of the web as documents; each is read once."""

    sources: WebSources
    wayback: Wayback | None = None  # None: disabled
    _read: dict[str, WebPage] = field(default_factory=dict)

    def get(self, url: str) -> WebPage:
        if url not in self._read:
            (outcome,) = self.sources.fetch([url])
            final_url = outcome.final_url if isinstance(outcome, Fetched) else url
            self._read[url] = WebPage(read_fetched(outcome), final_url)
        return self._read[url]

    def forget(self) -> None:
        """Free the pages read so far; the cache decides whether they are fetched again."""
        self._read.clear()
        self.sources.begin()

    def fetch(self, urls: Sequence[str]) -> list[bool]:
        """Prefetch pages into the cache, one by one; return whether each succeeded."""
        return [isinstance(outcome, Fetched) for outcome in self.sources.fetch(urls)]
