"""A corpus built anew beside itself: for another encoder or passage rule, or to make it compact.

The documents are read from the current generation and added to the next one in batches, and then
the pointer moves. A kill leaves the old generation in use and the finished batches of the next one,
from which the same command goes on.
"""

import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from pincite.corpus.dense import KIND, Kind
from pincite.corpus.generation import (
    NO_ENCODER,
    Generation,
    check_fit,
    current_name,
    following,
    new_generation,
    point_to,
    sweep,
)
from pincite.corpus.intake import Encode, encoding_with, reusing
from pincite.corpus.lock import WriterLock
from pincite.errors import CorpusError
from pincite.protocols import Encoder

Progress: TypeAlias = Callable[[int, int], None]  # documents done, documents in all

DOCUMENTS_AT_ONCE = 256  # a batch: what a kill costs


def rebuild(
    folder: Path,
    encoder: Encoder | None,
    progress: Progress | None = None,
    index: Kind | None = None,
) -> None:
    """Build the corpus anew with `encoder` and today's rules; goes on with an unfinished rebuild.

    Vectors are taken over where encoder and passages are the same. Readers keep the old generation
    until the new one is complete, and follow at their next call. `index` is the kind of the vector
    index; None leaves it.

    Raises:
        CorpusError: It is no corpus, its store is damaged, or another process is writing it.
    """
    name = current_name(folder)
    with WriterLock(folder):
        name = current_name(folder)
        sweep(folder, name)
        old = Generation(folder / name, write=False)
        try:
            target = _unfinished_or_new(
                folder / following(name), encoder, index or old.store.manifest().get(KIND, "ivf")
            )
            try:
                _fill(target, old, _encoding(encoder, old), progress or _silent)
            finally:
                target.close()
        finally:
            old.close()
        point_to(folder, following(name))
        shutil.rmtree(folder / name, ignore_errors=True)


def _unfinished_or_new(path: Path, encoder: Encoder | None, index: str) -> Generation:
    if path.exists():
        try:
            target = Generation(path, write=True)
        except CorpusError:  # killed before its tables were written
            target = None
        if target is not None:
            if _continues(path, target, encoder, index):
                return target
            target.close()
        shutil.rmtree(path)
    new_generation(path, encoder, index)
    return Generation(path, write=True)


def _continues(path: Path, target: Generation, encoder: Encoder | None, index: str) -> bool:
    wanted = encoder.fingerprint if encoder else NO_ENCODER
    try:
        check_fit(path, target.store.manifest(), encoder)
    except CorpusError:
        return False
    kind = target.store.manifest().get(KIND, "ivf")
    return (target.fingerprint, kind) == (wanted, index)


def _fill(target: Generation, old: Generation, encode: Encode | None, progress: Progress) -> None:
    n_documents, n_done = old.store.n_documents(), 0
    with target.indexing_behind():
        for urls in _batches(old.store.urls()):
            found = (old.store.document(url) for url in urls)
            target.add([document for document in found if document is not None], encode)
            n_done += len(urls)
            progress(n_done, n_documents)
    # Documents deleted between a killed rebuild and this one.
    target.delete([u for u in list(target.store.urls()) if old.store.hash_at(u) is None])
    target.catch_up()


def _batches(urls: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(urls, DOCUMENTS_AT_ONCE)):
        yield batch


def _encoding(encoder: Encoder | None, old: Generation) -> Encode | None:
    if encoder is None:
        return None
    encode = encoding_with(encoder)
    if old.fingerprint != encoder.fingerprint:
        return encode
    try:
        check_fit(old.folder, old.store.manifest(), encoder)
    except CorpusError:
        return encode
    return reusing(lambda batch: old.store.vectors_of(batch, encoder.dim), encode)


def _silent(n_done: int, n_documents: int) -> None:
    """No progress is shown."""
