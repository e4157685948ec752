"""One client for every server that speaks OpenAI's chat completions.

llama.cpp, Ollama, vLLM and hosted ones alike, and only where a person set the address. A schema or
a grammar that a reply must keep to stands in another field on each, and log probabilities come in
two layouts: that of chat completions, which llama.cpp's server was seen to send, and that of the
older text completions, which TGI and NIM send here too by what is written of them.

Of a reply that comes in pieces neither thoughts in `<think>` nor the key reach the reader, though
either may be cut anywhere between two pieces: what may yet become one of them is held back until it
is clear.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pincite.completions import Completion, Guidance, Prompt, TokenChoice
from pincite.errors import (
    BadReply,
    ConfigError,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.llm.client import EVENTS, SHOWN, Call, Client, Limits, Retry, checked_url, error_of

GuidanceKind = Literal["json", "regex", "grammar", "prompted"]
Dialect = Literal["openai", "vllm", "llamacpp", "tgi", "nim"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
# What each server can enforce. "llamacpp", and "json" of "openai", were tried on llama.cpp's server
# (tests/models/test_real_server.py). A regex it refuses in TGI's form and passes over in silence in
# vLLM's. "vllm", "tgi", "nim" and OpenAI's own server are written from their documentation (read in
# 2026-11) and have not been tried on a real one.
ENFORCED = {
    "openai": ("json",),
    "vllm": ("json", "regex", "grammar"),
    "llamacpp": ("json", "grammar"),
    "tgi": ("json", "regex"),
    "nim": ("json", "regex", "grammar"),
}


def checked_guidance(kind: str, dialect: str) -> None:
    """Refuse what a server cannot enforce; "prompted" asks for nothing.

    Raises:
        ConfigError: names what the server takes.
    """
    if kind != "prompted" and kind not in ENFORCED[dialect]:
        can = ", ".join((*ENFORCED[dialect], "prompted"))
        raise ConfigError(
            f"check.guidance is {kind!r}, which a server of the kind {dialect!r} (chat.dialect) "
            f"does not enforce; expected one of: {can}."
        )


def guided(guidance: Guidance | None, dialect: str) -> dict[str, Any]:
    """The fields that make a server keep to the rule; none without one.

    >>> guided(Guidance("regex", "[AB]"), "tgi")
    {'response_format': {'type': 'regex', 'value': '[AB]'}}
    """
    if guidance is None:
        return {}
    checked_guidance(guidance.kind, dialect)
    rule = json.loads(guidance.rule) if guidance.kind == "json" else guidance.rule
    if dialect == "tgi":
        return {"response_format": {"type": guidance.kind, "value": rule}}
    if dialect == "nim":
        return {"nvext": {f"guided_{guidance.kind}": rule}}
    if guidance.kind == "json":
        schema = {"name": "reply", "schema": rule, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if dialect == "llamacpp":
        return {"grammar": rule}
    # vLLM renamed the field in 2025; it ignores the name that it does not know.
    return {f"guided_{guidance.kind}": rule, "structured_outputs": {guidance.kind: rule}}


def tokens_of(choice: dict[str, Any]) -> tuple[TokenChoice, ...]:
    """The reply's tokens with their alternatives, from either layout; empty if there are none.

    Chat: `{"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}]}]}`. Legacy:
    `{"tokens": […], "token_logprobs": […], "top_logprobs": [{token: logprob}]}`.
    """
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        return ()
    try:
        if isinstance(given.get("content"), list):
            return tuple(map(_of_chat, given["content"]))
        if isinstance(given.get("tokens"), list):
            return _of_completion(given)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()  # what cannot be read is as good as not sent
    return ()


def _of_chat(entry: dict[str, Any]) -> TokenChoice:
    top = [(str(each["token"]), _log(each["logprob"])) for each in entry.get("top_logprobs") or ()]
    return _with_itself(str(entry["token"]), entry.get("logprob"), top)


def _of_completion(given: dict[str, Any]) -> tuple[TokenChoice, ...]:
    tokens = given["tokens"]
    own = given.get("token_logprobs") or [None] * len(tokens)
    tops = given.get("top_logprobs") or [None] * len(tokens)
    return tuple(
        _with_itself(str(token), logprob, [(str(t), _log(lp)) for t, lp in (top or {}).items()])
        for token, logprob, top in zip(tokens, own, tops, strict=True)
    )


def _with_itself(token: str, logprob: Any, top: list[tuple[str, float]]) -> TokenChoice:
    """The alternatives with the token among them; some servers list only the others."""
    if logprob is not None and token not in dict(top):
        top = [(token, _log(logprob)), *top]
    return TokenChoice(token, tuple(top))


def _log(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError("a log probability is not a number")
    return number


def guidance_for(kind: GuidanceKind, labels: Sequence[str]) -> Guidance | None:
    """The rule that a reply with one of these labels keeps to; None where it is only asked for."""
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


DONE = "[DONE]"  # the data of the last event
THINK, THOUGHT = "<think>", "</think>"
# Reasoning models begin with them; a reply that was cut may hold nothing else.
THOUGHTS = re.compile(rf"\A\s*{THINK}.*?(?:{THOUGHT}|\Z)", re.DOTALL)


def chunk_of(data: str, told: Callable[[str], str]) -> dict[str, Any]:
    """The object that an event holds.

    Raises:
        BadReply: it holds none.
    """
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadReply(f"A piece of the reply is no JSON: {told(data)}", 200) from error
    if not isinstance(chunk, dict):
        raise BadReply(f"A piece of the reply is no chat completion: {told(data)}", 200)
    return chunk


class Streamed:
    """One reply on its way."""

    def __init__(self, key: str) -> None:
        self._shown = _Shown(key)
        self._texts: list[str] = []
        self._tokens: list[TokenChoice] = []
        self._ended: str | None = None  # why, as the server says it
        self._counts: list[int | None] = [None, None]

    @property
    def ended(self) -> bool:
        """Whether the server said that this is all; not every one sends `DONE`."""
        return self._ended is not None

    def add(self, chunk: dict[str, Any]) -> str:
        """What may be shown now, after this piece.

        Raises:
            BadReply: it is no piece of a chat completion.
        """
        usage = chunk.get("usage")  # in the last piece, which has no choices then
        if isinstance(usage, dict):
            counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
            self._counts = [count if isinstance(count, int) else None for count in counts]
        try:
            choice = (chunk.get("choices") or [{}])[0]
            text = (choice.get("delta") or {}).get("content")
        except (KeyError, TypeError, AttributeError) as error:
            raise BadReply("A piece of the reply is no chat completion.", 200) from error
        self._ended = choice.get("finish_reason") or self._ended
        self._tokens += tokens_of(choice)
        return self._said(self._shown.add(text)) if isinstance(text, str) else ""

    def done(self) -> str:
        """The server said `DONE`, or nothing more: the rest, which was held back."""
        return self._said(self._shown.rest())

    def whole(self) -> Completion:
        """The reply as `generate` gives it.

        Raises:
            BadReply: it has no text.
        """
        text = "".join(self._texts)
        checked_text(text, self._ended)
        n_prompt, n_reply = self._counts
        tokens = tuple(self._tokens)
        return Completion(text, self._ended != "length", n_prompt, n_reply, tokens)

    def _said(self, text: str) -> str:
        self._texts.append(text)
        return text


def checked_text(text: str, ended: object) -> str:
    """A reply's text without what was thought before it.

    Raises:
        BadReply: nothing is left.
    """
    said = THOUGHTS.sub("", text).strip()
    if not said:
        cut = " It was cut: raise max_tokens." if ended == "length" else ""
        raise BadReply(f"The reply holds no text.{cut}", 200)
    return said


class _Shown:
    """Takes text in pieces and gives it without thoughts, the key, and white space around it."""

    def __init__(self, key: str) -> None:
        self._key, self._held = key, ""
        self._take: Callable[[], str] = self._beginning

    def add(self, text: str) -> str:
        self._held += text
        return self._take()

    def rest(self) -> str:
        """What was held back and turned out to be text."""
        if self._take == self._thinking:
            return ""
        return self._redacted().strip()

    def _beginning(self) -> str:
        self._held = self._held.lstrip()
        if self._held.startswith(THINK):
            self._take = self._thinking
        elif not THINK.startswith(self._held):
            self._take = self._saying
        else:
            return ""
        return self._take()

    def _thinking(self) -> str:
        _, mark, after = self._held.partition(THOUGHT)
        if not mark:
            self._held = self._held[1 - len(THOUGHT) :]  # it may be cut in two
            return ""
        self._held, self._take = after, self._after_thinking
        return self._take()

    def _after_thinking(self) -> str:
        self._held = self._held.lstrip()
        if not self._held:
            return ""
        self._take = self._saying
        return self._take()

    def _saying(self) -> str:
        text = self._redacted()
        ready = text[: len(text) - self._of_key(text)].rstrip()
        self._held = text[len(ready) :]
        return ready

    def _redacted(self) -> str:
        return self._held.replace(self._key, "[key]") if self._key else self._held

    def _of_key(self, text: str) -> int:
        """Characters at the end with which the key may begin."""
        longest = min(len(self._key) - 1, len(text))
        return next((n for n in range(longest, 0, -1) if text.endswith(self._key[:n])), 0)


KEY_VARIABLE = "PINCITE_CHAT_KEY"
JUDGE_KEY_VARIABLE = "PINCITE_JUDGE_KEY"  # another server may have another key
EMBEDDINGS_KEY_VARIABLE = "PINCITE_EMBEDDINGS_KEY"


class ChatClient(Client):
    """A `Generator` and `StreamingGenerator` over HTTP. Safe to use from several threads."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        limits: Limits | None = None,
        dialect: Dialect = "openai",
    ) -> None:
        """`url`: up to `/v1`; `key`: as the server gave it, or "" where it wants none."""
        super().__init__(checked_url(url, "chat.url", KEY_VARIABLE), key, limits)
        if not model:
            raise ConfigError("chat.model is empty; expected the name of a model of the server.")
        self.model, self._dialect = model, dialect
        # What the server's models do not take: the field, and its name there ("" leaves it out).
        self._renamed: dict[str, str] = {}

    @classmethod
    def from_environment(
        cls,
        url: str,
        model: str,
        limits: Limits | None = None,
        dialect: Dialect = "openai",
        variable: str = KEY_VARIABLE,
    ) -> "ChatClient":
        """A client with the key that the environment's variable holds, if it holds one."""
        return cls(url, model, os.environ.get(variable, "").strip(), limits, dialect)

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
        return self._each(self._answer, prompts)

    def _answer(self, prompt: Prompt, call: Call) -> Completion | ServerError:
        try:
            return self._completion(prompt, call)
        except ServerError as error:
            if isinstance(error, ServerRefused) and error.lasting:
                call.refused = error
            return error

    def stream(self, prompt: Prompt) -> Iterator[str | Completion | ServerError]:
        """A reply piece by piece while it is written, then the whole, or why there is none.

        The pieces together are the text of the `Completion` that ends them. A `ServerError` in its
        place ends them too: what came before it is all that there is. Until the first piece a busy
        server is asked again as in `generate`. Closing the iterator ends the request; its time
        limit goes on while the caller looks at a piece.
        """
        call = Call()
        self._calls.add(call)
        try:
            yield from self._streamed(prompt, call)
        except ServerError as error:
            yield error
        finally:
            self._calls.discard(call)

    def _streamed(self, prompt: Prompt, call: Call) -> Iterator[str | Completion]:
        attempt, told = 1, False
        while True:
            self._check_wanted(call)
            try:
                for piece in self._pieces(prompt, call):
                    told = True
                    yield piece
                return
            except Retry as retry:
                if told:  # what was shown is not taken back
                    raise retry.error from None
                self._wait(retry, attempt, call)
            attempt += 1

    def _pieces(self, prompt: Prompt, call: Call) -> Iterator[str | Completion]:
        """What may be shown, then the whole."""
        reply, done = Streamed(self._key), False
        for data in self._events(prompt, call):
            if isinstance(data, bytes):  # from a server that does not stream
                whole = self._without_key(_read(data, self._wire.told))
                yield from (whole.text, whole)
                return
            done = data == DONE
            if not done:
                chunk = chunk_of(data, self._wire.told)
                if chunk.get("error"):
                    raise self._failure(_status_of(chunk["error"]), {}, data.encode())
                said = reply.add(chunk)
                if said:
                    yield said
        if not (done or reply.ended):
            raise Retry(ServerUnreachable(f"{self.url} broke off in the middle of its reply."))
        rest = reply.done()
        if rest:
            yield rest
        yield self._without_key(reply.whole())

    def _events(self, prompt: Prompt, call: Call) -> Iterator[str | bytes]:
        """The data of the events up to `DONE`; or the body, where the server sends no events."""
        while True:
            names = dict(self._renamed)
            request = self._request(prompt, names, stream=True)
            with self._wire.opened(request, call) as response:
                status, headers = response.status_code, dict(response.headers)
                if status == 200 and headers.get("content-type", "").lower().startswith(EVENTS):
                    for data in self._wire.events(response):
                        yield data
                        if data == DONE:
                            return
                    body = None
                else:
                    body = self._wire.body(response)
            if body is None:
                return
            if status == 200:
                yield body
                return
            if not (status == 400 and self._adapted(names, body)):
                raise self._failure(status, headers, body)

    def _completion(self, prompt: Prompt, call: Call) -> Completion:
        """One reply; waits and asks again where that may help.

        Raises:
            ServerError: as its kinds say.
        """
        return self._persistently(
            lambda: self._without_key(_read(self._post(prompt, call), self._wire.told)), call
        )

    def _post(self, prompt: Prompt, call: Call) -> bytes:
        """The body of a good reply; a field that the model does not take is left out or renamed."""
        while True:
            names = dict(self._renamed)  # another thread may change it meanwhile
            with self._wire.opened(self._request(prompt, names), call) as response:
                status, headers = response.status_code, dict(response.headers)
                body = self._wire.body(response)
            if status == 200:
                return body
            if not (status == 400 and self._adapted(names, body)):
                raise self._failure(status, headers, body)

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
        fields |= guided(prompt.guidance, self._dialect)
        named = {names.get(name, name): value for name, value in fields.items()}
        return {name: value for name, value in named.items() if name}

    def _adapted(self, names: dict[str, str], body: bytes) -> bool:
        """Whether the server named a field that this model wants otherwise, and now gets so.

        OpenAI's reasoning models know `max_completion_tokens` only, and no temperature.
        """
        refused = error_of(body).get("param")
        other = {"max_tokens": "max_completion_tokens"}
        other |= dict.fromkeys(("temperature", "seed", "stream_options"), "")
        if refused not in other or refused in names:
            return False
        self._renamed[refused] = other[refused]
        return True

    def _without_key(self, reply: Completion) -> Completion:
        """A reply that repeats the key does not reach a report or a trace with it."""
        if not self._key:
            return reply
        leaked = self._key in "".join(choice.token for choice in reply.tokens)
        tokens: tuple[TokenChoice, ...] = () if leaked else reply.tokens
        return replace(reply, text=reply.text.replace(self._key, "[key]"), tokens=tokens)


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
        shown = told(body[: 4 * SHOWN].decode("utf-8", "replace"))
        raise BadReply(f"The reply is no chat completion: {shown or 'it is empty'}", 200) from error
    said = checked_text(text if isinstance(text, str) else "", ended)
    n_prompt, n_reply = (count if isinstance(count, int) else None for count in counts)
    return Completion(said, ended != "length", n_prompt, n_reply, tokens_of(choice))


def _status_of(error: object) -> int:
    """The status that an error in the middle of a reply would have had; 500 where it has none."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500
