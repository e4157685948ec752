"""Interfaces with one batch method each: sequences in, a list of the same order and length out.

Every implementation must satisfy these laws (`tests/support/laws.py`): empty input gives empty
output, scores are finite, repeating a call gives the same result, and inputs are not changed.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pincite.completions import Completion, Prompt
from pincite.errors import ServerError
from pincite.types import Claim, Document, Evidence, Hit, Passage, WebResult

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
