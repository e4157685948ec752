"""The pages of accounts, for admins."""

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server import forms
from pincite.server.accounts import Name, forget, name_key
from pincite.server.forms import Form, also_posted
from pincite.server.identity import Admin, Role
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import page
from pincite.server.requests import Body, Cursor, IdPath, page_of, read_cursor
from pincite.server.routes.accounts import Password, with_accounts
from pincite.server.routing import Router
from pincite.server.site import Stores

ROWS = 50
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


@pages.get("/accounts")
def accounts_page(
    request: Request, who: Admin, site: Stores, cursor: Cursor = None
) -> HTMLResponse:
    """All accounts, by name, with forms that change them."""
    found = site.people.accounts.listed(ROWS + 1, read_cursor(cursor, (str,)))
    shown, after = page_of(found, ROWS, lambda each: (name_key(each.name),))
    return page(request, "admin_accounts.html", who, accounts=shown, roles=list(Role), next=after)


@also_posted(pages, "/accounts", then="/admin/accounts")
def create_account(body: NewAccountRequest, who: Admin, site: Stores) -> None:
    """Create an account."""
    site.people.accounts.add(body.name, body.role, body.password)


@also_posted(pages, "/accounts/{account_id}", then="/admin/accounts")
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
