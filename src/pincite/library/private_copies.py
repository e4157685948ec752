"""The user's private copies of sources that cannot be fetched, such as paid papers and books.

They are in a folder that only the user can read. `index.sqlite` records the sources of each copy,
and `files/` holds the bytes under their SHA-256, so that no external name becomes a path. A file is
complete before the index names it, and each index change is one transaction: after a crash a
copy is either attached or not, and at most one stray file is left until the next change.

A source is identified by keys: `url:`, `doi:`, `pmid:`, `isbn:`, or, without any of these, `work:`
(title and author); one shared key is enough. A source may have several files, such as chapters. The
pages in a citation choose among them, and the chosen files are read as one document, whose pages
keep their printed numbers.
"""

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pincite.documents.body import DEFAULT_LIMITS, too_large
from pincite.documents.collection import exact_key
from pincite.documents.read import read_bytes
from pincite.documents.text import join_pieces as text_joined
from pincite.documents.text import one_line
from pincite.durable import data_path, sync
from pincite.errors import ConfigError, InputError, usable
from pincite.report.cells import n_of
from pincite.text.hosts import host_of
from pincite.text.identifiers import doi_of, doi_of_url, isbn13, pmid_of, pmid_of_url, work_key
from pincite.text.page_numbers import (
    LABELS,
    PAGES,
    PageRange,
    cited_pages,
    page_labels,
    page_starts,
)
from pincite.text.words import content_words
from pincite.types import FILE, OWN_SCHEME, Citation, Document, Reason, Unchecked

# ── Which source ─────────────────────────────────────────────────────────────────────────────────

FEW_WORDS = 20  # the text of a whole source has more
_NUMBER = re.compile(r"r?([1-9][0-9]{0,3})\Z")
_FORMS = (
    "an address (https://…), a DOI (10.…), a PMID (PMID 123), an ISBN, a citation "
    "(article.wiki#r7, or r7 with --report REPORT.json), or an id from `pincite source list`"
)


class Named(NamedTuple):
    """A source: what the user calls it, its keys, and a citation's title, authors and site."""

    ref: str
    keys: tuple[str, ...]
    names: tuple[str, ...] = ()


def citation_keys(citation: Citation) -> tuple[str, ...]:
    """Return the keys of a citation's source, most reliable first."""
    isbn = isbn13(citation.isbn or "")
    keys = _keys_of_ids(citation.doi, citation.pmid) + ([f"isbn:{isbn}"] if isbn else [])
    if citation.url:
        keys += _keys_of_address(citation.url)
    by = (*citation.authors, *([citation.publisher] if citation.publisher else []))
    if work := work_key(citation.title or "", by):
        keys.append(f"work:{work}")
    return tuple(dict.fromkeys(keys))


def document_keys(document: Document) -> frozenset[str]:
    """Return the keys of a document: its address, and the DOI and PMID that it states."""
    stated = _keys_of_ids(document.meta.get("doi"), document.meta.get("pmid"))
    return frozenset({*_keys_of_address(document.url), *stated})


def named_source(ref: str) -> Named:
    """Return the source with this address, DOI, PMID or ISBN.

    Raises InputError: It is none of these.
    """
    ref = one_line(ref)
    if re.match(r"https?://", ref, re.IGNORECASE):
        return Named(ref, tuple(_keys_of_address(ref)))
    if doi := doi_of(ref):
        return Named(f"doi:{doi}", (f"doi:{doi}",))
    if isbn := isbn13(ref):
        return Named(f"ISBN {isbn}", (f"isbn:{isbn}",))
    digits = re.sub(r"[\s-]|^isbn:?", "", ref.lower())
    if ref.lower().startswith("isbn") or re.fullmatch(r"[0-9]{9}[0-9x]|97[89][0-9]{10}", digits):
        raise InputError(f"{ref!r} is not an ISBN: its check digit is wrong. Check it in the book.")
    pmid = pmid_of(ref)
    if pmid and not _NUMBER.fullmatch(ref):  # 7 alone is more likely the number of a citation
        return Named(f"PMID {pmid}", (f"pmid:{pmid}",))
    raise InputError(f"{ref!r} does not identify a source. Expected {_FORMS}.")


def of_citation(citation: Citation, place: str) -> Named:
    """Return the source of a citation in `place`. Raises InputError: The citation has no key."""
    keys = citation_keys(citation)
    what = one_line(citation.title or citation.text or citation.url or "")
    if not keys:
        raise InputError(
            f"{citation.citation_id} of {place} ({what or 'no title'}) has no address, DOI, PMID, "
            "ISBN, or title with author to identify the source."
        )
    return Named(f"{what} ({citation.citation_id} of {place})", keys, names_of(citation))


def names_of(citation: Citation) -> tuple[str, ...]:
    site = host_of(citation.url or "").removeprefix("www.").partition(".")[0]
    names = (citation.title, *citation.authors, citation.publisher, site)
    return tuple(filter(None, names))


def mentions(document: Document, names: Sequence[str]) -> bool:
    """Whether a document has a word of these names, if they have any."""
    named = {*content_words(" ".join(names))}
    return not named or not named.isdisjoint(content_words(f"{document.title} {document.text}"))


def cited_source(citations: Iterable[Citation], number: str, place: str) -> Named:
    """Return the source of the citation with this number in `pincite claims` and reports, as r7.

    Raises InputError: There is no such citation.
    """
    wanted = citation_id(number)
    for citation in citations:
        if citation.citation_id == wanted:
            return of_citation(citation, place)
    raise InputError(
        f"{place} has no citation {wanted}. `pincite claims` lists those of an article; the CSV of "
        "a report has them in its column citation_id."
    )


def citation_id(number: str) -> str:
    """Return `r7` for 7 or r7. Raises InputError: It is neither."""
    if not (match := _NUMBER.match(number.strip())):
        raise InputError(f"{number!r} is not a citation number; expected one such as r7.")
    return f"r{match[1]}"


def _keys_of_ids(doi: str | None, pmid: str | None) -> list[str]:
    known = {"doi": doi_of(doi or ""), "pmid": pmid_of(pmid or "")}
    return [f"{kind}:{value}" for kind, value in known.items() if value]


def _keys_of_address(url: str) -> list[str]:
    keys = [f"url:{exact_key(url)}"]
    if doi := doi_of_url(url):
        keys.insert(0, f"doi:{doi.lower()}")
    elif pmid := pmid_of_url(url):
        keys.insert(0, f"pmid:{pmid}")
    return keys


# ── Stored copies ────────────────────────────────────────────────────────────────────────────────

INDEX, FILES = "index.sqlite", "files"
_PART = ".part-"
# Windows has neither flag; there, only the checksum shows that a link leads to the attached file.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OURS = re.compile(rf"[0-9a-f]{{64}}|{re.escape(_PART)}\w+")
_COLUMNS = "id INTEGER PRIMARY KEY AUTOINCREMENT, copy TEXT NOT NULL"


@dataclass(frozen=True, slots=True)
class OwnCopy:
    """A file that a user has attached to a source."""

    ref: str  # the user's name for the source
    keys: tuple[str, ...]  # keys that citations match: "doi:10.1000/x", "isbn:978…"
    name: str  # of the original file; never used as a path
    sha256: str
    n_bytes: int
    pages: tuple[int, int] | None  # numbers printed on its first and last page, if known
    n_pages: int  # 0: a format without pages
    n_words: int
    language: str  # ISO 639-1; empty if unknown
    title: str  # as stated in the file
    added: str = ""  # ISO timestamp, UTC; set by `attach`
    copy_id: int = 0

    @property
    def ident(self) -> str:
        """What users call it in commands: c7."""
        return f"c{self.copy_id}"


class Attached(NamedTuple):
    """A stored copy, and why it may be of another source: few words, or none of its names."""

    copy: OwnCopy
    doubt: str  # empty if there is none


class OwnCopies:
    """A folder of private copies; safe to use from several processes."""

    def __init__(self, folder: Path) -> None:
        """Nothing is created until the first copy is attached."""
        self.folder = folder

    def attach(self, copy: OwnCopy, data: bytes) -> OwnCopy:
        """Store a file; it replaces an earlier attachment of the same bytes to the same source.

        Raises ConfigError: The folder cannot be written.
        """
        added = datetime.now(UTC).isoformat(timespec="seconds")
        copy = replace(copy, keys=tuple(sorted(set(copy.keys))), added=added)
        with self._changing() as db:
            self._write(copy.sha256, data)
            known = [other for other in _copies_in(db) if other.sha256 == copy.sha256]
            again = [(c.copy_id,) for c in known if set(c.keys) & set(copy.keys)]
            db.executemany("DELETE FROM copies WHERE id = ?", again)
            stored = (json.dumps(asdict(copy)),)
            row = db.execute("INSERT INTO copies (copy) VALUES (?)", stored)
        return replace(copy, copy_id=row.lastrowid or 0)

    def all(self) -> list[OwnCopy]:
        if not (self.folder / INDEX).is_file():
            return []
        with self._open() as db:
            return _copies_in(db)

    def of(self, keys: Sequence[str]) -> list[OwnCopy]:
        """Return the copies that have one of the keys, oldest first."""
        return [copy for copy in self.all() if set(copy.keys) & set(keys)]

    def copies_called(self, ref: str) -> list[OwnCopy]:
        """Return the copy with this id or file name; empty if there is none.

        Raises InputError: Several files have this name.
        """
        copies = [copy for copy in self.all() if ref in (copy.ident, copy.name)]
        if len(copies) > 1:
            known = ", ".join(copy.ident for copy in copies)
            raise InputError(f"{len(copies)} copies are called {ref}. Name one by its id: {known}.")
        return copies

    def remove(self, copies: Sequence[OwnCopy]) -> None:
        """Detach copies, and delete files that no other source has."""
        if not (self.folder / INDEX).is_file():
            return
        with self._changing() as db:
            db.executemany("DELETE FROM copies WHERE id = ?", [(c.copy_id,) for c in copies])
        with self._changing():
            pass  # deletes the files, now that the rows are gone

    def read(self, copy: OwnCopy) -> bytes | None:
        """Return the bytes of a copy; None if its file is missing or was changed."""
        try:  # follows no link
            number = os.open(self.path_of(copy), os.O_RDONLY | _NO_LINK)
        except OSError:
            return None
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return None
            data = file.read()
        return data if hashlib.sha256(data).hexdigest() == copy.sha256 else None

    def path_of(self, copy: OwnCopy) -> Path:
        return self.folder / FILES / copy.sha256

    def fingerprint(self) -> str:
        """16 hex digits that change when attachments change; empty if there are none."""
        known = sorted((c.sha256, c.pages, c.keys) for c in self.all())
        return hashlib.sha256(repr(known).encode()).hexdigest()[:16] if known else ""

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that locks out other writers and first removes what killed ones left."""
        with self._open(create=True) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                named = {copy.sha256 for copy in _copies_in(db)}
                for path in (self.folder / FILES).iterdir():
                    if _OURS.fullmatch(path.name) and path.name not in named:
                        path.unlink()
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    @contextmanager
    def _open(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        try:
            if create:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self.folder / FILES).mkdir(mode=0o700, exist_ok=True)
                os.close(os.open(self.folder / INDEX, os.O_CREAT | os.O_RDWR, 0o600))
            index = sqlite3.connect(self.folder / INDEX, isolation_level=None, timeout=30)
            with contextlib.closing(index) as db:
                db.execute("PRAGMA synchronous=FULL")
                db.execute(f"CREATE TABLE IF NOT EXISTS copies ({_COLUMNS})")
                yield db
        except (OSError, sqlite3.Error) as error:
            what = f"Your own copies cannot be kept in {self.folder}: {error}."
            raise ConfigError(f"{what} Set library.own_copies to another folder.") from error

    def _write(self, digest: str, data: bytes) -> None:
        files = self.folder / FILES
        number, part = tempfile.mkstemp(prefix=_PART, dir=files)  # mode 0600
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)
        Path(part).replace(files / digest)
        sync(files)


def _copies_in(db: sqlite3.Connection) -> list[OwnCopy]:
    copies = []
    for copy_id, text in db.execute("SELECT id, copy FROM copies ORDER BY id"):
        stored = json.loads(text)
        keys, pages = tuple(stored["keys"]), stored["pages"] and tuple(stored["pages"])
        copies.append(OwnCopy(**{**stored, "keys": keys, "pages": pages, "copy_id": copy_id}))
    return copies


# ── Attaching and reading ────────────────────────────────────────────────────────────────────────

_MARK = re.compile(r"^\[p\.\s?([0-9]{1,6})\]", re.MULTILINE)  # a page of a typed copy begins
_ENDING = re.compile(r"\.[a-z0-9]{1,10}\Z")
_PAGES = re.compile(r"([0-9]{1,6})(?:\s*[-\u2010-\u2015]\s*([0-9]{1,6}))?\Z")


def folder_of(chosen: str) -> Path:
    return data_path("own", chosen)


@dataclass(frozen=True, slots=True)
class OwnSources:
    """Finds and reads the user's copies of citations' sources."""

    copies: OwnCopies
    _read: dict[str, Document | Unchecked] = field(default_factory=dict)

    def __call__(self, citation: Citation) -> Document | Unchecked | None:
        """Return the copy of a citation's source, or why it is unreadable; None if it has none."""
        copies = self.copies.of(citation_keys(citation))
        if not copies:
            return None
        chosen = choose_by_pages(copies, citation.pages or "")
        if not chosen:
            had = ", ".join(f"{c.pages[0]}–{c.pages[1]}" for c in copies if c.pages)
            detail = f"your copy has pages {had}; the citation gives {citation.pages}"
            return Unchecked("", Reason.NOT_SUPPLIED, detail)
        documents = [self._document(copy) for copy in chosen]
        failed = next((d for d in documents if isinstance(d, Unchecked)), None)
        return failed or join_documents([d for d in documents if isinstance(d, Document)])

    def _document(self, copy: OwnCopy) -> Document | Unchecked:
        key = f"{copy.sha256} {copy.pages}"
        if key not in self._read:
            data = self.copies.read(copy)
            document = None if data is None else read_copy(data, copy.name, copy.pages)
            detail = "your own copy is missing or damaged; attach it again"
            lost = Unchecked(f"{OWN_SCHEME}{copy.sha256}", Reason.UNDECODABLE, detail)
            self._read[key] = document or lost
        return self._read[key]


def attach(
    copies: OwnCopies,
    source: Named,
    path: Path,
    pages: tuple[int, int] | None = None,
    *,
    name: str = "",
) -> Attached | Unchecked:
    """Read a file and store it as the user's copy of a source; or return why it is unusable.

    `pages` are the numbers printed on its first and last page; `name` is its original name, if
    `path` has another.

    Raises InputError: There is no such file, or it has another number of pages.
    """
    data = _bytes_of(path)
    if isinstance(data, Unchecked):
        return data
    name = name or path.name
    document = read_copy(data, name, pages)
    if isinstance(document, Unchecked):
        return document
    n_pages = len(page_starts(document))
    marked = bool(_MARK.search(document.text))
    if pages and n_pages and not marked and pages[1] - pages[0] + 1 != n_pages:
        raise InputError(
            f"{pages[0]}-{pages[1]} are {pages[1] - pages[0] + 1} pages, but {one_line(name)} "
            f"has {n_pages}. Give the numbers printed on its first and last page."
        )
    copy = OwnCopy(
        ref=source.ref,
        keys=source.keys,
        name=one_line(name) or "unnamed",
        sha256=hashlib.sha256(data).hexdigest(),
        n_bytes=len(data),
        pages=pages,
        n_pages=n_pages,
        n_words=len(document.text.split()),
        language=document.language or "",
        title=document.title,
    )
    doubts = [f"has {n_of(copy.n_words, 'word')}"] if copy.n_words < FEW_WORDS else []
    if source.names and not mentions(document, source.names):
        doubts.append(f"does not mention “{one_line(source.names[0])}”")
    return Attached(copies.attach(copy, data), " and ".join(doubts))


def read_copy(data: bytes, name: str, pages: tuple[int, int] | None) -> Document | Unchecked:
    """Read a copy with printed page numbers; its address is its content's hash."""
    ending = _ENDING.search(name.lower())
    source = read_bytes(data, url=f"file:///copy{ending[0] if ending else ''}")
    source = replace(source, url=f"{OWN_SCHEME}{hashlib.sha256(data).hexdigest()}")
    if isinstance(source, Unchecked):
        return source
    source = replace(source, meta={**source.meta, FILE: one_line(name)})
    if not page_starts(source) and (marks := list(_MARK.finditer(source.text))):
        starts, labels = [mark.start() for mark in marks], [mark[1] for mark in marks]
        meta = {**source.meta, PAGES: json.dumps(starts), LABELS: json.dumps(labels)}
        return replace(source, meta=meta)
    if not pages:
        return source
    labels = [str(pages[0] + number) for number in range(len(page_starts(source)))]
    return replace(source, meta={**source.meta, LABELS: json.dumps(labels)}) if labels else source


def parse_pages(text: str) -> tuple[int, int]:
    """Parse `120-135`, or `120` alone. Raises InputError: It is neither."""
    match = _PAGES.match(text.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first:
        raise InputError(f"pages are {text!r}; expected a range such as 120-135, lowest first.")
    return first, last


def choose_by_pages(copies: Sequence[OwnCopy], cited: str) -> list[OwnCopy]:
    """Return the copies with a cited page, or else those without known pages."""
    wanted = [pages for pages in cited_pages(cited) if isinstance(pages, PageRange)]
    if not wanted:
        return list(copies)

    def holds(copy: OwnCopy) -> bool:
        first, last = copy.pages or (0, -1)
        return any(pages.first <= last and first <= pages.last for pages in wanted)

    return list(filter(holds, copies)) or [copy for copy in copies if not copy.pages]


def join_documents(documents: Sequence[Document]) -> Document:
    first = documents[0]
    if len(documents) == 1:
        return first
    text, begins = text_joined(("\n\n", document.text) for document in documents)
    pages = zip(begins, map(page_starts, documents), strict=True)
    starts = [begin + start for begin, of_document in pages for start in of_document]
    labels = [label for document in documents for label in page_labels(document)]
    meta = {key: value for key, value in first.meta.items() if key not in (PAGES, LABELS)}
    meta[FILE] = " + ".join(document.meta[FILE] for document in documents)
    if all(map(page_labels, documents)):  # otherwise two pages could have the same number
        meta |= {PAGES: json.dumps(starts), LABELS: json.dumps(labels)}
    url = OWN_SCHEME + "+".join(document.url.removeprefix(OWN_SCHEME) for document in documents)
    return replace(first, url=url, text=text, meta=meta, anchors={})


def _bytes_of(path: Path) -> bytes | Unchecked:
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "missing, or not a file"
        raise InputError(f"{path} is {kind}; expected a PDF, a text file or another document.")
    with usable(path):
        if (size := path.stat().st_size) > DEFAULT_LIMITS.max_bytes:
            return too_large("", size, DEFAULT_LIMITS.max_bytes)
        return path.read_bytes()
