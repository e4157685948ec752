"""One complete build of a corpus: a store with its two derived indexes, in one folder.

A corpus folder holds a pointer to its current generation. Building a corpus anew writes the next
generation beside it and moves the pointer, which is one rename: until then the old one serves.
"""

import platform
import sqlite3
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pincite.core.passages import PASSAGE_RULE
from pincite.errors import CorpusError, StaleCorpus
from pincite.index.dense import DenseIndex
from pincite.index.durable import read_stamp, write_stamp
from pincite.index.intake import ENCODED_TEXT, Encode, take_in
from pincite.index.lexical import LexicalIndex
from pincite.index.store import Store
from pincite.protocols import Encoder
from pincite.types import Document

FORMAT = "1"  # of the folder and its tables
POINTER = "corpus.json"
NO_ENCODER = "none"  # in the manifest of a corpus that is searched by words only


class Generation:
    """The store in `folder` and what is derived from it."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        self.store = Store.open(folder / "store.sqlite", write=write)
        manifest = self.store.manifest()
        self.fingerprint = manifest["encoder"]
        self.lexical = LexicalIndex(folder, self.store)
        self.dense = DenseIndex(folder, self.store, int(manifest["dim"]))

    def close(self) -> None:
        """Close the store; mapped files go with their objects."""
        self.store.close()

    @property
    def has_vectors(self) -> bool:
        """Whether the corpus was built with an encoder."""
        return self.fingerprint != NO_ENCODER

    def add(self, documents: Sequence[Document], encode: Encode | None) -> int:
        """Commit the new ones of `documents`, then bring the derived indexes up to date."""
        n_new = take_in(self.store, documents, encode)
        self.catch_up()
        return n_new

    def delete(self, urls: Sequence[str]) -> int:
        """Remove the documents at `urls` as one batch; returns how many there were."""
        there = [url for url in dict.fromkeys(urls) if self.store.hash_at(url) is not None]
        if there:
            with self.store.batch():
                for url in there:
                    self.store.remove(url)
        self.catch_up()
        return len(there)

    def catch_up(self) -> None:
        """Replay on the derived indexes what they miss; needs the writer's lock."""
        self.lexical.catch_up()
        if self.has_vectors and self.dense.is_due():
            self.dense.build()


def new_generation(folder: Path, encoder: Encoder | None) -> None:
    """Write an empty generation into `folder`, in place of an unfinished one."""
    folder.mkdir(exist_ok=True)
    manifest = {
        "format": FORMAT,
        "identity": uuid.uuid4().hex,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "passage_rule": PASSAGE_RULE,
        "encoded_text": ENCODED_TEXT,
        "encoder": encoder.fingerprint if encoder else NO_ENCODER,
        "dim": str(encoder.dim if encoder else 0),
        "versions": _versions(),
    }
    Store.create(folder / "store.sqlite", manifest).close()


def check_fit(folder: Path, manifest: dict[str, str], encoder: Encoder | None) -> None:
    """Whether the corpus can be used with these rules and this encoder.

    Raises:
        StaleCorpus: It cannot; the message names the command that builds it anew.
        CorpusError: Its format is unknown.
    """
    if manifest["format"] != FORMAT:
        raise CorpusError(
            f"{folder} has format {manifest['format']}, this Pincite reads {FORMAT}. "
            "Use the Pincite that wrote it, or a newer one."
        )
    expected = {"passage_rule": PASSAGE_RULE, "encoded_text": ENCODED_TEXT}
    if encoder is not None:
        expected["encoder"] = encoder.fingerprint
    for name, value in expected.items():
        if manifest[name] != value:
            raise StaleCorpus(
                f"{folder} was built with {name} {manifest[name]!r}, and this is {value!r}. "
                f"Build it anew: pincite corpus rebuild {folder}"
            )


def current_name(folder: Path) -> str:
    """The name of the current generation's folder.

    Raises:
        CorpusError: `folder` is not a corpus.
    """
    name = (read_stamp(folder / POINTER) or {}).get("generation")
    if not isinstance(name, str):
        what = "is not a corpus" if folder.exists() else "does not exist"
        raise CorpusError(f"{folder} {what}. Make one: pincite corpus add {folder} PATH…")
    return name


def point_to(folder: Path, name: str) -> None:
    """Make the generation `name` the current one, at once."""
    write_stamp(folder / POINTER, {"pincite-corpus": FORMAT, "generation": name})


def following(name: str) -> str:
    """The name of the generation after `name` (g1, g2, …)."""
    return f"g{int(name.removeprefix('g')) + 1}"


def _versions() -> str:
    names = ("pincite", "tantivy", "faiss-cpu", "numpy")
    parts = [f"python {platform.python_version()}", f"sqlite {sqlite3.sqlite_version}"]
    return ", ".join([*(f"{name} {_version(name)}" for name in names), *parts])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
