"""The tables of a corpus in a PostgreSQL, and transactions on them.

A corpus is a schema. Its table `generations` has a row for each build, and the tables of a build
have the build's id in their names. A rebuild fills new tables beside the old ones; one transaction
then makes them the current ones. Each reading is one snapshot; writers take turns, transaction by
transaction. A transaction whose connection was lost is done again: what is in it can be.
"""

import json
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from pincite.errors import ConfigError, CorpusError, MissingExtra, StaleCorpus, install_command

PORT = 5_432
# Seconds until we give up on a server that was there before; one that restarts is back in less.
PATIENCE, CONNECTING, PAUSE = 60.0, 10, 0.2
TABLES = ("documents", "passages", "words")
BUILDING, CURRENT, OLD = "building", "current", "old"  # states of a build
INDEX_MEMORY = 1 << 30  # bytes to build the vector index in, unless the server allows more
# pgvector's own defaults.
LINKS, CANDIDATES = 16, 64
# A network that drops packets silently must not hold a command for hours.
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# The server stops work for a client that was killed. To compile short queries takes longer than
# to run them.
_SESSION = b"SET client_connection_check_interval = '2s'; SET jit = off"
_TLS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "channel_binding")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_VERSION = (0, 8)  # pgvector's first that searches on when a filter leaves too few
_T = TypeVar("_T")


class Place(NamedTuple):
    """An address, taken apart."""

    connection: Mapping[str, Any]
    name: str  # of the schema
    address: str


def _rules(manifest: Mapping[str, str]) -> dict[str, str]:
    """What of a manifest must be the same to go on with another build."""
    return {k: v for k, v in manifest.items() if k not in ("identity", "created", "versions")}


def place_of(address: str) -> Place:
    """What an address says.

    Raises:
        ConfigError: it has another form.

    >>> place_of("postgresql://me@db.example/wiki/wafer").connection["dbname"]
    'wiki'
    """
    shown, _, query = address.partition("?")
    try:
        parts, asked = urlsplit(shown), dict(parse_qsl(query, strict_parsing=bool(query)))
        port = parts.port or PORT
    except ValueError as error:
        raise ConfigError(f"{shown}: {error}. {_EXPECTED}") from None
    database, _, name = parts.path.strip("/").partition("/")
    if not parts.hostname or not database or not _NAME.fullmatch(name):
        raise ConfigError(f"{shown} is not the address of a corpus in PostgreSQL. {_EXPECTED}")
    if unknown := asked.keys() - set(_TLS):
        raise ConfigError(
            f"{shown}: {min(unknown)!r} after the ? is unknown; expected {', '.join(_TLS)}"
        )
    where = {"host": unquote(parts.hostname), "port": port, "dbname": unquote(database)}
    user = {"user": unquote(parts.username)} if parts.username else {}
    return Place({**where, **user, **asked}, name, address)


_EXPECTED = (
    "Expected postgresql://USER@HOST:5432/DATABASE/NAME?sslmode=verify-full, where only USER, the "
    "port and what follows the ? may be missing; NAME contains only letters, digits and _."
)


class Database:
    """The tables of one corpus, whose build `find` or `make` names. Thread-safe."""

    def __init__(self, address: str) -> None:
        """Connects only when asked something; raises ConfigError and MissingExtra."""
        self.place = place_of(address)
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtra(
                f"{address} is a corpus in PostgreSQL, which needs psycopg, which is not "
                f"installed. Install with: {install_command('postgres')}"
            ) from error
        self._library: Any = psycopg
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        self._local = threading.local()  # the connection of a thread's transaction
        self._was_there = False
        self._is_building = False
        self.manifest: Mapping[str, str] = {}
        self._names = {"build": "", "generations": self._table("generations")}

    def close(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()

    def _table(self, name: str) -> str:
        return f'"{self.place.name}"."{name}"'

    @property
    def build(self) -> str:
        return self._tables["build"]

    @property
    def _tables(self) -> Mapping[str, str]:
        """The names of tables in this transaction, which another thread's cannot change."""
        return getattr(self._local, "names", None) or self._names

    def _use(self, build: str, manifest: Mapping[str, str]) -> None:
        tables = {table: self._table(f"{table}_{build}") for table in TABLES}
        self._names = {**self._names, "build": build, **tables}
        self.manifest = manifest
        if getattr(self._local, "connection", None):
            self._local.names = self._names

    # ── Builds ───────────────────────────────────────────────────────────────────────────────────

    def exists(self) -> bool:
        """Whether there is a corpus, or anything else, under the name."""
        return bool(self.rows("SELECT 1 FROM pg_namespace WHERE nspname = %s", self.place.name))

    def find(self) -> dict[str, str]:
        """Use the build that is current now; returns what it was made with.

        Raises:
            CorpusError: there is none, or it is none of ours.
        """
        if not self.exists():
            raise CorpusError(
                f"{self.place.address} does not exist: the database has no schema "
                f"{self.place.name!r}. Create it: pincite corpus add {self.place.address} PATH…"
            )
        [[is_ours]] = self.rows("SELECT to_regclass(%s) IS NOT NULL", self._names["generations"])
        if not (is_ours and self._follow()):
            raise CorpusError(
                f"{self.place.address}: the schema {self.place.name!r} was not made by Pincite. "
                "Choose another name."
            )
        return dict(self.manifest)

    def _follow(self) -> bool:
        """Use the build that is current now, unless it is made otherwise; whether there is one."""
        found = self.rows("SELECT id, manifest FROM {generations} WHERE state = %s", CURRENT)
        for build, text in found:
            manifest = {str(key): str(value) for key, value in json.loads(text).items()}
            if not self.manifest or _rules(manifest) == _rules(self.manifest):
                self._use(build, manifest)
        return bool(found)

    def create(self, manifest: Mapping[str, str]) -> None:
        """A new corpus with one empty build, all at once.

        Raises:
            CorpusError: something has the name.
        """

        def made() -> None:
            if self.exists():
                raise CorpusError(f"{self.place.address} already exists. Choose another name.")
            self.run(f'CREATE SCHEMA "{self.place.name}"')
            self.run(
                "CREATE TABLE {generations} (id text PRIMARY KEY, manifest text NOT NULL,"
                " state text NOT NULL, n_documents bigint NOT NULL DEFAULT 0,"
                " n_passages bigint NOT NULL DEFAULT 0, digest numeric NOT NULL DEFAULT 0,"
                " sequence bigint NOT NULL DEFAULT 0)"
            )
            self.make(manifest, CURRENT)

        self.writing(made, "the corpus could not be created")

    def make(self, manifest: Mapping[str, str], state: str = BUILDING) -> None:
        """Make and use the tables of a new build."""
        self._use(manifest["identity"][:8], manifest)
        self._is_building = state == BUILDING
        dim = int(manifest["dim"])
        if dim:
            self._check_pgvector()
        self.run(
            "INSERT INTO {generations} (id, manifest, state) VALUES (%s, %s, %s)",
            *(self.build, json.dumps(dict(manifest)), state),
        )
        self.run(
            "CREATE TABLE {documents} (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
            ' key text COLLATE "C" NOT NULL UNIQUE, version text NOT NULL, doc_id text NOT NULL,'
            " facts text NOT NULL, n_passages int NOT NULL, text bytea NOT NULL,"
            " facets bigint[] NOT NULL, first_day int NOT NULL, last_day int NOT NULL,"
            ' numbers jsonb NOT NULL, title text COLLATE "C" NOT NULL, url text NOT NULL,'
            " kind text NOT NULL, published text, language text)"
        )
        self.run("CREATE INDEX ON {documents} USING gin (facets)")
        self.run("CREATE INDEX ON {documents} (doc_id)")
        vector = f", vector vector({dim})" if dim else ""
        self.run(
            "CREATE TABLE {passages} (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
            " document bigint NOT NULL REFERENCES {documents} ON DELETE CASCADE,"
            " first int NOT NULL, last int NOT NULL, first_byte int NOT NULL, n_bytes int NOT NULL,"
            # Vectors beside their rows: comparing them one by one is ten times as fast.
            f" words tsvector NOT NULL{vector}) WITH (toast_tuple_target = 8160)"
        )
        self.run("CREATE INDEX ON {passages} (document)")
        self.run("CREATE INDEX ON {passages} USING gin (words) WITH (fastupdate = off)")
        self.run('CREATE TABLE {words} (word text COLLATE "C" PRIMARY KEY, n bigint NOT NULL)')

    def _check_pgvector(self) -> None:
        asked = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
        found = self.rows(asked)
        version = tuple(map(int, found[0][0].split(".")[:2])) if found else ()
        if version < _VERSION:
            there = f"is version {found[0][0]}" if found else "is not installed on the server"
            raise CorpusError(
                f"{self.place.address}: pgvector {there}, and {'.'.join(map(str, _VERSION))} or "
                "newer is needed for searches by meaning. Debian has it as postgresql-N-pgvector."
            )
        self.run("CREATE EXTENSION IF NOT EXISTS vector")

    def publish(self) -> None:
        """From now on this is the current build."""
        self.run("UPDATE {generations} SET state = %s WHERE state = %s", OLD, CURRENT)
        self.run("UPDATE {generations} SET state = %s WHERE id = %s", CURRENT, self.build)

    def others(self) -> list[str]:
        """Builds that are not current: what rebuilds left."""
        found = self.rows("SELECT id FROM {generations} WHERE state <> %s ORDER BY id", CURRENT)
        return [str(build) for (build,) in found]

    def drop(self, builds: Sequence[str]) -> None:
        for build in builds:
            names = [self._table(f"{table}_{build}") for table in reversed(TABLES)]
            self.run(f"DROP TABLE IF EXISTS {', '.join(names)}")
            self.run("DELETE FROM {generations} WHERE id = %s AND state <> %s", build, CURRENT)

    def has_index(self) -> bool:
        """Whether there is a graph over the vectors."""
        asked = (
            "SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = %s::regclass AND amname = 'hnsw'"
        )
        return bool(self.rows(asked, self._names["passages"]))

    def make_index(self, dim: int) -> None:
        """A graph over the vectors, at half their precision: results are scored by the whole."""
        self.run(
            "SELECT set_config('maintenance_work_mem', greatest(%s,"
            " pg_size_bytes(current_setting('maintenance_work_mem')) / 1024) || 'kB', true)",
            INDEX_MEMORY // 1024,
        )
        self.run(
            f"CREATE INDEX ON {{passages}} USING hnsw ((vector::halfvec({dim})) halfvec_ip_ops)"
            f" WITH (m = {LINKS}, ef_construction = {CANDIDATES})"
        )

    # ── Transactions ─────────────────────────────────────────────────────────────────────────────

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """The rows that a query gives; outside a transaction, in one of its own."""
        return self.reading(lambda: self._execute(sql, values).fetchall())

    def run(self, sql: str, *values: Any) -> None:
        """A statement of the thread's transaction."""
        self._execute(sql, values)

    def copy(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add rows to a table in the thread's transaction."""
        sql = f"COPY {self._tables[table]} ({', '.join(columns)}) FROM STDIN"
        with self._local.connection.cursor().copy(sql.encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def _execute(self, sql: str, values: Sequence[Any]) -> Any:
        cursor = self._local.connection.cursor(binary=True)
        return cursor.execute(sql.format(**self._tables).encode(), values or None)

    def reading(self, work: Callable[[], _T]) -> _T:
        """Everything that `work` asks is answered from one snapshot."""
        if getattr(self._local, "connection", None):  # it is part of a transaction
            return work()

        def following() -> _T:
            if self.build and not self._is_building:  # another process may have rebuilt it
                self._follow()
            return work()

        return self._transaction(following, "it could not be read", writes=False)

    def writing(
        self,
        work: Callable[[], _T],
        what: str = "the corpus could not be changed; run the same command again to continue",
    ) -> _T:
        """All that `work` does, or nothing; one writer of the corpus at a time."""
        if getattr(self._local, "connection", None):
            return work()

        def alone() -> _T:
            self.run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", self.place.name)
            return work()

        return self._transaction(alone, what, writes=True)

    def vacuum(self) -> None:
        """Give back the room of what was deleted, and count what planning needs."""
        connection = self._connected()
        try:
            for table in TABLES:
                connection.execute(f"VACUUM (ANALYZE) {self._names[table]}".encode())
        except self._library.Error as error:
            raise self._error("it could not be compacted", error) from error
        finally:
            connection.close()

    def _transaction(self, work: Callable[[], _T], what: str, *, writes: bool) -> _T:
        until = time.monotonic() + PATIENCE
        while True:
            connection = None
            try:
                connection = self._connected()
                connection.read_only, connection.isolation_level = not writes, self._level(writes)
                with connection.transaction():
                    self._local.connection, self._local.names = connection, self._names
                    result = work()
                self._idle.put(connection)
                return result
            except BaseException as error:
                is_lost = connection is None or connection.closed
                if connection is not None:
                    connection.close()
                if not isinstance(error, self._library.Error):
                    raise
                if not (is_lost and self._was_there) or time.monotonic() > until:
                    raise self._error(what, error) from error
            finally:
                self._local.connection = self._local.names = None
            self.close()  # the other connections are lost too
            time.sleep(PAUSE)

    def _level(self, writes: bool) -> Any:
        # A writer sees what was committed while it waited for its turn; a reader sees one state.
        levels = self._library.IsolationLevel
        return levels.READ_COMMITTED if writes else levels.REPEATABLE_READ

    def _connected(self) -> Any:
        try:
            connection = self._idle.get_nowait()
            if not connection.closed:
                return connection
        except queue.Empty:
            pass
        connection = self._library.connect(
            **self.place.connection,
            **_ALIVE,
            connect_timeout=CONNECTING,
            application_name="pincite",
            autocommit=True,
            prepare_threshold=None,  # poolers between us and the server may not know statements
        )
        connection.execute(_SESSION)
        self._was_there = True
        return connection

    def _error(self, what: str, error: Exception) -> CorpusError:
        """What went wrong, without the password, and what to do."""
        if isinstance(error, self._library.errors.UndefinedTable):
            return StaleCorpus(
                f"{self.place.address} was rebuilt or removed meanwhile. Run the same command again"
            )
        detail, secret = " ".join(str(error).split())[:300], os.environ.get("PGPASSWORD", "")
        server = f"{self.place.connection['host']}:{self.place.connection['port']}"
        return CorpusError(
            f"{self.place.address}: {what} ({detail.replace(secret, '…') if secret else detail}). "
            f"Is PostgreSQL running at {server}, and does PGPASSFILE (~/.pgpass) or PGPASSWORD "
            "have the password if it needs one?"
        )
