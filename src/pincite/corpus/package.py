"""A corpus as one file, to be copied, kept or published; and copying a corpus into another.

The file is a ZIP archive of two uncompressed members, readable by any program: `manifest.json` and
`store.sqlite`, the documents with their vectors. Indexes are rebuilt from the store, so no foreign
index is ever mapped into memory. The store is not trusted either: all its checksums are verified
before the folder appears.

A copy into another corpus, of any engine, skips what that one already has, so an interrupted
command can be repeated. Nothing is deleted from the target.
"""

import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pincite import codec
from pincite.corpus import engines
from pincite.corpus.generation import Generation, check_format, current_name, point_to
from pincite.corpus.maintenance import DOCUMENTS_AT_ONCE, flaws
from pincite.corpus.protocol import Address, Corpus
from pincite.corpus.store import Store
from pincite.durable import Tell, checksum, n_bytes, replacing, silent
from pincite.errors import CorpusError, InputError
from pincite.protocols import Floats
from pincite.text.passages import passages

FORMAT = "1"
MANIFEST, STORE = "manifest.json", "store.sqlite"
_MANIFEST_BYTES = 100_000  # ours has some hundred
_BLOCKS = 25_000  # of one document: 100 million characters
_VALUE_CHARACTERS = 1_000  # of a value in a store's own manifest
_CHUNK = 1 << 20
# Errors that `zipfile` raises for anything but a readable archive.
_NO_ARCHIVE = (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, OverflowError, struct.error)


@dataclass(frozen=True, slots=True)
class Package:
    """A package's manifest; all of it is compared with the store."""

    pincite_package: str
    created: str
    encoder: str
    passage_rule: str
    digest: str
    n_documents: int
    n_passages: int
    n_bytes: int  # of the store
    sha256: str


def pack(folder: Address, file: Path, tell: Tell = silent) -> Package:
    """Write a corpus as it is now to a file, also while it is written; raises CorpusError."""
    if isinstance(folder, str):
        with tempfile.TemporaryDirectory() as aside:
            return pack(_copy_to_folder(folder, Path(aside) / "corpus", tell), file, tell)
    store = Store.open(folder / current_name(folder) / STORE, write=False)
    with closing(store), _replacing(file) as part:
        check_format(folder, store.manifest())
        n_expected = store.n_live_bytes()
        copy = part.with_name(f"{part.name}.{STORE}")
        try:
            store.compact_into(copy, lambda: tell("copying (bytes)", n_bytes(copy), n_expected))
            with closing(Store.open(copy, write=False)) as packed:
                about = _about(packed)
            with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(MANIFEST, codec.to_json(asdict(about)))
                archive.write(copy, STORE)
        finally:
            for left in part.parent.glob(f"{copy.name}*"):
                left.unlink()
    return about


def _copy_to_folder(address: str, folder: Path, tell: Tell) -> Path:
    """Copy a corpus in a database to a new folder, with its vectors; returns the folder."""
    with engines.open(address, None) as source:
        about = source.manifest()
        encoder = _Unused(about["encoder"], int(about["dim"])) if source.has_vectors else None
        with engines.create(folder, encoder) as target, target.indexing_behind():
            copy(source, target, partial(tell, "copying documents"))
    return folder


class _Unused(NamedTuple):
    """The encoder of a corpus whose passages all have vectors."""

    fingerprint: str
    dim: int

    def encode(self, texts: Sequence[str], role: str) -> Floats:
        raise CorpusError(
            f"{len(texts)} passages lack vectors, which is not normal. Run: pincite corpus verify"
        )


def unpack(file: Path, folder: Path, tell: Tell = silent) -> Package:
    """Create a package's corpus in `folder`, which is new or empty.

    Raises InputError if the file is not a package, is truncated or damaged, or holds invalid
    contents; CorpusError if the folder cannot be created, or is in use.
    """
    _check_empty(folder)
    with _replacing(folder) as made:
        (made / "g1").mkdir(parents=True)
        about = _extract(file, made / "g1" / STORE)
        try:
            _check(made, about, tell)
            with closing(Generation(made / "g1", write=True)) as generation:
                generation.store.rows("PRAGMA journal_mode=WAL")
                generation.catch_up(tell)
        except (CorpusError, RecursionError) as error:
            raise _bad(file, str(error).replace(str(made), folder.name)) from error
        point_to(made, "g1")
        _check_empty(folder)
    return about


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CorpusError(f"{folder} already exists. Choose a new or empty folder.")


def _about(store: Store) -> Package:
    manifest = store.manifest()
    return Package(
        pincite_package=FORMAT,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        encoder=manifest["encoder"],
        passage_rule=manifest["passage_rule"],
        digest=manifest["digest"],
        n_documents=store.n_documents(),
        n_passages=store.n_passages(),
        n_bytes=n_bytes(store.path),
        sha256=checksum(store.path),
    )


def _extract(file: Path, target: Path) -> Package:
    try:
        with zipfile.ZipFile(file) as archive:
            about, store = _members(file, archive)
            with archive.open(store) as source, target.open("xb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK)
                copy.flush()
                os.fsync(copy.fileno())
    except _NO_ARCHIVE as error:
        raise _bad(file, f"{error}; it may be truncated") from error
    except OSError as error:
        what = f"{file} cannot be unpacked: {error.strerror or error}."
        raise InputError(f"{what} Is the file missing, or the disk full?") from error
    if checksum(target) != about.sha256:
        raise _bad(file, "its store is not what was packed: the checksum differs")
    return about


def _members(file: Path, archive: zipfile.ZipFile) -> tuple[Package, zipfile.ZipInfo]:
    """Return the manifest, and the member that is the store; both are uncompressed.

    Nothing is extracted under a name from the archive, so no path leads out of the folder; and
    uncompressed data is no larger than the file.
    """
    members = {member.filename: member for member in archive.infolist()}
    if len(archive.infolist()) != len(members) or members.keys() != {MANIFEST, STORE}:
        raise _bad(file, f"it should hold {MANIFEST} and {STORE}, and nothing else")
    for member in members.values():
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise _bad(file, f"{member.filename} is compressed, which a package's parts are not")
    with archive.open(members[MANIFEST]) as manifest:
        content = manifest.read(_MANIFEST_BYTES + 1)
    if len(content) > _MANIFEST_BYTES:
        raise _bad(file, f"{MANIFEST} is longer than {_MANIFEST_BYTES:,} bytes")
    try:
        about = codec.from_json(Package, content)
    except InputError as error:
        raise _bad(file, f"{MANIFEST}: {error}") from error
    if about.pincite_package != FORMAT:
        raise _bad(file, f"its format is {about.pincite_package!r}, this Pincite reads {FORMAT}")
    if members[STORE].file_size != about.n_bytes:
        raise _bad(file, "its store does not have the size that its manifest states")
    return about, members[STORE]


def _check(folder: Path, about: Package, tell: Tell) -> None:
    """Check that the store is sound and matches its package; raises CorpusError."""
    with closing(Generation(folder / "g1", write=False)) as generation:
        store = generation.store
        manifest = store.manifest()
        for name, value in manifest.items():
            if len(name + value) > _VALUE_CHARACTERS or not (name + value).isprintable():
                raise CorpusError(f"the store's manifest has a {name[:40]!r} that no corpus has")
        check_format(folder, manifest)
        counts = "SELECT COUNT(*) AS n FROM blocks GROUP BY document ORDER BY n DESC LIMIT 1"
        if any(n > _BLOCKS for (n,) in store.rows(counts)):
            raise CorpusError(f"a document has more than {_BLOCKS:,} blocks of text")
        for flaw in flaws(store, tell):
            raise CorpusError(f"{flaw.kind} {flaw.place}: {flaw.problem}")
        facts = asdict(_about(store))
    for name, value in asdict(about).items():
        if name != "created" and facts[name] != value:
            raise CorpusError(f"{name} is {value!r} in {MANIFEST} and {facts[name]!r} in the store")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield where to write a file or a folder that then replaces `path` atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            yield part
    except OSError as error:
        why = f"{error.strerror}. Is the disk full?"
        raise CorpusError(f"{path} cannot be written: {why}") from error


def _bad(file: Path, why: str) -> InputError:
    return InputError(
        f"{file} is not a valid package of a corpus: {why}. Expected a file from: pincite corpus "
        "pack CORPUS FILE. Nothing was unpacked; get the file again."
    )


class Copied(NamedTuple):
    """Counts of a copy."""

    n_copied: int  # new or changed documents
    n_known: int  # documents the target already had
    n_vectors: int  # copied


def copy(source: Corpus, target: Corpus, progress: Callable[[int, int], None]) -> Copied:
    """Copy all documents; `progress` is called with the number done and the total."""
    n_copied = n_known = n_vectors = 0
    n_all, urls = source.status().n_documents, source.urls()
    has_same_encoder = source.manifest()["encoder"] == target.manifest()["encoder"]
    while batch := list(islice(urls, DOCUMENTS_AT_ONCE)):
        documents = [document for document in source.get(batch) if document is not None]
        states = target.compare(documents)
        new = [d for d, state in zip(documents, states, strict=True) if state != "same"]
        cut = [p for document in new for p in passages(document)] if has_same_encoder else []
        vectors = source.vectors(cut)
        target.add_with(new, vectors)
        n_copied += len(new)
        n_known += len(documents) - len(new)
        n_vectors += len(vectors)
        progress(n_copied + n_known, n_all)
    return Copied(n_copied, n_known, n_vectors)
