"""Reads bytes or a file into a `Document`, or the reason why there is none.

A file holds web archives (`archives`), JSON lines (`jsonl`), records of papers (`papers`,
`bibliographies`), or one page in a `body.Format`. Bad content never raises: it gives an
`Unchecked`. Only a missing path raises `InputError`.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.documents import inputs, jsonl, sandbox
from pincite.documents.body import (
    DEFAULT_LIMITS,
    GZIP,
    MAX_REFUSED_IN_A_ROW,
    MEMORY_OF_SCANS,
    SCANNED_PAGES,
    SECONDS_A_SCAN,
    Body,
    Format,
    Limits,
    decompress,
    format_of,
    head_of,
    of_status,
    too_large,
)
from pincite.documents.text import decode, with_language
from pincite.durable import CacheFile, cache_folder
from pincite.errors import InputError
from pincite.text.page_numbers import SCANS
from pincite.types import Document, Reason, Unchecked

if TYPE_CHECKING:
    from pincite.documents import archives

__all__ = ["DEFAULT_LIMITS", "Limits", "read_bytes", "read_path"]

_LOG = logging.getLogger(__name__)
Found = Document | Unchecked
_BROKEN = frozenset({Reason.UNDECODABLE, Reason.EMPTY, Reason.TOO_LARGE})
WARC_ENDINGS = (".warc", ".warc.gz")
_LOCATION = re.compile(
    rb"^(?:snapshot-)?content-location:\s*(https?://[!-~]+)", re.IGNORECASE | re.MULTILINE
)
ENGINE = "rapidocr"
INSTALL = "pincite[ocr] reads text in pictures"
_BEFORE_XML = b" \t\r\n\xef\xbb\xbf\xff\xfe\0"  # white space and byte order marks


def read_bytes(
    data: bytes,
    *,
    url: str,
    content_type: str | None = None,
    fetched: str | None = None,
    status: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Found:
    """Read a page; never raises, whatever the bytes are.

    `content_type` may be wrong or None; `status` is the HTTP status, if there was one; `fetched` is
    copied to the document.
    """
    if refused := of_status(url, status):
        return refused
    try:
        document = _read(Body(url, data, content_type, fetched, limits))
    except ImportError:
        raise
    except Exception as error:  # unexpected bytes fail their page, not the run
        return reader_failure(url, error)
    if isinstance(document, Document) and len(document.text) > limits.max_chars:
        detail = f"{len(document.text)} characters of text, the limit is {limits.max_chars}"
        return Unchecked(url, Reason.TOO_LARGE, detail)
    return document


def read_path(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[Found]:
    """Yield the documents of a file: one page, or those of an archive or collection in order.

    A single page's address is the one that it states for itself, else its `file:` URI. Thousands of
    broken records in a row end the reading. Raises InputError if it is not a readable file.
    """
    if not path.is_file():
        fault = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path} {fault}; expected a file with one or more documents.")
    url, in_a_row = path.resolve().as_uri(), 0
    try:
        for outcome in _contents(path, limits):
            yield outcome
            broken = isinstance(outcome, Unchecked) and outcome.reason in _BROKEN
            in_a_row = in_a_row + 1 if broken else 0
            if in_a_row == MAX_REFUSED_IN_A_ROW:
                why = f"{in_a_row:,} records in a row are broken; the rest was not read"
                yield Unchecked(url, Reason.UNDECODABLE, f"{path.name}: {why}")
                return
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Check permissions.") from error
    except (ImportError, InputError, OSError):
        raise
    except Exception as error:  # a reader's bug costs the rest of the file
        yield reader_failure(url, error)


def reader_failure(url: str, error: Exception) -> Unchecked:
    _LOG.warning("reading %s failed", url, exc_info=error)
    detail = f"the reader failed: {type(error).__name__}: {error}"[:300]
    return Unchecked(url, Reason.UNDECODABLE, detail)


def read_record(record: "archives.Record | Unchecked", limits: Limits) -> Found:
    if isinstance(record, Unchecked):
        return record
    return read_bytes(
        record.data,
        url=record.url,
        content_type=record.content_type,
        fetched=record.fetched,
        status=record.status,
        limits=limits,
    )


def _contents(path: Path, limits: Limits) -> Iterator[Found]:
    if path.name.lower().endswith(WARC_ENDINGS):
        from pincite.documents import archives  # few runs need it

        read_page = partial(read_record, limits=limits)
        yield from inputs.read_each(read_page, archives.records(path, limits))
    elif jsonl.has_documents(path):
        yield from jsonl.documents(path, limits)
    elif records := records_in(path, limits):
        yield from map(with_language, sandbox.read_many(*records))
    else:
        yield read_file(path, limits)


def records_in(path: Path, limits: Limits) -> tuple[str, Iterator[Body | Unchecked]] | None:
    """The reader for a file of records of papers, and the records; None for other files."""
    start = head_of(path)[:512]
    xml = start.lstrip(_BEFORE_XML).startswith(b"<")
    has_marks = any(mark in start for mark in (b"TY  - ", b"PMID-", b"@"))
    if not (xml or has_marks or path.suffix == ".bib"):
        return None  # most files; avoids loading lxml
    from pincite.documents import bibliographies, papers

    module: Any = papers if xml else bibliographies
    reader = module.reader_of(path)
    return (reader, module.bodies(path, reader, limits)) if reader else None


def read_file(path: Path, limits: Limits = DEFAULT_LIMITS) -> Found:
    url, size = path.resolve().as_uri(), path.stat().st_size
    if size > limits.max_bytes:
        return too_large(url, size, limits.max_bytes)
    addresses = addresses_of(head_of(path), url)
    document = read_bytes(path.read_bytes(), url=url, limits=limits)
    return replace(document, url=addresses[0]) if addresses else document


def addresses_of(head: bytes, url: str) -> list[str]:
    """The addresses that a web page's `head` states; empty for other formats."""
    kind, _ = format_of(head, url, None)
    if kind is Format.MHTML:
        # The address of the snapshot (Chrome), or of its first part.
        stated = _LOCATION.search(head)
        return [stated[1].decode("ascii")] if stated else []
    if kind is not Format.HTML:
        return []
    from pincite.documents import markup

    return markup.addresses_in(decode(head, markup.declared_charset(head)) or "")


def _read(body: Body) -> Found:
    url, limit = body.url, body.limits.max_bytes
    if len(body.data) > limit:
        return too_large(url, len(body.data), limit)
    if body.data.startswith(GZIP):  # still compressed, by a server's mistake or as a file
        data = decompress(body.data, limit)
        if len(data) > limit:
            return too_large(url, len(data), limit, "the unpacked file")
        if data.startswith(GZIP):
            return Unchecked(url, Reason.UNSUPPORTED_TYPE, "gzip within gzip")
        body = replace(body, data=data)
    if not body.data.strip():
        return Unchecked(url, Reason.EMPTY, "the file is empty")
    kind, name = format_of(body.data, url, body.content_type)
    if kind is Format.UNSUPPORTED:
        return Unchecked(url, Reason.UNSUPPORTED_TYPE, f"{name}: this format is not supported")
    if kind is Format.MISLABELLED:
        return Unchecked(url, Reason.UNDECODABLE, name)
    # Plain text has no structure that could be made slow to parse.
    read = sandbox.read_here if kind is Format.TEXT else sandbox.read
    is_image = kind is Format.IMAGE
    document = Unchecked(url, Reason.UNREADABLE_SCAN, name) if is_image else read(kind, body)[0]
    if isinstance(document, Document):
        has_scans = SCANS in document.meta
    else:
        has_scans = document.reason is Reason.UNREADABLE_SCAN
    if has_scans:
        document = read_scan(kind if is_image else "scanned pdf", body, document)
    return with_language(document)


def read_scan(reader: str, body: Body, without: Document | Unchecked) -> Document | Unchecked:
    """Read a scan, or return what was read of the same bytes before; `without` an engine, that."""
    try:
        key = f"{ENGINE} {version(ENGINE)} {version('pincite')} {reader} "
    except PackageNotFoundError:
        if isinstance(without, Document):
            return without
        return replace(without, detail=f"{without.detail}; {INSTALL}")
    digest = hashlib.sha256(key.encode() + body.data).digest()
    with closing(open_cache(scans_file())) as file:
        if kept := file.values("found", [digest]):
            outcome = sandbox.found_in(json.loads(kept[digest]))
        else:
            seconds = body.limits.seconds + SECONDS_A_SCAN * SCANNED_PAGES
            memory = max(MEMORY_OF_SCANS, body.limits.memory)
            limits = replace(body.limits, seconds=seconds, memory=memory)
            outcome = sandbox.read(reader, replace(body, limits=limits))[0]
            if isinstance(outcome, Document) or outcome.reason is Reason.UNREADABLE_SCAN:
                file.insert([(digest, json.dumps(asdict(outcome)))])
    outcome = replace(outcome, url=body.url)
    return replace(outcome, fetched=body.fetched) if isinstance(outcome, Document) else outcome


def scans_file() -> Path:
    return cache_folder() / "scans.sqlite"


def open_cache(path: Path) -> CacheFile:
    return CacheFile(path, "scans (key BLOB PRIMARY KEY, found TEXT)")
