"""A form is the body of an API request in another encoding."""

import pytest
from starlette.datastructures import FormData

from pincite.server import forms
from pincite.server.problems import Problem
from pincite.server.requests import AskRequest
from pincite.server.routes.accounts import LoginRequest


def test_settings_stand_beside_the_other_fields_and_empty_ones_are_left_out() -> None:
    asked = [("question", " Why? "), ("corpus", "a"), ("corpus", "b"), ("csrf", "x")]
    beside = [("kinds", "pubmed, pdf"), ("top_k", ""), ("undated", "1"), ("repair", "0")]
    form = FormData([*asked, *beside])
    body = forms.body(AskRequest, form)
    assert (body.question, body.corpus, body.repair) == (("Why?",), ("a", "b"), False)
    assert body.settings.given() == {"kinds": ("pubmed", "pdf"), "undated": True}


def test_blanks_of_a_password_count() -> None:
    form = FormData([("name", " Ada "), ("password", " secret ")])
    body = forms.body(LoginRequest, form)
    assert (body.name, body.password) == ("Ada", " secret ")


def test_a_wrong_field_is_named() -> None:
    form = FormData([("question", "Why?"), ("corpus", "a"), ("published_from", "May")])
    with pytest.raises(Problem) as caught:
        forms.body(AskRequest, form)
    assert [each["where"] for each in caught.value.errors or ()] == ["settings.published_from"]
