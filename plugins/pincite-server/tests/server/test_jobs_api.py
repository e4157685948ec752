"""The API of jobs as a program meets it: bodies, pages, events, errors."""

import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from server.conftest import client_of
from server.people_of_tests import MakeSite, problem
from support.rows import each_row, rows

from pincite_server.jobs import Status
from pincite_server.routes import jobs as api_jobs
from pincite_server.site import Site

BODY = {"example": "article"}
URL = "/api/v1/verify"


def post(client: TestClient, **headers: str) -> dict[str, Any]:
    answer = client.post(URL, json=BODY, headers=headers)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def finish(site: Site, result: str = "{}") -> None:
    job = site.jobs.take("w")
    assert job
    site.jobs.finish(job.job_id, "w", Status.DONE, result=result, files={"article": {"a": 1}})


def test_a_job_from_its_request_to_its_result(client: TestClient, site: Site) -> None:
    answer = client.post(URL, json=BODY)
    job = answer.json()
    assert answer.headers["location"] == job["links"]["self"] == f"/api/v1/jobs/{job['job_id']}"
    assert (job["status"], job["kind"]) == ("queued", "verify")
    assert job["created"].endswith("+00:00")
    missing = problem(client.get(job["links"]["result"]), 409, "no_result")
    assert missing["retryable"]
    finish(site, '{"x": 1}')
    assert client.get(job["links"]["self"]).json()["status"] == "done"
    assert client.get(job["links"]["result"]).json() == {"x": 1}
    assert client.get(f"{job['links']['self']}/files/article").json() == {"a": 1}
    problem(client.get(f"{job['links']['self']}/files/none"), 404, "not_found")


def test_full_queue_sends_retry_after(make_site: MakeSite) -> None:
    site = make_site(queue=1)
    with client_of(site) as client:
        post(client)
        answer = client.post(URL, json=BODY)
        body = problem(answer, 429, "queue_full")
        assert body["retryable"] is True
        assert int(answer.headers["retry-after"]) > 0
        site.jobs.take("w")
        post(client)


def test_cancelling(client: TestClient) -> None:
    waits = post(client)
    for _ in range(2):
        answer = client.delete(waits["links"]["self"])
        assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    problem(client.delete("/api/v1/jobs/nothing"), 404, "not_found")


def test_events_as_json_from_any_point(client: TestClient, site: Site) -> None:
    url = post(client)["links"]["events"]
    assert client.get(url).json()["ended"] is False
    finish(site)
    body = client.get(url).json()
    assert [event["kind"] for event in body["events"]] == ["queued", "started", "ended"]
    assert body["ended"] is True
    assert [e["number"] for e in client.get(url, params={"after": 2}).json()["events"]] == [3]
    resumed = client.get(url, headers={"Last-Event-ID": "2"}).json()
    assert [event["number"] for event in resumed["events"]] == [3]
    assert len(client.get(url, headers={"Last-Event-ID": "x"}).json()["events"]) == 3


def stream(client: TestClient, url: str, **headers: str) -> Iterator[str]:
    with client.stream("GET", url, headers={"Accept": "text/event-stream", **headers}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield from answer.iter_lines()


def test_event_stream_sends_heartbeats_and_can_be_resumed(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_jobs, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(api_jobs, "POLL_SECONDS", 0.02)
    url = post(client)["links"]["events"]
    timer = threading.Timer(0.4, finish, [site])
    timer.start()
    lines = list(stream(client, url))
    timer.join()
    assert ": ping" in lines
    assert "event: ended" in lines
    assert [line for line in lines if line.startswith("id:")] == ["id: 1", "id: 2", "id: 3"]
    data = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert [event["kind"] for event in data] == ["queued", "started", "ended"]
    lines = list(stream(client, url, **{"Last-Event-ID": "2"}))
    assert [line for line in lines if line.startswith("id:")] == ["id: 3"]


def test_invalid_requests_are_refused(client: TestClient, site: Site) -> None:
    for (body,) in rows("server/jobs_api/invalid_bodies"):
        found = problem(client.post(URL, json=body), 422, "invalid_request")
        assert found["errors"]
    half = client.post(
        URL, content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"}
    )
    problem(half, 422, "invalid_request")
    problem(client.post(URL, json={"article": "Bridge"}), 422, "offline")
    other = client.post("/api/v1/ask", json={"question": "q", "corpus": "x"})
    problem(other, 422, "unknown_corpus")
    assert site.jobs.counts()[Status.QUEUED] == 0


def test_body_limit_holds_with_and_without_length(make_site: MakeSite) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"text": "'
        for _ in range(40):
            yield b"x" * 1000
        yield b'"}'

    with client_of(make_site(body_megabytes=0.02)) as client:
        problem(client.post(URL, json={"text": "x" * 30_000}), 413, "too_large")
        kind = {"content-type": "application/json"}
        problem(client.post(URL, content=pieces(), headers=kind), 413, "too_large")
        assert client.post(URL, json={"text": "x" * 10_000}).status_code == 202


def test_wrong_methods_and_paths_are_problems(client: TestClient) -> None:
    problem(client.get("/nothing"), 404, "not_found")
    problem(client.get("/api/v1/jobs/a%00b"), 400, "nul_in_address")
    problem(client.get("/api/v1/jobs?cursor=%00"), 400, "nul_in_address")
    answer = client.put("/api/v1/jobs")
    problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET"


@each_row("server/jobs_api/invalid_field_is_explained_to_a_client")
def test_an_invalid_field_is_explained_to_a_client(
    client: TestClient, path: str, body: object, where: str, words: str
) -> None:
    found = problem(client.post(f"/api/v1/{path}", json=body), 422, "invalid_request")
    assert found["errors"][0]["where"] == where
    assert words in found["detail"]
    assert not re.search("validation|extract|Extra inputs", found["detail"])


def test_unavailable_database_is_a_503(
    client: TestClient, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    (site.server.folder / "pincite.sqlite").rename(site.server.folder / "elsewhere")
    (site.server.folder / "pincite.sqlite").mkdir()
    site.database.close()
    answer = client.get("/api/v1/jobs")
    body = problem(answer, 503, "database_unavailable")
    assert body["retryable"] is True
    assert answer.headers["retry-after"]
    assert str(site.server.folder) not in answer.text
    codes = [getattr(each, "code", None) for each in caplog.records]
    assert codes.count("database_unavailable") == 1, "operators set alerts on it"


def test_the_name_of_a_corpus_is_answered_with_its_id(client: TestClient, site: Site) -> None:
    entry = site.corpora.add("local", "Local press")
    asked = {"question": "When?", "corpus": "Local press"}
    refused = problem(client.post("/api/v1/ask", json=asked), 422, "unknown_corpus")
    assert entry.corpus_id in refused["detail"]
