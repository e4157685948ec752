"""A corpus made compact: without what was deleted, its indexes in as few parts as can be.

The current generation's store is copied page by page into the next generation, the derived indexes
are made from the copy, and then the pointer moves. Nothing is ever changed in place, so readers go
on with the old generation and a kill at any moment costs only the time spent. It takes, for the
while, about the space of the corpus once more.
"""

import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pincite.corpus.dense import KIND, Kind
from pincite.corpus.durable import Tell, n_bytes, silent
from pincite.corpus.generation import (
    COMPACTING,
    Generation,
    check_format,
    current_name,
    following,
    point_to,
    sweep,
)
from pincite.corpus.lock import WriterLock
from pincite.corpus.store import Store
from pincite.errors import CorpusError

_WHAT_COSTS = ("encoder", "passage_rule", "encoded_text")  # what makes vectors worth keeping


@dataclass(frozen=True, slots=True)
class Gain:
    """The size of a corpus before and after, in bytes."""

    n_bytes_before: int
    n_bytes_after: int


def optimize(folder: Path, tell: Tell = silent, index: Kind | None = None) -> Gain:
    """Make the corpus compact and remove what killed processes left; needs no encoder.

    `index`: the kind of its vector index from now on; None leaves it.

    Raises:
        CorpusError: It is no corpus, is damaged, another process is writing it, an unfinished
            rebuild is in the way, or the disk is full; the corpus is as it was before.
    """
    current_name(folder)
    with WriterLock(folder):
        before = n_bytes(folder)
        name = current_name(folder)
        sweep(folder, name)
        old = Generation(folder / name, write=False)
        try:
            check_format(folder, old.store.manifest())
            target = folder / following(name)
            _make_room(target, old)
            _copy(old, target, tell, index)
            point_to(folder, target.name)
        finally:
            old.close()
            # Whichever generation the pointer names now is complete; the other one goes.
            sweep(folder, current_name(folder))
        (target / COMPACTING).unlink()
        return Gain(before, n_bytes(folder))


def _make_room(target: Path, old: Generation) -> None:
    """Drop an unfinished rebuild, unless it holds vectors that the current generation has not."""
    if not target.exists():
        return
    try:
        unfinished = Generation(target, write=False)
    except CorpusError:  # killed before its tables were written
        shutil.rmtree(target)
        return
    manifest = unfinished.store.manifest()
    unfinished.close()
    if any(manifest[name] != old.store.manifest()[name] for name in _WHAT_COSTS):
        raise CorpusError(
            f"{target} is an unfinished rebuild with the encoder {manifest['encoder']}. Finish it, "
            f"which makes the corpus compact too: pincite corpus rebuild {target.parent}. Or give "
            "it up by deleting that folder."
        )
    shutil.rmtree(target)


def _copy(old: Generation, target: Path, tell: Tell, index: Kind | None) -> None:
    n_expected = old.store.n_live_bytes()
    try:
        target.mkdir()
        (target / COMPACTING).touch()
        old.store.compact_into(
            target / "store.sqlite",
            lambda: tell("copying (bytes)", min(n_bytes(target), n_expected), n_expected),
        )
    except OSError as error:
        raise CorpusError(
            f"{target} could not be written: {error.strerror}. The corpus is as it was before. "
            "Is the disk full? A compact copy is made before the old one goes."
        ) from error
    if index:
        with closing(Store.open(target / "store.sqlite", write=True)) as store:
            store.note(KIND, index)
    new = Generation(target, write=True)
    try:
        new.catch_up(tell)
    finally:
        new.close()
