"""One database, SQLite or PostgreSQL: connections, transactions, migrations, copies.

SQLite is run as a server's database wants it: a write-ahead log, so that reading never waits for
writing, and writers that queue instead of failing. A transaction that will write says so from its
beginning: one that finds out half-way could only be refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from pincite.errors import ConfigError, PinciteError

MIGRATIONS = Path(__file__).parent / "migrations"
BUSY_SECONDS = 30.0  # a writer waits for the one before


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
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        pool: dict[str, Any] = {} if self.is_sqlite else {"pool_pre_ping": True, "pool_size": 10}
        self._engine = sa.create_engine(self.url, **pool)
        if self.is_sqlite:
            sa.event.listen(self._engine, "connect", _set_up)
            sa.event.listen(self._engine, "begin", _begin)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state and changes nothing."""
        with _told(self), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed at its end, or not at all."""
        with _told(self), self._engine.connect() as plain:
            connection = plain.execution_options(pincite_writes=True)
            with connection.begin():
                yield connection

    def migrate(self) -> None:
        """Bring the tables to this version; data is kept.

        Raises:
            DatabaseError: it is newer than this program, or cannot be reached.
        """
        with self.writing() as connection:
            if not self.is_sqlite:  # several processes may start at once
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7010203)"))
            known = {script.revision for script in self._scripts().walk_revisions()}
            found = MigrationContext.configure(connection).get_current_revision()
            if found and found not in known:
                raise DatabaseError(
                    f"{self.shown} was made by a newer Pincite ({found}). Update this one."
                )
            command.upgrade(self._config(connection), "head")

    @property
    def shown(self) -> str:
        """Its address without a password, for messages."""
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _scripts(self) -> ScriptDirectory:
        return ScriptDirectory.from_config(self._config(None))

    def _config(self, connection: sa.Connection | None) -> Config:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        return config


@contextmanager
def _told(database: Database) -> Iterator[None]:
    """Makes the library's errors of reach ours."""
    try:
        yield
    except sa.exc.OperationalError as error:
        raise DatabaseError(f"{database.shown}: {error.orig}") from error


def _set_up(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin` says
    for pragma in (
        f"busy_timeout={int(BUSY_SECONDS * 1000)}",
        "journal_mode=WAL",
        "synchronous=FULL",  # what was answered as accepted survives a power cut
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("pincite_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
