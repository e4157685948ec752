"""A server on this machine that answers as badly as the web does, byte by byte as a test wants."""

import gzip
import socket
import socketserver
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from pincite.types import Reason

Writer = Callable[["Asked"], None]
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


class Asked(NamedTuple):
    """One request, and where its answer goes."""

    host: str
    path: str
    headers: dict[str, str]
    connection: socket.socket
    zoo: "Zoo"

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)


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
    """The server: pages by host and path; what it was asked, and how many at once by host."""

    port: int = 0
    pages: dict[tuple[str, str], bytes | Writer] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
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

    def resolve(self, host: str, _port: int) -> list[str]:
        if host.startswith("nohost"):
            raise OSError("no such name")
        return ["10.0.0.7"] if host.startswith("inner") else ["127.0.0.1"]

    def most_hosts_at_once(self) -> int:
        return max(
            len({host for host, begin, end in self.times if begin <= moment < end})
            for _, moment, _ in self.times
        )

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
            self.zoo.asked.append((host, line[1]))
            self.zoo.headers.append(headers)
        begin = time.monotonic()
        time.sleep(self.zoo.delay)
        with self.zoo.lock:
            self.zoo.times.append((host, begin, time.monotonic()))
        answer = self.zoo.pages.get((host, line[1]), reply(b"", "404 Not Found"))
        if callable(answer):
            answer(Asked(host, line[1], headers, self.connection, self.zoo))
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
def zoo_server() -> Iterator[Zoo]:
    zoo = Zoo()
    handler = type("Handler", (_Handler,), {"zoo": zoo})
    with _Server(("127.0.0.1", 0), handler) as server:
        zoo.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield zoo
        server.shutdown()


# ── Bad manners, piece by piece ──────────────────────────────────────────────────────────────────


def drip(asked: Asked) -> None:
    """A byte now and then, so that no single wait is too long."""
    asked.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
    _every(asked, b"x", 0.05)


def drip_headers(asked: Asked) -> None:
    asked.send(b"HTTP/1.1 200 OK\r\n")
    _every(asked, b"X-A: b\r\n", 0.05)


def endless(asked: Asked) -> None:
    asked.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    _every(asked, b"<p>more</p>" * 5000, 0)


def endless_chunks(asked: Asked) -> None:
    asked.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    _every(asked, b"10000\r\n" + b"y" * 0x10000 + b"\r\n", 0)


def endless_headers(asked: Asked) -> None:
    asked.send(b"HTTP/1.1 200 OK\r\n")
    _every(asked, b"X-Pad: " + b"z" * 1000 + b"\r\n", 0)


def endless_continue(asked: Asked) -> None:
    _every(asked, b"HTTP/1.1 100 Continue\r\n\r\n" * 400, 0)


def silent(asked: Asked) -> None:
    asked.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    time.sleep(8)


def mute(asked: Asked) -> None:
    time.sleep(8)


def reset(asked: Asked) -> None:
    asked.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    asked.connection.close()


def reset_in_body(asked: Asked) -> None:
    asked.send(reply(Content_Length="99999"))
    time.sleep(0.05)
    reset(asked)


def closed_at_once(asked: Asked) -> None:
    asked.connection.shutdown(socket.SHUT_RDWR)


def _every(asked: Asked, piece: bytes, pause: float) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        asked.send(piece)
        time.sleep(pause)


def after_failures(n: int, failure: bytes, then: bytes = b"") -> Writer:
    """An answer that is given only after so many failures."""
    left = [n]

    def answer(asked: Asked) -> None:
        left[0] -= 1
        asked.send(failure if left[0] >= 0 else then or reply())
        asked.connection.shutdown(socket.SHUT_RDWR)

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
