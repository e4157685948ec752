"""A run's calls of language models, within a budget.

`Calls` counts, caches and records. One prompt gets one reply in a run, so that a trace shows which
reply counted. A spent budget, a permanent refusal or an unreachable server ends the calls, not the
run.
"""

import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pincite.durable import CacheFile
from pincite.errors import (
    NotAsked,
    PinciteError,
    ServerBusy,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.llm.client import POLL
from pincite.notes import Note
from pincite.protocols import Completion, Generator, Prompt, TokenChoice, Usage
from pincite.types import Failed

T = TypeVar("T")
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
        replies = self.rows("SELECT reply FROM replies WHERE key = ?", (key,))
        return completion_of(json.loads(replies[0][0])) if replies else None


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
    notes = list[Note]()
    for of_model in calls:
        notes += of_model.notes
        for why, n in of_model.unanswered.items():
            notes.append(Note("no_second_opinions", {"n": n, "why": why}))
    return tuple(notes)
