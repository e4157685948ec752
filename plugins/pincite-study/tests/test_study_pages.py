"""The pages of a study: the way of a rater without scripts, and nothing that tells the sides."""

import re
from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient
from server.applications import app_of
from study_samples import item, study

from pincite.server import rendering
from pincite.server.site import Site
from pincite_study.blind import shown
from pincite_study.items import Item
from pincite_study.studies import StudyStore


def html_of(found: Item, *, baseline_first: bool) -> str:
    """The page of an item with its sides in this order, as every rater gets it."""
    words: dict[str, Any] = {"better": "Which?", "how_much": "How much?"}
    words["answers"] = {k: k for k in ("a", "b", "neither", "both", "unsure")}
    words["amounts"] = {k: k for k in ("enough", "partial", "none")}
    values: dict[str, Any] = {"place": "l", "position": 1, "said": None, "words": words}
    values |= {"csrf": "", "path": "", "here": "", "languages": {}, "theme": "", "who": None}
    values |= {"version": "", "server_mode": False, "added": []}
    seen = shown(found, baseline_first)
    return rendering.rendered("rate.html", "en", seen=seen, **values)


def test_the_page_is_the_same_but_for_what_the_sources_say() -> None:
    one, other = (html_of(item(3), baseline_first=first) for first in (True, False))
    swapped = one.replace("oldsite", "\0").replace("newsite", "oldsite").replace("\0", "newsite")
    assert one != other == swapped


def test_no_page_names_a_site_a_title_or_a_score(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database), n=4)
    answer = client.post(f"/studies/{made.token}/join", data={"agreed": "yes"})
    pages = [answer.text]
    for _ in range(4):
        data = {"answer": "a", "evidence_a": "none", "evidence_b": "enough"}
        answer = client.post(str(answer.url.path), data=data)
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


def test_sides_come_in_both_orders(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database), n=12, per_item=2)
    firsts = []
    for _ in range(2):
        client.cookies.clear()
        page = client.post(f"/studies/{made.token}/join", data={"agreed": "yes"})
        while "/tasks/" in page.url.path:
            first = re.search(r"<mark>(\w+)", page.text)
            assert first
            firsts.append(first[1])
            data = {"answer": "a", "evidence_a": "none", "evidence_b": "enough"}
            page = client.post(page.url.path, data=data)
    assert len(firsts) == 24
    assert 4 <= firsts.count("oldsite") <= 20


def test_a_rater_goes_the_whole_way(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database), n=2, per_item=1)
    link = f"/studies/{made.token}"
    assert "I have read this" in client.get(link).text
    assert client.post(f"{link}/join", data={}).status_code == 422
    assert client.get(f"{link}/tasks/1").url.path == link  # not joined yet
    page = client.post(f"{link}/join", data={"agreed": "yes"})
    assert page.url.path == f"{link}/tasks/1"
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


def test_whoever_made_it_sees_how_far_it_is(client: TestClient, site: Site) -> None:
    made = study(StudyStore(site.database))
    place = f"/studies/{made.study_id}/report"
    assert f"/studies/{made.token}" in client.get(place).text
    for act in ("unlink", "link", "close"):
        assert client.post(f"{place}/{act}", data={"x": "1"}).status_code == 200
    assert client.post(f"{place}/nonsense", data={"x": "1"}).status_code == 404
    assert client.post(f"{place}/forget-rater", data={"rater": "7"}).status_code == 404
    assert "This study is closed" in client.get(f"/studies/{made.study_id}").text
    assert client.post(f"{place}/delete", data={"x": "1"}).url.path == "/studies"
    assert client.get(place).status_code == 404
