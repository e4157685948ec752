"""Which collection a file of lines is: told by what its first lines hold.

Sphere, CCNet, KILT, BEIR and common JSON lines come as .jsonl and as .json, so names say little.
The first line that is a record of one of them decides; bad lines before it do not.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pincite.documents.body import MAX_REFUSED_IN_A_ROW, Limits
from pincite.documents.lines import jsonl, kilt, sphere, wiki_passages
from pincite.types import Document, Reason, Unchecked

Reader = Callable[[Path, Limits], Iterator[Document | Unchecked]]
OfLines = Callable[[Iterable[jsonl.Line], Path, Limits], Iterator[Document | Unchecked]]

JSONL_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_ENDINGS = (*JSONL_ENDINGS, ".json", ".json.gz", ".tsv", ".tsv.gz")
_READERS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Reader], ...] = (
    (sphere.is_chunk, sphere.documents),
    (kilt.is_page, kilt.documents),
    (jsonl.is_ccnet, jsonl.pages),
    (jsonl.is_document, jsonl.documents),
)
_OF_LINES: Mapping[Reader, OfLines] = {
    sphere.documents: sphere.of_lines,
    kilt.documents: kilt.of_lines,
    jsonl.pages: jsonl.of_lines,
    jsonl.documents: jsonl.of_lines,
    wiki_passages.documents: wiki_passages.of_lines,
}
_ADDRESS: Mapping[Reader, Callable[[Mapping[str, Any]], str]] = {
    sphere.documents: jsonl.url_of,
    kilt.documents: kilt.url_of,
    jsonl.pages: jsonl.url_of,
    jsonl.documents: jsonl.url_of,
}
FIRST_LINES = 20
FIRST_BYTES = 8_000_000  # a page of KILT has 6 kB, the longest articles with all links some 3 MB


def reader_of(path: Path) -> Reader | None:
    """The reader for a file of records; None if it is another kind of file.

    A .json or .tsv that is none of the known collections is another kind of file; a .jsonl is read
    line by line in any case, and each line says what it lacks.
    """
    name = path.name.lower()
    if not name.endswith(_ENDINGS):
        return None
    head = list(_first_lines(path))
    if any(map(wiki_passages.is_header, head[:1])):
        return wiki_passages.documents
    records = [record for data in head if (record := _object(data)) is not None]
    if name.endswith(JSONL_ENDINGS):
        if _are_queries(name, records):
            return refused
        return _first_fitting(records) or jsonl.documents
    found = _first_fitting(records)
    return None if found is jsonl.documents else found


def first_records(path: Path) -> list[dict[str, Any]]:
    """The objects among the first lines of a file."""
    return [record for data in _first_lines(path) if (record := _object(data)) is not None]


def addresses(path: Path, reader: Reader, limits: Limits) -> Iterator[tuple[jsonl.Line, str]]:
    """The lines of a file with the address of the page that each is of; empty if it has none.

    Ends with a broken line where thousands in a row have none.
    """
    in_a_row = 0
    for line in jsonl.lines(path, limits):
        if reader is wiki_passages.documents:
            address = wiki_passages.address_in(line)
            if address == "":  # the table's header
                continue
        else:
            record = _object(line.data)
            address = _ADDRESS[reader](record) if record is not None else None
        yield line, address or ""
        in_a_row = 0 if address else in_a_row + 1
        if in_a_row == MAX_REFUSED_IN_A_ROW:
            fault = f"{in_a_row:,} lines in a row hold no address; the rest is not read"
            yield line._replace(broken=fault), ""
            return


def document_at(
    path: Path, reader: Reader, places: Sequence[tuple[int, int]], limits: Limits
) -> Document | Unchecked:
    """The page in the lines at `places` (number, offset): the first that can be read."""
    lines = jsonl.lines_at(path, places, limits)
    found = list(_OF_LINES[reader](lines, path, limits))
    documents = (page for page in found if isinstance(page, Document))
    return next(documents, found[0])


def _first_fitting(records: Sequence[Mapping[str, Any]]) -> Reader | None:
    fitting = (reader for record in records for fits, reader in _READERS if fits(record))
    return next(fitting, None)


def _are_queries(name: str, records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are BEIR's queries: by the file's name *and* by the fields.

    A query has the fields of a document without a title, which BEIR allows, so the fields alone do
    not tell; and a file of this name may hold documents, which have a title or an address.
    """
    with_id = [record for record in records if "_id" in record]
    return (
        "queries" in name
        and bool(with_id)
        and not any("title" in record or "url" in record for record in records)
    )


def refused(path: Path, limits: Limits) -> Iterator[Unchecked]:
    """The reader of a file that holds no documents: why it is not read."""
    detail = (
        f"{path.name}: these are the queries of a BEIR collection, not documents. Add its "
        "corpus.jsonl; what is found for the queries, `pincite eval beir` measures"
    )
    yield Unchecked(path.resolve().as_uri(), Reason.UNSUPPORTED_TYPE, detail)


def _first_lines(path: Path) -> Iterator[bytes]:
    """At most FIRST_LINES lines with something in them, FIRST_BYTES together."""
    left, n_lines = FIRST_BYTES, 0
    try:
        with jsonl.opened(path) as file:
            for _ in range(MAX_REFUSED_IN_A_ROW):
                data = file.readline(left)
                left -= len(data)
                if data.strip():
                    n_lines += 1
                    yield data
                if not data or n_lines == FIRST_LINES:
                    return
    except (EOFError, OSError, zlib.error):
        return  # the reader says what is broken


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
