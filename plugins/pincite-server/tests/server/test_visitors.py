"""Visitors: a shared password, terms to accept, and an operator's own texts."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from server.corpora_of_tests import filled
from server.people_of_tests import (
    PASSWORD,
    SERVER,
    MakeSite,
    app_of,
    browser,
    log_in,
    problem,
    program,
    somebody,
)
from support.rows import text_of

from pincite.cli import cli
from pincite.errors import ConfigError
from pincite.settings import Settings
from pincite_server import accounts
from pincite_server.identity import Role
from pincite_server.languages import read_texts
from pincite_server.settings import ServerSettings, load
from pincite_server.site import Site

PAGE = {"Accept": "text/html"}
HOSTILE = "<img src=x onerror=alert(1)>"


def visitor(site: Site) -> TestClient:
    site.people.accounts.add("Visitors", Role.ADMIN, PASSWORD)
    client = browser(site)
    log_in(client, "visitors")
    return client


@pytest.mark.parametrize(
    "given", [{"shared_account": "x"}, {"consent": "x"}, {"registration": "open"}]
)
def test_settings_for_visitors_need_accounts(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        ServerSettings(**given)  # type: ignore[arg-type]


def test_visitors_may_search_but_change_neither_account_nor_corpora(make_site: MakeSite) -> None:
    site = make_site(**SERVER, shared_account="visitors")
    assert browser(site).get("/login").text.count('type="password"') == 2
    client = visitor(site)
    assert client.get("/api/v1/me").json()["may"] == ["read", "run"]
    assert client.get("/account").status_code == 403
    for path in ("/account/password", "/account/keys", "/account/delete"):
        assert client.post(path, data={"old": PASSWORD, "new": PASSWORD}).status_code == 403
    assert client.post("/logout").status_code == 303
    assert client.get("/api/v1/me").status_code == 401


def test_visitors_do_not_see_each_others_jobs(make_site: MakeSite) -> None:
    site = make_site(**SERVER, shared_account="visitors")
    client = visitor(site)
    owner = client.get("/api/v1/me").json()["account_id"]
    job = site.jobs.submit(owner, "check", "A secret", {"statement": ["A secret"]})
    assert client.get("/api/v1/jobs").json()["jobs"] == []
    assert "A secret" not in client.get("/history", headers=PAGE).text
    assert 'href="/history"' not in client.get("/check", headers=PAGE).text
    assert client.get(f"/api/v1/jobs/{job.job_id}").status_code == 200  # its address is a secret
    admin = somebody(site, Role.ADMIN).client
    assert "A secret" in admin.get("/history?everybody=true", headers=PAGE).text


# ── Consent ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def with_terms(make_site: MakeSite, tmp_path: Path) -> MakeSite:
    def made(logged: bool = True) -> Site:
        (tmp_path / "consent.md").write_text(f"# Terms\n\nBe *kind*. {HOSTILE}")
        (tmp_path / "consent.de.md").write_text("Seien Sie *nett*.")
        settings = Settings.of(results_folder=str(tmp_path / "log") if logged else "")
        return make_site(settings, **SERVER, consent=str(tmp_path / "consent.md"))

    return made


def test_terms_come_before_the_first_use_of_a_session(with_terms: MakeSite) -> None:
    site = with_terms(logged=False)
    ada = somebody(site, Role.EDITOR, "Ada")
    sent = ada.client.get("/check?x=1", headers=PAGE)
    assert (sent.status_code, sent.headers["location"]) == (303, "/consent?next=%2Fcheck%3Fx%3D1")
    problem(ada.client.get("/api/v1/jobs"), 403, "consent_required")
    shown = ada.client.get(sent.headers["location"], headers=PAGE).text
    assert "<em>kind</em>" in shown
    assert not re.search(r'<img|type="radio"', shown)
    german = {**PAGE, "Accept-Language": "de"}
    assert "<em>nett</em>" in ada.client.get("/consent", headers=german).text
    done = ada.client.post("/consent", data={"next": "/check?x=1"})
    assert (done.status_code, done.headers["location"]) == (303, "/check?x=1")
    assert ada.client.get("/check", headers=PAGE).status_code == 200
    assert ada.client.get("/consent?next=/ask").headers["location"] == "/ask"
    assert program(site, ada.account, ["read"]).get("/api/v1/jobs").status_code == 200
    for text, status in ((None, 200), ("Other terms", 403)):
        if text:
            Path(site.server.consent).write_text(text)
        restarted = browser(site)
        restarted.cookies = ada.client.cookies
        assert restarted.get("/api/v1/jobs").status_code == status
    log_in(ada.client, "Ada")  # another session
    assert ada.client.get("/check", headers=PAGE).status_code == 303


@pytest.mark.parametrize(("log", "unlogged"), [("yes", False), ("no", True), ("", True)])
def test_checks_are_logged_as_the_visitor_chose(
    with_terms: MakeSite, log: str, unlogged: bool
) -> None:
    site = with_terms()
    ada = somebody(site, Role.EDITOR, "Ada")
    ada.client.post("/consent", data={"log": log})
    body = {"statement": "The bridge opened.", "corpus": filled(ada.client, site)}
    assert ada.client.post("/api/v1/check", json=body).status_code == 202
    [job] = site.jobs.list_jobs(ada.account.account_id, 9, kinds=["check"])
    assert job.request.get("unlogged", False) is unlogged
    shown = ada.client.get("/check", headers=PAGE).text
    assert ('name="unlogged"' in shown) is not unlogged


# ── Texts ────────────────────────────────────────────────────────────────────────────────────────


def test_pages_have_the_operators_texts_with_english_as_fallback(
    make_site: MakeSite, tmp_path: Path
) -> None:
    (tmp_path / "texts.toml").write_text(text_of("server/visitors/texts.toml"))
    client = browser(make_site(texts=str(tmp_path / "texts.toml")))
    english = client.get("/check", headers=PAGE).text
    link = '<a href="https://museum.example/">the museum</a>'
    for text in ("Bridges &amp; mills</title>", link, "<h2>Why</h2>", "<strong>anything</strong>"):
        assert text in english
    assert not re.search(r'<img|href="javascript:', english)
    german = client.get("/check", headers={**PAGE, "Accept-Language": "de"}).text
    assert "Fragen Sie." in german
    assert "Bridges &amp; mills</title>" in german
    assert "anything" not in german
    assert "anything" not in client.get("/ask", headers=PAGE).text


@pytest.mark.parametrize(
    "text", ["[fr]\ntitle=''", "title=''", "[en]\nx=''", "[en.x]\ntitle=''", "[en]\ntitle=3", "[en"]
)
def test_unknown_texts_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "texts.toml").write_text(text)
    with pytest.raises(ConfigError):
        read_texts(str(tmp_path / "texts.toml"))


# ── A folder to hand over ────────────────────────────────────────────────────────────────────────


def test_a_made_folder_serves_wherever_it_lies(
    tmp_path: Path, make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made, moved = tmp_path / "made", tmp_path / "moved"
    assert CliRunner().invoke(cli, ["init", "made"]).exit_code == 0
    (made / "examples.txt").write_text("Mine")
    assert CliRunner().invoke(cli, ["init", "made"]).exit_code == 2
    assert (made / "examples.txt").read_text() == "Mine"
    shutil.move(made, moved)
    found = load({}, Path("moved/pincite.toml"))
    assert found.corpora == (f"Documents={moved / 'corpus'}",)
    assert found.folder == moved / "data"
    site = make_site(**dataclasses.asdict(found))
    client = visitor(site)
    assert client.get("/check", headers=PAGE).headers["location"].startswith("/consent")
    client.post("/consent", data={"log": "no"})
    assert client.get("/").headers["location"] == "/check"
    assert 'href="/verify" aria-current' in client.get("/verify", headers=PAGE).text
    german = client.get("/check", headers={**PAGE, "Accept-Language": "de"}).text
    assert "Unsere Dokumente</title>" in german


# ── Registration ─────────────────────────────────────────────────────────────────────────────────

NEW = {"name": "Grace", "new": PASSWORD}


def invited(site: Site, **fields: object) -> tuple[TestClient, str]:
    """An admin, and the token of a new invitation."""
    admin = somebody(site, Role.ADMIN).client
    made = admin.post("/admin/invitations", data={"role": "editor", "uses": 1, "days": 2, **fields})
    found = re.search(r"https://pincite\.example\.org/register/([\w-]{43})", made.text)
    assert found, made.text
    return admin, found[1]


def test_an_invitation_makes_as_many_accounts_as_it_says(
    make_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "pincite")
    site = make_site(**SERVER, registration="invitation")
    admin, token = invited(site, uses=2)
    assert token not in admin.get("/admin/accounts").text
    for name in ("Grace", "ＡＤＡ"):
        client = browser(site)
        assert client.get(f"/register/{token}", headers=PAGE).status_code == 200
        taken = client.post("/register", data={**NEW, "token": token, "name": "The Admin"})
        assert (taken.status_code, 'role="alert"' in taken.text) == (422, True)
        done = client.post("/register", data={**NEW, "token": token, "name": name})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        me = client.get("/api/v1/me").json()
        assert (me["name"], me["role"]) == (name, "editor")
    assert browser(site).post("/register", data={**NEW, "token": token}).status_code == 404
    assert browser(site).get(f"/register/{token}").status_code == 404
    actions = [record.action for record in caplog.records if hasattr(record, "action")]
    assert actions == ["log_in", "create_invitation", "register", "register"]
    assert token not in caplog.text


def test_an_invitation_expires_can_be_revoked_and_makes_no_admin(
    make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(**SERVER, registration="invitation")
    admin, token = invited(site)
    sent = {"role": "admin", "uses": 1, "days": 2}
    assert admin.post("/admin/invitations", data=sent).status_code == 422
    [kept] = site.people.accounts.invitations()
    with monkeypatch.context() as patch:
        patch.setattr(accounts, "now", lambda: kept.expires + 1)
        assert browser(site).get(f"/register/{token}").status_code == 404
    gone = admin.post(f"/admin/invitations/{kept.invitation_id}/revoke", data={})
    assert gone.status_code == 303
    assert browser(site).post("/register", data={**NEW, "token": token}).status_code == 404


@pytest.mark.parametrize(
    ("registration", "shown", "made"),
    [("closed", 404, 404), ("invitation", 404, 404), ("open", 200, 303)],
)
def test_who_may_register_without_an_invitation(
    make_site: MakeSite, registration: str, shown: int, made: int
) -> None:
    site = make_site(**SERVER, registration=registration)
    client = browser(site)
    assert client.get("/register").status_code == shown
    assert ('href="/register"' in client.get("/login").text) == (shown == 200)
    assert client.post("/register", data=NEW).status_code == made
    account = site.people.accounts.by_name("grace")
    assert (account.role if account else None) is (Role.READER if made == 303 else None)


def test_registrations_are_limited_as_logins_are(make_site: MakeSite) -> None:
    given = {"login_tries": 2, "registration": "open", "shared_account": "visitors"}
    site = make_site(**SERVER | given)
    app, names = app_of(site), ("Ada", "visitors", "Eve")
    replies = [browser(site, app).post("/register", data=NEW | {"name": name}) for name in names]
    assert [reply.status_code for reply in replies] == [303, 422, 429]
