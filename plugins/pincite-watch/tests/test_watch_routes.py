"""What editors' tools get from the API, and what their verdicts do."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from edited_wiki import FERRY, WEIR, WRONG, EditedWiki, Making, text_of
from fastapi.testclient import TestClient
from server.conftest import client_of
from server.people_of_tests import SERVER

from pincite_server.database import Database
from pincite_server.site import Site
from pincite_server.wikis import browser_token
from pincite_watch import watcher as watching
from pincite_watch.gate import MEASURED, Kind
from pincite_watch.shown import KINDS, worklist
from pincite_watch.store import Place, Watch

WIKI = "en.wikipedia.org"


def add(
    store: Watch, title: str = "Tolne", kind: Kind = Kind.DATE, n: int = 1, *, private: bool = False
) -> list[str]:
    """Findings of a page, as a watcher stores them."""
    store.add(WIKI, [title])
    page = store.next(WIKI)
    assert page
    notes = [["other_value", {"source": "1934", "claim": "1937"}]]
    record = {"label": "refuted", "confidence": 0.1, "quote": "It burned in 1934.", "notes": notes}
    record |= {"source_url": "https://mill.example/", "ref_name": "", "proposed": "{{tag}}"}
    page_id = int(hashlib.sha256(title.encode()).hexdigest()[:6], 16)
    values = {"wiki": WIKI, "page_id": page_id, "claim": "It burned in 1937.", "revision": 7}
    values |= {"claim_hash": "0" * 12, "claim_sha256": "1" * 64, "source_hash": "2" * 64}
    values |= {"inputs": "3" * 64, "context": "5" * 64, "verifier": "v", "judge": ""}
    values |= {"private": private, "kind": kind, "published": True, "expires": 4e9}
    values |= {"record": record | {"unread": None}}
    found = [store.add_finding(Place(i, i + 9, "4" * 64), values, {}) for i in range(n)]
    store.done(page, title, page_id, 7, 4e9)
    return found


@pytest.fixture
def store(site: Site) -> Watch:
    return Watch(site.database)


def listed(client: TestClient, **asked: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"wiki": WIKI, **asked}
    reply = client.get("/api/v1/findings", params=given)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def test_a_page_has_its_findings_and_the_revision_that_their_spans_refer_to(
    client: TestClient, store: Watch
) -> None:
    (finding_id,) = add(store, "Tolne river")
    add(store, "Other")
    found = listed(client, title="Tolne_river", revision=8)
    (one,) = found["findings"]
    assert (found["revision"], found["current"], found["next"]) == (7, False, None)
    assert (one["id"], one["span"], one["kind"]) == (finding_id, [0, 9], "other_date")
    measured = MEASURED[Kind.DATE]
    assert (one["precision"], one["precision_n"]) == (measured.precision, measured.n)
    assert one["source_url_hash"] == hashlib.sha256(b"https://mill.example/").hexdigest()


def test_pages_of_a_list_join_without_gap_or_repetition_worst_first(
    client: TestClient, store: Watch
) -> None:
    added = [*add(store, "A", Kind.NOT_THE_PAGE, 3), *add(store, "B", Kind.DATE, 4)]
    found = listed(client, limit=2)
    seen = found["findings"]
    while found["next"]:
        found = listed(client, limit=2, cursor=found["next"])
        seen += found["findings"]
    assert sorted(one["id"] for one in seen) == sorted(added)
    assert [one["kind"] for one in seen] == ["other_date"] * 4 + ["not_the_page"] * 3


def test_an_unchanged_answer_is_not_sent_again(client: TestClient, store: Watch) -> None:
    add(store)
    asked: dict[str, Any] = {"url": "/api/v1/findings", "params": {"wiki": WIKI}}
    asked["headers"] = {"If-None-Match": client.get(**asked).headers["etag"]}
    assert client.get(**asked).status_code == 304
    add(store, "Other")
    assert client.get(**asked).status_code == 200


@pytest.mark.parametrize("verdict", ["fixed", "wrong", "offline"])
def test_a_verdict_hides_a_finding_for_all_and_is_stored_as_feedback(
    client: TestClient, site: Site, store: Watch, verdict: str
) -> None:
    first, second = add(store, n=2)
    origin = {"Origin": "http://127.0.0.1"}
    address = f"/api/v1/findings/{first}/feedback"
    assert client.post(address, json={"verdict": verdict}, headers=origin).status_code == 204
    assert [one["id"] for one in listed(client)["findings"]] == [second]
    (opinion,) = site.feedback.opinions(None)
    assert opinion.given == ("up" if verdict == "fixed" else "down")
    assert opinion.note == verdict


def test_findings_need_a_login_until_the_operator_makes_them_public_and_hidden_ones_always(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(**SERVER, requests_a_minute=0)
    store = Watch(site.database)
    add(store)
    with client_of(site) as client:
        client.base_url = "https://pincite.example.org"
        asked: dict[str, Any] = {"wiki": WIKI}
        assert client.get("/api/v1/findings", params=asked).status_code == 401
        store.set_note(WIKI, "public", "1")
        reply = client.get("/api/v1/findings", params=asked)
        assert reply.headers["access-control-allow-origin"] == "*"
        finding_id = reply.json()["findings"][0]["id"]
        address = f"/api/v1/findings/{finding_id}/feedback"
        assert client.post(address, json={"verdict": "wrong"}).status_code in (401, 403)
        hidden = client.get("/api/v1/findings", params=asked | {"hidden": "1"})
        assert hidden.status_code in (401, 403)
        store.set_note(WIKI, "public", "")
        assert client.get("/api/v1/findings", params=asked).status_code == 401


def test_operators_see_counts(client: TestClient, store: Watch) -> None:
    add(store, n=3)
    text = client.get("/api/v1/findings/metrics").text
    assert 'pincite_watch_published{state="live",kind="other_date"} 3' in text
    assert 'pincite_watch_today{what="judged"} 3' in text


def test_spans_and_hashes_of_the_api_fit_the_wikitext(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    text = text_of(FERRY, WRONG, WEIR)
    wiki.edit("Tolne", text)
    watcher = making()
    watcher.store.add(watcher.wiki, ["Tolne"])
    while watcher.step():
        pass
    (row,) = watcher.store.published_rows(watching.wiki_name(watcher.api.site), "Tolne", None, 9)
    there = text[row.span_start : row.span_end]
    assert hashlib.sha256(there.encode()).hexdigest() == row.span_sha256
    assert hashlib.sha256(row.claim.encode()).hexdigest() == row.claim_sha256


def test_every_kind_has_words() -> None:
    assert set(KINDS) == set(Kind)


def test_the_script_of_a_wiki_gets_no_findings_of_another(make_site: Callable[..., Site]) -> None:
    site = make_site(wikis=("https://de.wikipedia.org",))
    (finding_id,) = add(Watch(site.database))
    with client_of(site) as client:
        token = browser_token(site.server.folder)
        client.headers |= {"Origin": "https://de.wikipedia.org"}
        client.headers |= {"Authorization": f"Bearer {token}"}
        assert client.get("/api/v1/findings", params={"wiki": WIKI}).status_code == 401
        address = f"/api/v1/findings/{finding_id}/feedback"
        assert client.post(address, json={"verdict": "wrong"}).status_code == 404
        assert listed(client, wiki="de.wikipedia.org")["findings"] == []


def test_nothing_of_a_private_copy_is_public(client: TestClient, store: Watch) -> None:
    add(store, private=True)
    assert "1934" in str(listed(client))
    store.set_note(WIKI, "public", "1")
    found = listed(client)["findings"]
    assert [one["kind"] for one in found] == ["other_date"]
    assert "1934" not in str(found)
    assert "1934" not in worklist(store.published_rows(WIKI, None, None, 9))


def test_administrators_see_and_show_what_editors_hid(client: TestClient, store: Watch) -> None:
    store.set_note(WIKI, "public", "1")
    (finding_id,) = add(store)
    for hidden in ("wrong", "fixed"):
        address = f"/api/v1/findings/{finding_id}/feedback"
        origin = {"Origin": "http://127.0.0.1"}
        client.post(address, json={"verdict": hidden}, headers=origin)
        (one,) = listed(client, hidden=True)["findings"]
        assert (one["id"], one["hidden"]) == (finding_id, hidden)
        assert listed(client)["findings"] == []
        assert client.delete(address, headers=origin).status_code == 204
        assert [one["id"] for one in listed(client)["findings"]] == [finding_id]
        assert listed(client, hidden=True)["findings"] == []
    unknown = f"/api/v1/findings/{'0' * len(finding_id)}/feedback"
    assert client.delete(unknown, headers=origin).status_code == 404
