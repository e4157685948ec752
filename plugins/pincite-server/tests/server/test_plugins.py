"""A plugin adds pages, files, translations, permissions and tables."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from fastapi import Depends
from fastapi.responses import HTMLResponse
from fastapi.testclient import TestClient
from server.people_of_tests import PASSWORD, SERVER, MakeSite, somebody
from starlette.requests import Request

from pincite_server import plugins, rendering
from pincite_server.app import create_app
from pincite_server.database import Database, DatabaseError
from pincite_server.identity import Role, needs
from pincite_server.languages import translations
from pincite_server.plugins import Plugin
from pincite_server.routing import Router

COLOUR = "paint"  # a permission
router = Router(prefix="/paints", dependencies=[Depends(needs(COLOUR))])
metadata = sa.MetaData()
paints = sa.Table(
    "paints",
    metadata,
    sa.Column("owner", sa.String(22), nullable=False),
    sa.Column("colour", sa.Text, nullable=False),
    sa.Column("recipe", sa.Text, nullable=False),
)


@router.get("")
def paints_page(request: Request) -> HTMLResponse:
    return rendering.page(request, "paints.html", None)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugin]:
    folder = tmp_path / "plugin"
    for name in ("templates", "static", "locale/de/LC_MESSAGES"):
        (folder / name).mkdir(parents=True)
    said = '{{ _("A pot") }} {{ static("p.js") }}'
    text = f'{{% extends "base.html" %}}{{% block main %}}{said}{{% endblock %}}'
    (folder / "templates/paints.html").write_text(text)
    (folder / "static/p.js").write_text("paint()")
    catalog = Catalog()
    catalog.add("A pot", "Ein Topf")
    catalog.add("Paints", "Farben")
    with (folder / "locale/de/LC_MESSAGES/pincite.mo").open("wb") as out:
        write_mo(out, catalog)
    made = Plugin(
        name="paint",
        routers=(router,),
        navigation=(("/paints", "Paints"),),
        folder=folder,
        permissions={COLOUR: [Role.EDITOR]},
        tables=metadata,
        owners=(paints.c.owner,),
    )
    files = (rendering.static_files, rendering.static_address)
    cached = (translations, rendering._environment, *files)
    for each in cached:
        each.cache_clear()
    monkeypatch.setattr(plugins, "load_all", lambda: (made,))
    yield made
    for each in cached:
        each.cache_clear()


def test_pages_files_and_translations(plugin: Plugin, make_site: MakeSite) -> None:
    site = make_site()
    with TestClient(create_app(site), base_url="http://127.0.0.1") as client:
        assert 'href="/paints"' in client.get("/help").text
        page = client.get("/paints", headers={"Accept-Language": "de"}).text
        assert "Ein Topf" in page
        assert "Farben" in page
        address = rendering.static_address("p.js")
        assert address in page
        assert client.get(address).text == "paint()"


def test_roles_with_the_permission(plugin: Plugin, make_site: MakeSite) -> None:
    site = make_site(**SERVER)
    app = create_app(site)
    for role in Role:
        client = somebody(site, role, app=app).client
        may = role in (Role.EDITOR, Role.ADMIN)
        assert client.get("/paints").status_code == (200 if may else 403)
        assert (COLOUR in client.get("/api/v1/me").json()["may"]) is may


def test_rows_of_an_account_are_deleted_with_it(plugin: Plugin, make_site: MakeSite) -> None:
    site = make_site(**SERVER)
    who = somebody(site, Role.EDITOR)
    with site.database.writing() as connection:
        for owner in (who.account.account_id, "another"):
            row = {"owner": owner, "colour": "green", "recipe": "copper"}
            connection.execute(paints.insert().values(row))
    done = who.client.post("/account/delete", data={"password": PASSWORD})
    assert done.status_code == 303
    with site.database.reading() as connection:
        left = connection.execute(sa.select(paints.c.owner)).scalars().all()
    assert left == ["another"]


def test_tables_are_made_once_and_another_version_is_left_alone(
    plugin: Plugin, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.create_tables()
    with database.writing() as connection:
        connection.execute(paints.insert().values(owner="a", colour="red", recipe=""))
    database.create_tables()
    with database.reading() as connection:
        assert connection.execute(sa.select(paints.c.colour)).scalars().all() == ["red"]
    newer = Plugin(name="paint", tables=metadata, version=2)
    monkeypatch.setattr(plugins, "load_all", lambda: (newer,))
    with pytest.raises(DatabaseError, match="paint"):
        database.create_tables()
