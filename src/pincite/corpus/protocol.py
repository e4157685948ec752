"""What every corpus can do, and how an engine opens one."""

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
    """Counts and sizes of a corpus."""

    n_documents: int
    n_passages: int
    n_bytes: Mapping[str, int]  # by part, as far as the engine knows
    encoder: str
    created: str
    sequence: int  # of the last committed batch
    lexical_sequence: int  # of the last batch in the word index; -1 without an index
    unfinished_rebuild: bool

    @property
    def n_batches_behind(self) -> int:
        return self.sequence - self.lexical_sequence


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a corpus."""

    kind: str  # pointer, store, document, vector, words, meaning, leftover
    place: str
    problem: str
    remedy: str
    repaired: bool = False

    @property
    def counts(self) -> bool:
        """Whether it makes the corpus unsound: a leftover only takes space."""
        return self.kind != "leftover" and not self.repaired


class Corpus(Protocol):
    """Documents that can be added, deleted, looked up by url and searched by text or meaning.

    A context manager. `ranking.Searchable` implements what engines have in common, and
    `tests/support/laws.py` has its laws.
    """

    @property
    def name(self) -> str:
        """The last part of its address."""
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
        """Close files and connections."""
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

        A document with the address of a stored one replaces it; an equal one is skipped. The next
        search finds what was committed, and a kill loses no more than this call.
        """
        ...

    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        """As `add`; a passage whose id is in `known` gets that vector and is not encoded."""
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

    def urls(self) -> Iterator[str]:
        """All addresses, in a stable order."""
        ...

    def vectors(self, passages: Sequence[Passage]) -> Mapping[str, Floats]:
        """The stored vectors of those passages that have one, by passage id."""
        ...

    def compared(self, documents: Sequence[Document]) -> list[Comparison]:
        """What `add` would do with each: a new address, another content, or nothing to do."""
        ...

    def lexical(
        self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS
    ) -> WordRetriever:
        """Search by words, among the documents that `filters` accepts and not on these sites."""
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
        """The top-k passages of each document, the nearest in meaning to the question first."""
        ...

    def counted(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        """The number of passages; for each word its form and how many of them have it."""
        ...

    def manifest(self) -> Mapping[str, str]:
        """What results record to be repeatable: at least encoder, digest, versions, rules."""
        ...

    def status(self) -> CorpusStatus:
        """Counts, sizes, and whether anything is unfinished."""
        ...


@runtime_checkable
class Catalogue(Protocol):
    """A corpus that can list its documents, as the web pages of a corpus need."""

    def listed(self, which: Which, limit: int, after: After | None = None) -> list[Listed]:
        """At most `limit` documents, without their texts, behind the place `after`."""
        ...

    def contents(self) -> Contents:
        """Counts of documents by kind, language and date."""
        ...

    def by_id(self, doc_id: str) -> tuple[Document, list[Span]] | None:
        """The document with this id and its passages, in order; None if there is none."""
        ...


class Engine(Protocol):
    """Corpora of one kind, by address. An entry point of the group `pincite.corpora` is one.

    The entry point's name is the scheme of the addresses: `milvus` of `milvus://host:19530/name`.
    """

    def exists(self, address: Address) -> bool:
        """Whether there is a corpus that `open` would open."""
        ...

    def encoder_of(self, address: Address) -> str:
        """The fingerprint of the encoder that the corpus was built with, or "none"."""
        ...

    def create(self, address: Address, encoder: Encoder | None) -> Corpus:
        """A new, empty corpus, open for writing; raises CorpusError if there is one."""
        ...

    def open(self, address: Address, encoder: Encoder | None, *, write: bool = False) -> Corpus:
        """An existing one; raises CorpusError, and StaleCorpus if encoder or rules differ."""
        ...

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """What is wrong with it, worst first; `repair` rebuilds what is derived."""
        ...

    def optimize(self, address: Address, tell: Tell, index: Kind | None) -> str:
        """Make it compact; returns a sentence that says what was gained."""
        ...

    def rebuild(
        self,
        address: Address,
        encoder: Encoder | None,
        progress: Callable[[int, int], None],
        index: Kind | None,
    ) -> None:
        """Rebuild it from the stored documents, with this encoder and today's rules."""
        ...
