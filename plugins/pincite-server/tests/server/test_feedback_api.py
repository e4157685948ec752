"""Feedback over HTTP: on results of each verb, as rows that training reads."""

import json
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from server.corpora_of_tests import as_somebody, finished
from support.rows import each_row, rows, text_of

from pincite.documents.jsonl import read_labelled
from pincite_server.identity import Role
from pincite_server.site import Site
from pincite_server.tables import Kind, now

F = "/api/v1/feedback"
PASSAGE = "The bridge opened in 1911. It was built of local stone. The mayor came."


RESULTS: dict[Kind, dict[str, Any]] = json.loads(text_of("server/feedback_api/results.json"))


def ended(site: Site, kind: Kind, owner: str = "local") -> str:
    return finished(site, kind, json.dumps(RESULTS[kind]), owner=owner)


def say(client: TestClient, job_id: str, item: str = "", **more: Any) -> Any:
    return client.post(F, json={"job_id": job_id, "item": item, "verdict": "right"} | more)


def exported(client: TestClient, form: str = "claims") -> list[dict[str, Any]]:
    answer = client.get(f"{F}/export", params={"format": form})
    assert answer.headers["content-disposition"].startswith("attachment")
    return [json.loads(line) for line in answer.text.splitlines()]


@each_row("server/feedback_api/confirmed_item_becomes_a_training_row")
def test_confirmed_item_becomes_a_training_row(
    client: TestClient, site: Site, tmp_path: Path, kind: Kind, item: str, statement: str
) -> None:
    answer = say(client, ended(site, kind), item)
    assert answer.status_code == 204, answer.text
    (said,) = exported(client, "opinions")
    assert (said["statement"], said["versions"]) == (statement, RESULTS[kind]["versions"])
    (row,) = exported(client)
    assert (row["claim"], row["evidence"], row["label"]) == (statement, PASSAGE, "support")
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert [r.label for r in read_labelled(file)] == ["support"]


def test_invalid_feedback_is_refused(client: TestClient, site: Site) -> None:
    job_id = ended(site, "verify")
    readings = finished(site, "check", '{"readings": []}')
    unfinished = site.jobs.submit("local", "ask", "A question", {}).job_id
    unready = [
        ({"job_id": unfinished}, 409, "no_result"),
        ({"job_id": readings}, 422, "unknown_item"),
    ]
    for body, status, code in [*rows("server/feedback_api/invalid_feedback_is_refused"), *unready]:
        answer = say(client, **{"job_id": job_id} | body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), body
    assert exported(client, "opinions") == []


def test_exports_show_own_feedback_only(client: TestClient, site: Site) -> None:
    mine = [ended(site, "verify"), ended(site, "check")]
    theirs = ended(site, "ask", "anna")
    as_somebody(client, "anna", Role.EDITOR)
    say(client, theirs, "1.s1/r3")
    as_somebody(client, "local", Role.EDITOR)
    assert say(client, theirs).status_code == 404
    for job_id in mine:
        say(client, job_id)
    assert [row["kind"] for row in exported(client, "opinions")] == ["verify", "check"]
    everybody = {"format": "opinions", "everybody": "true"}
    assert client.get(f"{F}/export", params=everybody).status_code == 403
    as_somebody(client, "root", Role.ADMIN)
    assert len(client.get(f"{F}/export", params=everybody).text.splitlines()) == 3


def test_feedback_outlives_its_job(client: TestClient, site: Site) -> None:
    job_id = ended(site, "verify")
    say(client, job_id, "c0ffee/r1")
    site.jobs.delete_older(now() + 60)
    (said,) = exported(client, "opinions")
    assert said["statement"] == "The bridge opened in 1913."
    assert len(exported(client)) == 1
