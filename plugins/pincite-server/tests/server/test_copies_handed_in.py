"""Own copies as forms bring them: what is kept, what is refused and why, whoever sends it."""

import re
from pathlib import Path
from typing import Any

import pytest
from documents.builders import locked_pdf
from fastapi.testclient import TestClient
from server.conftest import client_of
from server.own_copies import checked, checked_book, cited, hand_in, page_of
from server.people_of_tests import MakeSite

from pincite.settings import Settings
from pincite_server.site import Site

NAMES = ["../../../etc/x.txt", "<img src=x onerror=alert(1)>.txt", "\u202egpj.txt", "x" * 2_000]
NAMES += ["C:\\a\\b.txt", "a\r\nb.txt", "con", ".hidden", "%00.txt", '"; DROP.txt', "n\0ul.txt"]
TEXTS = [
    b"<title>\xed\xa0\x80 half</title><p>The bridge opened in 1911, they say.</p>",
    b'<script type="application/ld+json">{"@type":"Article","headline":"\\ud800 x"}</script>'
    b"<article><h1>x</h1><p>The bridge opened in 1911, they say in town.</p></article>",
    b"<html><body><p><script>alert(1)</script>The bridge of the town opened.</p></body></html>",
    "\u202eThe bridge \u0000 opened \ufeff in 1911 \U0010ffff.".encode(),
    b"<p>" * 20_000 + b"The bridge opened.",
]


@pytest.fixture
def site(make_site: MakeSite, tmp_path: Path) -> Site:
    return make_site(Settings.of(own_copies=str(tmp_path / "shelf")))


@pytest.mark.parametrize(
    ("file", "fields", "code", "words"),
    [
        (None, {}, "no_file", "file"),
        (None, {"text": " \n "}, "no_file", "file"),
        (("a.txt", b"x"), {"text": "y"}, "no_file", "file"),
        (("a.txt", b"text"), {"pages": "one"}, "invalid_pages", "120-135"),
        (("a.txt", b"text"), {"pages": "9-3"}, "invalid_pages", "120-135"),
        (("a.txt", b""), {}, "unreadable_copy", "empty"),
        (("a.pdf", locked_pdf()), {}, "unreadable_copy", "without a password"),
        (("a.png", b"\x89PNG\r\n\x1a\n" + bytes(99)), {}, "unreadable_copy", "a picture"),
    ],
)
def test_unusable_copies_are_refused_with_a_reason(
    client: TestClient, site: Site, file: Any, fields: dict[str, str], code: str, words: str
) -> None:
    job_id, book = checked_book(client, site)
    reply = hand_in(client, job_id, book, file, **fields)
    assert (reply.status_code, reply.json()["code"]) == (422, code), reply.text
    assert words in reply.json()["detail"]
    assert reply.headers["content-type"] == "application/problem+json"
    assert client.get("/api/v1/copies").json() == {"copies": []}
    # The page says it at the finding.
    parts = {"file": (file[0], file[1])} if file else {"file": ("", b"")}
    shown = client.post(page_of(job_id, book), data=fields, files=parts)
    assert shown.status_code == 422
    alert = re.search(r'<p role="alert" class="fault">(.*?)</p>', shown.text)
    assert alert, shown.text
    assert 'id="finding"' in shown.text
    assert not list((site.server.folder / "uploads").iterdir())


def test_copy_needs_an_existing_identifiable_citation(client: TestClient, site: Site) -> None:
    job_id = checked(client, site)
    book, page, oral = cited(client, job_id)
    file = ("a.txt", b"The bridge opened.")
    for wrong in (("", ""), (book[0], page[1]), ("x" * 9_000, "r1")):
        assert hand_in(client, job_id, wrong, file).status_code == 404, wrong
    reply = hand_in(client, job_id, oral, file)
    assert (reply.status_code, reply.json()["code"]) == (422, "unknown_source")
    other = site.jobs.submit("local", "verify", "t", {"text": "x"})
    assert hand_in(client, other.job_id, book, file).status_code == 404
    assert client.post(f"/jobs/{other.job_id}/nothing").status_code == 404
    reply = client.post(f"/api/v1{page_of(job_id, book)}", json={})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_form")


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_hostile_file_names_are_escaped(
    client: TestClient, site: Site, tmp_path: Path, number: int
) -> None:
    job_id, book = checked_book(client, site)
    reply = hand_in(client, job_id, book, (NAMES[number], b"The bridge opened in 1911."))
    assert reply.status_code == 201, reply.text
    shelf = site.own.folder("local")
    assert [p.name for p in (shelf / "files").iterdir()] == [reply.json()["sha256"]]
    for path in ("/copies", f"/jobs/{job_id}?claim={book[0]}&copy={reply.json()['sha256']}"):
        assert "<img src=x" not in client.get(path).text


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_hostile_copies_are_stored_or_refused(client: TestClient, site: Site, number: int) -> None:
    job_id, book = checked_book(client, site)
    reply = hand_in(client, job_id, book, ("a.html", TEXTS[number]))
    assert reply.status_code in (201, 422), reply.text
    assert client.get("/copies").status_code == 200
    assert client.get("/api/v1/copies").status_code == 200
    assert "<script>alert" not in client.get("/copies").text
    checked(client, site)


def test_oversized_copies_are_refused(make_site: MakeSite) -> None:
    site = make_site(upload_megabytes=0.1)
    client = client_of(site)
    job_id, book = checked_book(client, site)
    for path in (f"/api/v1/jobs/{job_id}/copies", page_of(job_id, book)):
        reply = client.post(path, files={"file": ("a.txt", b"x" * 200_000)})
        assert reply.status_code == 413
    assert client.get("/api/v1/copies").json()["copies"] == []
