"""Accounts and the audit log, for admins: the API and the pages."""

from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from pincite.errors import ConfigError
from pincite.server import forms
from pincite.server.accounts import Account, AccountExists, LastAdmin, Name, forget, key_of
from pincite.server.forms import Form
from pincite.server.identity import Admin, Role
from pincite.server.middleware import noted
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.rendering import page
from pincite.server.requests import (
    Body,
    Cursor,
    Id,
    IdPath,
    Limit,
    Moment,
    Shown,
    Text,
    page_of,
    read_cursor,
)
from pincite.server.routes.account import with_accounts
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(
    prefix="/api/v1/accounts",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422, 429)},
    dependencies=[Depends(with_accounts)],
)
Password = Annotated[Text, Field(min_length=1, max_length=1000)]


class NewAccountRequest(Body):
    """An account to be made; without a password it opens to linked logins only."""

    name: Name
    role: Role = Role.READER
    password: Password | None = None


class AccountChange(Body):
    """What is to be set; the rest stays."""

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


@router.get("", operation_id="list_accounts")
def list_accounts(
    who: Admin, site: Stores, limit: Limit = 50, cursor: Cursor = None
) -> AccountList:
    """All accounts, by name."""
    found = site.people.accounts.listed(limit + 1, read_cursor(cursor, (str,)))
    page, after = page_of(found, limit, lambda each: (key_of(each.name),))
    return AccountList(accounts=[AccountBody.model_validate(each) for each in page], next=after)


@router.post("", operation_id="create_account", status_code=201)
def create_account(
    body: NewAccountRequest, who: Admin, request: Request, site: Stores
) -> AccountBody:
    """A new account."""
    return AccountBody.model_validate(made(site, request, body))


@router.get("/{account_id}", operation_id="get_account")
def get_account(account_id: IdPath, who: Admin, site: Stores) -> AccountBody:
    """An account."""
    account = site.people.accounts.get(account_id)
    if account is None:
        raise not_found()
    return AccountBody.model_validate(account)


@router.patch("/{account_id}", operation_id="change_account")
def change_account(
    account_id: IdPath, body: AccountChange, who: Admin, request: Request, site: Stores
) -> AccountBody:
    """Set an account's role, bar it, or give it a new password; it is logged out everywhere."""
    return AccountBody.model_validate(changed(site, request, account_id, body))


@router.delete("/{account_id}", operation_id="delete_account", status_code=204)
def delete_account(account_id: IdPath, who: Admin, request: Request, site: Stores) -> None:
    """Delete an account and what is its own, as its owner could."""
    deleted(site, request, account_id)


def made(site: Site, request: Request, body: NewAccountRequest) -> Account:
    """A new account.

    Raises:
        Problem: 409 the name is taken; 422 the password will not do.
    """
    try:
        account = site.people.accounts.add(body.name, body.role, body.password)
    except AccountExists as error:
        raise Problem(409, "name_taken", str(error)) from error
    except ConfigError as error:
        raise Problem(422, "bad_password", str(error)) from error
    noted(request, account.account_id, {"role": account.role.value})
    return account


def changed(site: Site, request: Request, account_id: str, body: AccountChange) -> Account:
    """An account after a change.

    Raises:
        Problem: 404; 409 it is the only admin; 422 the password will not do.
    """
    try:
        account = site.people.accounts.change(
            account_id, role=body.role, disabled=body.disabled, password=body.password
        )
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    except ConfigError as error:
        raise Problem(422, "bad_password", str(error)) from error
    if account is None:
        raise not_found()
    detail = body.model_dump(mode="json", exclude_none=True)
    noted(request, account_id, {**detail, **({"password": "set"} if body.password else {})})
    return account


def deleted(site: Site, request: Request, account_id: str) -> None:
    """Delete somebody's account.

    Raises:
        Problem: 404; 409 it is the only admin.
    """
    try:
        if not forget(site.database, account_id, site.own):
            raise not_found()
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    site.tidy()
    noted(request, "an account")  # its id is to be forgotten too


audit_router = Router(
    prefix="/api/v1/audit",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 421, 422, 429)},
    dependencies=[Depends(with_accounts)],
)


class EntryBody(Shown):
    """One thing that somebody did."""

    at: Moment
    account_id: str  # "": nobody was logged in, or the account was deleted since
    action: str
    target: str
    detail: dict[str, Any]
    request_id: str


class EntryList(BaseModel):
    """A page of the audit log, the newest first."""

    entries: list[EntryBody]
    next: str | None


@audit_router.get("", operation_id="list_audit")
def list_audit(
    who: Admin,
    site: Stores,
    limit: Limit = 50,
    cursor: Cursor = None,
    account_id: Annotated[Id | None, Query()] = None,
    action: Annotated[Id | None, Query()] = None,
) -> EntryList:
    """What was done, the newest first."""
    before = read_cursor(cursor, (float, str))
    found = site.people.audit.listed(limit + 1, before, account_id=account_id, action=action)
    page, following = page_of(found, limit, lambda each: (each.at, each.audit_id))
    return EntryList(entries=[EntryBody.model_validate(each) for each in page], next=following)


pages = Router(prefix="/admin", include_in_schema=False, dependencies=[Depends(with_accounts)])
ROWS = 50


@pages.get("/accounts")
def accounts_page(
    request: Request, who: Admin, site: Stores, cursor: Cursor = None
) -> HTMLResponse:
    """All accounts, by name."""
    found = site.people.accounts.listed(ROWS + 1, read_cursor(cursor, (str,)))
    shown, following = page_of(found, ROWS, lambda each: (key_of(each.name),))
    values: dict[str, Any] = {"accounts": shown, "roles": list(Role), "next": following}
    return page(request, "admin_accounts.html", who, **values)


@pages.post("/accounts", name="create_account")
def create_account_by_form(
    form: Form, request: Request, who: Admin, site: Stores
) -> RedirectResponse:
    """A new account."""
    values: dict[str, object] = {
        "name": forms.text(form, "name"),
        "role": forms.text(form, "role"),
        "password": form.get("password") or None,
    }
    made(site, request, forms.checked(NewAccountRequest, values))
    return forms.to("/admin/accounts")


@pages.post("/accounts/{account_id}", name="change_account")
def change_account_by_form(
    account_id: IdPath, form: Form, request: Request, who: Admin, site: Stores
) -> RedirectResponse:
    """Set an account's role, bar it or let it in again."""
    values: dict[str, object] = {
        name: form[name] for name in ("role", "disabled", "password") if form.get(name)
    }
    changed(site, request, account_id, forms.checked(AccountChange, values))
    return forms.to("/admin/accounts")


@pages.post("/accounts/{account_id}/delete", name="delete_account")
def delete_account_by_form(
    account_id: IdPath, form: Form, request: Request, who: Admin, site: Stores
) -> RedirectResponse:
    """Delete an account, whose name was typed again."""
    account = site.people.accounts.get(account_id)
    if account and key_of(forms.text(form, "name")) != key_of(account.name):
        raise Problem(422, "invalid_request", "Type the name of the account that is to go.")
    deleted(site, request, account_id)
    return forms.to("/admin/accounts")


@pages.get("/audit")
def audit_page(request: Request, who: Admin, site: Stores, cursor: Cursor = None) -> HTMLResponse:
    """Who did what when to what, the newest first."""
    found = site.people.audit.listed(ROWS + 1, read_cursor(cursor, (float, str)))
    entries, following = page_of(found, ROWS, lambda each: (each.at, each.audit_id))
    ids = {each.account_id for each in entries} - {""}
    known = {account_id: site.people.accounts.get(account_id) for account_id in ids}
    names = {key: account.name for key, account in known.items() if account}
    values: dict[str, Any] = {"entries": entries, "names": names, "next": following}
    return page(request, "admin_audit.html", who, **values)
