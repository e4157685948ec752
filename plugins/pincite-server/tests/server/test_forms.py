"""A form is the body of an API request in another encoding."""

import pytest
from server.people_of_tests import SERVER, MakeSite, browser, somebody
from starlette.datastructures import FormData

from pincite_server import forms
from pincite_server.identity import Role
from pincite_server.requests import AskRequest
from pincite_server.routes.login import LoginRequest


def test_settings_stand_beside_the_other_fields_and_empty_ones_are_left_out() -> None:
    asked = [("question", " Why? "), ("corpus", "a"), ("corpus", "b"), ("csrf", "x")]
    beside = [("kinds", "pubmed, pdf"), ("top_k", ""), ("undated", "1"), ("repair", "0")]
    form = FormData([*asked, *beside])
    body = forms.body(AskRequest, form)
    assert (body.question, body.corpus, body.repair) == (("Why?",), ("a", "b"), False)
    assert body.settings.overrides() == {"kinds": ("pubmed", "pdf"), "undated": True}


def test_blanks_of_a_password_count() -> None:
    form = FormData([("name", " Ada "), ("password", " secret ")])
    body = forms.body(LoginRequest, form)
    assert (body.name, body.password) == ("Ada", " secret ")


KINDS = [f"boundary=x; charset={name}" for name in ("punycode", "undefined", "idna", "a\0b")]
KINDS += [f"boundary={'x' * 257}", "charset=utf-8"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [b"name", b"\xff..", b"\\ud800-"])
def test_a_malformed_form_is_refused_before_and_after_login(
    make_site: MakeSite, kind: str, name: bytes
) -> None:
    site = make_site(**SERVER)
    client = somebody(site, Role.EDITOR).client
    del client.headers["X-CSRF-Token"]  # so that it is looked for in the form
    head = b'--x\r\nContent-Disposition: form-data; name="' + name
    for asked, path in ((browser(site), "/login"), (client, "/account/password")):
        content = head + b'"\r\n\r\n\xff\r\n--x--\r\n'
        of_kind = {"content-type": f"multipart/form-data; {kind}"}
        reply = asked.post(path, headers=of_kind, content=content)
        assert 400 <= reply.status_code < 500
