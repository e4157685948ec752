"""A reply that comes in pieces, put together: what may be shown of it so far, and what it was.

Neither thoughts in `<think>` nor the key reach the reader, though either may be cut anywhere
between two pieces: what may yet become one of them is held back until it is clear.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from pincite.completions import Completion, TokenChoice
from pincite.errors import BadReply
from pincite.llm.chat_fields import tokens_of

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
