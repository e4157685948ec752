"""One client for every server that speaks OpenAI's chat completions.

llama.cpp, Ollama, vLLM and hosted ones alike, and only where a person set the address. What is said
over the wire and what comes back is read here; `chat_wire` sends it.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pincite.completions import Completion, Prompt, TokenChoice
from pincite.errors import (
    BadReply,
    ConfigError,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.llm.chat_fields import Dialect, guided, tokens_of
from pincite.llm.chat_stream import DONE, Streamed, checked_text, chunk_of
from pincite.llm.chat_wire import EVENTS, SHOWN, Call, Limits, Retry
from pincite.llm.client import Client, checked_url, error_of

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
