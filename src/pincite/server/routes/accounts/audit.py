"""`/api/v1/audit`: who did what when to what. For admins."""

from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import BaseModel

from pincite.server.paging import Cursor, Limit, page_of, read_cursor
from pincite.server.people.identity import Admin
from pincite.server.problems import ProblemBody
from pincite.server.requests import Id
from pincite.server.routes.accounts.bodies import with_accounts
from pincite.server.routing import Router
from pincite.server.site import Stores
from pincite.server.texts import iso

router = Router(
    prefix="/api/v1/audit",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 421, 422, 429)},
    dependencies=[Depends(with_accounts)],
)


class EntryBody(BaseModel):
    """One thing that somebody did."""

    at: str
    account_id: str  # "": nobody was logged in, or the account was deleted since
    action: str
    target: str
    detail: dict[str, Any]
    request_id: str


class EntryList(BaseModel):
    """A page of the audit log, the newest first."""

    entries: list[EntryBody]
    next: str | None


@router.get("", operation_id="list_audit")
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
    entries = [
        EntryBody(
            at=iso(each.at),
            account_id=each.account_id,
            action=each.action,
            target=each.target,
            detail=dict(each.detail),
            request_id=each.request_id,
        )
        for each in page
    ]
    return EntryList(entries=entries, next=following)
