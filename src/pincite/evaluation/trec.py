r"""TREC's files, in which retrieval systems and judgements are exchanged; plain or .gz.

A *run* has lines `qid Q0 docno rank score tag`, *qrels* have `qid 0 docno rel`, parted by white
space; BEIR's qrels are a table `query-id\tcorpus-id\tscore` with that header. Tools such as
trec_eval sort a run by its scores and ignore the ranks, so scores that tie, or do not fall with the
rank, would give another ranking than the system's: `write_run` takes care of it.

Reading is strict: a line that is not in order is an `InputError` with file and line, since a
measure over a file that was half understood is wrong without looking wrong.
"""

import gzip
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from pincite.errors import InputError

Qrels = dict[str, dict[str, int]]  # query → document → how relevant; 0: judged, and not


class Ranked(NamedTuple):
    """A document in a run; its rank is its place in the list."""

    doc_id: str
    score: float


Run = Mapping[str, Sequence[Ranked]]  # query → documents, best first

LARGEST = float(np.finfo(np.float32).max)

_RUN_FIELDS = "qid Q0 docno rank score tag"
_QRELS_FIELDS = "qid 0 docno rel"
_BEIR_FIELDS = ("query-id", "corpus-id", "score")


def read_run(path: Path) -> dict[str, list[Ranked]]:
    """The documents of each query, best first: by score as trec_eval has it, ties by the rank.

    Raises:
        InputError: a line has other than six fields, a rank or score is no number, or a document
            comes twice for a query; or the file cannot be read.
    """
    found: dict[str, dict[str, tuple[float, float]]] = {}  # −score and rank: what sorts
    for place, line in _lines(path):
        query_id, _, doc_id, rank, score, _ = _fields(line.split(), _RUN_FIELDS, place)
        of_query = found.setdefault(query_id, {})
        _require_new(doc_id, query_id, of_query, place)
        number = _number(float, score, "score", place)
        of_query[doc_id] = (-number, _number(int, rank, "rank", place))
    return {query_id: _by_score(of_query) for query_id, of_query in found.items()}


def write_run(path: Path, run: Run, tag: str) -> None:
    """Write the documents with ranks 1, 2, … and scores that fall from each rank to the next.

    A score is written as float32, which is what trec_eval computes with; one that is not below that
    of the rank before becomes the next smaller number.

    Raises:
        InputError: a score is not finite, or an id or the tag is empty or holds white space.
    """
    _require_word(tag, "tag")
    with _written(path) as file:
        for query_id, documents in run.items():
            _require_word(query_id, "query id")
            scores = falling([document.score for document in documents])
            for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1):
                _require_word(document.doc_id, "document id")
                file.write(f"{query_id} Q0 {document.doc_id} {rank} {score:.9g} {tag}\n".encode())


def falling(scores: Sequence[float]) -> list[float]:
    """The scores as float32 numbers, each below the one before it.

    >>> falling([2.0, 1.0, 1.0, 3.0])
    [2.0, 1.0, 0.9999999403953552, 0.9999998807907104]
    """
    found: list[float] = []
    bound = np.float32(np.inf)
    for score in scores:
        if not abs(score) <= LARGEST:  # NaN too
            raise InputError(f"The score {score} cannot stand in a run; expected a float32 number.")
        bound = min(np.float32(score), np.nextafter(bound, np.float32(-np.inf)))
        found.append(float(bound))
    return found


def read_qrels(path: Path) -> Qrels:
    """The judgements of each query, in the order of the file; zeros are kept.

    Raises:
        InputError: a line has other than four fields, a relevance is no whole number, or a document
            is judged twice for a query; or the file cannot be read.
    """
    rows = ((place, _fields(line.split(), _QRELS_FIELDS, place)) for place, line in _lines(path))
    return _judgements((place, (row[0], row[2], row[3])) for place, row in rows)


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write the judgements; raises InputError for an id that is empty or holds white space."""
    with _written(path) as file:
        for query_id, judged in qrels.items():
            _require_word(query_id, "query id")
            for doc_id, relevance in judged.items():
                _require_word(doc_id, "document id")
                file.write(f"{query_id} 0 {doc_id} {relevance}\n".encode())


def read_beir_qrels(path: Path) -> Qrels:
    """The judgements in BEIR's table, whose ids may hold spaces; raises as `read_qrels` does."""
    lines = _lines(path)
    place, header = next(lines, (f"{path} line 1", ""))
    if tuple(header.split("\t")) != _BEIR_FIELDS:
        expected = ", ".join(_BEIR_FIELDS)
        raise InputError(
            f"{place}: expected the columns {expected}, parted by tabs; got {header!r}."
        )
    rows = ((at, _fields(line.split("\t"), " ".join(_BEIR_FIELDS), at)) for at, line in lines)
    return _judgements((at, (row[0], row[1], row[2])) for at, row in rows)


def _judgements(rows: Iterable[tuple[str, tuple[str, str, str]]]) -> Qrels:
    found: Qrels = {}
    for place, (query_id, doc_id, relevance) in rows:
        of_query = found.setdefault(query_id, {})
        _require_new(doc_id, query_id, of_query, place)
        of_query[doc_id] = int(_number(int, relevance, "relevance", place))
    return found


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines that are not blank, with their place for messages."""
    number = 0
    try:
        with _opened(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                    yield f"{path} line {number}", text
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Expected a TREC or BEIR file."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} line {number}: {error}. Expected UTF-8.") from error


@contextmanager
def _written(path: Path) -> Iterator[IO[bytes]]:
    """The file, written beside and renamed: after an error the old one is still there."""
    beside = path.with_name(f"{path.stem}.part{path.suffix}")
    try:
        with _opened(beside, "wb") as file:
            yield file
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        beside.unlink(missing_ok=True)


def _opened(path: Path, mode: str) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, mode))
    return cast(IO[bytes], path.open(mode))


def _fields(fields: list[str], names: str, place: str) -> list[str]:
    if len(fields) != len(names.split()):
        raise InputError(f"{place}: {len(fields)} fields; expected {names}.")
    return fields


def _number(kind: Callable[[str], float], text: str, name: str, place: str) -> float:
    try:
        number = kind(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        wanted = "a whole number" if kind is int else "a finite number"
        raise InputError(f"{place}: the {name} is {text!r}; expected {wanted}.")
    return number


def _require_new(doc_id: str, query_id: str, known: Mapping[str, object], place: str) -> None:
    if doc_id in known:
        raise InputError(
            f"{place}: document {doc_id} comes a second time for query {query_id}. Take one out."
        )


def _require_word(text: str, name: str) -> None:
    if text.split() != [text]:
        raise InputError(
            f"The {name} {text!r} cannot stand in a TREC file: its fields are parted by white "
            "space. Give it another."
        )


def _by_score(of_query: Mapping[str, tuple[float, float]]) -> list[Ranked]:
    ordered = sorted(of_query.items(), key=lambda item: item[1])
    return [Ranked(doc_id, -negated) for doc_id, (negated, _) in ordered]
