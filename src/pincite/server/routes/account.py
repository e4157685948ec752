"""One's own account: logging in with a password or at a provider, keys, export, leaving; the pages.

A person of a provider comes in with the account that is linked with them, and with no other: that
an account has the same name proves nothing. Links are made by whoever is logged in with the
account already, or, where the provider's `role` says so, with an account that is new.
"""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from pincite.errors import ConfigError
from pincite.server import forms, oauth
from pincite.server.accounts import AccountExists, LastAdmin, export, forget
from pincite.server.forms import Form
from pincite.server.identity import (
    PUBLIC,
    Anybody,
    ApiKey,
    Guest,
    Identity,
    InPerson,
    Role,
    allowed,
)
from pincite.server.middleware import OWN_SITE, noted
from pincite.server.oauth import ATTEMPT_SECONDS, Attempt, LoginFailed, Person, Provider
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.rendering import page
from pincite.server.requests import Body, IdPath, Moment, Shown, Text
from pincite.server.routing import Router, clear_cookie, cookie_name, set_cookie
from pincite.server.site import Site, Stores
from pincite.server.tables import now

FRESH_SECONDS = 600.0  # since somebody proved who they are, for what cannot be taken back


class LoginBody(BaseModel):
    """An account at a provider that opens this one."""

    provider: str
    name: str  # there


class PersonBody(Shown):
    """Whoever asks."""

    account_id: str
    name: str
    role: Role
    may: list[str]
    logins: list[LoginBody]
    has_password: bool
    csrf: str  # to be sent as X-CSRF-Token by scripts of our pages; empty for keys


def with_accounts(site: Stores) -> None:
    """A dependency of routes that mean nothing where nobody has an account.

    Raises:
        Problem: 404, this is local mode.
    """
    if site.server.mode == "local":
        raise Problem(404, "no_accounts", 'There are no accounts: server.mode is "local".')


def person_body(site: Site, who: Identity) -> PersonBody:
    """Whoever asks, as the API shows them."""
    account = site.people.accounts.get(who.account_id)
    logins = site.people.accounts.logins(who.account_id)
    return PersonBody(
        account_id=who.account_id,
        name=who.name,
        role=who.role,
        may=sorted(who.may),
        logins=[LoginBody(provider=provider, name=name) for provider, name in logins],
        has_password=account.has_password if account else False,
        csrf=who.csrf,
    )


router = Router(
    prefix="/api/v1/session",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 413, 421, 422, 429)},
    dependencies=[Depends(with_accounts)],
)


class LoginRequest(Body):
    """Who somebody says to be."""

    name: Annotated[Text, Field(min_length=1, max_length=200)]
    password: Annotated[Text, Field(min_length=1, max_length=1000)]


@router.post("", operation_id="log_in", dependencies=[PUBLIC])
def log_in(body: LoginRequest, request: Request, response: Response, site: Stores) -> PersonBody:
    """Log in: the answer sets the session's cookie."""
    who = logged_in(request, response, site, body.name, body.password)
    return person_body(site, who)


@router.delete("", operation_id="log_out", status_code=204)
def log_out(who: InPerson, response: Response, site: Stores) -> None:
    """Log out: the session's token opens nothing any more."""
    site.people.sessions.end(who.account_id, [who.session_id])
    clear_cookie(response, site.server)


def logged_in(
    request: Request, response: Response, site: Site, name: str, password: str
) -> Identity:
    """Who logged in with a name and a password; `response` gets the cookie.

    Raises:
        Problem: 401, the same whatever was wrong; 429, too many tries.
    """
    right = request.app.state.limits.try_login(request, name)
    account = site.people.accounts.proved(name, password)
    if account is None:
        named = site.people.accounts.named(name)
        target = named.account_id if named else ""
        request_id = request.state.request_id
        site.people.audit.record("", "log_in_failed", target, request_id=request_id)
        raise Problem(401, "wrong_password", "The name or the password is wrong.")
    right()
    return begun(request, response, site, account.account_id)


def begun(request: Request, response: Response, site: Site, account_id: str) -> Identity:
    """A new session for the browser that asks; the one that it had ends."""
    earlier = request.cookies.get(cookie_name(site.server))
    agent = request.headers.get("user-agent", "")
    token = site.people.sessions.begin(account_id, agent, earlier)
    set_cookie(response, site.server, token)
    identity = site.people.sessions.identity(token)
    if identity is None:  # disabled or deleted between two lines
        raise Problem(401, "wrong_password", "The name or the password is wrong.")
    request.state.identity = identity
    noted(request, account_id)
    return identity


me = Router(
    prefix="/api/v1/me",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422, 429)},
)
ACCOUNTS = [Depends(with_accounts)]
Password = Annotated[Text, Field(min_length=1, max_length=1000)]


class PasswordRequest(Body):
    """A new password, and the one it replaces, if there is one."""

    old: Password | None = None
    new: Password


class KeyRequest(Body):
    """An API key to be made."""

    name: Annotated[Text, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Text], Field(min_length=1, max_length=20)]
    days: Annotated[int, Field(ge=1, le=366)] = 90


class DeleteRequest(Body):
    """Proof that it is the account's owner who wants it gone."""

    password: Password | None = None


class KeyBody(Shown):
    """An API key; its text is shown once, when it is made."""

    key_id: str
    name: str
    prefix: str
    scopes: list[str]
    created: Moment
    expires: Moment
    used: Moment | None


class NewKeyBody(KeyBody):
    """An API key that was just made."""

    key: str


class KeyList(BaseModel):
    """All keys of an account, the newest first."""

    keys: list[KeyBody]


class SessionBody(Shown):
    """A browser that is logged in."""

    session_id: str
    created: Moment
    seen: Moment
    agent: str
    this: bool


class SessionList(BaseModel):
    """Where an account is logged in."""

    sessions: list[SessionBody]


@me.get("", operation_id="get_me")
def get_me(who: Anybody, site: Stores) -> PersonBody:
    """Who asks, and what they may do."""
    return person_body(site, who)


@me.post("/password", operation_id="set_password", status_code=204, dependencies=ACCOUNTS)
def set_password(
    body: PasswordRequest, who: InPerson, request: Request, response: Response, site: Stores
) -> None:
    """Set the password. Everywhere else one is logged out, and API keys are revoked."""
    proven(site, request, who, body.old)
    try:
        site.people.accounts.change(who.account_id, password=body.new)
    except ConfigError as error:
        raise Problem(422, "bad_password", str(error)) from error
    begun(request, response, site, who.account_id)


@me.get("/sessions", operation_id="list_sessions", dependencies=ACCOUNTS)
def list_sessions(who: InPerson, site: Stores) -> SessionList:
    """Where one is logged in."""
    found = [
        {**asdict(each), "this": each.session_id == who.session_id}
        for each in site.people.sessions.of(who.account_id)
    ]
    return SessionList.model_validate({"sessions": found})


@me.delete(
    "/sessions/{session_id}",
    operation_id="end_session",
    status_code=204,
    dependencies=ACCOUNTS,
)
def end_session(session_id: IdPath, who: InPerson, site: Stores) -> None:
    """Log out somewhere."""
    if not site.people.sessions.end(who.account_id, [session_id]):
        raise not_found()


@me.get("/keys", operation_id="list_keys", dependencies=ACCOUNTS)
def list_keys(who: InPerson, site: Stores) -> KeyList:
    """One's API keys."""
    return KeyList(keys=[KeyBody.model_validate(k) for k in site.people.keys.of(who.account_id)])


@me.post("/keys", operation_id="create_key", status_code=201, dependencies=ACCOUNTS)
def create_key(body: KeyRequest, who: InPerson, request: Request, site: Stores) -> NewKeyBody:
    """A new API key. Its text is in this answer and nowhere else."""
    key, text = new_key(site, request, who, body)
    return NewKeyBody.model_validate({**asdict(key), "key": text})


@me.delete("/keys/{key_id}", operation_id="revoke_key", status_code=204, dependencies=ACCOUNTS)
def revoke_key(key_id: IdPath, who: InPerson, site: Stores) -> None:
    """Revoke a key: it opens nothing from now on."""
    if not site.people.keys.revoke(who.account_id, key_id):
        raise not_found()


@me.delete(
    "/logins/{provider}", operation_id="unlink_login", status_code=204, dependencies=ACCOUNTS
)
def unlink_login(provider: IdPath, who: InPerson, site: Stores) -> None:
    """Have a provider's account open this one no longer."""
    try:
        if not site.people.accounts.unlink(who.account_id, provider):
            raise not_found()
    except ConfigError as error:
        raise Problem(409, "last_way_in", str(error)) from error


@me.get(
    "/export",
    operation_id="export_me",
    response_class=FileResponse,
    responses={200: {"content": {"application/zip": {}}, "description": "A ZIP file."}},
)
def export_me(who: InPerson, request: Request, site: Stores) -> FileResponse:
    """All that the server keeps of whoever asks, as a ZIP file of JSON lines."""
    noted(request)
    with tempfile.NamedTemporaryFile(suffix=".zip", delete=False) as file:
        path = Path(file.name)
        try:
            copies = site.own.of(who.account_id)
            export(site.database, who.account_id, copies, file)
        except BaseException:
            path.unlink()
            raise
    return FileResponse(
        path,
        media_type="application/zip",
        filename="pincite-export.zip",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


@me.delete("", operation_id="delete_me", status_code=204, dependencies=ACCOUNTS)
def delete_me(
    body: DeleteRequest, who: InPerson, request: Request, response: Response, site: Stores
) -> None:
    """Delete the account and what is its own, for good: with the password, or soon after login."""
    forgotten(site, request, who, body.password)
    clear_cookie(response, site.server)


def proven(site: Site, request: Request, who: Identity, password: str | None) -> None:
    """Refuse unless the password is right, or, for accounts without one, the login was just now.

    Raises:
        Problem: 403; 429, too many tries.
    """
    account = site.people.accounts.get(who.account_id)
    if account and not account.has_password:
        if now() - who.proved < FRESH_SECONDS:
            return
        raise Problem(403, "login_too_old", "Log out and in again first: this cannot be undone.")
    right = request.app.state.limits.try_login(request, who.name)
    if password is None or site.people.accounts.proved(who.name, password) is None:
        raise Problem(403, "wrong_password", "The password is wrong.")
    right()


def forgotten(site: Site, request: Request, who: Identity, password: str | None) -> None:
    """Delete the account of whoever asks.

    Raises:
        Problem: 403 as `proven`; 409, it is the only admin's.
    """
    proven(site, request, who, password)
    try:
        forget(site.database, who.account_id, site.own)
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    site.tidy()
    request.state.identity = None  # nobody's deed: the log says that an account was deleted
    site.people.audit.record("", "delete_me", request_id=request.state.request_id)


def new_key(site: Site, request: Request, who: Identity, body: KeyRequest) -> tuple[ApiKey, str]:
    """A new key of whoever asks, and its text.

    Raises:
        Problem: 422, it would allow what its owner may not.
    """
    beyond = sorted(set(body.scopes) - allowed(who.role))
    if beyond:
        raise Problem(422, "beyond_role", f"Your role does not allow {beyond[0]!r}.")
    key, text = site.people.keys.add(who.account_id, body.name, sorted(set(body.scopes)), body.days)
    noted(request, key.key_id, {"scopes": list(key.scopes)})
    return key, text


account = Router(prefix="/account", include_in_schema=False, dependencies=[Depends(with_accounts)])
HERE = "/account"


@account.get("")
def account_page(request: Request, who: InPerson, site: Stores) -> HTMLResponse:
    """All about one's account."""
    return _account_page(request, who, site)


@account.post("/password", name="set_password")
def set_password_by_form(
    form: Form, request: Request, who: InPerson, site: Stores
) -> RedirectResponse:
    """Set the password."""
    values: dict[str, object] = {"old": form.get("old") or None, "new": form.get("new")}
    answer = forms.to(HERE)
    set_password(forms.checked(PasswordRequest, values), who, request, answer, site)
    return answer


@account.post("/keys", name="create_key")
def create_key_by_form(form: Form, request: Request, who: InPerson, site: Stores) -> HTMLResponse:
    """A new API key, which this page shows and none after it."""
    values: dict[str, object] = {
        "name": forms.text(form, "name"),
        "scopes": form.getlist("scopes"),
        "days": forms.text(form, "days"),
    }
    _, key = new_key(site, request, who, forms.checked(KeyRequest, values))
    return _account_page(request, who, site, key)


@account.post("/keys/{key_id}/revoke", name="revoke_key")
def revoke_key_by_form(
    key_id: IdPath, who: InPerson, site: Stores, _form: Form
) -> RedirectResponse:
    """Revoke a key."""
    revoke_key(key_id, who, site)
    return forms.to(HERE)


@account.post("/sessions/{session_id}/end", name="end_session")
def end_session_by_form(
    session_id: IdPath, who: InPerson, site: Stores, _form: Form
) -> RedirectResponse:
    """Log out somewhere."""
    end_session(session_id, who, site)
    return forms.to(HERE)


@account.post("/logins/{provider}/unlink")
def unlink(provider: IdPath, who: InPerson, site: Stores, _form: Form) -> RedirectResponse:
    """Have a provider's account open this one no longer."""
    unlink_login(provider, who, site)
    return forms.to(HERE)


@account.post("/delete")
def delete(form: Form, request: Request, who: InPerson, site: Stores) -> RedirectResponse:
    """Delete the account and what is its own."""
    password = form.get("password")
    forgotten(site, request, who, password if isinstance(password, str) else None)
    answer = forms.to("/login")
    clear_cookie(answer, site.server)
    return answer


def _account_page(request: Request, who: Identity, site: Site, new_key: str = "") -> HTMLResponse:
    return page(
        request,
        "account_page.html",
        who,
        person=person_body(site, who),
        keys=site.people.keys.of(who.account_id),
        sessions=site.people.sessions.of(who.account_id),
        scopes=sorted(allowed(who.role)),
        providers=site.people.providers,
        new_key=new_key,
    )


def begin_at_provider(
    site: Site, request: Request, name: str, who: Identity | None, then: str
) -> Response:
    """Send a browser to a provider.

    Args:
        site: the server.
        request: asks for it.
        name: of the provider.
        who: the account to link with what comes back; None: to log in.
        then: the path of ours to go to at last.

    Raises:
        Problem: 404 no such provider; 403 another site's page sent the browser here, or the
            account was proved too long ago.
    """
    provider = _provider(site, name)
    if request.headers.get("sec-fetch-site", "none") not in OWN_SITE:
        raise Problem(403, "foreign_origin", "The request comes from a page of another site.")
    if who and now() - who.proved > FRESH_SECONDS:
        raise Problem(403, "login_too_old", "Log out and in again first: this opens your account.")
    url, state, verifier = oauth.begun(provider, _callback(site, name))
    attempt = Attempt(verifier, who.account_id if who else None, then)
    browser = site.people.attempts.begin(name, state, attempt)
    answer = RedirectResponse(url, 303)
    answer.set_cookie(
        cookie_name(site.server, "login"),
        browser,
        max_age=int(ATTEMPT_SECONDS),
        path="/",
        secure=site.server.secure_cookies,
        httponly=True,
        samesite="lax",  # it comes back by a link of the provider's
    )
    return answer


def end_at_provider(
    site: Site, request: Request, name: str, state: str, code: str, who: Identity | None
) -> Response:
    """A browser comes back from a provider: log it in, or link its account.

    Raises:
        Problem: 404, 403; 400 where nothing was begun in this browser, or too long ago.
    """
    provider = _provider(site, name)
    browser = request.cookies.get(cookie_name(site.server, "login"), "")
    attempt = site.people.attempts.end(name, state, browser)
    if attempt is None:
        detail = "It was begun in another browser, too long ago, or has come back before."
        raise Problem(400, "login_expired", f"{detail} Log in again.")
    if not code:
        raise Problem(403, "login_refused", "The provider says that you did not allow it.")
    try:
        person = oauth.person(provider, _callback(site, name), code, attempt.verifier)
    except LoginFailed as error:
        raise Problem(403, "login_refused", str(error)) from error
    answer = RedirectResponse(attempt.next, 303)
    answer.delete_cookie(cookie_name(site.server, "login"), path="/")
    if attempt.account_id:
        _link(site, request, name, attempt.account_id, person, who)
    else:
        account_id = _account_of(site, name, provider, person)
        begun(request, answer, site, account_id)
    return answer


def _link(
    site: Site,
    request: Request,
    name: str,
    account_id: str,
    person: Person,
    who: Identity | None,
) -> None:
    if who is None or who.account_id != account_id:
        raise Problem(403, "login_refused", "You were logged out meanwhile. Nothing was linked.")
    try:
        site.people.accounts.link(name, person.subject, account_id, person.name)
    except AccountExists as error:
        raise Problem(409, "name_taken", str(error)) from error
    noted(request, account_id, {"provider": name})


def _account_of(site: Site, name: str, provider: Provider, person: Person) -> str:
    accounts = site.people.accounts
    account = accounts.by_login(name, person.subject)
    if account is None and provider.role and not accounts.has_login(name, person.subject):
        try:
            account = accounts.add_by_login(name, person.subject, person.name, Role(provider.role))
        except AccountExists as error:
            raise Problem(409, "name_taken", str(error)) from error
    if account is None:
        raise Problem(
            403,
            "login_refused",
            "No account here is linked with this login. Ask whoever runs this server.",
        )
    return account.account_id


def _provider(site: Site, name: str) -> Provider:
    provider = site.people.providers.get(name)
    if provider is None:
        raise not_found()
    return provider


def _callback(site: Site, name: str) -> str:
    return f"{site.server.address.rstrip('/')}/login/{quote(name)}/callback"


logins = Router(include_in_schema=False, dependencies=[Depends(with_accounts)])
Short = Annotated[str, Query(max_length=2000)]


@logins.get("/login")
def login_page(request: Request, who: Guest, site: Stores, next: Short = "/") -> Response:
    """Name and password, and the providers; whoever is logged in goes on."""
    if who:
        return forms.to(forms.local(next))
    return _login_page(request, site, forms.local(next))


@logins.post("/login", dependencies=[PUBLIC], name="log_in")
def log_in_by_form(form: Form, request: Request, site: Stores) -> Response:
    """Log in, and go where one wanted to."""
    then = forms.local(forms.text(form, "next"))
    answer = forms.to(then)
    try:
        password = form.get("password")  # as it was typed: blanks at its ends are part of it
        body = forms.checked(LoginRequest, {"name": forms.text(form, "name"), "password": password})
        logged_in(request, answer, site, body.name, body.password)
    except Problem as problem:
        return _login_page(request, site, then, problem, forms.text(form, "name")[:200])
    return answer


@logins.post("/logout", name="log_out")
def log_out_by_form(who: InPerson, site: Stores) -> RedirectResponse:
    """Log out."""
    answer = forms.to("/login")
    log_out(who, answer, site)
    return answer


@logins.get("/login/{provider}")
def sent_away(
    provider: str, request: Request, who: Guest, site: Stores, next: Short = "/", link: bool = False
) -> Response:
    """Log in at a provider, or link one's account with it."""
    if link and (who is None or who.key_id):
        raise Problem(401, "not_logged_in", "Log in first: this links your account.")
    linked = who if link else None
    return begin_at_provider(site, request, provider, linked, forms.local(next))


@logins.get("/login/{provider}/callback")
def came_back(
    provider: str,
    request: Request,
    who: Guest,
    site: Stores,
    state: Short = "",
    code: Short = "",
) -> Response:
    """Where a provider sends people back to."""
    return end_at_provider(site, request, provider, state, code, who)


def _login_page(
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
