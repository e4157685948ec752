"""A login at a provider, from its beginning to the session: who comes in with which account.

A person of a provider comes in with the account that is linked with them, and with no other: that
an account has the same name proves nothing. Links are made by whoever is logged in with the
account already, or, where the provider's `role` says so, with an account that is new.
"""

from urllib.parse import quote

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from pincite.server.guard import OWN_SITE
from pincite.server.people import oauth
from pincite.server.people.accounts import AccountExists
from pincite.server.people.attempts import SECONDS, Attempt
from pincite.server.people.audited import noted
from pincite.server.people.identity import Identity, Role
from pincite.server.people.login import cookie_name
from pincite.server.people.oauth import LoginFailed, Person, Provider
from pincite.server.problems import Problem, not_found
from pincite.server.routes.accounts.bodies import FRESH_SECONDS
from pincite.server.routes.accounts.session import begun
from pincite.server.site import Site
from pincite.server.tables import now


def sent_away(site: Site, request: Request, name: str, who: Identity | None, then: str) -> Response:
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
        max_age=int(SECONDS),
        path="/",
        secure=site.server.secure_cookies,
        httponly=True,
        samesite="lax",  # it comes back by a link of the provider's
    )
    return answer


def came_back(
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
        site.people.logins.link(name, person.subject, account_id, person.name)
    except AccountExists as error:
        raise Problem(409, "name_taken", str(error)) from error
    noted(request, account_id, {"provider": name})


def _account_of(site: Site, name: str, provider: Provider, person: Person) -> str:
    logins = site.people.logins
    account = logins.account_of(name, person.subject)
    if account is None and provider.role and not logins.known(name, person.subject):
        try:
            account = logins.arrive(name, person.subject, person.name, Role(provider.role))
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
