"""Logging in and out: with a password, or by way of a provider."""

from typing import Annotated

from fastapi import Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.people.identity import PUBLIC, Guest, InPerson
from pincite.server.problems import Problem
from pincite.server.routes.accounts import provider_login
from pincite.server.routes.accounts import session as api_session
from pincite.server.routes.accounts.bodies import with_accounts
from pincite.server.routes.accounts.session import LoginRequest
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(include_in_schema=False, dependencies=[Depends(with_accounts)])
Short = Annotated[str, Query(max_length=2000)]


@router.get("/login")
def login_page(request: Request, who: Guest, site: Stores, next: Short = "/") -> Response:
    """Name and password, and the providers; whoever is logged in goes on."""
    if who:
        return forms.to(forms.local(next))
    return _shown(request, site, forms.local(next))


@router.post("/login", dependencies=[PUBLIC])
def log_in(form: Form, request: Request, site: Stores) -> Response:
    """Log in, and go where one wanted to."""
    then = forms.local(forms.text(form, "next"))
    answer = forms.to(then)
    try:
        password = form.get("password")  # as it was typed: blanks at its ends are part of it
        body = forms.checked(LoginRequest, {"name": forms.text(form, "name"), "password": password})
        api_session.logged_in(request, answer, site, body.name, body.password)
    except Problem as problem:
        return _shown(request, site, then, problem, forms.text(form, "name")[:200])
    return answer


@router.post("/logout")
def log_out(who: InPerson, site: Stores) -> RedirectResponse:
    """Log out."""
    answer = forms.to("/login")
    api_session.log_out(who, answer, site)
    return answer


@router.get("/login/{provider}")
def sent_away(
    provider: str, request: Request, who: Guest, site: Stores, next: Short = "/", link: bool = False
) -> Response:
    """Log in at a provider, or link one's account with it."""
    if link and (who is None or who.key_id):
        raise Problem(401, "not_logged_in", "Log in first: this links your account.")
    linked = who if link else None
    return provider_login.sent_away(site, request, provider, linked, forms.local(next))


@router.get("/login/{provider}/callback")
def came_back(
    provider: str,
    request: Request,
    who: Guest,
    site: Stores,
    state: Short = "",
    code: Short = "",
) -> Response:
    """Where a provider sends people back to."""
    return provider_login.came_back(site, request, provider, state, code, who)


def _shown(
    request: Request, site: Site, then: str, problem: Problem | None = None, name: str = ""
) -> HTMLResponse:
    return page(
        request,
        "login.html",
        None,
        status=problem.status if problem else 200,
        headers=problem.headers if problem else None,
        problem=problem,
        then=then,
        typed=name,
        providers=site.people.providers,
    )
