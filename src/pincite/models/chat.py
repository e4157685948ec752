"""One client for every server that speaks OpenAI's chat completions.

llama.cpp, Ollama, vLLM and hosted ones alike. This file alone sends text to a server, and only
where a person set its address. It takes no proxy from the environment and follows no redirect, so
that what is sent goes where it was told; the key stands in one header and in no message.
"""

import contextlib
import email.utils
import functools
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pincite.errors import (
    BadReply,
    ConfigError,
    ServerBusy,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.models.chat_fields import Dialect, guided, tokens_of
from pincite.types import Completion, Prompt, TokenChoice

if TYPE_CHECKING:
    import ssl

    import httpx2

KEY_VARIABLE = "PINCITE_CHAT_KEY"
_SHOWN = 200  # characters of what a server said
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)  # reasoning models begin with them
_BUSY = (408, 425, 429)
_ADVICE = {
    401: f"Set the server's key in the variable {KEY_VARIABLE}.",
    402: "The account has no credit left: pay, or use another server.",
    403: f"The key in {KEY_VARIABLE} may not use this model.",
    404: "Check chat_url (it usually ends in /v1) and chat_model.",
}


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
class _Call:
    """Requests under way and whether they are still wanted."""

    stopped: threading.Event = field(default_factory=threading.Event)
    refused: ServerRefused | None = None  # the other prompts of the call are then not sent
    sockets: set[socket.socket] = field(default_factory=set)

    def stop(self) -> None:
        """End all waiting now, in whichever thread."""
        self.stopped.set()
        for each in list(self.sockets):
            _shut(each)


class ChatClient:
    """A `protocols.Generator` over HTTP. Safe to use from several threads."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        limits: Limits | None = None,
        dialect: Dialect = "openai",
    ) -> None:
        """`url`: up to `/v1`; `key`: as the server gave it, or "" where it wants none."""
        self.url, self.model = checked_url(url), model
        if not model:
            raise ConfigError("chat_model is empty; expected the name of a model of the server.")
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(f"{KEY_VARIABLE} holds characters that no key has. Set it anew.")
        self._key = key
        self._limits = limits or Limits()
        self._dialect = dialect
        self._calls: set[_Call] = set()
        self._stopped = False
        # What the server's models do not take: the field, and its name there ("" leaves it out).
        self._renamed: dict[str, str] = {}

    @classmethod
    def from_environment(
        cls, url: str, model: str, limits: Limits | None = None, dialect: Dialect = "openai"
    ) -> "ChatClient":
        """A client with the key that `PINCITE_CHAT_KEY` holds, if it holds one."""
        return cls(url, model, os.environ.get(KEY_VARIABLE, "").strip(), limits, dialect)

    def __repr__(self) -> str:
        return f"ChatClient({self.url!r}, {self.model!r})"

    @property
    def fingerprint(self) -> str:
        """`model@host`; which weights that is only the server knows."""
        return f"{self.model}@{urlsplit(self.url).netloc}"

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
        """For each prompt its reply, or why there is none; some at once, in the prompts' order.

        Once the server refuses one of them for good, those that were not yet sent have its error.
        """
        call = _Call()
        self._calls.add(call)
        try:
            return self._answers(prompts, call)
        finally:
            self._calls.discard(call)

    def stop(self) -> None:
        """End all waiting now, from another thread; requests under way and later ones fail."""
        self._stopped = True
        for call in list(self._calls):
            call.stop()

    def _answers(self, prompts: Sequence[Prompt], call: _Call) -> list[Completion | ServerError]:
        if len(prompts) < 2:  # Ctrl-C reaches the main thread at once
            return [self._answer(prompt, call) for prompt in prompts]
        pool = ThreadPoolExecutor(min(self._limits.at_once, len(prompts)), "pincite-chat")
        try:
            return list(pool.map(lambda prompt: self._answer(prompt, call), prompts))
        finally:
            call.stop()  # after a whole batch nothing is left to be stopped
            pool.shutdown(wait=True, cancel_futures=True)

    def _answer(self, prompt: Prompt, call: _Call) -> Completion | ServerError:
        try:
            return self._completion(prompt, call)
        except ServerError as error:
            if isinstance(error, ServerRefused) and error.lasting:
                call.refused = error
            return error

    def _completion(self, prompt: Prompt, call: _Call) -> Completion:
        """One reply; waits and asks again where that may help.

        Raises:
            ServerError: as its kinds say.
        """
        wait = self._limits.first_wait
        for attempt in range(1, self._limits.attempts + 1):
            if call.refused:
                raise call.refused
            if self._stopped:
                raise ServerUnreachable(f"{self.url} was not asked: the run was stopped.")
            try:
                return self._without_key(_read(self._post(prompt, call), self._told))
            except _Retry as retry:
                pause = wait if retry.after is None else retry.after
                if attempt == self._limits.attempts or pause > self._limits.longest_wait:
                    raise retry.error from None
            if call.stopped.wait(pause):
                raise ServerUnreachable(f"{self.url} was not waited for: the call was stopped.")
            wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def _post(self, prompt: Prompt, call: _Call) -> bytes:
        """The body of a good reply; a field that the model does not take is left out or renamed."""
        while True:
            names = dict(self._renamed)  # another thread may change it meanwhile
            status, headers, body = self._exchange(self._request(prompt, names), call)
            if status == 200:
                return body
            if status == 400 and self._adapted(names, body):
                continue
            said = self._said(status, body)
            if (status in _BUSY and not _is_about_money(body)) or status >= 500:
                advice = "Ask for less at once, or later."
                raise _Retry(ServerBusy(f"{said} {advice}", status), _after(headers))
            advice = _ADVICE.get(402 if _is_about_money(body) else status, "See the server's log.")
            if 300 <= status < 400:
                advice = "Redirects are not followed: set chat_url to where the server is."
            raise ServerRefused(f"{said} {advice}", status)

    def _exchange(self, request: dict[str, Any], call: _Call) -> tuple[int, dict[str, str], bytes]:
        """One request over a connection of its own: status, headers, body."""
        import httpx2

        limits = self._limits
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        timeout = httpx2.Timeout(limits.seconds, connect=limits.connect_seconds)
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
                        f"{self.url}/chat/completions",
                        json=request,
                        headers=headers,
                        extensions={"trace": note},
                    ) as response,
                ):
                    status, body = response.status_code, self._body(response)
                    if overdue.is_set():  # the end of a body of unknown length
                        raise self._late(connecting=False)
                    return status, dict(response.headers), body
            except httpx2.InvalidURL as error:
                raise ConfigError(f"chat_url is {self.url!r}: {error}") from error
            except httpx2.TimeoutException as error:
                raise self._late(isinstance(error, httpx2.ConnectTimeout)) from error
            except httpx2.HTTPError as error:
                if overdue.is_set():
                    raise self._late(connecting=False) from error
                said = self._told(str(error)) or type(error).__name__
                unreachable = ServerUnreachable(
                    f"{self.url} cannot be reached ({said}). Is the server running there?"
                )
                raise _Retry(unreachable) from error

    def _late(self, connecting: bool) -> Exception:
        """An attempt to connect is made again; a reply that took too long would do so again."""
        if connecting:
            waited = self._limits.connect_seconds
            return _Retry(
                ServerUnreachable(
                    f"{self.url} did not take a connection within {waited:g} s. Is it up?"
                )
            )
        return ServerUnreachable(
            f"{self.url} gave no whole reply within {self._limits.seconds:g} s. Use a smaller "
            "model, or a faster server."
        )

    def _body(self, response: "httpx2.Response") -> bytes:
        parts, size = [], 0
        for part in response.iter_raw():
            size += len(part)
            if size > self._limits.reply_bytes:
                raise BadReply(
                    f"{self.url} replied with more than {self._limits.reply_bytes:,} bytes. Is it "
                    "a chat server?",
                    response.status_code,
                )
            parts.append(part)
        return b"".join(parts)

    def _request(self, prompt: Prompt, names: dict[str, str]) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": prompt.system})
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "stream": False,
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
        }
        if prompt.seed is not None:
            fields["seed"] = prompt.seed
        if prompt.top_logprobs:
            fields |= {"logprobs": True, "top_logprobs": prompt.top_logprobs}
        fields |= guided(prompt.guidance, self._dialect)
        named = {names.get(name, name): value for name, value in fields.items()}
        return {name: value for name, value in named.items() if name}

    def _adapted(self, names: dict[str, str], body: bytes) -> bool:
        """Whether the server named a field that this model wants otherwise, and now gets so.

        OpenAI's reasoning models know `max_completion_tokens` only, and no temperature.
        """
        refused = _error_of(body).get("param")
        other = {"max_tokens": "max_completion_tokens", "temperature": "", "seed": ""}
        if refused not in other or refused in names:
            return False
        self._renamed[refused] = other[refused]
        return True

    def _said(self, status: int, body: bytes) -> str:
        message = _error_of(body).get("message") or body.decode("utf-8", "replace")
        told = self._told(str(message))
        return f"{self.url} answered {status}{f' ({told})' if told else ''}."

    def _without_key(self, reply: Completion) -> Completion:
        """A reply that repeats the key does not reach a report or a trace with it."""
        if not self._key:
            return reply
        leaked = self._key in "".join(choice.token for choice in reply.tokens)
        tokens: tuple[TokenChoice, ...] = () if leaked else reply.tokens
        return replace(reply, text=reply.text.replace(self._key, "[key]"), tokens=tokens)

    def _told(self, text: str) -> str:
        """What a server said, for a person: one line, short, printable, without the key."""
        if self._key:
            text = text.replace(self._key, "[key]")
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


class _Retry(Exception):
    """`error` is raised unless another attempt, after so many seconds, does better."""

    def __init__(self, error: ServerError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.after = error, after


@functools.cache
def _certificates(from_environment: bool) -> "ssl.SSLContext":
    """What a server's certificate is checked against: reading it anew takes 40 ms a request."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=from_environment)


def checked_url(url: str) -> str:
    """The address without its last slash.

    Raises:
        ConfigError: it is no http address, or holds a name and password, a query or a fragment.

    >>> checked_url("http://localhost:8080/v1/")
    'http://localhost:8080/v1'
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ConfigError(f"chat_url is {url!r}; expected an address as http://localhost:8080/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "chat_url holds a name, a password or a query, which reports would show. Give the "
            f"bare address, and the key in the variable {KEY_VARIABLE}."
        )
    return url.rstrip("/")


@contextmanager
def _deadline(
    seconds: float, call: _Call
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


def _after(headers: dict[str, str]) -> float | None:
    """Seconds that Retry-After asks for, as a number or a date; None where it says nothing."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _error_of(body: bytes) -> dict[str, Any]:
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
    error = _error_of(body)
    return "insufficient_quota" in (error.get("code"), error.get("type"))


def _read(body: bytes, told: Callable[[str], str]) -> Completion:
    """The first choice's text, without what a model thought before it.

    Raises:
        BadReply: it is no chat completion, or one without text.
    """
    try:
        given = json.loads(body)
        choice, usage = given["choices"][0], given.get("usage") or {}
        text, ended = choice["message"]["content"], choice.get("finish_reason")
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        shown = told(body[: 4 * _SHOWN].decode("utf-8", "replace"))
        raise BadReply(f"The reply is no chat completion: {shown or 'it is empty'}", 200) from error
    if not isinstance(text, str) or not _THOUGHTS.sub("", text).strip():
        cut = " It was cut: raise max_tokens." if ended == "length" else ""
        raise BadReply(f"The reply holds no text.{cut}", 200)
    n_prompt, n_reply = (count if isinstance(count, int) else None for count in counts)
    said = _THOUGHTS.sub("", text).strip()
    return Completion(said, ended != "length", n_prompt, n_reply, tokens_of(choice))
