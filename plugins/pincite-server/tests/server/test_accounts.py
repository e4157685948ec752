"""Accounts, their pages and commands, share links, and deletion, on both databases."""

import re
from pathlib import Path

import ask_samples
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from fastapi.testclient import TestClient
from server.corpora_of_tests import finished
from server.people_of_tests import (
    PASSWORD,
    SERVER,
    MakeSite,
    Somebody,
    browser,
    log_in,
    problem,
    somebody,
)

from pincite.cli import cli
from pincite.errors import ConfigError
from pincite_server import tables
from pincite_server.accounts import MAX_KEY, OWNERS, forget, name_key, valid_name
from pincite_server.corpora import Shared
from pincite_server.database import Database
from pincite_server.identity import Role
from pincite_server.jobs import JobStore, Status
from pincite_server.problems import Problem
from pincite_server.settings import ServerSettings
from pincite_server.share_links import ShareLinks
from pincite_server.site import Site, open_people
from pincite_server.tables import metadata

UNREADABLE = ["", " ", " a", "a ", "a  b", "a\tb", "a\nb", "a\0b", "x" * 61, "a\u202eb", "a\u200bb"]
UNREADABLE += ["\ud800", "\x1b[31mred", "\u2028", "\ufeff", "\ufdfa" * 40, "\u00a0a"]
READABLE = ["Ada", "Zoë", "李四", "أحمد", "'; DROP TABLE accounts; --", "<img src=x>", "%s{0}"]
READABLE += ["\ufdfa"]
HOSTILE = "<img src=x onerror=alert(1)>"
PAGE = {"Accept": "text/html"}


@pytest.fixture
def site(make_site: MakeSite, database_url: str) -> Site:
    return make_site(**SERVER, database=database_url)


@pytest.fixture
def admin(site: Site) -> Somebody:
    return somebody(site, Role.ADMIN)


def where(account: Somebody) -> str:
    return f"/admin/accounts/{account.account.account_id}"


# ── Names ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", UNREADABLE)
def test_invisible_or_ambiguous_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        valid_name(name)


@pytest.mark.parametrize("name", READABLE)
def test_names_of_all_kinds_are_kept_as_they_are(site: Site, name: str) -> None:
    account = site.people.accounts.add(name, Role.READER, PASSWORD)
    assert site.people.accounts.by_name(name) == account
    assert account.name == valid_name(name)
    assert len(name_key(name)) <= MAX_KEY
    assert site.people.accounts.log_in(name, PASSWORD)


@pytest.mark.parametrize("twin", ["ADA", "ada", "\uff21da", "\U0001d400da"])
def test_names_that_look_the_same_are_one(site: Site, twin: str) -> None:
    site.people.accounts.add("Ada", Role.READER)
    with pytest.raises(Problem) as refused:
        site.people.accounts.add(twin, Role.READER)
    assert refused.value.code == "name_taken"


# ── Accounts, as admins look after them ──────────────────────────────────────────────────────────


def test_an_admin_makes_changes_and_deletes_accounts(site: Site, admin: Somebody) -> None:
    body = {"name": "Ada", "role": "editor", "password": PASSWORD}
    assert admin.client.post("/admin/accounts", data=body).status_code == 303
    problem(admin.client.post("/admin/accounts", data=body), 409, "name_taken")
    account = site.people.accounts.by_name("Ada")
    assert account
    here = f"/admin/accounts/{account.account_id}"
    ada = browser(site)
    log_in(ada, "Ada")
    assert admin.client.post(here, data={"disabled": "true"}).status_code == 303
    assert ada.get("/api/v1/me").status_code == 401
    enabled = {"disabled": "false", "role": "rater"}
    assert admin.client.post(here, data=enabled).status_code == 303
    log_in(ada, "Ada")
    assert ada.get("/api/v1/me").json()["may"] == []
    assert admin.client.post(f"{here}/delete", data={"name": "ada"}).status_code == 303
    assert admin.client.post(here, data={"role": "reader"}).status_code == 404
    assert ada.get("/api/v1/me").status_code == 401


def test_only_an_admin_sees_the_jobs_of_everybody(site: Site, admin: Somebody) -> None:
    ada = somebody(site, Role.EDITOR, "Ada")
    for owner in (ada, admin):
        site.jobs.submit(owner.account.account_id, "verify", f"by {owner.account.name}", {})
    shown = admin.client.get("/history?everybody=true").text
    assert re.search(r"by Ada</a>\s*<span class=\"meta\">Ada ", shown)
    assert "by the admin" in shown
    assert "by Ada" not in admin.client.get("/history").text
    assert "by the admin" not in ada.client.get("/history?everybody=true").text
    (waiting,) = site.jobs.list_jobs(ada.account.account_id, 9)
    assert "ahead of this one" not in ada.client.get(f"/jobs/{waiting.job_id}").text
    (behind,) = site.jobs.list_jobs(admin.account.account_id, 9)
    assert "1 job is ahead of this one" in admin.client.get(f"/jobs/{behind.job_id}").text


def test_accounts_are_listed_in_pages(site: Site, admin: Somebody) -> None:
    for n in range(7):
        site.people.accounts.add(f"reader {n}", Role.READER)
    first = site.people.accounts.list_accounts(5)
    rest = site.people.accounts.list_accounts(9, (name_key(first[-1].name),))
    names = [each.name for each in [*first, *rest]]
    assert names == [*(f"reader {n}" for n in range(7)), "the admin"]


@pytest.mark.parametrize("change", [{"role": "editor"}, {"disabled": "true"}])
def test_the_last_admin_stays(site: Site, admin: Somebody, change: dict[str, str]) -> None:
    account_id = admin.account.account_id
    problem(admin.client.post(where(admin), data=change), 409, "last_admin")
    named = {"name": admin.account.name}
    assert admin.client.post(f"{where(admin)}/delete", data=named).status_code == 409
    gone = admin.client.post("/account/delete", data={"password": PASSWORD})
    assert gone.status_code == 409
    other = site.people.accounts.add("another", Role.ADMIN)
    site.people.accounts.change(other.account_id, disabled=True)  # a disabled one does not count
    with pytest.raises(Problem) as refused:
        site.people.accounts.change(account_id, role=Role.READER)
    assert refused.value.code == "last_admin"
    site.people.accounts.change(other.account_id, disabled=False)
    assert site.people.accounts.change(account_id, role=Role.READER)


# ── Password links ───────────────────────────────────────────────────────────────────────────────


def link_of(site: Site, account_id: str) -> str:
    account = site.people.accounts.get(account_id)
    assert account
    return site.people.accounts.new_link(account)[0]


def test_a_password_link_works_once(site: Site) -> None:
    accounts = site.people.accounts
    ada = somebody(site, Role.EDITOR, "Ada")
    _, text = site.people.keys.add(ada.account.account_id, "k", ["read"], 1)
    token = link_of(site, ada.account.account_id)
    assert accounts.log_in("Ada", PASSWORD)  # until it is used
    with pytest.raises(ConfigError):
        accounts.use_link(token, "short")
    assert accounts.by_link(token) == accounts.by_name("Ada")  # looking uses nothing up
    assert accounts.use_link(token, "a new password")
    assert accounts.use_link(token, "another password") is None
    assert accounts.by_link(token) is None
    assert accounts.log_in("Ada", "a new password")
    assert accounts.log_in("Ada", PASSWORD) is None
    assert site.people.keys.identity(text) is None
    assert ada.client.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("how", ["replaced", "expired", "disabled", "password", "deleted"])
def test_a_password_link_ends(site: Site, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = site.people.accounts
    account_id = accounts.add("Ada", Role.EDITOR).account_id
    token = link_of(site, account_id)
    if how == "replaced":
        assert accounts.by_link(link_of(site, account_id))
    elif how == "expired":
        later = tables.now() + 8 * 86400
        monkeypatch.setattr("pincite_server.accounts.now", lambda: later)
        monkeypatch.setattr("pincite_server.site.now", lambda: later)
    elif how == "disabled":
        accounts.change(account_id, disabled=True)
        accounts.change(account_id, disabled=False)
    elif how == "password":
        accounts.change(account_id, password=PASSWORD)
    else:
        assert forget(site.database, account_id, site.own)
    assert accounts.by_link(token) is None
    assert accounts.use_link(token, "a new password") is None
    site.people.forget_old()
    left = site.database.scalar(sa.select(sa.func.count()).select_from(tables.password_links))
    assert left == (how == "replaced")


def test_a_disabled_account_gets_no_use_of_a_new_link(site: Site) -> None:
    account_id = site.people.accounts.add("Ada", Role.EDITOR).account_id
    site.people.accounts.change(account_id, disabled=True)
    assert site.people.accounts.by_link(link_of(site, account_id)) is None


# ── Share links ──────────────────────────────────────────────────────────────────────────────────


def test_a_share_link_opens_one_result_until_it_is_revoked(site: Site) -> None:
    ada, grace = somebody(site, Role.EDITOR, "Ada"), somebody(site, Role.EDITOR, "Grace")
    result = ask_samples.everything().to_json()
    source = {"doc_id": "d", "text": "the whole of a source"}
    owner = ada.account.account_id
    job_id = finished(site, "ask", result, owner=owner, files={"d": source})
    here = f"/jobs/{job_id}/links"
    waiting = site.jobs.submit(owner, "verify", "t", {"example": "article"}).job_id
    assert ada.client.post(f"/jobs/{waiting}/links", data={"days": "1"}).status_code == 404
    assert grace.client.post(here, data={"days": "2"}).status_code == 404
    made = ada.client.post(here, data={"days": "2"}).text
    (token,) = set(re.findall(r"https://pincite\.example\.org/s/([\w-]{43})", made))
    (link,) = site.people.links.of(job_id)
    visitor = browser(site)
    shared = visitor.get(f"/s/{token}")
    assert shared.status_code == 200
    assert "whole of a source" not in shared.text
    for wrong in ("", token[:-1], token + "x", token.swapcase(), job_id, link.link_id):
        assert visitor.get(f"/s/{wrong}").status_code == 404
    assert token not in ada.client.get(here).text
    with site.database.reading() as db:
        assert token not in str(db.execute(sa.select(tables.share_links)).all())
    revoke, form = f"{here}/{link.link_id}/revoke", {"nothing": "1"}
    for disabled, status in ((True, 404), (False, 200)):
        site.people.accounts.change(owner, disabled=disabled)
        assert visitor.get(f"/s/{token}").status_code == status
    log_in(ada.client, "Ada")
    assert ada.client.post(revoke, data=form).status_code == 303
    assert visitor.get(f"/s/{token}").status_code == 404


def test_share_links_expire_and_go_with_their_job(database: Database) -> None:
    jobs, links = JobStore(database), ShareLinks(database)
    job = jobs.submit("local", "verify", "t", {})
    _, short = links.add(job.job_id, 1e-9)
    assert links.job_of(short) is None
    assert links.of(job.job_id) == []
    open_people(database, ServerSettings()).forget_old()
    with database.reading() as db:
        assert db.execute(sa.select(tables.share_links)).all() == []
    _, long = links.add(job.job_id, 1)
    assert links.job_of(long) == job.job_id
    jobs.cancel(job.job_id)
    jobs.delete_older(tables.now() + 60)
    assert links.job_of(long) is None


# ── Deletion ─────────────────────────────────────────────────────────────────────────────────────


def of_everything(site: Site, who: Somebody) -> tuple[str, Path]:
    """A job, corpora, a key; the job's id and the private corpus's folder."""
    owner = who.account.account_id
    job_id = finished(site, owner=owner)
    site.people.keys.add(owner, "k", ["read"], 1)
    site.people.links.add(job_id, 1)
    private = site.corpora.add(owner, "private")
    site.corpora.folder_of(private.corpus_id).mkdir(parents=True)
    site.corpora.add(owner, "for all", shared=Shared.EVERYBODY)
    return job_id, site.corpora.folder_of(private.corpus_id)


@pytest.mark.parametrize("by", ["themselves", "an admin"])
def test_deleting_an_account_keeps_only_shared_corpora(
    site: Site, admin: Somebody, by: str
) -> None:
    ada, grace = somebody(site, Role.EDITOR, "Ada"), somebody(site, Role.EDITOR, "Grace")
    job_id, folder = of_everything(site, ada)
    kept, _ = of_everything(site, grace)
    if by == "themselves":
        for wrong in ({"nothing": "1"}, {"password": "wrong password"}):
            problem(ada.client.post("/account/delete", data=wrong), 403, "wrong_password")
        done = ada.client.post("/account/delete", data={"password": PASSWORD})
        assert done.status_code == 303
    else:
        named = {"name": ada.account.name}
        assert admin.client.post(f"{where(ada)}/delete", data=named).status_code == 303
    assert site.jobs.get(job_id) is None
    assert site.jobs.get(kept)
    assert not folder.exists()
    by_name: dict[str, list[str]] = {}
    for entry in site.corpora.entries():
        by_name.setdefault(entry.name, []).append(entry.owner)
    assert by_name["private"] == [grace.account.account_id]
    assert len(by_name["for all"]) == 2
    with site.database.reading() as db:
        everything = str([db.execute(sa.select(t)).all() for t in metadata.sorted_tables])
    assert ada.account.account_id not in everything
    assert "'Ada'" not in everything
    assert ada.client.get("/api/v1/me").status_code == 401


def test_a_job_that_runs_when_its_owner_leaves_ends_without_a_trace(site: Site) -> None:
    ada = somebody(site, Role.EDITOR, "Ada")
    job = site.jobs.submit(ada.account.account_id, "verify", "t", {"example": "article"})
    assert site.jobs.take("w")
    assert forget(site.database, ada.account.account_id, site.own)
    assert not site.jobs.renew(job.job_id, "w")
    assert not site.jobs.finish(job.job_id, "w", Status.DONE, result="{}")
    assert not forget(site.database, ada.account.account_id, site.own)


def test_no_table_keeps_the_rows_of_a_deleted_account() -> None:
    """`corpora` are marked as deleted; the rest is deleted, by the database or by `forget`."""
    whose = [
        column
        for table in metadata.tables.values()
        for column in table.columns
        if column.name in ("owner", "account_id") and table is not tables.accounts
    ]
    deleted = [
        each for each in whose if any(key.ondelete == "CASCADE" for key in each.foreign_keys)
    ]

    assert {*whose} - {*deleted} == {*OWNERS, tables.corpora.c.owner}


# ── Pages and commands ───────────────────────────────────────────────────────────────────────────


def token_of(client: TestClient, page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', client.get(page).text)
    assert found, page
    return found[1]


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
    del admin.headers["X-CSRF-Token"]  # the form has it
    form = {"csrf": token_of(admin, found[1]), "token": found[2], "new": "a new password"}
    assert admin.post("/password", data=form, headers=PAGE).status_code == 303
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
