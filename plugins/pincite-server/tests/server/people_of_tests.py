"""Applications and accounts for tests, and clients that are logged in as them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute

from pincite_server.accounts import Account
from pincite_server.app import create_app
from pincite_server.identity import Role, csrf_of
from pincite_server.site import Site

MakeSite = Callable[..., Site]  # the fixture `make_site`
PASSWORD = "correct horse battery"
ORIGIN = "https://pincite.example.org"
SERVER = {"mode": "server", "address": ORIGIN, "login_tries": 1000}


_routes: list[BaseRoute] = []


def app_of(site: Site) -> FastAPI:
    """The application over a site.

    FastAPI prepares each route at its first request, which costs half a second for all of ours, and
    most tests make an application for a request or two. Routes know nothing of a site: that is
    `app.state`'s. So all applications of a process get those of its first one.
    """
    app = create_app(site)
    if not _routes:
        _routes.extend(app.router.routes)
    app.router.routes[:] = _routes
    return app


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The body of an error, as RFC 9457 and our documentation say."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert (body["status"], body["code"]) == (status, code)
    assert body["request_id"] == answer.headers["x-request-id"]
    return body


def client_at(site: Site, app: object | None = None) -> TestClient:
    return TestClient(
        app or app_of(site),  # type: ignore[arg-type]
        base_url=site.server.address or "http://127.0.0.1",
        raise_server_exceptions=False,
        follow_redirects=False,
    )


def browser(site: Site, app: object | None = None) -> TestClient:
    """An anonymous client at a server's address that sends a browser's headers."""
    client = client_at(site, app)
    client.headers |= {
        "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)",
        "Origin": str(client.base_url),
        "Sec-Fetch-Site": "same-origin",
    }
    return client


@dataclass(frozen=True)
class Somebody:
    """An account and a browser that is logged in."""

    account: Account
    client: TestClient


def somebody(
    site: Site, role: Role, name: str | None = None, app: object | None = None
) -> Somebody:
    """A new account; its client sends the session's cookie and CSRF token."""
    account = site.people.accounts.add(name or f"the {role.value}", role, PASSWORD)
    client = browser(site, app)
    log_in(client, account.name)
    return Somebody(account, client)


def log_in(client: TestClient, name: str, password: str = PASSWORD) -> None:
    reply = client.post("/login", data={"name": name, "password": password})
    assert reply.status_code == 303, reply.text
    token_of_session(client)


def token_of_session(client: TestClient) -> None:
    """Let the client send the CSRF token of its session, as our pages do."""
    *_, token = (value for name, value in client.cookies.items() if "session" in name)
    client.headers["X-CSRF-Token"] = csrf_of(token)


def program(
    site: Site, account: Account, scopes: Sequence[str], app: object | None = None
) -> TestClient:
    """A client with an API key, without cookies or a browser's headers."""
    _, text = site.people.keys.add(account.account_id, "test", scopes, 1)
    client = client_at(site, app)
    client.headers["Authorization"] = f"Bearer {text}"
    return client
