"""Corpora over HTTP: create, fill, read, search, share and delete."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from server.corpora_of_tests import BRIDGE, NOISE, TOWER, C, as_somebody, run_next, send
from server.people_of_tests import problem
from support.rows import each_row

from pincite.corpus.engines import EmbeddedCorpus
from pincite.settings import Settings
from pincite.types import Document
from pincite_server.corpora import Shared
from pincite_server.identity import Role
from pincite_server.job_process import Runner
from pincite_server.site import Site

SITE = {"encoder": True}


def test_a_corpus_from_its_first_file_to_its_end(
    client: TestClient, site: Site, corpus_id: str
) -> None:
    here = f"{C}/{corpus_id}"
    empty = client.get(here).json()
    assert (empty["n_documents"], empty["encoder"]) == (0, "")
    assert client.get(f"{here}/search", params={"q": "bridge"}).json()["hits"] == []
    answer = client.post("/api/v1/ask", json={"question": "When?", "corpus": corpus_id})
    assert (answer.status_code, answer.json()["code"]) == (422, "empty_corpus")
    files = [("bridge.txt", BRIDGE), ("rows.jsonl", TOWER), ("noise.bin", NOISE)]
    answer = send(client, corpus_id, *files)
    assert answer.status_code == 202
    assert client.get(here).json()["ingesting"] == [answer.json()["job_id"]]
    job_id = run_next(site)
    assert answer.headers["location"] == f"/api/v1/jobs/{job_id}"
    result = client.get(f"/api/v1/jobs/{job_id}/result").json()
    assert (result["n_files"], result["n_added"], result["n_problems"]) == (3, 2, 1)
    state = client.get(here).json()
    assert (state["n_documents"], state["n_passages"], state["n_undated"]) == (2, 2, 1)
    assert state["kinds"] == {"jsonl": 1, "text": 1}
    assert state["languages"] == {"": 1, "en": 1}
    assert (state["first_published"], state["last_published"]) == ("1913-05-01", "1913-05-01")
    assert [p["file"] for p in result["problems"]] == ["noise.bin"]
    assert state["n_bytes"] > 1000
    assert not list((site.server.folder / "uploads").iterdir())

    listed = client.get(f"{here}/documents", params={"order": "title"}).json()["documents"]
    assert [d["url"] for d in listed] == ["bridge.txt", "https://e.example/tower"]
    tower = client.get(f"{here}/documents/{listed[1]['doc_id']}").json()
    (passage,) = tower["passages"]
    assert tower["text"][passage["start"] : passage["end"]].startswith("The tower was built")
    hits = client.get(f"{here}/search", params={"q": "bridge opened", "by": "lexical"}).json()
    assert [h["url"] for h in hits["hits"]] == ["bridge.txt"]

    assert client.delete(f"{here}/documents/{listed[0]['doc_id']}").status_code == 204
    assert client.get(f"{here}/documents/{listed[0]['doc_id']}").status_code == 404
    assert client.get(here).json()["n_documents"] == 1
    assert client.delete(here).status_code == 204
    assert client.get(here).status_code == 404
    assert not list((site.server.folder / "corpora").iterdir())


@pytest.mark.parametrize("by", ["hybrid", "dense", "lexical"])
def test_search_by_each_way_with_filters(
    client: TestClient, site: Site, corpus_id: str, by: str
) -> None:
    send(client, corpus_id, ("bridge.txt", BRIDGE), ("rows.jsonl", TOWER))
    run_next(site)
    ask = {"q": "the old town", "by": by}
    found = client.get(f"{C}/{corpus_id}/search", params=ask).json()
    assert found["by"] == by
    assert {h["url"] for h in found["hits"]} == {"bridge.txt", "https://e.example/tower"}
    assert [h["rank"] for h in found["hits"]] == [1, 2]
    for condition in (
        {"published_from": "1912"},
        {"kind": "jsonl"},
        {"language": "en"},
        {"domain": "e.example"},
        {"where": "title == Tower"},
    ):
        found = client.get(f"{C}/{corpus_id}/search", params=ask | condition).json()
        assert [h["title"] for h in found["hits"]] == ["Tower"], condition
    dated = client.get(f"{C}/{corpus_id}/search", params=ask | {"published_from": "1912"}).json()
    assert dated["notes"] == ["Documents without a known date are left out."]


@each_row("server/corpora/invalid_searches_are_refused")
def test_invalid_searches_are_refused(
    client: TestClient, corpus_id: str, wrong: dict[str, str]
) -> None:
    answer = client.get(f"{C}/{corpus_id}/search", params={"q": "a"} | wrong)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_corpus_of_another_encoder_is_searched_by_words(
    client: TestClient, site: Site, corpus_id: str, settings: Settings
) -> None:
    folder = site.corpora.folder_of(corpus_id)
    other = site.server.folder / "other"  # the same network under another fingerprint
    shutil.copytree(settings.models.encoder, other)
    (other / "pincite.json").write_text('{"max_tokens": 48}')
    send(client, corpus_id, ("bridge.txt", BRIDGE))
    job = site.jobs.take("test")
    assert job
    Runner("test", site.server, settings.replace(encoder=str(other))).run(job.job_id)
    here = f"{C}/{corpus_id}"
    found = client.get(f"{here}/search", params={"q": "bridge"}).json()
    assert found["by"] == "lexical"
    assert len(found["hits"]) == 1
    assert "words only" in found["notes"][0]
    assert str(folder) not in found["notes"][0]
    problem(client.get(f"{here}/search", params={"q": "bridge", "by": "dense"}), 409, "no_meaning")
    assert str(folder) not in client.get(here).text


def test_lists_come_in_pages(client: TestClient, site: Site, corpus_id: str) -> None:
    rows = ""
    for n in range(7):
        row = {"url": f"https://e.example/{n}", "title": f"{'bB'[n % 2]}ook {n // 2}"}
        row |= {"text": f"Old {n}."} | ({"date": f"19{n:02}"} if n else {})
        rows += json.dumps(row) + "\n"
    send(client, corpus_id, ("rows.jsonl", rows.encode()))
    run_next(site)

    def pages(**params: Any) -> list[str]:
        params |= {"limit": 2}
        page = client.get(f"{C}/{corpus_id}/documents", params=params).json()
        assert len(page["documents"]) <= 2
        found = [d["url"].rpartition("/")[2] for d in page["documents"]]
        return found + (pages(**params | {"cursor": page["next"]}) if page["next"] else [])

    assert pages() == list("6543210")
    assert pages(order="date") == list("6543210")
    assert pages(order="title") == list("0123456")
    assert pages(order="title", text="OOK 1") == list("23")
    assert pages(text="100%") == []
    assert pages(kind="jsonl", language="de") == []
    client.post(C, json={"name": "A second one"})
    names = [each["name"] for each in client.get(C).json()["corpora"]]
    assert names == ["A second one", "Bridges"]


def test_names_are_unique_for_their_owner_and_free_again(
    client: TestClient, corpus_id: str
) -> None:
    problem(client.post(C, json={"name": " Bridges "}), 409, "name_taken")
    other = client.post(C, json={"name": "Towers"}).json()["corpus_id"]
    taken = client.patch(f"{C}/{other}", json={"name": "Bridges"})
    assert taken.status_code == 409
    spires = {"name": "Spires", "about": "High ones."}
    changed = client.patch(f"{C}/{other}", json=spires).json()
    assert changed | spires | {"shared": "private"} == changed
    client.delete(f"{C}/{corpus_id}")
    assert client.post(C, json={"name": "Bridges"}).status_code == 201


def test_corpus_permissions(client: TestClient, site: Site, corpus_id: str) -> None:
    here = f"{C}/{corpus_id}"
    site.corpora.change(corpus_id, owner="anna")
    as_somebody(client, "ben", Role.EDITOR)
    assert client.get(C).json()["corpora"] == []
    site.corpora.change(corpus_id, shared=Shared.EVERYBODY)
    assert [c["yours"] for c in client.get(C).json()["corpora"]] == [False]
    assert client.get(here).status_code == 200
    assert client.delete(here).status_code == 403
    assert send(client, corpus_id, ("a.txt", BRIDGE)).status_code == 403
    as_somebody(client, "cleo", Role.READER)
    assert client.get(here).status_code == 200
    as_somebody(client, "root", Role.ADMIN)
    assert client.delete(here).status_code == 204


def test_lone_surrogates_are_replaced(client: TestClient, site: Site, tmp_path: Path) -> None:
    meta = {"a": "\ud800"}
    odd = Document("https://e.example/\ud83d", "half \udc00 <b>", "Old \ud800.", meta=meta)
    with EmbeddedCorpus.create(tmp_path / "odd", None) as corpus:
        corpus.add([odd, dataclasses.replace(odd, url="https://e.example/\ud83e")])
    here = f"{C}/{site.corpora.add('local', 'Odd', address=tmp_path / 'odd').corpus_id}"
    for order in ("added", "title"):
        page = client.get(f"{here}/documents", params={"order": order, "limit": 1}).json()
        assert page["documents"][0]["title"] == "half ? <b>"
        asked = {"order": order, "cursor": page["next"]}
        assert len(client.get(f"{here}/documents", params=asked).json()["documents"]) == 1
    document = client.get(f"{here}/documents/{odd.doc_id}").json()
    assert (document["text"], document["meta"]) == ("Old ?.", {"a": "?"})
    assert client.get(f"{here}/search", params={"q": "old"}).json()["hits"][0]["text"] == "Old ?."


@pytest.mark.parametrize("cursor", ["x", "WzEsMl0", "WyIiLDEwMDAwMDAwMDAwMDAwMDAwMDAwMF0", "é"])
def test_invalid_cursors_are_refused(client: TestClient, corpus_id: str, cursor: str) -> None:
    answer = client.get(f"{C}/{corpus_id}/documents", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")
