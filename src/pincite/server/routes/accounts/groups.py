"""`/api/v1/groups`: with whom a corpus can be shared. Admins make them; members see theirs."""

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict

from pincite.server.paging import Cursor, Limit, page_of, read_cursor
from pincite.server.people.accounts import AccountExists
from pincite.server.people.audited import noted
from pincite.server.people.groups import Group
from pincite.server.people.identity import Admin, Reader
from pincite.server.people.names import Name, key_of
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import IdPath
from pincite.server.routes.accounts.bodies import GroupBody, group_body, with_accounts
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(
    prefix="/api/v1/groups",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422, 429)},
    dependencies=[Depends(with_accounts)],
)


class GroupRequest(BaseModel):
    """A group to be made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name


class GroupList(BaseModel):
    """A page of groups, by name."""

    groups: list[GroupBody]
    next: str | None


@router.get("", operation_id="list_groups")
def list_groups(who: Reader, site: Stores, limit: Limit = 50, cursor: Cursor = None) -> GroupList:
    """The groups that one is in; for admins all."""
    after = read_cursor(cursor, (str,))
    member = None if who.is_admin else who.account_id
    found = site.people.groups.listed(limit + 1, after[0] if after else None, member)
    page, then = page_of(found, limit, lambda each: (key_of(each.name),))
    return GroupList(groups=[group_body(each) for each in page], next=then)


@router.post("", operation_id="create_group", status_code=201)
def create_group(body: GroupRequest, who: Admin, request: Request, site: Stores) -> GroupBody:
    """A new group without members."""
    try:
        group = site.people.groups.add(body.name)
    except AccountExists as error:
        raise Problem(409, "name_taken", str(error)) from error
    noted(request, group.group_id)
    return group_body(group)


@router.get("/{group_id}", operation_id="get_group")
def get_group(group_id: IdPath, who: Reader, site: Stores) -> GroupBody:
    """A group that one is in."""
    if not (who.is_admin or group_id in who.groups):
        raise not_found()
    return group_body(_found(site, group_id))


@router.delete("/{group_id}", operation_id="delete_group", status_code=204)
def delete_group(group_id: IdPath, who: Admin, site: Stores) -> None:
    """Delete a group; corpora shared with it are private again."""
    if not site.people.groups.remove(group_id):
        raise not_found()


@router.put("/{group_id}/members/{account_id}", operation_id="add_member")
def add_member(group_id: IdPath, account_id: IdPath, who: Admin, site: Stores) -> GroupBody:
    """Make an account a member; once more changes nothing."""
    if not site.people.groups.join(group_id, account_id):
        raise not_found()
    return group_body(_found(site, group_id))


@router.delete("/{group_id}/members/{account_id}", operation_id="remove_member", status_code=204)
def remove_member(group_id: IdPath, account_id: IdPath, who: Admin, site: Stores) -> None:
    """End a membership."""
    if not site.people.groups.leave(group_id, account_id):
        raise not_found()


def _found(site: Site, group_id: str) -> Group:
    group = site.people.groups.get(group_id)
    if group is None:
        raise not_found()
    return group
