"""Reads files and folders, for a knowledge base (`collect`) or by address (`Sources`).

A manifest maps files to addresses and adds metadata: `manifest.jsonl`, a CSV file with a header, or
a `.json` file with one object per file name, as in EvidenceSeeker. A row may also describe a page
that states its own address, or contain the text itself. Files outside the manifest's folder are
never opened.
"""

import contextlib
import csv
import hashlib
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from pincite.documents import jsonl, read
from pincite.documents.body import (
    DEFAULT_LIMITS,
    ENDINGS,
    MAX_REFUSED_IN_A_ROW,
    Format,
    Limits,
    head_of,
    too_large,
    type_of_ending,
)
from pincite.documents.text import code_of, decode, one_line
from pincite.errors import InputError
from pincite.text.hosts import original_of
from pincite.text.identifiers import doi_address, doi_in, doi_of, pmid_of, pubmed_address
from pincite.text.page_numbers import LABELS, PAGES
from pincite.types import FILE, Document, Reason, Unchecked

Found = Document | Unchecked

# ── When two addresses are the same page ─────────────────────────────────────────────────────────

_TRACKING = re.compile(r"(utm_\w+|fbclid|gclid|dclid|msclkid|mc_cid|mc_eid|igshid)(=|$)", re.I)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ESCAPED_LETTER = re.compile("%(2[de]|3[0-9]|[46][1-9a-f]|[57][0-9a]|5f|7e)", re.IGNORECASE)


def exact_key(url: str) -> str:
    """Normalise an address: drop scheme, fragment and tracking parameters."""
    url = url.strip().replace("&amp;", "&")  # as wikitext may write it
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url
    if not host:
        return url
    if not host.isascii():
        with contextlib.suppress(UnicodeError):
            host = host.encode("idna").decode("ascii")
    if port and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    query = "&".join(p for p in parts.query.split("&") if p and not _TRACKING.match(p))
    path = _normalize_escapes(parts.path).rstrip("/")
    path = path.lower() if f".{host}".endswith(".doi.org") else path  # DOIs ignore case
    return f"{host}{path}" + (f"?{_normalize_escapes(query)}" if query else "")


def loose_key(url: str) -> str:
    """Like `exact_key`, without an archive's prefix and without `www.`."""
    return exact_key(original_of(url)).removeprefix("www.")


def variants(url: str) -> tuple[str, ...]:
    """List the addresses under which a crawl may have stored the page, the given one first.

    >>> variants("http://www.example.org/a")[:3]
    ('http://www.example.org/a', 'https://www.example.org/a', 'http://example.org/a')
    """
    page = original_of(url).split("#")[0]
    scheme, _, rest = page.partition("://")
    bare = rest.removeprefix("www.").rstrip("/")
    hosts = ("www.", "") if rest.startswith("www.") else ("", "www.")
    schemes = (scheme, "https" if scheme == "http" else "http")
    slashes = ("/", "") if rest.endswith("/") else ("", "/")
    others = (f"{s}://{h}{bare}{end}" for end in slashes for h in hosts for s in schemes)
    return tuple(dict.fromkeys((url, page, *others)))


def _normalize_escapes(text: str) -> str:
    """Normalise percent-encoding: letters and digits bare, the rest in upper case."""
    bare = _ESCAPED_LETTER.sub(lambda match: unquote_to_bytes(match[0]).decode("ascii"), text)
    capitals = re.sub(r"%[0-9a-fA-F]{2}", lambda match: match[0].upper(), bare)
    return quote(capitals, safe="/%:;=@!$&'()*+,?~[]|", errors="replace")


# ── Manifests ────────────────────────────────────────────────────────────────────────────────────

NAME = "manifest.jsonl"
NAMES = (NAME, "manifest.csv")
_OWN = frozenset(
    "url file status content_type fetched title date published language lang kind text".split()
)
MAX_ROWS = 500_000  # all are held in memory, 500 bytes or more each
_SEPARATORS = ",;\t"  # spreadsheets use semicolons where the decimal separator is a comma
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?(?=$|T| )")
_CSV_FIELDS = ("text", "abstract", "url", "file")  # one of them makes a table a manifest
_CSV = (".csv", ".tsv")
HEAD = 10_000  # bytes of a header
_OF_CORPUS = {"corpus.json", "lock"}  # files of a corpus folder


class Problem(NamedTuple):
    """Something in a folder that could not be used; `line` is 0 if it concerns the whole file."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}{f', line {self.line}' if self.line else ''}: {self.message}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One manifest row, which overrides what the file states of itself."""

    url: str  # empty: the file states its own address
    file: Path | None = None
    status: int | None = None
    content_type: str | None = None
    fetched: str | None = None
    fault: str = ""  # why its file may not be opened
    title: str = ""
    published: str | None = None
    language: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    record: Mapping[str, Any] = field(default_factory=dict)  # the row, if it contains the text
    remarks: tuple[str, ...] = ()  # invalid values in a row that is otherwise used

    def read(self, limits: Limits = DEFAULT_LIMITS) -> Found:
        if self.fault:
            return Unchecked(self.url, Reason.NOT_SUPPLIED, self.fault)
        try:
            return self.describe(self._read(limits))
        except OSError as error:
            detail = f"the stored copy cannot be opened: {error.strerror}"
            return Unchecked(self.url, Reason.NOT_SUPPLIED, detail)

    def describe(self, outcome: Found) -> Found:
        if isinstance(outcome, Unchecked):
            return outcome
        # These are properties of the PDF, so the row cannot override them.
        pages = {key: outcome.meta[key] for key in (PAGES, LABELS) if key in outcome.meta}
        return replace(
            outcome,
            title=self.title or outcome.title,
            published=self.published or outcome.published,
            language=self.language or outcome.language,
            meta={**outcome.meta, **self.meta, **pages},
        )

    def _read(self, limits: Limits) -> Found:
        if self.file and not self.url:
            return read.read_file(self.file, limits)
        n_bytes = self.file.stat().st_size if self.file else 0
        if n_bytes > limits.max_bytes:
            return too_large(self.url, n_bytes, limits.max_bytes)
        # A saved file's name may reveal more than its address: report.pdf for /download?id=7.
        name = self.file.name.lower().removesuffix(".gz") if self.file else ""
        return read.read_bytes(
            self.file.read_bytes() if self.file else b"",
            url=self.url,
            content_type=self.content_type or type_of_ending(Path(name).suffix),
            fetched=self.fetched,
            status=self.status,
            limits=limits,
        )


def is_manifest(path: Path) -> bool:
    """Whether a file is a manifest, by its name or its fields; other CSV files are tables."""
    if path.name in NAMES or _by_file_name(path):
        return True
    if path.name.lower().endswith(_CSV):
        with path.open("rb") as file:
            header = (decode(file.readline(HEAD)) or "").lower()
        names = {name.strip(' "') for name in re.split(r"[,;\t\r\n]", header)}
        # A list of papers without abstracts counts too, so that the missing column is reported.
        lists_papers = "title" in names and not names.isdisjoint({"doi", "pmid"})
        return lists_papers or not names.isdisjoint(_CSV_FIELDS)
    first = jsonl.first_records(path) if path.name.lower().endswith(".jsonl") else []
    return bool(first) and all("file" in record and "text" not in record for record in first)


def entries(path: Path) -> Iterator[Entry | Problem]:
    """Yield rows with an address and a file or a failure status, each after its `Problem`s."""
    for row in rows(path):
        if isinstance(row, Problem):
            yield row
        elif not row.url:
            yield Problem(path.name, row.line, "no url")
        elif not row.file and (row.status is None or row.status < 300):
            yield Problem(path.name, row.line, "it has neither a file nor the status of a failure")
        else:
            for message in filter(None, (*row.remarks, row.fault)):
                yield Problem(path.name, row.line, message)
            yield row


def rows(
    path: Path, limits: Limits = DEFAULT_LIMITS, called: Mapping[str, Path] | None = None
) -> Iterator[Entry | Problem]:
    """Yield all rows in order; `called` maps their file names to files stored under others."""
    n_bad = 0
    for n, (number, record) in enumerate(_records(path, limits)):
        if n == MAX_ROWS or n_bad == MAX_REFUSED_IN_A_ROW:
            why = f"{n:,} rows" if n == MAX_ROWS else f"{n_bad:,} bad rows in a row"
            yield Problem(path.name, number, f"{why}; the rest was not read")
            return
        try:
            if isinstance(record, str):
                raise ValueError(record)
            yield _entry(record, path.parent, called or {}, number)
            n_bad = 0
        except ValueError as error:
            n_bad += 1
            yield Problem(path.name, number, str(error))


def is_inside(folder: Path, path: Path) -> bool:
    """Whether `path` lies in `folder` after resolving symbolic links."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # symlink loops, NUL in a name
        return path.resolve().is_relative_to(folder.resolve())
    return False


def _outside(name: str) -> str:
    return f"the file {name!r} is outside the folder, which is not allowed"


Row = tuple[int, Mapping[str, Any] | str]  # line number (0: the whole file), content or error


def _records(path: Path, limits: Limits) -> Iterator[Row]:
    if path.suffix == ".json":
        for n, (name, row) in enumerate(_by_file_name(path).items()):
            yield n, {**row, "file": name}
    elif path.name.lower().endswith(_CSV):
        yield from _csv_records(path, limits)
    else:
        for line in jsonl.lines(path, limits):
            record = jsonl.record_of(line, limits)
            if isinstance(record, Unchecked):
                yield line.number, record.detail.removeprefix(f"{line.place}: ")
            else:
                yield line.number, record


def _csv_records(path: Path, limits: Limits) -> Iterator[Row]:
    """Read a CSV file in any encoding, without empty cells and rows; names become lower case."""
    if (size := path.stat().st_size) > limits.max_bytes:
        yield 0, too_large("", size, limits.max_bytes).detail
        return
    if (text := decode(path.read_bytes())) is None:
        yield 0, "the bytes are not text in any encoding"
        return
    # The limit is global to the process, and 131,072 characters by default; a cell may hold a text.
    csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes))
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), restval="", delimiter=separator)
    try:
        rows.fieldnames = names = [name.strip().lower() for name in rows.fieldnames or ()]
        if set(names).isdisjoint(_CSV_FIELDS):
            yield 0, f"expected a column named {' or '.join(_CSV_FIELDS)}"
            return
        for cells in rows:
            if surplus := cells.pop(None, []):
                n_cells = len(names) + len(surplus)
                yield rows.line_num, f"{n_cells} cells; the header names {len(names)}"
            elif row := {name: cell for name, cell in cells.items() if name and cell.strip()}:
                place = f"{path.resolve().as_uri()}#{rows.line_num}"
                yield rows.line_num, _with_address(row, place)
    except csv.Error as error:
        yield rows.line_num, str(error)


def _with_address(row: dict[str, str], otherwise: str) -> dict[str, str]:
    """A row whose text, or abstract, has an address: that of its PMID or DOI if none is stated."""
    row = {("text" if name == "abstract" else name): cell for name, cell in row.items()}
    if "text" in row and "file" not in row:
        pmid, doi = row.get("pmid", "").strip(), doi_in(row.get("doi", ""))
        own = pubmed_address(pmid) if pmid.isdecimal() else doi and doi_address(doi)
        row.setdefault("url", own or otherwise)
    return row


def _by_file_name(path: Path) -> Mapping[str, Mapping[str, Any]]:
    if path.suffix != ".json" or path.stat().st_size > DEFAULT_LIMITS.max_bytes:
        return {}
    try:
        listing = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return {}
    by_name = isinstance(listing, dict) and all(isinstance(row, dict) for row in listing.values())
    return listing if by_name else {}


def _entry(record: Mapping[str, Any], folder: Path, called: Mapping[str, Path], line: int) -> Entry:
    """Parse a row; raises ValueError if it is invalid."""
    url, name, status = (_field(record, key) for key in ("url", "file", "status"))
    if status and not (status.isascii() and status.isdigit()):
        raise ValueError(f"status {status!r} is not a number")
    has_text = bool(jsonl.field_of(record, "text")) and not name
    if not (url or name or has_text):
        raise ValueError("no url")
    file, fault = None, ""
    if name:
        file = called.get(name) or called.get(name.rpartition("/")[2])
        if not file:
            file = folder / name
            if Path(name).is_absolute() or not is_inside(folder, file):
                fault = _outside(name)
            elif not file.is_file():
                fault = f"the file {name!r} does not exist"
    known, remarks = _known_fields(record)
    return Entry(
        url=url or "",
        file=file,
        status=int(status) if status else None,
        content_type=_field(record, "content_type"),
        fetched=_field(record, "fetched"),
        fault=fault,
        remarks=tuple(remarks),
        line=line,
        record=record if has_text else {},
        **known,
    )


def _known_fields(record: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the known fields, and remarks on invalid values; odd dates stay as metadata."""
    meta, remarks = dict[str, str](), list[str]()
    for key, value in record.items():
        if key in _OWN or value is None:
            continue
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            meta[key] = one_line(", ".join(value))
        elif isinstance(value, (str, int, float)):
            meta[key] = one_line(str(value))
        else:
            remarks.append(f"{key} should be a text, a number or a list of texts; it is ignored")
    date = (jsonl.field_of(record, "published", "date", "year") or "").strip()
    stated = _DATE.match(date)
    if date and not stated:
        meta["date"] = one_line(date)
        remarks.append(f"date {date!r} is not like 2019-05-14, 2019-05 or 2019; it is ignored")
    language = jsonl.field_of(record, "language", "lang")
    if language and not code_of(language):
        remarks.append(f"language {language!r} is not an ISO 639-1 code like en; it is ignored")
    known = {
        "title": one_line(jsonl.field_of(record, "title")),
        "published": stated[0] if stated else None,
        "language": code_of(language),
        "meta": {key: value for key, value in meta.items() if value},
    }
    return known, remarks


def _field(record: Mapping[str, Any], key: str) -> str | None:
    value = record.get(key)
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return None if value in (None, "") else str(value).strip()
    raise ValueError(f"{key} should be a string, but is {json.dumps(value)[:60]}")


# ── What is read into a knowledge base ───────────────────────────────────────────────────────────

_EDITION = re.compile(r"(?:pubmed|medline)(\d\d)n(\d{4,9})\.xml(?:\.gz)?", re.IGNORECASE)


def edition(path: Path) -> tuple[int, int] | None:
    """Year and number of a file in a numbered series; greater is later, None for other files."""
    match = _EDITION.fullmatch(path.name)
    return (int(match[1]), int(match[2])) if match else None


def version(meta: Mapping[str, str]) -> int:
    stated = meta.get("version", "1")
    return int(stated) if stated.isascii() and stated.isdecimal() else 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A file to read, with the manifest rows that name it."""

    path: Path
    entries: tuple[Entry, ...] = ()
    rows: tuple[Entry | Problem, ...] | None = None  # of a manifest: its errors and inline texts


def _digest(rows: Iterable[Entry]) -> str:
    stated = [(e.url, e.title, e.published, e.language, e.meta, e.fetched) for e in rows]
    return hashlib.sha256(repr(stated).encode()).hexdigest()[:16]


@dataclass(slots=True)
class Collection:
    """The files to read, in order; built by `collect`."""

    pieces: list[Piece]
    by_address: dict[str, Entry] = field(default_factory=dict)  # rows without a file
    located: set[str] = field(default_factory=set)  # keys of pages found so far
    unread: tuple[Unchecked, ...] = ()  # links out of the folder
    limits: Limits = DEFAULT_LIMITS
    pages_digest: str = ""  # of the rows without a file, which may be many

    def read(self, piece: Piece) -> Iterator[Found]:
        """Yield the documents of a piece; raises InputError if its file cannot be opened."""
        if piece.rows is not None:
            yield from self._read_rows(piece, piece.rows)
        elif piece.entries:
            yield from (entry.read(self.limits) for entry in piece.entries)
        else:
            for outcome in read.read_path(piece.path, limits=self.limits):
                self.known_as(outcome.url)
                entry = self.by_address.get(exact_key(outcome.url))
                yield entry.describe(outcome) if entry else outcome

    def signature(self, piece: Piece) -> str:
        """Fingerprint of the file, by its size and time as in make and rsync, and its rows."""
        stat = piece.path.stat()
        self.pages_digest = self.pages_digest or _digest(self.by_address.values())
        digest = _digest(piece.entries) if piece.entries else self.pages_digest
        return f"{stat.st_size}:{stat.st_mtime_ns}:{digest}"

    def known_as(self, url: str) -> None:
        """Record that a page exists, even if it was read elsewhere or earlier."""
        if self.by_address:
            self.located.add(exact_key(url))

    def missing(self) -> list[Unchecked]:
        """Links out of the folder, and rows whose page no file contains."""
        detail = "the manifest names no file for this page, and no other file contains it"
        lost = (row.url for key, row in self.by_address.items() if key not in self.located)
        return [*self.unread, *(Unchecked(url, Reason.NOT_SUPPLIED, detail) for url in lost)]

    def _read_rows(self, piece: Piece, rows: tuple[Entry | Problem, ...]) -> Iterator[Found]:
        for row in rows:
            if isinstance(row, Problem):
                yield Unchecked(row.file, Reason.UNDECODABLE, str(row))
                continue
            where = f"{piece.path.name}, line {row.line}"
            for remark in row.remarks:
                yield Unchecked(row.url or where, Reason.UNDECODABLE, f"{where}: {remark}")
            if row.fault:
                yield Unchecked(row.url or where, Reason.NOT_SUPPLIED, f"{where}: {row.fault}")
            elif row.record:
                kind = "csv" if piece.path.suffix.lower() in _CSV else "jsonl"
                yield row.describe(jsonl.document_in(row.record, where, self.limits, kind))
            elif row.status is not None and not row.file:
                yield row.read(self.limits)


def collect(
    paths: Sequence[Path], limits: Limits = DEFAULT_LIMITS, called: Mapping[str, Path] | None = None
) -> Collection:
    """List the files to read in the order of `files`, but series in that of their numbers.

    `called` maps the file names in the manifests among them to files stored under other names.
    """
    links = list[Path]()
    given = [path for path in files(paths, links.append) if path.suffix.lower() != ".md5"]
    numbered = iter(sorted(filter(edition, given), key=lambda path: edition(path) or (0, 0)))
    given = [next(numbered) if edition(path) else path for path in given]
    others = dict(called or {})
    by_name = {path.name: path for path in given} | others
    stated = {
        path: tuple(rows(path, limits, by_name if path.suffix == ".json" else others))
        for path in given
        if is_manifest(path)
    }
    named: dict[Path, list[Entry]] = {}
    by_address: dict[str, Entry] = {}
    for row in (row for group in stated.values() for row in group if isinstance(row, Entry)):
        if row.file and not row.fault:
            named.setdefault(row.file.resolve(), []).append(row)
        elif not row.file and not row.record and row.status is None:
            by_address[exact_key(row.url)] = row
    added = {path.resolve() for path in given}
    pieces = [Piece(path, tuple(named.get(path.resolve(), ())), stated.get(path)) for path in given]
    pieces += [Piece(path, tuple(group)) for path, group in named.items() if path not in added]
    refused = ((path.absolute().as_uri(), _outside(path.name)) for path in links)
    unread = tuple(Unchecked(url, Reason.NOT_SUPPLIED, why) for url, why in refused)
    return Collection(pieces, by_address, unread=unread, limits=limits)


def files(
    paths: Sequence[Path],
    on_outside: Callable[[Path], object] = lambda path: None,
    on_error: Callable[[OSError], object] = lambda error: None,
) -> Iterator[Path]:
    """Walk files in a fixed order; folders recursively, without hidden files and corpora.

    Links out of a folder go to `on_outside`, since a downloaded folder must not pull private files
    into a corpus; unreadable folders to `on_error`. Raises InputError for a path that is missing.
    """
    for path in paths:
        if path.is_file():
            yield path
            continue
        if not path.is_dir():
            raise InputError(f"{path} does not exist; expected a file or a folder to add.")
        inside = list[Path]()
        for folder, folders, names in os.walk(path, onerror=on_error):
            if {*names} >= _OF_CORPUS:  # "corpus add kb ." must not read kb
                folders.clear()
                continue
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside += [Path(folder, name) for name in names if not name.startswith(".")]
        for file in sorted(inside):
            if file.is_symlink() and not is_inside(path, file):
                on_outside(file)
            elif file.is_file():
                yield file


# ── Stored copies of cited pages ─────────────────────────────────────────────────────────────────

Loader = Callable[[], Found]
_SAVED_PAGES = (*Format.HTML.endings, *Format.MHTML.endings)
# No README, and no pictures of a saved page; but formats that users try, to say that it failed.
_WITHOUT_ADDRESS = (
    *({*ENDINGS} - {*Format.MARKDOWN.endings, *Format.IMAGE.endings}),
    *(".doc", ".odt", ".zip"),
)
MAX_PROBLEMS = 100  # the rest are only counted
MAX_REMEMBERED = 5_000  # pages: an article cites some hundreds, a dump millions
_NEEDS_MANIFEST = "no web address in this file; add it to manifest.jsonl"


class Sources:
    """The cited pages that a user has stored, in folders or as single files.

    Folders may have files named in a manifest, saved pages that state their address, web archives,
    and JSON lines. Opening reads only addresses; bodies are read on demand and cached.
    """

    def __init__(self, paths: Sequence[Path], limits: Limits = DEFAULT_LIMITS) -> None:
        self.paths = paths
        self.limits = limits
        self.single: list[Path] = []  # files with one document that no manifest describes
        self.unnamed: list[Path] = []  # those of them that do not state their own address
        self.n_named = 0  # the other files
        self.titles: list[tuple[str, str, Loader]] = []  # with the address, of each record
        self._loaders: dict[str, list[Loader]] = defaultdict(list)
        self._loose: dict[str, list[Loader]] = defaultdict(list)
        self._redirects: dict[str, str] = {}
        self._remembered: dict[str, Found] = {}
        self._problems: list[Problem] = []
        self._n_problems = 0
        by_folder: dict[Path, list[Path]] = defaultdict(list)

        def unlisted(error: OSError) -> None:
            self._problem(Path(error.filename), 0, f"cannot be listed: {error.strerror}")

        for path in files(paths, lambda p: self._problem(p, 0, _outside(p.name)), unlisted):
            by_folder[path.parent].append(path)
        listed = (path for names in by_folder.values() for path in names if path.name in NAMES)
        manifests = {path: list(entries(path)) for path in listed}
        rows = (row for rows in manifests.values() for row in rows if isinstance(row, Entry))
        named = {row.file.resolve() for row in rows if row.file and not row.fault}
        for folder in sorted(by_folder):
            for path in (folder / name for name in NAMES if folder / name in manifests):
                self._index_rows(path, manifests[path])
            for path in by_folder[folder]:
                if path not in manifests:
                    self._index_file(path, path.resolve() in named)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems, and the files that are of no use without the article."""
        names = map(self.name_of, self.unnamed)
        return self.problems([Problem(name, 0, _NEEDS_MANIFEST) for name in names])

    def problems(self, unused: Sequence[Problem]) -> tuple[Problem, ...]:
        """The problems, and those with single files."""
        shown = (*self._problems, *unused)[:MAX_PROBLEMS]
        more = self._n_problems + len(unused) - len(shown)
        return (*shown, Problem(self.place, 0, f"{more:,} more problems")) if more else shown

    @property
    def place(self) -> str:
        return ", ".join(map(str, self.paths[:2])) + (", …" if len(self.paths) > 2 else "")

    def name_of(self, path: Path) -> str:
        """The name of a file, relative to the given folder."""
        above = (folder for folder in self.paths if folder != path and path.is_relative_to(folder))
        return path.relative_to(next(above, path.parent)).as_posix()

    def __len__(self) -> int:
        return len(self._loaders)

    def get(self, url: str) -> Found:
        key = exact_key(url)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.clear()
        if key not in self._remembered:
            detail = f"no file in {self.place} is a copy of it"
            missing = Unchecked(url, Reason.NOT_SUPPLIED, detail)
            self._remembered[key] = missing  # also breaks redirect loops
            self._remembered[key] = self._found(url) or missing
        return self._remembered[key]

    def _found(self, url: str) -> Found | None:
        loose = loose_key(url)
        first: Unchecked | None = None
        for loader in (*self._loaders.get(exact_key(url), ()), *self._loose.get(loose, ())):
            try:
                outcome = loader()
            except Exception as error:  # the file was removed or damaged after indexing
                outcome = read.reader_failure(url, error)
            if isinstance(outcome, Document):
                return outcome
            first = first or outcome
        target = self._redirects.get(loose)
        return first or (self.get(target) if target else None)

    def _index_rows(self, path: Path, rows: Sequence[Entry | Problem]) -> None:
        for entry in rows:
            if isinstance(entry, Problem):
                self._problem(path, entry.line, entry.message)
                continue
            name = {FILE: self.name_of(entry.file)} if entry.file else {}
            described = replace(entry, meta={**entry.meta, **name})
            self._add(entry.url, partial(described.read, self.limits))

    def _index_file(self, path: Path, is_named: bool) -> None:
        self.n_named += 1
        try:
            if not is_named:
                self._index_unnamed(path)
        except OSError as error:
            self._problem(path, 0, f"cannot be opened: {error.strerror or error}")
        except Exception as error:
            self._problem(path, 0, read.reader_failure(str(path), error).detail)

    def _index_unnamed(self, path: Path) -> None:
        name = path.name.lower().removesuffix(".gz")
        if name.endswith(read.WARC_ENDINGS):
            self._index_warc(path)
        elif jsonl.has_documents(path):
            self._index_lines(path)
        elif read.records_in(path, self.limits) or (name.endswith(_CSV) and is_manifest(path)):
            self._index_records(path)
        else:
            self.single.append(path)
            self.n_named -= 1
            saved = name.endswith(_SAVED_PAGES)
            stated = read.addresses_of(head_of(path), path.resolve().as_uri()) if saved else []
            for url in stated:
                entry = Entry(url, path, meta={FILE: self.name_of(path)})
                self._add(url, partial(entry.read, self.limits))
            if not stated and name.endswith(_WITHOUT_ADDRESS):
                self.unnamed.append(path)

    def _index_warc(self, path: Path) -> None:
        from pincite.documents import archives  # few runs need it

        def load(offset: int) -> Found:
            return read.read_record(archives.record_at(path, offset, self.limits), self.limits)

        for record in archives.records(path, self.limits):
            if isinstance(record, Unchecked):
                if record.url.startswith("file:"):
                    self._problem(path, 0, record.detail)
                else:
                    self._add(record.url, partial(read.read_record, record, self.limits))
            elif record.location and record.status and 300 <= record.status < 400:
                try:
                    target = urljoin(record.url, record.location)
                except ValueError:
                    target = record.location
                self._redirects.setdefault(loose_key(record.url), target)
            else:
                self._add(record.url, partial(load, record.offset))

    def _index_lines(self, path: Path) -> None:
        if jsonl.has_queries(path):
            self._problem(path, 0, jsonl.QUERIES)
            return
        for line, record in jsonl.addressed_records(path, self.limits):
            if record:
                where = (line.number, line.offset)
                loader = partial(jsonl.document_at, path, *where, self.limits)
                self._add_record(jsonl.address_of(record), record, loader)
            else:
                self._problem(path, line.number, line.broken or "it contains no address")

    def _index_records(self, path: Path) -> None:
        collection = collect([path], self.limits)
        for outcome in collection.read(collection.pieces[0]):
            if isinstance(outcome, Document):
                document = replace(outcome, meta={**outcome.meta, FILE: self.name_of(path)})
                stated = {**document.meta, "title": document.title}
                self._add_record(document.url, stated, partial(lambda document: document, document))
            else:
                self._problem(path, 0, outcome.detail)

    def _add_record(self, url: str, stated: Mapping[str, Any], loader: Loader) -> None:
        doi, pmid, title = (jsonl.field_of(stated, name) for name in ("doi", "pmid", "title"))
        self._add(url, loader)
        if doi and (known := doi_of(doi)):
            self._add(doi_address(known), loader)
        if pmid and (known := pmid_of(pmid)):
            self._add(pubmed_address(known), loader)
        self.titles.append((title or "", url, loader))

    def _add(self, url: str, loader: Loader) -> None:
        self._loaders[exact_key(url)].append(loader)
        self._loose[loose_key(url)].append(loader)

    def _problem(self, path: Path, line: int, message: str) -> None:
        self._n_problems += 1
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Problem(self.name_of(path), line, message))


def open_sources(*paths: Path, limits: Limits = DEFAULT_LIMITS) -> Sources:
    """Open folders or files of stored pages; raises InputError for a path that cannot be read."""
    for path in paths:
        if not path.exists():
            raise InputError(
                f"There is no folder or file {str(path)!r}. --sources needs a folder of saved "
                "copies of the cited pages, or single files."
            )
        if not os.access(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK):
            raise InputError(f"{path} cannot be read: permission denied.")
    return Sources(paths, limits)
