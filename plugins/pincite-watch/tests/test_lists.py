"""Lists of pages in the forms that their tools document."""

import json
from typing import Any, NamedTuple

import pytest
from support.rows import each_row

from pincite.errors import InputError
from pincite_watch.lists import page_pile, pet_scan


class Reply(NamedTuple):
    body: bytes
    status: int = 200


class Answers:
    """A web with one answer."""

    def __init__(self, values: object, status: int = 200) -> None:
        self.reply, self.asked = Reply(json.dumps(values).encode(), status), list[str]()

    def get(self, url: str, **_: object) -> Any:
        self.asked.append(url)
        return self.reply

    def post(self, url: str, form: object, **_: object) -> Any:
        return self.get(url)


def test_a_page_pile_of_this_wiki() -> None:
    web = Answers({"pages": ["Tolne_weir", "Draft:Mill"], "wiki": "enwiki", "pages_total": 2})
    assert page_pile(web, 7, "enwiki") == ["Tolne weir", "Draft:Mill"]
    assert "id=7" in web.asked[0]


@each_row("watch/lists/both_forms_of_pet_scan")
def test_both_forms_of_pet_scan(values: object) -> None:
    assert pet_scan(Answers(values), 7) == ["Tolne weir"]


def test_a_namespace_stands_before_the_title() -> None:
    values = {"*": [{"a": {"*": [{"title": "Mill", "namespace": 118, "nstext": "Draft"}]}}]}
    assert pet_scan(Answers(values), 7) == ["Draft:Mill"]


@pytest.mark.parametrize(
    ("values", "status"),
    [({"error": "no"}, 200), ([], 200), ({"pages": []}, 404), ({"*": []}, 200)],
)
def test_an_answer_without_a_list_is_an_error(values: object, status: int) -> None:
    with pytest.raises(InputError):
        pet_scan(Answers(values, status), 7)


def test_a_pile_of_another_wiki_is_an_error() -> None:
    with pytest.raises(InputError):
        page_pile(Answers({"pages": ["A"], "wiki": "dewiki"}), 7, "enwiki")
