"""One database, SQLite or PostgreSQL: connections, transactions, migrations, copies.

SQLite is run as a server's database wants it: a write-ahead log, so that reading never waits for
writing, and writers that queue instead of failing. A transaction that will write says so from its
beginning: one that finds out half-way could only be refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from pincite.errors import ConfigError, PinciteError
from pincite.server import plugins

MIGRATIONS = Path(__file__).parent / "migrations"
BUSY_SECONDS = 30.0  # a writer waits for the one before
CONNECT_SECONDS = 10  # to a database server that does not answer
# Out of reach, full, locked for too long, gone in the middle: another time it may do. What is wrong
# with a statement or with its data is a fault of ours, and looks like one.
_OF_REACH = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)


class Lock(Enum):
    """What only one transaction may do at a time; the numbers mean nothing."""

    MIGRATION = 7_010_203
    QUEUE = 7_010_204


class DatabaseError(PinciteError):
    """The database cannot be reached, is of another version, or refuses."""

    exit_code = 7


class Database:
    """Where a server keeps its state. Safe to use from several threads; one for each process."""

    def __init__(self, url: str) -> None:
        """Opens nothing but an SQLite file's folder, which is made.

        Raises:
            ConfigError: `url` names no database that is known here.
        """
        try:
            self.url = sa.make_url(url)
        except sa.exc.ArgumentError as error:
            raise ConfigError(f"server.database is no address of a database: {error}.") from error
        kind = self.url.get_backend_name()
        if kind not in ("sqlite", "postgresql"):
            raise ConfigError(f"server.database is of {kind!r}; expected sqlite or postgresql.")
        self.is_sqlite = kind == "sqlite"
        if self.is_sqlite and self.url.database:
            path = Path(self.url.database)
            made_folder(path.parent)
        self._engine = self._made()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state and changes nothing."""
        with _told(self), self._engine.connect() as plain:
            connection = plain
            if not self.is_sqlite:  # there each statement would see a state of its own
                connection = plain.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed at its end, or not at all."""
        with _told(self), self._engine.connect() as plain:
            connection = plain.execution_options(pincite_writes=True)
            with connection.begin():
                yield connection

    def one_at_a_time(self, connection: sa.Connection, what: Lock) -> None:
        """Wait until no other transaction that asked for the same is under way.

        For what depends on rows that are not there yet, which nothing else could lock.
        """
        if not self.is_sqlite:  # which has one writer at a time anyway
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(what.value)))

    def migrate(self, revision: str = "head") -> None:
        """Bring the tables to this version; data is kept.

        Raises:
            DatabaseError: it is newer than this program, or cannot be reached.
        """
        engine = self._made(migrating=True)
        try:
            with _told(self), engine.connect() as plain:
                connection = plain.execution_options(pincite_writes=True)
                with connection.begin():
                    self.one_at_a_time(connection, Lock.MIGRATION)  # several may start at once
                    self._known(connection)
                    command.upgrade(self._config(connection), revision)
                    self._whole(connection)
                    for plugin in plugins.loaded():
                        self._make_tables_of(plugin, connection)
        finally:
            engine.dispose()

    def revision(self) -> str | None:
        """Of the tables as they are; None: there are none.

        Raises:
            DatabaseError: it is newer than this program, or cannot be reached.
        """
        with self.reading() as connection:
            return self._known(connection)

    @property
    def newest(self) -> str:
        """The revision that this program's tables have."""
        return self._scripts().get_current_head() or ""

    def faults(self) -> list[str]:
        """What is damaged, as far as the database itself can tell; empty: nothing."""
        if not self.is_sqlite:
            return []  # its server checks pages as it reads them
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars()
            faults = [str(line) for line in found if line != "ok"]
            orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        return faults + [f"{row[0]}: a row belongs to nothing in {row[2]}" for row in orphans[:20]]

    @property
    def shown(self) -> str:
        """Its address without a password, for messages."""
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _made(self, *, migrating: bool = False) -> sa.Engine:
        if not self.is_sqlite:
            arguments = {"connect_timeout": CONNECT_SECONDS}
            return sa.create_engine(
                self.url, pool_pre_ping=True, pool_size=10, connect_args=arguments
            )
        engine = sa.create_engine(self.url)
        # Where a table changes its columns it is made anew and the old one dropped, which would
        # take all that belongs to its rows with it.
        sa.event.listen(engine, "connect", _set_up_to_migrate if migrating else _set_up)
        sa.event.listen(engine, "begin", _begin)
        return engine

    def _known(self, connection: sa.Connection) -> str | None:
        known = {script.revision for script in self._scripts().walk_revisions()}
        found = MigrationContext.configure(connection).get_current_revision()
        if found and found not in known:
            raise DatabaseError(
                f"{self.shown} was made by a newer Pincite ({found}). Update this one."
            )
        return found

    def _whole(self, connection: sa.Connection) -> None:
        if not self.is_sqlite:
            return
        if connection.exec_driver_sql("PRAGMA foreign_key_check").first():
            raise DatabaseError(
                f"{self.shown}: rows would belong to nothing after the update. Nothing was "
                "changed; `pincite server check` says more."
            )

    def _make_tables_of(self, plugin: plugins.Plugin, connection: sa.Connection) -> None:
        if plugin.tables is None:
            return
        name, column = f"{plugin.name}_version", sa.Column("version", sa.Integer, nullable=False)
        versions = sa.Table(name, sa.MetaData(), column)
        versions.create(connection, checkfirst=True)
        found = connection.execute(sa.select(column)).scalar()
        if found is None:
            plugin.tables.create_all(connection)
            connection.execute(versions.insert().values(version=plugin.version))
        elif found != plugin.version:
            raise DatabaseError(
                f"{self.shown}: the tables of {plugin.name} have version {found}; the plugin that "
                f"is installed has {plugin.version}. Install the version that made them."
            )

    def _scripts(self) -> ScriptDirectory:
        return ScriptDirectory.from_config(self._config(None))

    def _config(self, connection: sa.Connection | None) -> Config:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        return config


def made_folder(folder: Path) -> Path:
    """The data folder, or one in it, which is made if it is not there.

    Raises:
        ConfigError: it is a file, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        why = "it is a file" if folder.exists() else error.strerror
        raise ConfigError(f"{folder} cannot be a folder for the server's data: {why}.") from error
    return folder


@contextmanager
def _told(database: Database) -> Iterator[None]:
    """Makes the library's errors of reach ours."""
    try:
        yield
    except _OF_REACH as error:
        raise DatabaseError(f"{database.shown}: {getattr(error, 'orig', error)}") from error


def _set_up(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin` says
    for pragma in (
        f"busy_timeout={int(BUSY_SECONDS * 1000)}",
        "journal_mode=WAL",
        "synchronous=FULL",  # what was answered as accepted survives a power cut
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _set_up_to_migrate(connection: Any, record: Any) -> None:
    _set_up(connection, record)
    connection.execute("PRAGMA foreign_keys=OFF")


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("pincite_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
