"""The corpora of a server: the register, their folders, and the pool of open corpora.

The server stores its own corpora in its data folder. A linked corpus (`server.corpora`) is in
another folder, or at an address that another engine opens. Every user can read it, the server never
changes it, and users never see its location.

A corpus is deleted in three steps: the register hides it, its folder is removed once no process
writes to it, and then its entry is removed. The next start finishes what a killed process left. A
folder that is not in the register is kept, because an older database may have been restored.
"""

import logging
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import sqlalchemy as sa

from pincite.corpora import name_corpora
from pincite.corpus import engines
from pincite.corpus.engines import is_corpus
from pincite.corpus.protocol import Address, Catalogue, Contents, Corpus
from pincite.durable import WriterLock
from pincite.errors import (
    ConfigError,
    CorpusError,
    MissingExtra,
    MissingModel,
    PinciteError,
    StaleCorpus,
)
from pincite.protocols import Encoder
from pincite_server.database import Database
from pincite_server.problems import Problem
from pincite_server.tables import corpora, new_id, now


class Shared(StrEnum):
    """Who can read a corpus besides its owner."""

    PRIVATE = "private"
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """A corpus in the register."""

    corpus_id: str
    owner: str
    name: str
    about: str
    address: Address
    shared: Shared
    created: float

    @property
    def is_missing(self) -> bool:
        """Whether its folder holds no corpus (yet, or any more); other engines are not asked."""
        return isinstance(self.address, Path) and not is_corpus(self.address)


class CorpusRegister:
    """The corpora of a server. Every method is one transaction."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._db, self._folder = database, folder

    def add(
        self,
        owner: str,
        name: str,
        *,
        about: str = "",
        address: Address | None = None,
        shared: Shared = Shared.PRIVATE,
    ) -> CorpusEntry:
        """Add an entry, but no folder. Raises Problem: 409, the owner has a corpus of this name.

        `address` is that of an existing corpus, or None for a new one in the server's folder.
        """
        corpus_id = new_id()
        where = address or self.folder_of(corpus_id)
        entry = CorpusEntry(corpus_id, owner, name, about, where, shared, now())
        values = {column: getattr(entry, column) for column in _NAMES}
        values["folder"] = str(address or corpus_id)  # relative, because the data folder may move
        self._write(corpora.insert().values(values), name)
        return entry

    def folder_of(self, corpus_id: str) -> Path:
        return self._folder / corpus_id

    def is_linked(self, entry: CorpusEntry) -> bool:
        """Whether the corpus is stored elsewhere, so that the server does not change it."""
        return entry.address != self.folder_of(entry.corpus_id)

    def is_empty(self, entry: CorpusEntry) -> bool:
        """Whether the corpus has no documents; False for a linked one, without opening it."""
        return not self.is_linked(entry) and entry.is_missing

    def get(self, corpus_id: str) -> CorpusEntry | None:
        row = self._db.first(_ENTRIES.where(_SHOWN, corpora.c.corpus_id == corpus_id))
        return self._entry(row) if row else None

    def entries(self) -> list[CorpusEntry]:
        """All entries by name and id; the caller checks permissions."""
        entries = [self._entry(row) for row in self._db.rows(_ENTRIES.where(_SHOWN))]
        return sorted(entries, key=lambda entry: (entry.name, entry.corpus_id))

    def change(self, corpus_id: str, **values: object) -> None:
        """Change the name, the description, or who can read the corpus. Raises Problem: 409."""
        this = corpora.c.corpus_id == corpus_id
        self._write(corpora.update().where(this).values(**values), values.get("name"))

    def mark_deleted(self, corpus_id: str) -> None:
        """Hide the corpus from all users and free its name."""
        self.change(corpus_id, deleted=now(), name=f"deleted {corpus_id}")

    def deleted_entries(self) -> list[CorpusEntry]:
        """The deleted entries whose folders still have to be removed."""
        return [self._entry(row) for row in self._db.rows(_ENTRIES.where(~_SHOWN))]

    def remove(self, corpus_id: str) -> None:
        self._db.write(corpora.delete().where(corpora.c.corpus_id == corpus_id))

    def _write(self, statement: sa.Executable, name: object) -> None:
        try:
            self._db.write(statement)
        except sa.exc.IntegrityError as error:
            what = f"There is already a corpus called {name!r}."
            raise Problem(409, "name_taken", what) from error

    def _entry(self, row: sa.Row[tuple[object, ...]]) -> CorpusEntry:
        values = dict(row._mapping)
        where = engines.address(values["address"])
        values["address"] = self._folder / where if isinstance(where, Path) else where
        values["shared"] = Shared(values["shared"])
        return CorpusEntry(**values)


_NAMES = [name for name in CorpusEntry.__slots__ if name != "address"]
_ENTRIES = sa.select(corpora.c.folder.label("address"), *(corpora.c[name] for name in _NAMES))
_SHOWN = corpora.c.deleted.is_(None)
SETTING = "server.corpora"
LOG = logging.getLogger("pincite.server.corpora")
UNREADABLE = (
    "The corpus is stored elsewhere and cannot be read now. `pincite server check` says why."
)


def link(register: CorpusRegister, owner: str, addresses: Sequence[str]) -> list[CorpusEntry]:
    """Replace the linked corpora in the register with these; return their entries.

    New entries belong to `owner`. `addresses` are of folders or engines, optionally as NAME=….
    Raises ConfigError: no engine opens an address, or a name is used twice.
    """

    def linked_entries() -> dict[str, CorpusEntry]:
        return {entry.name: entry for entry in register.entries() if register.is_linked(entry)}

    wanted = dict[str, Address]()
    try:
        for name, place in name_corpora(addresses).items() if addresses else ():
            engines.engine(str(place))  # raises ConfigError if there is none
            address = engines.address(str(place))
            if isinstance(address, Path):
                address = address.expanduser().absolute()
            wanted[name] = address
    except ConfigError as error:
        raise ConfigError(f"{SETTING}: {error}") from error
    known = linked_entries()
    for name in known.keys() - wanted.keys():
        register.remove(known[name].corpus_id)
    for name, address in wanted.items():
        if name in known:  # it may have moved; jobs still refer to the entry
            register.change(known[name].corpus_id, folder=str(address))
            continue
        try:
            register.add(owner, name, address=address, shared=Shared.EVERYBODY)
        except Problem as error:
            if name not in linked_entries():  # otherwise another starting process has added it
                raise ConfigError(f"{SETTING}: {error}") from error
    return list(linked_entries().values())


def fault(entry: CorpusEntry) -> str:
    """Why a linked corpus cannot be read, for the operator; empty if it can."""
    try:
        exists = engines.exists(entry.address)
    except PinciteError as error:
        return f"{SETTING}: {entry.name}: {error}"
    return "" if exists else f"{SETTING}: {entry.name}: there is no corpus at {entry.address}"


def hide_places(error: Exception, places: Iterable[Address], instead: str = "The corpus") -> str:
    """An error message for users that does not reveal where corpora are stored.

    An engine's message may name a server in any form, so it is only logged. So is the message about
    a missing folder, which explains how to create one.
    """
    text, addresses = str(error), tuple(places)
    others = [place for place in addresses if isinstance(place, str) or not place.exists()]
    if others and (isinstance(error, CorpusError) or any(str(place) in text for place in others)):
        LOG.warning("%s", text)
        return UNREADABLE
    for place in addresses:
        text = text.replace(str(place), instead)
    return text


MAX_OPEN = 8  # an index of a million vectors takes 0.4 GB
# A remote engine that hangs can block its readers for a minute, but must never block all 40 of our
# threads.
MAX_REMOTE_READERS = 16
_OTHER = "It was built with an encoder other than this server's."


@dataclass(slots=True, weakref_slot=True)
class Opened:
    """An open corpus; `no_meaning` says why only keyword search works, if so."""

    corpus: Corpus
    no_meaning: str
    counted: tuple[int, Contents] | None = None  # batch sequence at the last count

    @property
    def catalogue(self) -> Catalogue | None:
        """The corpus, if its documents can be listed."""
        return self.corpus if isinstance(self.corpus, Catalogue) else None

    def contents(self) -> Contents:
        """Statistics of the documents, recounted only after a change."""
        if self.catalogue is None:
            return Contents({}, {}, None, None, 0)
        sequence = self.corpus.status().sequence
        if self.counted is None or self.counted[0] != sequence:
            self.counted = sequence, self.catalogue.contents()
        return self.counted[1]


class CorpusPool:
    """The open corpora of one process; each is closed after its last reader. Thread-safe."""

    def __init__(self, load_encoder: Callable[[], Encoder]) -> None:
        """Call `load_encoder` once, when the server's encoder is first needed."""
        self._load = load_encoder
        self._encoder: Encoder | None = None
        self._mutex, self._loading = threading.Lock(), threading.Lock()
        self._open: OrderedDict[Address, Opened] = OrderedDict()
        self._remote_readers = threading.Semaphore(MAX_REMOTE_READERS)

    @contextmanager
    def reading(self, address: Address) -> Iterator[Opened]:
        """The corpus at an address. Raises CorpusError: missing, damaged, or no answer."""
        is_remote = isinstance(address, str)
        if is_remote and not self._remote_readers.acquire(blocking=False):
            raise CorpusError(
                f"{address}: {MAX_REMOTE_READERS} requests are already waiting for such corpora."
            )
        try:
            yield self._get(address)
        except CorpusError:  # reopening may help
            self.drop(address)
            raise
        finally:
            if is_remote:
                self._remote_readers.release()

    def drop(self, address: Address) -> None:
        """Close a corpus as soon as no request reads it."""
        with self._mutex:
            self._open.pop(address, None)

    def close(self) -> None:
        with self._mutex:
            self._open.clear()

    def _get(self, address: Address) -> Opened:
        with self._mutex:
            if address in self._open:
                self._open.move_to_end(address)
                return self._open[address]
        try:
            opened = self._open_corpus(address)
        except (ConfigError, MissingExtra) as error:  # an operator's error, not the user's
            raise CorpusError(str(error)) from error
        weakref.finalize(opened, opened.corpus.close).atexit = False
        with self._mutex:
            first = self._open.setdefault(address, opened)  # another thread may have been faster
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        return first

    def _open_corpus(self, address: Address) -> Opened:
        try:
            with self._loading:
                self._encoder = self._encoder or self._load()
            return Opened(engines.open(address, self._encoder), "")
        except StaleCorpus as error:
            why = _OTHER if isinstance(address, str) else hide_places(error, [address], "It")
        except MissingModel as error:
            why = str(error)
        return Opened(engines.open(address, None), why)


def remove_folder(folder: Path) -> bool:
    """Remove the folder of a corpus; False if a process is writing to it."""
    if not folder.is_dir():
        return True
    with WriterLock(folder).attempt() as is_free:
        if is_free:
            shutil.rmtree(folder)
    return is_free
