"""The pages of corpora, checks and answers as a browser without scripts meets them."""

import contextlib
import io
import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import ask_samples
import pytest
from check_samples import check_report
from fastapi.testclient import TestClient
from hostile import Page
from samples import HOSTILE
from server.corpora_of_tests import BRIDGE, C, filled, finished, ingested, run_next
from server.people_of_tests import SERVER, MakeSite, browser, somebody
from support.rows import text_of

from pincite.codec import to_json
from pincite.errors import PinciteError
from pincite.types import Reason
from pincite_server.corpora import Shared
from pincite_server.identity import Role
from pincite_server.ingesting import Unread
from pincite_server.jobs import Status
from pincite_server.requests import MOST_AT_ONCE
from pincite_server.site import Site

# All that our templates write; what a text smuggled in would be another, or have an address or a
# handler that runs.
TAGS = set(text_of("server/check_ask/tags.txt").split())


def assert_harmless(text: str) -> None:
    """A page has only our elements, and nothing in it runs or is loaded from elsewhere."""
    page = Page(text)
    assert set(page.tags) <= TAGS
    assert all(source.startswith("/static/") for source in page.all("src"))
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name != "style"
        if name in ("href", "src", "action") or name.startswith("hx-"):
            assert not value.strip().lower().startswith(("javascript:", "data:"))


READINGS = json.loads(text_of("server/check_ask/readings.json"))


@pytest.fixture
def corpus_id(client: TestClient, site: Site) -> str:
    return filled(client, site)


def post(client: TestClient, path: str, **fields: Any) -> Any:
    """Send a form as a browser does."""
    return client.post(path, data=fields, follow_redirects=False)


def request_of(site: Site, answer: Any) -> dict[str, Any]:
    """Of the job that a form started."""
    assert answer.status_code == 303, answer.text
    job = site.jobs.get(answer.headers["location"].removeprefix("/jobs/"))
    assert job
    return dict(job.request)


def test_only_offered_models_are_accepted(make_site: MakeSite) -> None:
    site = make_site(models=("small", "large"))
    chosen = {"confirmation": "model", "chat_url": "http://127.0.0.1:1/v1", "chat_model": "small"}
    client = browser(replace(site, settings=site.settings.replace(**chosen)))
    corpus_id = filled(client, site)
    shown = client.get("/check").text
    assert re.findall(r'<option value="(\w+)">(?:small|large)', shown) == ["small", "large"]
    asked = {"corpus": corpus_id, "statement": "It is old.", "temperature": "0.5"}
    request = request_of(site, post(client, "/check", **asked, chat_model="large"))
    assert request["settings"] == {"temperature": 0.5, "chat_model": "large"}
    assert '<option value="large" selected>' in client.get("/check").text
    refused = post(client, "/check", **asked, chat_model="another")
    assert (refused.status_code, "Choose one of the models." in refused.text) == (422, True)


# ── Check ────────────────────────────────────────────────────────────────────────────────────────


def test_readings_are_edited_without_scripts(
    client: TestClient, site: Site, corpus_id: str
) -> None:
    settings = {"published_from": "1900", "undated": "1"}
    step = {"statement": "It is old.", "corpus": corpus_id, "step": "readings", **settings}
    asked = request_of(site, post(client, "/check", **step))
    assert asked["only_readings"] is True
    assert asked["settings"] == {"published_from": "1900", "undated": True}
    site.jobs.take("w")
    job_id = finished(site, "check", json.dumps(READINGS), **asked)
    page = client.get(f"/jobs/{job_id}").text
    assert "It is old." in page
    assert "Ann says so." in page
    here = f"/jobs/{job_id}/readings"
    columns = ("text", "was", "negation", "kind", "keep")
    table = [
        ("It is old.", "It is old.", "It is not.", "descriptive", "1"),
        ("Ann says it is old.", "Ann says so.", "She does not.", "ascriptive", "1"),
        ("", "", "", "", "1"),  # the empty fields for another one
    ]
    rows = {
        f"{name}-{n}": value
        for n, values in enumerate(table)
        for name, value in zip(columns, values, strict=True)
    }
    assert 'name="text-2"' in page
    kept = request_of(site, post(client, here, **rows))["readings"]
    assert kept == [
        {"text": "It is old.", "kind": "descriptive", "negation": "It is not."},
        {"text": "Ann says it is old.", "kind": "ascriptive", "negation": ""},
    ]
    struck = {name: value for name, value in rows.items() if name != "keep-0"}
    again = request_of(site, post(client, here, **struck))
    assert [each["text"] for each in again["readings"]] == ["Ann says it is old."]
    assert again["settings"] == asked["settings"]
    assert again["readings_of"] == job_id
    listed = re.findall(r'<li><a href="/jobs/([^"]+)"', client.get("/history").text)
    assert job_id not in listed, "its two checks are listed instead"
    assert len(listed) == len(set(listed)) > 1
    assert job_id in {each["job_id"] for each in client.get("/api/v1/jobs").json()["jobs"]}
    none = post(client, here, **{"text-0": "x"})
    assert none.status_code == 422


SIX = [f"The bridge was opened in 191{n}." for n in range(6)]
FORMS = [("check", "statement", "checks"), ("ask", "question", "answers")]


@pytest.mark.parametrize(("kind", "field", "results"), FORMS)
def test_pasted_lines_are_shown_then_run_as_one_job(
    client: TestClient, site: Site, corpus_id: str, kind: str, field: str, results: str
) -> None:
    form = {field: "\r\n".join(SIX), "corpus": corpus_id, "top_k": "3"}
    shown = post(client, f"/{kind}", **form)
    assert shown.status_code == 200
    assert re.findall(r'<li dir="auto">([^<]+)', shown.text) == SIX
    (typed,) = re.findall(r"<textarea[^>]*>\n([^<]+)", shown.text)
    assert len(site.jobs.list_jobs("local", 9, kinds=(kind,))) == 0
    asked = request_of(site, post(client, f"/{kind}", **{**form, field: typed}, step="evidence"))
    assert asked[field] == SIX
    job_id = run_next(site)
    events = client.get(f"/api/v1/jobs/{job_id}/events").json()["events"]
    places = [(e["data"]["number"], e["data"]["total"]) for e in events if e["kind"] == "item"]
    assert places == [(n, 6) for n in range(1, 7)]
    report = client.get(f"/api/v1/jobs/{job_id}/result").json()
    assert [each[field] for each in report[results]] == SIX
    page = client.get(f"/jobs/{job_id}").text
    prefix = results.removesuffix("s")
    links = re.findall(rf'href="#({prefix}-\d)"', page)
    assert links == [f"{prefix}-{n}" for n in range(1, 7)]
    assert all(f'id="{each}"' in page for each in links)
    rows = client.get(f"/jobs/{job_id}/report.csv")
    assert rows.headers["content-type"].startswith("text/csv")
    assert set(SIX) <= set(rows.text.replace("\n", ",").split(","))
    assert client.get("/history").text.count("/jobs/") == 2  # this, and the files of the corpus
    if kind == "check":  # each statement leads to its own readings
        (form_of_one, *others) = re.findall(
            r'<form method="post" action="/check">.*?</form>', page, re.S
        )
        assert len(others) == 5
        sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form_of_one))
        sent |= {"statement": SIX[0]}
        one = request_of(
            site, post(client, "/check", **{k: v for k, v in sent.items() if k != "csrf"})
        )
        assert (one["statement"], one["only_readings"]) == (SIX[0], True)
        assert (one["corpus"], one["settings"]) == (asked["corpus"], asked["settings"])


@pytest.mark.parametrize(("kind", "field", "_results"), FORMS)
def test_pasted_lines_can_be_one_text_and_are_limited(
    client: TestClient, site: Site, corpus_id: str, kind: str, field: str, _results: str
) -> None:
    form = {field: "\n".join(SIX), "corpus": corpus_id, "step": "one"}
    assert request_of(site, post(client, f"/{kind}", **form))[field] == " ".join(SIX)
    many = "\n\n".join(map(str, range(MOST_AT_ONCE + 1)))
    refused = post(client, f"/{kind}", **{field: many}, corpus=corpus_id)
    assert refused.status_code == 422
    assert f'id="fault-{field}"' in refused.text
    assert f"at most {MOST_AT_ONCE}" in refused.text
    sent = {field: many.split(), "corpus": corpus_id}
    assert client.post(f"/api/v1/{kind}", json=sent).json()["errors"][0]["where"].endswith(field)
    listed = client.post(f"/api/v1/{kind}", json={field: [*SIX], "corpus": corpus_id})
    assert listed.json()["request"][field] == SIX


@pytest.mark.parametrize(("kind", "field", "_results"), FORMS)
def test_a_file_of_lines_is_read_with_the_form(
    client: TestClient, site: Site, corpus_id: str, kind: str, field: str, _results: str
) -> None:
    sent = b"\xef\xbb\xbf# a list\r\nThe old\r\nBridge.\r\n"
    form = {field: SIX[0], "corpus": corpus_id, "step": "evidence"}
    for data, found in ((sent, [SIX[0], "The old Bridge."]), (b"", SIX[0])):
        answer = client.post(
            f"/{kind}", data=form, files={"file": ("a.txt", data)}, follow_redirects=False
        )
        assert request_of(site, answer)[field] == found
    rejected = client.post(f"/{kind}", data={field: ""}, files={"file": ("a.txt", b"\0\xff")})
    assert rejected.status_code == 422


# ── Corpora ──────────────────────────────────────────────────────────────────────────────────────


def test_corpus_is_managed_by_forms(client: TestClient, site: Site) -> None:
    made = post(client, "/corpora", name="Mine", about="Things.")
    here = made.headers["location"]
    assert "This corpus is empty." in client.get(here).text
    parts = [("files", ("<i>.txt", io.BytesIO(BRIDGE)))]
    sent = client.post(f"{here}/documents", files=parts, follow_redirects=False)
    assert sent.status_code == 303
    assert "Files are being added" in client.get(here).text
    run_next(site)
    assert "Go to the corpus" in client.get(sent.headers["location"]).text
    page = client.get(here, params={"q": "bridge opened"}).text
    assert "&lt;i&gt;.txt" in page
    assert "<i>.txt" not in page
    found = re.search(r'href="(/corpora/[^"]+passage=[^"]+)"', page)
    assert found
    document = client.get(unescape(found[1])).text
    assert '<mark id="passage"' in document
    assert 'role="alert"' in client.get(here, params={"q": "x", "by": "magic"}).text
    assert 'role="alert"' in client.get(here, params={"q": "x", "published_from": "May"}).text
    post(client, here, name="Ours", about="")
    assert "Ours" in client.get("/corpora").text
    assert post(client, f"{here}/delete", name="Mine").status_code == 422
    doc = unescape(found[1]).partition("?")[0]
    assert post(client, f"{doc}/delete", csrf="").headers["location"] == here
    assert post(client, f"{here}/delete", name="Ours").headers["location"] == "/corpora"
    assert client.get(here).status_code == 404


@pytest.mark.parametrize("root", ["", "/api/v1"])
def test_an_upload_needs_the_sessions_token(make_site: MakeSite, root: str) -> None:
    site = make_site(**SERVER)
    anna = somebody(site, Role.EDITOR).client
    corpus_id = anna.post(C, json={"name": "Mine"}).json()["corpus_id"]
    token = anna.headers.pop("X-CSRF-Token")
    parts = [("files", ("a.txt", io.BytesIO(BRIDGE)))]
    here = f"{root}/corpora/{corpus_id}/documents"
    assert anna.post(here, files=parts, data={"csrf": "wrong"}).status_code == 403
    assert anna.post(here, files=parts).status_code == 403
    assert not list((site.server.folder / "uploads").iterdir())
    assert anna.post(here, files=parts, data={"csrf": token}).status_code in (202, 303)
    kept = anna.post(here, files=parts, headers={"X-CSRF-Token": token})
    assert kept.status_code in (202, 303)


@pytest.mark.parametrize("language", ["en", "de"])
def test_hostile_texts_are_escaped(client: TestClient, site: Site, language: str) -> None:
    url = "javascript:alert(1)"
    for text in HOSTILE:
        answers = ask_samples.answer_report(ask_samples.hostile(text, url), note=text)
        readings = {
            **READINGS,
            "readings": [{"text": text, "kind": "descriptive", "negation": text}],
        }
        for kind, result in (
            ("check", check_report(text, url).to_json()),
            ("check", json.dumps(readings)),
            ("ask", answers.to_json()),
        ):
            asked = {"statement": text, "question": text, "corpus": "x"}
            job_id = finished(site, kind, result, **asked)  # type: ignore[arg-type]
            page = client.get(f"/jobs/{job_id}", headers={"accept-language": language})
            assert page.status_code == 200, page.text
            assert_harmless(page.text)


def test_hostile_names_are_escaped(make_site: MakeSite) -> None:
    site = make_site(**SERVER)
    admin = somebody(site, Role.ADMIN)
    owner = admin.account.account_id
    texts = [text for text in HOSTILE if "\ud800" not in text]
    for text in texts:
        with contextlib.suppress(PinciteError):  # not every text may be a name
            site.people.accounts.add(text, Role.READER)
        with contextlib.suppress(PinciteError):
            site.corpora.add(owner, text, about=text, shared=Shared.EVERYBODY)
    result = to_json(ingested(*(Unread(text, text, Reason.UNDECODABLE, text) for text in texts)))
    job = site.jobs.submit(owner, "ingest", texts[0], {"corpus": "x"})
    site.jobs.take("w")
    site.jobs.finish(job.job_id, "w", Status.DONE, result=result)
    for path in ("/admin/accounts", "/corpora", "/history", f"/jobs/{job.job_id}"):
        page = admin.client.get(path)
        assert page.status_code == 200
        assert_harmless(page.text)
