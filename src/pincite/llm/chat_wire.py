"""The wire to a model's server: one request over one connection, under limits of time and size.

This file alone sends text to a server. It takes no proxy from the environment and follows no
redirect, so that what is sent goes where it was told; the key stands in one header and in no
message. What goes wrong on the way is one of our errors.

The web's wire (`web.wire`) is another: it pins addresses and counts bytes in a network
of its own below httpcore2, for which httpx2 has no option; this one needs httpx2's event reader.
"""

import contextlib
import functools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pincite.errors import (
    BadReply,
    ConfigError,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)

if TYPE_CHECKING:
    import ssl

    import httpx2

EVENTS = "text/event-stream"
SHOWN = 200  # characters of what a server said


@dataclass(frozen=True, slots=True)
class Limits:
    """What a call may cost. Seconds are of one attempt."""

    seconds: float = 120.0  # for the whole reply: a model on a CPU writes some words a second
    connect_seconds: float = 10.0
    reply_bytes: int = 4_000_000
    attempts: int = 4  # in all, where the server is busy or cannot be reached
    first_wait: float = 1.0  # seconds before the second attempt, doubled each time
    longest_wait: float = 60.0  # a server that asks for more counts as busy for good
    at_once: int = 4  # requests under way
    environment_proxies: bool = False


@dataclass(slots=True, eq=False)
class Call:
    """Requests under way and whether they are still wanted."""

    stopped: threading.Event = field(default_factory=threading.Event)
    refused: ServerRefused | None = None  # the other prompts of the call are then not sent
    sockets: set[socket.socket] = field(default_factory=set)

    def stop(self) -> None:
        """End all waiting now, in whichever thread."""
        self.stopped.set()
        for each in list(self.sockets):
            _shut(each)


class Retry(Exception):
    """`error` is raised unless another attempt, after so many seconds, does better."""

    def __init__(self, error: ServerError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.after = error, after


class Wire:
    """Connections to one server."""

    def __init__(self, url: str, key: str, limits: Limits, path: str, setting: str) -> None:
        """`path`: what is asked below the address; `setting`: names the address, for messages."""
        self._url, self._key, self._limits = url, key, limits
        self._path, self._setting = path, setting

    @contextmanager
    def opened(self, request: dict[str, Any], call: Call) -> Iterator["httpx2.Response"]:
        """A reply whose body is still to be read; all of it has `Limits.seconds`.

        Raises:
            Retry: nobody was reached, or the connection broke; also while the body is read.
            ServerUnreachable: the time is over.
        """
        import httpx2

        limits = self._limits
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if request.get("stream"):
            headers["Accept"] = f"{EVENTS}, application/json"
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        timeout = httpx2.Timeout(limits.seconds, connect=limits.connect_seconds)
        begun = False
        with _deadline(limits.seconds, call) as (overdue, note):
            try:
                with (
                    httpx2.Client(
                        verify=_certificates(limits.environment_proxies),
                        timeout=timeout,
                        trust_env=limits.environment_proxies,
                        follow_redirects=False,
                    ) as client,
                    client.stream(
                        "POST",
                        f"{self._url}{self._path}",
                        json=request,
                        headers=headers,
                        extensions={"trace": note},
                    ) as response,
                ):
                    begun = True
                    yield response
                    if overdue.is_set():  # the end of a body of unknown length
                        raise self._late(connecting=False)
            except httpx2.InvalidURL as error:
                raise ConfigError(f"{self._setting} is {self._url!r}: {error}") from error
            except httpx2.TimeoutException as error:
                raise self._late(isinstance(error, httpx2.ConnectTimeout)) from error
            except httpx2.HTTPError as error:
                if overdue.is_set():
                    raise self._late(connecting=False) from error
                said = self.told(str(error)) or type(error).__name__
                what = f"cannot be reached ({said}). Is the server running there?"
                if begun:
                    what = f"broke off in the middle of its reply ({said})."
                raise Retry(ServerUnreachable(f"{self._url} {what}")) from error

    def _late(self, connecting: bool) -> Exception:
        """An attempt to connect is made again; a reply that took too long would do so again."""
        if connecting:
            waited = self._limits.connect_seconds
            return Retry(
                ServerUnreachable(
                    f"{self._url} did not take a connection within {waited:g} s. Is it up?"
                )
            )
        return ServerUnreachable(
            f"{self._url} gave no whole reply within {self._limits.seconds:g} s. Ask for less at "
            "once, or use a smaller model or a faster server."
        )

    def body(self, response: "httpx2.Response") -> bytes:
        """The whole body.

        Raises:
            BadReply: it is larger than `Limits.reply_bytes`.
        """
        parts, size = [], 0
        for part in response.iter_raw():
            size += len(part)
            if size > self._limits.reply_bytes:
                raise self._too_large(response)
            parts.append(part)
        return b"".join(parts)

    def events(self, response: "httpx2.Response") -> Iterator[str]:
        """The data of each server-sent event, as it comes.

        Raises:
            BadReply: it is too large, or packed: what unpacks may be of any size.
        """
        import httpx2

        if response.headers.get("content-encoding", "identity") != "identity":
            raise BadReply(f"{self._url} packed its reply, which was not asked for.", 200)
        size, limit = 0, self._limits.reply_bytes
        try:
            for event in httpx2.EventSource(response, max_event_size=limit):
                size += len(event.data)
                if size > limit:
                    raise self._too_large(response)
                if event.data:
                    yield event.data
        except httpx2.SSEError as error:  # of an event that is too large; the type was looked at
            raise self._too_large(response) from error

    def _too_large(self, response: "httpx2.Response") -> BadReply:
        return BadReply(
            f"{self._url} replied with more than {self._limits.reply_bytes:,} bytes. Is it the "
            "right server?",
            response.status_code,
        )

    def told(self, text: str) -> str:
        """What a server said, for a person: one line, short, printable, without the key."""
        if self._key:
            text = text.replace(self._key, "[key]")
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= SHOWN else line[:SHOWN] + "…"


@functools.cache
def _certificates(from_environment: bool) -> "ssl.SSLContext":
    """What a server's certificate is checked against: reading it anew takes 40 ms a request."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=from_environment)


@contextmanager
def _deadline(
    seconds: float, call: Call
) -> Iterator[tuple[threading.Event, Callable[[str, dict[str, Any]], None]]]:
    """Shuts the request's socket down once time is over; gives what says so, and a trace for httpx.

    httpx's timeouts are of single reads: a server that sends a byte a second would never end.
    """
    overdue, opened = threading.Event(), list[socket.socket]()

    def note(event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            opened.append(info["return_value"].get_extra_info("socket"))
            call.sockets.add(opened[-1])
            if overdue.is_set() or call.stopped.is_set():
                _shut(opened[-1])

    def end() -> None:
        overdue.set()
        for each in opened:
            _shut(each)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield overdue, note
    finally:
        timer.cancel()
        call.sockets.difference_update(opened)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed already
        connection.shutdown(socket.SHUT_RDWR)
