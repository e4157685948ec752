"""Tables are created once, and another version is left alone."""

import pytest
import sqlalchemy as sa

from pincite.errors import ConfigError
from pincite_server.database import VERSION, Database, DatabaseError
from pincite_server.jobs import JobStore
from pincite_server.tables import metadata


def test_every_table_of_the_program_is_created_once(database_url: str) -> None:
    database = Database(database_url)
    assert database.version() is None
    database.create_tables()
    job = JobStore(database).submit("local", "verify", "t", {})
    database.create_tables()
    assert database.version() == VERSION
    assert JobStore(database).get(job.job_id) == job
    with database.reading() as connection:
        there = set(sa.inspect(connection).get_table_names())
    assert there == set(metadata.tables) | {"pincite_version"}
    database.close()


def test_a_database_of_another_version_is_left_alone(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE pincite_version SET version = 9999"))
    with pytest.raises(DatabaseError):
        database.create_tables()


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
