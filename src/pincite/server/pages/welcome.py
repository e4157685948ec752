"""The page of the gate: the text that one agrees to, and the password."""

from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse

from pincite.server.branding import paragraphs
from pincite.server.pages import forms, home
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.people import gate as gates
from pincite.server.people.gate import Gate
from pincite.server.people.identity import PUBLIC
from pincite.server.problems import Problem, not_found
from pincite.server.routing import Router
from pincite.server.site import Stores

router = Router(include_in_schema=False)
NAME = "gate/password"  # no account is called so: what is tried here counts apart


@router.get(gates.PAGE, dependencies=[PUBLIC])
def welcome(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> HTMLResponse:
    """What is asked for."""
    return _page(request, _gate(request), forms.local(next))


@router.post(gates.PAGE, dependencies=[PUBLIC])
def passed(request: Request, form: Form, site: Stores) -> Response:
    """Let somebody in who agrees and knows the password."""
    gate, then = _gate(request), forms.local(forms.text(form, "next"))
    if gate.text and forms.text(form, "agree") != "yes":
        return _page(request, gate, then, "consent")
    password = form.get("password")
    if gate.password_hash:
        try:
            right = request.app.state.limits.try_login(request, NAME)
        except Problem as problem:
            return _page(request, gate, then, "often", problem)
        if not gate.matches(password if isinstance(password, str) else ""):
            return _page(request, gate, then, "password")
        right()
    answer = forms.to(then)
    home.keep(answer, site, gates.COOKIE, gate.token)
    return answer


def _page(
    request: Request, gate: Gate, then: str, wrong: str = "", problem: Problem | None = None
) -> HTMLResponse:
    return page(
        request,
        "welcome.html",
        None,
        status=problem.status if problem else 403 if wrong else 200,
        headers=problem.headers if problem else None,
        paragraphs=paragraphs(gate.text),
        password=bool(gate.password_hash),
        then=then,
        wrong=wrong,
    )


def _gate(request: Request) -> Gate:
    gate: Gate | None = request.app.state.gate
    if gate is None:
        raise not_found()
    return gate
