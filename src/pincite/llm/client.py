"""Requests to a model's server: connections under limits of time and size, retries, many at once.

This file alone sends text to a server. It takes no proxy from the environment and follows no
redirect, so that what is sent goes where it was told; the key stands in one header and in no
message. What goes wrong on the way is one of our errors.

The web's wire (`web.wire`) is another: it pins addresses and counts bytes in a network of its own
below httpcore2, for which httpx2 has no option; this one needs httpx2's event reader.
"""

import contextlib
import functools
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pincite.errors import (
    BadReply,
    ConfigError,
    ServerBusy,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.text.retry_after import seconds_to_wait

if TYPE_CHECKING:
    import ssl

    import httpx2


T = TypeVar("T")
Task: TypeAlias = Callable[[], T]

_LOOK = 0.5  # seconds between polls, so that Ctrl-C is handled


class Stoppable(Protocol):
    """What the tasks wait for."""

    def stop(self) -> None:
        """End all waiting now."""


def all_at_once(
    tasks: Sequence[Task[T]],
    at_once: int,
    waited_for: Stoppable,
    tell: Callable[[int, int], None] | None = None,
) -> list[T | None]:
    """What each task gives, in order; None of those that Ctrl-C kept from beginning.

    Ctrl-C stops what is waited for, so that tasks under way end by themselves and are kept.
    """
    if not tasks:
        return []
    with ThreadPoolExecutor(max(1, min(at_once, len(tasks))), "pincite-ask") as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            _follow(futures, tell)
        except KeyboardInterrupt:
            for future in futures:
                future.cancel()
            waited_for.stop()
    return [None if future.cancelled() else future.result() for future in futures]


def in_calls(
    tell: Callable[[int, int], None] | None, n_calls: int
) -> Callable[[int, int], None] | None:
    """Tells of calls where it is told of tasks, each of so many calls."""
    if tell is None:
        return None
    return lambda done, total: tell(done * n_calls, total * n_calls)


def _follow(futures: Sequence[Future[T]], tell: Callable[[int, int], None] | None) -> None:
    pending = set(futures)
    if tell:
        tell(0, len(futures))
    while pending:
        _, pending = wait(pending, _LOOK, FIRST_COMPLETED)
        if tell:
            tell(len(futures) - len(pending), len(futures))


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
            Retry: no server was reached, or the connection broke; also while the body is read.
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
    """What a server's certificate is checked against: reading it again takes 40 ms a request."""
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


A = TypeVar("A")
_BUSY = (408, 425, 429)


class Client:
    """One server. Safe to use from several threads."""

    _path: str = "/chat/completions"  # what is asked, below the address
    _setting: ClassVar[str] = "chat.url"  # what names the address and the key, for messages
    _variable: ClassVar[str] = "PINCITE_CHAT_KEY"
    _check: ClassVar[str] = "Check chat.url (it usually ends in /v1) and chat.model."

    def __init__(self, url: str, key: str, limits: Limits | None) -> None:
        """`url`: checked; `key`: as the server gave it, or "" where it wants none."""
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(f"{self._variable} holds characters that no key has. Set it again.")
        self.url = url
        self._key = key
        self._limits = limits or Limits()
        self._wire = Wire(url, key, self._limits, self._path, self._setting)
        self._calls: set[Call] = set()
        self._stopped = False

    def stop(self) -> None:
        """End all waiting now, from another thread; requests under way and later ones fail."""
        self._stopped = True
        for call in list(self._calls):
            call.stop()

    def _each(self, act: Callable[[A, Call], T], items: Sequence[A]) -> list[T]:
        """What `act` gives for each, some at once; once it raises, the others are stopped."""
        call = Call()
        self._calls.add(call)
        try:
            if len(items) < 2:  # Ctrl-C reaches the main thread at once
                return [act(item, call) for item in items]
            pool = ThreadPoolExecutor(min(self._limits.at_once, len(items)), "pincite-server")
            try:
                return list(pool.map(lambda item: act(item, call), items))
            finally:
                call.stop()  # after a whole batch nothing is left to be stopped
                pool.shutdown(wait=True, cancel_futures=True)
        finally:
            self._calls.discard(call)

    def _persistently(self, attempt: Callable[[], T], call: Call) -> T:
        """What an attempt gives; waits and tries again where that may help.

        Raises:
            ServerError: as its kinds say.
        """
        number = 1
        while True:
            self._check_wanted(call)
            try:
                return attempt()
            except Retry as retry:
                self._wait(retry, number, call)
            number += 1

    def _check_wanted(self, call: Call) -> None:
        if call.refused:
            raise call.refused
        if self._stopped:
            raise ServerUnreachable(f"{self.url} was not asked: the run was stopped.")

    def _wait(self, retry: Retry, attempt: int, call: Call) -> None:
        """Until the next attempt.

        Raises:
            ServerError: there is none.
        """
        pause = self._limits.first_wait * 2 ** (attempt - 1) if retry.after is None else retry.after
        if attempt == self._limits.attempts or pause > self._limits.longest_wait:
            raise retry.error from None
        if call.stopped.wait(pause):
            raise ServerUnreachable(f"{self.url} was not waited for: the call was stopped.")

    def _failure(self, status: int, headers: dict[str, str], body: bytes) -> Retry | ServerRefused:
        """What a reply with this status means."""
        said = self._said(status, body)
        if (status in _BUSY and not _is_about_money(body)) or status >= 500:
            advice = "Ask for less at once, or later."
            after = seconds_to_wait(headers.get("retry-after", ""))
            return Retry(ServerBusy(f"{said} {advice}", status), after)
        advice = self._advice(402 if _is_about_money(body) else status)
        if 300 <= status < 400:
            advice = f"Redirects are not followed: set {self._setting} to where the server is."
        return ServerRefused(f"{said} {advice}", status)

    def _advice(self, status: int) -> str:
        return {
            401: f"Set the server's key in the variable {self._variable}.",
            402: "The account has no credit left: pay, or use another server.",
            403: f"The key in {self._variable} may not use this model.",
            404: self._check,
        }.get(status, "See the server's log.")

    def _said(self, status: int, body: bytes) -> str:
        message = error_of(body).get("message") or body.decode("utf-8", "replace")
        told = self._wire.told(str(message))
        return f"{self.url} answered {status}{f' ({told})' if told else ''}."


def checked_url(url: str, setting: str, variable: str) -> str:
    """The address without its last slash; `setting` and `variable` name it and its key's place.

    Raises:
        ConfigError: it is no http address, or holds a name and password, a query or a fragment.

    >>> checked_url("http://localhost:8080/v1/", "chat.url", "PINCITE_CHAT_KEY")
    'http://localhost:8080/v1'
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ConfigError(f"{setting} is {url!r}; expected an address as http://localhost:8080/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            f"{setting} holds a name, a password or a query, which reports would show. Give the "
            f"bare address, and the key in the variable {variable}."
        )
    return url.rstrip("/")


def error_of(body: bytes) -> dict[str, Any]:
    """The `error` object of a refusal; servers that have none, or a text, give what there is."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(given, dict):
        return {}
    error = given.get("error", given)
    return error if isinstance(error, dict) else {"message": error}


def _is_about_money(body: bytes) -> bool:
    """OpenAI answers 429 too where an account is empty; waiting does not fill it."""
    error = error_of(body)
    return "insufficient_quota" in (error.get("code"), error.get("type"))
