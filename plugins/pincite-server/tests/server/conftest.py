"""Sites on SQLite and on PostgreSQL, and a client that speaks to the application directly."""

import os
import secrets
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, sync_playwright
from server.browser.watched import CHROMIUM, FLAGS
from server.people_of_tests import app_of
from server.postgres import Postgres, running
from server.processes import Started

from pincite.settings import Settings
from pincite_server import accounts, plugins
from pincite_server.database import Database
from pincite_server.jobs import JobStore
from pincite_server.settings import ServerSettings
from pincite_server.site import Site, open_site

ON_POSTGRESQL = pytest.mark.xdist_group("postgresql")  # one server, which one process starts
HERE = Path(__file__).parent
MARIADB = os.environ.get("TESTS_MARIADB")  # mariadb+pymysql://root@127.0.0.1: a server for tests
KINDS = ["sqlite", pytest.param("postgresql", marks=ON_POSTGRESQL), *(["mariadb"] * bool(MARIADB))]


@pytest.fixture(scope="session", autouse=True)
def _no_plugins() -> Iterator[None]:
    """What is installed beside the server adds nothing here; processes that are started have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "load_all", tuple)
        yield


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argon2id all the same, but with 1 MiB instead of 64: tests log in some hundred times."""
    cheap = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1)
    monkeypatch.setattr(accounts, "_HASHER", cheap)


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    while Started.running:
        Started.running.pop().end(signal.SIGKILL)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's, without a window. One for all: a process can have no second Playwright."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of the tests' own."""
    with running() as found:
        yield found


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """A new, empty database of it."""
    url = postgres.create()
    yield url
    postgres.drop(url)


@pytest.fixture
def mariadb_url() -> Iterator[str]:
    """A new, empty database of the server in TESTS_MARIADB."""
    engine, name = sa.create_engine(f"{MARIADB}/mysql"), f"t_{secrets.token_hex(6)}"
    with engine.begin() as db:
        db.exec_driver_sql(f"CREATE DATABASE {name} CHARACTER SET latin1")
    yield f"{MARIADB}/{name}"
    with engine.begin() as db:
        db.exec_driver_sql(f"DROP DATABASE {name}")
    engine.dispose()


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database: a test that asks for this one runs on all kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'data' / 'pincite.sqlite'}"
    names = {"postgresql": "postgres_url", "mariadb": "mariadb_url"}
    return str(request.getfixturevalue(names[request.param]))


@pytest.fixture
def database(database_url: str, migrated: Path) -> Iterator[Database]:
    """The same with its tables."""
    found = Database(database_url)
    if found.url.database and found.is_sqlite:
        shutil.copy(migrated, found.url.database)
    else:
        found.create_tables()
    yield found
    found.close()


@pytest.fixture
def store(database: Database) -> JobStore:
    return JobStore(database, queue=5)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the tables of this version, to be copied: migrating takes longer."""
    path = tmp_path_factory.mktemp("migrated") / "pincite.sqlite"
    database = Database(f"sqlite:///{path}")
    database.create_tables()
    database.close()
    assert [each.name for each in path.parent.iterdir()] == [path.name], "all is in the one file"
    return path


@pytest.fixture
def make_site(tmp_path: Path, migrated: Path) -> Iterator[Callable[..., Site]]:
    """Makes sites in folders of their own: `make_site(mode="server", …)` as in `[server]`."""
    made: list[Site] = []

    def make(settings: Settings | None = None, **given: object) -> Site:
        folder = tmp_path / f"site-{len(made)}"
        server = ServerSettings(**{"data": str(folder), **given})  # type: ignore[arg-type]
        if server.database_url == f"sqlite:///{folder / migrated.name}":
            folder.mkdir(mode=0o700)
            shutil.copy(migrated, folder)
        made.append(open_site(server, settings or Settings()))
        return made[-1]

    yield make
    for site in made:
        site.database.close()


@pytest.fixture
def settings(tiny_encoder: Path) -> Settings:
    """Of the pipelines, with a small encoder for corpora."""
    return Settings.of(encoder=str(tiny_encoder))


@pytest.fixture
def site(request: pytest.FixtureRequest, make_site: Callable[..., Site]) -> Site:
    """A server on SQLite with the settings in `SITE` of the module; else in local mode."""
    given = {**getattr(request.module, "SITE", {})}
    pipelines = request.getfixturevalue("settings") if given.pop("encoder", False) else None
    return make_site(pipelines, **given)


@pytest.fixture
def client(site: Site) -> Iterator[TestClient]:
    """Speaks to the application of `site`, whose jobs nobody runs."""
    with client_of(site) as found:
        yield found


def client_of(site: Site) -> TestClient:
    """A client of any site."""
    return TestClient(app_of(site), base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.fixture
def corpus_id(client: TestClient) -> str:
    """A new corpus, without documents."""
    return str(client.post("/api/v1/corpora", json={"name": "Bridges"}).json()["corpus_id"])
