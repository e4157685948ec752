"""A text to agree to and a password for all, before anything else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from server.people_of_tests import SERVER, browser

from pincite.errors import ConfigError
from pincite.server import accounts
from pincite.server.site import Site

TEXT = "We keep what you ask for 30 days.\n\n<b>Agree</b> or leave."
PASSWORD = "open sesame, please"
HTML = {"accept": "text/html"}


@pytest.fixture
def gated(make_site: Callable[..., Site], tmp_path: Path) -> TestClient:
    text = tmp_path / "consent.txt"
    text.write_text(TEXT, encoding="utf-8")
    hashed = accounts.hashed(PASSWORD)
    return browser(make_site(consent=str(text), gate_password=hashed, login_tries=3))


def given(client: TestClient, **fields: str) -> int:
    return client.post("/welcome", data={"next": "/history", **fields}).status_code


def test_nothing_is_seen_before(gated: TestClient) -> None:
    sent = gated.get("/history?kind=ask", headers=HTML)
    assert sent.headers["location"] == "/welcome?next=%2Fhistory%3Fkind%3Dask"
    for path in ("/api/v1/jobs", "/metrics", "/jobs/x"):
        assert gated.get(path).status_code in (303, 401)
    assert gated.post("/verify", data={"example": "vole"}).status_code == 401
    assert gated.get("/api/v1/jobs").json()["code"] == "gate_closed"
    assert gated.get("/healthz").status_code == 200


def test_who_agrees_and_knows_the_password_passes(gated: TestClient) -> None:
    page = gated.get("/welcome?next=/history")
    assert "&lt;b&gt;Agree&lt;/b&gt;" in page.text
    assert given(gated, agree="yes", password="wrong") == 403
    assert given(gated, password=PASSWORD) == 403
    assert gated.get("/history").status_code == 303
    passed = gated.post(
        "/welcome", data={"agree": "yes", "password": PASSWORD, "next": "//x.example"}
    )
    assert passed.headers["location"] == "/"
    assert gated.get("/history").status_code == 200
    assert gated.get("/api/v1/jobs").status_code == 200


def test_a_made_up_cookie_does_not_pass(gated: TestClient) -> None:
    gated.cookies.set("pincite_welcome", "0" * 64)
    assert gated.get("/history").status_code == 303


def test_passwords_cannot_be_tried_for_ever(gated: TestClient) -> None:
    tried = [given(gated, agree="yes", password=f"wrong number {n}") for n in range(5)]
    assert tried == [403, 403, 403, 429, 429]


def test_consent_alone_asks_people_and_no_programs(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    text = tmp_path / "consent.txt"
    text.write_text(TEXT, encoding="utf-8")
    client = browser(make_site(consent=str(text)))
    assert client.get("/").status_code == 303
    assert client.get("/api/v1/jobs").status_code == 200
    assert given(client, agree="yes") == 303
    assert client.get("/").status_code == 200


def test_it_stands_before_accounts_and_keys_pass_it(make_site: Callable[..., Site]) -> None:
    client = browser(make_site(**SERVER, gate_password=accounts.hashed(PASSWORD)))
    assert client.get("/login").headers["location"].startswith("/welcome")
    assert client.get("/api/v1/jobs").json()["code"] == "gate_closed"
    with_key = client.get("/api/v1/jobs", headers={"Authorization": "Bearer nobody's"})
    assert with_key.json()["code"] == "not_logged_in"


def test_without_a_gate_there_is_no_page_of_one(client: TestClient) -> None:
    assert client.get("/welcome").status_code == 404


@pytest.mark.parametrize("wrong", [{"gate_password": "plain"}, {"consent": "/no/such/file"}])
def test_settings_that_mean_nothing(make_site: Callable[..., Site], wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        browser(make_site(**wrong))
