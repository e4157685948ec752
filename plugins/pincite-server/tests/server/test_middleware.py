"""Checks of Host and Origin, security headers, and rate limits."""

import pytest
from fastapi.testclient import TestClient
from server.people_of_tests import SERVER, MakeSite, app_of
from support.rows import each_row

from pincite_server.middleware import Buckets, address_of
from pincite_server.site import Site

LOCAL = "http://127.0.0.1:8765"
BROWSER = {"User-Agent": "Mozilla/5.0", "Host": "127.0.0.1:8765"}


def client_of(site: Site) -> TestClient:
    return TestClient(app_of(site), base_url=LOCAL, raise_server_exceptions=False)


@each_row("server/middleware/only_names_of_this_machine_are_answered_to")
def test_only_names_of_this_machine_are_answered_to(site: Site, host: str, status: int) -> None:
    reply = client_of(site).get("/healthz", headers={"Host": host})
    assert reply.status_code == status
    assert (reply.json().get("code") == "unknown_host") is (status == 421)


def test_two_headers_of_a_kind_are_refused(site: Site) -> None:
    headers = [("Host", "127.0.0.1"), ("Host", "evil.example")]
    assert client_of(site).get("/healthz", headers=headers).status_code == 421
    headers = [*BROWSER.items(), ("Origin", LOCAL), ("Origin", "http://evil.example")]
    body = {"example": "article"}
    assert client_of(site).post("/api/v1/verify", json=body, headers=headers).status_code == 403


@each_row("server/middleware/only_our_own_pages_and_programs_start_jobs")
def test_only_our_own_pages_and_programs_start_jobs(
    site: Site, headers: dict[str, str], allowed: bool
) -> None:
    body = {"example": "article"}
    reply = client_of(site).post("/api/v1/verify", json=body, headers=BROWSER | headers)
    assert reply.status_code == (202 if allowed else 403), reply.text
    assert bool(site.jobs.list_jobs(None, 9)) is allowed


@pytest.mark.parametrize(("origin", "status"), [("https", 401), ("http", 403)])
def test_where_cookies_need_https_pages_do_too(
    make_site: MakeSite, origin: str, status: int
) -> None:
    client = client_of(make_site(**SERVER))
    headers = {"Host": "pincite.example.org", "Origin": f"{origin}://pincite.example.org"}
    reply = client.post("/api/v1/verify", json={"example": "article"}, headers=headers)
    assert reply.status_code == status
    assert (reply.json()["code"] == "https_required") == (origin == "http")
    evil = client.post("/login", headers=headers | {"Origin": "http://evil.example"})
    assert evil.json()["code"] == "foreign_origin"


def test_other_sites_may_link_to_pages_but_not_embed_them(site: Site) -> None:
    client = client_of(site)
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    document = followed | {"Sec-Fetch-Dest": "document"}
    assert client.get("/help", headers=document).status_code == 200
    for dest in ("iframe", "embed", "object", ""):
        assert client.get("/help", headers=followed | {"Sec-Fetch-Dest": dest}).status_code == 403
    reply = client.get("/help")
    # "no-referrer" would make browsers send our own forms with `Origin: null`.
    assert reply.headers["referrer-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_bucket_fills_again(monkeypatch: pytest.MonkeyPatch) -> None:
    at = 1000.0
    monkeypatch.setattr("pincite_server.middleware.time.monotonic", lambda: at)
    bucket = Buckets(2, 60.0)
    assert [bucket.take("a") for _ in range(3)] == [0, 0, 30]
    assert bucket.take("b") == 0
    at += 30
    assert [bucket.take("a") for _ in range(2)] == [0, 30]
    bucket.put_back("a")
    for _ in range(5):
        bucket.put_back("b")  # never more than its size
    assert [bucket.take("b") for _ in range(3)] == [0, 0, 30]
    assert Buckets(0, 60.0).take("a") == 0


@each_row("server/middleware/an_ipv6_network_counts_as_one_address")
def test_an_ipv6_network_counts_as_one_address(client: str, address: str) -> None:
    assert address_of({"client": (client, 1)}) == address
