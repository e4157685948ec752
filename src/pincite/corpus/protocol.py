"""What every corpus can do, what some can besides, and how an engine gives one for an address."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pincite.corpus.catalogue import After, Contents, Listed, Which
from pincite.corpus.dense import Kind
from pincite.corpus.durable import Tell
from pincite.protocols import Encoder, Floats, Retriever, WordRetriever
from pincite.retrieval.filters import Filters
from pincite.retrieval.fusion import Mode
from pincite.types import Document, Passage, Span

Address: TypeAlias = Path | str  # a folder, or `scheme://…`
Way: TypeAlias = Literal["hybrid", "lexical", "dense"]
Comparison: TypeAlias = Literal["new", "changed", "same"]
NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    """How a corpus stands; sizes in bytes."""

    n_documents: int
    n_passages: int
    n_bytes: Mapping[str, int]  # by part, as far as the engine tells; see `EmbeddedCorpus.status`
    encoder: str
    created: str
    sequence: int  # of the last committed batch
    lexical_sequence: int  # of the last batch that the word index holds; -1 without an index
    unfinished_rebuild: bool

    @property
    def n_batches_behind(self) -> int:
        """How many batches the word index has still to replay."""
        return self.sequence - self.lexical_sequence


class Corpus(Protocol):
    """Documents that can be added, deleted, looked up by url and searched by text or meaning.

    A context manager: closed at the end. `tests/support/laws.py` has its laws.
    """

    @property
    def name(self) -> str:
        """What people call it: the last part of its address."""
        ...

    @property
    def encoder(self) -> Encoder | None:
        """The encoder that it was opened with."""
        ...

    @property
    def has_vectors(self) -> bool:
        """Whether it can be searched by meaning, given its encoder."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...

    def __enter__(self) -> "Corpus": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def add(self, documents: Sequence[Document]) -> int:
        """Commit the documents; returns how many were new or changed.

        A document with the address of a stored one replaces it; an equal one is skipped. What was
        committed is found by the next search, and a kill loses no more than this call.
        """
        ...

    def indexing_behind(self) -> AbstractContextManager[None]:
        """Inside, searches may find what is added a little later; at the end they find it all."""
        ...

    def delete(self, urls: Sequence[str]) -> int:
        """Remove the documents at `urls`; returns how many there were."""
        ...

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """The documents at `urls`, in order; None where there is none."""
        ...

    def ids(self, urls: Sequence[str]) -> list[str | None]:
        """The ids of the documents at `urls`, in order; None where there is none."""
        ...

    def compared(self, documents: Sequence[Document]) -> list[Comparison]:
        """What `add` would do with each: a new address, another content, or nothing to do."""
        ...

    def lexical(
        self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS
    ) -> WordRetriever:
        """Search by words, among the documents that `filters` accepts and on no site of these."""
        ...

    def dense(self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS) -> WordRetriever:
        """Search by meaning, among the same documents; raises CorpusError without vectors.

        The texts of a weighted query are read as one.
        """
        ...

    def by(
        self,
        way: Way,
        exclude: Collection[str] = (),
        filters: Filters = NO_FILTERS,
        mode: Mode = "weighted",
    ) -> Retriever:
        """Search by words, by meaning, or by both ranked together in this mode."""
        ...

    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        """Of each document at most `k` passages, the nearest to the question in meaning first."""
        ...

    def counted(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        """How many passages there are; for each word its form and how many of them have it."""
        ...

    def manifest(self) -> Mapping[str, str]:
        """What results record to be repeatable: at least encoder, digest, versions, rules."""
        ...

    def status(self) -> CorpusStatus:
        """Counts, sizes, and whether anything is still to be done."""
        ...


@runtime_checkable
class Copied(Corpus, Protocol):
    """A corpus that gives out its documents with their vectors, and takes them in: for copying."""

    def urls(self) -> Iterator[str]:
        """All addresses, in an order that stays."""
        ...

    def vectors(self, passages: Sequence[Passage]) -> Mapping[str, Floats]:
        """The stored vectors of those passages that have one, by passage id."""
        ...

    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        """As `add`; a passage whose id is in `known` has that vector and is not encoded."""
        ...


@runtime_checkable
class Catalogue(Protocol):
    """A corpus that can be leafed through: what the web's pages of a corpus need."""

    def listed(self, which: Which, limit: int, after: After | None = None) -> list[Listed]:
        """At most `limit` documents, without their texts, behind the place `after`."""
        ...

    def contents(self) -> Contents:
        """What the documents are, counted."""
        ...

    def by_id(self, doc_id: str) -> tuple[Document, list[Span]] | None:
        """The document with this id and its passages, in order; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    kind: str  # pointer, store, document, vector, words, meaning, leftover
    place: str
    problem: str
    remedy: str
    repaired: bool = False

    @property
    def counts(self) -> bool:
        """Whether the corpus is unsound by it: a leftover takes space and changes no answer."""
        return self.kind != "leftover" and not self.repaired


class Engine(Protocol):
    """Corpora of one kind, by address. An entry point of the group `pincite.corpora` is one.

    The entry point's name is the scheme of the addresses: `milvus` of `milvus://host:19530/name`.
    """

    def exists(self, address: Address) -> bool:
        """Whether there is a corpus that `open` would look into."""
        ...

    def encoder_of(self, address: Address) -> str:
        """The fingerprint of the encoder that the corpus was built with, or "none"."""
        ...

    def create(self, address: Address, encoder: Encoder | None) -> Corpus:
        """A new, empty corpus, open for writing; raises CorpusError if there is one."""
        ...

    def open(self, address: Address, encoder: Encoder | None, *, write: bool = False) -> Corpus:
        """An existing one; raises CorpusError, and StaleCorpus where encoder or rules differ."""
        ...


@runtime_checkable
class Verifies(Protocol):
    """An engine that can say whether a corpus is whole, and mend what is derived."""

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """What is wrong with it, worst first."""
        ...


@runtime_checkable
class Optimizes(Protocol):
    """An engine that can make a corpus compact."""

    def optimize(self, address: Address, tell: Tell, index: Kind | None) -> str:
        """What was gained, as people read it."""
        ...


@runtime_checkable
class Rebuilds(Protocol):
    """An engine that can rebuild a corpus in place."""

    def rebuild(
        self,
        address: Address,
        encoder: Encoder | None,
        progress: Callable[[int, int], None],
        index: Kind | None,
    ) -> None:
        """From the stored documents, with this encoder and today's rules."""
        ...
