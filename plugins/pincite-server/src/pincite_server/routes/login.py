"""Logging in and out: passwords, providers, consent, password links, and registration.

A login through a provider opens only the account linked to it; an equal name proves nothing. To
link a login, the user must already be logged in, or the provider's `role` must allow new accounts.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from pincite.errors import ConfigError
from pincite_server import forms, oauth
from pincite_server.accounts import LINK_PATH, NAME_TAKEN, REGISTER_PATH, Account, name_key
from pincite_server.forms import Form, also_posted
from pincite_server.identity import (
    DAY,
    PUBLIC,
    REGISTERED_ROLE,
    Consent,
    Guest,
    Identity,
    Role,
    SessionUser,
)
from pincite_server.languages import language_of, text_of
from pincite_server.logs import AUDIT
from pincite_server.middleware import OWN_SITE
from pincite_server.oauth import ATTEMPT_SECONDS, Attempt, Person, Provider
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import page
from pincite_server.requests import Body, Line, Text
from pincite_server.routing import Router, consent_mark, cookie_name, set_cookie
from pincite_server.site import Site, Stores
from pincite_server.tables import now

FRESH_SECONDS = 600.0  # since the last login, for irreversible actions
MAX_NEXT = 500  # characters of a path in the cookie of a login
Short = Annotated[str, Query(max_length=2000)]
Password = Annotated[Text, Field(min_length=1, max_length=1000)]


def with_accounts(site: Stores) -> None:
    """Dependency of routes that exist in server mode only. Raises Problem: 404 in local mode."""
    if site.server.mode == "local":
        raise Problem(404, "no_accounts", 'There are no accounts: server.mode is "local".')


pages = Router(include_in_schema=False, dependencies=[Depends(with_accounts)])


class LoginRequest(Body):
    """A login by password."""

    name: Annotated[Text, Field(min_length=1, max_length=200)]
    password: Password


@also_posted(pages, "/logout", then="/login")
def log_out(who: SessionUser, request: Request, response: Response, site: Stores) -> None:
    site.people.sessions.end(request.cookies.get(cookie_name(site.server), ""))
    set_cookie(response, site.server, "session", "", 0)


def check_login(request: Request, response: Response, site: Site, login: LoginRequest) -> None:
    """Log in, setting the cookie. Raises Problem: 401, the same for every cause; 429."""
    named = site.people.accounts.by_name(login.name)
    who = f"{named.name} ({named.account_id})" if named else "an unknown name"
    try:
        forget_try = request.app.state.limits.try_login(request, login.name)
    except Problem:
        AUDIT.info("refused login for %s: too many failed attempts", who)
        raise
    account = site.people.accounts.log_in(login.name, login.password)
    if account is None:
        AUDIT.info("failed login for %s", who)
        raise Problem(401, "wrong_password", "The name or the password is wrong.")
    forget_try()
    begin_session(request, response, site, account.account_id)


def begin_session(request: Request, response: Response, site: Site, account_id: str) -> None:
    """Start a session for the browser and end its earlier one."""
    earlier = request.cookies.get(cookie_name(site.server), "")
    token = site.people.sessions.begin(account_id, earlier)
    set_cookie(response, site.server, "session", token, site.server.session_days * DAY)
    identity = site.people.sessions.identity(token)
    if identity is None:  # disabled or deleted in the meantime
        raise Problem(401, "wrong_password", "The name or the password is wrong.")
    request.state.identity = identity  # for the audit log


@pages.get("/consent")
def consent_page(request: Request, who: SessionUser, site: Stores, next: Short = "/") -> Response:
    """What visitors have to accept; redirects if they have."""
    terms: Mapping[str, str] = request.app.state.terms
    if who.consent is not Consent.MISSING:
        return forms.redirect(forms.local(next))
    text, logged = text_of(terms, language_of(request)), bool(site.settings.results.folder)
    return page(request, "consent.html", who, terms=text, then=forms.local(next), logged=logged)


@pages.post("/consent")
def accept_terms(form: Form, request: Request, who: SessionUser, site: Stores) -> Response:
    """Remember for this session that the visitor accepts, and whether checks may be logged."""
    choice = Consent.LOGGED if forms.text(form, "log") == "yes" else Consent.UNLOGGED
    answer = forms.redirect(forms.local(forms.text(form, "next")))
    token = request.cookies.get(cookie_name(site.server), "")
    mark = consent_mark(token, "\0".join(request.app.state.terms.values()), choice)
    set_cookie(answer, site.server, "consent", mark, site.server.session_days * DAY)
    return answer


BAD_LINK = (
    "This link has already been used, has expired or is incomplete. "
    "Ask an administrator for another."
)


class LinkRequest(Body):
    """A password that is set with a link; the link's token is not in the path, which is logged."""

    token: Annotated[Text, Field(max_length=100)]
    new: Password


@pages.get(LINK_PATH + "/{token}", dependencies=[PUBLIC])
def password_link_page(token: str, request: Request, site: Stores) -> HTMLResponse:
    """A form that sets the password; opening it does not use up the link."""
    return _password_page(request, token, _account_by_link(request, site, token))


@pages.post(LINK_PATH, dependencies=[PUBLIC], response_model=None)
def set_password_by_link(form: Form, request: Request, site: Stores) -> Response:
    """Set the password and log in; the link then stops working."""
    body = forms.body(LinkRequest, form)
    account = _account_by_link(request, site, body.token)
    try:
        changed = site.people.accounts.use_link(body.token, body.new)
    except ConfigError as error:
        return _password_page(request, body.token, account, error)
    if changed is None:  # another request was faster
        raise not_found(BAD_LINK)
    answer = forms.redirect("/")
    begin_session(request, answer, site, changed.account_id)
    return answer


def _account_by_link(request: Request, site: Site, token: str) -> Account:
    """The token's account. Raises Problem: 404, the same for every cause; 429."""
    forget_try = request.app.state.limits.try_login(request, token)
    account = site.people.accounts.by_link(token)
    if account is None:
        AUDIT.info("invalid password link")
        raise not_found(BAD_LINK)
    forget_try()
    return account


def _password_page(
    request: Request, token: str, account: Account, error: ConfigError | None = None
) -> HTMLResponse:
    values: dict[str, Any] = {"token": token, "account": account, "error": error}
    return page(request, "password_link.html", None, status=422 if error else 200, **values)


class RegisterRequest(LinkRequest):
    """A new account, made by its user; the token is empty without an invitation."""

    token: Annotated[Text, Field(max_length=100)] = ""
    name: Line  # validated by `Accounts.add`


@pages.get(REGISTER_PATH, dependencies=[PUBLIC])
@pages.get(REGISTER_PATH + "/{token}", dependencies=[PUBLIC])
def register_page(request: Request, site: Stores, token: str = "") -> HTMLResponse:
    """A form for a new account; opening it does not use an invitation."""
    _may_register(request, site, token, token)()
    return page(request, "register.html", None, token=token, typed="", error=None)


@pages.post(REGISTER_PATH, dependencies=[PUBLIC], response_model=None)
def register(form: Form, request: Request, site: Stores) -> Response:
    """Create an account and log in. Without an invitation, an address can create few."""
    body = forms.body(RegisterRequest, form)
    forget_try = _may_register(request, site, body.token, body.token or body.name)
    accounts, shared = site.people.accounts, site.server.shared_account
    try:
        if name_key(body.name) == name_key(shared):  # even if it has not been created yet
            raise Problem(409, "name_taken", NAME_TAKEN % shared)
        if body.token:
            account = accounts.register(body.name, body.new, body.token)
        else:
            account = accounts.add(body.name, REGISTERED_ROLE, body.new)
    except (ConfigError, Problem) as error:
        values: dict[str, Any] = {"token": body.token, "typed": body.name, "error": error}
        return page(request, "register.html", None, status=422, **values)
    if account is None:  # another request was faster
        raise not_found(BAD_LINK)
    if body.token:
        forget_try()
    answer = forms.redirect("/")
    begin_session(request, answer, site, account.account_id)
    return answer


def _may_register(request: Request, site: Site, token: str, key: str) -> Callable[[], None]:
    """Count an attempt; return what forgets it. Raises Problem: 404, no valid invitation; 429."""
    forget_try: Callable[[], None] = request.app.state.limits.try_login(request, key)
    kind = site.server.registration
    is_allowed = site.people.accounts.is_invited(token) if token else kind == "open"
    if kind == "closed" or not is_allowed:
        AUDIT.info("invalid invitation")
        raise not_found(BAD_LINK)
    return forget_try


@pages.get("/login")
def login_page(request: Request, who: Guest, site: Stores, next: Short = "/") -> Response:
    """A form for name and password, and the providers; redirects if logged in."""
    if who:
        return forms.redirect(forms.local(next))
    return _login_page(request, site, forms.local(next))


@pages.post("/login", dependencies=[PUBLIC], name="log_in")
def log_in_by_form(form: Form, request: Request, site: Stores) -> Response:
    then = forms.local(forms.text(form, "next"))
    answer = forms.redirect(then)
    try:
        check_login(request, answer, site, forms.body(LoginRequest, form))
    except Problem as problem:
        return _login_page(request, site, then, problem, forms.text(form, "name")[:200])
    return answer


def _login_page(
    request: Request, site: Site, then: str, problem: Problem | None = None, name: str = ""
) -> HTMLResponse:
    values: dict[str, Any] = {"problem": problem, "then": then, "typed": name}
    if problem:
        values |= {"status": problem.status, "headers": problem.headers}
    values |= {"providers": site.people.providers, "shared": site.server.shared_account}
    values["registers"] = site.server.registration == "open"
    return page(request, "login.html", None, **values)


@pages.get("/login/{provider}")
def begin_provider_login(
    provider: str, request: Request, who: Guest, site: Stores, next: Short = "/", link: bool = False
) -> Response:
    """Send the browser to a provider, to log in or to link the user's account.

    Raises Problem: 404; 401, 403 it cannot be linked now, or another site's page sends the request.
    """
    if link:
        _check_may_link(who, FRESH_SECONDS)
    config = _provider(site, provider)
    if request.headers.get("sec-fetch-site", "none") not in OWN_SITE:
        raise Problem(403, "foreign_origin", "The request comes from a page on another site.")
    url, state, verifier = oauth.begin_login(config, _callback(site, provider))
    then = forms.local(next) if len(next) <= MAX_NEXT else "/"
    attempt = Attempt(provider, state, verifier, who.account_id if link and who else "", then)
    answer = forms.redirect(url)
    set_cookie(answer, site.server, "login", attempt.cookie(), ATTEMPT_SECONDS)
    return answer


@pages.get("/login/{provider}/callback")
def finish_provider_login(
    provider: str, request: Request, who: Guest, site: Stores, state: Short = "", code: Short = ""
) -> Response:
    """Log in a browser that comes back from a provider, or link its account.

    Raises Problem: 404, 403; 400 if no login was begun in this browser, or too long ago.
    """
    config = _provider(site, provider)
    cookie = request.cookies.get(cookie_name(site.server, "login"), "")
    attempt = oauth.read_attempt(cookie, provider, state)
    if attempt is None:
        detail = "The login began in another browser or too long ago, or is already complete."
        raise Problem(400, "login_expired", f"{detail} Log in again.")
    if not code:
        raise oauth.refusal("The provider reports that you did not allow the login.")
    answer = forms.redirect(forms.local(attempt.next))
    set_cookie(answer, site.server, "login", "", 0)
    person = oauth.fetch_person(config, _callback(site, provider), code, attempt.verifier)
    if not attempt.account_id:
        begin_session(request, answer, site, _account_of(site, provider, config, person))
    elif who is None or who.account_id != attempt.account_id:
        raise oauth.refusal("You were logged out in the meantime. Nothing was linked.")
    else:
        _check_may_link(who, FRESH_SECONDS + ATTEMPT_SECONDS)  # the cookie proves nothing
        site.people.accounts.link(provider, person.subject, attempt.account_id, person.name)
    return answer


def _check_may_link(who: Identity | None, within: float) -> None:
    """Raises 401 without a session, 403 if it began more than `within` seconds ago."""
    if who is None or who.key_id or who.shared:
        raise Problem(401, "not_logged_in", "Log in first to link your account.")
    if now() - who.logged_in > within:
        detail = "This gives access to your account: log out and in again first."
        raise Problem(403, "login_too_old", detail)


def _account_of(site: Site, name: str, provider: Provider, person: Person) -> str:
    accounts = site.people.accounts
    account = accounts.by_login(name, person.subject)
    if account is None and provider.role:
        account = accounts.add_by_login(name, person.subject, person.name, Role(provider.role))
    if account is None or account.disabled:
        raise oauth.refusal(
            "No account is linked with this login. Ask the operator of this server."
        )
    return account.account_id


def _provider(site: Site, name: str) -> Provider:
    provider = site.people.providers.get(name)
    if provider is None:
        raise not_found()
    return provider


def _callback(site: Site, name: str) -> str:
    return f"{site.server.address.rstrip('/')}/login/{quote(name)}/callback"
