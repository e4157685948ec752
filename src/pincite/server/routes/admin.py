"""Accounts, for admins: API and pages."""

from typing import Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel

from pincite.errors import ConfigError
from pincite.server import forms
from pincite.server.accounts import (
    Account,
    AccountExists,
    LastAdmin,
    Name,
    forget,
    key_of,
)
from pincite.server.forms import Form, also_posted
from pincite.server.identity import Admin, Role
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import page
from pincite.server.requests import (
    Body,
    Cursor,
    IdPath,
    Limit,
    Moment,
    Shown,
    page_of,
    read_cursor,
)
from pincite.server.routes.accounts import Password, with_accounts
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

ROWS = 50
_OPTIONS: dict[str, Any] = {"tags": ["accounts"], "dependencies": [Depends(with_accounts)]}
api = Router(prefix="/api/v1/accounts", **_OPTIONS)
pages = Router(prefix="/admin", include_in_schema=False, dependencies=[Depends(with_accounts)])


class NewAccountRequest(Body):
    """An account to be created; without a password only linked logins open it."""

    name: Name
    role: Role = Role.READER
    password: Password | None = None


class AccountChange(Body):
    """What to change of an account."""

    role: Role | None = None
    disabled: bool | None = None
    password: Password | None = None


class AccountBody(Shown):
    """An account, for admins."""

    account_id: str
    name: str
    role: Role
    disabled: bool
    has_password: bool
    created: Moment
    last_login: Moment | None


class AccountList(BaseModel):
    """A page of accounts, by name."""

    accounts: list[AccountBody]
    next: str | None


@api.get("", operation_id="list_accounts")
def list_accounts(
    who: Admin, site: Stores, limit: Limit = 50, cursor: Cursor = None
) -> AccountList:
    """All accounts, by name."""
    found, after = _accounts(site, limit, cursor)
    return AccountList(accounts=[AccountBody.model_validate(each) for each in found], next=after)


@api.post("", operation_id="create_account", status_code=201)
@also_posted(pages, "/accounts", then="/admin/accounts")
def create_account(body: NewAccountRequest, who: Admin, site: Stores) -> AccountBody:
    """Create an account."""
    try:
        account = site.people.accounts.add(body.name, body.role, body.password)
    except AccountExists as error:
        raise Problem(409, "name_taken", str(error)) from error
    except ConfigError as error:
        raise Problem(422, "bad_password", str(error)) from error
    return AccountBody.model_validate(account)


@api.get("/{account_id}", operation_id="get_account")
def get_account(account_id: IdPath, who: Admin, site: Stores) -> AccountBody:
    """An account."""
    account = site.people.accounts.get(account_id)
    if account is None:
        raise not_found()
    return AccountBody.model_validate(account)


@api.patch("/{account_id}", operation_id="change_account")
@also_posted(pages, "/accounts/{account_id}", then="/admin/accounts")
def change_account(
    account_id: IdPath, body: AccountChange, who: Admin, site: Stores
) -> AccountBody:
    """Set an account's role or password, or disable it; all its sessions end."""
    try:
        account = site.people.accounts.change(account_id, **body.model_dump())
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    except ConfigError as error:
        raise Problem(422, "bad_password", str(error)) from error
    if account is None:
        raise not_found()
    return AccountBody.model_validate(account)


@api.delete("/{account_id}", operation_id="delete_account", status_code=204)
def delete_account(account_id: IdPath, who: Admin, site: Stores) -> None:
    """Delete an account and its data, as its owner could."""
    try:
        if not forget(site.database, account_id, site.own):
            raise not_found()
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    site.tidy()


def _accounts(site: Site, limit: int, cursor: str | None) -> tuple[list[Account], str | None]:
    found = site.people.accounts.listed(limit + 1, read_cursor(cursor, (str,)))
    return page_of(found, limit, lambda each: (key_of(each.name),))


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────


@pages.get("/accounts")
def accounts_page(
    request: Request, who: Admin, site: Stores, cursor: Cursor = None
) -> HTMLResponse:
    """All accounts, by name, with forms that change them."""
    found, after = _accounts(site, ROWS, cursor)
    shown: dict[str, Any] = {"accounts": found, "roles": list(Role), "next": after}
    return page(request, "admin_accounts.html", who, **shown)


@pages.post("/accounts/{account_id}/delete", name="delete_account")
def delete_account_page(
    account_id: IdPath, form: Form, who: Admin, site: Stores
) -> RedirectResponse:
    """Delete an account whose name was typed again."""
    account = site.people.accounts.get(account_id)
    if account and key_of(forms.text(form, "name")) != key_of(account.name):
        raise Problem(422, "invalid_request", "Type the name of the account to delete it.")
    delete_account(account_id, who, site)
    return forms.to("/admin/accounts")
