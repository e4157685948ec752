"""Clients of model servers: what they have in common, and the one for embeddings.

`Client` limits time and size, and retries. It follows no redirects and ignores proxies in the
environment, so text goes only to the configured address. httpx's timeouts apply to single reads, so
sockets are shut down when a request times out or its call is stopped.

Embeddings come from OpenAI's `/v1/embeddings`, which most servers support, or TEI's `/embed`.
"""

import functools
import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

import numpy as np

from pincite.errors import BadReply, ConfigError, ServerBusy, ServerRefused, ServerUnreachable
from pincite.protocols import Floats
from pincite.text.hosts import seconds_to_wait

if TYPE_CHECKING:
    import ssl

    import httpx2

T = TypeVar("T")
A = TypeVar("A")
EVENTS = "text/event-stream"
SHOWN = 200  # characters of a server's message
_BUSY = (408, 425, 429)
POLL = 0.5  # seconds between polls, so that Ctrl-C is handled
KEY_VARIABLE = "PINCITE_CHAT_KEY"
JUDGE_KEY_VARIABLE = "PINCITE_JUDGE_KEY"  # another server may need another key
EMBEDDINGS_KEY_VARIABLE = "PINCITE_EMBEDDINGS_KEY"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a request. Seconds are per attempt."""

    seconds: float = 120.0  # for the whole reply: a model on a CPU writes a few words a second
    connect_seconds: float = 10.0
    reply_bytes: int = 4_000_000
    attempts: int = 4  # in all, if the server is busy or unreachable
    first_wait: float = 1.0  # seconds before the second attempt, doubled each time
    longest_wait: float = 60.0  # give up on a server that asks for a longer wait
    at_once: int = 4  # concurrent requests


@dataclass(slots=True, eq=False)
class Call:
    """A group of requests: whether it was stopped, and its open sockets."""

    stopped: threading.Event = field(default_factory=threading.Event)
    refused: ServerRefused | None = None  # the call's other prompts are then not sent
    sockets: set[socket.socket] = field(default_factory=set)

    def stop(self) -> None:
        """End all waiting now; callable from any thread."""
        self.stopped.set()
        for connection in list(self.sockets):
            _shut(connection)


class Retry(Exception):
    """`error` is raised unless another attempt, after `after` seconds, succeeds."""

    def __init__(self, error: ServerBusy | ServerUnreachable, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.after = error, after


class Key(NamedTuple):
    """A server's key, "" if it needs none, and the environment variable that holds it."""

    text: str = ""
    variable: str = KEY_VARIABLE

    @classmethod
    def read(cls, variable: str) -> "Key":
        return cls(os.environ.get(variable, "").strip(), variable)


class Client:
    """A client of one server; thread-safe."""

    _path: str = "/chat/completions"  # below the address
    _setting: ClassVar[str] = "chat.url"  # name of the address in messages
    _check: ClassVar[str] = "Check chat.url (it usually ends in /v1) and chat.model."

    def __init__(self, url: str, key: Key, limits: Limits) -> None:
        """`url`: already checked."""
        if not (key.text.isascii() and key.text.isprintable()):
            raise ConfigError(f"{key.variable} has characters that are not valid in a key.")
        self.url, self._limits = url, limits
        self._key, self._variable = key
        self._calls: set[Call] = set()
        self._stopped = False

    def stop(self) -> None:
        """Fail all requests in flight and all later ones; callable from any thread."""
        self._stopped = True
        for call in list(self._calls):
            call.stop()

    def _each(self, act: Callable[[A, Call], T], items: Sequence[A]) -> list[T]:
        """Apply `act` to each item, some concurrently; if one raises, the others are stopped."""
        call = Call()
        self._calls.add(call)
        try:
            if len(items) < 2:  # Ctrl-C reaches the main thread at once
                return [act(item, call) for item in items]
            pool = ThreadPoolExecutor(min(self._limits.at_once, len(items)), "pincite-server")
            try:
                futures = [pool.submit(act, item, call) for item in items]
                waiting = set(futures)
                while waiting:  # a wait without end would miss a Ctrl-C as it begins
                    done, waiting = wait(waiting, POLL, return_when=FIRST_EXCEPTION)
                    for future in done:
                        future.result()
                return [future.result() for future in futures]
            finally:
                call.stop()
                pool.shutdown(wait=True, cancel_futures=True)
        finally:
            self._calls.discard(call)

    def _persistently(self, attempt: Callable[[], T], call: Call) -> T:
        """Return the first successful attempt's result; raises ServerError after the last one."""
        number = 0
        while True:
            number += 1
            self._check_wanted(call)
            try:
                return attempt()
            except Retry as retry:
                self._wait(retry, number, call)

    def _check_wanted(self, call: Call) -> None:
        if call.refused:
            raise call.refused
        if self._stopped:
            raise ServerUnreachable(f"{self.url} was not called: the run was stopped.")

    def _wait(self, retry: Retry, attempt: int, call: Call) -> None:
        """Wait for the next attempt; raises the error if there is none."""
        pause = self._limits.first_wait * 2 ** (attempt - 1) if retry.after is None else retry.after
        if attempt == self._limits.attempts or pause > self._limits.longest_wait:
            raise retry.error from None
        if call.stopped.wait(pause):
            raise ServerUnreachable(f"Waiting for {self.url} was stopped.")

    @contextmanager
    def _response(self, request: dict[str, Any], call: Call) -> Iterator["httpx2.Response"]:
        """Yield a response whose body is still to be read; raises Retry if none is reached."""
        import httpx2

        limits, begun = self._limits, False
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if request.get("stream"):
            headers["Accept"] = f"{EVENTS}, application/json"
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        with _deadline(limits.seconds, call) as (overdue, trace):
            try:
                with (
                    httpx2.Client(
                        verify=_certificates(),
                        timeout=httpx2.Timeout(limits.seconds, connect=limits.connect_seconds),
                        trust_env=False,
                        follow_redirects=False,
                    ) as client,
                    client.stream(
                        "POST",
                        self.url + self._path,
                        json=request,
                        headers=headers,
                        extensions={"trace": trace},
                    ) as response,
                ):
                    begun = True
                    yield response
                    if overdue.is_set():  # a body of unknown length would seem complete
                        raise self._late()
            except httpx2.InvalidURL as error:
                raise ConfigError(f"{self._setting} is {self.url!r}: {error}") from error
            except httpx2.ConnectTimeout as error:
                what = f"did not accept a connection within {limits.connect_seconds:g} s. Is it up?"
                raise Retry(ServerUnreachable(f"{self.url} {what}")) from error
            except httpx2.TimeoutException as error:
                raise self._late() from error
            except httpx2.HTTPError as error:
                if overdue.is_set():
                    raise self._late() from error
                detail = self._printable(str(error)) or type(error).__name__
                what = f"cannot be reached ({detail}). Is the server running there?"
                if begun:
                    what = f"broke off in the middle of its reply ({detail})."
                raise Retry(ServerUnreachable(f"{self.url} {what}")) from error

    def _late(self) -> ServerUnreachable:
        """Not retried: a reply that took too long would do so again."""
        return ServerUnreachable(
            f"{self.url} sent no complete reply within {self._limits.seconds:g} s. Send less at "
            "once, or use a smaller model or a faster server."
        )

    def _body(self, response: "httpx2.Response") -> bytes:
        """Return the whole body; raises BadReply if it is larger than `Limits.reply_bytes`."""
        body = bytearray()
        for part in response.iter_raw():
            body += part
            if len(body) > self._limits.reply_bytes:
                raise self._too_large(response)
        return bytes(body)

    def _events(self, response: "httpx2.Response") -> Iterator[str]:
        """Yield the data of each server-sent event; raises BadReply if too large or compressed."""
        import httpx2

        if response.headers.get("content-encoding", "identity") != "identity":
            raise BadReply(f"{self.url} compressed its reply; expected it uncompressed.", 200)
        size, limit = 0, self._limits.reply_bytes
        try:
            for event in httpx2.EventSource(response, max_event_size=limit):
                size += len(event.data)
                if size > limit:
                    raise self._too_large(response)
                if event.data:
                    yield event.data
        except httpx2.SSEError as error:  # the event is too large
            raise self._too_large(response) from error

    def _too_large(self, response: "httpx2.Response") -> BadReply:
        return BadReply(
            f"{self.url} replied with more than {self._limits.reply_bytes:,} bytes. Is it the "
            "right server?",
            response.status_code,
        )

    def _printable(self, text: str) -> str:
        """Format a server's message as one short line without the key."""
        if self._key:
            text = text.replace(self._key, "[key]")
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= SHOWN else line[:SHOWN] + "…"

    def _failure(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> Retry | ServerRefused:
        """Return the error for a status other than 200."""
        error = error_of(body)
        message = self._printable(str(error.get("message") or body.decode("utf-8", "replace")))
        answer = f"{self.url} answered {status}{f' ({message})' if message else ''}."
        # OpenAI also answers 429 when an account has no credit, where waiting does not help.
        no_credit = "insufficient_quota" in (error.get("code"), error.get("type"))
        if (status in _BUSY and not no_credit) or status >= 500:
            busy = ServerBusy(f"{answer} Send less at once, or try again later.", status)
            return Retry(busy, seconds_to_wait(headers.get("retry-after", "")))
        advice = {
            401: f"Set the server's key in the variable {self._variable}.",
            402: "The account has no credit left: add some, or use another server.",
            403: f"The key in {self._variable} may not use this model.",
            404: self._check,
        }.get(402 if no_credit else status, "See the server's log.")
        if 300 <= status < 400:
            advice = f"Redirects are not followed: set {self._setting} to where the server is."
        return ServerRefused(f"{answer} {advice}", status)


@functools.cache
def _certificates() -> "ssl.SSLContext":
    """Cached, since loading them takes 40 ms."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


@contextmanager
def _deadline(
    seconds: float, call: Call
) -> Iterator[tuple[threading.Event, Callable[[str, dict[str, Any]], None]]]:
    """Shut down a request's sockets after `seconds`; yields an event set then, and a trace hook."""
    overdue, opened = threading.Event(), list[socket.socket]()

    def trace(event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            opened.append(info["return_value"].get_extra_info("socket"))
            call.sockets.add(opened[-1])
            if overdue.is_set() or call.stopped.is_set():
                _shut(opened[-1])

    def end() -> None:
        overdue.set()
        for connection in opened:
            _shut(connection)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield overdue, trace
    finally:
        timer.cancel()
        call.sockets.difference_update(opened)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # already closed
        connection.shutdown(socket.SHUT_RDWR)


def check_url(url: str, setting: str, variable: str) -> str:
    """Return the address without a trailing slash; `setting` and `variable` are for messages.

    Raises ConfigError: It is not an http address, or has credentials, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ConfigError(
            f"{setting} is {url!r}; expected an address like http://localhost:8080/v1."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            f"{setting} has credentials or a query, which would appear in reports. Set the bare "
            f"address, and put the key into the variable {variable}."
        )
    return url.rstrip("/")


def error_of(body: bytes) -> dict[str, Any]:
    """Return the `error` object of a refusal, or whatever the server sent instead."""
    try:
        reply = json.loads(body)
        error = reply.get("error", reply)
    except (ValueError, AttributeError, RecursionError):
        return {}
    return error if isinstance(error, dict) else {"message": error}


# ── Embeddings ────────────────────────────────────────────────────────────────────────────────────

# Six attempts give a server that restarts in the middle of a large corpus half a minute; 2,048
# vectors of 768 numbers are some 30 MB of JSON.
EMBEDDING_LIMITS = Limits(seconds=260.0, reply_bytes=64_000_000, attempts=6)
BATCH = 32  # texts per request
# A rejected text longer than this is cut in half; a shorter one is rejected for another reason than
# its length.
SHORTEST = 200  # characters


class ServedEncoder(Client):
    """An `Encoder` on a server. Only the server knows its weights (`is_served`)."""

    _setting = "the address of the encoder"
    _check = "Check the encoder's address (…/v1, or …/embed of TEI) and its name."
    is_served = True  # so `corpus.generation.check_same` compares its vectors

    def __init__(
        self,
        model: str,
        url: str,
        key: Key | None = None,
        prefixes: tuple[str, str] = ("", ""),
        batch: int = BATCH,
        limits: Limits = EMBEDDING_LIMITS,
    ) -> None:
        """`url`: up to `/v1`, or TEI's ending in `/embed`; `prefixes`: of queries, of passages."""
        self._is_tei = url.rstrip("/").endswith("/embed")
        self._path = "" if self._is_tei else "/embeddings"
        address = check_url(url, self._setting, EMBEDDINGS_KEY_VARIABLE)
        super().__init__(address, key or Key("", EMBEDDINGS_KEY_VARIABLE), limits)
        self._model, self._batch = model, batch
        self._prefixes = dict(zip(("query", "passage"), prefixes, strict=True))
        self._dim = 0

    @property
    def fingerprint(self) -> str:
        """`NAME@server`, with a hash of any prefixes; the address may change."""
        prefixes = list(self._prefixes.values())
        digest = hashlib.sha256(json.dumps(prefixes).encode()).hexdigest()[:8]
        return f"{self._model}@server" + (f"-{digest}" if any(prefixes) else "")

    @property
    def dim(self) -> int:
        """The number of dimensions; requests a vector if none is known yet."""
        if not self._dim:
            self.encode(["dimensions"], "query")
        return self._dim

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Return unit vectors, (n_texts, dim) float32; raises ServerError."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        prefixed = [self._prefixes[role] + text for text in texts]
        starts = range(0, len(prefixed), self._batch)
        arrays = self._each(self._embed, [prefixed[n : n + self._batch] for n in starts])
        lengths = {vectors.shape[1] for vectors in arrays}
        self._check_lengths(lengths | ({self._dim} if self._dim else set()))
        (self._dim,) = lengths
        return np.concatenate(arrays)

    def _embed(self, texts: list[str], call: Call) -> Floats:
        """Return the texts' vectors. A rejected batch is halved; a single rejected text is cut."""
        try:
            return self._persistently(lambda: self._vectors(texts, call), call)
        except ServerRefused as refused:
            if refused.lasting or (len(texts) == 1 and len(texts[0]) <= SHORTEST):
                raise
        if len(texts) == 1:
            return self._embed([texts[0][: len(texts[0]) // 2]], call)
        half = len(texts) // 2
        halves = [self._embed(part, call) for part in (texts[:half], texts[half:])]
        self._check_lengths({vectors.shape[1] for vectors in halves})
        return np.concatenate(halves)

    def _vectors(self, texts: list[str], call: Call) -> Floats:
        request: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._is_tei:
            request = {"inputs": texts, "normalize": True, "truncate": True}
        with self._response(request, call) as response:
            body = self._body(response)
        if response.status_code != 200:
            raise self._failure(response.status_code, response.headers, body)
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._bad(
                self._printable(body[: 4 * SHOWN].decode("utf-8", "replace")) or "nothing"
            ) from error
        return self._unit_vectors(self._vectors_in_order(reply), len(texts))

    def _vectors_in_order(self, reply: Any) -> list[Any]:
        """Return the vectors of a reply in order; OpenAI's are sorted by index."""
        rows = reply.get("data") if isinstance(reply, dict) else reply
        if not isinstance(rows, list):
            raise self._bad(self._printable(json.dumps(reply)))
        if not all(isinstance(row, dict) for row in rows):
            return rows
        indexes = [row.get("index", n) for n, row in enumerate(rows)]
        if sorted(map(repr, indexes)) != sorted(map(repr, range(len(rows)))):
            raise self._bad(f"vectors with the indexes {self._printable(str(indexes))}")
        return [rows[indexes.index(n)].get("embedding") for n in range(len(rows))]

    def _unit_vectors(self, rows: list[Any], n_texts: int) -> Floats:
        if len(rows) != n_texts:
            raise self._bad(f"{len(rows)} vectors for {n_texts} texts")
        for row in rows:
            if not (isinstance(row, list) and row and all(type(n) in (int, float) for n in row)):
                raise self._bad("a vector that is not a list of numbers")
        self._check_lengths({len(row) for row in rows})
        vectors = np.array(rows, dtype=np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise self._bad("a vector that is not finite, or has no length")
        return np.asarray(vectors / norms, dtype=np.float32)

    def _check_lengths(self, lengths: set[int]) -> None:
        if len(lengths) > 1:
            raise self._bad(f"vectors of {' and of '.join(map(str, sorted(lengths)))} numbers")

    def _bad(self, reply: str) -> BadReply:
        return BadReply(
            f"{self.url} replied with {reply}; expected a vector of finite numbers for each text, "
            f"all of one length. Is {self._model!r} an embedding model, and the address …/v1 of an "
            "OpenAI-compatible server or …/embed of TEI?",
            200,
        )
