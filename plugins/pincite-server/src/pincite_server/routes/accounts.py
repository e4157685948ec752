"""The pages of the user's own account: password, API keys, linked logins and deletion."""

from typing import Annotated

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from pincite_server import forms
from pincite_server.accounts import forget
from pincite_server.forms import Form, also_posted
from pincite_server.identity import AccountOwner, AnyUser, Identity, Role, allowed
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import page
from pincite_server.requests import Body, IdPath, Text
from pincite_server.routes.login import FRESH_SECONDS, Password, begin_session, with_accounts
from pincite_server.routing import Router, set_cookie
from pincite_server.site import Site, Stores
from pincite_server.tables import now


class PersonBody(BaseModel):
    """The authenticated user."""

    account_id: str
    name: str
    role: Role
    may: list[str]


api = Router(prefix="/api/v1", tags=["accounts"])
pages = Router(include_in_schema=False, dependencies=[Depends(with_accounts)])


@api.get("/me", operation_id="get_me")
def get_me(who: AnyUser) -> PersonBody:
    """The authenticated user and their permissions."""
    may = sorted(who.may)
    return PersonBody(account_id=who.account_id, name=who.name, role=who.role, may=may)


class PasswordRequest(Body):
    """A new password, and the old one if there is one."""

    old: Password | None = None
    new: Password


class KeyRequest(Body):
    """An API key to be created."""

    name: Annotated[Text, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Text], Field(min_length=1, max_length=20)]
    days: Annotated[int, Field(ge=1, le=366)] = 90


class DeleteRequest(Body):
    """Confirmation by the account's owner."""

    password: Password | None = None


@also_posted(pages, "/account/password", then="/account")
def set_password(
    body: PasswordRequest, who: AccountOwner, request: Request, response: Response, site: Stores
) -> None:
    """Set the password. All other sessions end, and API keys are revoked."""
    confirm_identity(site, request, who, body.old)
    site.people.accounts.change(who.account_id, password=body.new)
    begin_session(request, response, site, who.account_id)


@also_posted(pages, "/account/keys/{key_id}/revoke", then="/account")
def revoke_key(key_id: IdPath, who: AccountOwner, site: Stores) -> None:
    """Revoke a key."""
    if not site.people.keys.revoke(who.account_id, key_id):
        raise not_found()


@also_posted(pages, "/account/logins/{provider}/unlink", then="/account")
def unlink_login(provider: IdPath, who: AccountOwner, site: Stores) -> None:
    """Unlink a login at a provider."""
    if not site.people.accounts.unlink(who.account_id, provider):
        raise not_found()


@also_posted(pages, "/account/delete", then="/login")
def delete_me(
    body: DeleteRequest, who: AccountOwner, request: Request, response: Response, site: Stores
) -> None:
    """Delete the account and its data for good. Needs the password, or a recent login."""
    confirm_identity(site, request, who, body.password)
    forget(site.database, who.account_id, site.own)
    site.tidy()
    set_cookie(response, site.server, "session", "", 0)


def confirm_identity(site: Site, request: Request, who: Identity, password: str | None) -> None:
    """Check the password or, for an account without one, that the login is recent.

    Raises Problem: 403; 429, too many attempts.
    """
    account = site.people.accounts.get(who.account_id)
    if account and not account.has_password:
        if now() - who.logged_in < FRESH_SECONDS:
            return
        raise Problem(403, "login_too_old", "This cannot be undone: log out and in again first.")
    forget_try = request.app.state.limits.try_login(request, who.name)
    if password is None or site.people.accounts.log_in(who.name, password) is None:
        raise Problem(403, "wrong_password", "The password is wrong.")
    forget_try()


@pages.get("/account")
def account_page(request: Request, who: AccountOwner, site: Stores) -> HTMLResponse:
    """Everything about the user's account."""
    return _account_page(request, who, site)


@pages.post("/account/keys")
def create_key(form: Form, request: Request, who: AccountOwner, site: Stores) -> HTMLResponse:
    """Create an API key; only this page shows its text."""
    body = forms.body(KeyRequest, form)
    scopes = sorted(set(body.scopes))
    if excess := sorted(set(scopes) - allowed(who.role)):
        raise Problem(422, "beyond_role", f"Your role does not allow {excess[0]!r}.")
    _, text = site.people.keys.add(who.account_id, body.name, scopes, body.days)
    return _account_page(request, who, site, text)


def _account_page(request: Request, who: Identity, site: Site, new_key: str = "") -> HTMLResponse:
    return page(
        request,
        "account_page.html",
        who,
        account=site.people.accounts.get(who.account_id),
        logins=site.people.accounts.logins(who.account_id),
        keys=site.people.keys.of(who.account_id),
        scopes=sorted(allowed(who.role)),
        providers=site.people.providers,
        new_key=new_key,
    )
