"""The HTTP client: polite requests to untrusted servers.

`get` follows redirects (each checked like the first address), keeps one connection per host with a
pause between requests, obeys `Retry-After`, retries transient failures, and enforces every limit of
the rules. A reply with any status is a `Response`; without a reply it raises a `FetchError`.

`FetchCache` keeps fetched pages by cited address in one SQLite file; failures for a shorter time.
"""

import contextlib
import gzip
import json
import sqlite3
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode, urljoin

from pincite.durable import CacheFile
from pincite.errors import FetchError, FetchingIsOff, FetchStopped, UntrustedHost
from pincite.text.hosts import seconds_to_wait
from pincite.types import Reason
from pincite.web import addresses
from pincite.web.addresses import DEFAULT_RULES, Resolve, Response, Target, WebRules

if TYPE_CHECKING:
    from pincite.web.connection import Connection

__all__ = ["DEFAULT_RULES", "Response", "WebClient", "WebRules"]

TOO_MANY = 429  # HTTP status: too many requests
REDIRECTS = (301, 302, 303, 307, 308)
TRANSIENT = (429, 500, 502, 503, 504, 520, 521, 522, 523, 524)  # 52x: a CDN cannot reach its host
RETRIED = (Reason.UNREACHABLE, Reason.TRUNCATED)
NEVER_RETRIED = (UntrustedHost, FetchStopped)
HOST_FAILURE_SECONDS = 600.0  # how long an unreachable host is not tried again
PROXY_LOOKUP = 2.0  # seconds to look up a name that a proxy will resolve; many networks cannot
# Other headers may be secrets of the original site, so redirects to other sites drop them.
_CARRIED = ("accept", "accept-language")
Check = Callable[[Target], None]


@dataclass(slots=True, eq=False)
class _HostState:
    """State of one host; the lock's holder may use its connection, after the pause."""

    connection: "Connection"
    lock: threading.Lock = field(default_factory=threading.Lock)
    free_at: float = 0.0
    pause: float = 0.0
    failure: FetchError | None = None  # why the host is unreachable, until `failed_until`
    failed_until: float = 0.0
    is_checked: bool = False  # behind a proxy: whether the name was looked up


class WebClient:
    """An HTTP client. Thread-safe; close it, or use it as a context manager."""

    def __init__(
        self,
        rules: WebRules = DEFAULT_RULES,
        *,
        resolve: Resolve = addresses.system_resolver,
        allow: Collection[str] = frozenset(),
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """`allow` has non-public addresses; no setting passes them to the client of cited pages."""
        self.rules, self._resolve, self._allow = rules, resolve, frozenset(allow)
        self._trust = trust
        self._hosts: dict[str, _HostState] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.user_agent = user_agent(rules.contact)

    def get(
        self,
        url: str,
        *,
        accept: str = "*/*",
        headers: Mapping[str, str] | None = None,
        check: Check | None = None,
        pause: bool = True,
    ) -> Response:
        """Send a GET request.

        `headers` are dropped on redirects to another origin. `check` is called with each address on
        the way, and raises if it must not be opened. `pause`: before the next request to the host.
        Raises FetchError without a usable reply; FetchingIsOff unless `rules.online`.
        """
        target = self._parse(url)
        sent = {"accept": accept} | {name.lower(): v for name, v in (headers or {}).items()}
        visited: list[str] = []
        while True:
            if check:
                check(target)
            reply = self._request_with_retries(target, sent, pause)
            redirect = self._redirect_target(target, reply)
            if not redirect:
                return reply._replace(redirected=bool(visited))
            visited.append(target.url)
            if redirect.url in visited:
                what = f"{url} redirects in a circle, through {redirect.url}."
                raise FetchError(what, url, Reason.REDIRECTS)
            if len(visited) > (limit := self.rules.redirects):
                raise FetchError(f"{url} redirects more than {limit} times.", url, Reason.REDIRECTS)
            if (redirect.scheme, redirect.authority) != (target.scheme, target.authority):
                sent = {name: value for name, value in sent.items() if name in _CARRIED}
            target = redirect

    def post(
        self, url: str, form: Mapping[str, str], *, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send a form, without following redirects. Raises as `get`."""
        target = self._parse(url)
        kind = {"content-type": "application/x-www-form-urlencoded"}
        sent = kind | {name.lower(): value for name, value in (headers or {}).items()}
        return self._request_with_retries(target, sent, True, urlencode(form).encode())

    def _parse(self, url: str) -> Target:
        if not self.rules.online:
            what = f"{url} is not fetched: nothing leaves this machine unless you allow it."
            raise FetchingIsOff(f"{what} Use --online, or set web.online.", url)
        return addresses.parse_target(url, self.rules.ports, self.rules.private_hosts)

    def set_pause(self, host: str, seconds: float) -> None:
        """Set the minimum seconds between requests to a host, up to the rules' limit."""
        seconds = min(seconds, self.rules.longest_crawl_delay)
        self._host_state(host).pause = max(self.rules.pause, seconds)

    def stop(self) -> None:
        """Abort all requests in all threads, and refuse new ones."""
        self._stopped.set()
        for host in list(self._hosts.values()):
            host.connection.abort()

    def close(self) -> None:
        for host in list(self._hosts.values()):
            with host.lock:
                host.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind:
            self.stop()
        self.close()

    def _redirect_target(self, target: Target, reply: Response) -> Target | None:
        location = reply.headers.get("location")
        if reply.status not in REDIRECTS or not location:
            return None
        # Some servers send UTF-8 in this header, against the standard.
        location = location.encode("latin-1", "replace").decode("utf-8", "replace").strip()
        try:
            joined = urljoin(target.url, location.replace(" ", "%20"))
            return addresses.parse_target(joined, self.rules.ports, self.rules.private_hosts)
        except ValueError as error:
            what = f"{target.url} redirects to {location!r}."
            raise FetchError(what, target.url, Reason.UNSAFE_ADDRESS) from error

    def _request_with_retries(
        self, target: Target, headers: dict[str, str], pause: bool, form: bytes | None = None
    ) -> Response:
        wait = self.rules.first_wait
        for attempt in range(1, self.rules.attempts + 1):
            last = attempt == self.rules.attempts
            host = self._host_state(target.host)
            try:
                reply = self._request_once(host, target, headers, pause, form)
            except FetchError as error:
                if last or error.reason not in RETRIED or isinstance(error, NEVER_RETRIED):
                    _remember(host, error)
                    raise
                host.free_at = max(host.free_at, time.monotonic() + wait)
            else:
                if reply.status not in TRANSIENT:
                    return reply
                seconds = seconds_to_wait(reply.headers.get("retry-after", ""))
                if seconds and seconds > self.rules.longest_wait:
                    what = f"{target.host} answers {reply.status}; retry after {seconds:.0f} s."
                    busy = FetchError(what, target.url, Reason.REFUSED, reply.status, of_host=True)
                    _remember(host, busy, seconds)
                    raise busy
                if last and reply.status == TOO_MANY:
                    what = f"{target.host} answered {TOO_MANY} for another page."
                    busy = FetchError(what, target.url, Reason.REFUSED, TOO_MANY, of_host=True)
                    _remember(host, busy)
                if last:
                    return reply
                host.free_at = max(host.free_at, time.monotonic() + max(seconds or 0.0, wait))
            wait = min(2 * wait, self.rules.longest_wait)
        raise AssertionError("the last attempt returns or raises")

    def _request_once(
        self,
        host: _HostState,
        target: Target,
        headers: dict[str, str],
        pause: bool,
        form: bytes | None,
    ) -> Response:
        with host.lock:
            if host.failure and time.monotonic() < host.failed_until:
                first = host.failure
                raise type(first)(str(first), target.url, first.reason, first.status)
            if self._stopped.wait(max(0.0, host.free_at - time.monotonic())):
                raise FetchStopped("The run was stopped.", target.url)
            checked = self._addresses(host, target)
            whole = {"host": target.authority, "user-agent": self.user_agent} | headers
            try:
                return host.connection.request(target, checked, whole, form)
            finally:
                host.free_at = time.monotonic() + (host.pause if pause else 0.0)

    def _addresses(self, host: _HostState, target: Target) -> list[str]:
        """The checked addresses to connect to; none behind a proxy, which resolves names itself.

        There, a name is refused if it resolves here, too, and to a private address.
        """
        named, seconds = self.rules.private_hosts, self.rules.connect_seconds
        if not (target.is_name and addresses.proxy_of(target, self.rules)):
            return addresses.safe_addresses(target, self._resolve, self._allow, named, seconds)
        if not host.is_checked:
            try:
                seconds = min(seconds, PROXY_LOOKUP)
                addresses.safe_addresses(target, self._resolve, self._allow, named, seconds)
            except FetchError as error:
                if error.reason is not Reason.NO_HOST:
                    raise
            host.is_checked = True
        return []

    def _host_state(self, name: str) -> _HostState:
        with self._lock:
            if name not in self._hosts:
                from pincite.web.connection import Connection

                connection = Connection(self.rules, self._stopped, self._trust)
                self._hosts[name] = _HostState(connection, pause=self.rules.pause)
            return self._hosts[name]


def user_agent(contact: str) -> str:
    """The User-Agent: name, version and contact, as Wikimedia's policy requires."""
    address = "".join(c for c in contact if c.isprintable() and c not in "()") or "no contact given"
    return f"Pincite/{version('pincite')} (citation checker; {address}) httpcore2"


def _remember(host: _HostState, error: FetchError, seconds: float = HOST_FAILURE_SECONDS) -> None:
    if error.of_host:
        host.failure, host.failed_until = error, time.monotonic() + seconds


# ── Cache ─────────────────────────────────────────────────────────────────────────────────────────

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A fetched page, or why it was not fetched (`reason`, a value of `Reason`)."""

    url: str  # as cited, without its fragment
    final_url: str
    status: int | None
    body: bytes = b""
    content_type: str = ""
    reason: str = ""
    detail: str = ""
    fetched: float = 0.0  # seconds since 1970
    expires: float = 0.0
    etag: str = ""  # validators of a conditional request
    modified: str = ""

    def lasting(self, seconds: float) -> "CachedPage":
        """A copy fetched now that expires after `seconds`."""
        now = time.time()
        return replace(self, fetched=now, expires=now + seconds)

    @property
    def validators(self) -> dict[str, str]:
        """Headers that request the page only if it has changed."""
        headers = {"if-none-match": self.etag, "if-modified-since": self.modified}
        return {name: value for name, value in headers.items() if value}


class FetchCache(CacheFile, AbstractContextManager["FetchCache"]):
    """Pages by cited address; threads and processes may share the file."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; falls back to memory, with a warning, if it is unusable."""
        table = "fetched_pages (url TEXT PRIMARY KEY, fetched REAL NOT NULL, page BLOB NOT NULL)"
        super().__init__(path, table)

    def get(self, url: str) -> CachedPage | None:
        """Look up an address; an expired or damaged page counts as missing."""
        page = self.stored(url)
        return page if page and time.time() < page.expires else None

    def stored(self, url: str) -> CachedPage | None:
        """Look up an address, expired or not."""
        for (packed,) in self.rows("SELECT page FROM fetched_pages WHERE url = ?", (url,)):
            with contextlib.suppress(OSError, EOFError, zlib.error, ValueError):
                head, _, body = gzip.decompress(packed).partition(b"\n")
                return CachedPage(body=body, **json.loads(head))
        return None

    def put(self, page: CachedPage) -> None:
        """Store a page, replacing any earlier version."""
        facts = asdict(page)
        body = facts.pop("body")
        packed = gzip.compress(json.dumps(facts).encode() + b"\n" + body, 6, mtime=0)
        rows = [(page.url, page.fetched, packed)]
        self._write("INSERT OR REPLACE INTO fetched_pages VALUES (?, ?, ?)", rows)

    def prune(self, older_than_days: float) -> int:
        """Remove older pages, and free their space; returns their number."""
        before = time.time() - older_than_days * DAY
        n_removed = self._write("DELETE FROM fetched_pages WHERE fetched < ?", [(before,)])
        with self._lock, contextlib.suppress(sqlite3.OperationalError):  # locked by another run
            self._db.execute("VACUUM")
        return n_removed

    def __exit__(self, *error: object) -> None:
        self.close()


def holdings(path: Path) -> tuple[int, int]:
    """The bytes of a cache's file and log, and the number of its pages; a missing file is empty."""
    if not path.exists():
        return 0, 0
    with FetchCache(path) as cache:
        n_pages = cache.n_rows()
    log = path.with_name(path.name + "-wal")
    return sum(file.stat().st_size for file in (path, log) if file.exists()), n_pages
