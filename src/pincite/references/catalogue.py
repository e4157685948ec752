"""Records of works, the sources that return them, and a local catalogue of them.

The catalogue is one SQLite file with a full-text index of titles. A record is stored as JSON, under
the identifiers and the key of its title that find it, and replaces an older one of the same source.
Imports commit in steps and remember how many records of a file they have read, so that a stopped
import goes on where it was.
"""

import hashlib
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol, TypeAlias

from pincite.durable import data_path
from pincite.errors import CorpusError, FetchError
from pincite.judgement.provenance import Retraction, retraction_of
from pincite.protocols import DocumentsOf, WordRetriever
from pincite.references.matching import key_of, words_of
from pincite.retrieval.filters import SEPARATOR
from pincite.text import identifiers
from pincite.types import Citation, Doc, Document, Reason

NOTICE = "notice"  # the kind of a record that is about other works: an erratum, a retraction
HITS = 20  # passages of a corpus read for a title
ARXIV_DOI = "10.48550/arxiv."  # registered by DataCite since 2022


class NoticeKind(StrEnum):
    """What a notice says of a work; the gravest first. All but the last are `Status`es."""

    RETRACTED = "retracted"
    WITHDRAWN = "withdrawn"
    PARTLY_RETRACTED = "partly_retracted"
    CONCERN = "expression_of_concern"
    SUPERSEDED = "superseded"  # a later version or edition exists
    CORRECTED = "corrected"
    REINSTATED = "reinstated"  # the retraction was taken back


# Crossref's types of updates, Retraction Watch's natures, and what the readers of papers state.
KINDS = {
    **dict.fromkeys(("retraction", "removal", "yes"), NoticeKind.RETRACTED),
    **dict.fromkeys(("partial retraction", "partly"), NoticeKind.PARTLY_RETRACTED),
    "withdrawal": NoticeKind.WITHDRAWN,
    "expression of concern": NoticeKind.CONCERN,
    **dict.fromkeys("correction corrected corrigendum erratum addendum clarification".split(),
                    NoticeKind.CORRECTED),
    **dict.fromkeys(("new edition", "new version"), NoticeKind.SUPERSEDED),
    "reinstatement": NoticeKind.REINSTATED,
}  # fmt: skip


def kind_of(stated: str) -> NoticeKind | None:
    return KINDS.get(re.sub(r"[_\s-]+", " ", stated).strip().lower())


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice about a work."""

    kind: NoticeKind
    doi: Annotated[str, Doc("of the notice itself; empty: unknown")] = ""
    date: Annotated[str, Doc("ISO, as exact as known")] = ""
    stated_by: Annotated[str, Doc("the record that says so")] = ""


@dataclass(frozen=True, slots=True)
class Work:
    """A bibliographic record, as a source returned it."""

    title: str
    authors: tuple[str, ...] = ()  # "Holm, Ida Marie", or a group
    years: tuple[int, ...] = ()  # in print, online, as a preprint: the first is shown
    venue: str = ""  # the journal, book or conference
    doi: str = ""  # lower case
    pmid: str = ""
    pmc: str = ""
    arxiv: str = ""  # without its version
    isbns: tuple[str, ...] = ()  # 13 digits each
    issn: str = ""
    kind: str = ""  # "article", "book", "preprint", NOTICE, …
    volume: str = ""
    issue: str = ""
    pages: str = ""
    publisher: str = ""
    url: str = ""
    source: Annotated[str, Doc("the catalogue or service that has it")] = ""
    notices: tuple[Notice, ...] = ()

    @property
    def ids(self) -> frozenset[tuple[str, str]]:
        """Its identifiers, each with its kind."""
        named = {"doi": self.doi, "pmid": self.pmid, "pmc": self.pmc, "arxiv": self.arxiv}
        pairs = {(name, value) for name, value in named.items() if value}
        return frozenset(pairs | {("isbn", isbn) for isbn in self.isbns})


Imported: TypeAlias = Work | None  # None: a record that cannot be read


def about(notice: Notice, **ids: str) -> Work:
    """What a notice says about a work that another record describes."""
    return Work("", **ids, kind=NOTICE, notices=(notice,))  # type: ignore[arg-type]


GRAVE = tuple(NoticeKind)[:4]  # what a reinstatement takes back


def in_force(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """The notices of a work that were not taken back, dated if possible, the gravest first."""
    stated = dict.fromkeys(notices)
    reinstated = max((n.date for n in stated if n.kind is NoticeKind.REINSTATED), default="")
    dated = {n.kind for n in stated if n.date}
    kept = [
        n
        for n in stated
        if n.kind is not NoticeKind.REINSTATED
        and (n.date or n.kind not in dated)
        and not (n.kind in GRAVE and reinstated and n.date[: len(reinstated)] <= reinstated)
    ]
    return tuple(sorted(kept, key=lambda n: (list(NoticeKind).index(n.kind), n.date)))


class Unanswered(NamedTuple):
    """A source that gave no answer."""

    source: str
    reason: Reason
    detail: str = ""


class Source(Protocol):
    """Where records are looked up."""

    @property
    def name(self) -> str: ...

    def lookup(self, citation: Citation) -> list[Work] | None:
        """Return the records with an identifier of the citation, and those with a title like its.

        An empty list: the source has none. None: it was not asked, for lack of what it takes.
        Raises FetchError if it gave no answer: it is down, or allows no more requests.
        """
        ...


class Lookup(NamedTuple):
    """A service asked in one way; a source."""

    name: str
    lookup: Callable[[Citation], list[Work] | None]
    is_search: bool = False  # for a work of which no identifier is known
    is_status: bool = False  # for the notices about a work that the user's own sources have


class Lookups(NamedTuple):
    """What all sources returned for one reference."""

    works: Sequence[Work] = ()
    asked: Sequence[str] = ()  # names of the sources that answered
    failed: Sequence[Unanswered] = ()
    tried: Sequence[str] = ()  # services that were asked


def ask(
    citation: Citation,
    sources: Sequence[Source],
    services: Sequence[Lookup] = (),
    needed: Callable[[Lookup, Lookups], Citation | None] = lambda service, lookups: None,
) -> Lookups:
    """Ask every source, then each service what is still needed; a failure costs one answer."""
    works, asked, failed, tried = list[Work](), list[str](), list[Unanswered](), list[str]()
    lookups = Lookups(works, asked, failed, tried)

    def look_up(source: Source, wanted: Citation) -> bool:
        try:
            records = source.lookup(wanted)
        except FetchError as error:
            failed.append(Unanswered(source.name, error.reason, str(error)))
            return True
        works.extend(replace(w, source=w.source or source.name) for w in records or ())
        asked.extend([source.name] * (records is not None))
        return records is not None

    for source in sources:
        look_up(source, citation)
    for service in services:
        if (wanted := needed(service, lookups)) and look_up(service, wanted):
            tried.append(service.name)
    return lookups


def ids_of(citation: Citation) -> list[tuple[str, str]]:
    """The identifiers of a citation in the form of `Work.ids`, those that decide first."""
    doi = (citation.doi or "").lower()
    stated = (
        ("doi", doi),
        ("arxiv", arxiv_of(doi)),
        ("arxiv", without_version((citation.arxiv or "").lower())),
        ("pmid", (citation.pmid or "").strip().lstrip("0")),
        ("pmc", (citation.pmc or "").strip().upper().removeprefix("PMC")),
        ("isbn", identifiers.isbn13(citation.isbn or "") or ""),
    )
    return list(dict.fromkeys((kind, value) for kind, value in stated if value))


def arxiv_of(doi: str) -> str:
    """The arXiv number, without its version, of a DOI that arXiv gave; else empty."""
    doi = doi.lower()
    return without_version(doi.removeprefix(ARXIV_DOI)) if doi.startswith(ARXIV_DOI) else ""


def without_version(arxiv: str) -> str:
    """An arXiv number without its version.

    >>> without_version("2101.00001v2"), without_version("hep-th/9901001")
    ('2101.00001', 'hep-th/9901001')
    """
    number, _, version = arxiv.rpartition("v")
    return number if number and version.isdecimal() else arxiv


@dataclass(frozen=True, slots=True)
class CorpusRecords:
    """The records of corpora, found by the addresses of their identifiers, or by title."""

    documents_of: DocumentsOf
    words: WordRetriever
    name: str = "corpus"

    def lookup(self, citation: Citation) -> list[Work]:
        ids = dict(ids_of(citation))
        urls = [identifiers.doi_address(doi) for doi in (citation.doi, ids.get("doi")) if doi]
        urls += [identifiers.pubmed_address(ids["pmid"])] if "pmid" in ids else []
        hits = self.words.retrieve([citation.title], HITS)[0] if citation.title else []
        urls += [hit.passage.url for hit in hits]
        documents = self.documents_of(list(dict.fromkeys(urls)))
        return [_of_document(document) for document in documents if document and document.title]


def _of_document(document: Document) -> Work:
    meta, kind = document.meta, kind_of(retraction_of(document))
    dates = (meta.get("pubdate", ""), document.published or "")
    years = [int(date[:4]) for date in dates if date[:4].isdecimal()]
    return Work(
        document.title,
        tuple(filter(None, meta.get("authors", "").split(SEPARATOR))),
        tuple(dict.fromkeys(years)),
        meta.get("journal", ""),
        meta.get("doi", "").lower(),
        pmid=meta.get("pmid", ""),
        pmc=meta.get("pmc", "").upper().removeprefix("PMC"),
        issn=meta.get("issn", ""),
        volume=meta.get("volume", ""),
        issue=meta.get("issue", ""),
        pages=meta.get("pages", ""),
        url=document.url,
        notices=(Notice(kind, stated_by="corpus"),) if kind else (),
    )


# In the metadata of a document, as `retraction_of` reads it.
_MARKS = {
    NoticeKind.RETRACTED: Retraction.YES,
    NoticeKind.WITHDRAWN: Retraction.YES,
    NoticeKind.PARTLY_RETRACTED: Retraction.PARTLY,
    NoticeKind.CONCERN: Retraction.CONCERN,
}
STEP = 5_000  # records per transaction
MOST_READ = 3_000  # records with a word of a title, over all words that are searched for
CLOSEST = 20  # records returned for a title
_TABLES = """
CREATE TABLE IF NOT EXISTS works (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, title TEXT NOT NULL, record TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS titles ON works (title);
CREATE TABLE IF NOT EXISTS ids (
    kind TEXT, value TEXT, work INTEGER, PRIMARY KEY (kind, value, work)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS works_of_ids ON ids (work);
CREATE TABLE IF NOT EXISTS notices (
    kind TEXT, value TEXT, notice TEXT, PRIMARY KEY (kind, value, notice)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, size INTEGER, done INTEGER);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, content='', detail='none');
CREATE TABLE IF NOT EXISTS frequency (word TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab (words, 'row');
"""


class Counted(NamedTuple):
    """How many records of a file were read."""

    works: int = 0
    notices: int = 0
    broken: int = 0


class Catalogue:
    """Finds works by identifier, or by title; a source of `ask`."""

    name = "catalogue"

    def __init__(self, path: Path) -> None:
        """Open or create the file; raises CorpusError if it is no catalogue."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise CorpusError(
                f"{path} cannot be used as a catalogue of works: {error}. Check the path, or "
                "import into another file."
            ) from error

    def close(self) -> None:
        self._db.close()

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM works").fetchone()[0])

    def fingerprint(self) -> str:
        """What tells its contents from others."""
        files = self._db.execute("SELECT size, done FROM files ORDER BY name").fetchall()
        return hashlib.sha256(repr(files).encode()).hexdigest()[:12]

    def lookup(self, citation: Citation) -> list[Work]:
        by_id = [row for pair in ids_of(citation) for row in self._having(pair)]
        rows = dict.fromkeys((*by_id, *self._by_title(citation.title or "")))
        works = [_work(record) for _, record in rows]
        return [*works, *self._about(ids_of(citation), works)]

    def marked(self, document: Document) -> Document:
        """Add to a document's metadata what the notices say of its work."""
        url, meta = document.url, document.meta
        ids = {
            "doi": identifiers.doi_in(meta.get("doi", "")) or identifiers.doi_of_url(url),
            "pmid": meta.get("pmid") or identifiers.pmid_of_url(url),
        }
        pairs = [(kind, value.lower()) for kind, value in ids.items() if value]
        works = [_work(record) for pair in pairs for _, record in self._having(pair)]
        works += self._about(pairs, works)
        for notice in in_force(n for work in works for n in work.notices)[:1]:
            if notice.kind in _MARKS and retraction_of(document) is not Retraction.YES:
                stated = f"Notice: doi:{notice.doi} {notice.date}".strip() if notice.doi else ""
                named = SEPARATOR.join(filter(None, (meta.get("notices"), stated)))
                mark = {"retracted": _MARKS[notice.kind], "notices": named}
                return replace(document, meta={**meta, **mark})
        return document

    def _having(self, pair: tuple[str, str]) -> list[tuple[int, str]]:
        query = (
            "SELECT works.id, record FROM ids JOIN works ON works.id = work "
            "WHERE kind = ? AND value = ? LIMIT 20"
        )
        return self._db.execute(query, pair).fetchall()

    def _by_title(self, title: str) -> list[tuple[int, str]]:
        """The records with the same title; else the closest by their rarest words."""
        words = sorted(set(words_of(title)))
        exact = "SELECT id, record FROM works WHERE title = ? LIMIT 20"
        if records := self._db.execute(exact, [key_of(title)]).fetchall() if words else []:
            return records
        scores = defaultdict[int, float](float)
        for n, word in self._rarest(words):
            matching = "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?"
            for (row,) in self._db.execute(matching, [f'"{word}"', MOST_READ]):
                scores[row] += 1 / n
        best = nlargest(CLOSEST, scores, key=lambda row: scores[row])
        marks = ",".join("?" * len(best))
        query = f"SELECT id, record FROM works WHERE id IN ({marks})"  # noqa: S608
        return self._db.execute(query, best).fetchall()

    def _rarest(self, words: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The words of a title that the fewest records have, with how many."""
        marks = ",".join("?" * len(words))
        query = f"SELECT n, word FROM frequency WHERE word IN ({marks}) ORDER BY n"  # noqa: S608
        total = 0
        for n, word in self._db.execute(query, words).fetchall():
            if total and total + n > MOST_READ:
                return
            total += n
            yield n, word

    def _about(self, pairs: Sequence[tuple[str, str]], works: Sequence[Work]) -> list[Work]:
        """Return the notices about works, by these identifiers and their own."""
        query = "SELECT notice FROM notices WHERE kind = ? AND value = ?"
        return [
            about(_notice(json.loads(text)), **{kind: value})
            for kind, value in dict.fromkeys([*pairs, *(p for w in works for p in sorted(w.ids))])
            for (text,) in self._db.execute(query, (kind, value))
        ]

    def add(
        self,
        name: str,
        size: int,
        records: Iterable[Imported],
        progress: Callable[[int], None] = lambda done: None,
    ) -> Counted:
        """Add the records of a file; those that an earlier, stopped import has read are skipped.

        `name` and `size` tell the file from others, and from itself when it has changed.
        """
        row = self._db.execute("SELECT size, done FROM files WHERE name = ?", [name]).fetchone()
        done = row[1] if row and row[0] == size else 0
        counted, left = Counted(), iter(records)
        for _ in islice(left, done):
            pass
        while some := list(islice(left, STEP)):
            done += len(some)
            with self._db:
                counted = self._store(some, counted)
                values = (name, size, done)
                self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", values)
            progress(done)
        with self._db:  # one segment of the index, not one per step
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._db.execute("DELETE FROM frequency")
            self._db.execute("INSERT INTO frequency SELECT term, doc FROM vocabulary")
        return counted

    def _store(self, records: Sequence[Imported], counted: Counted) -> Counted:
        works, notices, broken = counted
        for record in records:
            if record is None:
                broken += 1
            elif record.title or not record.notices:
                self._put(record)
                works += 1
            else:
                texts = [_json_of(notice) for notice in record.notices]
                rows = ((*pair, text) for pair in record.ids for text in texts)
                self._db.executemany("INSERT OR IGNORE INTO notices VALUES (?, ?, ?)", rows)
                notices += 1
        return Counted(works, notices, broken)

    def _put(self, work: Work) -> None:
        key, find = _key(work), "SELECT id, record FROM works WHERE key = ?"
        for old, text in self._db.execute(find, [key]).fetchall():
            self._db.execute("DELETE FROM works WHERE id = ?", [old])
            self._db.execute("DELETE FROM ids WHERE work = ?", [old])
            forget = "INSERT INTO words (words, rowid, title) VALUES ('delete', ?, ?)"
            self._db.execute(forget, (old, " ".join(words_of(_work(text).title))))
        insert = "INSERT INTO works (key, title, record) VALUES (?, ?, ?)"
        row = self._db.execute(insert, (key, key_of(work.title), _json_of(work))).lastrowid
        title = " ".join(words_of(work.title))
        self._db.execute("INSERT INTO words (rowid, title) VALUES (?, ?)", (row, title))
        pairs = ((*pair, row) for pair in work.ids if all(map(str.isprintable, pair)))
        self._db.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?, ?)", pairs)


def open_catalogue(path: Path) -> closing[Catalogue]:
    return closing(Catalogue(path))


def place() -> Path:
    """Where `pincite works import` writes, unless another file is given."""
    return data_path("works.sqlite")


def of_user() -> AbstractContextManager[Catalogue | None]:
    """Open the user's catalogue; None if nothing was imported yet."""
    return open_catalogue(place()) if place().is_file() else nullcontext()


def _key(work: Work) -> str:
    """The same for a record that is imported again."""
    named = next((f"{kind}:{value}" for kind, value in sorted(work.ids) if kind != "isbn"), "")
    own = named or f"{key_of(work.title)}|{work.authors[:1]}|{work.years[:1]}|{work.isbns}"
    return hashlib.sha256(f"{work.source}|{own}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _json_of(record: Work | Notice) -> str:
    """The fields that are not empty, in ASCII: titles may be broken."""
    values = asdict(record, dict_factory=lambda pairs: {name: v for name, v in pairs if v})
    return json.dumps(values, separators=(",", ":"))


def _work(record: str) -> Work:
    values = json.loads(record)
    notices = tuple(map(_notice, values.pop("notices", ())))
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Work(**(values | lists), notices=notices)


def _notice(values: dict[str, str]) -> Notice:
    return Notice(**(values | {"kind": NoticeKind(values["kind"])}))  # type: ignore[arg-type]
