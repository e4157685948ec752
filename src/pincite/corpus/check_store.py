"""Is the truth whole? Each document, passage and vector of a store against what was written.

SQLite's own check sees its pages and indexes; hashes and seals see a changed bit in a row; the
passage rule, applied again, sees whether the passages are those of the text. What is wrong here is
not derived from anything, so it is named and never mended by guessing.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pincite.corpus.connection import connect
from pincite.corpus.durable import Tell
from pincite.corpus.rows import share_of_digest, sound_rows
from pincite.corpus.store import TABLES, Store
from pincite.errors import CorpusError
from pincite.text.passages import PASSAGE_RULE, passages
from pincite.types import Span

NAMED = 20  # problems of one kind that are named one by one by SQLite's own checks
TOLD_EVERY = 16  # documents


class Flaw(NamedTuple):
    """Something in a store that is not as it was written."""

    kind: str  # "store", "document" or "vector"
    place: str
    problem: str
    remedy: str


def flaws(store: Store, tell: Tell) -> Iterator[Flaw]:
    """What is wrong with a store, in one committed state; nothing if it is sound."""
    folder = store.path.parent.parent
    for check in (_schema, _pages, _references, _documents, _counters, _vectors):
        try:
            yield from check(store, folder, tell)
        except CorpusError as error:  # so damaged that this check cannot go on; others may
            yield Flaw("store", str(store.path), str(error), _restore(folder))


def _schema(store: Store, folder: Path, tell: Tell) -> Iterator[Flaw]:
    """What a store does not have: a trigger or a view would run when the store is searched."""
    sql = "SELECT type, name, tbl_name, sql FROM sqlite_master"
    with closing(connect("file::memory:")) as fresh:
        fresh.executescript(TABLES)
        ours = set(fresh.execute(sql))
    for kind, name, *_ in sorted(set(store.rows(sql)) - ours)[:NAMED]:
        yield Flaw("store", str(store.path), f"it has a foreign {kind}, {name!r}", _restore(folder))


def _pages(store: Store, folder: Path, tell: Tell) -> Iterator[Flaw]:
    tell("checking the store's pages", 0, 1)
    for (problem,) in store.rows(f"PRAGMA integrity_check({NAMED})"):
        if problem != "ok":
            yield Flaw("store", str(store.path), str(problem), _restore(folder))


def _references(store: Store, folder: Path, tell: Tell) -> Iterator[Flaw]:
    for table, row, parent, _ in store.rows("PRAGMA foreign_key_check")[:NAMED]:
        problem = f"row {row} of {table} refers to one of {parent} that is not there"
        yield Flaw("store", str(store.path), problem, _restore(folder))


def _documents(store: Store, folder: Path, tell: Tell) -> Iterator[Flaw]:
    n_all, n_done = store.n_documents(), 0
    for rows in store.scan("SELECT key, url FROM documents"):
        for key, url in rows:
            if n_done % TOLD_EVERY == 0:
                tell("checking documents", n_done, n_all)
            n_done += 1
            if problem := _problem_of(store, key, url):
                yield Flaw("document", str(url), problem, _again(folder, url))


def _problem_of(store: Store, key: int, url: str) -> str:
    """What is wrong with one document, empty if nothing is."""
    try:
        if store.unsealed([key]):
            return "its address, title, dates or passages are not what was written"
        document = store.document(url)
        if document is None:
            return "it is not found at its own address"
        rows = store.rows(
            "SELECT first, last FROM passages WHERE document = ? ORDER BY key", (key,)
        )
        spans = [Span(first, last) for first, last in rows]
        if any(not 0 <= first < last <= len(document.text) for first, last in spans):
            return "a passage lies outside its text"
        today = store.manifest()["passage_rule"] == PASSAGE_RULE
        if today and spans != [passage.span for passage in passages(document)]:
            return f"its passages are not what the rule {PASSAGE_RULE} gives"
    except CorpusError as error:
        return str(error)
    except (ValueError, TypeError) as error:  # a number where a text was, and the like
        return f"its row cannot be read: {error}"
    return ""


def _counters(store: Store, folder: Path, tell: Tell) -> Iterator[Flaw]:
    remedy = f"Write them anew: pincite corpus rebuild {folder}"
    ids = (i for rows in store.scan("SELECT key, doc_id FROM documents") for _, i in rows)
    digest = f"{sum(map(share_of_digest, ids)) % 2**128:032x}"
    if (known := store.manifest()["digest"]) != digest:
        problem = f"the digest is {known}, the documents give {digest}"
        yield Flaw("store", str(store.path), problem, remedy)
    [(newest,)] = store.rows("SELECT COALESCE(MAX(sequence), 0) FROM changes")
    if newest > store.sequence:
        problem = f"the log has batch {newest}, the last should be {store.sequence}"
        yield Flaw("store", str(store.path), problem, remedy)
    logged = np.array([(0, 0), *sorted(store.changes(-1).added)], dtype=np.int64)
    reach = np.maximum.accumulate(logged[:, 1])
    for rows in store.scan("SELECT key FROM passages"):
        keys = np.array(rows, dtype=np.int64)[:, 0]
        unlogged = keys[keys > reach[np.searchsorted(logged[:, 0], keys, "right") - 1]]
        if len(unlogged):
            problem = f"passage {unlogged[0]} and {len(unlogged) - 1} more are not in the log"
            yield Flaw("store", str(store.path), problem, remedy)


def _vectors(store: Store, folder: Path, tell: Tell) -> Iterator[Flaw]:
    dim = int(store.manifest()["dim"])
    n_all, n_done = store.n_passages(), 0
    remedy = f"Encode it anew: pincite corpus rebuild {folder}"
    missing = "SELECT key FROM passages WHERE key NOT IN (SELECT passage FROM vectors)"
    if dim:
        for (key,) in store.rows(f"{missing} LIMIT {NAMED}"):
            yield Flaw("vector", f"passage {key}", "it has no vector", remedy)
    for rows in store.scan("SELECT passage, vector FROM vectors", "passage"):
        tell("checking vectors", n_done, n_all)
        n_done += len(rows)
        sound = sound_rows(rows, dim)
        for key, _ in rows:
            if key not in sound:
                problem = f"it is not what was written, or no unit vector of {dim} numbers"
                yield Flaw("vector", f"passage {key}", problem, remedy)


def _again(folder: Path, url: str) -> str:
    return (
        f"Delete it (pincite corpus delete {folder} '{url}') and add it again from its source, "
        "or restore the corpus from a copy."
    )


def _restore(folder: Path) -> str:
    return f"Restore {folder} from a copy, or make the corpus anew from its sources."
