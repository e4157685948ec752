"""Calls of language models within a budget: counted, remembered, and stopped together.

Every call of a run goes through one `Calls`. A reply that an earlier run paid for is not asked for
again, and one question of this run has one reply: a server may answer otherwise a second time, and
a trace could not tell which answer counted. A limit that is reached, a refusal that lasts or a
server that is gone ends the asking and not the run. What was asked and replied is recorded as it
happens.
"""

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from pincite.completions import Completion, Prompt, TokenChoice, Usage
from pincite.errors import (
    NotAsked,
    PinciteError,
    ServerBusy,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.protocols import Generator
from pincite.types import Failed

ATTEMPTS = 3  # at a readable reply; a model that fails three times has not understood the prompt
# Of a second attempt: at 0 many models write the same again whatever the seed.
RETRY_TEMPERATURE = 0.5
GIVE_UP = (
    8  # calls in a row that reached no server, each after several attempts: the server is gone
)
# What tokens are counted by, rather too many: words of small letters, digits with the space before
# them, line breaks, gaps, and single signs of any other kind.
_PIECES = re.compile(r"[A-Za-z]?[a-z]+|\n\s*| ?[0-9]|[^\S ]| {2,}|[^\sa-z0-9]")
_SHORT_WORD, _CHARS_A_TOKEN = 4, 3  # a word of so many letters is a token; of longer ones so many
_SHOWN = 80

Record = Callable[[Mapping[str, Any]], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """Most that a run may ask for; 0: no limit. Prices are for a million tokens."""

    calls: int = 0
    tokens: int = 0  # of prompts and replies together
    cost: float = 0.0
    price_prompt: float = 0.0
    price_reply: float = 0.0

    def cost_of(self, n_prompt: int, n_reply: int) -> float:
        """What so many tokens cost."""
        return (n_prompt * self.price_prompt + n_reply * self.price_reply) / 1e6


class Calls:
    """Asks the model of each step. Safe to use from several threads."""

    def __init__(
        self,
        models: Mapping[str, Generator],
        budget: Budget | None = None,
        memory: Mapping[str, Completion] | None = None,
        record: Record | None = None,
    ) -> None:
        """Ready to ask.

        Args:
            models: by step; that of "" for the steps that have none of their own.
            budget: what may be spent.
            memory: replies by `key_of` their prompt, which are then not asked for.
            record: told of each call and of each reply that could not be read.
        """
        self._models, self._memory = models, memory or {}
        self._budget = budget or Budget()
        self._record = record or _nothing
        self._lock = threading.Lock()
        self._usage = Usage()
        self._reserved = [0, 0]  # tokens of prompts and of replies under way
        self._asked: dict[str, Future[Completion | ServerError]] = {}  # by key, also under way
        self._in_a_row = 0
        self._over: ServerError | None = None  # what every further call is answered
        self.stopped = False

    @property
    def usage(self) -> Usage:
        """What was asked so far; seconds are left to the run."""
        with self._lock:
            return self._usage

    def model(self, step: str) -> Generator:
        """The model of a step."""
        return self._models.get(step) or self._models[""]

    def stop(self) -> None:
        """Answer all further calls with `NotAsked`, and end those that can be ended."""
        self.stopped = True
        self._over = self._over or NotAsked("The run was stopped.")
        for model in self._models.values():
            end = getattr(model, "stop", None)  # a capability of some: `ChatClient.stop`
            if end:
                end()

    def read(
        self,
        step: str,
        prompt: Prompt,
        about: Mapping[str, Any],
        read: Callable[[Completion], T | None],
    ) -> T | Failed:
        """What `read` makes of the reply; asks again while that is None, then fails."""
        said = ""
        for attempt in range(ATTEMPTS):
            asked = replace(prompt, seed=(prompt.seed or 0) + attempt)
            if attempt:
                asked = replace(asked, temperature=max(prompt.temperature, RETRY_TEMPERATURE))
            key, reply = self._ask(step, asked, {**about, "attempt": attempt + 1})
            if isinstance(reply, ServerError):
                return self._failure(reply)
            found = read(reply)
            if found is not None:
                return found
            said = " ".join(reply.text.split())[:_SHOWN]
            with self._lock:
                self._usage = replace(self._usage, n_unreadable=self._usage.n_unreadable + 1)
            self._record({"event": "unreadable", "key": key})
        return Failed("reply", f"{step}: no readable answer in {ATTEMPTS} replies, last “{said}”")

    def stream(self, step: str, prompt: Prompt) -> Iterator[str | Completion | ServerError]:
        """A reply as it is written, then the whole of it or why it ended; counted as any other."""
        needed = (tokens_of(prompt.system + prompt.user), prompt.max_tokens)
        refused = self._reserve(needed)
        if refused:
            yield refused
            return
        reply: Completion | ServerError = NotAsked("The run was stopped.")
        try:
            for piece in _pieces(self.model(step), prompt):
                if isinstance(piece, str):
                    yield piece
                else:
                    reply = piece
        finally:  # a reader that goes away has paid for what was asked
            self._count(reply, prompt, needed)
        yield reply

    def _failure(self, error: ServerError) -> Failed:
        if self.stopped:  # a call under way then fails as if the server were gone
            return Failed("stopped", "the run was stopped")
        return Failed("budget" if isinstance(error, NotAsked) else "server", str(error))

    def _ask(
        self, step: str, prompt: Prompt, about: Mapping[str, Any]
    ) -> tuple[str, Completion | ServerError]:
        key = key_of(prompt, self.model(step).fingerprint)
        known = self._memory.get(key)
        if known is not None:
            with self._lock:
                self._usage = replace(self._usage, n_reused=self._usage.n_reused + 1)
            return key, known
        with self._lock:
            same = self._asked.get(key)
            if same is None:
                own = self._asked[key] = Future[Completion | ServerError]()
        if same is not None:
            return key, same.result()
        try:
            reply = self._asked_now(key, step, prompt, about)
        except BaseException as error:
            own.set_exception(error)
            raise
        if isinstance(reply, ServerError):  # later it may have one
            with self._lock:
                del self._asked[key]
        own.set_result(reply)
        return key, reply

    def _asked_now(
        self, key: str, step: str, prompt: Prompt, about: Mapping[str, Any]
    ) -> Completion | ServerError:
        """The server's reply, booked and recorded."""
        model = self.model(step)
        needed = (tokens_of(prompt.system + prompt.user), prompt.max_tokens)
        refused = self._reserve(needed)
        if refused:
            return refused
        started = time.monotonic()
        reply = _asked(model, prompt)
        self._count(reply, prompt, needed)
        self._record(
            {
                "event": "call",
                "key": key,
                "step": step,
                "model": model.fingerprint,
                "about": dict(about),
                "prompt": asdict(prompt),
                "reply": asdict(reply) if isinstance(reply, Completion) else None,
                "error": None if isinstance(reply, Completion) else str(reply),
                "seconds": round(time.monotonic() - started, 3),
            }
        )
        return reply

    def _reserve(self, needed: tuple[int, int]) -> ServerError | None:
        """Room for a call in the budget, or why there is none: never more than the budget."""
        with self._lock:
            if self._over:
                return self._over
            used, budget = self._usage, self._budget
            n_prompt = used.n_prompt_tokens + self._reserved[0] + needed[0]
            n_reply = used.n_reply_tokens + self._reserved[1] + needed[1]
            limits = (
                ("max_calls", budget.calls, used.n_calls + 1),
                ("max_tokens", budget.tokens, n_prompt + n_reply),
                ("max_cost", budget.cost, budget.cost_of(n_prompt, n_reply)),
            )
            for name, limit, would_be in limits:
                if limit and would_be > limit:
                    return NotAsked(f"The budget is spent: {name} is {limit:g}. Raise it to go on.")
            self._usage = replace(used, n_calls=used.n_calls + 1)
            self._reserved = [self._reserved[0] + needed[0], self._reserved[1] + needed[1]]
            return None

    def _count(
        self, reply: Completion | ServerError, prompt: Prompt, needed: tuple[int, int]
    ) -> None:
        """Book a call; the server's counts where it gives them, else an estimate."""
        with self._lock:
            self._reserved = [self._reserved[0] - needed[0], self._reserved[1] - needed[1]]
            used = self._usage
            if isinstance(reply, ServerError):
                self._usage = replace(used, n_failed=used.n_failed + 1)
                self._note_failure(reply)
                return
            self._in_a_row = 0
            n_prompt = needed[0] if reply.n_prompt_tokens is None else reply.n_prompt_tokens
            n_reply = reply.n_reply_tokens
            n_reply = tokens_of(reply.text) if n_reply is None else n_reply
            self._usage = replace(
                used,
                n_prompt_tokens=used.n_prompt_tokens + n_prompt,
                n_reply_tokens=used.n_reply_tokens + n_reply,
                cost=used.cost + self._budget.cost_of(n_prompt, n_reply),
            )

    def _note_failure(self, error: ServerError) -> None:
        away = isinstance(error, ServerUnreachable | ServerBusy)
        self._in_a_row = self._in_a_row + 1 if away else 0
        lasting = isinstance(error, ServerRefused) and error.lasting
        if lasting or self._in_a_row >= GIVE_UP:
            self._over = self._over or error


def key_of(prompt: Prompt, fingerprint: str) -> str:
    """What a reply is remembered by: the model and everything that it was asked with."""
    content = json.dumps([fingerprint, asdict(prompt)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def completion_of(given: Mapping[str, Any]) -> Completion:
    """A reply from what `asdict` made of it."""
    tokens = tuple(
        TokenChoice(token, tuple((str(t), float(lp)) for t, lp in top))
        for token, top in given["tokens"]
    )
    return Completion(**{**given, "tokens": tokens})


def _asked(model: Generator, prompt: Prompt) -> Completion | ServerError:
    try:
        (reply,) = model.generate([prompt])
    except ServerError as error:
        return error
    except PinciteError as error:  # a setting that this server cannot serve: none would be better
        return ServerRefused(str(error))
    return reply


def _pieces(model: Generator, prompt: Prompt) -> Iterator[str | Completion | ServerError]:
    """What a model streams; one that cannot says all at once."""
    stream = getattr(model, "stream", None)  # a capability of some: `StreamingGenerator`
    if stream:
        yield from stream(prompt)
        return
    reply = _asked(model, prompt)
    if isinstance(reply, Completion):
        yield reply.text
    yield reply


def tokens_of(text: str) -> int:
    """About how many tokens a text has, rather too many."""
    return 1 + sum(map(_tokens_in, _PIECES.findall(text)))


def _tokens_in(piece: str) -> int:
    if piece[-1].islower() and piece.isascii():
        return 1 if len(piece) <= _SHORT_WORD else -(-len(piece) // _CHARS_A_TOKEN)
    if piece[-1].isdigit():
        return len(piece)
    # Of other scripts a letter may take as many as it has bytes.
    return 1 if piece.isascii() else len(piece.encode("utf-8", "replace"))


def _nothing(_: Mapping[str, Any]) -> None:
    """No record is kept."""
