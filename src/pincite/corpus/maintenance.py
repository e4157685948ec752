"""Check, repair, compact and rebuild a corpus.

`verify` checks everything and repairs what is derived: both indexes, and the pointer to the current
generation. `optimize` copies the store page by page into the next generation; `rebuild` re-adds its
documents there, for another encoder or passage rule. Nothing is changed in place: readers go on,
and a kill only costs time (for a rebuild, which is resumed, one batch).
"""

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from itertools import islice
from pathlib import Path
from shlex import quote

import numpy as np

from pincite.corpus.dense import KIND, DenseIndex
from pincite.corpus.generation import (
    COMPACTING,
    POINTER,
    Encode,
    Generation,
    check_format,
    current_name,
    encoding_with,
    following,
    generations,
    holds_documents,
    left_behind,
    new_generation,
    point_to,
    reusing,
    sweep,
)
from pincite.corpus.lexical import LexicalIndex
from pincite.corpus.protocol import Finding, IndexKind
from pincite.corpus.store import TABLES, Store, connect, share_of_digest, unsound
from pincite.durable import Tell, WriterLock, n_bytes, silent
from pincite.errors import CorpusError
from pincite.protocols import Encoder
from pincite.text.passages import PASSAGE_RULE, passages
from pincite.types import Span

NAMED = 20  # problems of one kind that SQLite's checks list one by one
DOCUMENTS_A_STEP = 16  # between two reports of progress


def flaws(store: Store, tell: Tell) -> Iterator[Finding]:
    """Check all that a store holds."""
    for check in (_schema, _pages, _documents, _counters, _vectors):
        try:
            yield from check(store, tell)
        except CorpusError as error:  # too damaged for this check; others may work
            yield _damage(store.path, store.corpus, str(error))


def _damage(file: Path, folder: Path, problem: str) -> Finding:
    remedy = f"Restore {folder} from a copy, or make the corpus again from its sources."
    return Finding("store", str(file), problem, remedy)


def _schema(store: Store, tell: Tell) -> Iterator[Finding]:
    """Report foreign triggers and views, which would run when the store is searched."""
    sql = "SELECT type, name, tbl_name, sql FROM sqlite_master"
    with closing(connect("file::memory:")) as fresh:
        fresh.executescript(TABLES)
        ours = set(fresh.execute(sql))
    for kind, name, *_ in sorted(set(store.rows(sql)) - ours)[:NAMED]:
        yield _damage(store.path, store.corpus, f"it has a foreign {kind}, {name!r}")


def _pages(store: Store, tell: Tell) -> Iterator[Finding]:
    tell("checking the store's pages", 0, 1)
    messages = (str(row[0]) for row in store.rows(f"PRAGMA integrity_check({NAMED})"))
    problems = [problem for problem in messages if problem != "ok"]
    for table, row, parent, _ in store.rows("PRAGMA foreign_key_check")[:NAMED]:
        problems.append(f"row {row} of {table} refers to one of {parent} that does not exist")
    yield from (_damage(store.path, store.corpus, problem) for problem in problems)


def _documents(store: Store, tell: Tell) -> Iterator[Finding]:
    n_all, n_done = store.n_documents(), 0
    for rows in store.scan("SELECT key, url FROM documents"):
        for key, url in rows:
            if n_done % DOCUMENTS_A_STEP == 0:
                tell("checking documents", n_done, n_all)
            n_done += 1
            if problem := _problem_of(store, key, url):
                delete = f"pincite corpus delete {quote(str(store.corpus))} {quote(str(url))}"
                remedy = (
                    f"Delete it ({delete}) and add it again from its source, or restore the corpus "
                    "from a copy."
                )
                yield Finding("document", str(url), problem, remedy)


def _problem_of(store: Store, key: int, url: str) -> str:
    try:
        document = store.document(url)
        if document is None:
            return "it is not found at its own address"
        sql = "SELECT first, last FROM passages WHERE document = ? ORDER BY key"
        spans = [Span(first, last) for first, last in store.rows(sql, (key,))]
        if any(not 0 <= first < last <= len(document.text) for first, last in spans):
            return "a passage lies outside its text"
        today = store.manifest()["passage_rule"] == PASSAGE_RULE
        if today and spans != [passage.span for passage in passages(document)]:
            return f"its passages are not what the rule {PASSAGE_RULE} gives"
    except CorpusError as error:
        return str(error)
    except (ValueError, TypeError) as error:  # for example a number in place of a text
        return f"its row cannot be read: {error}"
    return ""


def _counters(store: Store, tell: Tell) -> Iterator[Finding]:
    def wrong(problem: str) -> Finding:
        remedy = f"Write them again: pincite corpus rebuild {store.corpus}"
        return Finding("store", str(store.path), problem, remedy)

    ids = (i for rows in store.scan("SELECT key, doc_id FROM documents") for _, i in rows)
    digest = f"{sum(map(share_of_digest, ids)) % 2**128:032x}"
    if (known := store.manifest()["digest"]) != digest:
        yield wrong(f"the digest is {known}, the documents give {digest}")
    [(newest,)] = store.rows("SELECT COALESCE(MAX(sequence), 0) FROM changes")
    if newest > store.sequence:
        yield wrong(f"the log has batch {newest}, the last should be {store.sequence}")
    logged = np.array([(0, 0), *sorted(store.changes(-1).added)], dtype=np.int64)
    reach = np.maximum.accumulate(logged[:, 1])
    for rows in store.scan("SELECT key FROM passages"):
        keys = np.array(rows, dtype=np.int64)[:, 0]
        unlogged = keys[keys > reach[np.searchsorted(logged[:, 0], keys, "right") - 1]]
        if len(unlogged):
            yield wrong(f"passage {unlogged[0]} and {len(unlogged) - 1} more are not in the log")


def _vectors(store: Store, tell: Tell) -> Iterator[Finding]:
    def wrong(key: int, problem: str) -> Finding:
        remedy = f"Encode it again: pincite corpus rebuild {store.corpus}"
        return Finding("vector", f"passage {key}", problem, remedy)

    dim, n_all, n_done = int(store.manifest()["dim"]), store.n_passages(), 0
    missing = "SELECT key FROM passages WHERE key NOT IN (SELECT passage FROM vectors)"
    for (key,) in store.rows(f"{missing} LIMIT {NAMED}") if dim else ():
        yield wrong(key, "it has no vector")
    for rows in store.scan("SELECT passage, vector FROM vectors", "passage"):
        tell("checking vectors", n_done, n_all)
        n_done += len(rows)
        for key in unsound(rows, dim):
            yield wrong(key, f"it is not a unit vector of {dim} numbers")


def verify(folder: Path, *, repair: bool = False, tell: Tell = silent) -> list[Finding]:
    """Return what is wrong with the corpus, worst first.

    Nothing changes, except with `repair`: then what is derived is rebuilt, and leftovers are
    removed. Holds the writer's lock if the folder is writable; readers go on.

    Raises CorpusError: It is not a corpus, has an unknown format, or another process is writing it.
    """
    if not holds_documents(folder):
        current_name(folder)  # raises with the reason
    with WriterLock(folder) if os.access(folder, os.W_OK) else nullcontext():
        pointer, name = _pointer(folder, repair)
        if name is None:
            return pointer
        try:
            generation = Generation(folder / name, write=repair)
        except CorpusError as error:
            return [*pointer, _damage(folder / name, folder, str(error))]
        with closing(generation):
            check_format(folder, generation.store.manifest())
            with generation.store.snapshot():
                findings = [*pointer, *flaws(generation.store, tell)]
            findings += _check_index("words", generation, generation.lexical, repair, tell)
            if generation.has_vectors:
                findings += _check_index("meaning", generation, generation.dense, repair, tell)
            left = _leftovers(folder, generation)
            if repair:
                _remove(left)
            unfinished = [p for p in generations(folder) if p not in (*left, generation.folder)]
    problem = "was left by a process that was killed"
    remedy = f"Remove it: pincite corpus verify {folder} --repair"
    findings += [Finding("leftover", str(p), problem, remedy, not p.exists()) for p in left]
    problem, remedy = "is an unfinished rebuild", f"Resume it: pincite corpus rebuild {folder}"
    return findings + [Finding("leftover", str(p), problem, remedy) for p in unfinished]


def _pointer(folder: Path, repair: bool) -> tuple[list[Finding], str | None]:
    """Return the name of the current generation, if it is known or unambiguous."""
    try:
        return [], current_name(folder)
    except CorpusError:
        possible = [p.name for p in generations(folder) if not (p / COMPACTING).exists()]
    problem = "is missing or damaged; it names the build in use"
    if len(possible) != 1:
        remedy = (
            f"{len(possible)} are there ({', '.join(possible)}), and an unfinished rebuild is the "
            "latest of them. Move away all but the one that was in use, and repair."
        )
        return [Finding("pointer", str(folder / POINTER), problem, remedy)], None
    if repair:
        point_to(folder, possible[0])
    remedy = f"Rebuild it: pincite corpus verify {folder} --repair"
    return [Finding("pointer", str(folder / POINTER), problem, remedy, repair)], possible[0]


def _check_index(
    kind: str, generation: Generation, index: LexicalIndex | DenseIndex, repair: bool, tell: Tell
) -> list[Finding]:
    remedy = f"Rebuild it: pincite corpus verify {generation.folder.parent} --repair"

    def findings() -> list[Finding]:
        try:
            return [Finding(kind, *fault, remedy) for fault in index.faults(tell)]
        except CorpusError as error:
            return [Finding(kind, "the store", str(error), remedy)]

    faults = findings()
    if not faults or not repair:
        return faults
    try:
        index.forget()
        generation.catch_up(tell)
    except CorpusError as error:
        return [*faults, Finding(kind, str(generation.folder), f"not repaired: {error}", remedy)]
    return [*(dataclasses.replace(finding, repaired=True) for finding in faults), *findings()]


def _leftovers(folder: Path, generation: Generation) -> list[Path]:
    """Return the files and folders that killed processes left."""
    parts = [*folder.glob("*.part"), *generation.folder.glob("*.part")]
    of_indexes = [*generation.lexical.leftovers(), *generation.dense.leftovers()]
    return [*left_behind(folder, generation.folder.name), *parts, *of_indexes]


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def optimize(folder: Path, tell: Tell = silent, index: IndexKind | None = None) -> tuple[int, int]:
    """Compact the corpus and remove leftovers of killed processes; needs no encoder.

    Returns its bytes before and after. `index`: the new kind of its vector index; None keeps it.

    Raises CorpusError, and changes nothing: It is not a corpus, is damaged, another process is
    writing it, an unfinished rebuild is in the way, or the disk is full.
    """
    current_name(folder)
    with WriterLock(folder):
        before = n_bytes(folder)
        name = current_name(folder)
        sweep(folder, name)
        target = folder / following(name)
        if target.exists():
            raise CorpusError(
                f"{target} is an unfinished rebuild. Finish it, which also compacts the corpus: "
                f"pincite corpus rebuild {folder}. Or abandon it by deleting that folder."
            )
        try:
            with closing(Generation(folder / name, write=False)) as old:
                check_format(folder, old.store.manifest())
                _copy(old, target, tell, index)
            point_to(folder, target.name)
        finally:
            # The generation that the pointer names now is complete; remove the other one.
            sweep(folder, current_name(folder))
        (target / COMPACTING).unlink()
        return before, n_bytes(folder)


def _copy(old: Generation, target: Path, tell: Tell, index: IndexKind | None) -> None:
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
            "Is the disk full? The compact copy is written before the old one is removed."
        ) from error
    if index:
        with closing(Store.open(target / "store.sqlite", write=True)) as store:
            store.note(KIND, index)
    with closing(Generation(target, write=True)) as new:
        new.catch_up(tell)


DOCUMENTS_AT_ONCE = 256  # a batch: all that a kill can cost


def rebuild(
    folder: Path,
    encoder: Encoder | None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    index: IndexKind | None = None,
) -> None:
    """Rebuild the corpus with `encoder` and the current rules; resumes an unfinished rebuild.

    Vectors are reused where encoder and passages are the same. Readers keep the old generation
    until the new one is complete, and switch at their next call. `index` is the new kind of the
    vector index; None keeps it.

    Raises CorpusError: It is not a corpus, its store is damaged, or another process is writing it.
    """
    current_name(folder)
    with WriterLock(folder):
        name = current_name(folder)
        sweep(folder, name)
        with closing(Generation(folder / name, write=False)) as old:
            kind = index or old.dense.kind
            with closing(_unfinished_or_new(folder / following(name), encoder, kind)) as target:
                _fill(target, old, _encoding(encoder, old), progress)
        point_to(folder, following(name))
        shutil.rmtree(folder / name, ignore_errors=True)


def _unfinished_or_new(path: Path, encoder: Encoder | None, index: str) -> Generation:
    if path.exists():
        with suppress(CorpusError):  # killed before its tables were written
            target = Generation(path, write=True)
            if target.is_built_with(encoder) and target.dense.kind == index:
                return target
            target.close()
        shutil.rmtree(path)
    new_generation(path, encoder, index)
    return Generation(path, write=True)


def _fill(
    target: Generation, old: Generation, encode: Encode | None, progress: Callable[[int, int], None]
) -> None:
    n_documents, n_done = old.store.n_documents(), 0
    with target.indexing_behind():
        stored = old.store.urls()
        while urls := list(islice(stored, DOCUMENTS_AT_ONCE)):
            documents = (old.store.document(url) for url in urls)
            target.add([document for document in documents if document is not None], encode)
            n_done += len(urls)
            progress(n_done, n_documents)
    # Documents deleted between a killed rebuild and this one.
    target.delete([u for u in list(target.store.urls()) if old.store.hash_at(u) is None])
    target.catch_up()


def _encoding(encoder: Encoder | None, old: Generation) -> Encode | None:
    if encoder is None:
        return None
    encode = encoding_with(encoder)
    if not old.is_built_with(encoder):
        return encode
    return reusing(lambda batch: old.store.vectors_of(batch, encoder.dim), encode)
