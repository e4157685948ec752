"""Accounts and the audit log for admins: API and pages."""

from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel

from pincite.errors import ConfigError
from pincite.server import forms
from pincite.server.accounts import (
    Account,
    AccountExists,
    AuditEntry,
    LastAdmin,
    Name,
    forget,
    key_of,
)
from pincite.server.forms import Form, also_posted
from pincite.server.identity import Admin, Role
from pincite.server.middleware import noted
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import page
from pincite.server.requests import (
    Body,
    Cursor,
    Id,
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
audit = Router(prefix="/api/v1/audit", **_OPTIONS)
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
def create_account(
    body: NewAccountRequest, who: Admin, request: Request, site: Stores
) -> AccountBody:
    """Create an account."""
    try:
        account = site.people.accounts.add(body.name, body.role, body.password)
    except AccountExists as error:
        raise Problem(409, "name_taken", str(error)) from error
    except ConfigError as error:
        raise Problem(422, "bad_password", str(error)) from error
    noted(request, account.account_id, {"role": account.role.value})
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
    account_id: IdPath, body: AccountChange, who: Admin, request: Request, site: Stores
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
    detail = body.model_dump(mode="json", exclude_none=True)
    noted(request, account_id, {**detail, **({"password": "set"} if body.password else {})})
    return AccountBody.model_validate(account)


@api.delete("/{account_id}", operation_id="delete_account", status_code=204)
def delete_account(account_id: IdPath, who: Admin, request: Request, site: Stores) -> None:
    """Delete an account and its data, as its owner could."""
    try:
        if not forget(site.database, account_id, site.own):
            raise not_found()
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    site.tidy()
    noted(request, "an account")  # without its id, which is deleted too


def _accounts(site: Site, limit: int, cursor: str | None) -> tuple[list[Account], str | None]:
    found = site.people.accounts.listed(limit + 1, read_cursor(cursor, (str,)))
    return page_of(found, limit, lambda each: (key_of(each.name),))


class EntryBody(Shown):
    """Something that a user did."""

    at: Moment
    account_id: str  # "" if not logged in, or if the account has since been deleted
    action: str
    target: str
    detail: dict[str, Any]
    request_id: str


class EntryList(BaseModel):
    """A page of the audit log, the newest first."""

    entries: list[EntryBody]
    next: str | None


@audit.get("", operation_id="list_audit")
def list_audit(
    who: Admin,
    site: Stores,
    limit: Limit = 50,
    cursor: Cursor = None,
    account_id: Annotated[Id | None, Query()] = None,
    action: Annotated[Id | None, Query()] = None,
) -> EntryList:
    """The audit log, the newest entries first."""
    found, after = _entries(site, limit, cursor, account_id, action)
    return EntryList(entries=[EntryBody.model_validate(each) for each in found], next=after)


def _entries(
    site: Site,
    limit: int,
    cursor: str | None,
    account_id: str | None = None,
    action: str | None = None,
) -> tuple[list[AuditEntry], str | None]:
    before = read_cursor(cursor, (float, str))
    found = site.people.audit.listed(limit + 1, before, account_id=account_id, action=action)
    return page_of(found, limit, lambda each: (each.at, each.audit_id))


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
    account_id: IdPath, form: Form, request: Request, who: Admin, site: Stores
) -> RedirectResponse:
    """Delete an account whose name was typed again."""
    account = site.people.accounts.get(account_id)
    if account and key_of(forms.text(form, "name")) != key_of(account.name):
        raise Problem(422, "invalid_request", "Type the name of the account to delete it.")
    delete_account(account_id, who, request, site)
    return forms.to("/admin/accounts")


@pages.get("/audit")
def audit_page(request: Request, who: Admin, site: Stores, cursor: Cursor = None) -> HTMLResponse:
    """The audit log, the newest entries first."""
    entries, after = _entries(site, ROWS, cursor)
    ids = {each.account_id for each in entries} - {""}
    known = {account_id: site.people.accounts.get(account_id) for account_id in ids}
    names = {key: account.name for key, account in known.items() if account}
    shown: dict[str, Any] = {"entries": entries, "names": names, "next": after}
    return page(request, "admin_audit.html", who, **shown)
