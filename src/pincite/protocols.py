"""Interfaces with one batch method each: sequences in, a list of the same order and length out.

Every implementation must satisfy these laws (`tests/support/laws.py`): empty input gives empty
output, scores are finite, repeating a call gives the same result, and inputs are not changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pincite.errors import ServerError
from pincite.types import Claim, Document, Evidence, Hit, Passage, WebResult


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


Floats: TypeAlias = npt.NDArray[np.float32]
DocumentsOf: TypeAlias = Callable[[Sequence[str]], list[Document | None]]  # by address
# (question, addresses, n) → per document, the n passages nearest to the question, best first.
Nearest: TypeAlias = Callable[[str, Sequence[str], int], list[list[Passage]]]
Progress: TypeAlias = Callable[[str, int, int | None], None]  # task, done, total
Query: TypeAlias = str | tuple[tuple[str, float], ...]  # texts, each with the weight of its words


class Encoder(Protocol):
    """Texts to unit vectors: (n_texts, dim), float32, L2-normalised."""

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str:  # name and hash of the weights: equal ones give equal vectors
        ...

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats: ...


class Retriever(Protocol):
    """For each query at most `k` hits, ranks 1, 2, …; ties break on passage id."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]: ...


class WordRetriever(Protocol):
    """A `Retriever` by words, whose queries may give weights to texts."""

    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]: ...


class Verifier(Protocol):
    """For each (claim, passage) pair its evidence."""

    @property
    def fingerprint(self) -> str: ...

    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]: ...


class Reader(Protocol):
    """For each (question, passage) pair the log-odds that the passage is relevant: (n_pairs,)."""

    def relevance(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats: ...


class WebSearch(Protocol):
    """A search engine of the web: for each query at most `k` pages, best first, each once.

    A query that fails has none; `warnings` has one message per kind of failure. `language`: ISO
    639-1, of the wanted pages; empty: any.
    """

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def search(
        self, queries: Sequence[str], k: int, language: str = ""
    ) -> list[list[WebResult]]: ...


class Generator(Protocol):
    """A language model: for each prompt its reply, or why there is none."""

    @property
    def fingerprint(self) -> str: ...

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]: ...
