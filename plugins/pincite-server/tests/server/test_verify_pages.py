"""The box of `verify` and its result, as a browser without scripts meets them."""

import dataclasses
import re
from collections.abc import Mapping
from html import unescape
from typing import Any, get_args

import pytest
from fastapi.testclient import TestClient
from samples import report
from server.conftest import client_of
from server.corpora_of_tests import finished, run_next, uploads
from server.people_of_tests import SERVER, MakeSite, somebody
from support.articles import parse_article
from support.rows import each_row, text_of

from pincite.judgement.findings import relabel
from pincite.settings import Settings
from pincite.types import Label
from pincite.verbs.verify import build
from pincite.wiki.article import read_articles
from pincite_server.identity import Role
from pincite_server.jobs import Status
from pincite_server.requests import EXAMPLES, Example
from pincite_server.routes.findings import Verified, coverage_at, edit_link, edit_summary, report_at
from pincite_server.site import Site
from pincite_server.tables import Kind, now
from pincite_server.verifying import THRESHOLDS, blocks_of

FILES = "/verify"
ARTICLE = text_of("server/verify_pages/article.wiki")
PAGE = (
    b'<!doctype html><title>Bridge</title><link rel="canonical" href="https://a.example/bridge">'
    b"<p>The bridge of Varde opened in 1911, and the mayor of the town spoke.</p>"
)


def post(client: TestClient, path: str, fields: Mapping[str, str]) -> Any:
    """Send a form as a browser does: the one of an article may have files."""
    parts = {name: (None, value) for name, value in fields.items()}
    form: dict[str, Any] = {"files": parts} if path == FILES else {"data": fields}
    return client.post(path, **form, follow_redirects=False)


def sent(
    client: TestClient, files: list[tuple[str, bytes]], field: str = "sources", **fields: str
) -> Any:
    parts = [(field, file) for file in files]
    return client.post(FILES, data=fields, files=parts, follow_redirects=False)


def test_the_api_takes_an_article_with_copies_of_its_sources(
    site: Site, client: TestClient
) -> None:
    data = {"article": ARTICLE, "title": "Varde"}
    files = {"sources": ("bridge.html", PAGE)}
    reply = client.post("/api/v1/verify/files", data=data, files=files)
    assert reply.status_code == 202, reply.text
    run_next(site)
    report = client.get(reply.json()["links"]["result"]).json()
    assert report["findings"]
    assert "supported" in {finding["label"] for finding in report["findings"]}
    refused = client.post("/api/v1/verify/files", data=data, files={"source": files["sources"]})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_form")
    assert "'sources'" in refused.json()["detail"]


@pytest.mark.parametrize("kind", get_args(Kind))
def test_progress_of_every_kind_of_job(site: Site, client: TestClient, kind: Kind) -> None:
    job = site.jobs.submit("local", kind, "Varde", {})
    assert "Waiting" in client.get(f"/jobs/{job.job_id}/progress").text
    site.jobs.take("w")
    steps: list[list[tuple[str, dict[str, str]]]]
    steps = [[], [("started", {})], [("note", {"text": "a <b>"})]]
    for told in steps:
        site.jobs.add_events(job.job_id, "w", told)
        shown = client.get(f"/jobs/{job.job_id}/progress")
        assert shown.status_code == 200
        assert "<progress" in shown.text
    site.jobs.finish(job.job_id, "w", Status.FAILED, problem={"detail": "It broke."})
    assert "It broke." in client.get(f"/jobs/{job.job_id}/progress").text


# ── What is missing ──────────────────────────────────────────────────────────────────────────────


@each_row("server/verify_pages/form_shows_errors_beside_their_fields")
def test_form_shows_errors_beside_their_fields(
    client: TestClient, path: str, fields: dict[str, str], field: str, said: str
) -> None:
    answer = post(client, path, fields)
    assert answer.status_code == 422
    fault = re.search(rf'<p class="fault" role="alert" id="fault-{field}">([^<]+)', answer.text)
    assert fault
    assert said in unescape(fault[1])
    assert "<b>" not in answer.text
    for value in fields.values():
        if "Kept" in value:
            assert value in unescape(answer.text)
    client.headers["Accept-Language"] = "de"
    german = post(client, path, fields).text
    assert f'id="fault-{field}"' in german
    assert said not in german


def test_rejected_form_with_files_stores_nothing(client: TestClient, site: Site) -> None:
    answer = sent(client, [("a.pdf", b"%PDF")], article="", title="Kept")
    assert answer.status_code == 422
    assert 'id="fault-article"' in answer.text
    assert 'value="Kept"' in answer.text
    assert not uploads(site)
    assert not site.jobs.list_jobs(None, 5)
    assert 'name="article"' in client.get(FILES, follow_redirects=False).text


def test_article_over_the_limit_is_refused(make_site: MakeSite) -> None:
    site = make_site(body_megabytes=0.01)
    with client_of(site) as client:
        answer = sent(client, [("long.wiki", b"x" * 20_000)], field="file")
        assert answer.status_code == 422
        assert re.search('id="fault-article">This is too long', answer.text)
        assert not uploads(site)


# ── Sources ──────────────────────────────────────────────────────────────────────────────────────


def test_upload_without_sources_is_removed(client: TestClient, site: Site) -> None:
    parts = [("file", ("varde.wiki", ARTICLE.encode())), ("sources", ("", b""))]
    form: dict[str, Any] = {"data": {"title": "Varde"}, "files": parts}
    answer = client.post(FILES, **form, follow_redirects=False)
    job = site.jobs.get(answer.headers["location"].removeprefix("/jobs/"))
    assert job
    assert job.title == "Varde"
    assert "upload" not in job.request
    assert site.jobs.full_request(job)["text"] == ARTICLE
    assert not uploads(site)


def test_sources_are_matched_and_unused_files_listed(client: TestClient, site: Site) -> None:
    hostile = "<img src=x onerror=alert(1)>.txt"
    files = [
        ("mine/bridge.html", PAGE),
        (hostile, b"Some words that nobody cites."),
        ("x.zip", b""),
    ]
    answer = sent(client, files, article=ARTICLE, title="Varde")
    job_id = run_next(site)
    assert answer.headers["location"] == f"/jobs/{job_id}"
    page = unescape(client.get(f"/jobs/{job_id}").text)
    assert "3 files uploaded; 1 matched." in page
    assert "2 files were left out:" in page
    assert page.count('<span class="why">') >= 2
    assert "<img" not in client.get(f"/jobs/{job_id}").text
    findings = client.get(f"/api/v1/jobs/{job_id}/result").json()["findings"]
    by_claim = sorted(findings, key=lambda finding: str(finding["claim"]))
    bridge, tram = (each["citations"][0] for each in by_claim)
    assert bridge["evidence"]["passage"]
    assert tram["unchecked"]["reason"] == "not_supplied"
    result = client.get(f"/api/v1/jobs/{job_id}/result").text
    assert str(site.server.folder) not in result
    assert "unpacked" not in result
    view = site.jobs.file(job_id, "view")
    assert view
    assert list(view["precision"]) == [f"{threshold:.2f}" for threshold in THRESHOLDS]
    # They stay as long as the job: it can be run again.
    site.tidy()
    again = client.post(f"/jobs/{job_id}/again", data={"csrf": ""}, follow_redirects=False)
    assert run_next(site) == again.headers["location"].removeprefix("/jobs/")
    assert "3 files uploaded; 1 matched." in client.get(again.headers["location"]).text
    corrected = {"text": ARTICLE.replace("1911", "1912")}
    again = client.post(f"/jobs/{job_id}/again", data=corrected, follow_redirects=False)
    assert run_next(site) == again.headers["location"].removeprefix("/jobs/")
    page = unescape(client.get(again.headers["location"]).text)
    assert "3 files uploaded; 1 matched." in page
    assert "The bridge of Varde opened in 1912.<ref>" in page  # in the text box
    assert not list((site.server.folder / "unpacked").iterdir())
    site.jobs.delete_older(now() + 60)
    site.tidy()
    assert not uploads(site)


def test_request_cannot_name_an_upload(client: TestClient, site: Site) -> None:
    sent(client, [("bridge.html", PAGE)], article=ARTICLE)
    (job,) = site.jobs.list_jobs(None, 5)
    body = {"text": ARTICLE, "upload": job.request["upload"], "files": job.request["files"]}
    assert client.post("/api/v1/verify", json=body).status_code == 422


def test_sources_count_towards_the_quota(make_site: MakeSite) -> None:
    site = make_site(**SERVER, account_megabytes=0.001)
    anna = somebody(site, Role.EDITOR).client
    assert sent(anna, [("bridge.html", PAGE)], article=ARTICLE).status_code == 303
    refused = sent(anna, [("b.txt", b"x" * 900)], article=ARTICLE)
    assert refused.status_code == 422
    assert "sources of articles" in refused.text
    assert len([path for path in uploads(site) if path.name != "lock"]) == 1


def test_pasted_prose_is_a_text_and_named_by_its_bold_subject(
    client: TestClient, site: Site
) -> None:
    for text, title in (
        ("Wexmoor Lido opened in 1936 beside the river.", "Untitled"),
        (f"'''Wexmoor Lido''' is a pool.\n{ARTICLE}", "Wexmoor Lido"),
    ):
        assert post(client, FILES, {"article": text}).status_code == 303
        (job, *_) = site.jobs.list_jobs(None, 5)
        assert job.title == title
        assert site.jobs.full_request(job)["text"] == text.strip()
    assert post(client, FILES, {"article": "Wexmoor Lido"}).status_code == 422  # offline


# ── The result ───────────────────────────────────────────────────────────────────────────────────


def verified(**changed: Any) -> Verified:
    made = dataclasses.replace(report(), settings={"verify.threshold": 0.3}, **changed)
    return Verified(made, {})


def ended(site: Site, found: Verified, corpus: str | None = None) -> str:
    files = {"view": dict(found.view)} if found.view else {}
    result = found.report.to_json()
    return finished(site, result=result, files=files, text="Varde", corpus=corpus)


def test_finding_links_to_its_section_in_the_wiki(client: TestClient, site: Site) -> None:
    found = verified(
        title="A & B", revision_id="7", url="https://en.wikipedia.org/w/index.php?oldid=7"
    )
    claim_id = found.report.findings[0].claim.claim_id
    block = {"section": 2, "kind": "paragraph", "text": "x", "label": "", "claims": []}
    blocks = [block, block | {"claims": [(0, 1, claim_id)]}]
    found = dataclasses.replace(found, view={"blocks": blocks})
    link = "https://en.wikipedia.org/w/index.php?title=A_%26_B&action=edit&section=2"
    assert edit_link(found, claim_id) == (link, "en.wikipedia.org")
    page = client.get(f"/jobs/{ended(site, found)}").text
    assert f'href="{link}"'.replace("&", "&amp;") in page
    assert "Edit this section on Wikipedia" in page
    assert "Edit this section" not in client.get(f"/jobs/{ended(site, verified())}").text


@pytest.mark.parametrize(
    "url", [None, "javascript:alert(1)//index.php?oldid=7", "https://w.example/wiki/A?oldid=7"]
)
def test_no_edit_link_without_a_known_wiki(url: str | None) -> None:
    found = verified(revision_id="7", url=url)
    assert edit_link(found, found.report.findings[0].claim.claim_id) is None


def test_sections_are_numbered_as_in_the_wiki() -> None:
    text = (
        "A lead.<ref>https://a.example/0</ref>\n== One ==\nNothing cited.\n=== Under ===\n"
        "The bridge opened in 1911.<ref>https://a.example/1</ref>\n== Two ==\n"
        "The tram came in 1922.<ref>https://a.example/2</ref>"
    )
    article = parse_article(text, "Varde")
    blocks = blocks_of(article, "wikitext")
    found = {claim_id: block["section"] for block in blocks for *_, claim_id in block["claims"]}
    by_text = {claim.text: found[claim.claim_id] for claim in article.claims}
    assert by_text == {"A lead.": 0, "The bridge opened in 1911.": 2, "The tram came in 1922.": 3}


def test_flags_follow_the_threshold() -> None:
    made = verified()
    for threshold in (0.05, 0.3, 0.95):
        at = report_at(made, threshold)
        labels = at.counts.labels
        uses = sum(
            len(f.citations) - sum(c.label is Label.UNCHECKED for c in f.citations)
            for f in at.findings
            if f.label in (Label.REFUTED, Label.NOT_SUPPORTED)
        )
        found = dict(coverage_at(made.report, at))
        assert found["flagged"] == uses
        assert bool(uses) == bool(labels[Label.REFUTED] + labels[Label.NOT_SUPPORTED])


@pytest.mark.parametrize("part", ["board", "finding"])
def test_a_script_gets_only_the_part_that_it_replaces(
    client: TestClient, site: Site, part: str
) -> None:
    where = f"/jobs/{ended(site, verified())}?threshold=0.5"
    piece = client.get(where, headers={"HX-Target": part}).text.strip()
    assert re.match(rf'<\w+ id="{part}"', piece)
    assert piece in client.get(where).text


def test_an_edit_summary_names_the_sources_by_their_titles() -> None:
    found = report("The mill opened in 1911.").findings[0]
    assert "“The mill opened in 1911.”" in edit_summary(found)
    assert edit_summary(dataclasses.replace(found, citations=())) == ""


# ── Drafts ───────────────────────────────────────────────────────────────────────────────────────

DRAFT = text_of("server/verify_pages/draft.wiki")


@pytest.mark.parametrize("uploaded", [True, False])
def test_a_draft_is_summed_up_on_one_screen(site: Site, client: TestClient, uploaded: bool) -> None:
    fields = {"title": "Varde", "draft": "1"}
    if uploaded:
        reply = sent(client, [("draft.wiki", DRAFT.encode())], "file", **fields)
    else:
        reply = post(client, "/verify", fields | {"article": DRAFT})
    address = reply.headers["location"]
    assert "<progress" in client.get(address).text
    run_next(site)
    shown = client.get(address).text
    heads = [int(head) for head in re.findall(r"<h2>(\d+) ", shown)]
    assert len(heads) == 4
    assert heads[2:] == [1, 1]
    assert "utm_source=chatgpt.com" in shown
    assert "<b>" not in shown
    report = re.search(r'href="(/jobs/[^"/]+)"', shown)
    assert report
    assert f'href="{address}"' in client.get(report[1]).text


# ── The view stored with a report, and labels at another threshold ──────────────────────────────


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_claim_stands_in_the_article(name: Example) -> None:
    example = EXAMPLES[name]
    article = next(iter(read_articles(example.folder / "article.wiki", title=example.title)))
    blocks = blocks_of(article, "wikitext")
    marked = {
        claim_id: block["text"][start:stop]
        for block in blocks
        for start, stop, claim_id in block["claims"]
    }
    assert set(marked) == {claim.claim_id for claim in article.claims}
    for claim in article.claims:
        assert marked[claim.claim_id].split()[-1] in claim.text
    assert "heading" in {block["kind"] for block in blocks}


def test_claims_do_not_overlap_and_html_is_read_too() -> None:
    source = '<p>One thing<sup class="reference"><a href="#n">[1]</a></sup> and another.</p>'
    article = parse_article(source, "T", markup="html")
    for block in blocks_of(article, "html"):
        ends = [end for start, stop, _ in block["claims"] for end in (start, stop)]
        assert ends == sorted(ends)


def flag(label: Label) -> Label:
    """The passage that denies a claim is not known where another one bore it out at first."""
    return Label.NOT_SUPPORTED if label is Label.REFUTED else label


@pytest.mark.parametrize("name", ["inventor", "vole"])
@pytest.mark.parametrize("threshold", [0.15, 0.5, 0.75])
def test_as_a_run_at_that_threshold(name: Example, threshold: float) -> None:
    example = EXAMPLES[name]
    article = next(iter(read_articles(example.folder / "article.wiki", title=example.title)))
    with build.verifying(Settings(), None, [example.folder / "sources"], keep=False) as run:
        first = list(run.pipeline.findings(article))
        other = dataclasses.replace(run.pipeline, threshold=threshold)
        wanted = list(other.findings(article))
    found = [relabel(finding, threshold) for finding in first]
    assert [(flag(f.label), f.missing) for f in found] == [
        (flag(f.label), f.missing) for f in wanted
    ]
    assert [[flag(c.label) for c in f.citations] for f in found] == [
        [flag(c.label) for c in f.citations] for f in wanted
    ]
    assert {f.label for f in found} > {Label.UNCHECKED}
