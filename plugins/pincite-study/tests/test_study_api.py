"""Studies over HTTP: made of a job's report, rated through a link, reported, exported."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from samples import HOSTILE, report
from server.people_of_tests import SERVER, browser, somebody
from study_samples import Rater, item, study

from pincite.server.identity import Role
from pincite.server.jobs import Status
from pincite.server.site import Site
from pincite_study import rating
from pincite_study.studies import Plan, Study, StudyStore

API = "/api/v1/studies"


def job_of(site: Site, text: str = "plain", owner: str = "local") -> str:
    """A job of `verify` that has ended with a report."""
    job = site.jobs.submit(owner, "verify", "t", {"example": "article"})
    claimed = site.jobs.take("w")
    assert claimed
    result = report(text).to_json()
    assert site.jobs.finish(claimed.job_id, "w", Status.DONE, result=result, files={})
    return str(job.job_id)


def rate(client: TestClient, made: Study, n: int = 3, answer: str = "a") -> list[Rater]:
    raters = [Rater(client, made.token or "").join() for _ in range(n)]
    for rater in raters:
        while task := rater.next():
            rater.answer(task["position"], answer, evidence_a="enough", evidence_b="none")
    return raters


def test_a_study_is_made_of_jobs(client: TestClient, site: Site) -> None:
    body = {"name": "Bridges", "job_ids": [job_of(site)], "per_item": 2, "seed": 4}
    got = client.post(API, json=body)
    assert got.status_code == 201
    made = got.json()
    assert (made["n_items"], made["per_item"], made["seed"]) == (1, 2, 4)
    assert client.get(got.headers["Location"]).json() == made
    assert client.get(API).json() == {"studies": [made], "next": None}
    assert made["link"].startswith("/studies/")
    shown = client.get(made["link"].replace("/studies", "/api/v1/rate")).json()
    assert shown["n_items"] == 1
    assert "cookie" in shown["consent"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"job_ids": ["x" * 22]}, "not_found"),
        ({"sample": "best"}, "invalid_request"),
        ({"per_item": 0}, "invalid_request"),
        ({"job_ids": []}, "invalid_request"),
    ],
)
def test_what_cannot_be_a_study_is_refused(
    client: TestClient, site: Site, change: dict[str, Any], code: str
) -> None:
    got = client.post(API, json={"name": "x", "job_ids": [job_of(site)], **change})
    assert got.json()["code"] == code


def test_a_job_without_a_report_makes_none(client: TestClient, site: Site) -> None:
    job = site.jobs.submit("local", "verify", "t", {"example": "article"})
    got = client.post(API, json={"name": "x", "job_ids": [job.job_id]})
    assert (got.status_code, got.json()["code"]) == (422, "no_report")


def test_nobody_rates_without_agreeing(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database))
    link = f"/api/v1/rate/{made.token}"
    assert client.get(f"{link}/next").json()["code"] == "no_rater"
    assert client.get(f"{link}/next", headers={"X-Rater-Key": "x"}).json()["code"] == "no_rater"
    for body in ({}, {"agreed": False}):
        assert client.post(f"{link}/raters", json=body).status_code == 422


def test_nothing_is_told_before_the_end(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database), n=2)
    rater = Rater(client, made.token or "").join()
    for _ in range(2):
        task = rater.next()
        assert set(task) == {
            *("position", "article", "section", "before", "statement", "a", "b", "said")
        }
        for told in (".example", "score", "Title of", "existing", "suggested"):
            assert told not in json.dumps(task)
        rater.answer(task["position"], "neither")
    assert rater.next() is None
    assert rater.ask("GET", "/revealed", status=409)["code"] == "not_finished"
    assert rater.ask("GET", "/tasks/1")["said"]["answer"] == "neither"
    rater.ask("POST", "/finish", status=204)
    told = rater.ask("GET", "/revealed")["told"]
    for each in told:
        site_of = {each[letter]["side"]: each[letter]["url"][:20] for letter in ("a", "b")}
        assert site_of == {"existing": "https://www.oldsite.", "suggested": "https://www.newsite."}
    assert rater.ask("PUT", "/tasks/1", {"answer": "a"}, 409)["code"] == "ended"
    rater.ask("DELETE", "/me", status=204)
    assert rater.ask("GET", "/next", status=401)["code"] == "no_rater"


@pytest.mark.parametrize(
    "body",
    [{}, {"answer": "c"}, {"answer": "a", "seconds": -1}, {"answer": "a", "evidence_a": "x"},
     {"answer": "a", "more": 1}],
    ids=str,
)  # fmt: skip
def test_an_answer_that_is_none_is_refused(
    client: TestClient, site: Site, body: dict[str, Any]
) -> None:
    rater = Rater(client, study(StudyStore(site.database)).token or "").join()
    assert rater.next()
    rater.ask("PUT", "/tasks/1", body, 422)
    rater.ask("PUT", "/tasks/9", {"answer": "a"}, 404)


def test_a_revoked_link_leads_nowhere(make_site: Callable[..., Site]) -> None:
    site = make_site(**SERVER)
    client = browser(site)
    made = study(StudyStore(site.database))
    rater = Rater(client, made.token or "").join()
    StudyStore(site.database).relink(made.study_id, revoke=True)
    assert rater.ask("GET", "/next", status=404)["code"] == "not_found"
    assert client.get(f"/api/v1/rate/{made.study_id}").status_code == 404


def test_the_link_of_a_disabled_owner_leads_nowhere(make_site: Callable[..., Site]) -> None:
    site = make_site(**SERVER)
    owner = somebody(site, Role.EDITOR).account.account_id
    made = study(StudyStore(site.database), owner=owner)
    client = browser(site)
    rater = Rater(client, made.token or "").join()
    for disabled, status in ((True, 404), (False, 200)):
        site.people.accounts.change(owner, disabled=disabled)
        rater.ask("GET", "/next", status=status)
        assert client.get(f"/studies/{made.token}").status_code in (status, 303)


def test_a_full_study_is_a_conflict(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rating, "MAX_BY_LINK", 0)
    made = study(StudyStore(site.database))
    got = client.post(f"/api/v1/rate/{made.token}/raters", json={"agreed": True})
    assert (got.status_code, got.json()["code"]) == (409, "full")


def test_whoever_may_rate_needs_no_link_and_is_one_rater(make_site: Callable[..., Site]) -> None:
    site = make_site(**SERVER)
    made = study(StudyStore(site.database))
    StudyStore(site.database).relink(made.study_id, revoke=True)
    who = somebody(site, Role.RATER)
    one = Rater(who.client, made.study_id).join()
    again = Rater(who.client, made.study_id).join()
    assert one.number == again.number == 1
    assert who.client.get(API).status_code == 403
    assert who.client.get("/studies").status_code == 200


def test_the_report_and_every_export_say_the_same(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database), n=4)
    rate(client, made)
    place = f"{API}/{made.study_id}"
    found = client.get(f"{place}/report").json()
    assert found["counts"] == {
        "items": 4,
        "items_with_enough_ratings": 4,
        "raters": 3,
        "ratings": 12,
    }

    def exported(form: str) -> str:
        got = client.get(f"{place}/export", params={"format": form})
        assert got.status_code == 200
        return got.text

    rows = list(csv.DictReader(io.StringIO(exported("csv"))))
    lines = [json.loads(line) for line in exported("jsonl").splitlines()]
    assert [row["choice"] for row in rows] == [line["choice"] for line in lines]
    n_suggested = sum(line["choice"] == "suggested" for line in lines)
    assert n_suggested == found["preferences"]["suggested"]["n"]
    for line in lines:  # all said "a": what they chose is what stood there
        assert (line["choice"] == "existing") == (line["existing_side"] == "a")
        assert line["evidence_existing" if line["choice"] == "existing" else
                    "evidence_suggested"] == "enough"  # fmt: skip
    tasks = json.loads(exported("label-studio"))
    annotations = [each for task in tasks for each in task["annotations"]]
    assert len(annotations) == 12
    assert len({each["id"] for each in annotations}) == 12
    assert annotations[0]["result"][0] == {
        "id": "better",
        "from_name": "better",
        "to_name": "a,b",
        "type": "pairwise",
        "value": {"selected": "left"},
    }
    restored = client.post(f"{API}/import", json=json.loads(exported("json")))
    assert restored.status_code == 201
    again = client.get(f"{API}/{restored.json()['study_id']}/report").json()
    assert again | {"study": 0} == found | {"study": 0}


def test_an_import_that_is_none_is_refused(client: TestClient) -> None:
    got = client.post(f"{API}/import", json={"export_version": "0"})
    assert (got.status_code, got.json()["code"]) == (422, "invalid_study")


def test_a_study_is_closed_relinked_and_deleted(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database))
    place = f"{API}/{made.study_id}"
    (rater,) = rate(client, made, n=1)
    assert client.delete(f"{place}/raters/{rater.number}").status_code == 204
    assert client.delete(f"{place}/raters/{rater.number}").status_code == 404
    assert client.get(place).json()["n_ratings"] == 0
    renewed = client.put(f"{place}/link").json()
    assert renewed["link"] != f"/studies/{made.token}"
    assert client.delete(f"{place}/link").json()["link"] is None
    assert client.post(f"{place}/close").json()["closed"]
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(client: TestClient, site: Site, text: str) -> None:
    body = {"name": "Hostile", "job_ids": [job_of(site, text)]}
    made = client.post(API, json=body).json()
    study = StudyStore(site.database).get(made["study_id"])
    assert study
    rate(client, study)
    for form in ("csv", "jsonl", "json", "label-studio"):
        got = client.get(f"{API}/{study.study_id}/export", params={"format": form})
        assert got.status_code == 200
    for row in csv.reader(
        io.StringIO(client.get(f"{API}/{study.study_id}/export?format=csv").text)
    ):
        assert not any(cell.startswith(("=", "@", "+")) for cell in row)
    for path in (f"/studies/{study.token}", f"/studies/{study.study_id}/report", "/studies"):
        page = client.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text


def test_a_name_that_is_markup_is_escaped(client: TestClient, site: Site) -> None:
    made = StudyStore(site.database).create(
        "local", Plan(HOSTILE[0], consent=HOSTILE[1]), [item(1)]
    )
    for path in (f"/studies/{made.token}", f"/studies/{made.study_id}/report", "/studies"):
        text = client.get(path).text
        assert "<script>alert" not in text
        assert "<img" not in text
