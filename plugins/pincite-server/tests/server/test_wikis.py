"""Which origins may ask what, with which token (CORS), and that nobody else gained by it."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from samples import report
from server.corpora_of_tests import filled, finished, run_next
from server.people_of_tests import SERVER, MakeSite, app_of, problem, somebody
from support.rows import rows, text_of

from pincite.errors import ConfigError
from pincite.types import DecidedBy, Label, Opinion, Verdict
from pincite_server import wikis
from pincite_server.identity import Role
from pincite_server.settings import ServerSettings
from pincite_server.site import Site

WIKI, OTHER = "https://en.wiki.example", "https://evil.example"
LOCAL = "http://127.0.0.1:8765"
PAGE = text_of("server/wikis/page.html")
SITE = {"wikis": (WIKI,)}


def client_of(site: Site, origin: str = WIKI, token: str | None = None) -> TestClient:
    token = wikis.browser_token(site.server.folder) if token is None else token
    client = TestClient(app_of(site), base_url=LOCAL, raise_server_exceptions=False)
    client.headers |= {"User-Agent": "Mozilla/5.0", "Sec-Fetch-Site": "cross-site"}
    client.headers |= {"Origin": origin, "Authorization": f"Bearer {token}"}
    return client


def readable_by(reply: Any) -> str | None:
    """Which origin's pages a browser lets read the reply."""
    assert "access-control-allow-credentials" not in reply.headers
    found: str | None = reply.headers.get("access-control-allow-origin")
    return found


@pytest.mark.parametrize("origin", [WIKI, OTHER, "null", f"{WIKI}.evil.example", LOCAL])
def test_only_the_wiki_may_use_the_allowed_routes(site: Site, origin: str) -> None:
    client = client_of(site, origin)
    for method, path, allowed in rows("server/wikis/routes"):
        asked = {"Access-Control-Request-Method": method}
        preflight = client.options(path, headers=asked)
        reply = client.request(method, path, json={} if method == "POST" else None)
        if origin == WIKI and allowed:
            assert preflight.status_code == 200, path
            assert readable_by(preflight) == readable_by(reply) == WIKI
            assert method in preflight.headers["access-control-allow-methods"]
            assert reply.status_code in (200, 404, 422), path
        elif origin == WIKI:
            assert preflight.status_code == 403, path
            assert reply.status_code in (403, 404), path
        else:
            assert readable_by(preflight) is None, path
            assert readable_by(reply) is None, path
            assert preflight.status_code == 403, path
            assert reply.status_code in (403, 404), "another site's page"


def test_preflight_for_a_private_network(site: Site) -> None:
    asked = {"Access-Control-Request-Method": "POST"}
    client = client_of(site)
    name = "access-control-allow-private-network"
    assert name not in client.options("/api/v1/verify", headers=asked).headers
    asked |= {"Access-Control-Request-Private-Network": "true"}
    assert client.options("/api/v1/verify", headers=asked).headers[name] == "true"
    assert name not in client_of(site, OTHER).options("/api/v1/verify", headers=asked).headers


@pytest.mark.parametrize("token", ["", "wrong", "Bearer x"])
def test_wiki_needs_the_token(site: Site, token: str) -> None:
    wikis.browser_token(site.server.folder)
    reply = client_of(site, token=token).post("/api/v1/verify", json={"text": "Varde"})
    assert (reply.status_code, readable_by(reply)) == (401, WIKI)
    assert site.jobs.list_jobs("local", 5) == []


def test_token_is_stable_and_private(site: Site) -> None:
    token = wikis.browser_token(site.server.folder)
    assert len(token) >= 20
    assert wikis.browser_token(site.server.folder) == token
    assert (site.server.folder / wikis.FILE).stat().st_mode & 0o077 == 0


def test_wiki_needs_a_key_in_server_mode_and_cookies_are_ignored(make_site: MakeSite) -> None:
    site = make_site(wikis=(WIKI,), **SERVER)
    client = somebody(site, Role.EDITOR).client
    client.headers |= {"Origin": WIKI, "Sec-Fetch-Site": "cross-site"}
    problem(client.post("/api/v1/verify", json={"text": "Varde"}), 401, "not_logged_in")


def test_cors_is_disabled_by_default(make_site: MakeSite) -> None:
    site = make_site()
    reply = client_of(site, token="x").post("/api/v1/verify", json={"text": "Varde"})
    assert (reply.status_code, readable_by(reply)) == (403, None)
    assert not (site.server.folder / wikis.FILE).exists()


@pytest.mark.parametrize(
    "origin", ["en.wiki.example", f"{WIKI}/wiki", "ftp://en.wiki.example", "*"]
)
def test_invalid_origins_are_a_config_error(origin: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.wikis"):
        ServerSettings(wikis=(origin,))


# ── Citations in short ───────────────────────────────────────────────────────────────────────────


def test_wiki_gets_better_sources_from_the_corpus_of_the_form(site: Site) -> None:
    own = TestClient(app_of(site), base_url=LOCAL)
    sent = {"text": PAGE, "markup": "html"}

    def corpus(client: TestClient) -> str | None:
        found: str | None = client.post("/api/v1/verify", json=sent).json()["request"].get("corpus")
        return found

    assert corpus(client_of(site)) is None
    run_next(site)
    corpus_id = filled(own, site)
    assert corpus(client_of(site)) == corpus_id
    assert corpus(own) is None, "other programs name the corpus"


def test_citations_of_a_verified_revision(site: Site) -> None:
    client = client_of(site)
    sent = {"text": PAGE, "markup": "html", "title": "Varde", "revision": 7}
    job_id = client.post("/api/v1/verify", json=sent).json()["job_id"]
    wanted = {"title": "Varde", "revision": "7", "note": "cite_note-ü_b-1"}
    assert client.get("/api/v1/citations", params=wanted).status_code == 404, "not judged yet"
    run_next(site)
    (claim,) = client.get(f"/api/v1/jobs/{job_id}/citations").json()
    assert claim["claim"] == "The bridge of Varde opened in 1911."
    (cited,) = claim["citations"]
    assert 'id="cite_ref-1"' in PAGE[slice(*cited["at"])]
    assert cited["url"] == "https://a.example/bridge"
    assert cited["unchecked"]
    assert cited["step"]
    told = [e["data"] for e in client.get(f"/api/v1/jobs/{job_id}/events").json()["events"]]
    assert [cited["at"]] in [data.get("at") for data in told]
    known = client.get("/api/v1/citations", params=wanted)
    assert (known.status_code, known.json()) == (200, [claim])
    for other in ({"revision": "8"}, {"title": "Skeld"}, {"note": "cite_note-b-2"}):
        assert client.get("/api/v1/citations", params=wanted | other).status_code == 404
    german = client.get(f"/api/v1/jobs/{job_id}/citations", headers={"Accept-Language": "de"})
    assert german.json()[0]["verdict"] != claim["verdict"]


@pytest.mark.parametrize(
    ("label", "by", "named"),
    [
        (Label.REFUTED, DecidedBy.MODEL, True),
        (Label.NOT_SUPPORTED, DecidedBy.BOTH, False),
        (Label.DISPUTED, DecidedBy.MODEL, False),
    ],
)
def test_a_verdict_names_the_model_that_alone_decided(
    site: Site, label: Label, by: DecidedBy, named: bool
) -> None:
    opinion = Opinion(Verdict.CONTRADICTED, "qwen3@127.0.0.1", ("In 1911.",), (), "It was.", 0)
    first, *others = report().findings
    told = replace(first, label=label, decided_by=by, opinion=opinion)
    found = replace(report(), findings=(told, *others), settings={"verify.threshold": 0.3})
    job_id = finished(site, result=found.to_json(), text="Varde", wiki=WIKI)
    claim, other, *_ = client_of(site).get(f"/api/v1/jobs/{job_id}/citations").json()
    assert ("qwen3@127.0.0.1" in claim["verdict"]) is named
    assert any("qwen3@127.0.0.1" in line for line in claim["opinion"])
    assert any("In 1911." in line for line in claim["opinion"])
    assert other["opinion"] == []


def test_findings_of_one_wiki_are_not_served_to_another(make_site: MakeSite) -> None:
    second = "https://de.wiki.example"
    site = make_site(wikis=(WIKI, second))
    sent = {"text": PAGE, "markup": "html", "title": "Varde", "revision": 7, "wiki": second}
    wanted = {"title": "Varde", "revision": "7", "note": "cite_note-ü_b-1", "wiki": WIKI}
    job_id = client_of(site).post("/api/v1/verify", json=sent).json()["job_id"]
    run_next(site)
    assert client_of(site).get("/api/v1/citations", params=wanted).status_code == 200
    other = client_of(site, second)
    assert other.get("/api/v1/citations", params=wanted).status_code == 404
    job = f"/api/v1/jobs/{job_id}"
    for path in (job, f"{job}/events", f"{job}/citations"):
        assert client_of(site).get(path).status_code == 200
        assert other.get(path).status_code == 404
    assert other.delete(job).status_code == 404


def test_tags_of_editors_come_with_the_claim(site: Site) -> None:
    tag = '<sup class="noprint Inline-Template">[<i><a href="/wiki/V">failed verification</a></i>]'
    sent = {"text": PAGE.replace("</p>", f"{tag}</sup></p>"), "markup": "html"}
    client = client_of(site)
    job_id = client.post("/api/v1/verify", json=sent).json()["job_id"]
    run_next(site)
    (claim,) = client.get(f"/api/v1/jobs/{job_id}/citations").json()
    assert claim["tags"] == ["failed verification"]
