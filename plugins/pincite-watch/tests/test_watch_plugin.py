"""What the plugin adds to the server: routes with permissions, tables, translations."""

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points

import pytest
from server import test_routes
from server.people_of_tests import SERVER
from server.test_routes import Entry, portal, test_every_route_enforces_its_declared_permission
from test_watch_routes import add

from pincite_server import plugins
from pincite_server.site import Site
from pincite_watch.plugin import PLUGIN
from pincite_watch.store import Watch

__all__ = ["portal", "test_every_route_enforces_its_declared_permission"]


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site(**SERVER, requests_a_minute=0)


@pytest.fixture
def ids(site: Site, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A finding; of the other routes, only those without an object are tried."""
    everything = test_routes.table

    def ours(app: object) -> Iterator[Entry]:
        yield from (x for x in everything(app) if "/findings" in x.path or "{" not in x.path)

    monkeypatch.setattr(test_routes, "table", ours)
    return {"finding_id": add(Watch(site.database))[0]}


def test_the_server_finds_the_plugin() -> None:
    assert PLUGIN in [each.load() for each in entry_points(group=plugins.GROUP)]
