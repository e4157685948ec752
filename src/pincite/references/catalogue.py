"""The user's own sources of works: a local catalogue of records, and corpora.

The catalogue is one SQLite file with a full-text index of titles. A record is stored as JSON, under
the identifiers and the key of its title that find it, and replaces an older one of the same source.
Imports commit in steps and remember how many records of a file they have read, so that a stopped
import goes on where it was.
"""

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pincite.errors import CorpusError
from pincite.judgement.provenance import Retraction, retraction_of
from pincite.protocols import DocumentsOf, WordRetriever
from pincite.references.matching import key_of, words_of
from pincite.references.works import (
    Imported,
    Notice,
    NoticeKind,
    Work,
    WorkId,
    ids_of,
    in_force,
    kind_of,
    notice_record,
)
from pincite.retrieval.filters import SEPARATOR
from pincite.text import identifiers
from pincite.types import Citation, Document

RECORDS_A_STEP = 5_000  # stored in one transaction
MOST_WITH_AN_ID = 20  # records returned for an identifier, or with exactly the same title
MOST_READ = 3_000  # records with a word of a title, over all words that are searched for
CLOSEST = 20  # records returned for a title that none has exactly
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
CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, version TEXT, done INTEGER);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, content='', detail='none');
CREATE TABLE IF NOT EXISTS frequency (word TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab (words, 'row');
"""
_WITH_ID = f"""
SELECT works.id, record FROM ids JOIN works ON works.id = work
WHERE kind = ? AND value = ? LIMIT {MOST_WITH_AN_ID}
"""  # noqa: S608
_WITH_TITLE = f"SELECT id, record FROM works WHERE title = ? LIMIT {MOST_WITH_AN_ID}"  # noqa: S608
_WITH_WORD = f"SELECT rowid FROM words WHERE words MATCH ? LIMIT {MOST_READ}"  # noqa: S608
_NOTICES_WITH_ID = "SELECT notice FROM notices WHERE kind = ? AND value = ?"
# An import that was stopped has not counted its words yet: those are in the index only.
_FREQUENCY = """SELECT coalesce(
(SELECT n FROM frequency WHERE word = ?1), (SELECT doc FROM vocabulary WHERE term = ?1))"""
# `words` does not keep the titles: to forget a record it must be told its title again.
_FORGET_WORDS = "INSERT INTO words (words, rowid, title) VALUES ('delete', ?, ?)"


class Counted(NamedTuple):
    """How many records of a file were read."""

    works: int = 0
    notices: int = 0
    broken: int = 0


class Catalogue:
    """Finds works by identifier, or by title; a `Source`."""

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
        files = self._db.execute("SELECT version, done FROM files ORDER BY name").fetchall()
        return hashlib.sha256(repr(files).encode()).hexdigest()[:12]

    def lookup(self, citation: Citation) -> list[Work]:
        return self.find(ids_of(citation), citation.title or "")

    def find(self, ids: Sequence[WorkId], title: str = "") -> list[Work]:
        """Return the works, then the notices about them that other records have stated."""
        by_row = dict[int, Work]()
        for work_id in ids:
            by_row |= self._works(_WITH_ID, work_id)
        by_row |= self._with_title(title)
        works = [*by_row.values()]
        return [*works, *self._notices_about(ids, works)]

    def _works(self, query: str, values: Sequence[str | int]) -> dict[int, Work]:
        """The works that a query selects, by row."""
        return {row: _work(record) for row, record in self._db.execute(query, values)}

    def _with_title(self, title: str) -> dict[int, Work]:
        """The records with the same title; else the closest by their rarest words."""
        words = sorted(set(words_of(title)))
        if not words:
            return {}
        if same := self._works(_WITH_TITLE, [key_of(title)]):
            return same
        scores = defaultdict[int, float](float)
        for word, n_records in self._rarest(words):
            for (row,) in self._db.execute(_WITH_WORD, [f'"{word}"']):
                scores[row] += 1 / n_records
        best = nlargest(CLOSEST, scores, key=lambda row: scores[row])
        marks = ",".join("?" * len(best))
        return self._works(f"SELECT id, record FROM works WHERE id IN ({marks})", best)  # noqa: S608

    def _rarest(self, words: Sequence[str]) -> list[tuple[str, int]]:
        """The words that the fewest records have, with how many: together MOST_READ at most.

        The rarest is among them, however many have it.
        """
        counts = [(self._db.execute(_FREQUENCY, [word]).fetchone()[0], word) for word in words]
        rarest, total = list[tuple[str, int]](), 0
        for n_records, word in sorted((n, word) for n, word in counts if n):
            total += n_records
            if rarest and total > MOST_READ:
                break
            rarest.append((word, n_records))
        return rarest

    def _notices_about(self, ids: Sequence[WorkId], works: Sequence[Work]) -> list[Work]:
        """Return the notices about works, by these identifiers and their own."""
        all_ids = [*ids, *(work_id for work in works for work_id in sorted(work.ids))]
        return [
            notice_record(_notice(json.loads(text)), [work_id])
            for work_id in dict.fromkeys(all_ids)
            for (text,) in self._db.execute(_NOTICES_WITH_ID, work_id)
        ]

    def add(
        self,
        name: str,
        version: str,
        records: Iterable[Imported],
        progress: Callable[[int], None] = lambda done: None,
    ) -> Counted:
        """Add the records of a file; those that an earlier, stopped import has read are skipped.

        `name` tells the file from others, and `version` from itself before it changed.
        """
        row = self._db.execute("SELECT version, done FROM files WHERE name = ?", [name]).fetchone()
        done = row[1] if row and row[0] == version else 0
        counted, unread = Counted(), islice(records, done, None)
        while step := list(islice(unread, RECORDS_A_STEP)):
            done += len(step)
            with self._db:
                counted = self._store(step, counted)
                values = (name, version, done)
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
                self._replace(record)
                works += 1
            else:
                texts = [_json_of(notice) for notice in record.notices]
                rows = ((*work_id, text) for work_id in _storable_ids(record) for text in texts)
                self._db.executemany("INSERT OR IGNORE INTO notices VALUES (?, ?, ?)", rows)
                notices += 1
        return Counted(works, notices, broken)

    def _replace(self, work: Work) -> None:
        """Store a record in place of the one with the same key."""
        key = _key(work)
        for old, older in self._works("SELECT id, record FROM works WHERE key = ?", [key]).items():
            self._db.execute("DELETE FROM works WHERE id = ?", [old])
            self._db.execute("DELETE FROM ids WHERE work = ?", [old])
            self._db.execute(_FORGET_WORDS, (old, " ".join(words_of(older.title))))
        insert = "INSERT INTO works (key, title, record) VALUES (?, ?, ?)"
        row = self._db.execute(insert, (key, key_of(work.title), _json_of(work))).lastrowid
        words = " ".join(words_of(work.title))
        self._db.execute("INSERT INTO words (rowid, title) VALUES (?, ?)", (row, words))
        rows = ((*work_id, row) for work_id in _storable_ids(work))
        self._db.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?, ?)", rows)


def _storable_ids(work: Work) -> list[WorkId]:
    return [work_id for work_id in work.ids if all(map(str.isprintable, work_id))]


def _key(work: Work) -> str:
    """The same for a record that is imported again, though it may have more identifiers by then.

    PubMed numbers all its records and adds other identifiers later.
    """
    own_ids = sorted(work_id for work_id in work.ids if work_id[0] != "isbn")
    if work.source == "PubMed":
        own_ids.sort(key=lambda work_id: work_id[0] != "pmid")
    if own_ids:
        own = ":".join(own_ids[0])
    else:
        own = f"{key_of(work.title)}|{work.authors[:1]}|{work.years[:1]}|{work.isbns}"
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


HITS = 20  # passages of a corpus read for a title
_RETRACTIONS = {  # as `retraction_of` reads them in a document's metadata
    NoticeKind.RETRACTED: Retraction.YES,
    NoticeKind.WITHDRAWN: Retraction.YES,
    NoticeKind.PARTLY_RETRACTED: Retraction.PARTLY,
    NoticeKind.CONCERN: Retraction.CONCERN,
}


def with_notices(document: Document, works: Catalogue) -> Document:
    """Add to a document's metadata the gravest notice that the catalogue has of its work.

    A milder one than the document's own is left out.
    """
    url, meta = document.url, document.meta
    stated = {
        "doi": identifiers.doi_in(meta.get("doi", "")) or identifiers.doi_of_url(url),
        "pmid": meta.get("pmid") or identifiers.pmid_of_url(url),
    }
    ids = [(kind, value.lower()) for kind, value in stated.items() if value]
    notices = in_force(notice for work in works.find(ids) for notice in work.notices)
    retraction = _RETRACTIONS.get(notices[0].kind) if notices else None
    own, by_severity = retraction_of(document), list(Retraction)
    is_milder = retraction and by_severity.index(own) < by_severity.index(retraction)
    if not retraction or is_milder or own is Retraction.YES:
        return document
    doi, day = notices[0].doi, notices[0].date
    stated_notice = f"Notice: doi:{doi} {day}".strip() if doi else ""
    all_notices = SEPARATOR.join(filter(None, (meta.get("notices"), stated_notice)))
    return replace(document, meta={**meta, "retracted": retraction, "notices": all_notices})


@dataclass(frozen=True, slots=True)
class CorpusRecords:
    """Documents of corpora as records, found by their identifiers' addresses, or by title."""

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
