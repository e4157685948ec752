"""Linked corpora, in folders or in another engine."""

import contextlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from server.corpora_of_tests import BRIDGE, C, run_next, send
from server.people_of_tests import problem
from support.rows import each_row

from pincite.corpus import engines
from pincite.corpus.engines import EmbeddedCorpus
from pincite.errors import ConfigError, CorpusError
from pincite.models.session import OnnxEncoder
from pincite.settings import Settings
from pincite.types import Document
from pincite_server import corpora
from pincite_server.corpora import fault, link
from pincite_server.identity import LOCAL
from pincite_server.serving import _listening, serve
from pincite_server.settings import ServerSettings, load
from pincite_server.site import Site, open_site

ADDRESS = "tank://tank.example:7/kb"
REFUSED = f"{ADDRESS}: tank.example at port 7 hung up"
URL = "https://e.example/bridge"
SITE = {"encoder": True}


@pytest.fixture
def kept(tmp_path: Path, tiny_encoder: Path) -> Path:
    """A corpus outside of the server's folder."""
    with EmbeddedCorpus.create(tmp_path / "kept", OnnxEncoder(tiny_encoder)) as corpus:
        corpus.add([Document(URL, "The bridge", BRIDGE.decode())])
    return tmp_path / "kept"


class Tank:
    """Another package's engine, over a folder: its corpora can do what every corpus can, no more.

    It does not answer while `answers` is False.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.answers = folder, True

    def exists(self, address: object) -> bool:
        self._ask()
        return True

    def encoder_of(self, address: object) -> str:
        self._ask()
        return engines.encoder_of(self.folder)

    def open(self, address: object, encoder: Any, *, write: bool = False) -> "Plain":
        self._ask()
        return Plain(EmbeddedCorpus.open(self.folder, encoder))

    def _ask(self) -> None:
        if not self.answers:
            raise CorpusError(REFUSED)


class Plain:
    """A corpus that cannot be leafed through."""

    def __init__(self, corpus: EmbeddedCorpus) -> None:
        self._corpus = corpus

    def __getattr__(self, name: str) -> Any:
        if name in ("listed", "contents", "by_id"):
            raise AttributeError(name)
        return getattr(self._corpus, name)

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_: object) -> None:
        self._corpus.close()


@pytest.fixture
def tank(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Tank:
    found = Tank(kept)
    point = SimpleNamespace(name="tank", load=lambda: found)
    monkeypatch.setattr(engines, "entry_points", lambda group: [point])
    return found


def ask(client: TestClient, site: Site, corpus_id: str) -> dict[str, Any]:
    """The job that was done, and what it found."""
    asked = {"question": "When was the bridge opened?", "corpus": corpus_id}
    assert client.post("/api/v1/ask", json=asked).status_code == 202
    job_id = run_next(site)
    job: dict[str, Any] = client.get(f"/api/v1/jobs/{job_id}").json()
    return job | {"result": client.get(f"/api/v1/jobs/{job_id}/result").text}


def test_a_folder_is_read_searched_and_asked(client: TestClient, site: Site, kept: Path) -> None:
    (entry,) = link(site.corpora, LOCAL, [f"Bridges={kept}"])
    (listed,) = client.get(C).json()["corpora"]
    assert (listed["name"], listed["linked"], listed["shared"]) == ("Bridges", True, "everybody")
    here = f"{C}/{entry.corpus_id}"
    state = client.get(here).json()
    assert (state["n_documents"], state["listable"], state["kinds"]) == (1, True, {"text": 1})
    (document,) = client.get(f"{here}/documents").json()["documents"]
    assert client.get(f"{here}/documents/{document['doc_id']}").json()["url"] == URL
    for refused in (
        client.delete(here),
        client.patch(here, json={"name": "Ours"}),
        client.delete(f"{here}/documents/{document['doc_id']}"),
        send(client, entry.corpus_id, ("a.txt", BRIDGE)),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "linked")
    page = client.get(f"/corpora/{entry.corpus_id}?q=bridge").text
    assert "stored elsewhere and is read-only" in page
    assert f"/documents/{document['doc_id']}?passage=" in page
    assert "Delete the corpus" not in page
    assert "1 document ·" in client.get("/corpora").text
    assert f'value="{entry.corpus_id}"' in client.get("/ask").text
    job = ask(client, site, entry.corpus_id)
    (answer,) = json.loads(job["result"])["answers"]
    assert (job["status"], answer["searched"]["found"]) == ("done", [URL])


def test_a_missing_folder_is_reported_without_its_path(
    client: TestClient, site: Site, tmp_path: Path
) -> None:
    (entry,) = link(site.corpora, LOCAL, [f"Bridges={tmp_path / 'gone'}"])
    answer = client.get(f"{C}/{entry.corpus_id}")
    assert (answer.status_code, answer.json()["code"]) == (503, "corpus_unreadable")
    assert answer.json()["detail"].startswith("The corpus is stored elsewhere and cannot be read")
    refused = client.post("/api/v1/ask", json={"question": "When?", "corpus": entry.corpus_id})
    assert (refused.status_code, refused.json()["code"]) == (503, "corpus_unreadable")
    assert str(tmp_path) not in refused.text
    for path in ("/", "/check", "/ask"):
        assert f'value="{entry.corpus_id}" disabled' in client.get(path).text
    assert "pincite corpus add" not in client.get(f"/corpora/{entry.corpus_id}").text


def test_it_is_there_for_as_long_as_it_is_in_the_setting(
    client: TestClient, site: Site, kept: Path, tmp_path: Path
) -> None:
    (first,) = link(site.corpora, LOCAL, [str(kept)])
    assert first.name == "kept"
    moved = kept.rename(tmp_path / "moved")
    (same,) = link(site.corpora, LOCAL, [f"kept={moved}"])
    assert (same.corpus_id, same.address) == (first.corpus_id, moved)
    assert client.get(f"{C}/{first.corpus_id}").json()["n_documents"] == 1
    own = client.post(C, json={"name": "Ours"}).json()["corpus_id"]
    assert link(site.corpora, LOCAL, []) == []
    assert [each["corpus_id"] for each in client.get(C).json()["corpora"]] == [own]
    assert (moved / "corpus.json").exists()


def test_another_engine_s_is_searched_and_asked_but_not_listed(
    client: TestClient, site: Site, tank: Tank
) -> None:
    (entry,) = link(site.corpora, LOCAL, [f"Tank={ADDRESS}"])
    assert entry.address == ADDRESS
    here = f"{C}/{entry.corpus_id}"
    state = client.get(here).json()
    assert (state["n_documents"], state["listable"], state["kinds"]) == (1, False, {})
    (hit,) = client.get(f"{here}/search", params={"q": "bridge"}).json()["hits"]
    for path in ("documents", f"documents/{hit['doc_id']}"):
        problem(client.get(f"{here}/{path}"), 409, "no_catalogue")
    page = client.get(f"/corpora/{entry.corpus_id}?q=bridge").text
    assert "cannot be listed here" in page
    assert f'<a href="{URL}"' in page
    assert "stored elsewhere" in client.get("/corpora").text
    job = ask(client, site, entry.corpus_id)
    assert (job["status"], URL in job["result"]) == ("done", True)
    everything = json.dumps([state, job, page, client.get(C).json()])
    assert "tank.example" not in everything


def test_an_engine_that_does_not_answer_is_not_named(
    client: TestClient, site: Site, tank: Tank
) -> None:
    (entry,) = link(site.corpora, LOCAL, [f"Tank={ADDRESS}"])
    tank.answers = False
    assert fault(entry) == f"server.corpora: Tank: {REFUSED}"
    for path in (f"{C}/{entry.corpus_id}", f"/corpora/{entry.corpus_id}"):
        failed = client.get(path)
        assert failed.status_code == 503
        assert "tank.example" not in failed.text
    assert client.get(f"{C}/{entry.corpus_id}").json()["code"] == "corpus_unreadable"
    assert client.get("/corpora").status_code == 200
    job = ask(client, site, entry.corpus_id)
    assert (job["status"], job["problem"]["code"]) == ("failed", "corpus_error")
    assert "tank.example" not in json.dumps(job)
    tank.answers = True
    assert client.get(f"{C}/{entry.corpus_id}").json()["n_documents"] == 1


def test_readers_of_other_engines_never_hold_all_threads(
    client: TestClient, site: Site, tank: Tank
) -> None:
    (entry,) = link(site.corpora, LOCAL, [ADDRESS])
    with contextlib.ExitStack() as stack:
        for _ in range(corpora.MAX_REMOTE_READERS):
            stack.enter_context(site.pool.reading(entry.address))
        assert client.get(f"{C}/{entry.corpus_id}").status_code == 503
    assert client.get(f"{C}/{entry.corpus_id}").status_code == 200


@each_row("server/linked_corpora/a_wrong_setting_is_named")
def test_a_wrong_setting_is_named(client: TestClient, site: Site, given: list[str]) -> None:
    client.post(C, json={"name": "Ours"})
    with pytest.raises(ConfigError, match=r"server\.corpora") as raised:
        link(site.corpora, LOCAL, given)
    assert "secret" not in str(raised.value)


def test_serve_links_the_corpora_and_reports_missing_ones(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_SERVER_CORPORA", f"Bridges={kept}, {tmp_path / 'gone'}")
    said: list[str] = []
    closed: list[Site] = []
    monkeypatch.setattr(Site, "close", lambda site: closed.append(site))
    with _listening(ServerSettings(port=0)) as taken:  # so that it ends
        given = {"data": str(tmp_path / "data"), "port": taken.getsockname()[1]}
        with pytest.raises(ConfigError):
            serve(given, None, said.append)
    assert said == [f"server.corpora: gone: there is no corpus at {tmp_path / 'gone'}"]
    assert len(closed) == 1
    site = open_site(load(given), Settings())
    found = {each.name: each.address for each in site.corpora.entries()}
    site.database.close()
    assert found == {"Bridges": kept, "gone": tmp_path / "gone"}
