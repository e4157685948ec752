"""Operating a server: its start, log lines and readiness, and what they must not contain."""

import json
import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from server.conftest import client_of
from server.people_of_tests import SERVER, MakeSite, browser, somebody
from server.processes import Served, Started
from support.rows import each_row

from pincite.errors import ConfigError
from pincite.settings import Settings
from pincite_server import demo, serving
from pincite_server.identity import Role
from pincite_server.jobs import Job, Status
from pincite_server.logs import configure_logs
from pincite_server.operation import examine
from pincite_server.serving import _advice, _listening
from pincite_server.settings import ServerSettings
from pincite_server.site import Site, open_site

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


def test_metrics_count_requests_and_jobs_without_text(site: Site, client: TestClient) -> None:
    job = site.jobs.submit("local", "verify", SECRET, {"text": SECRET})
    client.get(f"/api/v1/jobs/{job.job_id}")
    client.get(f"/{SECRET}")
    text = client.get("/metrics").text
    for line in (
        'pincite_jobs{status="queued"} 1.0',
        'pincite_jobs{status="done"} 0.0',
        'pincite_request_seconds_count{route="/api/v1/jobs/{job_id}",status="200"} 1.0',
        'pincite_request_seconds_count{route="(none)",status="404"} 1.0',
    ):
        assert line in text.splitlines()
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


def test_changes_are_logged_with_account_and_action_but_no_text(
    make_site: MakeSite, logged: None, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_site(**SERVER)
    configure_logs("json")
    ada = somebody(site, Role.EDITOR, "Ada")
    job = ada.client.post("/api/v1/verify", json={"text": SECRET, "title": SECRET}).json()["job_id"]
    ada.client.get("/api/v1/jobs")
    ada.client.delete("/api/v1/jobs/missing")
    ada.client.delete(f"/api/v1/jobs/{job}")
    browser(site).post("/login", data={"name": "Ada", "password": "wrong password"})
    text = capsys.readouterr().err
    lines = [json.loads(line) for line in text.splitlines()]
    account_id = ada.account.account_id
    assert [(x.get("account"), x.get("action"), x.get("target")) for x in lines] == [
        (account_id, "log_in", ""),
        (account_id, "verify", ""),
        (account_id, "cancel_job", job),
        (None, None, None),
    ]
    assert account_id in lines[-1]["message"]
    assert SECRET not in text
    assert "wrong password" not in text


def test_a_fault_of_the_program_is_found_by_its_request(
    site: Site, logged: None, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        """As if a store had a bug."""

        def list_jobs(self, *_: object, **__: object) -> list[Job]:
            raise ZeroDivisionError

    object.__setattr__(site, "jobs", Broken())
    configure_logs("json")
    with client_of(site) as client:
        answer = client.get("/api/v1/jobs")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    line, coded = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert line["request_id"] == coded["request_id"] == answer.json()["request_id"]
    assert coded["code"] == "internal"
    assert "ZeroDivisionError" in line["traceback"]
    configure_logs("text")
    with client_of(site) as client:
        request_id = client.get("/api/v1/jobs").json()["request_id"]
    first = capsys.readouterr().err.splitlines()[0]
    assert first.endswith(f"error in the program [{request_id}]")


def test_ready_says_which_part_is_not(make_site: MakeSite) -> None:
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


def test_ready_names_the_worker_when_jobs_wait_and_none_is_alive(make_site: MakeSite) -> None:
    site = make_site()
    job = site.jobs.submit("local", "verify", "waits", {})
    with client_of(site) as client:
        assert client.get("/readyz").status_code == 200  # a worker may be about to take it
        with site.database.writing() as connection:
            connection.exec_driver_sql("UPDATE jobs SET created = created - 60")
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert [each["where"] for each in answer.json()["errors"]] == ["worker"]
        assert [part.well for part in examine(site.server) if part.name == "workers"] == [False]
        site.jobs.submit("local", "verify", "waits, too", {})
        assert site.jobs.take("w")
        assert client.get("/readyz").status_code == 200  # it runs
        assert site.jobs.finish(job.job_id, "w", Status.DONE)
        assert client.get("/readyz").status_code == 200  # it was there a moment ago
    assert [part.well for part in examine(site.server) if part.name == "workers"] == [True]


# ── Starting ─────────────────────────────────────────────────────────────────────────────────────


def test_a_taken_port_is_an_error() -> None:
    with _listening(ServerSettings(port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=str(port)):
            _listening(ServerSettings(port=port))


@each_row("server/app/start_states_what_keeps_users_from_logging_in")
def test_start_states_what_keeps_users_from_logging_in(
    make_site: MakeSite, settings: dict[str, object], names: list[str]
) -> None:
    site = make_site(**settings)
    lines = list(_advice(site, Path("my.toml")))
    assert len(lines) == len(names)
    assert all(name in line for name, line in zip(names, lines, strict=True))
    site.people.accounts.add("Ada", Role.ADMIN)
    assert list(_advice(site, None)) == lines[1:]


def test_local_mode_listens_on_loopback_only() -> None:
    with pytest.raises(ConfigError):
        ServerSettings(host="0.0.0.0")
    with pytest.raises(ConfigError, match=r"server\.log is 'xml'"):
        ServerSettings(log="xml")  # type: ignore[arg-type]


def test_a_relative_data_folder_is_made_absolute() -> None:
    """Else no uploaded file has a `file:` address, and none can be read."""
    assert ServerSettings(data="kept").folder == Path.cwd() / "kept"


@pytest.mark.slow
def test_a_demo_that_is_killed_while_it_is_made_is_whole_at_the_next_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    killed = Started(tmp_path, "serve", "--port", "0", "--demo", "--data", str(data))
    killed.wait_for("Indexing “Demo: a knowledge base”")
    killed.end(signal.SIGKILL)
    served = Served(tmp_path, "--demo", data=data)
    corpora = served.get("/api/v1/corpora")["corpora"]
    names = {each["corpus_id"]: each["name"] for each in corpora}
    states = [served.get(f"/api/v1/corpora/{key}") for key in names]
    sizes = {names[each["corpus_id"]]: each["n_documents"] for each in states}
    served.end()
    assert not list(data.glob(".demo-*"))
    assert set(sizes) == {demo.WEB, demo.KNOWLEDGE, demo.ABSTRACTS}
    assert sizes[demo.KNOWLEDGE] == 30
    assert all(n > 20 for n in sizes.values())


def test_data_folder_that_is_a_file_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    for place in (tmp_path / "data", tmp_path / "data" / "inside"):
        given = {"data": str(place), "port": 0}
        for act in (serving.serve, serving.work):
            with pytest.raises(ConfigError):
                act(given, None, lambda _: None)
        with pytest.raises(ConfigError):
            open_site(ServerSettings(data=str(place)), Settings())
