"""The migrations make the tables that the program has, from every state, and keep what is there."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from pincite.errors import ConfigError
from pincite.server.database import MIGRATIONS, Database, DatabaseError
from pincite.server.jobs.store import JobStore, Status
from pincite.server.tables import metadata

REVISIONS = [path.name[:4] for path in sorted((MIGRATIONS / "versions").glob("0*.py"))]


def test_the_migrations_make_the_tables_that_the_program_has(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []


def test_every_table_of_the_program_is_made(database: Database) -> None:
    with database.reading() as connection:
        there = set(sa.inspect(connection).get_table_names())
    assert there == set(metadata.tables) | {"alembic_version"}


@pytest.mark.parametrize("revision", REVISIONS)
def test_from_every_state_what_is_there_is_kept(database_url: str, revision: str) -> None:
    database = Database(database_url)
    database.migrate(revision)
    assert database.revision() == revision
    fill(database)
    database.migrate()
    assert database.revision() == database.newest
    store = JobStore(database)
    job = store.get("j" * 22)
    assert job
    assert job.status is Status.DONE
    assert job.request == {"example": "article"}
    assert [event.kind for event in store.events(job.job_id)] == ["queued"]
    assert database.faults() == []
    database.migrate()  # once more changes nothing
    database.close()


def fill(database: Database) -> None:
    """A job and an event as every released state could hold them."""
    job: dict[str, Any] = {"job_id": "j" * 22, "owner": "local", "kind": "verify", "title": "t"}
    job |= {"status": "done", "created": 1.0, "attempts": 1, "cancelled": False, "n_events": 1}
    job |= {"request": '{"example": "article"}', "request_hash": "0" * 64}
    event = {"job_id": "j" * 22, "number": 1, "kind": "queued", "data": "{}", "at": 1.0}
    with database.writing() as connection:
        for table, row in (("jobs", job), ("job_events", event)):
            names, places = ", ".join(row), ", ".join(f":{name}" for name in row)
            connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({places})"), row)


def test_a_table_that_is_made_anew_keeps_what_belongs_to_its_rows(tmp_path: Path) -> None:
    """SQLite removes what belongs to a table that is dropped; a migration must not."""
    path = tmp_path / "p.sqlite"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    fill(database)
    engine = database._made(migrating=True)
    with engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("CREATE TABLE new AS SELECT * FROM jobs")
        connection.exec_driver_sql("DROP TABLE jobs")
        connection.exec_driver_sql("ALTER TABLE new RENAME TO jobs")
    engine.dispose()
    with sqlite3.connect(path) as plain:
        assert plain.execute("SELECT count(*) FROM job_events").fetchone() == (1,)
    database.close()


def test_a_database_of_a_newer_version_is_left_alone(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    for act in (database.migrate, database.revision):
        with pytest.raises(DatabaseError, match=r"newer Pincite \(9999\)"):
            act()


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense"])
def test_a_database_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.database"):
        Database(url)


def test_a_message_names_the_database_without_its_password() -> None:
    database = Database("postgresql+psycopg://me:secret@127.0.0.1:1/none")
    with pytest.raises(DatabaseError) as error, database.reading():
        pass
    assert "me:***@127.0.0.1:1/none" in str(error.value)
    assert "secret" not in str(error.value)


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    with sqlite3.connect(path) as plain:  # which does not check foreign keys
        plain.execute("INSERT INTO job_events VALUES ('nobody', 1, 'x', '{}', 0)")
    assert database.faults() == ["job_events: a row belongs to nothing in jobs"]
    database.close()
