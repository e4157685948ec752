"""Authentication: passwords, sessions and their cookies, CSRF, keys, and rate limits."""

import re
import runpy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from server.people_of_tests import (
    ORIGIN,
    PASSWORD,
    SERVER,
    MakeSite,
    browser,
    log_in,
    problem,
    program,
    somebody,
    token_of_session,
)

from pincite_server import tables
from pincite_server.accounts import __file__
from pincite_server.identity import Permission, Role
from pincite_server.site import Site
from pincite_server.tables import accounts, api_keys, password_links, sessions

COOKIE = "__Host-pincite-session"
EXAMPLE = {"example": "article"}
Clock = Callable[[float], None]
KEY = re.compile(r"pincite_[\w-]{43}")
SITE = SERVER


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Lets time pass, as the stores see it."""
    passed = 0.0

    def go(seconds: float) -> None:
        nonlocal passed
        passed += seconds

    real = tables.now
    for module in ("accounts", "identity", "site", "routes.accounts", "routes.login"):
        monkeypatch.setattr(f"pincite_server.{module}.now", lambda: real() + passed)
    return go


def new_key(client: TestClient, **form: object) -> str:
    """Make an API key with the form, which shows it once."""
    found = KEY.search(client.post("/account/keys", data=form).text)
    assert found
    return found[0]


# ── Passwords and sessions ───────────────────────────────────────────────────────────────────────


def test_a_login_sets_a_cookie_that_no_script_and_no_other_site_gets(site: Site) -> None:
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    client = browser(site)
    reply = client.post("/login", data={"name": "ADA", "password": PASSWORD})
    assert reply.status_code == 303
    me = client.get("/api/v1/me").json()
    assert (me["name"], me["may"]) == ("Ada", ["corpora", "read", "run"])
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    for word in ("HttpOnly", "Secure", "SameSite=lax", "Path=/"):
        assert word in cookie
    assert "Domain" not in cookie


def test_no_password_token_key_or_link_is_in_the_database(site: Site) -> None:
    ada = somebody(site, Role.EDITOR)
    key = new_key(ada.client, name="k", scopes=["read"])
    token, (link, _) = ada.client.cookies[COOKIE], site.people.accounts.new_link(ada.account)
    of_secrets = (accounts, sessions, api_keys, password_links)
    with site.database.reading() as db:
        kept = repr([db.execute(sa.select(each)).all() for each in of_secrets])
    assert "$argon2id$" in kept
    for secret in (PASSWORD, key, token, link):
        assert secret not in kept
    assert key not in ada.client.get("/account").text


@pytest.mark.parametrize("name", ["Ada", "nobody of this name", "Grace", "a\u0000b", "' OR 1=1 --"])
def test_a_wrong_name_a_wrong_password_and_a_disabled_account_look_alike(
    site: Site, name: str
) -> None:
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    grace = site.people.accounts.add("Grace", Role.EDITOR, PASSWORD)
    site.people.accounts.change(grace.account_id, disabled=True)
    password = PASSWORD if name == "Grace" else "not the password"
    reply = browser(site).post("/login", data={"name": name, "password": password})
    if "\0" in name:
        assert reply.status_code == 422
        return
    assert reply.status_code == 401
    assert "The name or the password is wrong." in reply.text
    assert "set-cookie" not in reply.headers


def test_a_login_replaces_the_session_and_its_tokens(site: Site) -> None:
    """Session fixation: an attacker's cookie, planted in another browser, opens nothing."""
    ada = somebody(site, Role.EDITOR)
    token, csrf = ada.client.cookies[COOKIE], ada.client.headers["X-CSRF-Token"]
    log_in(ada.client, ada.account.name)
    assert ada.client.cookies[COOKIE] != token
    assert ada.client.headers["X-CSRF-Token"] != csrf
    assert site.people.sessions.identity(token) is None
    planted, thief = browser(site), browser(site)
    for client in (planted, thief):
        client.cookies.set(COOKIE, "planted-by-an-attacker", domain="pincite.example.org")
    reply = planted.post("/login", data={"name": "the editor", "password": PASSWORD})
    assert "planted" not in reply.headers["set-cookie"]
    assert thief.get("/api/v1/me").status_code == 401
    log_in(thief, ada.account.name)  # an invalid cookie needs no CSRF token


def test_logging_out_ends_the_session_on_the_server_too(site: Site) -> None:
    ada = somebody(site, Role.READER)
    token = ada.client.cookies[COOKIE]
    assert ada.client.post("/logout").status_code == 303
    assert site.people.sessions.identity(token) is None
    assert ada.client.get("/api/v1/me").status_code == 401


def test_sessions_end_when_unused_and_at_last_anyway(make_site: MakeSite, clock: Clock) -> None:
    site = make_site(**SERVER, session_hours=1, session_days=1)
    ada = somebody(site, Role.READER)
    clock(50 * 60)
    assert ada.client.get("/api/v1/me").status_code == 200
    clock(50 * 60)  # 100 minutes since the login, 50 since the last request
    assert ada.client.get("/api/v1/me").status_code == 200
    clock(70 * 60)
    assert ada.client.get("/api/v1/me").status_code == 401
    log_in(ada.client, ada.account.name)
    for _ in range(30):
        clock(50 * 60)
        last = ada.client.get("/api/v1/me").status_code
    assert last == 401
    site.people.forget_old()
    with site.database.reading() as db:
        assert db.execute(sa.select(sessions)).all() == []


@pytest.mark.parametrize(
    "change", [{"role": "reader"}, {"disabled": "true"}, {"password": "x" * 12}]
)
def test_a_change_by_an_admin_ends_all_sessions_of_the_account(
    site: Site, change: dict[str, str]
) -> None:
    admin, ada = somebody(site, Role.ADMIN), somebody(site, Role.EDITOR)
    where = f"/admin/accounts/{ada.account.account_id}"
    assert admin.client.post(where, data=change).status_code == 303
    assert ada.client.get("/api/v1/me").status_code == 401


def test_a_new_password_logs_out_everywhere_else_and_revokes_keys(site: Site) -> None:
    ada = somebody(site, Role.EDITOR)
    elsewhere = browser(site)
    log_in(elsewhere, ada.account.name)
    script = program(site, ada.account, [Permission.READ])
    for old, status in (("wrong!", 403), (PASSWORD, 303)):
        data = {"old": old, "new": "a new password"}
        assert ada.client.post("/account/password", data=data).status_code == status
    token_of_session(ada.client)
    assert ada.client.get("/api/v1/me").status_code == 200
    assert elsewhere.get("/api/v1/me").status_code == 401
    assert script.get("/api/v1/me").status_code == 401
    log_in(elsewhere, ada.account.name, "a new password")


@pytest.mark.parametrize("password", ["short", "x" * 1001, "the editor"])
def test_passwords_that_will_not_do_are_refused(site: Site, password: str) -> None:
    ada = somebody(site, Role.EDITOR)
    new = {"old": PASSWORD, "new": password}
    reply = ada.client.post("/account/password", data=new)
    assert reply.status_code == 422
    assert ada.client.get("/api/v1/me").status_code == 200


def test_a_password_is_the_same_on_every_keyboard_and_rehashed_when_care_grows(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed, parted = "caf\u00e9 au lait!", "cafe\u0301 au lait!"
    account = site.people.accounts.add("Ada", Role.READER, composed)
    assert site.people.accounts.log_in("Ada", parted)
    weak = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    kept = weak.hash(composed.encode())
    with site.database.writing() as db:
        db.execute(accounts.update().values(password=kept))
    monkeypatch.setattr("pincite_server.accounts.MIN_LENGTH", len(composed) + 1)  # newer rules
    assert site.people.accounts.log_in("Ada", composed)
    with site.database.reading() as db:
        assert db.execute(sa.select(accounts.c.password)).scalar() != kept
    assert site.people.accounts.get(account.account_id)


def test_hashing_has_the_parameters_of_rfc_9106() -> None:
    hasher = runpy.run_path(__file__)["_HASHER"]  # the tests' own is cheaper
    assert (hasher.type.name, hasher.memory_cost, hasher.time_cost) == ("ID", 65536, 3)
    assert hasher.parallelism == 4


# ── CSRF ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_cookie_alone_changes_nothing(site: Site) -> None:
    ada, grace = somebody(site, Role.EDITOR), somebody(site, Role.EDITOR, "Grace")
    token = ada.client.headers.pop("X-CSRF-Token")
    others = grace.client.headers["X-CSRF-Token"]
    problem(ada.client.post("/api/v1/verify", json=EXAMPLE), 403, "csrf")
    for wrong in ("", "x", token[:-1], token + "A", "\u00e9", others):
        header = [(b"X-CSRF-Token", wrong.encode("latin-1"))]
        refused = ada.client.post("/api/v1/verify", json=EXAMPLE, headers=header)
        assert refused.status_code == 403
    accepted = ada.client.post("/api/v1/verify", json=EXAMPLE, headers={"X-CSRF-Token": token})
    assert accepted.status_code == 202


def test_a_key_needs_no_token_and_a_wrong_one_is_not_helped_by_a_cookie(site: Site) -> None:
    ada = somebody(site, Role.EDITOR)
    assert (
        program(site, ada.account, [Permission.RUN]).post("/api/v1/verify", json=EXAMPLE).is_success
    )
    for wrong in ("Bearer pincite_wrong", "Bearer", "Basic YTpi", ""):
        reply = ada.client.get("/api/v1/me", headers={"Authorization": wrong})
        assert reply.status_code == 401, wrong


# ── Keys ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_key_is_shown_once_and_known_by_its_beginning(site: Site) -> None:
    ada = somebody(site, Role.READER)
    key = new_key(ada.client, name="my script", scopes=["read", "read"], days=7)
    [kept] = site.people.keys.of(ada.account.account_id)
    assert key.startswith(kept.prefix)
    assert kept.scopes == ("read",)
    beyond = {"name": "my script", "scopes": ["read", "admin"]}
    problem(ada.client.post("/account/keys", data=beyond), 422, "beyond_role")


def test_a_key_loses_the_permissions_that_its_owner_loses(site: Site) -> None:
    ada = somebody(site, Role.EDITOR)
    script = program(site, ada.account, [Permission.RUN, Permission.READ])
    assert script.post("/api/v1/verify", json=EXAMPLE).status_code == 202
    site.people.accounts.change(ada.account.account_id, role=Role.READER)
    assert script.post("/api/v1/verify", json=EXAMPLE).status_code == 403
    assert script.get("/api/v1/jobs").status_code == 200


def test_keys_expire_and_can_be_revoked(site: Site, clock: Clock) -> None:
    ada = somebody(site, Role.EDITOR)
    first, second = (program(site, ada.account, [Permission.READ]) for _ in range(2))
    one, other = site.people.keys.of(ada.account.account_id)
    for status in (303, 404):
        reply = ada.client.post(f"/account/keys/{one.key_id}/revoke")
        assert reply.status_code == status
    assert sorted(each.get("/api/v1/me").status_code for each in (first, second)) == [200, 401]
    clock(86_401)
    assert {each.get("/api/v1/me").status_code for each in (first, second)} == {401}
    assert other.expires


# ── How often ────────────────────────────────────────────────────────────────────────────────────


def test_guessing_a_password_is_stopped_by_address_whether_the_name_exists(
    make_site: MakeSite,
) -> None:
    site = make_site(**SERVER | {"login_tries": 4})
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    seen = []
    for name in ("Ada", "nobody"):
        client = browser(site)
        body = {"name": name, "password": "a wrong guess"}
        replies = [client.post("/login", data=body) for _ in range(6)]
        seen.append([reply.status_code for reply in replies])
        assert int(replies[-1].headers["Retry-After"]) > 60
        # The right one does not help any more either: or else one could go on guessing.
        right = client.post("/login", data={"name": "Ada", "password": PASSWORD})
        assert right.status_code == 429
    assert seen == [[401] * 4 + [429] * 2] * 2


def test_guessing_from_many_addresses_is_stopped_by_name(make_site: MakeSite) -> None:
    site = make_site(**SERVER | {"login_tries": 2}, proxies=("testclient",))
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    client = browser(site)
    codes = []
    for n in range(12):
        client.headers["X-Forwarded-For"] = f"203.0.113.{n}"
        body = {"name": "\uff21da" if n % 2 else "ADA", "password": "a wrong guess"}
        codes.append(client.post("/login", data=body).status_code)
    assert codes == [401] * 10 + [429] * 2


def test_many_guesses_at_once_are_no_more_than_one_after_the_other(make_site: MakeSite) -> None:
    site = make_site(**SERVER | {"login_tries": 3})
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    client = browser(site)
    for _ in range(6):
        log_in(client, "Ada")  # right passwords do not count
    body = {"name": "Ada", "password": "a wrong guess"}

    def guess(_: int) -> int:
        return client.post("/login", data=body).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(guess, range(8)))
    assert sorted(codes) == [401] * 3 + [429] * 5


def test_anonymous_requests_are_limited_by_address(make_site: MakeSite) -> None:
    site = make_site(**SERVER, requests_a_minute=3, proxies=("testclient", "10.0.0.1"))
    client = browser(site)

    def asked(forwarded: str) -> int:
        header = {"X-Forwarded-For": forwarded}
        return client.get("/api/v1/me", headers=header).status_code

    assert [asked("203.0.113.1") for _ in range(4)] == [401, 401, 401, 429]
    assert asked("203.0.113.2") == 401
    # What the one who asks writes before our proxies' part does not make another address.
    assert asked("198.51.100.7, 203.0.113.1, 10.0.0.1") == 429
    networks = ["2001:db8:1:1::1", "2001:db8:1:1::2", "2001:db8:1:1:ffff::3"]
    assert [asked(each) for each in networks] == [401] * 3
    assert asked("2001:db8:1:1::4") == 429
    assert asked("2001:db8:1:2::4") == 401


def test_local_mode_has_no_limits_and_no_accounts(make_site: MakeSite) -> None:
    site = make_site(requests_a_minute=1)
    client = browser(site)
    assert {client.get("/api/v1/me").status_code for _ in range(5)} == {200}
    assert client.get("/api/v1/me").json()["name"] == "you"
    problem(client.post("/login", data={"name": "a", "password": "b"}), 404, "no_accounts")
    assert client.post("/account/delete", data={"x": "1"}).json()["code"] == "no_accounts"
    for page in ("/login", "/account", "/admin/accounts"):
        assert client.get(page).status_code == 404
    assert "/login" not in client.get("/help").text


def test_plain_http_gets_a_cookie_without_secure_only_by_a_setting(make_site: MakeSite) -> None:
    site = make_site(mode="server", secure_cookies=False, address="http://127.0.0.1")
    site.people.accounts.add("Ada", Role.EDITOR, PASSWORD)
    client: TestClient = browser(site)
    reply = client.post("/login", data={"name": "Ada", "password": PASSWORD})
    assert reply.headers["set-cookie"].startswith("pincite-session=")
    assert "Secure" not in reply.headers["set-cookie"]
    assert client.get("/api/v1/me").status_code == 200
    assert site.server.address != ORIGIN
