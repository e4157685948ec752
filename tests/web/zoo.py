"""A server on this machine that replies as badly as the web does."""

import dataclasses
import gzip
import socket
import socketserver
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pincite.types import Reason
from pincite.web.fetch import WebClient, WebRules

Writer = Callable[[socket.socket], None]
_WORDS = (
    "The harbour bridge at Varrowmouth was opened in 1911 by the mayor. It crosses the river "
    "below the old mill and carries the railway to Tarnsea. Two ferries had served the crossing "
    "before, and both were sold within a year of the opening. "
)
ARTICLE = "".join(f"<p>{_WORDS} Paragraph {n}.</p>" for n in range(4))


def page(body: str, title: str = "A bridge", head: str = "") -> bytes:
    html = f"<!doctype html><html lang=en><head><title>{title}</title>{head}</head><body>"
    return f"{html}{body}</body></html>".encode()


GOOD = page(f"<article><h1>A bridge</h1>{ARTICLE}</article>")


def reply(body: bytes = GOOD, /, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; headers by name with _ for -, an empty one is left out."""
    sent = {"Content-Type": "text/html", "Content-Length": str(len(body)), "Connection": "close"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in sent.items() if value]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1") + body


class Page(NamedTuple):
    """What stands at `path` of a host of its own, and what is to become of it; None: a document."""

    name: str
    answer: bytes | Writer
    reason: Reason | None
    path: str = "/2019/05/a-bridge.html"
    robots: bytes = b""  # an answer; empty: there is none
    elsewhere: tuple[tuple[str, bytes], ...] = ()  # other paths of the host
    scheme: str = "http"


@dataclass
class Zoo:
    """The server: pages by host and path; the requests, and how many at once by host."""

    port: int = 0
    pages: dict[tuple[str, str], bytes | Writer] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[tuple[str, float, float]] = field(default_factory=list)  # host, from, to
    delay: float = 0.0
    connections: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def add(self, what: Page) -> str:
        host = f"{what.name}.test"
        self.pages[host, what.path] = what.answer
        self.pages[host, "/robots.txt"] = what.robots or reply(b"", "404 Not Found")
        self.pages.update({(host, path): answer for path, answer in what.elsewhere})
        return self.url(host, what.path)

    def client(self, **changes: Any) -> WebClient:
        """A client that reaches this server under any name, without pauses."""
        quick = WebRules(online=True, ports=(80, self.port), pause=0.0, first_wait=0.01)
        rules = dataclasses.replace(quick, **changes)
        return WebClient(rules, resolve=self.resolve, allow={"127.0.0.1"})

    def resolve(self, host: str, _port: int) -> list[str]:
        if host.startswith("nohost"):
            raise OSError("no such name")
        return ["10.0.0.7"] if host.startswith("inner") else ["127.0.0.1"]

    def most_at_once(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for host, begin, _ in self.times:
            same = [t for t in self.times if t[0] == host and t[1] <= begin < t[2]]
            found[host] = max(found.get(host, 0), len(same))
        return found


class _Handler(socketserver.StreamRequestHandler):
    zoo: Zoo

    def handle(self) -> None:
        with self.zoo.lock:
            self.zoo.connections += 1
        try:
            while self._answer():
                pass
        except OSError:  # the client has had enough
            pass

    def _answer(self) -> bool:
        if self.rfile.peek(1)[:1] == b"\x16":  # type: ignore[attr-defined]  # TLS
            self.connection.sendall(b"HTTP/1.1 400 This is no TLS\r\n\r\n")
            return False
        line = self.rfile.readline(65536).decode("latin-1").split(" ")
        if len(line) < 3:
            return False
        headers: dict[str, str] = {}
        while (text := self.rfile.readline(65536).strip()) not in (b"",):
            name, _, value = text.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        host = headers.get("host", "").partition(":")[0]
        with self.zoo.lock:
            self.zoo.requests.append((host, line[1]))
            self.zoo.headers.append(headers)
        begin = time.monotonic()
        time.sleep(self.zoo.delay)
        with self.zoo.lock:
            self.zoo.times.append((host, begin, time.monotonic()))
        answer = self.zoo.pages.get((host, line[1]), reply(b"", "404 Not Found"))
        if callable(answer):
            answer(self.connection)
        else:
            self.connection.sendall(answer)
        return isinstance(answer, bytes) and b"Connection: keep-alive" in answer[:500]


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def zoo_server(tls: ssl.SSLContext | None = None) -> Iterator[Zoo]:
    zoo = Zoo()
    handler = type("Handler", (_Handler,), {"zoo": zoo})
    with _Server(("127.0.0.1", 0), handler) as server:
        zoo.port = server.server_address[1]
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield zoo
        server.shutdown()


# ── Misbehaviour ──────────────────────────────────────────────────────────────────


def without_end(begin: bytes, piece: bytes, pause: float = 0) -> Writer:
    def answer(connection: socket.socket) -> None:
        connection.sendall(begin)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            connection.sendall(piece)
            time.sleep(pause)

    return answer


OK = b"HTTP/1.1 200 OK\r\n"
# A byte now and then, so that no single wait is too long.
drip = without_end(OK + b"Content-Type: text/html\r\nContent-Length: 100000\r\n\r\n", b"x", 0.05)


def silent(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    time.sleep(8)


def mute(connection: socket.socket) -> None:
    time.sleep(8)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def reset_in_body(connection: socket.socket) -> None:
    connection.sendall(reply(Content_Length="99999"))
    time.sleep(0.05)
    reset(connection)


def closed_at_once(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def after_failures(n: int, failure: bytes, then: bytes = b"") -> Writer:
    """An answer that is given only after so many failures."""
    left = [n]

    def answer(connection: socket.socket) -> None:
        left[0] -= 1
        connection.sendall(failure if left[0] >= 0 else then or reply())
        connection.shutdown(socket.SHUT_RDWR)

    return answer


def bomb(n_megabytes: int, pack: str = "gzip") -> bytes:
    data = b"\0" * 1_000_000
    packer = zlib.compressobj(9, wbits=31 if pack == "gzip" else 15)
    parts = [packer.compress(data) for _ in range(n_megabytes)]
    return b"".join([*parts, packer.flush()])


def gzipped(body: bytes = GOOD) -> bytes:
    return gzip.compress(body, mtime=0)


def chunked(body: bytes = GOOD, end: bytes = b"0\r\n\r\n", **headers: str) -> bytes:
    pieces = [body[at : at + 700] for at in range(0, len(body), 700)]
    sent = b"".join(f"{len(p):x};ext=1\r\n".encode() + p + b"\r\n" for p in pieces) + end
    return reply(b"", Transfer_Encoding="chunked", Content_Length="", **headers) + sent


# ── The pages and the expected outcomes ──────────────────────────────

R = Reason


def moved(location: str, status: str = "302 Found") -> bytes:
    return reply(b"", status, Location=location)


def status(code: int, name: str = "", body: bytes = b"<p>no</p>", **headers: str) -> bytes:
    return reply(body, f"{code} {name or 'Reason'}", **headers)


def leading(name: str, to: str, reason: Reason | None, then: bytes = reply()) -> Page:
    """A redirect to another path of its host, and what stands there."""
    return Page(name, moved(to), reason, elsewhere=((to, then),))


DENY = reply(b"User-agent: *\nDisallow: /", Content_Type="text/plain")
DENY_CLOSED = reply(b"User-agent: *\nDisallow: /closed/")
DENY_US = reply(b"User-agent: Pincite\nDisallow: /2019/\n\nUser-agent: *\nAllow: /")
ALLOW = reply(b"User-agent: *\nDisallow: /\nAllow: /2019/\nCrawl-delay: 0.01\n")
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"10000\r\n" + b"y" * 0x10000 + b"\r\n"

CHAIN = tuple((f"/{n}", moved(f"/{n + 1}")) for n in range(1, 9))
PAGES = [
    # What can be read.
    Page("plain", reply(), None),
    Page("gzip", reply(gzipped(), Content_Encoding="gzip"), None),
    Page("chunked", chunked(), None),
    Page("http10", reply(Content_Length="").replace(b"HTTP/1.1", b"HTTP/1.0"), None),
    Page("continue-first", b"HTTP/1.1 100 Continue\r\n\r\n" + reply(), None),
    Page("no-type", reply(Content_Type=""), None),
    Page("short-length", reply(GOOD, Content_Length=str(len(GOOD) - 20)), None),
    leading("moved-once", "/b", None),
    Page("moved-for-good", moved("/b", "308 Moved"), None, elsewhere=(("/b", reply()),)),
    Page("chain-of-5", moved("/1"), None, elsewhere=(*CHAIN[:4], ("/5", reply()))),
    Page("utf8", moved("/\xc3\xb6 x"), None, elsewhere=(("/%C3%B6%20x", reply()),)),
    Page("busy-once", after_failures(1, status(503, Retry_After="0")), None),
    Page("reset-once", after_failures(1, b""), None),
    Page("robots-allow", reply(), None, robots=ALLOW),
    Page("robots-rubbish", reply(), None, robots=reply(b"\xff\xfe\0\0:::\nDisallow\n" * 50)),
    Page("robots-403", reply(), None, robots=status(403)),
    Page("robots-loop", reply(), None, robots=moved("/robots.txt")),
    # Gone.
    Page("404", status(404), R.DEAD),
    Page("404-endless", b"HTTP/1.1 404 No\r\n\r\n" + b"x" * 300_000, R.DEAD),
    Page("404-bad-gzip", status(404, body=b"rubbish", Content_Encoding="gzip"), R.DEAD),
    Page("soft-404-text", reply(page("<h1>404</h1><p>Nothing here.</p>", "Example")), R.SOFT_404),
    Page(
        "search-results",
        reply(page("<h1>Search results</h1><p>38 items found</p>", "Search results")),
        R.LISTING,
    ),
    leading("front-page", "/", R.FRONT_PAGE),
    Page("nohost", reply(), R.NO_HOST),
    # Not for us.
    Page("402", status(402), R.PAYWALL),
    Page("429", status(429), R.REFUSED),
    Page("429-for-long", status(429, Retry_After="86400"), R.REFUSED),
    Page("503-rubbish", status(503, Retry_After="soon"), R.REFUSED),
    leading("consent-moved", "/consent?back=1", R.CONSENT),
    leading("login-moved", "/login?next=x", R.LOGIN),
    Page("robots-deny", reply(), R.ROBOTS, robots=DENY),
    Page("robots-deny-us", reply(), R.ROBOTS, robots=DENY_US),
    Page("robots-503", reply(), R.ROBOTS, robots=status(503)),
    Page("robots-after-moving", moved("/closed/b"), R.ROBOTS, robots=DENY_CLOSED),
    # Nothing to read.
    Page("204", status(204, body=b""), R.EMPTY),
    Page("205", status(205, body=b""), R.EMPTY),
    Page("empty", reply(b""), R.EMPTY),
    Page("not-gzip", reply(GOOD, Content_Encoding="gzip"), R.UNDECODABLE),
    Page("brotli-unrequested", reply(b"\x8b\x07\x80abc", Content_Encoding="br"), R.UNDECODABLE),
    # Cut short, or without end.
    Page("206", status(206, body=GOOD), R.TRUNCATED),
    Page("cut", reply(GOOD, Content_Length=str(len(GOOD) + 500)), R.TRUNCATED),
    Page("cut-chunks", chunked(end=b""), R.TRUNCATED),
    Page("cut-gzip", reply(gzipped()[:-40], Content_Encoding="gzip"), R.TRUNCATED),
    Page("reset-in-body", reset_in_body, R.TRUNCATED),
    Page("gzip-bomb", reply(bomb(40), Content_Encoding="gzip"), R.TOO_LARGE),
    Page(
        "gzip-file-bomb",
        reply(gzip.compress(bomb(40)), Content_Type="application/gzip"),
        R.UNSUPPORTED_TYPE,
    ),
    Page("long", reply(b"", Content_Length="99999999999"), R.TOO_LARGE),
    Page("endless", without_end(OK + b"\r\n", b"<p>more</p>" * 5000), R.TOO_LARGE),
    Page("endless-chunks", without_end(CHUNKED, CHUNK), R.TOO_LARGE),
    Page("endless-headers", without_end(OK, b"X-Pad: " + b"z" * 1000 + b"\r\n"), R.TOO_LARGE),
    Page("huge-header", reply(X_Pad="z" * 200_000), R.TOO_LARGE),
    Page("endless-continue", without_end(b"", b"HTTP/1.1 100 C\r\n\r\n" * 400), R.TIMED_OUT),
    Page("drip", drip, R.TIMED_OUT),
    Page("drip-headers", without_end(OK, b"X-A: b\r\n", 0.05), R.TIMED_OUT),
    Page("silent", silent, R.TIMED_OUT),
    Page("mute", mute, R.TIMED_OUT),
    # Leading nowhere.
    leading("loop", "/b", R.REDIRECTS, moved("/2019/05/a-bridge.html")),
    Page("self-loop", moved("/2019/05/a-bridge.html"), R.REDIRECTS),
    Page("chain-of-6", moved("/1"), R.REDIRECTS, elsewhere=CHAIN),
    Page("to-metadata", moved("http://169.254.169.254/latest/meta-data/"), R.UNSAFE_ADDRESS),
    Page("to-inner-name", moved("http://inner.test:{port}/"), R.NOT_ALLOWED),
    Page("to-file", moved("file:///etc/passwd"), R.UNSAFE_ADDRESS),
    Page("to-rubbish", moved("http://[::1/"), R.UNSAFE_ADDRESS),
    Page("inner", reply(), R.NOT_ALLOWED),
    Page("304", status(304, body=b""), R.UNREACHABLE),
    Page("302-nowhere", status(302), R.UNREACHABLE),
    Page("reset", reset, R.UNREACHABLE),
    Page("closed", closed_at_once, R.UNREACHABLE),
    Page("not-http", b"SSH-2.0-OpenSSH_9.6\r\n", R.UNREACHABLE),
    Page("bad-status", b"HTTP/1.1 abc OK\r\n\r\n", R.UNREACHABLE),
    Page("tls-on-http", reply(), R.UNREACHABLE, scheme="https"),
]
