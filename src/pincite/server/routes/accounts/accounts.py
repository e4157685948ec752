"""`/api/v1/accounts`: who may come in. For admins."""

from typing import Annotated

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from pincite.errors import ConfigError
from pincite.server.paging import Cursor, Limit, page_of, read_cursor
from pincite.server.people import personal
from pincite.server.people.accounts import Account, AccountExists, LastAdmin
from pincite.server.people.audited import noted
from pincite.server.people.identity import Admin, Role
from pincite.server.people.names import Name, key_of
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import IdPath, Text
from pincite.server.routes.accounts.bodies import AccountBody, account_body, with_accounts
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(
    prefix="/api/v1/accounts",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422, 429)},
    dependencies=[Depends(with_accounts)],
)
Password = Annotated[Text, Field(min_length=1, max_length=1000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NewAccountRequest(_Body):
    """An account to be made; without a password it opens to linked logins only."""

    name: Name
    role: Role = Role.READER
    password: Password | None = None


class AccountChange(_Body):
    """What is to be set; the rest stays."""

    role: Role | None = None
    disabled: bool | None = None
    password: Password | None = None


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
    return AccountList(accounts=[account_body(each) for each in page], next=after)


@router.post("", operation_id="create_account", status_code=201)
def create_account(
    body: NewAccountRequest, who: Admin, request: Request, site: Stores
) -> AccountBody:
    """A new account."""
    return account_body(made(site, request, body))


@router.get("/{account_id}", operation_id="get_account")
def get_account(account_id: IdPath, who: Admin, site: Stores) -> AccountBody:
    """An account."""
    account = site.people.accounts.get(account_id)
    if account is None:
        raise not_found()
    return account_body(account)


@router.patch("/{account_id}", operation_id="change_account")
def change_account(
    account_id: IdPath, body: AccountChange, who: Admin, request: Request, site: Stores
) -> AccountBody:
    """Set an account's role, bar it, or give it a new password; it is logged out everywhere."""
    return account_body(changed(site, request, account_id, body))


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
        if not personal.forget(site.database, account_id, site.own):
            raise not_found()
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    site.tidy()
    noted(request, "an account")  # its id is to be forgotten too
