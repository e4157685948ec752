"""The fixtures of the core's tests, and a wiki that is watched."""

# ruff: noqa: F401, F811 - pytest finds the fixtures by their names

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from edited_wiki import SOURCES, Clock, EditedWiki, Making
from server.conftest import (
    _cheap_passwords,
    _nothing_is_left_running,
    client,
    database,
    database_url,
    make_site,
    mariadb_url,
    migrated,
    postgres,
    postgres_url,
    site,
)
from support.wiki_server import serving

from conftest import _no_lists_of_the_user, _no_network
from pincite.settings import load
from pincite.verbs.verify import build
from pincite.web.fetch import WebClient, WebRules
from pincite.wiki.addresses import site_at
from pincite.wiki.api import ActionApi
from pincite_server import plugins
from pincite_server.database import Database
from pincite_watch import store, watcher
from pincite_watch.store import Watch
from pincite_watch.watcher import Plan, Watcher, wiki_name


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only this plugin, whatever else is installed."""
    from pincite_watch.plugin import PLUGIN

    monkeypatch.setattr(plugins, "load_all", lambda: (PLUGIN,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Saved copies of the sources."""
    place = tmp_path / "sources.jsonl"
    rows = [{"url": url, "title": "Page", "text": text} for url, text in SOURCES.items()]
    place.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return place


@pytest.fixture
def wiki() -> Iterator[EditedWiki]:
    with serving(EditedWiki()) as found:
        assert isinstance(found, EditedWiki)
        yield found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (store, watcher):
        monkeypatch.setattr(module, "now", lambda: found.at)
    return found


@pytest.fixture
def making(wiki: EditedWiki, database: Database, folder: Path, clock: Clock) -> Iterator[Making]:
    """Makes watchers of the wiki, as new processes would: `making(limits=…, plan=…)`."""
    port = int(wiki.url.rpartition(":")[2])
    with ExitStack() as stack:
        web = stack.enter_context(
            WebClient(WebRules(online=True, ports=(port,), pause=0), allow={"127.0.0.1"})
        )
        run = stack.enter_context(build.verifying(load({}), None, [folder], keep=False))
        api = ActionApi(site_at(wiki.url), web)
        plan = Plan(settle_seconds=0)
        Watch(database).set_note(wiki_name(api.site), "changes", "2026-01-01T00:00:00Z")
        yield lambda **given: Watcher(Watch(database), api, **{"plan": plan, "run": run, **given})
