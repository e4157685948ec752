"""Quotas of accounts, and a disk that is nearly full."""

from collections.abc import Iterator
from typing import Any

from fastapi.testclient import TestClient
from server.conftest import client_of
from server.corpora_of_tests import BRIDGE, C, checked, cited, hand_in, run_next, send, uploads
from server.people_of_tests import SERVER, MakeSite, problem, somebody

from pincite.durable import n_bytes
from pincite.settings import Settings
from pincite_server.app import create_app
from pincite_server.identity import Role
from pincite_server.site import Site

VERIFY = {"text": "A claim.<ref>A source.</ref>"}
FULL = 1e9  # megabytes that are to stay free: more than any disk here has
PAGE = {"Accept": "text/html"}


def refused(answer: Any, status: int, code: str, retryable: bool = True) -> str:
    body = problem(answer, status, code)
    assert body["retryable"] is retryable
    return str(body["detail"])


def verify(client: TestClient, **headers: str) -> Any:
    return client.post("/api/v1/verify", json=VERIFY, headers=headers)


def new_corpus(client: TestClient, name: str = "Bridges") -> str:
    return str(client.post(C, json={"name": name}).json()["corpus_id"])


def two_editors(site: Site) -> Iterator[TestClient]:
    app = create_app(site)
    return (somebody(site, Role.EDITOR, name, app).client for name in ("one", "other"))


# ── Jobs ─────────────────────────────────────────────────────────────────────────────────────────


def test_one_account_cannot_fill_the_queue(make_site: MakeSite, settings: Settings) -> None:
    site = make_site(settings, **SERVER, queue_each=2)
    many, other = two_editors(site)
    corpus_id = new_corpus(many)
    assert send(many, corpus_id, ("a.txt", BRIDGE)).status_code == 202  # counts as well
    assert verify(many).status_code == 202
    answer = verify(many)
    refused(answer, 429, "too_many_of_yours")
    assert int(answer.headers["retry-after"]) > 0
    refused(send(many, corpus_id, ("b.txt", BRIDGE)), 429, "too_many_of_yours")
    assert [path.name for path in uploads(site) if path.suffix] == ["00001.txt"]
    page = many.post("/verify", files={"article": (None, VERIFY["text"])}, headers=PAGE)
    assert page.status_code == 429
    assert verify(other).status_code == 202


def test_local_mode_has_no_limit_per_account(make_site: MakeSite) -> None:
    with client_of(make_site(queue_each=1)) as client:
        assert [verify(client).status_code for _ in range(3)] == [202] * 3


# ── The disk ─────────────────────────────────────────────────────────────────────────────────────


def test_a_disk_that_is_nearly_full_takes_nothing_new(make_site: MakeSite) -> None:
    site = make_site(disk_free_megabytes=FULL)
    with client_of(site) as client:
        refused(verify(client), 507, "disk_full")
        refused(send(client, new_corpus(client), ("a.txt", BRIDGE)), 507, "disk_full")
        assert uploads(site) == []
        assert site.jobs.list_jobs(None, 10) == []
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert [each["where"] for each in ready.json()["errors"]] == ["folder"]
        assert client.get("/corpora").status_code == 200  # reading goes on
        page = client.post("/verify", files={"article": (None, VERIFY["text"])}, headers=PAGE)
        assert page.status_code == 507


# ── What an account keeps ────────────────────────────────────────────────────────────────────────


def test_corpora_of_an_account_take_as_much_as_they_may(
    make_site: MakeSite, settings: Settings
) -> None:
    site = make_site(settings, **SERVER, account_megabytes=0.25)
    mine, other = two_editors(site)
    corpus_id = new_corpus(mine)
    large = b"word " * 40_000  # 0.2 MB
    assert "0.4 MB" in refused(
        send(mine, corpus_id, ("a.txt", large), ("b.txt", large)), 422, "account_full", False
    )
    assert uploads(site) == []
    assert send(mine, corpus_id, ("a.txt", large)).status_code == 202
    refused(send(mine, corpus_id, ("b.txt", large)), 422, "account_full", False)  # one waits
    run_next(site)
    taken = n_bytes(site.corpora.folder_of(corpus_id))
    detail = refused(send(mine, corpus_id, ("b.txt", large)), 422, "account_full", False)
    assert f"corpora {taken / 1e6:.1f} MB" in detail
    assert send(other, new_corpus(other), ("b.txt", large)).status_code == 202
    mine.delete(f"{C}/{corpus_id}")
    assert send(mine, new_corpus(mine), ("b.txt", large)).status_code == 202


def test_own_copies_count_with_the_corpora_of_an_account(
    make_site: MakeSite, settings: Settings
) -> None:
    site = make_site(settings, **SERVER, account_megabytes=0.25)
    mine = somebody(site, Role.EDITOR, "mine", create_app(site)).client
    job_id = checked(mine, site)
    book, page = cited(mine, job_id)[:2]
    text = "The bridge opened in 1911. " * 6_000  # 0.16 MB
    assert hand_in(mine, job_id, book, text=text).status_code == 201
    again = hand_in(mine, job_id, page, text=text)
    detail = refused(again, 422, "account_full", False)
    assert "own copies 0.2 MB" in detail
    assert uploads(site) == []
    assert len(mine.get("/api/v1/copies").json()["copies"]) == 1
    large = ("a.txt", b"word " * 40_000)
    refused(send(mine, new_corpus(mine), large), 422, "account_full", False)
