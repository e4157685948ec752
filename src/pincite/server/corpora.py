"""The corpora of a server: the register, their folders, what is kept open, and quotas.

A corpus of the server lies in its data folder; a linked one (`server.corpora`) lies in a folder or
at an address that another engine opens, for all to read: nothing of it is changed from here, and
people who use the server never learn where it is.

A corpus is deleted in three steps: the register forgets it for everybody; its folder is removed as
soon as nobody writes it; then its entry goes. What a kill leaves between two of them is finished at
the next start. A folder that the register never knew is left alone: an older copy of the database
may have been restored.
"""

import logging
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

import sqlalchemy as sa

from pincite import runtime
from pincite.corpus import engines
from pincite.corpus.catalogue import Contents
from pincite.corpus.durable import WriterLock, n_bytes
from pincite.corpus.embedded import is_corpus
from pincite.corpus.protocol import Address, Catalogue, Corpus
from pincite.errors import (
    ConfigError,
    CorpusError,
    MissingExtra,
    MissingModel,
    PinciteError,
    StaleCorpus,
)
from pincite.library.private_copies import AccountCopies
from pincite.protocols import Encoder
from pincite.server.database import Database
from pincite.server.settings import ServerSettings
from pincite.server.tables import corpora, corpus_problems, new_id, now
from pincite.server.uploads import Uploads


class Shared(StrEnum):
    """Who besides its owner may read a corpus."""

    PRIVATE = "private"
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
    ) -> CorpusEntry:
        """A new entry; its folder is not made here.

        Args:
            owner: an account.
            name: unique for its owner.
            about: for people.
            address: of a corpus that is there already; None: a new one in the server's folder.
            shared: who may read it.

        Raises:
            NameTaken
        """
        corpus_id = new_id()
        where = address or self.folder_of(corpus_id)
        entry = CorpusEntry(corpus_id, owner, name, about, where, shared, now())
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


SETTING = "server.corpora"
LOG = logging.getLogger("pincite.server.corpora")
_HIDDEN = (
    "The corpus is stored elsewhere and cannot be read now. Whoever runs this server finds the "
    "reason in its log."
)


def link(register: CorpusRegister, owner: str, given: Sequence[str]) -> list[CorpusEntry]:
    """Make the register hold exactly these linked corpora; gives their entries.

    Args:
        register: of the server.
        owner: of those that are new.
        given: folders or addresses, each perhaps as NAME=….

    Raises:
        ConfigError: an address that no engine opens, or a name that is given twice or taken.
    """
    try:
        wanted = {name: _placed(str(place)) for name, place in _named(given)}
    except ConfigError as error:
        raise ConfigError(f"{SETTING}: {error}") from error
    known = _linked(register)
    for name in known.keys() - wanted.keys():
        register.remove(known[name].corpus_id)
    for name, address in wanted.items():
        if name not in known:
            _add(register, owner, name, address)
        elif known[name].address != address:  # the same one elsewhere: jobs still name it
            register.change(known[name].corpus_id, folder=str(address))
    return list(_linked(register).values())


def fault(entry: CorpusEntry) -> str:
    """Why a linked corpus cannot be read now, for whoever runs the server; empty if it can."""
    try:
        found = engines.exists(entry.address)
    except PinciteError as error:
        return f"{SETTING}: {entry.name}: {error}"
    return "" if found else f"{SETTING}: {entry.name}: there is no corpus at {entry.address}"


def without_places(error: Exception, places: Iterable[Address], instead: str = "The corpus") -> str:
    """What went wrong, for people who need not know where corpora lie.

    An engine's message may name a server in words that nobody foresees: such a one is only logged,
    as is that of a folder that is gone, which tells how to make one.
    """
    text, addresses = str(error), tuple(places)
    others = [each for each in addresses if isinstance(each, str) or not each.exists()]
    if others and (isinstance(error, CorpusError) or any(str(each) in text for each in others)):
        LOG.warning("%s", text)
        return _HIDDEN
    for each in addresses:
        text = text.replace(str(each), instead)
    return text


def _linked(register: CorpusRegister) -> dict[str, CorpusEntry]:
    return {entry.name: entry for entry in register.listed() if register.is_linked(entry)}


def _add(register: CorpusRegister, owner: str, name: str, address: Address) -> None:
    try:
        register.add(owner, name, address=address, shared=Shared.EVERYBODY)
    except NameTaken as error:
        if name not in _linked(register):  # else another process that starts was quicker
            raise ConfigError(f"{SETTING}: {error}") from error


def _named(given: Sequence[str]) -> list[tuple[str, object]]:
    return list(runtime.named(given).items()) if given else []


def _placed(given: str) -> Address:
    """As it is registered: a folder whole, whatever the working folder is later."""
    engines.engine(given)  # raises ConfigError if there is none for it
    found = engines.address(given)
    return found.expanduser().absolute() if isinstance(found, Path) else found


MOST = 8  # open at once: an index of a million vectors takes 0.4 GB
# Another engine's server that hangs may hold up its readers for a minute, but must never hold all
# threads of ours, which are 40: so many read at once, and one that does not answer is left alone.
MOST_ELSEWHERE, ALONE_SECONDS = 16, 30.0
_OTHER = "It was built with another encoder than this server's."


@dataclass(slots=True)
class Opened:
    """An open corpus; `no_meaning` says why it is searched by words only, empty if it is not."""

    corpus: Corpus
    no_meaning: str
    readers: int = 0
    is_dropped: bool = False
    counted: tuple[int, Contents] | None = None  # the batch after which it was counted

    @property
    def catalogue(self) -> Catalogue | None:
        """The corpus, if it can be leafed through."""
        return self.corpus if isinstance(self.corpus, Catalogue) else None

    def contents(self) -> Contents:
        """What its documents are, if it tells; counted anew only when something changed."""
        if self.catalogue is None:
            return Contents({}, {}, None, None, 0)
        sequence = self.corpus.status().sequence
        if self.counted is None or self.counted[0] != sequence:
            self.counted = sequence, self.catalogue.contents()
        return self.counted[1]


class CorpusPool:
    """The open corpora of one process. Safe to use from several threads."""

    def __init__(self, encoder: Callable[[], Encoder], most: int = MOST) -> None:
        """`encoder`: loads the one that corpora are searched with; called once, when needed."""
        self._load, self._most = encoder, most
        self._encoder: Encoder | None = None
        self._mutex, self._loading = threading.Lock(), threading.Lock()
        self._open: OrderedDict[Address, Opened] = OrderedDict()
        self._failed: dict[Address, tuple[float, str]] = {}  # until when, and why
        self._elsewhere = threading.Semaphore(MOST_ELSEWHERE)

    @contextmanager
    def reading(self, address: Address) -> Iterator[Opened]:
        """The corpus at the address, open for as long as the block lasts.

        Raises:
            CorpusError: it is none, or damaged, or its server does not answer.
        """
        with self._among_few(address):
            opened = self._taken(address) or self._put(address, self._opened(address))
            try:
                yield opened
            except CorpusError:  # what is wrong may be mended by opening it again
                self._drop(address, opened)
                raise
            finally:
                self._give_back(opened)

    def drop(self, address: Address) -> None:
        """Close a corpus as soon as nobody reads it."""
        with self._mutex:
            opened = self._open.get(address)
        if opened:
            self._drop(address, opened)

    def close(self) -> None:
        """Close all that nobody reads."""
        for address in list(self._open):
            self.drop(address)

    @contextmanager
    def _among_few(self, address: Address) -> Iterator[None]:
        counted = isinstance(address, str)
        if counted and not self._elsewhere.acquire(blocking=False):
            raise CorpusError(
                f"{address}: {MOST_ELSEWHERE} requests wait for such corpora already."
            )
        try:
            yield
        finally:
            if counted:
                self._elsewhere.release()

    def _taken(self, address: Address) -> Opened | None:
        with self._mutex:
            opened = self._open.get(address)
            if opened:
                self._open.move_to_end(address)
                opened.readers += 1
            return opened

    def _opened(self, address: Address) -> Opened:
        until, failure = self._failed.get(address, (0.0, ""))
        if time.monotonic() < until:
            raise CorpusError(failure)
        try:
            return self._tried(address)
        except (ConfigError, MissingExtra) as error:  # of its engine, not of who asks
            raise CorpusError(str(error)) from error
        except CorpusError as error:
            if isinstance(address, str):
                self._failed[address] = time.monotonic() + ALONE_SECONDS, str(error)
            raise

    def _tried(self, address: Address) -> Opened:
        try:
            return Opened(engines.open(address, self._the_encoder()), "")
        except StaleCorpus as error:
            corpus = engines.open(address, None)
            why = _OTHER if isinstance(address, str) else without_places(error, [address], "It")
            return Opened(corpus, why)
        except MissingModel as error:
            return Opened(engines.open(address, None), str(error))

    def _the_encoder(self) -> Encoder:
        with self._loading:
            self._encoder = self._encoder or self._load()
            return self._encoder

    def _put(self, address: Address, opened: Opened) -> Opened:
        """Into the pool, unless another thread was quicker; the oldest fall off."""
        with self._mutex:
            first = self._open.setdefault(address, opened)
            first.readers += 1
            fallen = [
                self._open.popitem(last=False)[1] for _ in range(len(self._open) - self._most)
            ]
            if first is not opened:
                fallen.append(opened)
            for each in fallen:
                each.is_dropped = True
            unread = [each for each in fallen if not each.readers]
        for each in unread:
            each.corpus.close()
        return first

    def _drop(self, address: Address, opened: Opened) -> None:
        with self._mutex:
            if self._open.get(address) is opened:
                del self._open[address]
            was_dropped, opened.is_dropped = opened.is_dropped, True
            is_unread = not opened.readers and not was_dropped
        if is_unread:
            opened.corpus.close()

    def _give_back(self, opened: Opened) -> None:
        with self._mutex:
            opened.readers -= 1
            is_last = opened.is_dropped and not opened.readers
        if is_last:
            opened.corpus.close()


class Jobs(Protocol):
    """What a library asks of the queue, see `jobs.store.JobStore`."""

    def open_requests(self, kind: Literal["ingest"]) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Ids and requests of the jobs that are still to add files to corpora."""

    def sent_files(self, owner: str | None = None) -> Mapping[str, int]:
        """Uploads that jobs name, and their bytes."""

    def cancel(self, job_id: str) -> object:
        """Ask for a job's end."""


@dataclass(frozen=True, slots=True)
class Library:
    """All that belongs to the corpora of a server."""

    register: CorpusRegister
    uploads: Uploads
    jobs: Jobs
    pool: CorpusPool

    def delete(self, entry: CorpusEntry) -> None:
        """Remove a corpus for good; the folder of a linked one stays where its owner keeps it."""
        self.register.mark_deleted(entry.corpus_id)
        for job_id, request in self.jobs.open_requests("ingest"):
            if request["corpus"] == entry.corpus_id:
                self.jobs.cancel(job_id)
        self.pool.drop(entry.address)
        self.tidy()

    def tidy(self) -> None:
        """Finish what was begun: remove what was deleted, and uploads that no job names."""
        for entry in self.register.deleted():
            folder = self.register.folder_of(entry.corpus_id)
            if self.register.is_linked(entry) or removed(folder):
                self.register.remove(entry.corpus_id)
        waiting = {request["upload"] for _, request in self.jobs.open_requests("ingest")}
        if n_swept := self.uploads.sweep(waiting | self.jobs.sent_files().keys()):
            LOG.warning("%s uploads were left behind and are removed", n_swept)


def removed(folder: Path) -> bool:
    """Whether the folder of a corpus is gone now; one that is being written stays for later."""
    if not folder.is_dir():
        return True
    with WriterLock(folder).attempt() as is_free:
        if is_free:
            shutil.rmtree(folder)
    return is_free


COUNTED_SECONDS = 60.0  # for which the size of all corpora is believed: it is read off each file


class DiskFull(PinciteError):
    """The disk has less room than it is to have; what came in was not kept."""


class AccountFull(PinciteError):
    """What an account keeps is as large as it may be, or would be."""


class Quotas:
    """Of one server's data folder. Safe to use from several threads."""

    def __init__(self, server: ServerSettings, library: Library, own: AccountCopies) -> None:
        """`server`: how much is to stay free, and how much an account may take."""
        self._folder, self._library, self._own = server.folder, library, own
        self._spare = server.disk_free_megabytes * 1e6
        self._each = server.account_megabytes * 1e6 if server.mode == "server" else 0.0
        self._mutex = threading.Lock()
        self._counted: tuple[float, int] | None = None  # when, and how many bytes

    def free_bytes(self) -> int:
        """Of the data folder's file system."""
        return shutil.disk_usage(self._folder).free

    def corpora_bytes(self) -> int:
        """Of all corpora that were made here, as of a minute ago at most."""
        with self._mutex:
            if self._counted is None or time.monotonic() - self._counted[0] > COUNTED_SECONDS:
                total = sum(map(self._bytes_of, self._library.register.listed()))
                self._counted = time.monotonic(), total
            return self._counted[1]

    def check_disk(self) -> None:
        """Refuse what would take up more of a disk that is nearly full.

        Raises:
            DiskFull
        """
        if self.free_bytes() < self._spare:
            raise DiskFull(
                "The server's disk is nearly full, so nothing new is taken. Try again later, or "
                "tell whoever runs the server."
            )

    def check_account(self, owner: str, n_more: int = 0) -> None:
        """Refuse files for corpora or own copies of an account that has no room for them.

        Args:
            owner: the account.
            n_more: bytes of the files; how large they are in a corpus shows only afterwards.

        Raises:
            AccountFull
        """
        if not self._each:
            return
        listed = self._library.register.listed()
        mine = {each: self._bytes_of(each) for each in listed if each.owner == owner}
        copies = sum(copy.n_bytes for copy in self._own.of(owner).all())
        sent = sum(self._library.jobs.sent_files(owner).values())
        kept = sum(mine.values()) + copies + sent
        coming = n_more + self._waiting({each.corpus_id for each in mine})
        if kept + coming <= self._each:
            return
        of_corpora = "none"
        if mine:
            largest = max(mine, key=lambda entry: mine[entry])
            of_corpora = f"the largest is “{largest.name}” with {_mb(mine[largest])}"
        raise AccountFull(
            f"What one account keeps may take {_mb(self._each)}. Its files take {_mb(kept)}: own "
            f"copies {_mb(copies)}, sources of articles {_mb(sent)}, corpora "
            f"{_mb(sum(mine.values()))}, {of_corpora}; "
            f"files that are to be added have {_mb(coming)}. Delete something, or send less."
        )

    def _waiting(self, corpus_ids: set[str]) -> int:
        """Bytes of files that jobs are still to add to corpora."""
        return sum(
            file["n_bytes"]
            for _, request in self._library.jobs.open_requests("ingest")
            if request["corpus"] in corpus_ids
            for file in request["files"]
        )

    def _bytes_of(self, entry: CorpusEntry) -> int:
        register = self._library.register
        return 0 if register.is_linked(entry) else n_bytes(register.folder_of(entry.corpus_id))


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"
