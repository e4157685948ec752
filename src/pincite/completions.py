"""Shared data types of language models: prompts, completions, usage."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, Literal, NamedTuple


class Guidance(NamedTuple):
    """The required format of a reply, enforced by some servers."""

    kind: Literal["json", "regex", "grammar"]
    rule: str  # JSON Schema as text, regular expression, or GBNF grammar


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; quoted text in it is fenced (`llm.templates.fence`)."""

    user: str
    system: str = ""
    max_tokens: int = 256  # of the reply
    temperature: float = 0.0
    seed: int | None = 13  # for servers that support it
    top_logprobs: int = 0  # alternatives to return per token; 0: none
    guidance: Guidance | None = None  # required format of the reply
    fields: Mapping[str, Any] | None = None  # of the request; they replace those made of the rest


class TokenChoice(NamedTuple):
    """A token of a reply, with its alternatives."""

    token: str
    top: tuple[tuple[str, float], ...]  # token, its ln probability; includes this one


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply. Token counts are the server's; None if it gives none."""

    text: str
    complete: bool = True  # False: cut at `max_tokens`
    n_prompt_tokens: int | None = None
    n_reply_tokens: int | None = None
    tokens: tuple[TokenChoice, ...] = ()  # empty unless requested and returned


@dataclass(frozen=True, slots=True)
class Usage:
    """A run's use of language models."""

    n_calls: int = 0
    n_failed: int = 0  # calls without a reply
    n_unreadable: int = 0  # replies that could not be parsed
    n_reused: int = 0  # replies reused from an earlier trace
    n_prompt_tokens: int = 0
    n_reply_tokens: int = 0
    cost: float = 0.0  # in the currency of the configured prices
    seconds: float = 0.0  # of the whole run

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))
