"""Every route of the application, asked by everybody: refused exactly as it declares.

The table is made from the routes themselves. A new route is in it at once, and fails here until it
says who may use it; a new kind of thing in an address, until this file knows whose one to try.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import ask_samples
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.testclient import TestClient
from server.corpora_of_tests import copy_of, finished
from server.people_of_tests import SERVER, MakeSite, browser, program, somebody
from support.rows import rows

from pincite.library.feedback import Opinion
from pincite_server import identity
from pincite_server.app import create_app
from pincite_server.corpora import Shared
from pincite_server.identity import Permission, Role, csrf_of, permissions_of
from pincite_server.middleware import SAFE
from pincite_server.routing import cookie_name
from pincite_server.site import Site

OWN = {"session_user", "account_owner"}  # of a login, not of a key
REFUSED = {401: {"not_logged_in"}, 403: {"not_allowed", "not_by_key"}}
# Routes of libraries, which no dependency of ours can be given: what each shows is public.
NOT_OURS = {"/api/v1/openapi.json"}
# What is no secret by itself: a part of what the rest of the address names, or of a public route.
OPEN = {"provider", "token", "name", "digest", "doc_id", "passage_id", "claim_id"} | {
    *("link", "position", "rater", "act", "citation_id")
}
SITE = {**SERVER, "requests_a_minute": 0}


@dataclass(frozen=True)
class Entry:
    """A row of the table."""

    method: str
    path: str
    declared: str

    @property
    def parameters(self) -> list[str]:
        return [
            part[1:-1].partition(":")[0].lstrip("_")
            for part in self.path.split("/")
            if part[:1] == "{"
        ]

    def at(self, ids: dict[str, str]) -> str:
        """Its address, with ids in it."""
        parts = [
            ids[part[1:-1].partition(":")[0].lstrip("_")] if part[:1] == "{" else part
            for part in self.path.split("/")
        ]
        return "/".join(parts)


def table(app: Any) -> Iterator[Entry]:
    for found in iter_route_contexts(app.routes):
        if found.path in NOT_OURS or not isinstance(found.original_route, APIRoute):
            assert found.path in NOT_OURS, f"{found.path}: a route that can declare nothing"
            continue
        said = set(declared(found.original_route.dependant))
        methods = sorted(found.methods or ())
        where = f"{methods} {found.path}"
        assert len(said) == 1, f"{where} declares {said or 'nothing'}: see identity.needs, PUBLIC"
        for method in methods:
            yield Entry(method, found.path or "", said.copy().pop())


def asked(client: TestClient, entry: Entry, address: str) -> Any:
    """With an empty body of the kind that it takes."""
    page = entry.method == "POST" and not entry.path.startswith("/api/")
    body: dict[str, Any] = {"data": {"nothing": "1"}} if page else {"json": {}}
    return client.request(entry.method, address, **body)


def declared(dependant: Dependant) -> Iterator[str]:
    for each in dependant.dependencies:
        said = identity.declares(each.call)
        if said:
            yield said
        else:
            yield from declared(each)


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """One event loop for all requests: a client that is given none starts a thread for each."""
    with start_blocking_portal() as found:
        yield found


@pytest.fixture
def ids(site: Site) -> dict[str, str]:
    """Objects of an account that is none of the callers'."""
    owner = site.people.accounts.add("the owner", Role.EDITOR).account_id
    job = site.jobs.submit(owner, "verify", "t", {"example": "article"})
    link, _ = site.people.links.add(job.job_id, 1)
    key, _ = site.people.keys.add(owner, "k", [Permission.READ], 1)
    site.people.sessions.begin(owner)
    corpus = site.corpora.add(owner, "c", shared=Shared.PRIVATE)
    opinion = Opinion(**{field.name: "{}" for field in fields(Opinion)})
    site.feedback.add(owner, job.job_id, "right", opinion)
    return {
        "account_id": owner,
        "job_id": job.job_id,
        "link_id": link.link_id,
        "key_id": key.key_id,
        "corpus_id": corpus.corpus_id,
        "provider": "somewhere",
        "sha256": site.own.of(owner).attach(copy_of(9), b"9").sha256,
    }


def callers(
    site: Site, app: Any, portal: BlockingPortal
) -> Iterator[tuple[str, set[str], TestClient]]:
    """Name, permissions, and a newly logged-in client (an earlier request may log out)."""

    def client_of(client: TestClient) -> TestClient:
        client.portal = portal
        return client

    yield "nobody", {"public"}, client_of(browser(site, app))
    found = {each.name: each for each in site.people.accounts.list_accounts(100)}
    for role in Role:
        account = found.get(role.value) or site.people.accounts.add(role.value, role)
        client = client_of(browser(site, app))
        token = site.people.sessions.begin(account.account_id)
        client.cookies.set(cookie_name(site.server), token, domain="pincite.example.org")
        client.headers["X-CSRF-Token"] = csrf_of(token)
        yield role.value, {"public", "any_user", *OWN, *permissions_of(role)}, client
        if role is Role.ADMIN:
            for may in sorted(permissions_of(role)):
                key = client_of(program(site, account, [may], app))
                yield f"key for {may}", {"public", "any_user", may}, key


def refusal(reply: Any) -> str:
    """How our guards refused; empty: they did not."""
    if reply.headers.get("content-type") != "application/problem+json":
        return ""
    code = str(reply.json()["code"])
    return code if code in REFUSED.get(reply.status_code, ()) else ""


def expected(entry: Entry, name: str, may: set[str]) -> str:
    if entry.declared in may:
        return ""
    if name == "nobody":
        return "not_logged_in"
    return "not_by_key" if entry.declared in OWN else "not_allowed"


def test_every_route_enforces_its_declared_permission(
    site: Site, ids: dict[str, str], portal: BlockingPortal
) -> None:
    app = create_app(site)
    entries = list(table(app))
    assert len(entries) > 10
    wrong = []
    for entry in entries:
        known = ids | dict.fromkeys(OPEN, "x")
        unknown = set(entry.parameters) - set(known)
        assert not unknown, f"{entry.path}: say in `ids` what {unknown} is"
        for name, may, client in callers(site, app, portal):
            reply = asked(client, entry, entry.at(known))
            if refusal(reply) != expected(entry, name, may) or reply.status_code >= 500:
                wrong.append((entry, name, reply.status_code, reply.text[:200]))
    assert not wrong


FORM = re.compile(r'<form[^>]*?method="post"[^>]*?action="([^"?#]+)')


def test_pages_show_only_the_forms_that_the_role_may_use(
    site: Site, portal: BlockingPortal
) -> None:
    app = create_app(site)
    shared = site.corpora.add("another", "c", shared=Shared.EVERYBODY).corpus_id
    result = ask_samples.everything().to_json()
    entries = list(table(app))
    posts = {
        re.compile(re.sub(r"{[^}]+}", "[^/]+", entry.path)): entry.declared
        for entry in entries
        if entry.method == "POST"
    }
    pages = [e for e in entries if e.method == "GET" and not e.parameters and "api" not in e.path]
    shown: dict[str, set[str]] = {}
    for name, may, client in callers(site, app, portal):
        if name.startswith("key"):  # of a program, which sees no pages
            continue
        account = site.people.accounts.by_name(name)
        job = finished(site, "ask", result, owner=account.account_id) if account else ""
        for address in [*(entry.path for entry in pages), f"/corpora/{shared}", f"/jobs/{job}"]:
            actions = FORM.findall(client.get(address, headers={"Accept": "text/html"}).text)
            shown.setdefault(name, set()).update(actions)
            for action in actions:
                declared = {may for path, may in posts.items() if path.fullmatch(action)}
                assert declared <= may, (name, address, action)
    assert {"/verify", "/check", "/ask", "/corpora"} <= shown["editor"]
    assert "/admin/accounts" in shown["admin"]
    for role, may_run in (("editor", True), ("reader", False)):
        assert any(action.endswith("/feedback") for action in shown[role]) is may_run


def test_every_change_within_a_session_needs_its_csrf_token(
    site: Site, ids: dict[str, str], portal: BlockingPortal
) -> None:
    app = create_app(site)
    client = somebody(site, Role.ADMIN, app=app).client
    client.portal = portal
    client.headers["X-CSRF-Token"] = "wrong"
    for entry in table(app):
        if entry.method not in SAFE and entry.path != "/login":
            address = entry.at(ids | dict.fromkeys(OPEN, "x"))
            reply = asked(client, entry, f"{address}?claim=x&citation=x")
            assert (reply.status_code, reply.json()["code"]) == (403, "csrf"), entry


def test_objects_of_others_look_missing(
    site: Site, ids: dict[str, str], portal: BlockingPortal
) -> None:
    app = create_app(site)
    wrong, tried = [], 0
    for entry in table(app):
        mine = set(entry.parameters) - OPEN
        if not mine or entry.declared == "public":
            continue
        for name, may, client in callers(site, app, portal):
            if entry.declared not in may or Permission.ADMIN.value in may:
                continue
            tried += 1
            there = entry.at(ids | dict.fromkeys(OPEN, "x"))
            reply = asked(client, entry, there)
            never = entry.at(
                dict.fromkeys(OPEN, "x") | dict.fromkeys(mine, "A" * 22) | {"sha256": "a" * 64}
            )
            nothing = asked(client, entry, never)
            if reply.status_code == nothing.status_code in (303, 422):
                continue  # a redirect; or the body is looked at first, whatever is there
            blank = {"instance": "", "request_id": ""}
            if reply.status_code != 404 or reply.json() | blank != nothing.json() | blank:
                wrong.append((entry, name, reply.status_code, reply.text[:200]))
    assert not wrong
    assert tried > 5


def test_lists_show_own_objects_only(
    site: Site, ids: dict[str, str], portal: BlockingPortal
) -> None:
    app = create_app(site)
    for _, may, client in callers(site, app, portal):
        for entry in table(app):
            if entry.method != "GET" or entry.parameters or entry.declared not in may:
                continue
            if Permission.ADMIN.value in may:
                continue
            text = client.get(entry.path).text
            assert not [each for each in ids.values() if each in text and len(each) > 20], entry


@pytest.mark.parametrize("mode", ["local", "server"])
def test_every_route_refuses_foreign_hosts_and_origins(
    make_site: MakeSite, mode: str, portal: BlockingPortal
) -> None:
    site = make_site(**(SERVER if mode == "server" else {}), requests_a_minute=0)
    app = create_app(site)
    client = browser(site, app)
    client.portal = portal
    for entry in table(app):
        address = entry.at(dict.fromkeys(entry.parameters, "x"))
        for headers, only_changes in rows("server/routes/foreign_requests"):
            if only_changes and entry.method in SAFE:
                continue
            if "Host" in headers and entry.path.startswith("/static/"):
                continue  # the style of the page that refuses
            reply = client.request(entry.method, address, json={}, headers=headers)
            assert reply.status_code in (403, 421), (entry, headers, reply.text)
            assert reply.json()["code"] in ("unknown_host", "foreign_origin")
