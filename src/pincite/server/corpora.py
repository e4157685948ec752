"""Which corpora there are, whose they are, and where they lie.

The documents themselves are `pincite.index`'s business; here is the register. A corpus of the
server lies in its data folder; one that was linked lies where its owner keeps it.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import sqlalchemy as sa

from pincite.errors import PinciteError
from pincite.server.database import Database
from pincite.server.tables import corpora, new_id, now


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
    folder: Path
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
        folder: Path | None = None,
        shared: Shared = Shared.PRIVATE,
        group_id: str | None = None,
    ) -> CorpusEntry:
        """A new entry; its folder is not made here.

        Args:
            owner: an account.
            name: unique for its owner.
            about: for people.
            folder: of a corpus that is there already; None: a new one in the server's.
            shared: who may read it.
            group_id: of `Shared.GROUP`.

        Raises:
            NameTaken
        """
        corpus_id = new_id()
        where = folder or self._folder / corpus_id
        values = {
            "corpus_id": corpus_id,
            "owner": owner,
            "name": name,
            "about": about,
            "folder": str(folder or corpus_id),  # relative: the data folder may move
            "shared": shared,
            "group_id": group_id,
            "created": now(),
        }
        try:
            with self._db.writing() as db:
                db.execute(corpora.insert().values(values))
        except sa.exc.IntegrityError as error:
            raise NameTaken(f"There is a corpus called {name!r} already.") from error
        return CorpusEntry(**{**values, "folder": where})  # type: ignore[arg-type]

    def get(self, corpus_id: str) -> CorpusEntry | None:
        """An entry, or None."""
        with self._db.reading() as db:
            row = db.execute(sa.select(corpora).where(corpora.c.corpus_id == corpus_id)).first()
        return self._entry(row) if row else None

    def listed(self) -> list[CorpusEntry]:
        """All of them, by name; who may see which is decided by whoever asks."""
        with self._db.reading() as db:
            return [
                self._entry(row) for row in db.execute(sa.select(corpora).order_by(corpora.c.name))
            ]

    def change(self, corpus_id: str, **values: str | None) -> None:
        """Set the name, what it is about, or who may read it."""
        with self._db.writing() as db:
            db.execute(corpora.update().where(corpora.c.corpus_id == corpus_id).values(**values))

    def remove(self, corpus_id: str) -> None:
        """Forget an entry; its folder stays."""
        with self._db.writing() as db:
            db.execute(corpora.delete().where(corpora.c.corpus_id == corpus_id))

    def _entry(self, row: sa.Row[tuple[object, ...]]) -> CorpusEntry:
        values = dict(row._mapping)
        values |= {"folder": self._folder / values["folder"], "shared": Shared(values["shared"])}
        return CorpusEntry(**values)
