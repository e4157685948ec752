"""Numbers and log lines for whoever runs the server: what they count, and what is not in them."""

import json
import logging
import re
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from server.conftest import client_of

from pincite.server.database import Database
from pincite.server.jobs import Status
from pincite.server.middleware import configure_logs
from pincite.server.operation import Tallies
from pincite.server.site import Site
from pincite.server.worker import Runner
from pincite.settings import Settings

SECRET = "Nobody may read this claim"


@pytest.fixture
def logged() -> Iterator[None]:
    """Puts back what `logs.configure` changes."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)
    logging.getLogger("pincite.requests").setLevel(logging.NOTSET)


def number(text: str, line: str) -> float:
    """The value of one line of the exposition."""
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    assert found, (line, text)
    return float(found[1])


def test_sums_grow_on_both_databases(database: Database) -> None:
    tallies = Tallies(database)
    tallies.add({})
    tallies.add({("verdicts", "verify supported"): 2, ("unchecked", "dead"): 1})
    tallies.add({("verdicts", "verify supported"): 3})
    assert tallies.all() == {("verdicts", "verify supported"): 5, ("unchecked", "dead"): 1}


def test_a_job_is_counted_when_it_ends(site: Site, client: TestClient) -> None:
    for _ in range(2):
        job, _ = site.jobs.submit("local", "verify", SECRET, {"example": "article"})
        site.jobs.take("w")
        Runner("w", site.server, Settings()).run(job.job_id)
    site.jobs.submit("local", "verify", SECRET, {"text": SECRET})
    client.get(f"/api/v1/jobs/{job.job_id}")
    text = client.get("/metrics").text
    counts = json.loads(site.jobs.result(job.job_id) or b"")["counts"]
    for label, n in counts["labels"].items():
        if n:
            line = f'pincite_verdicts_total{{verb="verify",verdict="{label}"}}'
            assert number(text, line) == 2 * n
    for reason, n in counts["citations_unchecked"].items():
        assert number(text, f'pincite_unchecked_total{{reason="{reason}"}}') == 2 * n
    assert number(text, 'pincite_jobs{status="queued"}') == 1
    assert number(text, 'pincite_jobs{status="done"}') == 2
    assert 0 < number(text, "pincite_queue_oldest_seconds") < 60
    assert number(text, "pincite_resident_bytes") > 1e6
    route = '{method="GET",route="/api/v1/jobs/{job_id}",status="200"}'
    assert number(text, f"pincite_request_seconds_count{route}") == 1
    assert SECRET not in text
    assert job.job_id not in text


def test_a_line_for_each_request_with_its_id_and_no_address(
    site: Site, client: TestClient, logged: None, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("json", requests=True)
    answer = client.get("/api/v1/jobs/secret-of-mine")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (line,) = [line for line in lines if line["logger"] == "pincite.requests"]
    assert line["request_id"] == answer.headers["x-request-id"]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/api/v1/jobs/{job_id}", 404)
    assert line["seconds"] >= 0
    assert "secret-of-mine" not in json.dumps(lines)
    configure_logs("text")
    client.get("/healthz")
    assert capsys.readouterr().err == ""


def test_a_fault_of_the_program_is_found_by_its_request(
    site: Site, logged: None, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        """As if a store had a bug."""

        def counts(self) -> dict[Status, int]:
            raise ZeroDivisionError

    object.__setattr__(site, "jobs", Broken())
    configure_logs("json")
    with client_of(site) as client:
        answer = client.get("/metrics")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert line["request_id"] == answer.json()["request_id"]
    assert "ZeroDivisionError" in line["traceback"]
    configure_logs("text")
    with client_of(site) as client:
        request_id = client.get("/metrics").json()["request_id"]
    first = capsys.readouterr().err.splitlines()[0]
    assert first.endswith(f"error in the program [{request_id}]")


def test_ready_says_which_part_is_not(make_site: Callable[..., Site]) -> None:
    site = make_site()
    with client_of(site) as client:
        ready = client.get("/readyz").json()
        assert ready["parts"] == {"database": "ok", "folder": "ok", "worker": "ok"}
        with site.database.writing() as connection:
            connection.exec_driver_sql("UPDATE pincite_version SET version = 9999")
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert [each["where"] for each in answer.json()["errors"]] == ["database"]
        assert client.get("/healthz").json() == {"status": "ok"}
        assert set(client.get("/version").json()) == {"pincite", "api"}
