"""What the plugin adds to the server: routes, permissions, tables, translations."""

# ruff: noqa: F401 - pytest finds the fixtures by their names

import re
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from server import test_routes
from server.people_of_tests import PASSWORD, SERVER, somebody
from server.test_routes import (
    Entry,
    portal,
    test_every_route_enforces_its_declared_permission,
    test_objects_of_others_look_missing,
)
from study_samples import study

from pincite_server import plugins
from pincite_server.database import Database, DatabaseError
from pincite_server.identity import Role, permissions_of
from pincite_server.site import Site
from pincite_study.plugin import PLUGIN
from pincite_study.routes.rating import RATE, STUDY
from pincite_study.studies import StudyStore
from pincite_study.tables import metadata


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site(**SERVER, requests_a_minute=0)


@pytest.fixture
def ids(site: Site, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A study of another account; only the routes of studies are tried."""
    everything = test_routes.table

    def ours(app: object) -> Iterator[Entry]:
        yield from (each for each in everything(app) if re.search("/studies|/rate/", each.path))

    monkeypatch.setattr(test_routes, "table", ours)
    owner = site.people.accounts.add("the owner", Role.EDITOR).account_id
    made = study(StudyStore(site.database), owner=owner)
    return {"study_id": made.study_id}


def test_the_server_finds_the_plugin() -> None:
    assert PLUGIN in plugins.load_all()


def test_who_may_rate_and_who_may_make_studies() -> None:
    assert all(RATE in permissions_of(role) for role in Role)
    assert {role for role in Role if STUDY in permissions_of(role)} == {Role.EDITOR, Role.ADMIN}


def test_studies_are_deleted_with_their_account(site: Site) -> None:
    who = somebody(site, Role.EDITOR)
    store = StudyStore(site.database)
    made = study(store, owner=who.account.account_id)
    other = study(store, owner="another")
    done = who.client.post("/account/delete", data={"password": PASSWORD})
    assert done.status_code == 303
    assert store.get(made.study_id) is None
    assert store.get(other.study_id)
