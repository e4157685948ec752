"""The pages of a study: the way of a rater without scripts, and nothing that tells the sides."""

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from samples import HOSTILE, report
from server.people_of_tests import SERVER, app_of, browser, somebody
from study_samples import item, study

from pincite_server import rendering
from pincite_server.identity import Role
from pincite_server.jobs import Status
from pincite_server.site import Site
from pincite_study import rating
from pincite_study.blinding import blind
from pincite_study.items import Item
from pincite_study.preferences import AMOUNTS
from pincite_study.studies import StudyStore

ANSWER = {"answer": "a", "evidence_a": "none", "evidence_b": "enough"}


def html_of(found: Item, *, baseline_first: bool) -> str:
    """The page of an item with its sides in this order, as every rater gets it."""
    words: dict[str, Any] = {"better": "Which?", "how_much": "How much?"}
    words["answers"] = {k: k for k in ("a", "b", "neither", "both", "unsure")}
    words["amounts"] = {k: k for k in ("enough", "partial", "none")}
    values: dict[str, Any] = {"place": "l", "position": 1, "said": None, "words": words}
    values |= {"csrf": "", "path": "", "here": "", "languages": {}, "theme": "", "who": None}
    values |= {"version": "", "start": "verify", "server_mode": False, "added": []}
    values |= {"text_of": lambda name: ""}
    seen = blind(found, baseline_first)
    return rendering.page_alone("rate.html", "en", seen=seen, **values)


def test_the_page_is_the_same_but_for_what_the_sources_say() -> None:
    one, other = (html_of(item(3), baseline_first=first) for first in (True, False))
    swapped = one.replace("oldsite", "\0").replace("newsite", "oldsite").replace("\0", "newsite")
    assert one != other == swapped


def test_no_page_names_a_site_a_title_or_a_score(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database), n=4)
    answer = join(client, made.token or "")
    pages = [answer.text]
    for _ in range(4):
        answer = client.post(str(answer.url.path), data=ANSWER)
        pages.append(answer.text)
    assert answer.url.path.endswith("/end")
    for text in pages[:-1]:  # the last one is the list of answers
        for told in (".example", "score", "Title of", "existing", "uggest", "-0.5", "1.43"):
            assert told not in text
    assert ".example" not in pages[-1]


def test_an_invitation_has_the_public_address(make_site: Callable[..., Site]) -> None:
    site = make_site(address="https://pincite.example.org")
    made = study(StudyStore(site.database), n=4)
    behind_a_proxy = TestClient(app_of(site), base_url="http://127.0.0.1")
    page = behind_a_proxy.get(f"/studies/{made.study_id}/report").text
    assert f"https://pincite.example.org/studies/{made.token}" in page


def test_a_rater_goes_the_whole_way(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database), n=2, per_item=1)
    link = f"/studies/{made.token}"
    assert "I have read this" in client.get(link).text
    assert client.post(f"{link}/join", data={}).status_code == 422
    assert client.get(f"{link}/tasks/1").url.path == link  # not joined yet
    page = client.post(f"{link}/join", data={"agreed": "yes"})
    assert page.url.path == f"{link}/tasks/1"
    for name, wanted in (("answer", rating.ANSWERS), ("evidence_a", AMOUNTS)):
        assert set(re.findall(rf'name="{name}" value="(\w+)"', page.text)) == set(wanted)
    data = {"answer": "both", "evidence_a": "enough", "evidence_b": "partial", "seconds": ""}
    assert client.post(page.url.path, data={}).status_code == 422
    page = client.post(page.url.path, data=data)
    assert page.url.path == f"{link}/tasks/2"
    again = client.get(f"{link}/tasks/1")
    assert re.search(r'value="both" required checked', again.text)
    client.post(f"{link}/tasks/1", data=data | {"answer": "neither"})
    assert client.get(link).url.path == f"{link}/tasks/2"  # goes on where it was
    page = client.get(f"{link}/end")
    assert "oldsite.example" not in page.text
    page = client.post(f"{link}/finish", data={"x": "1"})
    assert "https://www.oldsite.example" in page.text
    assert client.get(f"{link}/rate").url.path == f"{link}/end"
    (given,) = StudyStore(site.database).ratings(made.study_id)
    assert (given.answer, given.n_answers) == ("neither", 2)
    page = client.post(f"{link}/forget", data={"x": "1"})
    assert page.url.path == link
    assert StudyStore(site.database).ratings(made.study_id) == []


def job_of(site: Site, text: str = "plain") -> str:
    """A job of `verify` that has ended with a report."""
    job = site.jobs.submit("local", "verify", "t", {"example": "article"})
    claimed = site.jobs.take("w")
    assert claimed
    result = report(text).to_json()
    assert site.jobs.finish(claimed.job_id, "w", Status.DONE, result=result, files={})
    return str(job.job_id)


def join(client: TestClient, link: str) -> Response:
    return client.post(f"/studies/{link}/join", data={"agreed": "yes"})


def test_a_study_is_made_of_jobs(client: TestClient, site: Site) -> None:
    form = {"name": "Bridges", "job": job_of(site), "per_item": "2", "seed": "4", "n": ""}
    assert client.post("/studies", data=form).status_code == 200
    (made,) = StudyStore(site.database).newest("local", 9)
    assert (made.name, made.n_items, made.per_item, made.seed) == ("Bridges", 1, 2, 4)


@pytest.mark.parametrize(
    ("change", "status"),
    [({"job": "x" * 22}, 404), ({"sample": "best"}, 422),
     ({"per_item": "0"}, 422), ({"job": ""}, 422)],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_a_study_is_refused(
    client: TestClient, site: Site, change: dict[str, str], status: int
) -> None:
    form = {"name": "x", "job": job_of(site), **change}
    assert client.post("/studies", data=form).status_code == status
    assert StudyStore(site.database).newest("local", 9) == []


@pytest.mark.parametrize(
    "form", [{"answer": "c"}, {"answer": "a", "seconds": "-1"}, {"answer": "a", "evidence_a": "x"}],
    ids=str,
)  # fmt: skip
def test_an_invalid_answer_is_refused(client: TestClient, site: Site, form: dict[str, str]) -> None:
    made = study(StudyStore(site.database))
    task = join(client, made.token or "")
    assert client.post(task.url.path, data=form).status_code == 422
    assert client.post(f"/studies/{made.token}/tasks/9", data={"answer": "a"}).status_code == 404


def test_nothing_is_answered_without_joining(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database))
    got = client.post(f"/studies/{made.token}/tasks/1", data={"answer": "a"})
    assert got.status_code == 401
    assert client.get(f"/studies/{made.token}/end").url.path == f"/studies/{made.token}"


def test_a_link_that_was_revoked_or_of_a_disabled_owner_leads_nowhere(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(**SERVER)
    owner = somebody(site, Role.EDITOR).account.account_id
    made = study(StudyStore(site.database), owner=owner)
    client = browser(site)
    link = f"/studies/{made.token}"
    for disabled, status in ((True, 404), (False, 200)):
        site.people.accounts.change(owner, disabled=disabled)
        assert client.get(link).status_code == status
    assert join(client, made.token or "").status_code == 303
    StudyStore(site.database).relink(made.study_id, revoke=True)
    assert client.get(f"{link}/rate").status_code == 404
    assert client.get(f"/studies/{made.study_id}").status_code == 404  # an id is no invitation


def test_a_full_study_is_a_conflict(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rating, "MAX_BY_LINK", 0)
    assert join(client, study(StudyStore(site.database)).token or "").status_code == 409


def test_whoever_may_rate_needs_no_link_and_is_one_rater(make_site: Callable[..., Site]) -> None:
    site = make_site(**SERVER)
    made = study(StudyStore(site.database))
    StudyStore(site.database).relink(made.study_id, revoke=True)
    who = somebody(site, Role.RATER).client
    for _ in range(2):
        assert join(who, made.study_id).status_code in (200, 303)
        who.cookies.delete("pincite_rater")
    found = StudyStore(site.database).get(made.study_id)
    assert found
    assert found.n_raters == 1
    assert who.get("/studies").status_code == 200
    assert who.get(f"/studies/{made.study_id}/report").status_code == 403
    assert who.get(f"/studies/{made.study_id}/ratings.csv").status_code == 403


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(client: TestClient, site: Site, text: str) -> None:
    sent = text.encode("utf-8", "replace").decode()  # as any browser sends it
    form = {"name": sent[:100], "job": job_of(site, text), "consent": f"I agree. {sent}"}
    client.post("/studies", data=form)
    (made,) = StudyStore(site.database).newest("local", 9)
    seen = [client.get(f"/studies/{made.token}"), join(client, made.token or "")]
    seen.append(client.post(seen[-1].url.path, data=ANSWER))
    seen += [client.get(path) for path in (f"/studies/{made.study_id}/report", "/studies")]
    for page in seen:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
    table = client.get(f"/studies/{made.study_id}/ratings.csv").text
    rows = list(csv.reader(io.StringIO(table)))
    assert len(rows) == 2
    assert not any(cell.startswith(("=", "@", "+")) for row in rows for cell in row)
