"""Pages of accounts and administration, as forms without JavaScript; and the command line."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from server.people_of_tests import PASSWORD, SERVER, MakeSite, browser, somebody

from pincite.cli import cli
from pincite_server.identity import Role
from pincite_server.site import Site

HOSTILE = "<img src=x onerror=alert(1)>"
PAGE = {"Accept": "text/html"}
SITE = SERVER


def token_of(client: TestClient, page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', client.get(page).text)
    assert found, page
    return found[1]


def posted(client: TestClient, page: str, to: str, **fields: object) -> int:
    """A form of a page, sent with the token that stands in it."""
    client.headers.pop("X-CSRF-Token", None)
    data = {"csrf": token_of(client, page), **fields}
    return client.post(to, data=data, headers=PAGE).status_code


def test_login_redirects_back(site: Site) -> None:
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    client = browser(site)
    sent = client.get("/history?kind=check", headers=PAGE)
    assert (sent.status_code, sent.headers["location"]) == (
        303,
        "/login?next=%2Fhistory%3Fkind%3Dcheck",
    )
    shown = client.get(sent.headers["location"])
    assert 'value="/history?kind=check"' in shown.text
    wrong = {"name": "Ada", "password": "wrong password", "next": "/history"}
    again = client.post("/login", data=wrong, headers=PAGE)
    assert again.status_code == 401
    assert 'role="alert"' in again.text
    assert 'value="Ada"' in again.text
    assert "wrong password" not in again.text
    right = client.post("/login", data=wrong | {"password": PASSWORD})
    assert (right.status_code, right.headers["location"]) == (303, "/history")
    assert client.get("/login").headers["location"] == "/"
    assert client.get("/api/v1/jobs").status_code == 200


@pytest.mark.parametrize(
    "then", ["//evil.example", "https://evil.example", "/\\evil", "javascript:x"]
)
def test_login_does_not_redirect_to_other_sites(site: Site, then: str) -> None:
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    body = {"name": "Ada", "password": PASSWORD, "next": then}
    assert browser(site).post("/login", data=body).headers["location"] == "/"


LINK = re.compile(r"https://pincite\.example\.org(/password/([\w-]{43}))")


def test_an_invited_user_sets_a_password_and_is_logged_in(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "pincite")
    admin = somebody(site, Role.ADMIN).client
    token = token_of(admin, "/admin/accounts")
    made = admin.post("/admin/accounts", data={"csrf": token, "name": HOSTILE, "password": ""})
    assert made.status_code == 200
    assert HOSTILE not in made.text
    found = LINK.search(made.text)
    assert found
    assert found[2] not in admin.get("/admin/accounts").text
    invited = browser(site)
    for _ in range(2):  # opening it uses nothing up
        shown = invited.get(found[1], headers=PAGE)
        assert shown.status_code == 200
        assert HOSTILE not in shown.text
    short = invited.post("/password", data={"token": found[2], "new": "short"}, headers=PAGE)
    assert (short.status_code, 'role="alert"' in short.text) == (422, True)
    done = invited.post("/password", data={"token": found[2], "new": PASSWORD})
    assert (done.status_code, done.headers["location"]) == (303, "/")
    me = invited.get("/api/v1/me").json()
    assert (me["name"], me["role"]) == (HOSTILE, "editor")
    assert browser(site).get(found[1]).status_code == 404
    actions = [record.action for record in caplog.records if hasattr(record, "action")]
    assert actions == ["log_in", "create_account", "set_password_by_link"]
    assert found[2] not in caplog.text


def test_an_admin_resets_a_password_by_link_even_while_logged_in(site: Site) -> None:
    admin, ada = somebody(site, Role.ADMIN).client, somebody(site, Role.EDITOR, "Ada")
    here = f"/admin/accounts/{ada.account.account_id}/link"
    found = LINK.search(admin.post(here, data={}).text)
    assert found
    assert posted(admin, found[1], "/password", token=found[2], new="a new password") == 303
    assert admin.get("/api/v1/me").json()["name"] == "Ada"
    assert ada.client.post(here, data={}).status_code == 401


def test_invalid_password_links_all_look_alike_and_are_limited(make_site: MakeSite) -> None:
    site = make_site(**SERVER | {"login_tries": 3})
    account = site.people.accounts.add("Ada", Role.EDITOR)
    used, valid = (site.people.accounts.new_link(account) for _ in range(2))
    client = browser(site)
    for _ in range(5):
        assert client.get(f"/password/{valid[0]}").status_code == 200
    replies = [client.get(f"/password/{token}") for token in (used[0], "x" * 43, "%ff")]
    assert {(each.status_code, each.json()["detail"]) for each in replies} == {
        (404, replies[0].json()["detail"])
    }
    assert client.get(f"/password/{valid[0]}").status_code == 429
    sent = client.post("/password", data={"token": valid[0], "new": PASSWORD})
    assert sent.status_code == 429


def test_command_line_manages_accounts(tmp_path: Path) -> None:
    def ran(*words: str, given: str = "") -> tuple[int, str]:
        done = CliRunner().invoke(
            cli, ["server", "user", *words, "--data", str(tmp_path)], input=given
        )
        return done.exit_code if not done.exception else -1, done.output

    assert ran("add", "Ada", "--role", "admin", given=f"{PASSWORD}\n")[0] == 0
    assert ran("add", "Grace", given=f"{PASSWORD}\n")[0] == 0
    assert ran("add", "ADA", given=f"{PASSWORD}\n")[0] == -1
    assert ran("add", "Eve", given="short\n")[0] == -1
    assert ran("set", "grace", "--password", given="another password\n")[0] == 0
    assert ran("set", "Grace", "--role", "editor")[0] == 0
    assert ran("set", "Ada", "--disable")[0] == -1  # the only admin
    assert ran("set", "Grace", "--disable")[0] == 0
    assert ran("set", "nobody", "--disable")[0] == -1
    links = [ran("add", "Eve", "--invite")[1], ran("link", "Eve")[1]]
    tokens = {re.search(r"/password/([\w-]{43})\n", text)[1] for text in links}  # type: ignore[index]
    assert len(tokens) == 2
    assert ran("link", "nobody")[0] == -1
    listed = ran("list")[1]
    assert re.search(r"Ada\tadmin\tnever\tenabled\t[\w-]{22}\n", listed)
    assert "Grace\teditor\tnever\tdisabled\t" in listed
    assert ran("set", "Grace", "--enable")[0] == 0
    assert "disabled" not in ran("list")[1]
