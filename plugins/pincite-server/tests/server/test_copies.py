"""Own copies on the server: handed in at a finding, read by the next run, nobody else's.

Forms bring them; what is refused and why, they say themselves, whoever sends it.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from documents.builders import locked_pdf
from server.conftest import client_of
from server.corpora_of_tests import (
    BOOK,
    checked,
    checked_book,
    cited,
    copy_of,
    hand_in,
    page_of,
    run_well,
)
from server.people_of_tests import PASSWORD, SERVER, MakeSite, Somebody, problem, somebody

from pincite.library import private_copies
from pincite.library.private_copies import OwnCopies, attach, named_source
from pincite.settings import Settings
from pincite_server.identity import Role
from pincite_server.private_copies import OF_ACCOUNTS, AccountCopies
from pincite_server.site import Site
from pincite_server.tables import accounts, feedback

SECRET = "secret sentence"  # of the book
SITE = SERVER


@pytest.fixture
def ada(site: Site) -> Somebody:
    return somebody(site, Role.EDITOR, "Ada")


# ── From handing in to the verdict ───────────────────────────────────────────────────────────────


def test_a_copy_from_the_form_to_the_verdict(site: Site, ada: Somebody) -> None:
    job_id, book = checked_book(ada.client, site)
    before = ada.client.get(f"/api/v1/jobs/{job_id}/result").content
    reply = hand_in(ada.client, job_id, book, ("harbour.txt", BOOK.encode()))
    assert reply.status_code == 201, reply.text
    said = reply.json()
    assert said["ref"] == f"The Harbour of Varde ({book[1]} of Varde)"
    assert (said["name"], said["n_words"]) == ("harbour.txt", len(BOOK.split()))
    assert (said["language"], said["pages"], said["n_pages"]) == ("en", None, 0)

    again = ada.client.post(f"/jobs/{job_id}/again", data={"nothing": "1"})
    assert again.status_code == 303
    run_well(site)
    new = again.headers["location"].removeprefix("/jobs/")
    assert new != job_id
    assert ada.client.get(f"/api/v1/jobs/{job_id}/result").content == before
    report = ada.client.get(f"/api/v1/jobs/{new}/result").json()
    results = [c for f in report["findings"] for c in f["citations"]]
    (result,) = [c for c in results if c["citation_id"] == "r1"]
    assert result["label"] == "supported", result
    assert f"own:{said['sha256']}" in json.dumps(result)
    assert SECRET not in json.dumps(report)
    assert str(site.server.folder) not in json.dumps(report)
    shown = ada.client.get(f"/jobs/{new}?claim={book[0]}").text
    assert "<mark>The bridge of Varde opened in 1911.</mark>" in shown
    assert re.search(r"<li><bdi>harbour.txt</bdi> → <bdi>The Harbour of Varde</bdi>", shown)
    assert SECRET in shown  # the text around the quote, for whose copy it is


def test_a_text_is_pasted_with_pages(site: Site, ada: Somebody) -> None:
    job_id = checked(ada.client, site)
    book, page, _ = cited(ada.client, job_id)
    reply = hand_in(ada.client, job_id, book, text="The bridge\r\nopened. " * 9, pages="120-135")
    assert reply.status_code == 201, reply.text
    assert reply.json()["pages"] == [120, 135]
    assert reply.json()["name"] == "pasted.txt"
    long = "The tram reached the harbour in 1922. " * 50_000
    reply = hand_in(ada.client, job_id, page, text=long)
    assert reply.status_code == 201, reply.text
    assert reply.json()["ref"].startswith("Tram (r2 of Varde)")
    reply = hand_in(ada.client, job_id, page, text=long * 2)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_form")
    assert "2,000,000" in reply.json()["detail"]
    assert not list((site.server.folder / "uploads").iterdir())


def test_a_copy_is_replaced_for_its_source_and_removed(site: Site, ada: Somebody) -> None:
    job_id, book = checked_book(ada.client, site)
    old = hand_in(ada.client, job_id, book, ("draft.txt", b"Nothing is said here.")).json()
    there = f"/copies/{old['sha256']}/replace"
    assert there in ada.client.get("/copies").text
    refused = ada.client.post(there, files={"file": ("locked.pdf", b"")})
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text
    assert ada.client.get(there, follow_redirects=False).headers["location"] == "/copies"
    sent = {"file": ("harbour.txt", BOOK.encode())}
    assert ada.client.post(there, files=sent, follow_redirects=False).status_code == 303
    (new,) = ada.client.get("/api/v1/copies").json()["copies"]
    assert (new["name"], new["ref"]) == ("harbour.txt", old["ref"])
    assert ada.client.post(there, files=sent).status_code == 404
    assert not list((site.server.folder / "uploads").iterdir())
    report = ada.client.get(f"/api/v1/jobs/{checked(ada.client, site)}/result").json()
    copies = [c["copy"] for f in report["findings"] for c in f["citations"]]
    assert [copy["file"] for copy in copies if copy] == ["harbour.txt"]
    assert 'href="/copies"' in ada.client.get("/account").text
    for status in (303, 404):
        removed = ada.client.post(f"/copies/{new['sha256']}/remove", data={"nothing": "1"})
        assert removed.status_code == status
    assert "harbour.txt" not in ada.client.get("/copies").text


# ── Whose it is ──────────────────────────────────────────────────────────────────────────────────


def with_copy(site: Site, who: Somebody) -> tuple[str, str]:
    """Job and document id of an own copy that a finding quotes."""
    first, book = checked_book(who.client, site)
    sent = hand_in(who.client, first, book, ("harbour.txt", BOOK.encode()))
    assert sent.status_code == 201, sent.text
    job_id = checked(who.client, site)
    report = who.client.get(f"/api/v1/jobs/{job_id}/result").json()
    evidence = [c["evidence"] for f in report["findings"] for c in f["citations"]]
    (quoted,) = filter(None, evidence)
    return job_id, quoted["doc_id"]


def test_copies_are_private_to_their_owner(site: Site, ada: Somebody) -> None:
    admin, grace = somebody(site, Role.ADMIN), somebody(site, Role.EDITOR, "Grace")
    job_id, doc_id = with_copy(site, ada)
    (copy,) = ada.client.get("/api/v1/copies").json()["copies"]
    text = f"/api/v1/jobs/{job_id}/files/{doc_id}"
    assert SECRET in ada.client.get(text).text
    book = cited(ada.client, job_id)[0]
    for other in (admin.client, grace.client):
        assert other.get("/api/v1/copies").json()["copies"] == []
        assert other.delete(f"/api/v1/copies/{copy['sha256']}").status_code == 404
        here = f"/jobs/{job_id}"
        for path in (text, here, f"{here}?claim={book[0]}", f"{here}/report.html"):
            assert SECRET not in other.get(path).text, path
    assert hand_in(grace.client, job_id, book, ("a.txt", b"x")).status_code == 404
    # Grace's job on the same article reads nothing of Ada's.
    hers = checked(grace.client, site)
    assert "own:" not in grace.client.get(f"/api/v1/jobs/{hers}/result").text
    assert ada.client.delete(f"/api/v1/copies/{copy['sha256']}").status_code == 204
    assert ada.client.get("/api/v1/copies").json()["copies"] == []
    assert not list((site.own.folder(ada.account.account_id) / "files").iterdir())


def test_share_links_and_exports_contain_only_quotes(site: Site, ada: Somebody) -> None:
    job_id, _ = with_copy(site, ada)
    made = ada.client.post(f"/jobs/{job_id}/links", data={"days": "1"}).text
    link = re.findall(r"/s/[\w-]{43}", made)[0]
    stranger = client_of(site)
    stranger.headers["Host"] = "pincite.example.org"
    book = cited(ada.client, job_id)[0]
    for client, path in (
        (stranger, f"{link}?claim={book[0]}"),
        (stranger, f"{link}?claim={book[0]}&threshold=0.4"),
        (ada.client, f"/jobs/{job_id}/report.html"),
        (ada.client, f"/jobs/{job_id}/report.wikitext"),
        (ada.client, f"/api/v1/jobs/{job_id}/result"),
        (ada.client, f"/api/v1/jobs/{job_id}/events"),
    ):
        reply = client.get(path)
        assert reply.status_code == 200, (path, reply.text)
        assert SECRET not in reply.text, path
    shown = stranger.get(f"{link}?claim={book[0]}").text
    assert "The bridge of Varde opened in 1911." in shown
    assert "Upload your own copy" not in shown
    assert "/again" not in shown
    for item in ("", f"{book[0]}/{book[1]}"):
        said = {"job_id": job_id, "item": item, "verdict": "right"}
        reply = ada.client.post("/api/v1/feedback", json=said)
        assert reply.status_code == 204, reply.text
    for form in ("claims", "opinions"):
        exported = ada.client.get(f"/api/v1/feedback/export?format={form}")
        assert exported.status_code == 200
        assert SECRET not in exported.text
    with site.database.reading() as db:
        rows = db.execute(feedback.select()).all()
    assert len(rows) == 2
    assert SECRET not in str(rows)


def test_local_mode_shares_copies_with_the_command_line(
    make_site: MakeSite, tmp_path: Path
) -> None:
    shelf = tmp_path / "shelf"
    site = make_site(Settings.of(own_copies=str(shelf)))
    client = client_of(site)
    sent = hand_in(client, *checked_book(client, site), ("a.txt", BOOK.encode()))
    assert sent.status_code == 201
    (copy,) = OwnCopies(shelf).all()
    assert copy.sha256 == sent.json()["sha256"]
    assert (shelf.stat().st_mode & 0o777) == 0o700
    assert not (site.server.folder / "own").exists()
    site.tidy()
    assert "own:" in client.get(f"/api/v1/jobs/{checked(client, site)}/result").text


def test_operators_own_copies_are_not_used_for_accounts(
    make_site: MakeSite, tmp_path: Path
) -> None:
    shelf = OwnCopies(tmp_path / "operators")
    path = tmp_path / "tram.txt"
    path.write_text("The tram reached the harbour in 1922. " * 5)
    attach(shelf, named_source("https://a.example/tram"), path)
    assert shelf.all()
    site = make_site(Settings.of(own_copies=str(shelf.folder)), **SERVER)
    ada = somebody(site, Role.EDITOR, "Ada")
    job_id = checked(ada.client, site)
    assert "own:" not in ada.client.get(f"/api/v1/jobs/{job_id}/result").text


@pytest.mark.parametrize("owner", ["", "..", "../x", "a/b", "/etc", "a\0", "x" * 41, "a\n"])
def test_invalid_account_ids_are_refused(site: Site, owner: str) -> None:
    with pytest.raises(ValueError, match="an account id"):
        site.own.folder(owner)


def test_unwritable_copies_folder_is_a_503(site: Site, ada: Somebody) -> None:
    job_id, book = checked_book(ada.client, site)
    shelves = site.server.folder / OF_ACCOUNTS
    shelves.write_bytes(b"no folder")
    reply = hand_in(ada.client, job_id, book, ("a.txt", b"The bridge opened."))
    assert (reply.status_code, reply.json()["code"]) == (503, "not_kept")
    assert str(site.server.folder) not in reply.text


# ── One's data ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("killed", [False, True])
def test_deleting_an_account_deletes_its_copies(
    site: Site, ada: Somebody, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    grace = somebody(site, Role.EDITOR, "Grace")
    for who, n in ((ada, 1), (grace, 2)):
        site.own.of(who.account.account_id).attach(copy_of(n), b"x")
    unmarked = site.own.of("A" * 22)
    unmarked.attach(copy_of(3), b"x")
    shelf = site.own.folder(ada.account.account_id)
    if killed:
        monkeypatch.setattr(AccountCopies, "tidy", lambda *_: None)
    assert ada.client.post("/account/delete", data={"password": PASSWORD}).status_code == 303
    assert shelf.exists() == killed
    monkeypatch.undo()
    site.tidy()
    assert not shelf.exists()
    assert site.own.of(grace.account.account_id).all()
    assert unmarked.all()


def test_copy_added_during_account_deletion_is_deleted(site: Site, ada: Somebody) -> None:
    job_id, book = checked_book(ada.client, site)

    def slowly(*given: Any, **named: Any) -> Any:
        kept = attach(*given, **named)
        with site.database.writing() as db:
            db.execute(accounts.delete().where(accounts.c.account_id == ada.account.account_id))
        return kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_copies, "attach", slowly)
        assert hand_in(ada.client, job_id, book, ("a.txt", b"The bridge.")).status_code == 404
    assert not site.own.folder(ada.account.account_id).exists()


# ── What is kept, and what is refused ────────────────────────────────────────────────────────────

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
    ada: Somebody, site: Site, file: Any, fields: dict[str, str], code: str, words: str
) -> None:
    client = ada.client
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


def test_copy_needs_an_existing_identifiable_citation(ada: Somebody, site: Site) -> None:
    client = ada.client
    job_id = checked(client, site)
    book, page, oral = cited(client, job_id)
    file = ("a.txt", b"The bridge opened.")
    for wrong in (("", ""), (book[0], page[1]), ("x" * 9_000, "r1")):
        assert hand_in(client, job_id, wrong, file).status_code == 404, wrong
    problem(hand_in(client, job_id, oral, file), 422, "unknown_source")
    other = site.jobs.submit(ada.account.account_id, "verify", "t", {"text": "x"})
    assert hand_in(client, other.job_id, book, file).status_code == 404
    assert client.post(f"/jobs/{other.job_id}/nothing").status_code == 404
    problem(client.post(f"/api/v1{page_of(job_id, book)}", json={}), 422, "invalid_form")


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_hostile_file_names_are_escaped(ada: Somebody, site: Site, number: int) -> None:
    client = ada.client
    job_id, book = checked_book(client, site)
    reply = hand_in(client, job_id, book, (NAMES[number], b"The bridge opened in 1911."))
    assert reply.status_code == 201, reply.text
    shelf = site.own.folder(ada.account.account_id)
    assert [p.name for p in (shelf / "files").iterdir()] == [reply.json()["sha256"]]
    for path in ("/copies", f"/jobs/{job_id}?claim={book[0]}&copy={reply.json()['sha256']}"):
        assert "<img src=x" not in client.get(path).text


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_hostile_copies_are_stored_or_refused(ada: Somebody, site: Site, number: int) -> None:
    client = ada.client
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
