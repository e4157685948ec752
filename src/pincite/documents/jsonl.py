"""Reads record files, JSON lines or tables, plain or gzipped.

| format | a line | what becomes a document |
|---|---|---|
| JSON lines, BEIR | `url` (or `id`), `text`, `title`, … | a line |
| CCNet (Wenzek et al. 2020) | `url`, `raw_content`, `date_download`, … | a line |
| KILT (Petroni et al. 2021) | `wikipedia_id`, `wikipedia_title`, `text`: paragraphs | a line |
| Sphere (Piktus et al. 2021) | `url`, `raw`: a chunk of 100 words, `sha`, `id` | chunks of a url |
| DPR's `psgs_w100.tsv` (Karpukhin et al. 2020) | id, text and title, by tabs | rows of a title |

File names are unreliable (Sphere comes as .jsonl and as .json), so the first recognisable record
decides the format. Files are read line by line, and a bad line affects only itself.

Chunks of a page in adjacent lines are joined. If a page recurs later in the file, or exceeds the
size limit, the rest becomes further documents at `PAGE#ID`, because a second document at the same
address would replace the first. Chunks in different *files* are not joined: the last file wins.
"""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from urllib.parse import quote

from pincite.documents.body import (
    DEFAULT_LIMITS,
    MAX_REFUSED_IN_A_ROW,
    Limits,
    is_bomb,
    too_large,
    unusable,
)
from pincite.documents.text import cleaned, code_of, language_of, one_line
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

Found = Document | Unchecked
Record = Mapping[str, Any]
JSONL_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_ENDINGS = (*JSONL_ENDINGS, ".json", ".json.gz", ".tsv", ".tsv.gz")
FIRST_LINES = 20
FIRST_BYTES = 8_000_000  # a page of KILT has 6 kB, the longest articles with all links some 3 MB
_CCNET_TEXT, _CCNET_DATE = "raw_content", "date_download"
_IDS = ("id", "_id")
_NOT_META = frozenset(
    f"url text title published date language lang kind fetched id _id {_CCNET_TEXT} "
    f"{_CCNET_DATE}".split()
)
_HEADING, _ITEM = "Section::::", "BULLET::::"  # KILT's
_BETWEEN_HEADINGS = re.compile(r"\.:|::+")
_COLUMNS = ("id", "text", "title")  # DPR's
# A Bloom filter (Bloom 1970): 2^27 bits and 7 hashes hold 14 million pages at a 1 % error rate, (1
# − e^(−7n/m))^7. An error costs a page its plain address, not its text.
SEEN_BYTES = 1 << 24
N_HASHES = 7


# ── Lines and records ────────────────────────────────────────────────────────────────────────────


class Line(NamedTuple):
    """A line of a file; `data` is cut at the limit, and `broken` says why."""

    number: int
    offset: int  # in the unpacked file, for `document_at`
    data: bytes
    broken: str = ""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw, _unpacked(raw, path) as file:
        yield file


def _unpacked(raw: IO[bytes], path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if path.suffix.lower() == ".gz" else raw


def lines(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Line]:
    """Yield non-blank lines with offsets; the last is broken if the file is truncated.

    A file that exceeds the decompression ratio counts as truncated.
    """
    number, offset, n_blank = 0, 0, 0
    with path.open("rb") as raw, _unpacked(raw, path) as file:
        try:
            while data := file.readline(limits.line_bytes + 1):
                number += 1
                length, rest = len(data), data
                while length > limits.line_bytes and rest and not rest.endswith(b"\n"):
                    rest = file.readline(1 << 20)
                    length += len(rest)
                n_blank += 1
                if data.strip():
                    n_blank = 0
                    yield Line(number, offset, data)
                offset += length
                if n_blank == MAX_REFUSED_IN_A_ROW:
                    raise OSError(f"{n_blank:,} blank lines in a row")
                if is_bomb(offset, raw.tell(), limits):
                    raise OSError(f"it unpacks without end from byte {offset:,} on")
        except (EOFError, OSError, zlib.error) as error:
            yield Line(number + 1, offset, b"", f"the file breaks off: {error}")


def place(line: Line, path: Path) -> str:
    return f"{path.name} line {line.number}"


def record_of(line: Line, path: Path, limits: Limits) -> dict[str, Any] | Unchecked:
    """Parse the JSON object in a line, or return what is wrong with the line."""
    return _parsed(line, path, limits, json.loads)


def _parsed(
    line: Line, path: Path, limits: Limits, parse: Callable[[bytes], Any]
) -> dict[str, Any] | Unchecked:
    where = place(line, path)
    if len(line.data) > limits.line_bytes:
        return too_large(where, len(line.data), limits.line_bytes, f"{where}: it")
    fault, record = line.broken, None
    if not fault:
        try:
            record = parse(line.data)
        except (ValueError, RecursionError, csv.Error) as error:
            fault = f"{'no JSON: ' if parse is json.loads else ''}{error}"
        else:
            fault = "" if isinstance(record, dict) else "an object was expected"
    return Unchecked(where, Reason.UNDECODABLE, f"{where}: {fault}") if fault else record or {}


def _columns(data: bytes) -> dict[str, str]:
    row = data.decode().rstrip("\r\n")
    cells = next(csv.reader([row], delimiter="\t"), [])
    if len(cells) != len(_COLUMNS):  # a text that merely begins with a quotation mark
        cells = row.split("\t")
    if len(cells) != len(_COLUMNS) or not cells[2].strip():
        raise ValueError(f"{len(cells)} columns; id, text and title were expected")
    return dict(zip(_COLUMNS, cells, strict=True))


def _is_header(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").strip().decode("latin-1").split("\t") == [*_COLUMNS]


def field_of(record: Record, *names: str) -> str | None:
    """The first of the fields with a non-blank string or an integer."""
    for name in names:
        value = record.get(name)
        if (isinstance(value, str) and value.strip()) or type(value) is int:
            return str(value)
    return None


def _fields_of(record: Record, *names: str) -> dict[str, str]:
    return {name: one_line(value) for name in names if (value := field_of(record, name))}


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for data in lines:
        try:
            record = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


# ── Formats ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How the lines of a file become documents."""

    name: str
    page: Callable[[Record, str, Limits], Found]  # arguments: record, its file and line, limits
    address: Callable[[Record], str]
    fits: Callable[[Record], bool] = lambda record: False
    parse: Callable[[bytes], Any] = json.loads
    glue: str = ""  # joins the chunks of a page; empty: each line is a document
    refusal: str = ""  # why this format is rejected

    def read(self, path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Found]:
        if self.refusal:
            detail = f"{path.name}: {self.refusal}"
            yield Unchecked(path.resolve().as_uri(), Reason.UNSUPPORTED_TYPE, detail)
        else:
            yield from self.documents(lines(path, limits), path, limits)

    def documents(self, chosen: Iterable[Line], path: Path, limits: Limits) -> Iterator[Found]:
        """Yield the documents in some lines; bad lines between chunks do not split a page."""
        pages = self._pages(chosen, path, limits)
        return _joined(pages, self.glue, limits) if self.glue else pages

    def _pages(self, chosen: Iterable[Line], path: Path, limits: Limits) -> Iterator[Found]:
        for line, record in self.records(chosen, path, limits):
            if isinstance(record, Unchecked):
                yield record
            else:
                yield self.page(record, place(line, path), limits)

    def records(
        self, chosen: Iterable[Line], path: Path, limits: Limits
    ) -> Iterator[tuple[Line, dict[str, Any] | Unchecked]]:
        """Yield lines with their records, without a table's header."""
        for line in chosen:
            if self.parse is json.loads or not _is_header(line.data):
                yield line, _parsed(line, path, limits, self.parse)


def format_of(path: Path) -> LineFormat | None:
    """Detect the format of a record file; None for other files.

    A .json or .tsv file must match a known collection. A .jsonl file is always accepted, and errors
    are reported per line.
    """
    name = path.name.lower()
    if not name.endswith(_ENDINGS):
        return None
    head = list(_first_lines(path))
    if head and _is_header(head[0]):
        return DPR
    records = list(_objects(head))
    is_jsonl = name.endswith(JSONL_ENDINGS)
    # A BEIR query looks like a document without a title, which BEIR allows. So both the file name
    # and the fields are checked; a file with this name may contain documents.
    titled = any("title" in record or "url" in record for record in records)
    if is_jsonl and "queries" in name and not titled and any("_id" in r for r in records):
        return QUERIES
    fitting = (known for record in records for known in _JSON_FORMATS if known.fits(record))
    found = next(fitting, PLAIN)
    return found if found is not PLAIN or is_jsonl else None


def first_records(path: Path) -> list[dict[str, Any]]:
    return list(_objects(_first_lines(path)))


def _first_lines(path: Path) -> Iterator[bytes]:
    left, n_lines = FIRST_BYTES, 0
    try:
        with opened(path) as file:
            for _ in range(MAX_REFUSED_IN_A_ROW):
                data = file.readline(left)
                left -= len(data)
                if data.strip():
                    n_lines += 1
                    yield data
                if not data or n_lines == FIRST_LINES:
                    return
    except (EOFError, OSError, zlib.error):
        return  # reading the file reports the error


def addresses(path: Path, known: LineFormat, limits: Limits) -> Iterator[tuple[Line, str]]:
    """Yield each line with its page's address, or "" if it has none.

    Ends with a broken line after thousands of consecutive lines without an address.
    """
    in_a_row = 0
    for line, record in known.records(lines(path, limits), path, limits):
        address = "" if isinstance(record, Unchecked) else known.address(record)
        yield line, address
        in_a_row = 0 if address else in_a_row + 1
        if in_a_row == MAX_REFUSED_IN_A_ROW:
            fault = f"{in_a_row:,} lines in a row hold no address; the rest is not read"
            yield line._replace(broken=fault), ""
            return


def document_at(
    path: Path, known: LineFormat, places: Sequence[tuple[int, int]], limits: Limits
) -> Found:
    """Return the first readable document in the lines at `places` (number, offset)."""
    with opened(path) as file:
        chosen = list[Line]()
        for number, offset in places:
            file.seek(offset)
            chosen.append(Line(number, offset, file.readline(limits.line_bytes + 1)))
    found = list(known.documents(chosen, path, limits))
    return next((page for page in found if isinstance(page, Document)), found[0])


# ── Pages in one line ────────────────────────────────────────────────────────────────────────────


def document_in(record: Record, where: str, limits: Limits, kind: str = "jsonl") -> Found:
    """Convert a record to a document; `where` is file and line, `kind` the default kind.

    BEIR articles with only a title use the title as the text.
    """
    url, text = _url(record), record.get("text", record.get(_CCNET_TEXT))
    if not url or not isinstance(text, str):
        return _incomplete(url, where, "text" if url else "url (or id)")
    title = one_line(field_of(record, "title"))
    text = cleaned(text) or (title if "_id" in record else "")
    if fault := unusable(text, url, where, limits):
        return fault
    meta = {
        key: one_line(value)
        for key, value in record.items()
        if isinstance(value, str) and key not in _NOT_META
    }
    return Document(
        url=url,
        title=title,
        text=text,
        kind=field_of(record, "kind") or kind,
        published=field_of(record, "published", "date"),
        fetched=field_of(record, "fetched", _CCNET_DATE),
        # A stated language takes precedence over a detected one.
        language=code_of(field_of(record, "language", "lang")) or language_of(text),
        meta=meta | (_fields_of(record, *_IDS) if _stated_url(record) else {}),
    )


def _incomplete(url: str, where: str, missing: str) -> Unchecked:
    return Unchecked(url or where, Reason.UNDECODABLE, f"{where}: no {missing}")


def _url(record: Record) -> str:
    return one_line(_stated_url(record) or field_of(record, *_IDS))


def _stated_url(record: Record) -> str | None:
    metadata = record.get("metadata")
    inner = field_of(metadata, "url") if isinstance(metadata, dict) else None
    return field_of(record, "url") or inner


def _kilt_page(record: Record, where: str, limits: Limits) -> Found:
    """A Wikipedia page of August 2019; its address has the revision id, or else the page id."""
    title = one_line(field_of(record, "wikipedia_title"))
    url, paragraphs = _kilt_url(record), record.get("text")
    if not url:
        return _incomplete("", where, "wikipedia_id or history.url")
    if not isinstance(paragraphs, list) or not all(isinstance(p, str) for p in paragraphs):
        return _incomplete(url, where, "text, a list of paragraphs")
    text = kilt_text(paragraphs, title)
    return unusable(text, url, where, limits) or Document(
        url=url,
        title=title,
        text=text,
        kind="jsonl",
        fetched=field_of(_revision(record), "timestamp"),
        language=language_of(text, "en"),
        meta=_fields_of(record, "wikipedia_id", "categories"),
    )


def _revision(record: Record) -> Record:
    return record["history"] if isinstance(record.get("history"), dict) else {}


def _kilt_url(record: Record) -> str:
    page_id = field_of(record, "wikipedia_id")
    by_id = f"https://en.wikipedia.org/?curid={page_id}" if page_id else ""
    return one_line(field_of(_revision(record), "url") or by_id)


def kilt_text(paragraphs: Sequence[str], title: str) -> str:
    r"""Join the paragraphs, without KILT's markers and the leading title.

    >>> kilt_text(["Varde", "A town.", "Section::::History.:Bridges.", "BULLET::::- Old"], "Varde")
    'A town.\n\nBridges\n\n- Old'
    """
    found = [one_line(paragraph) for paragraph in paragraphs]
    if found and found[0] == title:
        del found[0]
    found = [line for line in found if line.removeprefix(_ITEM)]
    within = (a.startswith(_ITEM) and b.startswith(_ITEM) for a, b in pairwise(found))
    gaps = ["", *("\n" if both else "\n\n" for both in within)]
    parts = []
    for gap, line in zip(gaps, found, strict=False):
        words = line.removeprefix(_ITEM)
        if line.startswith(_HEADING):
            headings = _BETWEEN_HEADINGS.split(line.removeprefix(_HEADING))
            words = next((h for h in reversed(headings) if h.strip()), "").removesuffix(".")
        parts.append(gap + words)
    return cleaned("".join(parts))


# ── Pages in pieces: Sphere, DPR ─────────────────────────────────────────────────────────────────


def _chunk(record: Record, where: str, limits: Limits) -> Found:
    """One line of Sphere; its vector is ignored, since the corpus has its own encoder."""
    url, raw = one_line(field_of(record, "url")), record.get("raw")
    if not url or not isinstance(raw, str):
        return _incomplete(url, where, "raw, the text of the chunk" if url else "url")
    title, text = one_line(field_of(record, "title")), cleaned(raw)
    meta = _fields_of(record, "id", "sha")
    return unusable(text, url, where, limits) or Document(url, title, text, "jsonl", meta=meta)


def _passage(record: Record, where: str, limits: Limits) -> Found:
    url, title, text = _passage_url(record), one_line(record["title"]), cleaned(record["text"])
    meta = {"id": record["id"]}
    return unusable(text, url, where, limits) or Document(url, title, text, "tsv", meta=meta)


def _passage_url(record: Record) -> str:
    name = one_line(record["title"]).replace(" ", "_")
    return "https://en.wikipedia.org/wiki/" + quote(name, safe="/:(),'!*;@$")


def _joined(pieces: Iterable[Found], glue: str, limits: Limits) -> Iterator[Found]:
    seen, run, n_chars = Seen(), list[Document](), 0

    def page() -> Document:
        text = glue.join(piece.text for piece in run)
        document = replace(run[0], text=text, language=language_of(text))
        if seen.add(document.url):
            return replace(document, url=f"{document.url}#{document.doc_id}")
        return document

    for piece in pieces:
        if isinstance(piece, Unchecked):
            yield piece
            continue
        n_chars += len(glue) + len(piece.text)
        if run and (piece.url != run[0].url or n_chars > limits.max_chars):
            yield page()
            run.clear()
        if not run:
            n_chars = len(piece.text)
        run.append(piece)
    if run:
        yield page()


class Seen:
    """A set of addresses in 16 MiB: no false negatives, rare false positives."""

    def __init__(self) -> None:
        self._bits = bytearray(SEEN_BYTES)

    def add(self, url: str) -> bool:
        """Add `url`; return whether it was already present."""
        digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=4 * N_HASHES).digest()
        known = True
        for start in range(0, len(digest), 4):
            number = int.from_bytes(digest[start : start + 4]) % (8 * SEEN_BYTES)
            known &= bool(self._bits[number >> 3] & 1 << (number & 7))
            self._bits[number >> 3] |= 1 << (number & 7)
        return known


def _strings(record: Record, *names: str) -> bool:
    return all(isinstance(record.get(name), str) for name in names)


SPHERE = LineFormat(
    "sphere",
    _chunk,
    _url,
    lambda r: _strings(r, "url", "raw") and "text" not in r and ("sha" in r or "id" in r),
    glue="\n\n",
)
KILT = LineFormat(
    "kilt",
    _kilt_page,
    _kilt_url,
    lambda r: "wikipedia_title" in r and isinstance(r.get("text"), list),
)
CCNET = LineFormat("ccnet", document_in, _url, lambda r: _strings(r, "url", _CCNET_TEXT))
PLAIN = LineFormat(
    "jsonl",
    document_in,
    _url,
    lambda r: bool(_url(r)) and isinstance(r.get("text", r.get(_CCNET_TEXT)), str),
)
# Passages end within sentences, so they are joined with a space.
DPR = LineFormat("dpr", _passage, _passage_url, parse=_columns, glue=" ")
QUERIES = LineFormat(
    "queries",
    document_in,
    _url,
    refusal="these are the queries of a BEIR collection, not documents. Add its corpus.jsonl; "
    "`pincite eval beir` measures what is found for the queries",
)
_JSON_FORMATS = (SPHERE, KILT, CCNET, PLAIN)
documents = PLAIN.read


# ── Claims with evidence and a label: what verifiers are trained on and measured with ────────────

LABELS = ("support", "refute", "nei", "partial", "not_support")  # not_support: refute or nei


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim, its evidence as one text, and the annotators' label."""

    row_id: str
    claim: str
    evidence: str
    label: str
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)


def read_labelled(
    path: Path, on_bad: Callable[[InputError], None] | None = None
) -> Iterator[LabelledClaim]:
    """Yield the rows of a file (`id, evidence, claim, label`, optionally `meta`) in order.

    The file has JSON lines, plain or .gz. `on_bad` is called with the error of each bad row, which
    is skipped; None raises it.

    Raises:
        InputError: states the file, the line, and what is missing or wrong.
    """
    try:
        for line in lines(path):
            if line.broken:
                raise OSError(line.broken)
            try:
                yield _labelled(line.data, f"{path} line {line.number}")
            except InputError as bad:
                if on_bad is None:
                    raise
                on_bad(bad)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _labelled(line: bytes, place: str) -> LabelledClaim:
    try:
        value = json.loads(line)
        fields = (value["claim"], value["evidence"], value["label"], value.get("meta") or {})
        row = LabelledClaim(str(value["id"]), *fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        expected = "id, evidence, claim, label"
        raise InputError(
            f"{place}: expected a JSON object with {expected}; got {error!r}"
        ) from error
    if not isinstance(row.claim, str) or not isinstance(row.evidence, str):
        raise InputError(f"{place}: claim and evidence must be strings.")
    try:
        f"{row.claim}{row.evidence}".encode()
    except UnicodeEncodeError as error:  # a lone surrogate such as "\ud800"
        raise InputError(f"{place}: {error}; expected text that UTF-8 can write.") from error
    if not row.claim.strip():
        raise InputError(f"{place}: the claim is empty.")
    if row.label not in LABELS:
        raise InputError(f"{place}: label is {row.label!r}; expected one of {', '.join(LABELS)}.")
    if not isinstance(row.meta, dict):
        raise InputError(f"{place}: meta must be an object.")
    return row
