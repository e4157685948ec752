"""For admins: accounts, groups, and the audit log."""

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.paging import Cursor, cursor_of, read_cursor
from pincite.server.people.identity import Admin, Role
from pincite.server.people.names import key_of
from pincite.server.problems import Problem
from pincite.server.requests import IdPath
from pincite.server.routes.accounts import accounts as api_accounts
from pincite.server.routes.accounts import groups as api_groups
from pincite.server.routes.accounts.accounts import AccountChange, NewAccountRequest
from pincite.server.routes.accounts.bodies import with_accounts
from pincite.server.routes.accounts.groups import GroupRequest
from pincite.server.routing import Router
from pincite.server.site import Stores

router = Router(prefix="/admin", include_in_schema=False, dependencies=[Depends(with_accounts)])
ROWS = 50


@router.get("/accounts")
def accounts(request: Request, who: Admin, site: Stores, cursor: Cursor = None) -> HTMLResponse:
    """All accounts, by name."""
    found = site.people.accounts.listed(ROWS + 1, read_cursor(cursor, (str,)))
    more, found = len(found) > ROWS, found[:ROWS]
    return page(
        request,
        "admin_accounts.html",
        who,
        accounts=found,
        roles=list(Role),
        next=cursor_of(key_of(found[-1].name)) if more else None,
    )


@router.post("/accounts")
def create_account(form: Form, request: Request, who: Admin, site: Stores) -> RedirectResponse:
    """A new account."""
    values: dict[str, object] = {
        "name": forms.text(form, "name"),
        "role": forms.text(form, "role"),
        "password": form.get("password") or None,
    }
    api_accounts.made(site, request, forms.checked(NewAccountRequest, values))
    return forms.to("/admin/accounts")


@router.post("/accounts/{account_id}")
def change_account(
    account_id: IdPath, form: Form, request: Request, who: Admin, site: Stores
) -> RedirectResponse:
    """Set an account's role, bar it or let it in again."""
    values: dict[str, object] = {
        name: form[name] for name in ("role", "disabled", "password") if form.get(name)
    }
    api_accounts.changed(site, request, account_id, forms.checked(AccountChange, values))
    return forms.to("/admin/accounts")


@router.post("/accounts/{account_id}/delete")
def delete_account(
    account_id: IdPath, form: Form, request: Request, who: Admin, site: Stores
) -> RedirectResponse:
    """Delete an account, whose name was typed again."""
    account = site.people.accounts.get(account_id)
    if account and key_of(forms.text(form, "name")) != key_of(account.name):
        raise Problem(422, "invalid_request", "Type the name of the account that is to go.")
    api_accounts.deleted(site, request, account_id)
    return forms.to("/admin/accounts")


@router.get("/groups")
def groups(request: Request, who: Admin, site: Stores, cursor: Cursor = None) -> HTMLResponse:
    """All groups, by name."""
    after = read_cursor(cursor, (str,))
    found = site.people.groups.listed(ROWS + 1, after[0] if after else None)
    more, found = len(found) > ROWS, found[:ROWS]
    following = cursor_of(key_of(found[-1].name)) if more else None
    return page(request, "admin_groups.html", who, groups=found, next=following)


@router.post("/groups")
def create_group(form: Form, request: Request, who: Admin, site: Stores) -> RedirectResponse:
    """A new group."""
    body = forms.checked(GroupRequest, {"name": forms.text(form, "name")})
    api_groups.create_group(body, who, request, site)
    return forms.to("/admin/groups")


@router.post("/groups/{group_id}/members")
def add_member(group_id: IdPath, form: Form, who: Admin, site: Stores) -> RedirectResponse:
    """Make an account a member, by its name."""
    account = site.people.accounts.named(forms.text(form, "name"))
    if account is None:
        raise Problem(422, "invalid_request", "There is no account of this name.")
    api_groups.add_member(group_id, account.account_id, who, site)
    return forms.to("/admin/groups")


@router.post("/groups/{group_id}/members/{account_id}/remove")
def remove_member(
    group_id: IdPath, account_id: IdPath, who: Admin, site: Stores, _form: Form
) -> RedirectResponse:
    """End a membership."""
    api_groups.remove_member(group_id, account_id, who, site)
    return forms.to("/admin/groups")


@router.post("/groups/{group_id}/delete")
def delete_group(group_id: IdPath, who: Admin, site: Stores, _form: Form) -> RedirectResponse:
    """Delete a group."""
    api_groups.delete_group(group_id, who, site)
    return forms.to("/admin/groups")


@router.get("/audit")
def audit(request: Request, who: Admin, site: Stores, cursor: Cursor = None) -> HTMLResponse:
    """Who did what when to what, the newest first."""
    found = site.people.audit.listed(ROWS + 1, read_cursor(cursor, (float, str)))
    more, found = len(found) > ROWS, found[:ROWS]
    ids = {each.account_id for each in found} - {""}
    known = {account_id: site.people.accounts.get(account_id) for account_id in ids}
    return page(
        request,
        "admin_audit.html",
        who,
        entries=found,
        names={key: account.name for key, account in known.items() if account},
        next=cursor_of(found[-1].at, found[-1].audit_id) if more else None,
    )
