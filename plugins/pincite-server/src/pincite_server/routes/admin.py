"""The pages of administrators: all accounts, and invitations."""

from typing import Annotated, Any, Literal

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from pincite_server import forms
from pincite_server.accounts import LINK_PATH, REGISTER_PATH, forget, name_key
from pincite_server.forms import Form, also_posted
from pincite_server.identity import DEFAULT_ROLE, REGISTERED_ROLE, Admin, Identity, Role
from pincite_server.logs import AUDIT
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import page
from pincite_server.requests import Body, Cursor, IdPath, Line, page_of, read_cursor
from pincite_server.routes.login import Password, with_accounts
from pincite_server.routing import Router
from pincite_server.site import Site, Stores, base_of

ROWS = 50
pages = Router(prefix="/admin", include_in_schema=False, dependencies=[Depends(with_accounts)])


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


@pages.get("/accounts")
def accounts_page(
    request: Request, who: Admin, site: Stores, cursor: Cursor = None, saved: str = ""
) -> HTMLResponse:
    """All accounts, by name, with forms that change them; `saved` is the id of a changed one."""
    account = site.people.accounts.get(saved) if "\0" not in saved else None
    return _admin_page(request, who, site, cursor, saved=account)


def _admin_page(
    request: Request, who: Identity, site: Site, cursor: str | None = None, **values: Any
) -> HTMLResponse:
    found = site.people.accounts.listed(ROWS + 1, read_cursor(cursor, (str,)))
    shown, after = page_of(found, ROWS, lambda each: (name_key(each.name),))
    values |= {"invites": site.server.registration != "closed"}
    values |= {"invitations": site.people.accounts.invitations()}
    shared = {"roles": list(Role), "default": DEFAULT_ROLE, "password_link": ""} | values
    return page(request, "admin_accounts.html", who, accounts=shown, next=after, **shared)


@pages.post("/accounts", response_model=None)
def create_account(form: Form, request: Request, who: Admin, site: Stores) -> Response:
    """Create an account; without a password, show a link with which its user sets one."""
    password = {} if form.get("password") else {"password": None}
    body = forms.body(NewAccountRequest, form, **password)
    account = site.people.accounts.add(body.name, body.role, body.password)
    AUDIT.info("account %s (%s) was created", account.name, account.account_id)
    if body.password is None:
        return create_password_link(account.account_id, request, who, site)
    return forms.redirect("/admin/accounts")


@pages.post("/accounts/{account_id}/link", response_model=None)
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


@pages.post("/invitations")
def create_invitation(form: Form, request: Request, who: Admin, site: Stores) -> HTMLResponse:
    """Create a link with which users create accounts; only this page shows it."""
    body = forms.body(InvitationRequest, form)
    token = site.people.accounts.invite(body.role, body.uses, body.days)
    link = f"{base_of(request, site)}{REGISTER_PATH}/{token}"
    return _admin_page(request, who, site, invitation=link)


@also_posted(pages, "/invitations/{link_id}/revoke", then="/admin/accounts")
def revoke_invitation(link_id: IdPath, who: Admin, site: Stores) -> None:
    """Revoke an invitation; accounts that were created with it stay."""
    if not site.people.accounts.revoke_invitation(link_id):
        raise not_found()


@also_posted(pages, "/accounts/{account_id}", then="/admin/accounts?saved={account_id}")
def change_account(account_id: IdPath, body: AccountChange, who: Admin, site: Stores) -> None:
    """Set an account's role or password, or disable it; all its sessions end."""
    if site.people.accounts.change(account_id, **body.model_dump()) is None:
        raise not_found()


@pages.post("/accounts/{account_id}/delete")
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
