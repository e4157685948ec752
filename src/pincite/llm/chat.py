"""The client of OpenAI-compatible chat servers: llama.cpp, Ollama, vLLM and others.

While a reply streams, neither thoughts in `<think>` nor the key are shown (`visible`).
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pincite.errors import BadReply, ConfigError, ServerError, ServerRefused, ServerUnreachable
from pincite.llm.client import (
    EVENTS,
    KEY_VARIABLE,
    SHOWN,
    Call,
    Client,
    Key,
    Limits,
    Retry,
    check_url,
    error_of,
)
from pincite.protocols import Completion, Guidance, Prompt, TokenChoice

if TYPE_CHECKING:
    import httpx2

GuidanceKind = Literal["json", "regex", "grammar", "prompted"]
Dialect = Literal["openai", "vllm", "llamacpp"]
# What each server can enforce. "llamacpp", and "json" of "openai", are tested with llama.cpp's
# server (tests/models/test_real_server.py). "vllm" follows its documentation of 2026-11.
ENFORCED = {
    "openai": ("json",),
    "vllm": ("json", "regex", "grammar"),
    "llamacpp": ("json", "grammar"),
}
THINK, THOUGHT = "<think>", "</think>"  # around a reasoning model's thoughts


def key_variable(url: str, main: str) -> str:
    """Name the variable with a chat server's key: no server but `main` is sent the key of `main`.

    >>> key_variable("https://eu.example.org:8443/v1", "http://localhost:8080/v1")
    'PINCITE_CHAT_KEY_EU_EXAMPLE_ORG_8443'
    """
    scheme, place = urlsplit(url)[:2]
    if (scheme, place) == urlsplit(main)[:2]:
        return KEY_VARIABLE
    return f"{KEY_VARIABLE}_{re.sub('[^A-Z0-9]+', '_', place.upper())}"


# ── Guided replies ───────────────────────────────────────────────────────────────────────────────


def check_guidance(kind: str, dialect: str) -> None:
    """Raise ConfigError if servers of this dialect do not enforce this kind of rule."""
    if kind != "prompted" and kind not in ENFORCED[dialect]:
        can = ", ".join((*ENFORCED[dialect], "prompted"))
        raise ConfigError(
            f"check.guidance is {kind!r}, which chat.dialect {dialect!r} does not enforce; "
            f"expected one of: {can}."
        )


def guidance_for(kind: GuidanceKind, labels: Sequence[str]) -> Guidance | None:
    """Return the rule for a reply with one of these labels; None if only the prompt requires it."""
    if kind == "json":
        schema = {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": list(labels)}},
            "required": ["answer"],
            "additionalProperties": False,
        }
        return Guidance("json", json.dumps(schema))
    if kind == "regex":
        return Guidance("regex", f"({'|'.join(labels)})")
    if kind == "grammar":
        return Guidance("grammar", f"root ::= {' | '.join(json.dumps(label) for label in labels)}")
    return None


def guidance_fields(guidance: Guidance | None, dialect: str) -> dict[str, Any]:
    """Return the request fields that make a server enforce the rule."""
    if guidance is None:
        return {}
    check_guidance(guidance.kind, dialect)
    kind, rule = guidance
    if kind == "json":
        schema = {"name": "reply", "schema": json.loads(rule), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if dialect == "llamacpp":
        return {"grammar": rule}
    # vLLM renamed the field in 2025 and ignores the name that it does not know.
    return {f"guided_{kind}": rule, "structured_outputs": {kind: rule}}


# ── Replies ──────────────────────────────────────────────────────────────────────────────────────


def read_tokens(choice: dict[str, Any]) -> tuple[TokenChoice, ...]:
    """Return a reply's tokens with their alternatives; empty if there are none to be read."""
    try:
        return tuple(
            _token(
                token["token"],
                token.get("logprob"),
                {top["token"]: top["logprob"] for top in token.get("top_logprobs") or ()},
            )
            for token in choice["logprobs"]["content"]
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        return ()


def _token(token: Any, logprob: Any, top: dict[Any, Any]) -> TokenChoice:
    """Include the token itself among its alternatives; some servers list only the others."""
    if logprob is not None and token not in top:
        top = {token: logprob, **top}
    logs = {str(text): float(value) for text, value in top.items()}
    if any(map(math.isnan, logs.values())):
        raise ValueError("a log probability is not a number")
    return TokenChoice(str(token), tuple(logs.items()))


def visible(text: str, key: str, *, whole: bool) -> str:
    """Return a reply, as far as it is final, without thoughts, the key and surrounding space."""
    text = text.lstrip()
    if text.startswith(THINK):
        text = text.partition(THOUGHT)[2].lstrip()
    elif not whole and THINK.startswith(text):
        return ""
    if key:
        text = text.replace(key, "[key]")
        longest = 0 if whole else min(len(key) - 1, len(text))
        n_held = next((n for n in range(longest, 0, -1) if text.endswith(key[:n])), 0)
        text = text[: len(text) - n_held]
    return text.rstrip()


def _completion(
    text: str, ended: object, usage: object, tokens: tuple[TokenChoice, ...] = ()
) -> Completion:
    """Make a complete reply; raises BadReply if it has no text."""
    if not text:
        cut = " It was cut off: raise max_tokens." if ended == "length" else ""
        raise BadReply(f"The reply has no text.{cut}", 200)
    usage = usage if isinstance(usage, dict) else {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    n_prompt, n_reply = (count if isinstance(count, int) else None for count in counts)
    return Completion(text, ended != "length", n_prompt, n_reply, tokens)


class Streamed:
    """A reply that arrives in chunks."""

    def __init__(self, key: str) -> None:
        self._key, self._text, self._n_shown = key, "", 0
        self._usage: object = None
        self.ended: object = None  # the server's reason; some servers do not send [DONE]

    def add(self, chunk: dict[str, Any]) -> str:
        """Return the new visible text; raises BadReply for anything but a piece of a reply."""
        self._usage = chunk.get("usage") or self._usage  # in the last chunk, without choices
        try:
            choice = (chunk.get("choices") or [{}])[0]
            text = (choice.get("delta") or {}).get("content")
        except (KeyError, TypeError, AttributeError) as error:
            raise BadReply("A piece of the reply is not a chat completion.", 200) from error
        self.ended = choice.get("finish_reason") or self.ended
        self._text += text if isinstance(text, str) else ""
        return self.new_text(whole=False)

    def whole(self) -> Completion:
        """Return the complete reply; raises BadReply if it has no text."""
        return _completion(visible(self._text, self._key, whole=True), self.ended, self._usage)

    def new_text(self, *, whole: bool) -> str:
        text = visible(self._text, self._key, whole=whole)
        new, self._n_shown = text[self._n_shown :], len(text)
        return new


# ── Client ───────────────────────────────────────────────────────────────────────────────────────


class ChatClient(Client):
    """A `Generator` over HTTP that can also stream; thread-safe."""

    def __init__(
        self,
        url: str,
        model: str,
        key: Key | None = None,
        limits: Limits | None = None,
        dialect: Dialect = "openai",
        repetition_penalty: float = 0.0,
    ) -> None:
        """`url`: up to `/v1`; a penalty of 0 is not sent."""
        address = check_url(url, "chat.url", KEY_VARIABLE)
        super().__init__(address, key or Key(), limits or Limits())
        if not model:
            raise ConfigError(
                "chat.model is empty; expected the name of one of the server's models."
            )
        self.model, self._dialect, self._penalty = model, dialect, repetition_penalty
        # Fields that the model rejects → the names it accepts; "" omits them.
        self._renamed: dict[str, str] = {}

    @property
    def fingerprint(self) -> str:
        """`model@host`; only the server knows the weights. A penalty changes replies."""
        penalty = f" repetition_penalty={self._penalty}" if self._penalty else ""
        return f"{self.model}@{urlsplit(self.url).netloc}{penalty}"

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
        """Return the reply or error for each prompt; a permanent refusal ends the requests."""
        return self._each(self._answer, prompts)

    def _answer(self, prompt: Prompt, call: Call) -> Completion | ServerError:
        def attempt() -> Completion:
            with self._respond(prompt, call) as response:
                body = self._body(response)
            return self._read(body)

        try:
            return self._persistently(attempt, call)
        except ServerError as error:
            if isinstance(error, ServerRefused) and error.lasting:
                call.refused = error
            return error

    def stream(self, prompt: Prompt) -> Iterator[str | Completion | ServerError]:
        """Yield a reply piece by piece, then the whole `Completion`, or the error that ended it.

        Requests are retried only until the first piece. Closing the iterator ends the request.
        """
        call, begun = Call(), False
        self._calls.add(call)
        try:
            for attempt in count(1):
                self._check_wanted(call)
                try:
                    for piece in self._pieces(prompt, call):
                        begun = True
                        yield piece
                    return
                except Retry as retry:
                    if begun:  # what was shown cannot be taken back
                        raise retry.error from None
                    self._wait(retry, attempt, call)
        except ServerError as error:
            yield error
        finally:
            self._calls.discard(call)

    def _pieces(self, prompt: Prompt, call: Call) -> Iterator[str | Completion]:
        reply, body = Streamed(self._key), b""
        with self._respond(prompt, call, stream=True) as response:
            streams = response.headers.get("content-type", "").lower().startswith(EVENTS)
            if not streams:
                body = self._body(response)
            for data in self._events(response) if streams else ():
                if data == "[DONE]":
                    reply.ended = reply.ended or "stop"
                    break
                if text := reply.add(self._chunk(data)):
                    yield text
        if not streams:
            whole = self._read(body)
            yield from (whole.text, whole)
            return
        if not reply.ended:
            raise Retry(ServerUnreachable(f"{self.url} broke off in the middle of its reply."))
        if rest := reply.new_text(whole=True):
            yield rest
        yield reply.whole()

    def _chunk(self, data: str) -> dict[str, Any]:
        """Return the JSON object of an event; raises the server's error."""
        try:
            chunk: dict[str, Any] = json.loads(data)
            failed = chunk.get("error")
        except (ValueError, AttributeError, RecursionError) as error:
            text = self._printable(data)
            raise BadReply(f"A piece of the reply is not a chat completion: {text}", 200) from error
        if failed:
            code = failed.get("code") if isinstance(failed, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            raise self._failure(status, {}, data.encode())
        return chunk

    @contextmanager
    def _respond(
        self, prompt: Prompt, call: Call, *, stream: bool = False
    ) -> Iterator["httpx2.Response"]:
        """Yield the response 200 to a prompt; rejected fields are renamed or omitted."""
        while True:
            names = dict(self._renamed)  # another thread may change it meanwhile
            with self._response(self._request(prompt, names, stream=stream), call) as response:
                if response.status_code == 200:
                    yield response
                    return
                body = self._body(response)
            if not (response.status_code == 400 and self._adapt(names, body)):
                raise self._failure(response.status_code, response.headers, body)

    def _request(
        self, prompt: Prompt, names: dict[str, str], *, stream: bool = False
    ) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": prompt.system})
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "stream": stream,
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
        }
        if stream:
            fields["stream_options"] = {"include_usage": True}
        if prompt.seed is not None:
            fields["seed"] = prompt.seed
        if prompt.top_logprobs:
            fields |= {"logprobs": True, "top_logprobs": prompt.top_logprobs}
        if self._penalty:
            name = "repeat_penalty" if self._dialect == "llamacpp" else "repetition_penalty"
            fields[name] = self._penalty
        fields |= guidance_fields(prompt.guidance, self._dialect) | dict(prompt.fields or {})
        named = {names.get(name, name): value for name, value in fields.items()}
        return {name: value for name, value in named.items() if name}

    def _adapt(self, names: dict[str, str], body: bytes) -> bool:
        """Rename or omit a rejected field: OpenAI's reasoning models reject `max_tokens`."""
        refused = error_of(body).get("param")
        other = {"max_tokens": "max_completion_tokens"}
        other |= dict.fromkeys(("temperature", "seed", "stream_options"), "")
        if refused not in other or refused in names:
            return False
        self._renamed[refused] = other[refused]
        return True

    def _read(self, body: bytes) -> Completion:
        """Return the first choice; raises BadReply for anything but a chat completion with text."""
        try:
            reply = json.loads(body)
            choice, usage = reply["choices"][0], reply.get("usage")
            text, ended = choice["message"]["content"], choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            shown = self._printable(body[: 4 * SHOWN].decode("utf-8", "replace")) or "it is empty"
            raise BadReply(f"The reply is not a chat completion: {shown}", 200) from error
        tokens = read_tokens(choice)
        if self._key and self._key in "".join(token.token for token in tokens):
            tokens = ()  # keep the key out of reports and traces
        text = visible(text, self._key, whole=True) if isinstance(text, str) else ""
        return _completion(text, ended, usage, tokens)
