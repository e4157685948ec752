"""Shared data types of language models: prompts, completions, usage."""

from dataclasses import astuple, dataclass
from typing import Literal, NamedTuple


class Guidance(NamedTuple):
    """The required format of a reply, which some servers enforce."""

    kind: Literal["json", "regex", "grammar"]
    rule: str  # a JSON Schema as text, a regular expression, a GBNF grammar


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; quoted text in it is fenced (`text.prompt_quoting`)."""

    user: str
    system: str = ""
    max_tokens: int = 256  # of the reply
    temperature: float = 0.0
    seed: int | None = 13  # for servers that heed one
    top_logprobs: int = 0  # alternatives at each token that the reply should come with; 0: none
    guidance: Guidance | None = None  # what the reply must look like


class TokenChoice(NamedTuple):
    """A token of a reply with its alternatives."""

    token: str
    top: tuple[tuple[str, float], ...]  # token, natural log of its probability; itself among them


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply; the counts are the server's, None if it gives none."""

    text: str
    complete: bool = True  # False: cut at `max_tokens`
    n_prompt_tokens: int | None = None
    n_reply_tokens: int | None = None
    tokens: tuple[TokenChoice, ...] = ()  # empty unless log probabilities were asked for and came


@dataclass(frozen=True, slots=True)
class Usage:
    """A run's use of language models."""

    n_calls: int = 0
    n_failed: int = 0  # calls without a reply
    n_unreadable: int = 0  # replies that did not say what was asked
    n_reused: int = 0  # replies taken from an earlier trace
    n_prompt_tokens: int = 0
    n_reply_tokens: int = 0
    cost: float = 0.0  # in the currency of the prices that were set
    seconds: float = 0.0  # of the whole run

    def __add__(self, other: "Usage") -> "Usage":
        """Both together."""
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))
