"""Open or create a corpus by address: a folder is embedded, `scheme://…` needs another engine.

Packages provide an engine through an entry point of the group `pincite.corpora`, whose name is the
scheme and which loads a `protocol.Engine`. `pincite-cluster` has `postgresql://`.

One process writes an embedded corpus; any number read meanwhile and see each batch at their next
call (by words a little later during `indexing_behind`). The next process that opens it repairs what
a killed one left.
"""

import contextlib
import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import entry_points
from pathlib import Path

from pincite.corpus import generation
from pincite.corpus.generation import (
    POINTER,
    Generation,
    check_fit,
    check_same,
    current_name,
    encoding_with,
    following,
    holds_documents,
    new_generation,
    point_to,
    reusing,
    sweep,
)
from pincite.corpus.lexical import LEXICAL_RULE
from pincite.corpus.protocol import (
    Address,
    After,
    Comparison,
    Contents,
    Corpus,
    CorpusRetriever,
    CorpusStatus,
    Engine,
    Finding,
    IndexKind,
    ListedDocument,
    Merge,
    Selection,
    best,
    merge_runs,
    text_of,
)
from pincite.corpus.store import Place, content_hash
from pincite.durable import Tell, WriterLock, n_bytes
from pincite.errors import ConfigError, CorpusError, MissingExtra, install_command, usable
from pincite.protocols import Encoder, Floats, Query
from pincite.text.hosts import is_below
from pincite.types import Document, Hit, Passage, Span


class EmbeddedCorpus(Corpus):
    """A corpus in one folder.

    Make one with `create` or `open`. It is thread-safe; calls run one at a time.
    """

    def __init__(self, folder: Path, encoder: Encoder | None, lock: WriterLock) -> None:
        self._folder, self.address = folder, str(folder)
        self.encoder = encoder
        self._lock = lock
        self._mutex = threading.RLock()
        self._is_same = False  # whether `_check_encoder` has passed
        self._generation, self._name = _open(folder, encoder, write=lock.held)
        writes = lock.held  # a reader must not block writers while an index is rebuilt
        # A damaged document must not prevent opening the corpus to delete it: searches that still
        # work run, the others raise.
        with self._lock.attempt() as held, contextlib.suppress(CorpusError):
            if held:
                sweep(self._folder, self._name)
                self._generation.catch_up(purge=writes)
        if not writes:
            with contextlib.suppress(CorpusError):
                self._generation.lexical.index_in_memory()

    @classmethod
    def create(cls, folder: Path, encoder: Encoder | None) -> "EmbeddedCorpus":
        """Create an empty corpus, open for writing; raises CorpusError if there is anything."""
        with usable(folder, "created", CorpusError):
            folder.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(folder)
        lock.acquire()
        try:
            _require_room(folder)
            new_generation(folder / "g1", encoder)
            point_to(folder, "g1")
            return cls(folder, encoder, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls, folder: Path, encoder: Encoder | None, *, write: bool = False
    ) -> "EmbeddedCorpus":
        """Open an existing corpus; see `engines.open`."""
        current_name(folder)
        lock = WriterLock(folder)
        if write:
            lock.acquire()
        try:
            return cls(folder, encoder, lock)
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        with self._mutex:
            self._generation.close()
            self._lock.release()

    @property
    def name(self) -> str:
        return self._folder.resolve().name

    @property
    def has_vectors(self) -> bool:
        return self._generation.has_vectors

    def built_with(self) -> str:
        return self._generation.fingerprint

    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        with self._mutex:
            self._require_write()
            if self.has_vectors:
                self.needed_encoder()
            self._check_encoder()
            encode = encoding_with(self.encoder) if self.encoder else None
            if encode and known:
                encode = reusing(lambda batch: known, encode)
            return self._generation.add(documents, encode)

    def urls(self) -> Iterator[str]:
        with self._mutex:
            return iter(list(self._generation.store.urls()))

    def vectors(self, passages: Sequence[Passage]) -> dict[str, Floats]:
        with self._current() as generation:
            dim = int(generation.store.manifest()["dim"])
            return generation.store.vectors_of(passages, dim) if dim else {}

    def indexing_behind(self) -> AbstractContextManager[None]:
        return self._generation.indexing_behind()

    def delete(self, urls: Sequence[str]) -> int:
        with self._mutex:
            self._require_write()
            return self._generation.delete(urls)

    def compare(self, documents: Sequence[Document]) -> list[Comparison]:
        with self._current() as generation:
            hashes = [generation.store.hash_at(document.url) for document in documents]
        return [
            "new" if digest is None else "same" if digest == content_hash(document) else "changed"
            for digest, document in zip(hashes, documents, strict=True)
        ]

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        with self._current() as generation:
            return [generation.store.document(url) for url in urls]

    def ids(self, urls: Sequence[str]) -> list[str | None]:
        with self._current() as generation:
            return [generation.store.id_at(url) for url in urls]

    def list_documents(
        self, selection: Selection, limit: int, after: After | None = None
    ) -> list[ListedDocument]:
        with self._current() as generation:
            return generation.store.list_documents(selection, limit, after)

    def contents(self) -> Contents:
        with self._current() as generation:
            return generation.store.contents()

    def by_id(self, doc_id: str) -> tuple[Document, list[Span]] | None:
        with self._current() as generation:
            url = generation.store.url_of(doc_id)
            if url is None or (document := generation.store.document(url)) is None:
                return None
            return document, generation.store.spans_at(url)

    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        if self.encoder is None or not self._generation.has_vectors or not urls:
            return [[] for _ in urls]
        (vector,) = self.encoder.encode([question], "query")
        with self._current() as generation:
            return [generation.store.nearest_at(url, vector, k) for url in urls]

    def count_words(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        with self._current() as generation:
            return generation.lexical.count_words(words)

    def manifest(self) -> Mapping[str, str]:
        with self._current() as generation:
            return {**generation.store.manifest(), "lexical_rule": LEXICAL_RULE}

    def status(self) -> CorpusStatus:
        with self._current() as generation:
            manifest = generation.store.manifest()
            unfinished = self._folder / following(self._name)
            return CorpusStatus(
                n_documents=generation.store.n_documents(),
                n_passages=generation.store.n_passages(),
                n_bytes=_sizes(generation.folder) | {"unfinished": n_bytes(unfinished)},
                encoder=manifest["encoder"],
                created=manifest["created"],
                sequence=int(manifest["sequence"]),
                lexical_sequence=generation.lexical.sequence,
                unfinished_rebuild=unfinished.exists(),
            )

    @property
    def is_complete(self) -> bool:
        with self._current() as generation:
            return generation.lexical.sequence >= generation.store.sequence

    def together(
        self, searches: Sequence[tuple[CorpusRetriever, Sequence[Query]]], n: int, merge: Merge
    ) -> list[list[Hit]]:
        encoded = [(search, queries, self._encode(search, queries)) for search, queries in searches]
        with self._current() as generation:
            ranked = [self._rank(generation, *one, n) for one in encoded]
            return merge_runs(generation.store.passages, ranked, merge)

    def _encode(self, retriever: CorpusRetriever, queries: Sequence[Query]) -> Floats | None:
        if self.encoder is None or retriever.by != "dense" or not queries:
            return None
        self._check_encoder()
        return self.encoder.encode(list(map(text_of, queries)), "query")

    def _rank(
        self,
        generation: Generation,
        retriever: CorpusRetriever,
        queries: Sequence[Query],
        vectors: Floats | None,
        k: int,
    ) -> list[list[tuple[Place, float]]]:
        store, filters = generation.store, retriever.filters
        accepted = generation.accepted.of(filters) if filters else None
        if vectors is not None:
            generation.dense.open()
        has_words = [any(map(str.isalnum, text_of(query))) for query in queries]

        def search(positions: Sequence[int], depth: int) -> list[list[tuple[int, float]]]:
            if not (asked := [i for i in positions if has_words[i]]):
                return [[] for _ in positions]
            if vectors is not None:
                rows = generation.dense.search(vectors[asked], depth, accepted)
            else:
                rows = generation.lexical.search([queries[i] for i in asked], depth, accepted)
            by_position = dict(zip(asked, rows, strict=True))
            return [by_position.get(i, []) for i in positions]

        def places_of(keys: Iterable[int]) -> dict[int, Place]:
            places = store.places(keys)
            return {k: p for k, p in places.items() if not is_below(p.url, retriever.exclude)}

        return best(search, places_of, len(queries), k)

    def _check_encoder(self) -> None:
        if self.encoder and not self._is_same:
            with self._current() as generation:
                check_same(generation.store, self.encoder)
            self._is_same = True

    @contextmanager
    def _current(self) -> Iterator[Generation]:
        """Yield the current generation in one committed state, with an up-to-date word index."""
        with self._mutex:
            while True:
                if self._name != current_name(self._folder):  # rebuilt by another process
                    self._generation.close()
                    self._generation, self._name = _open(self._folder, self.encoder, write=False)
                # Before the snapshot: an index ahead of it is harmless, one behind it is not.
                self._generation.lexical.open()
                if self._name == current_name(self._folder):  # else it may be half removed
                    break
            with self._generation.store.snapshot():
                yield self._generation

    def _require_write(self) -> None:
        if not self._lock.held:
            raise CorpusError(
                f"{self._folder} was opened for reading. Open it with write=True to change it."
            )


def is_corpus(folder: Path) -> bool:
    """Whether the folder holds a corpus that `EmbeddedCorpus.open` would try to open."""
    return (folder / POINTER).exists()


def _open(folder: Path, encoder: Encoder | None, *, write: bool) -> tuple[Generation, str]:
    """Open the current generation; retry if it is replaced meanwhile."""
    while True:
        name = current_name(folder)
        try:
            generation = Generation(folder / name, write=write)
        except CorpusError:
            if current_name(folder) == name:
                raise
            continue
        try:
            check_fit(folder, generation.store.manifest(), encoder)
        except CorpusError:
            generation.close()
            raise
        return generation, name


def _require_room(folder: Path) -> None:
    if is_corpus(folder):
        raise CorpusError(f"{folder} is already a corpus. Open it, or choose another folder.")
    if holds_documents(folder):
        raise CorpusError(
            f"{folder} has documents, but {POINTER}, which names the build in use, is missing. "
            f"Repair it: pincite corpus verify {folder} --repair"
        )
    if others := sorted(f.name for f in folder.iterdir() if f.name not in ("lock", "g1")):
        raise CorpusError(
            f"{folder} contains something else ({others[0]}). A corpus needs a folder of its own: "
            "choose a new or empty one."
        )


def _sizes(generation: Path) -> dict[str, int]:
    """Return bytes by part: a file's or folder's name up to the first non-letter."""
    sizes = {"store": 0, "lexical": 0, "dense": 0}
    with contextlib.suppress(FileNotFoundError):  # replaced by a new build meanwhile
        for path in generation.iterdir():
            part = re.split(r"[^a-z]", path.name)[0]
            if part in sizes:
                sizes[part] += n_bytes(path)
    return sizes


class Folders:
    """The `protocol.Engine` for folders; imports `maintenance` only to maintain one."""

    def exists(self, address: Address) -> bool:
        return is_corpus(Path(address))

    def encoder_of(self, address: Address) -> str:
        return generation.encoder_of(Path(address))

    def create(self, address: Address, encoder: Encoder | None) -> EmbeddedCorpus:
        return EmbeddedCorpus.create(Path(address), encoder)

    def open(
        self, address: Address, encoder: Encoder | None, *, write: bool = False
    ) -> EmbeddedCorpus:
        return EmbeddedCorpus.open(Path(address), encoder, write=write)

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        from pincite.corpus import maintenance

        return maintenance.verify(Path(address), repair=repair, tell=tell)

    def optimize(self, address: Address, tell: Tell, index: IndexKind | None) -> str:
        from pincite.corpus import maintenance

        before, after = maintenance.optimize(Path(address), tell, index)
        return f"{before:,} bytes before, {after:,} after: {before - after:,} bytes gained."

    def rebuild(
        self,
        address: Address,
        encoder: Encoder | None,
        progress: Callable[[int, int], None],
        index: IndexKind | None,
    ) -> None:
        from pincite.corpus import maintenance

        maintenance.rebuild(Path(address), encoder, progress, index)


# ── Engines by address ────────────────────────────────────────────────────────────────────────────

ENGINE = Folders()
GROUP = "pincite.corpora"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}(?!/)(.*)", re.DOTALL)
# scheme → the extra with its engine
_EXTRAS = {"postgresql": "postgres"}
# A password may have a slash in it. The name of a PostgreSQL user is no secret.
_SECRET = re.compile(r"//[^?]*@")
_USER = re.compile(r"postgresql://[^/@:?]+@[^@?]*(\?|$)")


def address(where: Address) -> Address:
    """An address as engines take it: a folder as a path, all else as text.

    A path that a shell or `Path` made of `scheme://host/name` has lost a slash, and gets it back.

    >>> address("postgresql://db.example/facts/wafer"), address("kb")
    ('postgresql://db.example/facts/wafer', PosixPath('kb'))
    """
    match = _SCHEME.fullmatch(str(where))
    if match and not (isinstance(where, Path) and where.exists()):
        return f"{match[1]}://{match[2]}"
    return Path(where)


def name_of(where: Address) -> str:
    """The corpus's name: the last part of its address.

    >>> name_of("postgresql://db.example/facts/wafer?sslmode=require")
    'wafer'
    """
    place = address(where)
    if isinstance(place, Path):
        return place.resolve().name
    return place.partition("?")[0].rstrip("/").rpartition("/")[2]


def open(where: Address, encoder: Encoder | None, *, write: bool = False) -> Corpus:
    """Open a corpus. Without an encoder, only word search works and nothing can be added.

    Raises:
        CorpusError: There is none, it is damaged or being written, or its server does not answer.
        StaleCorpus: It was built with another encoder or passage rule.
        ConfigError: No engine handles the address, or it contains a password.
        MissingExtra: The package that provides the engine is not installed.
    """
    return engine(where).open(address(where), encoder, write=write)


def create(where: Address, encoder: Encoder | None) -> Corpus:
    """Create an empty corpus, open for writing; raises CorpusError if one exists."""
    return engine(where).create(address(where), encoder)


def open_or_create(where: Address, encoder: Encoder | None) -> Corpus:
    return open(where, encoder, write=True) if exists(where) else create(where, encoder)


def exists(where: Address) -> bool:
    return engine(where).exists(address(where))


def encoder_of(where: Address) -> str:
    """Return the fingerprint of the encoder that built the corpus, or "none"."""
    return engine(where).encoder_of(address(where))


def engine(where: Address) -> Engine:
    """Return the engine for this address; raises ConfigError and MissingExtra as `open`."""
    place = address(where)
    if isinstance(place, Path):
        return ENGINE
    if _SECRET.search(place) and not _USER.match(place):
        raise ConfigError(
            f"{_SECRET.sub('//…@', place)}: addresses appear in reports and must not contain a "
            "password. PostgreSQL's comes from ~/.pgpass, PGPASSFILE or PGPASSWORD."
        )
    scheme = place.partition(":")[0]
    points = entry_points(group=GROUP)
    for point in points:
        if point.name == scheme:
            loaded: Engine = point.load()
            return loaded
    if extra := _EXTRAS.get(scheme):
        raise MissingExtra(
            f"{place}: the engine of {scheme}:// is not installed. "
            f"Install with: {install_command(extra)}"
        )
    known = ", ".join(dict.fromkeys([*_EXTRAS, *(point.name for point in points)]))
    raise ConfigError(
        f"{place}: no engine opens corpora at {scheme}:// addresses. Expected a folder, or an "
        f"address with one of: {known}. Is the package that provides {scheme}:// installed?"
    )


def notes_of(where: Address, beside: Path) -> Path:
    """Return a local folder for notes about a corpus: the corpus folder, or one below `beside`."""
    place = address(where)
    if isinstance(place, Path):
        return place
    folder = beside / hashlib.sha256(place.partition("?")[0].encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder
