"""The server's database, SQLite, PostgreSQL or MariaDB: connections, transactions, tables.

SQLite uses a write-ahead log, so readers never wait for writers, and writers queue instead of
failing. A transaction that writes must declare it at the start, because SQLite may refuse to
upgrade a read transaction.
"""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from pincite.errors import ConfigError, PinciteError
from pincite_server import plugins
from pincite_server.tables import metadata

VERSION = 4  # of the tables; a release that changes them increments it, and refuses older ones
BUSY_SECONDS = 30.0  # how long a writer waits for another one
CONNECT_SECONDS = 10  # how long to wait for an unresponsive database server
# Unreachable, full, locked for too long, or disconnected: worth a retry. Errors in a statement or
# its data are our bugs and are raised unchanged.
_UNAVAILABLE = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)
_EXPECTED = (
    "expected postgresql+psycopg://USER@HOST/NAME, mariadb+pymysql://USER@HOST/NAME (with: pip "
    "install pymysql), or nothing for SQLite in the data folder"
)
LOG = logging.getLogger("pincite.server")


class Lock(Enum):
    """Work that only one transaction may do at a time; values are arbitrary advisory-lock keys."""

    TABLES = 7_010_203
    QUEUE = 7_010_204


class DatabaseError(PinciteError):
    """The database is unreachable, has tables of another version, or refuses an operation."""

    exit_code = 7


class Database:
    """The database of a server. Thread-safe; create one per process."""

    def __init__(self, url: str) -> None:
        """Make the folder of an SQLite file, but no connection. Raises ConfigError: bad `url`."""
        try:
            self.url = sa.make_url(url)
            self.url.get_dialect().import_dbapi()
        except ImportError as error:
            raise ConfigError(f"server.database: {error}; {_EXPECTED}.") from error
        except (sa.exc.ArgumentError, ValueError) as error:
            raise ConfigError(f"server.database is not a URL; {_EXPECTED}.") from error
        kind = self.url.get_backend_name()
        if kind not in ("sqlite", "postgresql", "mariadb"):
            raise ConfigError(f"server.database is a URL of {kind!r}; {_EXPECTED}.")
        self._lock, self._lost = threading.Lock(), 0.0  # since when it has been unavailable
        self.is_sqlite, self._is_mariadb = kind == "sqlite", kind == "mariadb"
        if self.is_sqlite:
            if self.url.database:
                create_folder(Path(self.url.database).parent)
            self._engine = sa.create_engine(self.url)
            sa.event.listen(self._engine, "connect", _set_up)
            sa.event.listen(self._engine, "begin", _begin)
        else:
            pool: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 10}
            pool["connect_args"] = {"connect_timeout": CONNECT_SECONDS}
            level = "READ COMMITTED"  # PostgreSQL's default
            self._engine = sa.create_engine(self.url, isolation_level=level, **pool)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A read-only transaction with a consistent snapshot."""
        # By default, each statement sees a new snapshot.
        options: dict[str, Any] = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        if not (self.is_sqlite or self._is_mariadb):
            options["postgresql_readonly"] = True
        with self._report_outage(), self._engine.connect() as plain:
            connection = plain.execution_options(**options)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed when the block ends, or rolled back if it raises."""
        with self._report_outage(), self._engine.connect() as plain:
            connection = plain.execution_options(pincite_writes=True)
            with connection.begin():
                yield connection

    def write(self, statement: sa.Executable) -> int:
        with self.writing() as db:
            return cast(sa.CursorResult[Any], db.execute(statement)).rowcount

    def rows(self, query: sa.Select[Any]) -> Sequence[Any]:
        with self.reading() as db:
            return db.execute(query).all()

    def first(self, query: sa.Select[Any]) -> Any:
        with self.reading() as db:
            return db.execute(query).first()

    def scalar(self, query: sa.Select[Any]) -> Any:
        with self.reading() as db:
            return db.execute(query).scalar()

    def one_at_a_time(self, connection: sa.Connection, lock: Lock) -> None:
        """Wait for the lock and hold it until the transaction ends.

        For decisions that depend on rows that do not exist yet, which cannot be locked.
        """
        if self._is_mariadb and lock is Lock.TABLES:  # its advisory locks end with the connection
            connection.detach()
            connection.execute(sa.select(sa.func.get_lock(sa.func.database(), BUSY_SECONDS)))
        elif self._is_mariadb:
            connection.execute(sa.text("SELECT version FROM pincite_version FOR UPDATE"))
        elif not self.is_sqlite:  # SQLite has a single writer anyway
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(lock.value)))

    def create_tables(self) -> None:
        """Create missing tables, also of plugins. Raises DatabaseError: of another version."""
        with self.writing() as connection:
            self.one_at_a_time(connection, Lock.TABLES)  # several processes may start at once
            self._create(connection, "pincite", metadata, VERSION)
            for plugin in plugins.load_all():
                if plugin.tables is not None:
                    self._create(connection, plugin.name, plugin.tables, plugin.version)

    def version(self) -> int | None:
        """The version of the tables; None if there are none. Raises DatabaseError: unreachable."""
        with self.reading() as connection:
            if not sa.inspect(connection).has_table("pincite_version"):
                return None
            query = sa.text("SELECT version FROM pincite_version")
            version: int | None = connection.execute(query).scalar()
            return version

    @property
    def shown(self) -> str:
        """The database URL without its password, for messages."""
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        self._engine.dispose()

    def _create(
        self, connection: sa.Connection, name: str, tables: sa.MetaData, version: int
    ) -> None:
        column = sa.Column("version", sa.Integer, nullable=False)
        versions = sa.Table(f"{name}_version", sa.MetaData(), column)
        versions.create(connection, checkfirst=True)
        actual = connection.execute(sa.select(column)).scalar()
        if actual is None:
            tables.create_all(connection)
            connection.execute(versions.insert().values(version=version))
        elif actual != version:
            raise DatabaseError(
                f"{self.shown}: the tables of {name} have version {actual}, and this program needs "
                f"version {version}. Install the release that made them, or restore a backup."
            )

    @contextmanager
    def _report_outage(self) -> Iterator[None]:
        """Raise DatabaseError if the database is unavailable; log when that begins and ends."""
        try:
            yield
        except _UNAVAILABLE as error:
            why = " ".join(f"{self.shown}: {getattr(error, 'orig', error)}".split())
            with self._lock:
                if not self._lost:
                    self._lost = time.monotonic()
                    LOG.error("database_unavailable: %s", why)
            raise DatabaseError(why) from error
        if self._lost:
            with self._lock:
                if lost := self._lost:
                    LOG.warning("the database answers again after %.0f s", time.monotonic() - lost)
                self._lost = 0.0


def create_folder(folder: Path) -> Path:
    """Create a folder for data, unless it exists. Raises ConfigError: that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        why = "it is a file" if folder.exists() else error.strerror
        raise ConfigError(f"{folder} cannot hold the server's data: {why}.") from error
    return folder


def _set_up(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # `_begin` starts transactions
    # With FULL, an accepted job survives a power failure.
    pragmas = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
    for pragma in (f"busy_timeout={int(BUSY_SECONDS * 1000)}", *pragmas):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("pincite_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# MariaDB's own TEXT and BLOB hold 64 kB, and its databases may compare without case.
_EXACT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
compiles(sa.Text, "mariadb")(lambda *_, **__: f"LONGTEXT {_EXACT}")
compiles(sa.LargeBinary, "mariadb")(lambda *_, **__: "LONGBLOB")
compiles(sa.String, "mariadb")(lambda type_, *_, **__: f"VARCHAR({type_.length}) {_EXACT}")
