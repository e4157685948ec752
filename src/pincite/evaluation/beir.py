"""A BEIR collection (Thakur et al. 2021): is the relevant document among the first?

A folder holds `corpus.jsonl`, `queries.jsonl` (each plain or .gz) and `qrels/SPLIT.tsv`. The corpus
is indexed as `pincite corpus add` would, but under the documents' ids, in which the judgements
speak. A document's rank is that of its best passage; as in BEIR's own evaluation, a document with
the id of the query is left out (ArguAna's queries are documents of its corpus).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pincite.corpus.protocol import Corpus
from pincite.documents import jsonl
from pincite.documents.body import DEFAULT_LIMITS
from pincite.errors import ConfigError, InputError
from pincite.evaluation import measures, trec
from pincite.evaluation.trec import Qrels, Ranked
from pincite.protocols import Retriever
from pincite.types import Document, Hit, Unchecked

DEPTH = 100  # documents a query: what R@100 looks at
QUERIES_AT_ONCE = 64

Progress = Callable[[str, int, int], None]  # what, done, in all
Runs = dict[str, dict[str, list[Ranked]]]  # system → query → documents


@dataclass(frozen=True, slots=True)
class System:
    """One row in the table."""

    retriever: Callable[[Corpus], Retriever]
    by_meaning: bool  # needs an encoder, and a corpus made with it


SYSTEMS: Mapping[str, System] = {
    "lexical": System(lambda corpus: corpus.by("lexical"), by_meaning=False),
    "dense": System(lambda corpus: corpus.by("dense"), by_meaning=True),
    "hybrid": System(lambda corpus: corpus.by("hybrid"), by_meaning=True),
    "learnt": System(lambda corpus: corpus.by("hybrid", mode="learnt"), by_meaning=True),
    "rrf": System(lambda corpus: corpus.by("hybrid", mode="rrf"), by_meaning=True),
    "verifai": System(lambda corpus: corpus.by("hybrid", mode="verifai"), by_meaning=True),
}


def chosen(names: Sequence[str]) -> dict[str, System]:
    """The named systems in the order of the table; all without a name.

    Raises:
        ConfigError: there is no system of that name.
    """
    if unknown := [name for name in names if name not in SYSTEMS]:
        raise ConfigError(f"There is no system {unknown[0]!r}; known: {', '.join(SYSTEMS)}.")
    return {name: system for name, system in SYSTEMS.items() if not names or name in names}


@dataclass(frozen=True, slots=True)
class Collection:
    """The queries that a split judges, with the judgements."""

    corpus_file: Path
    queries: Mapping[str, str]  # id → text, in the order of the judgements
    qrels: Qrels


def open_collection(folder: Path, split: str) -> Collection:
    """Read the queries and judgements, and find the corpus.

    Raises:
        InputError: a file is missing or malformed, or a judged query has no text.
    """
    corpus_file, queries_file = (_existing(folder, name) for name in ("corpus", "queries"))
    table = folder / "qrels" / f"{split}.tsv"
    if not table.is_file():
        there = ", ".join(sorted(p.stem for p in table.parent.glob("*.tsv"))) or "none"
        raise InputError(f"{table} is not there; the splits of {folder} are: {there}.")
    qrels = trec.read_beir_qrels(table)
    if not qrels:
        raise InputError(f"{table} judges nothing; expected rows of query-id, corpus-id, score.")
    texts = dict(_queries(queries_file))
    if missing := [query_id for query_id in qrels if query_id not in texts]:
        raise InputError(
            f"{table} judges {len(missing)} queries that {queries_file} does not have, the first "
            f"is {missing[0]!r}. Do the two belong together?"
        )
    return Collection(corpus_file, {query_id: texts[query_id] for query_id in qrels}, qrels)


def documents(path: Path) -> Iterator[Document | Unchecked]:
    """The documents of a corpus file with their ids as addresses; what is wrong with other lines.

    Its own addresses would do for a corpus, but several articles may have one.
    """
    for found in jsonl.documents(path):
        stated = found.meta.get("_id") if isinstance(found, Document) else None
        yield replace(found, url=stated) if isinstance(found, Document) and stated else found


def evaluate(
    collection: Collection,
    corpus: Corpus,
    systems: Mapping[str, System] = SYSTEMS,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], Runs]:
    """The measures of the systems, `{"systems": {"lexical": {…}, …}, …}`, and their runs."""
    tell = progress or _silent
    runs: Runs = {}
    measured: dict[str, dict[str, Any]] = {}
    for name, system in systems.items():
        started = time.perf_counter()
        runs[name] = _run(system.retriever(corpus), collection.queries, name, tell)
        seconds = round(time.perf_counter() - started, 1)
        ids = {query: [d.doc_id for d in ranked] for query, ranked in runs[name].items()}
        found = measures.graded_measures(collection.qrels, ids)
        measured[name] = {**found, "seconds": seconds}
    relevant = {
        d for judged in collection.qrels.values() for d, grade in judged.items() if grade > 0
    }
    missing = sum(document is None for document in corpus.get(sorted(relevant)))
    result = {"n": len(collection.queries), "systems": measured}
    return {**result, "n_relevant": len(relevant), "n_relevant_not_in_corpus": missing}, runs


def _run(
    retriever: Retriever, queries: Mapping[str, str], name: str, tell: Progress
) -> dict[str, list[Ranked]]:
    ids, run = list(queries), dict[str, list[Ranked]]()
    for start in range(0, len(ids), QUERIES_AT_ONCE):
        batch = ids[start : start + QUERIES_AT_ONCE]
        run |= _ranked(retriever, {query_id: queries[query_id] for query_id in batch})
        tell(name, len(run), len(ids))
    return run


def _ranked(retriever: Retriever, queries: Mapping[str, str]) -> dict[str, list[Ranked]]:
    """DEPTH documents a query; fewer only if no more have a passage that matches.

    Asks for more passages where those of a few documents fill the list.
    """
    found: dict[str, list[Ranked]] = {}
    waiting, k = list(queries), 2 * DEPTH
    while waiting:
        hits = retriever.retrieve([queries[query_id] for query_id in waiting], k)
        by_query = dict(zip(waiting, hits, strict=True))
        found |= {query_id: _by_document(query_id, of) for query_id, of in by_query.items()}
        waiting = [q for q, of in by_query.items() if len(of) == k and len(found[q]) < DEPTH]
        k *= 2
    return found


def _by_document(query_id: str, hits: Sequence[Hit]) -> list[Ranked]:
    """Each document at its best passage."""
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(hit.passage.url, hit.score)
    best.pop(query_id, None)
    return [Ranked(doc_id, score) for doc_id, score in best.items()][:DEPTH]


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    for line in jsonl.lines(path):
        record = jsonl.record_of(line, path, DEFAULT_LIMITS)
        if isinstance(record, Unchecked):
            raise InputError(f"{path.parent / record.detail}.")
        query_id, text = jsonl.field_of(record, "_id"), record.get("text")
        if not query_id or not isinstance(text, str):
            raise InputError(
                f"{path.parent / jsonl.place(line, path)}: expected an object with _id and text."
            )
        yield query_id, text


def _existing(folder: Path, name: str) -> Path:
    candidates = [folder / f"{name}{end}" for end in (".jsonl", ".jsonl.gz")]
    for path in candidates:
        if path.is_file():
            return path
    raise InputError(
        f"{folder} holds no {' or '.join(path.name for path in candidates)}; expected a BEIR "
        "collection: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."
    )


def _silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""
