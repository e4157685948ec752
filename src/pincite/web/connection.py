"""One HTTP request over a connection to a checked address; import it lazily.

Connects only to the given addresses, whatever the name resolves to by now; the Host header and the
certificate check use the name. httpcore2 accepts a custom network backend, which pins the address
and bounds every wait. Only gzip and deflate are accepted, which Python decompresses in bounded
steps: a few kilobytes can expand to gigabytes.
"""

import contextlib
import functools
import socket
import ssl
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from pincite.errors import ConfigError, FetchError, FetchStopped, UntrustedHost, usable
from pincite.types import Reason
from pincite.web.addresses import Response, Target, WebRules, proxy_of

ACCEPTED = "gzip, deflate"
_GZIP = b"\x1f\x8b"
MAX_MEMBERS = 100  # of a gzip body; the data after each is copied
_BROKEN = httpcore2.NetworkError, httpcore2.RemoteProtocolError
_FAILURES = httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError
ADDRESSES = 4  # tried per host, in order


class Connection:
    """A persistent connection to one host; not thread-safe."""

    def __init__(
        self, rules: WebRules, stopped: threading.Event, trust: ssl.SSLContext | None = None
    ) -> None:
        self._rules, self._trust = rules, trust
        self._network = _Network(rules, stopped)
        self._pool: httpcore2.ConnectionPool | None = None
        self._proxy: str | None = None  # the proxy used by the pool

    def request(
        self,
        target: Target,
        addresses: Sequence[str],
        headers: dict[str, str],
        form: bytes | None = None,
    ) -> Response:
        """Send a request, POST if there is a form, and read the whole reply; raises FetchError."""
        self._network.begin(addresses)
        with _typed_errors(target, self._rules, self._network):
            try:
                return self._request(self._open_pool(target), target, headers, form)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        if self._pool:
            self._pool.close()
        self._pool = None
        self._network.sockets.clear()

    def abort(self) -> None:
        """Abort a request in another thread."""
        for open_socket in list(self._network.sockets):
            with contextlib.suppress(OSError):  # closed already
                open_socket.shutdown(socket.SHUT_RDWR)

    def _open_pool(self, target: Target) -> httpcore2.ConnectionPool:
        proxy = proxy_of(target, self._rules)
        if self._pool and proxy == self._proxy:
            return self._pool
        self.close()
        self._proxy = proxy
        options: dict[str, Any] = {
            "ssl_context": self._trust or _certificates(self._rules.ca_file),
            "max_connections": 1,
            "network_backend": self._network,
        }
        self._network.proxy = (urlsplit(proxy).hostname or "") if proxy else ""
        self._pool = (
            httpcore2.HTTPProxy(proxy, **options) if proxy else httpcore2.ConnectionPool(**options)
        )
        return self._pool

    def _request(
        self,
        pool: httpcore2.ConnectionPool,
        target: Target,
        headers: dict[str, str],
        form: bytes | None,
    ) -> Response:
        url = httpcore2.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.path.encode("ascii"),
        )
        idle = self._rules.idle_seconds
        times = {"connect": self._rules.connect_seconds, "read": idle, "write": idle}
        headers = {**headers, "accept-encoding": ACCEPTED}
        if form is not None:
            headers["content-length"] = str(len(form))
        sent = [(name.encode(), v.encode("latin-1", "replace")) for name, v in headers.items()]
        more: dict[str, Any] = {"content": form, "extensions": {"timeout": times}}
        method = "GET" if form is None else "POST"
        response = pool.handle_request(httpcore2.Request(method, url, headers=sent, **more))
        received: dict[str, str] = {}
        try:
            for raw_name, raw_value in response.headers:
                name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
                before = f"{received[name]}, " if name in received else ""
                received[name] = before + value.strip()
            body = b""
            if response.status < 300:
                body = self._body(target, response, received)
            else:  # a short body that was read to its end lets the connection be reused
                with contextlib.suppress(*_BROKEN):
                    deque(islice(response.iter_stream(), 4), maxlen=0)
        finally:
            response.close()
        return Response(response.status, target.url, received, body)

    def _body(self, target: Target, response: httpcore2.Response, headers: dict[str, str]) -> bytes:
        url, limit, body = target.url, self._rules.body_bytes, bytearray()
        allowed = f"the limit is {limit / 1e6:g} MB"
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > limit:
            what = f"{url} has {int(length) / 1e6:.1f} MB; {allowed}."
            raise FetchError(what, url, Reason.TOO_LARGE, response.status)
        try:
            for piece in response.iter_stream():
                body += piece
                if len(body) > limit:
                    raise FetchError(f"{url} is too long; {allowed}.", url, Reason.TOO_LARGE)
        except _BROKEN as error:
            if self._network.left <= 0:  # raises if the run was stopped, which shuts connections
                raise
            what = f"{url} broke off ({_printable(error)})."
            raise FetchError(what, url, Reason.TRUNCATED) from error
        return decompress_body(bytes(body), headers.get("content-encoding", ""), url, limit)


def decompress_body(data: bytes, encoding: str, url: str, limit: int) -> bytes:
    """Decompress a body; stops at the first byte over the limit. Raises FetchError."""
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name and name != "identity"]
    if len(names) > 1 or any(name not in ("gzip", "x-gzip", "deflate") for name in names):
        what = f"{url} is compressed with {encoding!r}, which was not requested."
        raise FetchError(what, url, Reason.UNDECODABLE)
    if not names or not data:
        return data
    wbits = 31
    if names == ["deflate"]:  # some omit the zlib header, as the first byte shows
        wbits = 15 if data[0] & 0x0F == 8 else -15
    body = bytearray()
    for _ in range(MAX_MEMBERS):
        unpacker = zlib.decompressobj(wbits=wbits)
        try:
            body += unpacker.decompress(data, limit + 1 - len(body))
        except zlib.error as error:
            what = f"{url} cannot be decompressed as {names[0]}: {error}."
            raise FetchError(what, url, Reason.UNDECODABLE) from error
        if len(body) > limit:
            what = f"{url} decompresses to over {limit / 1e6:g} MB, the limit."
            raise FetchError(what, url, Reason.TOO_LARGE)
        if not unpacker.eof:
            what = f"{url} broke off: its compressed data is truncated."
            raise FetchError(what, url, Reason.TRUNCATED)
        data = unpacker.unused_data
        if not data.startswith(_GZIP):  # ignores trailing bytes
            return bytes(body)
    raise FetchError(f"{url} has more than {MAX_MEMBERS} gzip members.", url, Reason.UNDECODABLE)


@contextlib.contextmanager
def _typed_errors(target: Target, rules: WebRules, network: "_Network") -> Iterator[None]:
    """Convert the library's errors."""
    url = target.url
    try:
        yield
    except httpcore2.ConnectTimeout as error:
        seconds = min(rules.connect_seconds, rules.seconds)
        what = f"{target.host} accepted no connection within {seconds:g} s."
        raise FetchError(what, url, Reason.TIMED_OUT, of_host=True) from error
    except httpcore2.TimeoutException as error:
        late, idle = f"took more than {rules.seconds:g}", f"sent nothing for {rules.idle_seconds:g}"
        why = f"{url} {late if network.left <= 0 else idle} s."
        raise FetchError(why, url, Reason.TIMED_OUT) from error
    except httpcore2.ConnectError as error:
        if isinstance(error.__context__, ssl.SSLCertVerificationError):
            what = f"{target.host}: {error.__context__.verify_message}."
            raise UntrustedHost(what, url, of_host=True) from error
        what = f"{target.host} did not accept a connection ({_printable(error)})."
        raise FetchError(what, url, of_host=True) from error
    except (*_FAILURES, ValueError) as error:
        _ = network.left  # raises if the run was stopped
        if getattr(error.__context__, "error_status_hint", None) == 431:
            raise FetchError(f"{url} sent endless headers.", url, Reason.TOO_LARGE) from error
        raise FetchError(f"{url} sent no HTTP reply ({_printable(error)}).", url) from error


def _printable(error: BaseException) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    return line[:200] or type(error).__name__


@functools.cache
def _certificates(ca_file: str) -> ssl.SSLContext:
    context = httpcore2.default_ssl_context()
    if ca_file:
        place = Path(ca_file).expanduser()
        with usable(place, "read as certificates (web.ca_file)", ConfigError):
            context.load_verify_locations(place)
    return context


class _Network(httpcore2.NetworkBackend):
    """Connects every name to the given addresses, and bounds a request's time."""

    def __init__(self, rules: WebRules, stopped: threading.Event) -> None:
        self.sockets: set[socket.socket] = set()
        self.proxy = ""
        self._rules, self._stopped = rules, stopped
        self._below = httpcore2.SyncBackend()
        self._addresses: Sequence[str] = ()
        self._end = 0.0

    def begin(self, addresses: Sequence[str]) -> None:
        """Start a request; `addresses` is empty behind a proxy."""
        self._addresses = addresses[:ADDRESSES]
        self._end = time.monotonic() + self._rules.seconds

    @property
    def left(self) -> float:
        """Seconds left; 0 or less when time is up. Raises FetchStopped if the run was stopped."""
        if self._stopped.is_set():
            raise FetchStopped("The run was stopped.")
        return self._end - time.monotonic()

    def bounded(self, timeout: float | None) -> float:
        left = self.left
        if left <= 0:
            raise httpcore2.ReadTimeout("time is over")
        return min(left, timeout) if timeout else left

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        for address in [self.proxy] if self.proxy else self._addresses:
            try:
                left = self.bounded(self._rules.connect_seconds)
                return _Stream(self._below.connect_tcp(address, port, left), self)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, network: _Network) -> None:
        self._stream, self._network = stream, network
        network.sockets.add(stream.get_extra_info("socket"))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._network.bounded(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._network.bounded(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = self._network.bounded(timeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._network)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
