"""What clients of a model's server have in common: waiting, asking again, and wording refusals."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from pincite.errors import ConfigError, ServerBusy, ServerRefused, ServerUnreachable
from pincite.llm.chat_wire import Call, Limits, Retry, Wire
from pincite.text.retry_after import seconds_to_wait

A = TypeVar("A")
T = TypeVar("T")
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
            raise ConfigError(f"{self._variable} holds characters that no key has. Set it anew.")
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
