"""Calls of language models: a client of one server, and a run's calls within a budget.

`Client` limits time and size, and retries. It follows no redirects and ignores proxies in the
environment, so text goes only to the configured address. httpx's timeouts apply to single reads, so
sockets are shut down when a request times out or its call is stopped.

`Calls` counts, caches and records. One prompt gets one reply in a run, so that a trace shows which
reply counted. A spent budget, a permanent refusal or an unreachable server ends the calls, not the
run.
"""

import functools
import hashlib
import json
import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pincite.durable import CacheFile
from pincite.errors import (
    BadReply,
    ConfigError,
    NotAsked,
    PinciteError,
    ServerBusy,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.notes import Note
from pincite.protocols import Completion, Generator, Prompt, TokenChoice, Usage
from pincite.text.hosts import seconds_to_wait
from pincite.types import Failed

if TYPE_CHECKING:
    import ssl

    import httpx2

T = TypeVar("T")
A = TypeVar("A")
EVENTS = "text/event-stream"
SHOWN = 200  # characters of a server's message
_BUSY = (408, 425, 429)
POLL = 0.5  # seconds between polls, so that Ctrl-C is handled


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


class Key(str):
    """A server's key, or "", with the environment variable that holds it."""

    variable = "PINCITE_CHAT_KEY"

    @classmethod
    def read(cls, variable: str) -> "Key":
        key = cls(os.environ.get(variable, "").strip())
        key.variable = variable
        return key


class Client:
    """A client of one server; thread-safe."""

    _path: str = "/chat/completions"  # below the address
    _setting: ClassVar[str] = "chat.url"  # name of the address in messages
    _variable: str = Key.variable
    _check: ClassVar[str] = "Check chat.url (it usually ends in /v1) and chat.model."

    def __init__(self, url: str, key: str, limits: Limits | None) -> None:
        """`url`: already checked; `key`: "" if the server needs none."""
        if isinstance(key, Key):
            self._variable = key.variable
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(f"{self._variable} has characters that are not valid in a key.")
        self.url, self._key, self._limits = url, key, limits or Limits()
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

    Raises:
        ConfigError: It is not an http address, or has credentials, a query or a fragment.
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


# ── Within a budget ──────────────────────────────────────────────────────────────────────────────

ATTEMPTS = 3  # until a reply is readable; a model that fails three times misunderstands the prompt
RETRY_TEMPERATURE = 0.5  # at 0, many models repeat themselves whatever the seed
GIVE_UP = 8  # consecutive calls, each with several attempts, that reached no server
CHAT_TOKENS = 64  # added by a server around two messages: roles, for some models a date
# Pieces of text for `tokens_of`: lower-case words, digits with a preceding space, line breaks,
# gaps, and any other single character.
_PIECES = re.compile(r"[A-Za-z]?[a-z]+|\n\s*| ?[0-9]|[^\S ]| {2,}|[^\sa-z0-9]")
_SHORT_WORD, _CHARS_A_TOKEN = 4, 3  # a word up to this long is a token; longer ones are divided
_SHOWN = 80  # characters of an unreadable reply

Record: TypeAlias = Callable[[Mapping[str, Any]], None]
Progress: TypeAlias = Callable[[int, int], None]  # calls done, calls in all


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; 0: none. Prices are per million tokens."""

    calls: int = 0
    tokens: int = 0  # of prompts and replies together
    cost: float = 0.0
    price_prompt: float = 0.0
    price_reply: float = 0.0

    def cost_of(self, n_prompt: int, n_reply: int) -> float:
        return (n_prompt * self.price_prompt + n_reply * self.price_reply) / 1e6


class Calls:
    """Calls the model of each step, within a budget; thread-safe."""

    def __init__(
        self,
        models: Mapping[str, Generator],
        budget: Budget | None = None,
        memory: "Mapping[str, Completion] | ReplyCache | None" = None,
        record: Record | None = None,
    ) -> None:
        """`models` and `memory` are by step ("": the others) and by `key_of` a prompt."""
        self._models, self._memory = models, memory or {}
        self._budget = budget or Budget()
        self._record = record or (lambda event: None)
        self._lock = threading.Lock()
        self._usage = Usage()
        self._reserved = [0, 0]  # tokens of prompts and replies in flight
        self._by_key: dict[str, Future[Completion | ServerError]] = {}  # also those in flight
        self.unanswered: Counter[str] = Counter()  # opinions, by the run's reason
        self.notes: list[Note] = []  # for the report
        self._n_unreachable = 0  # consecutive calls
        self._over: ServerError | None = None  # the answer to every further call
        self.stopped = False

    @property
    def usage(self) -> Usage:
        """The usage so far; the run sets its seconds."""
        with self._lock:
            return self._usage

    def model(self, step: str) -> Generator:
        return self._models.get(step) or self._models[""]

    def stop(self) -> None:
        """Answer all further calls with `NotAsked`, and end those in flight if possible."""
        self.stopped = True
        self._over = self._over or NotAsked("The run was stopped.")
        for model in self._models.values():
            if end := getattr(model, "stop", None):  # `ChatClient.stop`
                end()

    def read(
        self,
        step: str,
        prompt: Prompt,
        about: Mapping[str, Any],
        read: Callable[[Completion], T | None],
    ) -> T | Failed:
        """Return what `read` makes of the reply; retry while that is None, then fail."""
        shown = ""
        for attempt in range(ATTEMPTS):
            variant = replace(prompt, seed=(prompt.seed or 0) + attempt)
            if attempt:
                variant = replace(variant, temperature=max(prompt.temperature, RETRY_TEMPERATURE))
            key = key_of(variant, self.model(step).fingerprint)
            reply = self._reply(key, step, variant, {**about, "attempt": attempt + 1})
            if isinstance(reply, ServerError):
                if self.stopped:  # a call in flight then fails as if the server were gone
                    return Failed("stopped", "the run was stopped")
                return Failed("budget" if isinstance(reply, NotAsked) else "server", str(reply))
            value = read(reply)
            if value is not None:
                return value
            shown = " ".join(reply.text.split())[:_SHOWN]
            self._add(n_unreadable=1)
            self._record({"event": "unreadable", "key": key})
        return Failed("reply", f"{step}: no readable answer in {ATTEMPTS} replies, last “{shown}”")

    def stream(self, step: str, prompt: Prompt) -> Iterator[str | Completion | ServerError]:
        """Yield a reply in pieces, then the whole `Completion` or the error that ended it."""
        needed = (tokens_of(prompt.system + prompt.user), prompt.max_tokens)
        if refused := self._reserve(needed):
            yield refused
            return
        reply: Completion | ServerError = NotAsked("The run was stopped.")
        model = self.model(step)
        try:
            if stream := getattr(model, "stream", None):  # a `ChatClient`
                for piece in stream(prompt):
                    if isinstance(piece, str):
                        yield piece
                    else:
                        reply = piece
            else:
                reply = _generate(model, prompt)
                if isinstance(reply, Completion):
                    yield reply.text
        finally:  # also if the reader closes the iterator: the tokens were spent
            self._book(reply, needed)
        yield reply

    def _reply(
        self, key: str, step: str, prompt: Prompt, about: Mapping[str, Any]
    ) -> Completion | ServerError:
        """Return the cached reply, that of the same prompt in flight, or the server's."""
        known = self._memory.get(key)
        if known is not None:
            self._add(n_reused=1)
            return known
        with self._lock:
            same = self._by_key.get(key)
            if same is None:
                own = self._by_key[key] = Future[Completion | ServerError]()
        if same is not None:
            return same.result()
        try:
            reply = self._send(key, step, prompt, about)
        except BaseException as error:
            own.set_exception(error)
            raise
        if isinstance(reply, ServerError):  # a later attempt may succeed
            with self._lock:
                del self._by_key[key]
        own.set_result(reply)
        return reply

    def _send(
        self, key: str, step: str, prompt: Prompt, about: Mapping[str, Any]
    ) -> Completion | ServerError:
        needed = (tokens_of(prompt.system + prompt.user), prompt.max_tokens)
        if refused := self._reserve(needed):
            return refused
        model, started = self.model(step), time.monotonic()
        reply = _generate(model, prompt)
        self._book(reply, needed)
        self._record(
            {
                "event": "call",
                "key": key,
                "step": step,
                "model": model.fingerprint,
                "about": dict(about),
                "prompt": asdict(prompt),
                "reply": asdict(reply) if isinstance(reply, Completion) else None,
                "error": str(reply) if isinstance(reply, ServerError) else None,
                "seconds": round(time.monotonic() - started, 3),
            }
        )
        return reply

    def _reserve(self, needed: tuple[int, int]) -> ServerError | None:
        """Reserve tokens of prompt and reply for a call; returns an error if there are too few."""
        with self._lock:
            if self._over:
                return self._over
            used, budget = self._usage, self._budget
            n_prompt = used.n_prompt_tokens + self._reserved[0] + needed[0]
            n_reply = used.n_reply_tokens + self._reserved[1] + needed[1]
            for name, limit, would_be in (
                ("max_calls", budget.calls, used.n_calls + 1),
                ("max_tokens", budget.tokens, n_prompt + n_reply),
                ("max_cost", budget.cost, budget.cost_of(n_prompt, n_reply)),
            ):
                if limit and would_be > limit:
                    return NotAsked(
                        f"The budget is spent: {name} is {limit:g}. Raise it to continue."
                    )
            self._usage = replace(used, n_calls=used.n_calls + 1)
            self._reserved = [self._reserved[0] + needed[0], self._reserved[1] + needed[1]]
            return None

    def _book(self, reply: Completion | ServerError, needed: tuple[int, int]) -> None:
        """Count a call's tokens, as reported by the server or else estimated."""
        with self._lock:
            self._reserved = [self._reserved[0] - needed[0], self._reserved[1] - needed[1]]
            if isinstance(reply, ServerError):
                self._usage += Usage(n_failed=1)
                away = isinstance(reply, ServerUnreachable | ServerBusy)
                self._n_unreachable = self._n_unreachable + 1 if away else 0
                lasting = isinstance(reply, ServerRefused) and reply.lasting
                if lasting or self._n_unreachable >= GIVE_UP:
                    self._over = self._over or reply
                return
            self._n_unreachable = 0
            n_prompt, n_reply = reply.n_prompt_tokens, reply.n_reply_tokens
            n_prompt = needed[0] if n_prompt is None else n_prompt
            n_reply = tokens_of(reply.text) if n_reply is None else n_reply
            cost = self._budget.cost_of(n_prompt, n_reply)
            self._usage += Usage(n_prompt_tokens=n_prompt, n_reply_tokens=n_reply, cost=cost)

    def _add(self, **counts: int) -> None:
        with self._lock:
            self._usage += Usage(**counts)


def _generate(model: Generator, prompt: Prompt) -> Completion | ServerError:
    try:
        (reply,) = model.generate([prompt])
    except ServerError as error:
        return error
    except PinciteError as error:  # a setting that this server does not support
        return ServerRefused(str(error))
    return reply


# ── Cached replies ───────────────────────────────────────────────────────────────────────────────


def key_of(prompt: Prompt, fingerprint: str) -> str:
    """Return the key of a cached reply: a hash of the model and the whole prompt."""
    content = json.dumps([fingerprint, asdict(prompt)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def completion_of(values: Mapping[str, Any]) -> Completion:
    tokens = tuple(
        TokenChoice(token, tuple((str(t), float(logprob)) for t, logprob in top))
        for token, top in values["tokens"]
    )
    return Completion(**{**values, "tokens": tokens})


class ReplyCache(CacheFile):
    """A file of replies by `key_of`; several processes may share it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "replies (key TEXT PRIMARY KEY, reply TEXT)")

    def record(self, event: Mapping[str, Any]) -> None:
        """Store the reply of a call; other events are ignored."""
        if event.get("event") == "call" and event.get("reply"):
            self.insert([(event["key"], json.dumps(event["reply"]))])

    def get(self, key: str) -> Completion | None:
        found = self.rows("SELECT reply FROM replies WHERE key = ?", (key,))
        return completion_of(json.loads(found[0][0])) if found else None


# ── Concurrent calls ─────────────────────────────────────────────────────────────────────────────


def run_concurrently(
    tasks: Sequence[Callable[[], T]],
    at_once: int,
    calls: Calls,
    on_progress: Progress | None = None,
) -> list[T | None]:
    """Return the tasks' results in order; after Ctrl-C, None for those that had not started."""
    if not tasks:
        return []
    with ThreadPoolExecutor(max(1, min(at_once, len(tasks))), "pincite-ask") as pool:
        futures = [pool.submit(task) for task in tasks]
        pending = set(futures)
        try:
            while True:
                if on_progress:
                    on_progress(len(futures) - len(pending), len(futures))
                if not pending:
                    break
                _, pending = wait(pending, POLL, FIRST_COMPLETED)
        except KeyboardInterrupt:
            for future in futures:
                future.cancel()
            calls.stop()
    return [None if future.cancelled() else future.result() for future in futures]


def scaled_progress(on_progress: Progress | None, n_calls: int) -> Progress | None:
    if on_progress is None:
        return None
    return lambda done, total: on_progress(done * n_calls, total * n_calls)


# ── Counting ─────────────────────────────────────────────────────────────────────────────────────


def tokens_of(text: str) -> int:
    """Return a conservative estimate of the number of tokens."""
    return 1 + sum(map(_tokens_in, _PIECES.findall(text)))


def _tokens_in(piece: str) -> int:
    if piece[-1].islower() and piece.isascii():
        return 1 if len(piece) <= _SHORT_WORD else -(-len(piece) // _CHARS_A_TOKEN)
    if piece[-1].isdigit():
        return len(piece)
    # A letter of another script may take as many tokens as it has bytes.
    return 1 if piece.isascii() else len(piece.encode("utf-8", "replace"))


def notes_of(calls: Iterable[Calls]) -> tuple[Note, ...]:
    """Notes for a report: the judge's examination, and opinions missing for a reason of the run."""
    return tuple(
        note
        for each in calls
        for note in (
            *each.notes,
            *(Note("no_second_opinions", {"n": n, "why": w}) for w, n in each.unanswered.items()),
        )
    )
