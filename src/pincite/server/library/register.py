"""Which corpora there are, whose they are, and where they lie.

The documents themselves are `pincite.corpus`'s business; here is the register. A corpus of the
server lies in its data folder; one that was linked lies where whoever runs the server keeps it: in
a folder, or at an address that another engine opens (`pincite.corpus.engines`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pincite.corpus import engines
from pincite.corpus.embedded import is_corpus
from pincite.corpus.protocol import Address
from pincite.errors import PinciteError
from pincite.server.database import Database
from pincite.server.tables import corpora, corpus_problems, new_id, now


class Shared(StrEnum):
    """Who besides its owner may read a corpus."""

    PRIVATE = "private"
    GROUP = "group"
    EVERYBODY = "everybody"


class NameTaken(PinciteError):
    """Its owner has a corpus of this name already."""


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """A corpus as the register knows it."""

    corpus_id: str
    owner: str
    name: str
    about: str
    address: Address
    shared: Shared
    group_id: str | None
    created: float


class CorpusRegister:
    """The corpora of a server. Every method is one transaction."""

    def __init__(self, database: Database, folder: Path) -> None:
        """`folder`: where new corpora are made."""
        self._db, self._folder = database, folder

    def add(
        self,
        owner: str,
        name: str,
        *,
        about: str = "",
        address: Address | None = None,
        shared: Shared = Shared.PRIVATE,
        group_id: str | None = None,
    ) -> CorpusEntry:
        """A new entry; its folder is not made here.

        Args:
            owner: an account.
            name: unique for its owner.
            about: for people.
            address: of a corpus that is there already; None: a new one in the server's folder.
            shared: who may read it.
            group_id: of `Shared.GROUP`.

        Raises:
            NameTaken
        """
        corpus_id = new_id()
        where = address or self.folder_of(corpus_id)
        entry = CorpusEntry(corpus_id, owner, name, about, where, shared, group_id, now())
        values = {each: getattr(entry, each) for each in CorpusEntry.__slots__ if each != "address"}
        values["folder"] = str(address or corpus_id)  # relative: the data folder may move
        try:
            with self._db.writing() as db:
                db.execute(corpora.insert().values(values))
        except sa.exc.IntegrityError as error:
            raise NameTaken(f"There is a corpus called {name!r} already.") from error
        return entry

    def folder_of(self, corpus_id: str) -> Path:
        """Where a corpus that was made here lies."""
        return self._folder / corpus_id

    def is_linked(self, entry: CorpusEntry) -> bool:
        """Whether it lies where its owner keeps it: nothing in it is changed from here."""
        return entry.address != self.folder_of(entry.corpus_id)

    def is_empty(self, entry: CorpusEntry) -> bool:
        """Whether nothing was added to it yet; of a linked one its engine is not asked."""
        return not self.is_linked(entry) and not is_corpus(self.folder_of(entry.corpus_id))

    def get(self, corpus_id: str) -> CorpusEntry | None:
        """An entry, or None."""
        with self._db.reading() as db:
            row = db.execute(_SEEN.where(corpora.c.corpus_id == corpus_id)).first()
        return self._entry(row) if row else None

    def listed(self) -> list[CorpusEntry]:
        """All of them, by name and id; who may see which is decided by whoever asks."""
        with self._db.reading() as db:
            found = [self._entry(row) for row in db.execute(_SEEN)]
        return sorted(found, key=lambda entry: (entry.name, entry.corpus_id))

    def change(self, corpus_id: str, **values: object) -> None:
        """Set the name, what it is about, or who may read it.

        Raises:
            NameTaken
        """
        try:
            with self._db.writing() as db:
                this = corpora.c.corpus_id == corpus_id
                db.execute(corpora.update().where(this).values(**values))
        except sa.exc.IntegrityError as error:
            raise NameTaken(f"There is a corpus called {values['name']!r} already.") from error

    def mark_deleted(self, corpus_id: str) -> None:
        """From now on it is not there for anybody, and its name is free."""
        self.change(corpus_id, deleted=now(), name=f"deleted {corpus_id}")

    def deleted(self) -> list[CorpusEntry]:
        """Those whose folder is still to be removed."""
        with self._db.reading() as db:
            wanted = sa.select(*_FIELDS).where(corpora.c.deleted.is_not(None))
            return [self._entry(row) for row in db.execute(wanted)]

    def remove(self, corpus_id: str) -> None:
        """Forget an entry; its folder stays."""
        with self._db.writing() as db:
            db.execute(corpora.delete().where(corpora.c.corpus_id == corpus_id))

    def note_problems(
        self, corpus_id: str, files: Sequence[str], problems: Sequence[Mapping[str, str]]
    ) -> None:
        """What could not be read of files; what was noted of the same files before is forgotten.

        Nothing is noted of a corpus that was deleted meanwhile.

        Args:
            corpus_id: of the corpus.
            files: all that were read, by the names that their senders gave them.
            problems: `file`, `place`, `reason` and `detail` of each.
        """
        mine = corpus_problems.c.corpus_id == corpus_id
        with self._db.writing() as db:
            if db.execute(_SEEN.where(corpora.c.corpus_id == corpus_id)).first() is None:
                return
            for some in (files[n : n + 500] for n in range(0, len(files), 500)):
                db.execute(corpus_problems.delete().where(mine, corpus_problems.c.file.in_(some)))
            last = db.execute(sa.select(sa.func.max(corpus_problems.c.number)).where(mine)).scalar()
            at, first = now(), (last or 0) + 1
            rows = [
                {"corpus_id": corpus_id, "number": first + n, "at": at, **problem}
                for n, problem in enumerate(problems)
            ]
            if rows:
                db.execute(corpus_problems.insert(), rows)

    def problems(self, corpus_id: str, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """How many things could not be read, and the last `limit` of them."""
        mine = corpus_problems.c.corpus_id == corpus_id
        fields = [corpus_problems.c[name] for name in ("file", "place", "reason", "detail", "at")]
        wanted = sa.select(*fields).where(mine).order_by(corpus_problems.c.number.desc())
        with self._db.reading() as db:
            n = db.execute(sa.select(sa.func.count()).select_from(corpus_problems).where(mine))
            found = [dict(row._mapping) for row in db.execute(wanted.limit(limit))]
            return int(n.scalar() or 0), found

    def _entry(self, row: sa.Row[tuple[object, ...]]) -> CorpusEntry:
        values = dict(row._mapping)
        where = engines.address(values["address"])
        values["address"] = self._folder / where if isinstance(where, Path) else where
        values["shared"] = Shared(values["shared"])
        return CorpusEntry(**values)


_FIELDS = [
    corpora.c.folder.label(name) if name == "address" else corpora.c[name]
    for name in CorpusEntry.__slots__
]
_SEEN = sa.select(*_FIELDS).where(corpora.c.deleted.is_(None))
