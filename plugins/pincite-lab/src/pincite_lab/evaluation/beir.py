"""A BEIR collection (Thakur et al. 2021): is the relevant document among the first?

The corpus is indexed like `pincite corpus add` does, but under the documents' ids. A document's
rank is that of its best passage. As in BEIR's evaluation, a document with the id of the query is
left out.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pincite import durable
from pincite.corpus.protocol import Corpus, Way
from pincite.documents import jsonl
from pincite.errors import ConfigError, InputError, usable
from pincite.protocols import Retriever
from pincite.retrieval.fusion import Mode
from pincite.types import Document, Unchecked
from pincite_lab.evaluation import files, measures

DEPTH = 100  # documents per query: enough for R@100
QUERIES_AT_ONCE = 64

_FIELDS = ("query-id", "corpus-id", "score")

Progress = Callable[[str, int, int], None]  # task, steps done, steps in all
Qrels = dict[str, dict[str, int]]  # query → document → relevance; 0: judged irrelevant


Runs = dict[str, dict[str, list[str]]]  # system → query → ids of documents, best first


SYSTEMS: Mapping[str, tuple[Way, Mode]] = {
    "lexical": ("lexical", "weighted"),
    "dense": ("dense", "weighted"),
    "hybrid": ("hybrid", "weighted"),
    "rrf": ("hybrid", "rrf"),
    "verifai": ("hybrid", "verifai"),
}


def chosen(names: Sequence[str]) -> list[str]:
    """Return the named systems in table order; all if there are no names.

    Raises:
        ConfigError: There is no system of that name.
    """
    if unknown := [name for name in names if name not in SYSTEMS]:
        raise ConfigError(f"There is no system {unknown[0]!r}; known: {', '.join(SYSTEMS)}.")
    return [name for name in SYSTEMS if not names or name in names]


@dataclass(frozen=True, slots=True)
class Collection:
    """The judged queries of a split, with the judgements."""

    corpus_file: Path
    queries: Mapping[str, str]  # id → text, in the order of the judgements
    qrels: Qrels


def open_collection(folder: Path, split: str) -> Collection:
    """Read the queries and judgements, and find the corpus.

    Raises:
        InputError: A file is missing or malformed, or a judged query has no text.
    """
    layout = "a BEIR collection: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv"
    corpus_file, queries_file = (
        files.required(folder, name, layout) for name in ("corpus", "queries")
    )
    table = folder / "qrels" / f"{split}.tsv"
    if not table.is_file():
        there = ", ".join(sorted(p.stem for p in table.parent.glob("*.tsv"))) or "none"
        raise InputError(f"{table} does not exist; the splits of {folder} are: {there}.")
    qrels = _qrels(table)
    if not qrels:
        raise InputError(f"{table} has no judgements; expected rows of query-id, corpus-id, score.")
    texts = dict(_queries(queries_file))
    if missing := [query_id for query_id in qrels if query_id not in texts]:
        raise InputError(
            f"{table} judges {len(missing)} queries that {queries_file} does not have, the first "
            f"is {missing[0]!r}. Do the two belong together?"
        )
    return Collection(corpus_file, {query_id: texts[query_id] for query_id in qrels}, qrels)


def documents(path: Path) -> Iterator[Document | Unchecked]:
    """Yield a corpus file's documents with their ids as addresses, and errors for bad lines.

    Their real addresses are not used because several articles may share one.
    """
    for found in jsonl.documents(path):
        stated = found.meta.get("_id") if isinstance(found, Document) else None
        yield replace(found, url=stated) if isinstance(found, Document) and stated else found


def evaluate(
    collection: Collection,
    corpus: Corpus,
    systems: Sequence[str] = tuple(SYSTEMS),
    tell: Progress = lambda what, done, total: None,
) -> tuple[dict[str, Any], Runs]:
    """Return the systems' measures, `{"systems": {"lexical": {…}, …}, …}`, and their runs."""
    runs: Runs = {}
    measured: dict[str, dict[str, Any]] = {}
    for name in systems:
        started, (way, mode) = time.perf_counter(), SYSTEMS[name]
        runs[name] = _run(corpus.by(way, mode=mode), collection.queries, name, tell)
        seconds = round(time.perf_counter() - started, 1)
        found = measures.ranking_measures(collection.qrels, runs[name], measures.GRADED)
        measured[name] = {**found, "seconds": seconds}
    relevant = {
        d for judged in collection.qrels.values() for d, grade in judged.items() if grade > 0
    }
    missing = sum(document is None for document in corpus.get(sorted(relevant)))
    result = {"n": len(collection.queries), "systems": measured}
    return {**result, "n_relevant": len(relevant), "n_relevant_not_in_corpus": missing}, runs


def _run(
    retriever: Retriever, queries: Mapping[str, str], name: str, tell: Progress
) -> dict[str, list[str]]:
    ids, run = list(queries), dict[str, list[str]]()
    for start in range(0, len(ids), QUERIES_AT_ONCE):
        batch = ids[start : start + QUERIES_AT_ONCE]
        run |= _ranked(retriever, {query_id: queries[query_id] for query_id in batch})
        tell(name, len(run), len(ids))
    return run


def _ranked(retriever: Retriever, queries: Mapping[str, str]) -> dict[str, list[str]]:
    """Return DEPTH documents per query; fewer only if no more have a matching passage.

    Retrieves more passages if those of a few documents fill the list.
    """
    found: dict[str, list[str]] = {}
    waiting, k = list(queries), 2 * DEPTH
    while waiting:
        hits = retriever.retrieve([queries[query_id] for query_id in waiting], k)
        by_query = dict(zip(waiting, hits, strict=True))
        for query_id, of in by_query.items():
            urls = dict.fromkeys(hit.passage.url for hit in of)
            urls.pop(query_id, None)
            found[query_id] = list(urls)[:DEPTH]
        waiting = [q for q, of in by_query.items() if len(of) == k and len(found[q]) < DEPTH]
        k *= 2
    return found


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    for place, record in files.records(path):
        query_id, text = jsonl.field_of(record, "_id"), record.get("text")
        if not query_id or not isinstance(text, str):
            raise InputError(f"{place}: expected an object with _id and text.")
        yield query_id, text


def _qrels(path: Path) -> Qrels:
    """Read BEIR's table of judgements, in file order.

    A malformed line is an error: skipping it would make the measures silently wrong.
    """
    found: Qrels = {}
    try:
        rows = [line.split("\t") for line in path.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    if not rows or tuple(rows[0]) != _FIELDS:
        raise InputError(f"{path} line 1: expected the columns {', '.join(_FIELDS)}, with tabs.")
    for number, row in enumerate(rows[1:], 2):
        if row == [""]:
            continue
        try:
            query_id, doc_id, grade = row
            relevance = int(grade)
        except ValueError as error:
            raise InputError(
                f"{path} line {number}: expected {', '.join(_FIELDS)} with a whole number as score."
            ) from error
        if doc_id in found.setdefault(query_id, {}):
            raise InputError(f"{path} line {number}: {doc_id} is judged twice for {query_id}.")
        found[query_id][doc_id] = relevance
    return found


# TREC's file formats for runs and judgements


def write_run(path: Path, run: Mapping[str, Sequence[str]], tag: str) -> None:
    """Write lines `qid Q0 docno rank score tag`.

    trec_eval ignores the ranks and sorts by the scores, so the scores are reversed ranks, which do
    not tie.

    Raises:
        InputError: An id is empty or holds white space, or the file cannot be written.
    """
    lines = [
        f"{_word(query_id)} Q0 {_word(doc_id)} {rank} {len(documents) - rank + 1} {tag}\n"
        for query_id, documents in run.items()
        for rank, doc_id in enumerate(documents, 1)
    ]
    with usable(path, "written"):
        durable.write_text(path, "".join(lines))


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write lines `qid 0 docno rel`; raises InputError as `write_run` does."""
    lines = [
        f"{_word(query_id)} 0 {_word(doc_id)} {relevance}\n"
        for query_id, judged in qrels.items()
        for doc_id, relevance in judged.items()
    ]
    with usable(path, "written"):
        durable.write_text(path, "".join(lines))


def _word(text: str) -> str:
    if text.split() != [text]:
        raise InputError(
            f"The id {text!r} cannot be in a TREC file, whose fields are separated by spaces."
        )
    return text
