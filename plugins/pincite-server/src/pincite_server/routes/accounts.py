"""The pages of accounts: the user's own, and for administrators all of them, and invitations."""

from typing import Annotated, Any, Literal

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from pincite_server import forms
from pincite_server.accounts import LINK_PATH, REGISTER_PATH, forget, name_key
from pincite_server.forms import Form, also_posted
from pincite_server.identity import (
    DEFAULT_ROLE,
    REGISTERED_ROLE,
    AccountOwner,
    Admin,
    AnyUser,
    Identity,
    Role,
    permissions_of,
)
from pincite_server.logs import AUDIT
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import page
from pincite_server.requests import Body, Cursor, IdPath, Line, Text, page_of, read_cursor
from pincite_server.routes.login import FRESH_SECONDS, Password, begin_session, with_accounts
from pincite_server.routing import Router, set_cookie
from pincite_server.site import Site, Stores, base_of
from pincite_server.tables import now


class PersonBody(BaseModel):
    """The authenticated user."""

    account_id: str
    name: str
    role: Role
    may: list[str]


api = Router(prefix="/api/v1", tags=["accounts"])
pages = Router(include_in_schema=False, dependencies=[Depends(with_accounts)])
admin = Router(prefix="/admin", include_in_schema=False, dependencies=[Depends(with_accounts)])
ROWS = 50  # of accounts, per page


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
    if not site.people.keys.revoke(who.account_id, key_id):
        raise not_found()


@also_posted(pages, "/account/logins/{provider}/unlink", then="/account")
def unlink_login(provider: IdPath, who: AccountOwner, site: Stores) -> None:
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
    """Check the password or, without one, that the login is recent. Raises Problem: 403; 429."""
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
    return _account_page(request, who, site)


@pages.post("/account/keys")
def create_key(form: Form, request: Request, who: AccountOwner, site: Stores) -> HTMLResponse:
    """Create an API key; only this page shows its text."""
    body = forms.body(KeyRequest, form)
    scopes = sorted(set(body.scopes))
    if excess := sorted(set(scopes) - permissions_of(who.role)):
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
        scopes=sorted(permissions_of(who.role)),
        providers=site.people.providers,
        new_key=new_key,
    )


# ── For administrators ───────────────────────────────────────────────────────────────────────────


class NewAccountRequest(Body):
    """An account to be created; without a password it gets a link to set one."""

    name: Line  # validated by `Accounts.add`
    role: Role = DEFAULT_ROLE
    password: Password | None = None


class InvitationRequest(Body):
    """A link with which users create accounts."""

    role: Literal[Role.RATER, Role.READER, Role.EDITOR] = REGISTERED_ROLE
    uses: Annotated[int, Field(ge=1, le=1000)] = 1
    days: Annotated[int, Field(ge=1, le=90)] = 7


class AccountChange(Body):
    """What to change of an account."""

    role: Role | None = None
    disabled: bool | None = None
    password: Password | None = None


@admin.get("/accounts")
def accounts_page(
    request: Request, who: Admin, site: Stores, cursor: Cursor = None, saved: str = ""
) -> HTMLResponse:
    """All accounts, by name, with forms that change them; `saved` is the id of a changed one."""
    account = site.people.accounts.get(saved) if "\0" not in saved else None
    return _admin_page(request, who, site, cursor, saved=account)


def _admin_page(
    request: Request, who: Identity, site: Site, cursor: str | None = None, **values: Any
) -> HTMLResponse:
    rows = site.people.accounts.list_accounts(ROWS + 1, read_cursor(cursor, (str,)))
    shown, after = page_of(rows, ROWS, lambda account: (name_key(account.name),))
    values |= {"invites": site.server.registration != "closed"}
    values |= {"invitations": site.people.accounts.invitations()}
    shared = {"roles": list(Role), "default": DEFAULT_ROLE, "password_link": ""} | values
    return page(request, "admin_accounts.html", who, accounts=shown, next=after, **shared)


@admin.post("/accounts", response_model=None)
def create_account(form: Form, request: Request, who: Admin, site: Stores) -> Response:
    """Create an account; without a password, show a link with which its user sets one."""
    password = {} if form.get("password") else {"password": None}
    body = forms.body(NewAccountRequest, form, **password)
    account = site.people.accounts.add(body.name, body.role, body.password)
    AUDIT.info("account %s (%s) was created", account.name, account.account_id)
    if body.password is None:
        return create_password_link(account.account_id, request, who, site)
    return forms.redirect("/admin/accounts")


@admin.post("/accounts/{account_id}/link", response_model=None)
def create_password_link(
    account_id: IdPath, request: Request, who: Admin, site: Stores
) -> HTMLResponse:
    """Create a link that sets the account's password once; only this page shows it."""
    account = site.people.accounts.get(account_id)
    if account is None:
        raise not_found()
    token, expires = site.people.accounts.new_link(account)
    link = f"{base_of(request, site)}{LINK_PATH}/{token}"
    return _admin_page(request, who, site, linked=account, password_link=link, expires=expires)


@admin.post("/invitations")
def create_invitation(form: Form, request: Request, who: Admin, site: Stores) -> HTMLResponse:
    """Create a link with which users create accounts; only this page shows it."""
    body = forms.body(InvitationRequest, form)
    token = site.people.accounts.invite(body.role, body.uses, body.days)
    link = f"{base_of(request, site)}{REGISTER_PATH}/{token}"
    return _admin_page(request, who, site, invitation=link)


@also_posted(admin, "/invitations/{link_id}/revoke", then="/admin/accounts")
def revoke_invitation(link_id: IdPath, who: Admin, site: Stores) -> None:
    """Revoke an invitation; accounts that were created with it stay."""
    if not site.people.accounts.revoke_invitation(link_id):
        raise not_found()


@also_posted(admin, "/accounts/{account_id}", then="/admin/accounts?saved={account_id}")
def change_account(account_id: IdPath, body: AccountChange, who: Admin, site: Stores) -> None:
    """Set an account's role or password, or disable it; all its sessions end."""
    if site.people.accounts.change(account_id, **body.model_dump()) is None:
        raise not_found()


@admin.post("/accounts/{account_id}/delete")
def delete_account(account_id: IdPath, form: Form, who: Admin, site: Stores) -> RedirectResponse:
    """Delete an account whose name was typed again, with its data."""
    account = site.people.accounts.get(account_id)
    if account is None:
        raise not_found()
    if name_key(forms.text(form, "name")) != name_key(account.name):
        raise Problem(422, "invalid_request", "Type the name of the account to delete it.")
    forget(site.database, account_id, site.own)
    site.tidy()
    return forms.redirect("/admin/accounts")
