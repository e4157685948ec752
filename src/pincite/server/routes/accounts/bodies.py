"""What the API shows of people, and what its routes about them share."""

from pydantic import BaseModel

from pincite.server.people.accounts import Account
from pincite.server.people.groups import Group
from pincite.server.people.identity import Identity, May, Role
from pincite.server.problems import Problem
from pincite.server.site import Site, Stores
from pincite.server.texts import iso

FRESH_SECONDS = 600.0  # since somebody proved who they are, for what cannot be taken back


class GroupName(BaseModel):
    """A group that somebody is in."""

    group_id: str
    name: str


class LoginBody(BaseModel):
    """An account at a provider that opens this one."""

    provider: str
    name: str  # there


class PersonBody(BaseModel):
    """Whoever asks."""

    account_id: str
    name: str
    role: Role
    may: list[May]
    groups: list[GroupName]
    logins: list[LoginBody]
    has_password: bool
    csrf: str  # to be sent as X-CSRF-Token by scripts of our pages; empty for keys


class AccountBody(BaseModel):
    """An account, for admins."""

    account_id: str
    name: str
    role: Role
    disabled: bool
    has_password: bool
    created: str
    last_login: str | None


class MemberBody(BaseModel):
    """Somebody in a group."""

    account_id: str
    name: str


class GroupBody(BaseModel):
    """A group with its members."""

    group_id: str
    name: str
    created: str
    members: list[MemberBody]


def with_accounts(site: Stores) -> None:
    """A dependency of routes that mean nothing where nobody has an account.

    Raises:
        Problem: 404, this is local mode.
    """
    if site.server.mode == "local":
        raise Problem(404, "no_accounts", 'There are no accounts: server.mode is "local".')


def person_body(site: Site, who: Identity) -> PersonBody:
    """Whoever asks, as the API shows them."""
    account = site.people.accounts.get(who.account_id)
    groups = site.people.groups.listed(200, member=who.account_id)
    logins = site.people.logins.of(who.account_id)
    return PersonBody(
        account_id=who.account_id,
        name=who.name,
        role=who.role,
        may=sorted(who.may),
        groups=[GroupName(group_id=each.group_id, name=each.name) for each in groups],
        logins=[LoginBody(provider=provider, name=name) for provider, name in logins],
        has_password=account.has_password if account else False,
        csrf=who.csrf,
    )


def account_body(account: Account) -> AccountBody:
    """An account as the API shows it."""
    return AccountBody(
        account_id=account.account_id,
        name=account.name,
        role=account.role,
        disabled=account.disabled,
        has_password=account.has_password,
        created=iso(account.created),
        last_login=iso(account.last_login) if account.last_login else None,
    )


def group_body(group: Group) -> GroupBody:
    """A group as the API shows it."""
    members = [MemberBody(account_id=each, name=name) for each, name in group.members]
    return GroupBody(
        group_id=group.group_id, name=group.name, created=iso(group.created), members=members
    )
