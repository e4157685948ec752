"""One complete build of a corpus: a store with its two derived indexes, in one folder.

A corpus folder holds a pointer to its current generation. Rebuilding or compacting writes the next
one beside it and then moves the pointer with one rename. What `optimize` is filling is marked and
can be removed; an unfinished rebuild may hold hours of encoding and is kept.
"""

import platform
import re
import shutil
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pincite.corpus.dense import KIND, KINDS, AcceptedKeys, DenseIndex
from pincite.corpus.lexical import LexicalIndex
from pincite.corpus.protocol import Address
from pincite.corpus.store import Store, content_hash, damage_error
from pincite.durable import Tell, n_bytes, read_stamp, silent, write_stamp
from pincite.errors import CorpusError, StaleCorpus
from pincite.protocols import Encoder, Floats
from pincite.text.passages import PASSAGE_RULE, passages
from pincite.types import Document, Passage

FORMAT = "2"  # version of the folder and its tables
POINTER = "corpus.json"
COMPACTING = "compacting"  # the mark of `optimize`
_POINTED = {"pincite-corpus", "generation"}
_MANIFEST = {"format", "identity", "created", "passage_rule", "encoded_text", "encoder", "dim"}
_MANIFEST |= {"versions", "sequence", "digest"}
# An empty store takes 120 kB with its log. A larger one that cannot be read had documents.
EMPTY_BYTES = 256 << 10
NO_ENCODER = "none"  # manifest value of a corpus without vectors
INDEX_EVERY = 60.0  # seconds between index updates in a long run
# Recorded in the manifest as the name of what `passage_text` does: change both together.
ENCODED_TEXT = "title-newline-text-v1"
# Passages per encoder call: enough to sort by length. A kill costs at most the batch anyway, and
# 1,024 vectors of 384 dimensions are 1.5 MB.
ENCODED_AT_ONCE = 1_024

# Minimum cosine of a passage's stored and re-encoded vectors: batching, other hardware and float16
# change less, another model far more.
SAME = 0.98

Encode: TypeAlias = Callable[[Sequence[Passage]], Floats]


class Generation:
    """The store in `folder` and its derived indexes."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        self.store = Store.open(folder / "store.sqlite", write=write)
        try:
            manifest = _manifest(self.store)
            self.lexical = LexicalIndex(folder, self.store)
        except CorpusError:
            self.store.close()
            raise
        self.fingerprint = manifest["encoder"]
        self.dense = DenseIndex(folder, self.store, int(manifest["dim"]))
        self.accepted = AcceptedKeys(self.store)
        self._indexed_at: float | None = None  # while indexing is deferred

    def close(self) -> None:
        """Close the store and the mapped index files, which Windows could not move otherwise."""
        self.lexical.close()
        self.dense.close()
        self.store.close()

    @property
    def has_vectors(self) -> bool:
        return self.fingerprint != NO_ENCODER

    def is_built_with(self, encoder: Encoder | None) -> bool:
        """Whether its passages and vectors are what `encoder` and the current rules give."""
        return _rules(encoder).items() <= self.store.manifest().items()

    def add(self, documents: Sequence[Document], encode: Encode | None) -> int:
        """Commit the new and changed documents and update the indexes; returns their number."""
        n_new = take_in(self.store, documents, encode)
        self._follow()
        return n_new

    def delete(self, urls: Sequence[str]) -> int:
        there = [url for url in dict.fromkeys(urls) if self.store.hash_at(url) is not None]
        if there:
            with self.store.batch():
                for url in there:
                    self.store.remove(url)
        self._follow()
        return len(there)

    @contextmanager
    def indexing_behind(self) -> Iterator[None]:
        """Inside, the derived indexes are updated now and then, not after every batch.

        They are up to date at the end; after an exception, when the corpus is next opened.
        """
        self._indexed_at = time.monotonic()
        try:
            yield
        finally:
            self._indexed_at = None
        self.catch_up()

    def _follow(self) -> None:
        if self._indexed_at is None:
            self.catch_up()
        elif time.monotonic() - self._indexed_at > INDEX_EVERY:
            self.catch_up(purge=False)
            self._indexed_at = time.monotonic()

    def catch_up(self, tell: Tell = silent, *, purge: bool = True) -> None:
        """Bring the derived indexes up to date; needs the writer's lock."""
        try:
            self.lexical.catch_up(tell, purge=purge)
        finally:
            self.lexical.sweep()
        if self.has_vectors and self.dense.is_due():
            self.dense.build(tell)
        self.dense.sweep()


def new_generation(folder: Path, encoder: Encoder | None, index: str = "ivf") -> None:
    """Write an empty generation into `folder`, replacing an unfinished one.

    `index`: the kind of its vector index, as in the manifest.
    """
    folder.mkdir(exist_ok=True)
    manifest = new_manifest(encoder, **{"versions": _versions(), KIND: index})
    Store.create(folder / "store.sqlite", manifest).close()


def new_manifest(encoder: Encoder | None, **own: str) -> dict[str, str]:
    """Return the manifest of a new corpus; `own`: what its engine adds, or has otherwise."""
    about = {
        "identity": uuid.uuid4().hex,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "dim": str(encoder.dim if encoder else 0),
    }
    return _rules(encoder) | about | own


def _rules(encoder: Encoder | None) -> dict[str, str]:
    """Return the manifest's values on which passages and vectors depend."""
    return {
        "format": FORMAT,
        "passage_rule": PASSAGE_RULE,
        "encoded_text": ENCODED_TEXT,
        "encoder": encoder.fingerprint if encoder else NO_ENCODER,
    }


def check_fit(
    where: Address, manifest: Mapping[str, str], encoder: Encoder | None, **own: str
) -> None:
    """Check that the corpus can be used with the current rules and this encoder.

    `own`: the engine's rules, as in `new_manifest`. Raises StaleCorpus, with the command that
    rebuilds it, and CorpusError for an unknown format.
    """
    expected = _rules(encoder) | own
    check_format(where, manifest, expected["format"])
    if encoder is None:
        expected.pop("encoder")  # words can be searched whatever the encoder was
    elif manifest["encoder"] == NO_ENCODER:
        raise StaleCorpus(f"{where} has no vectors. Create them: pincite corpus rebuild {where}")
    for name, value in expected.items():
        if (built := manifest.get(name)) != value:
            raise StaleCorpus(
                f"{where} was built with {name} {built!r}, but this is {value!r}. "
                f"Rebuild it: pincite corpus rebuild {where}"
            )


def encoder_of(folder: Path) -> str:
    """Return the fingerprint of the encoder that built the corpus; raises `CorpusError`."""
    file = folder / current_name(folder) / "store.sqlite"
    with closing(Store.open(file, write=False)) as store:
        return _manifest(store)["encoder"]


def check_format(where: Address, manifest: Mapping[str, str], known: str = FORMAT) -> None:
    """Check that this version can read the corpus; raises `CorpusError` if not."""
    if (built := manifest.get("format")) != known:
        raise CorpusError(
            f"{where} has format {built}; this version of Pincite reads {known}. "
            "Use the version that wrote it, or a newer one."
        )


def current_name(folder: Path) -> str:
    """Return the name of the current generation's folder; raises CorpusError if there is none."""
    content = read_stamp(folder / POINTER) or {}
    name = str(content.get("generation"))
    if content.keys() == _POINTED and _is_name(name):
        return name
    if (folder / POINTER).exists() or holds_documents(folder):
        raise CorpusError(
            f"{folder / POINTER}, which names the build in use, is missing or damaged. "
            f"Repair it: pincite corpus verify {folder} --repair"
        )
    if folder.is_file():
        raise CorpusError(
            f"{folder} is a file. Expected a corpus, a folder of its own. "
            f"Create one: pincite corpus add papers/ {folder}"
        )
    what = "is not a corpus" if folder.exists() else "does not exist"
    raise CorpusError(f"{folder} {what}. Create one: pincite corpus add {folder} PATH…")


def point_to(folder: Path, name: str) -> None:
    """Make the generation `name` the current one, atomically; raises CorpusError if it cannot."""
    try:
        write_stamp(folder / POINTER, {"pincite-corpus": FORMAT, "generation": name})
    except OSError as error:
        raise CorpusError(
            f"{folder / POINTER} could not be written: {error.strerror}. The corpus is as it was "
            "before. Is the disk full?"
        ) from error


def generations(folder: Path) -> list[Path]:
    """Return the folders of all generations, finished or not, oldest first."""
    folders = [p for p in folder.glob("g*") if _is_name(p.name) and p.is_dir()]
    return sorted(folders, key=lambda path: int(path.name[1:]))


def holds_documents(folder: Path) -> bool:
    """Whether a generation in the folder has documents, or is too large to be empty."""
    return any(_was_filled(path) for path in generations(folder))


def left_behind(folder: Path, current: str) -> list[Path]:
    """Return older generations, and newer ones that `optimize` left unfinished.

    Any other newer generation is an unfinished rebuild.
    """
    others = [path for path in generations(folder) if path.name != current]
    number = int(current[1:])
    return [p for p in others if int(p.name[1:]) < number or (p / COMPACTING).exists()]


def sweep(folder: Path, current: str) -> None:
    """Remove what is `left_behind`; needs the writer's lock."""
    for other in left_behind(folder, current):
        shutil.rmtree(other, ignore_errors=True)


def _is_name(name: str) -> bool:
    return re.fullmatch("g[1-9][0-9]*", name) is not None


def _was_filled(path: Path) -> bool:
    if not (path / "store.sqlite").exists():
        return False
    try:
        store = Store.open(path / "store.sqlite", write=False)
    except CorpusError:
        return n_bytes(path) > EMPTY_BYTES
    with closing(store), suppress(CorpusError):
        return store.n_documents() > 0
    return True


def _manifest(store: Store) -> dict[str, str]:
    manifest = store.manifest()
    if missing := _MANIFEST - manifest.keys():
        raise damage_error(store.path, f"its manifest lacks {min(missing)!r}")
    if not manifest["dim"].isdigit():
        raise damage_error(store.path, f"its vectors have {manifest['dim']!r} dimensions")
    if manifest.get(KIND, "ivf") not in KINDS:
        raise damage_error(store.path, f"its vector index has the kind {manifest[KIND]!r}")
    return manifest


def following(name: str) -> str:
    return f"g{int(name.removeprefix('g')) + 1}"


def _versions() -> str:
    parts = [f"python {platform.python_version()}", f"sqlite {sqlite3.sqlite_version}"]
    for name in ("pincite", "tantivy", "faiss-cpu", "numpy"):
        with suppress(PackageNotFoundError):  # FAISS may be another build
            parts.append(f"{name} {version(name)}")
    return ", ".join(parts)


# ── Adding documents ─────────────────────────────────────────────────────────────────────────────


def passage_text(passage: Passage) -> str:
    """Return what the encoder reads: the title, to resolve "it" and "he", and the text."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def encoding_with(encoder: Encoder) -> Encode:
    """Return a function that encodes passages and checks for shape and finite numbers."""

    def encode(batch: Sequence[Passage]) -> Floats:
        vectors = encoder.encode([passage_text(passage) for passage in batch], "passage")
        if vectors.shape != (len(batch), encoder.dim) or not np.isfinite(vectors).all():
            raise CorpusError(
                f"The encoder {encoder.fingerprint} returned an array of shape {vectors.shape} for "
                f"{len(batch)} passages; finite numbers of shape {(len(batch), encoder.dim)} were "
                "expected. Nothing from this batch was stored."
            )
        return vectors

    return encode


def reusing(
    known_of: Callable[[Sequence[Passage]], Mapping[str, Floats]], encode: Encode
) -> Encode:
    """Return a function that takes vectors from `known_of` by passage id and encodes the rest."""

    def reuse(batch: Sequence[Passage]) -> Floats:
        known = known_of(batch)
        missing = [passage for passage in batch if passage.passage_id not in known]
        fresh = iter(encode(missing) if missing else ())
        ids = [passage.passage_id for passage in batch]
        return np.stack([known[ident] if ident in known else next(fresh) for ident in ids])

    return reuse


def check_same(store: Store, encoder: Encoder) -> None:
    """Check that a served encoder still gives a stored passage the same vector.

    Raises StaleCorpus if the vector differs; the fingerprint of a served encoder is only a name.
    """
    keys = [key for (key,) in store.rows("SELECT MIN(passage) FROM vectors") if key is not None]
    if not keys or not getattr(encoder, "is_served", False):
        return
    (passage,) = store.passages(list(store.places(keys).values()))
    _, (stored,) = store.vectors(keys, int(store.manifest()["dim"]))
    (now,) = encoder.encode([passage_text(passage)], "passage")
    if now.shape == stored.shape and float(now @ stored) >= SAME:
        return
    fault = f"of {len(now)} numbers" if now.shape != stored.shape else f"at {now @ stored:.2f}"
    raise StaleCorpus(
        f"The encoder {encoder.fingerprint} returns a different vector for a stored passage than "
        f"the corpus has ({fault}; expected {len(stored)} numbers, at a cosine of {SAME} or "
        "more). The server runs a different model under that name. Run the one that built the "
        "corpus, or rebuild it: pincite corpus rebuild"
    )


def take_in(store: Store, documents: Sequence[Document], encode: Encode | None) -> int:
    """Commit new and changed documents as one batch; returns their number.

    If several have the same address, the last one counts. Without `encode` no vectors are stored.
    """
    latest = {document.url: document for document in documents}
    new = [d for d in latest.values() if store.hash_at(d.url) != content_hash(d)]
    if not new:
        return 0
    with store.batch():
        waiting: list[tuple[int, Passage]] = []
        for document in new:
            store.remove(document.url)
            cut = passages(document)
            keys = store.put(document, [passage.span for passage in cut])
            waiting.extend(zip(keys, cut, strict=True))
            if len(waiting) >= ENCODED_AT_ONCE:
                _put_vectors(store, waiting, encode)
                waiting = []
        _put_vectors(store, waiting, encode)
    return len(new)


def _put_vectors(
    store: Store, waiting: Sequence[tuple[int, Passage]], encode: Encode | None
) -> None:
    if waiting and encode is not None:
        vectors = encode([passage for _, passage in waiting])
        store.put_vectors([key for key, _ in waiting], vectors)
