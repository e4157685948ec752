"""Login through a provider, against a strict one on loopback.

It holds clients to OAuth 2 with PKCE (RFC 6749, 7636). People "log in" there by `allow`, which a
test calls in their place. It refuses, as a real one does: another client, another redirect address,
a code twice, a wrong verifier.
"""

import base64
import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from fastapi.testclient import TestClient
from server.people_of_tests import (
    PASSWORD,
    SERVER,
    MakeSite,
    browser,
    problem,
    program,
    somebody,
    token_of_session,
)
from support.rows import each_row

from pincite.errors import ConfigError
from pincite_server import oauth
from pincite_server.identity import Role
from pincite_server.routes import login
from pincite_server.routing import cookie_name
from pincite_server.settings import ServerSettings
from pincite_server.site import Site

CLIENT, SECRET = "pincite-test", "the client's secret"
HERE = "/login/wiki"
WAY_BACK = {
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


class Provider:
    """What the server knows."""

    def __init__(self) -> None:
        self.profile: dict[str, Any] = {"sub": 17, "username": "Ada W."}
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.broken = ""  # how the token endpoint misbehaves
        self.lifetime = 3600  # seconds that tokens claim to live
        self.pause = 0.0  # seconds between the bytes of a reply
        self.padding = 0  # spaces after a reply
        self.odd_path = ""  # the only path that is slow or padded
        self.base = ""
        self.issuer: dict[str, Any] = {}  # differences of its OpenID configuration

    def allow(self, url: str) -> str:
        """Somebody is sent to `url`, logs in and allows it: where they are sent back to."""
        assert url.startswith(f"{self.base}/rest.php/oauth2/authorize?"), url
        asked = {key: value[0] for key, value in parse_qs(urlsplit(url).query).items()}
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return f"{asked['redirect_uri']}?{back}"

    def configuration(self) -> dict[str, Any]:
        """What OpenID Connect Discovery states."""
        base = f"{self.base}/rest.php/oauth2"
        return {
            "issuer": self.base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/access_token",
            "userinfo_endpoint": f"{base}/resource/profile",
        } | self.issuer

    def exchange(self, given: dict[str, str]) -> tuple[int, object]:
        """The token endpoint."""
        asked = self.codes.pop(given.get("code", ""), None)
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (given.get("client_id"), given.get("client_secret")) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        if (
            asked is None
            or proof != asked["code_challenge"]
            or given.get("redirect_uri") != asked["redirect_uri"]
            or given.get("grant_type") != "authorization_code"
        ):
            return 400, {"error": "invalid_grant"}
        token = secrets.token_urlsafe(16)
        self.tokens.add(token)
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime}


@contextmanager
def running() -> Iterator[Provider]:
    """A provider that listens until the end of the block."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            given = {key: value[0] for key, value in parse_qs(body).items()}
            kind, _, proof = self.headers.get("Authorization", "").partition(" ")
            if kind == "Basic":
                user, _, password = base64.b64decode(proof).decode().partition(":")
                given |= {"client_id": user, "client_secret": password}
            provider.seen.append((self.path, dict(self.headers)))
            assert self.path == "/rest.php/oauth2/access_token"
            if provider.broken:
                self._answer(200, provider.broken.encode())
            else:
                status, reply = provider.exchange(given)
                self._answer(status, json.dumps(reply).encode())

        def do_GET(self) -> None:
            provider.seen.append((self.path, dict(self.headers)))
            if self.path == "/.well-known/openid-configuration":
                self._answer(200, json.dumps(provider.configuration()).encode())
                return
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            known = token in provider.tokens and self.path == "/rest.php/oauth2/resource/profile"
            self._answer(200 if known else 401, json.dumps(provider.profile).encode())

        def _answer(self, status: int, body: bytes) -> None:
            is_odd = self.path == provider.odd_path
            body += b" " * provider.padding * is_odd
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # the client has hung up
                size = 1 if is_odd and provider.pause else len(body)
                for start in range(0, len(body), size):
                    self.wfile.write(body[start : start + size])
                    time.sleep(provider.pause)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running() as found:
        yield found


@pytest.fixture
def make(make_site: MakeSite, provider: Provider, tmp_path: Path) -> MakeSite:
    def made(role: str = "", client_secret: str = SECRET, place: str = "") -> Site:
        place = place or f'kind = "mediawiki"\ntitle = "The <b>wiki"\nwiki = "{provider.base}"'
        path = tmp_path / "providers.toml"
        path.write_text(
            f'[wiki]\n{place}\nclient_id = "{CLIENT}"\nclient_secret = "{client_secret}"\n'
            f'role = "{role}"\n'
        )
        return make_site(**SERVER, oauth=str(path))

    return made


def away(client: TestClient, query: str = "") -> str:
    """The provider's address to which a login is redirected."""
    reply = client.get(HERE + query)
    assert reply.status_code == 303, reply.text
    return str(reply.headers["location"])


def back(client: TestClient, url: str) -> int:
    return client.get(url, headers=WAY_BACK).status_code


def test_a_new_user_gets_an_account_if_the_provider_has_a_role(
    make: MakeSite, provider: Provider
) -> None:
    site = make("editor")
    client = browser(site)
    reply = client.get(provider.allow(away(client, "?next=/history")), headers=WAY_BACK)
    assert (reply.status_code, reply.headers["location"]) == (303, "/history")
    me = client.get("/api/v1/me").json()
    assert (me["name"], me["role"]) == ("Ada W.", "editor")
    account = site.people.accounts.get(me["account_id"])
    assert account
    assert not account.has_password
    assert site.people.accounts.logins(account.account_id) == [("wiki", "Ada W.")]
    # And with the same account the next time, under whatever name they go there by then.
    provider.profile["username"] = "Ada Somebody"
    again = browser(site)
    assert back(again, provider.allow(away(again))) == 303
    assert again.get("/api/v1/me").json()["account_id"] == me["account_id"]
    agents = {headers["User-Agent"] for _, headers in provider.seen}
    assert agents == {oauth.AGENT}


def test_an_equal_name_does_not_open_an_account(make: MakeSite, provider: Provider) -> None:
    site = make("reader")
    admin = site.people.accounts.add("ada w.", Role.ADMIN, PASSWORD)
    client = browser(site)
    assert back(client, provider.allow(away(client))) == 303
    me = client.get("/api/v1/me").json()
    assert me["account_id"] != admin.account_id
    assert (me["name"], me["role"]) == ("Ada W. (wiki)", "reader")


@pytest.mark.parametrize(
    "name", ["\u202eevil", "", "  ", "a\nb", "x" * 500, "x" * 19 + " y", "<script>", "\ufdfa" * 60]
)
def test_names_of_the_provider_that_will_not_do_become_others(
    make: MakeSite, provider: Provider, name: str
) -> None:
    site = make("reader")
    provider.profile["username"] = name
    client = browser(site)
    assert back(client, provider.allow(away(client))) == 303
    called = client.get("/api/v1/me").json()["name"]
    assert called.isprintable()
    assert 1 <= len(called) <= 60


def test_a_logged_in_user_links_a_login(make: MakeSite, provider: Provider) -> None:
    site = make()
    ada = somebody(site, Role.EDITOR)
    url = away(ada.client, "?link=true&next=/account")
    assert back(ada.client, provider.allow(url)) == 303
    other = browser(site)
    assert back(other, provider.allow(away(other))) == 303
    assert other.get("/api/v1/me").json()["account_id"] == ada.account.account_id
    grace = somebody(site, Role.EDITOR, "Grace")
    assert back(grace.client, provider.allow(away(grace.client, "?link=true"))) == 409
    assert ada.client.post("/account/logins/wiki/unlink").status_code == 303
    assert back(browser(site), provider.allow(url)) == 400


def test_a_forged_attempt_links_nothing_by_key_or_old_session(
    make: MakeSite, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make()
    ada = somebody(site, Role.EDITOR)
    key = program(site, ada.account, ["read"])
    monkeypatch.setattr(login, "FRESH_SECONDS", -oauth.ATTEMPT_SECONDS - 1)
    for client, code in ((key, 401), (ada.client, 403)):
        callback = f"{site.server.address}{HERE}/callback"
        url, state, verifier = oauth.begin_login(site.people.providers["wiki"], callback)
        forged = oauth.Attempt("wiki", state, verifier, ada.account.account_id, "/").cookie()
        client.cookies.set(cookie_name(site.server, "login"), forged)
        assert back(client, provider.allow(url)) == code
    assert site.people.accounts.logins(ada.account.account_id) == []


def test_the_last_way_in_is_not_cut(make: MakeSite, provider: Provider) -> None:
    site = make("reader")
    client = browser(site)
    back(client, provider.allow(away(client)))
    token_of_session(client)
    problem(client.post("/account/logins/wiki/unlink"), 409, "last_way_in")
    # Who has just come from the provider needs no old password to set a first one.
    assert client.post("/account/password", data={"new": PASSWORD}).status_code == 303


def test_a_login_that_another_browser_began_is_refused(make: MakeSite, provider: Provider) -> None:
    """Login CSRF: the attacker's own login, finished in somebody else's browser."""
    site = make("reader")
    attacker, victim = browser(site), browser(site)
    url = provider.allow(away(attacker))
    away(victim)  # they have begun one of their own, too
    assert back(victim, url) == 400
    assert victim.get("/api/v1/me").status_code == 401


def test_a_login_comes_back_once_and_to_its_own_provider(
    make: MakeSite, provider: Provider
) -> None:
    site = make("reader")
    client = browser(site)
    url = provider.allow(away(client))
    assert back(client, url) == 303
    assert back(client, url) == 400
    assert back(client, provider.allow(away(client)).replace("/wiki/", "/other/")) == 404


def test_a_login_begins_here_and_ends_here(make: MakeSite, provider: Provider) -> None:
    client = browser(make("reader"))
    assert client.get(f"{HERE}?link=true").status_code == 401
    problem(client.get(HERE, headers=WAY_BACK), 403, "foreign_origin")
    [state] = parse_qs(urlsplit(away(client)).query)["state"]
    assert back(client, f"{HERE}/callback?error=access_denied&state={state}") == 403
    assert provider.seen == []
    url = provider.allow(away(client, "?next=//evil.example"))
    assert client.get(url, headers=WAY_BACK).headers["location"] == "/"


@each_row("server/oauth/without_a_role_or_a_proper_reply_there_is_no_login")
def test_without_a_role_or_a_proper_reply_there_is_no_login(
    make: MakeSite, provider: Provider, role: str, secret: str, token_reply: str, profile: Any
) -> None:
    site = make(role, client_secret=secret)
    client = browser(site)
    provider.broken, provider.profile = token_reply, profile
    assert back(client, provider.allow(away(client))) == 403
    assert client.get("/api/v1/me").status_code == 401
    assert site.people.accounts.list_accounts(10) == []


PATHS = ["/.well-known/openid-configuration", "/rest.php/oauth2/access_token"]
PATHS += ["/rest.php/oauth2/resource/profile"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("odd", [{"padding": oauth.MAX_BYTES}, {"pause": 0.05}], ids=str)
def test_an_endless_or_slow_reply_refuses_the_login(
    discovering: Callable[[], Site],
    provider: Provider,
    path: str,
    odd: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = browser(discovering())
    provider.odd_path = path
    vars(provider).update(odd)
    if "pause" in odd:
        monkeypatch.setattr(oauth, "SECONDS", 0.5)  # in total; no single byte is as late
    reply = client.get(HERE)
    if reply.status_code == 303:
        reply = client.get(provider.allow(str(reply.headers["location"])), headers=WAY_BACK)
    assert (reply.status_code, reply.json()["code"]) == (403, "login_refused")


@pytest.mark.parametrize("seconds", [60, 1, 0])
def test_a_short_lived_token_identifies_its_user(
    make: MakeSite, provider: Provider, seconds: int
) -> None:
    provider.lifetime = seconds
    client = browser(make("reader"))
    assert back(client, provider.allow(away(client))) == 303


def test_an_odd_name_at_the_provider_can_be_linked(make: MakeSite, provider: Provider) -> None:
    provider.profile["username"] = "\ud800\0"
    ada = somebody(make(), Role.EDITOR)
    assert back(ada.client, provider.allow(away(ada.client, "?link=true"))) == 303


def test_a_disabled_user_cannot_log_in(make: MakeSite, provider: Provider) -> None:
    site = make("reader")
    client = browser(site)
    assert back(client, provider.allow(away(client))) == 303
    site.people.accounts.change(client.get("/api/v1/me").json()["account_id"], disabled=True)
    assert back(client, provider.allow(away(client))) == 403


@pytest.fixture
def discovering(make: MakeSite, provider: Provider) -> Callable[[], Site]:
    """A site that knows only the issuer of its provider."""
    return partial(make, "editor", place=f'issuer = "{provider.base}"')


@pytest.mark.parametrize("methods", [None, ["client_secret_basic"], ["client_secret_post"]])
def test_an_issuer_states_its_endpoints(
    discovering: Callable[[], Site], provider: Provider, methods: list[str] | None
) -> None:
    if methods:
        provider.issuer = {"token_endpoint_auth_methods_supported": methods}
    site = discovering()
    assert provider.seen == []  # an unreachable issuer keeps no server from starting
    client = browser(site)
    provider.profile = {"sub": "17", "name": "Ada W."}
    assert back(client, provider.allow(away(client))) == 303
    assert client.get("/api/v1/me").json()["name"] == "Ada W."
    basic = [path for path, sent in provider.seen if sent.get("Authorization", "")[:5] == "Basic"]
    assert len(basic) == (methods != ["client_secret_post"])


@each_row("server/oauth/a_bad_discovery_refuses_the_login_until_it_is_mended")
def test_a_bad_discovery_refuses_the_login_until_it_is_mended(
    discovering: Callable[[], Site], provider: Provider, stated: dict[str, Any]
) -> None:
    client = browser(discovering())
    provider.issuer = stated
    problem(client.get(HERE), 403, "login_refused")
    provider.issuer = {}
    assert away(client).startswith(provider.base)


@each_row("server/oauth/incomplete_providers_stop_the_start")
def test_incomplete_providers_stop_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        oauth.providers(path)


def test_providers_need_the_servers_own_address() -> None:
    with pytest.raises(ConfigError, match=r"server\.address"):
        ServerSettings(mode="server", oauth="x.toml")
